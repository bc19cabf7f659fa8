"""Damage done to files by chance: what then loads must be whole, and the rest be refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any


def mutate(rng: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    kind = rng.randrange(5)
    at = rng.randrange(len(data))
    if kind == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        del data[at : at + rng.randrange(1, 64)]
    else:
        data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 64)))
    return bytes(data)


HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**31,
    10**30,
    1e308,
    "",
    "x",
    "../x",
    "/etc/passwd",
    "\0",
    [],
    {},
    [[]],
    [-1],
)


def mutate_json(rng: random.Random, content: bytes) -> bytes:
    """One value or key of a JSON document is replaced, lost, or put elsewhere too."""
    document = json.loads(content)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])

    walk(document)
    node, key = rng.choice(places)
    kind = rng.randrange(4)
    if kind == 0:
        del node[key]
    elif kind == 1:
        other, place = rng.choice(places)
        node[key] = json.loads(json.dumps(other[place]))
    elif kind == 2 and isinstance(node, dict):
        node[str(rng.choice(HOSTILE))] = node.pop(key)
    else:
        node[key] = rng.choice(HOSTILE)
    return json.dumps(document).encode()


def damage(rng: random.Random, folder: Path, outside: Path) -> str:
    """Change one file below `folder`, and say how."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file, other = rng.choice(files), rng.choice(files)
    kind = rng.randrange(16)
    if kind == 0:
        file.unlink()
    elif kind == 1:
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)
    elif kind == 2:
        file.rename(file.with_name(rng.choice(["x", f"_{file.name}", f"{file.name}.bak"])))
    elif kind == 3:
        file.write_bytes(b"")
    elif kind == 4:
        file.unlink()
        file.mkdir()
    elif kind == 5:
        file.unlink()
        file.symlink_to(outside)
    elif kind < 11 and file.suffix == ".json":
        file.write_bytes(mutate_json(rng, file.read_bytes()))
    elif file.stat().st_size:
        file.write_bytes(mutate(rng, file.read_bytes()))
    return f"{kind} {file.relative_to(folder)} {other.name}"
