"""The compiled core: its table of fast paths, and what its programs refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernels.test_gray import GRAYS
from tests.support.conversion_examples import CONVERSIONS
from tests.support.kernel_walks import NATIVE, WIDEST
from tests.support.move_examples import EXAMPLES
from tests.support.paths import ROOT
from tests.support.reduction_examples import EXAMPLES as REDUCTIONS

if NATIVE:
    from npu_layout.kernels import native

    PATHS = {path.name: path for path in native.FAST_PATHS}

SCALAR = {"strided"}
NARROW = {"gray", "argmax across"}  # not on every machine if vectors have 16 bytes
ALL = {"move": EXAMPLES, "convert": CONVERSIONS, "gray": GRAYS, "reduce": REDUCTIONS}


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_every_path_has_examples() -> None:
    assert {(kind, name) for kind, examples in ALL.items() for name in examples} == {
        (path.kind, path.name) for path in native.FAST_PATHS
    }
    assert len(PATHS) == len(native.FAST_PATHS)
    for path in native.FAST_PATHS:
        assert path.applies and path.steps.keys() == set(native.LEVELS)
    without = {path.name for path in native.FAST_PATHS if not path.steps[native.LEVEL]}
    assert without <= SCALAR | (NARROW if WIDEST == 16 else set()), "the best level has a vector step everywhere"


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_a_program_refuses_what_leaves_its_buffers() -> None:
    def made(loops: object, src: int = 0, dst: int = 0, sizes: tuple[int, int] = (100, 100)) -> object:
        return native._native.Program("base", sizes[0], 1, sizes[1], 1, (), ((loops, src, dst, 0),), None)

    made(((100, 1, 1, 0),))
    big = 1 << 62
    for loops, src, dst in (
        (((101, 1, 1, 0),), 0, 0),
        (((100, 1, 1, 0),), 1, 0),
        (((100, -1, 1, 0),), 98, 0),
        (((2, 1, big, 0),), 0, 0),
        (((big, big, big, 0),), 0, 0),
        (((0, 1, 1, 0),), 0, 0),
        (((1, 1, 1, 0),), -1, 0),
    ):
        with pytest.raises(ValueError, match=r"leaves its buffer|64 bits"):
            made(loops, src, dst)
    with pytest.raises(OverflowError):
        made(((2, 1, 1, 0),) * 17)
    program = made(((100, 1, 1, 0),))
    one, two = np.zeros(100, np.uint8), np.zeros(100, np.uint8)
    for source, target in ((one[:99], two), (one, two[:99]), (one[::2], two), (one, bytes(100))):
        with pytest.raises((ValueError, BufferError)):
            program.run(source, target)  # type: ignore[attr-defined]
    for part, parts in ((-1, 2), (2, 2), (0, 0), (0, 1 << 40)):
        with pytest.raises(ValueError, match="part"):
            program.run(one, two, part, parts)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="overlap"):
        program.run(one, one, 0, 2)  # type: ignore[attr-defined]


def test_no_format_counts_bytes() -> None:
    """Lengths of "#" are of another type in the headers of 3.13 than in those before, under the stable ABI."""
    sources = sorted((ROOT / "npu_layout" / "kernels" / "csrc" / "binding").glob("*.c"))
    if not sources:
        pytest.skip("the installed package has no sources of the core")
    calls = [
        call for path in sources for call in re.findall(r'(?:Parse\w*|BuildValue)\([^"]*"([^"]*)"', path.read_text())
    ]
    assert len(calls) > 15 and not [call for call in calls if "#" in call]
