"""Blocks of channels whose last one is not full, to channels last: both parts in one pass, at every level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.layouts import Affine, Plan
from npu_layout.layouts.storage import Storage
from tests.support import oracle
from tests.support.kernel_walks import BACKENDS, NATIVE, converted, numbers, same
from tests.support.memory import Fenced

if NATIVE:
    from npu_layout.kernels import _native

ROOM = Fenced(1 << 22), Fenced(1 << 22)
PARTS = (  # channels, channels of a block, places: those of one row of the bench, of several, of none
    *(
        (c, block, hw)
        for c, block in ((255, 16), (57, 16), (21, 16), (85, 32), (9, 8), (17, 16), (5, 4))
        for hw in (1, 7, 63, 64, 65)
    ),
    *(
        (c, block, hw)
        for c, block, hw in ((57, 16, 2116), (255, 16, 300), (21, 16, 777), (1021, 16, 40), (15, 8, 5000))
    ),
)
TO_WIDER = ("int8 float32", "uint8 float16", "int16 float32", "float16 float32", "bfloat16 float32", "uint8 int32")


def case(c: int, block: int, hw: int, dtypes: str) -> tuple[Plan, np.ndarray, np.ndarray, str]:
    """A plan, what it reads, and what it should write."""
    source, target = dtypes.split()
    src = Storage.bind(nl.Layout(f"CW{block}c", "CW"), (c, hw))
    dst = Storage.bind(nl.Layout("WC", "CW"), (c, hw))
    plain = source in ("float16", "bfloat16")
    zero = (5.0,) if target == "int32" else None
    affine = Affine("C") if plain else Affine("C", (3.0,), (0.25,), None, zero)
    plan = Plan(src, dst, source, target, affine, True)
    index = dict(zip("CW", np.indices((c, hw))))
    read, write = (np.asarray(oracle.place(s.layout.tag, list(s.storage_shape), index)).ravel() for s in (src, dst))
    raw = numbers(np.random.default_rng(c + hw), source, src.size)
    expected = np.zeros(dst.size, "uint16" if target == "bfloat16" else target)
    expected[write] = converted(raw[read], plan.arithmetic, np.zeros(len(read), int))
    return plan, raw, expected, target


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtypes", TO_WIDER)
def test_both_parts_of_each_row(dtypes: str, backend: str) -> None:
    """Nothing outside the buffers is touched, whichever end of them is at a page that must not be."""
    for c, block, hw in PARTS:
        plan, raw, expected, target = case(c, block, hw, dtypes)
        program = plan.program(backend)
        for end in ("first", "last"):
            src, out = (getattr(room, end)(n) for room, n in zip(ROOM, (raw.nbytes, expected.nbytes)))
            src[:] = raw.view(np.uint8)
            out[:] = 0xAB
            program.run(src.view(raw.dtype), out.view(expected.dtype))
            assert same(out.view(expected.dtype), expected, target), (c, block, hw, end)


@pytest.mark.parametrize("backend", NATIVE)
def test_parts_make_up_the_whole(backend: str) -> None:
    for c, block, hw in PARTS[::3] + PARTS[-3:]:
        plan, raw, expected, target = case(c, block, hw, "int8 float32")
        for parts in (2, 3, 7):
            got = np.full(expected.shape, 77, expected.dtype)
            for part in range(parts):
                plan.program(backend).run(raw, got, part, parts)
            assert same(got, expected, target), (c, block, hw, parts)


@pytest.mark.parametrize("backend", NATIVE)
def test_a_result_that_is_in_no_cache(backend: str) -> None:
    """It is stored past the caches, from whichever byte on."""
    plan, raw, expected, target = case(255, 16, 700, "int8 float32")
    memory = np.zeros(expected.nbytes + 256, np.uint8)
    _native.set_cached(0)
    try:
        for at in (0, 4, 60, 100):
            got = memory[at : at + expected.nbytes].view(expected.dtype)
            program = plan.program(backend)
            for _ in range(3):
                memory[:] = 77
                program.run(raw, got)
                assert same(got, expected, target)
                assert (memory[:at] == 77).all() and (memory[at + expected.nbytes :] == 77).all()
    finally:
        _native.set_cached(-1)


@pytest.mark.parametrize("backend", NATIVE)
def test_which_conversions_are_one(backend: str) -> None:
    """Those to wider elements, of one value for all channels: the others are as before, with the same elements."""

    def paths(tags: tuple[str, str], dtypes: tuple[str, str], affine: Any, c: int = 57) -> list[str]:
        src, dst = (Storage.bind(nl.Layout(tag, "CW"), (c, 200)) for tag in tags)
        return list(Plan(src, dst, *dtypes, affine, True).program(backend).paths())

    one = Affine("C", (3.0,), (0.25,))
    joined = paths(("CW16c", "WC"), ("int8", "float32"), one)
    whole = paths(("CW16c", "WC"), ("int8", "float32"), one, 64)
    assert len(joined) == 3 and len(whole) < 3  # two moves, and one conversion
    each = Affine("C", tuple(range(57)), (0.25,) * 57)
    for tags, dtypes, affine in (
        (("CW16c", "WC"), ("int8", "float32"), each),
        (("CW16c", "WC"), ("float32", "int8"), Affine("C", (3.0,), (0.25,), None, (5.0,))),
        (("CW16c", "CW"), ("int8", "float32"), one),
    ):
        assert paths(tags, dtypes, affine) != joined
