"""Names and their offsets against the formulas that vendors and runtimes publish, written out one by one."""

from __future__ import annotations

from typing import Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.layouts import NAMED
from tests.support import oracle


def cd(a: int, b: int) -> int:
    return (a + b - 1) // b


# (layout, logical shape, elements, offset of a logical index)
Formula = tuple[nl.Layout, tuple[int, ...], int, Callable[..., int]]


def formulas() -> dict[str, Formula]:
    named = nl.Layout.named
    shape = n_, c_, h_, w_ = (3, 17, 5, 13)
    volume = (2, 17, 3, 5, 7)
    d_ = volume[2]
    table: dict[str, Formula] = {
        "NCHW": (nl.Layout("NCHW"), shape, 3315, lambda n, c, h, w: ((n * c_ + c) * h_ + h) * w_ + w),
        "NHWC": (nl.Layout("NHWC"), shape, 3315, lambda n, c, h, w: ((n * h_ + h) * w_ + w) * c_ + c),
        "CHWN": (nl.Layout("CHWN"), shape, 3315, lambda n, c, h, w: ((c * h_ + h) * w_ + w) * n_ + n),
        "NHCW": (nl.Layout("NHCW"), shape, 3315, lambda n, c, h, w: ((n * h_ + h) * c_ + c) * w_ + w),
        "HWCN": (nl.Layout("HWCN"), shape, 3315, lambda n, c, h, w: ((h * w_ + w) * c_ + c) * n_ + n),
        # VeriSilicon lists axes fastest first
        "WHCN": (named("WHCN"), shape, 3315, lambda n, c, h, w: ((n * c_ + c) * h_ + h) * w_ + w),
        "CWHN": (named("CWHN"), shape, 3315, lambda n, c, h, w: ((n * h_ + h) * w_ + w) * c_ + c),
        # Ethos-U: [N][H][C/16][W][16]
        "NHCWB16": (
            named("NHCWB16"),
            shape,
            3 * 5 * 2 * 13 * 16,
            lambda n, c, h, w: (((n * h_ + h) * cd(c_, 16) + c // 16) * w_ + w) * 16 + c % 16,
        ),
        # Hailo, transform.cpp: h*W*C + w*8 + (c/8*8)*W + c%8, C padded to 8
        "F8CR": (
            named("F8CR"),
            shape,
            3 * 5 * 24 * 13,
            lambda n, c, h, w: (n * h_ + h) * 13 * 24 + w * 8 + (c // 8 * 8) * 13 + c % 8,
        ),
        # Hailo device NHCW, W padded to 8
        "NHCW8w": (nl.Layout("NHCW8w"), shape, 3 * 5 * 17 * 16, lambda n, c, h, w: ((n * h_ + h) * c_ + c) * 16 + w),
        # Kneron, kp_inference.c: block of height*width*16, then rows of width*16
        "1W16C8B": (
            named("1W16C8B"),
            shape,
            3 * 2 * 65 * 16,
            lambda n, c, h, w: (n * 2 + c // 16) * 65 * 16 + h * 13 * 16 + w * 16 + c % 16,
        ),
        # Sophgo BM1684
        "4N": (
            named("4N"),
            shape,
            4 * 17 * 5 * 13,
            lambda n, c, h, w: ((((n // 4) * c_ + c) * h_ + h) * w_ + w) * 4 + n % 4,
        ),
        "2N": (
            named("2N"),
            shape,
            4 * 17 * 5 * 13,
            lambda n, c, h, w: ((((n // 2) * c_ + c) * h_ + h) * w_ + w) * 2 + n % 2,
        ),
        # Horizon X2: for n, h, c/4, w/8, then 8w, 4c
        "NHCW_8W4C": (
            named("NHCW_8W4C"),
            shape,
            3 * 5 * 20 * 16,
            lambda n, c, h, w: ((((n * h_ + h) * cd(c_, 4) + c // 4) * cd(w_, 8) + w // 8) * 8 + w % 8) * 4 + c % 4,
        ),
        # The same, for n, h/4, c/8, w/4, then 4h, 4w, 8c
        "NHCW_4H4W8C": (
            named("NHCW_4H4W8C"),
            shape,
            3 * 2 * 3 * 4 * 128,
            lambda n, c, h, w: (((n * 2 + h // 4) * 3 + c // 8) * 4 + w // 4) * 128 + h % 4 * 32 + w % 4 * 8 + c % 8,
        ),
        "NHCW_16W16C": (
            named("NHCW_16W16C"),
            shape,
            3 * 5 * 2 * 256,
            lambda n, c, h, w: ((n * 5 + h) * 2 + c // 16) * 256 + w * 16 + c % 16,
        ),
        # oneDNN OIhw4i16o4i: 16 o by 16 i in a block of 256
        "OIHW4i16o4i": (
            named("OIHW4i16o4i"),
            shape,
            2 * 65 * 256,
            lambda o, i, h, w: ((i // 16 * 5 + h) * 13 + w) * 256 + i % 16 // 4 * 64 + o * 4 + i % 4,
        ),
        # TVM NHWC8h4w: [N][H/8][W/4][C][8][4]
        "NHWC8h4w": (
            nl.Layout("NHWC8h4w"),
            shape,
            3 * 8 * 16 * 17,
            lambda n, c, h, w: ((((n * 1 + h // 8) * cd(w_, 4) + w // 4) * c_ + c) * 8 + h % 8) * 4 + w % 4,
        ),
        # Ascend weights, group 1: [C1*H*W][N1][16][C0]
        "FRACTAL_Z": (
            named("FRACTAL_Z"),
            shape,
            2 * 5 * 13 * 16 * 16,
            lambda n, c, h, w: (((c // 16 * h_ + h) * w_ + w) * 1 * 16 + n) * 16 + c % 16,
        ),
        "DHWC8": (
            named("DHWC8"),
            volume,
            2 * 3 * 5 * 7 * 24,
            lambda n, c, d, h, w: (((n * d_ + d) * 5 + h) * 7 + w) * 24 + c,
        ),
        "CDHW32": (
            named("CDHW32"),
            volume,
            2 * 1 * 3 * 5 * 7 * 32,
            lambda n, c, d, h, w: ((((n * 1 + c // 32) * d_ + d) * 5 + h) * 7 + w) * 32 + c % 32,
        ),
        # Ascend: [K1][M1][16][16]
        "FRACTAL_NZ": (
            named("FRACTAL_NZ"),
            (37, 41),
            3 * 3 * 256,
            lambda m, k: ((k // 16 * 3 + m // 16) * 16 + m % 16) * 16 + k % 16,
        ),
    }

    def major(b: int) -> Callable[..., int]:
        return lambda n, c, h, w: (((n * cd(c_, b) + c // b) * h_ + h) * w_ + w) * b + c % b

    def padded(b: int) -> Callable[..., int]:
        return lambda n, c, h, w: ((n * h_ + h) * w_ + w) * (cd(c_, b) * b) + c

    def mnn(b: int) -> Callable[..., int]:
        return lambda n, c, h, w: (((c // b * n_ + n) * h_ + h) * w_ + w) * b + c % b

    def rows(b: int) -> Callable[..., int]:
        return lambda n, c, h, w: (((n * h_ + h) * cd(c_, b) + c // b) * w_ + w) * b + c % b

    for b in (8, 16):  # weights, 3 outputs and 17 inputs
        table[f"OIHW{b}o"] = (
            named(f"OIHW{b}o"),
            shape,
            17 * 65 * b,
            lambda o, i, h, w, b=b: ((i * 5 + h) * 13 + w) * b + o,
        )
        table[f"OIHW{b}i{b}o"] = (
            named(f"OIHW{b}i{b}o"),
            shape,
            cd(17, b) * 65 * b * b,
            lambda o, i, h, w, b=b: ((i // b * 5 + h) * 13 + w) * b * b + i % b * b + o,
        )
    for b in (2, 4, 8, 16, 32):
        if b in (8, 32):
            table[f"NHCW_{b}C"] = (named(f"NHCW_{b}C"), shape, 3 * 5 * cd(17, b) * 13 * b, rows(b))
        for name in ("NC1HWC2", "NC1HWC0", "5HD"):
            table[f"{name}:{b}"] = (named(name, b), shape, 3 * cd(17, b) * b * 65, major(b))
        if b != 8:
            table[f"CHW{b}"] = (named(f"CHW{b}"), shape, 3 * cd(17, b) * b * 65, major(b))
        if b > 2:
            table[f"nChw{b}c"] = (named(f"nChw{b}c"), shape, 3 * cd(17, b) * b * 65, major(b))
            table[f"aBcd{b}b"] = (named(f"aBcd{b}b"), shape, 3 * cd(17, b) * b * 65, major(b))
        if b in (8, 16):
            table[f"HWC{b}"] = (named(f"HWC{b}"), shape, 3 * cd(17, b) * b * 65, padded(b))
        if b in (4, 8, 16):
            for name in ("NC4HW4", "C4NHW4"):
                table[f"{name}:{b}"] = (named(name, b), shape, 3 * cd(17, b) * b * 65, mnn(b))
    return table


@pytest.mark.parametrize("name", formulas())
def test_published_formulas(name: str) -> None:
    layout, shape, size, formula = formulas()[name]
    assert layout.size(shape) == size
    offsets = layout.offset(shape, *np.indices(shape))
    assert offsets.dtype == np.int64 and len(np.unique(offsets)) == offsets.size and offsets.max() < size
    for index in oracle.indices(shape):
        assert offsets[index] == formula(*index), (name, index)
    assert layout.offset(shape, *(n - 1 for n in shape)) == formula(*(n - 1 for n in shape))


def test_every_name_has_a_published_formula() -> None:
    known = {name.partition(":")[0].replace("_", "").upper() for name in formulas()}
    missing = NAMED.keys() - known
    assert not missing, f"no row in formulas() for {sorted(missing)}: write down the vendor's own formula"


def test_help_says_how_each_name_is_stored() -> None:
    text = nl.Layout.named.__doc__
    assert text is not None
    for name in ("NC1HWC2", "NC4HW4", "nChw16c", "CHW32", "HWC8", "NHCWB16", "F8CR", "4N", "FRACTAL_NZ", "OIHW16i16o"):
        line = next(line for line in text.splitlines() if line.strip().startswith(f"* {name}:"))
        assert "equivalent to a C array [" in line and "is element [" in line, line


@pytest.mark.parametrize("name", ["nc1hwc2", "NC1-HWC2", " nc1 hwc2 "])
def test_names_as_people_spell_them(name: str) -> None:
    assert nl.Layout.named(name, 8) == nl.Layout("NCHW8c")


def test_blocks_that_are_given_and_those_that_are_not() -> None:
    for name in ("NC4HW4", "C4NHW4"):
        assert nl.Layout.named(name) == nl.Layout("CNHW4c", "NCHW") == nl.Layout.named(name, 4)
        assert nl.Layout.named(name, 8) == nl.Layout("CNHW8c", "NCHW")
    assert nl.Layout.named("NC1HWC2", 1) == nl.Layout("NCHW1c") and nl.Layout.named("nChw16c", 16) == nl.Layout(
        "NCHW16c"
    )
    for name, block, says in (
        ("NC1HWC2", 0, "block must be 1 or more, got 0"),
        ("NC1HWC2", -4, "block must be 1 or more, got -4"),
        ("NC4HW4", 0, "block must be 1 or more"),
        ("NC1HWC2", 1.0, "block must be a whole number"),
        ("NC1HWC2", None, "needs block=, the channels of one block"),
        ("nChw16c", 8, "block must be left out .the name itself means NCHW16c., got 8"),
        ("nChw16c", 1, "block must be left out"),
        ("nope", None, "unknown layout name 'nope'; known: "),
        (5, None, "expected a string, got 5"),
    ):
        with pytest.raises(nl.LayoutError, match=says):
            nl.Layout.named(name, block)  # type: ignore[arg-type]
