"""What writes a file in place is found: a disk that is full, and many threads that write and read the same file."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

import npu_layout as nl

THREADS = 6


@contextmanager
def no_room(nbytes: int) -> Iterator[None]:
    """Let no file of this process become longer than `nbytes`, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def writes_json_whole(to_json: Callable[[Any], str], folder: Path) -> None:
    """Check a to_json: whole for whoever reads meanwhile, the file before stays if there is no room, paths alone."""
    target = folder / "report.json"
    text = to_json(target)
    assert target.read_text("utf-8") == text + "\n" and [p.name for p in folder.iterdir()] == ["report.json"]

    def turn(k: int) -> None:
        for _ in range(10):
            to_json(str(target) if k % 2 else target)
            json.loads(target.read_text("utf-8"))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(turn, range(THREADS)))
    target.write_text("before")
    with no_room(1), pytest.raises(OSError, match=r"report\.json"):
        to_json(target)
    assert target.read_text() == "before" and [p.name for p in folder.iterdir()] == ["report.json"]
    with (folder / "open").open("w") as file, pytest.raises(nl.NpuLayoutError, match="path: expected a str"):
        to_json(file.fileno())
    assert not (folder / "open").read_bytes()
    for bad in (1, 1.5, b"report.json", True, [], object()):
        with pytest.raises(nl.NpuLayoutError, match=r"path: expected a str or an os\.PathLike"):
            to_json(bad)
    for bad in ("a\0b", folder / "a\ud800b"):
        with pytest.raises(nl.NpuLayoutError, match="path: no file can have the name"):
            to_json(bad)
