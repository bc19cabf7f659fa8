"""The parser: a verb's module is imported when it is asked for, and never before."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from npu_layout.cli.command import VERBS, parser

ASKED = """
import sys
from npu_layout.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if name.startswith("npu_layout.") or name in ("cv2", "onnxruntime")))
"""


def loaded(*arguments: str) -> set[str]:
    """What is imported when the command line has answered."""
    done = subprocess.run([sys.executable, "-c", ASKED, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_loads_no_verb() -> None:
    modules = {f"npu_layout.cli.{verb.module}" for verb in VERBS}
    assert not loaded("--help") & (modules | {"cv2", "onnxruntime"})


def test_a_verbs_help_loads_that_verb() -> None:
    modules = {f"npu_layout.cli.{verb.module}" for verb in VERBS}
    for verb in ("repack", "explain"):
        assert loaded(verb, "--help") & modules == {f"npu_layout.cli.{verb}"}


@pytest.mark.alone
def test_help_costs_little_more_than_the_import() -> None:
    def seconds(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    of_import = min(seconds("import npu_layout") for _ in range(5))
    assert min(seconds(ASKED) for _ in range(5)) < 1.5 * of_import + 0.05


def test_a_parser_is_whole_unless_asked_otherwise() -> None:
    def options(whole: bool) -> dict[str, int]:
        (verbs,) = (action for action in parser(whole)._actions if action.dest == "verb")
        return {name: len(one._actions) for name, one in verbs.choices.items()}  # type: ignore[union-attr]

    assert options(False) == {verb.name: 1 for verb in VERBS}  # --help
    assert all(count > 1 for count in options(True).values()) and len(options(True)) == len(VERBS)
