"""The compiled core: its table of fast paths, and what its programs refuse."""

from __future__ import annotations

import pickle
import re
import sys

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
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


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_the_usual_call_is_for_arrays_like_the_first() -> None:
    class Subclass(np.ndarray):
        pass

    box, rng = Box(((6, 1, 4, 0), (4, 6, 1, 0)), 0, 0, 0), np.random.default_rng(0)
    program = kernels.program(24, 24, (), (box,), Arithmetic("V4", "V4"))
    x, out = rng.integers(1, 99, (4, 6)).astype(np.float32), np.zeros((3, 2, 4), np.float32)
    attempt = kernels.usual(program, x, out)
    assert attempt is not None and not out.any()
    for given in (x, x + 1, pickle.loads(pickle.dumps(x))):
        out[:] = 0
        assert attempt(given, out) is True
        np.testing.assert_array_equal(out.reshape(6, 4), given.T)
    read_only, out[:] = out.copy(), 0
    read_only.flags.writeable = False
    for given, result in (
        (x.view(np.int32), out),
        (x, out.view(np.int32)),
        (x.astype(">f4"), out),
        (x.reshape(-1), out),
        (x.reshape(6, 4), out),
        (x, out.reshape(6, 4)),
        (x, out[0]),
        (x[:3], out),
        (x.view(Subclass), out),
        (x, out.view(Subclass)),
        (np.asfortranarray(x), out),
        (out.reshape(4, 6), out),
        (x, read_only),
        (x.tobytes(), out),
        (None, out),
        (x, None),
    ):
        assert attempt(given, result) is False
    assert not out.any()
    assert attempt(x, out) is True
    for arguments in ((), (x,), (x, out, out)):
        with pytest.raises(TypeError, match="source and destination"):
            attempt(*arguments)
    scalar = kernels.program(1, 1, (), (Box((), 0, 0, 0),), Arithmetic("V4", "V4"))
    no_axes = kernels.usual(scalar, np.array(7.0, np.float32), np.array(0.0, np.float32))
    there = np.array(0.0, np.float32)
    assert no_axes is not None and no_axes(np.array(9.0, np.float32), there) and there == 9
    assert not no_axes(np.array([9.0], np.float32), there)
    assert kernels.usual(program, x.reshape((1,) * 15 + (24,)), out) is not None
    assert kernels.usual(program, x.reshape((1,) * 16 + (24,)), out) is None
    plain = kernels.program(24, 24, (), (box,), Arithmetic("V4", "V4"), "numpy")
    assert kernels.usual(plain, x, out) is None


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_the_usual_call_keeps_its_program_and_gives_everything_back() -> None:
    make = native._native.Usual
    x, out = np.arange(4.0), np.zeros(4)
    dtype = np.dtype([("a", "f8")])  # of its own, so that its references can be counted
    x, out = x.view(dtype), out.view(dtype)
    program = native._native.Program("base", 32, 8, 32, 8, (), ((((4, 1, 1, 0),), 0, 0, 0),), None)
    counts = sys.getrefcount(dtype), sys.getrefcount(program)
    for _ in range(100):
        made = make(program, x, out)
        assert made.attempt(x, out) and not made.attempt(x, x)
        for wrong in ((program, x), (program, x, None), (None, x, out), (program, x, out[::2])):
            with pytest.raises((TypeError, AttributeError, ValueError)):
                make(*wrong)
    del made, wrong
    assert (sys.getrefcount(dtype), sys.getrefcount(program)) == counts
    with pytest.raises(TypeError, match="no keywords"):
        make(program, x, out, shape=())  # type: ignore[call-arg]
    kept = make(program, x, out)
    del program
    out[:] = np.zeros(4).view(dtype)
    assert kept.attempt(x, out) and (out == x).all()
