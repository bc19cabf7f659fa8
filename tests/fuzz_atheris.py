"""Run a target of fuzzing.py with atheris; see scripts/fuzz.

``fuzz_atheris.py TARGET --seeds FOLDER`` writes what to begin with; else come libFuzzer's own arguments.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["npu_layout", "zipfile"]):
    import fuzzing


def mutate(data: bytes, most: int, seed: int) -> bytes:
    changed = fuzzing.mutated(data, seed) if seed % 4 else None
    return changed[:most] if changed else atheris.Mutate(data, most)


def main() -> None:
    name = sys.argv.pop(1)
    if sys.argv[1:2] == ["--seeds"]:
        for seed in fuzzing.seeds(name):
            (Path(sys.argv[2]) / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
        return
    warnings.simplefilter("error")
    atheris.Setup(sys.argv, fuzzing.TARGETS[name], custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
