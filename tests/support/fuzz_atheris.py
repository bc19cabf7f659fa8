"""Run a target of fuzzing.py with atheris: ``fuzz_atheris.py TARGET [libFuzzer's own arguments]``; see scripts/fuzz."""

from __future__ import annotations

import sys
import warnings


def main() -> None:
    import atheris  # here, because the suite's doctests import this module without it

    with atheris.instrument_imports(include=["npu_layout", "zipfile"]):
        from tests.support import fuzzing

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        changed = fuzzing.mutated(data, seed) if seed % 4 else None
        return changed[:most] if changed else bytes(atheris.Mutate(data, most))

    name = sys.argv.pop(1)
    warnings.simplefilter("error")
    atheris.Setup(sys.argv, fuzzing.TARGETS[name], custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
