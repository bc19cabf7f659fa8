"""Conversions that take each fast path, at any width."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from npu_layout.kernels import Arithmetic
from tests.support.kernel_walks import BYTES, DTYPES, Loops, computing

PIXELS = [(3, 3, -1), (3, 3, 1), (4, 3, 1), (4, 3, -1), (8, 3, -1), (4, 4, -1), (8, 2, 1), (2, 2, -1), (5, 3, 1)]


def pixel(source: str, target: str, channels: int, sign: int = 1) -> Arithmetic:
    """Mean, standard deviation and quantisation of a network's input, others for each channel."""
    mean = np.array([123.675, 116.28, 103.53, 110.1, 99.9])[:channels] - (128 if source == "int8" else 0)
    std = np.array([58.395, 57.12, 57.375, 58.1, 60.2])[:channels] * sign
    zero = None if "float" in target else np.full(channels, 118.0 if target == "uint8" else -10.0)
    return computing(source, target, np.float32(mean), np.float32(1 / std), np.full(channels, 0.02, np.float32), zero)


def plain(target: str) -> Arithmetic:
    return computing("float32", target, zero_point=None if "float" in target else np.array([3.0]))


def one(n: int) -> Loops:
    return [(n, 1, 1, 0)]


def five(n: int) -> Loops:
    return [(n, 5, 5, 0), (5, 1, 1, 1)]


def turned(n: int) -> Loops:
    return [(5, 1, n + 1, 1), (n, 5, 1, 0)]


def exchanged(n: int, p: int = 0) -> Loops:
    """Rows of 60 elements and more in another order: the parameters change from row to row of the source, or never."""
    return [(3, n + 60, 5 * (n + 60) + 1, p), (5, 3 * (n + 60), n + 60, 0), (n + 60, 1, 1, 0)]


def exchanged_channels(n: int) -> Loops:
    return exchanged(n, 1)


def channelwise(source: str, channels: int, steps: int, target: str = "float32") -> Arithmetic:
    """Shift, scale and divisor, or the first of these, others for each channel."""
    return computing(
        source, target, *np.linspace((90.5, 0.01, 0.5), (130, 0.03, 2), channels, dtype="f4").T.copy()[:steps]
    )


def planes(n: int, channels: int, s: int, step: int, p: int) -> Loops:
    """Some 240 and more pixels, to planes a line or an odd number of elements apart."""
    return [(channels, step, n + 240 if n % 2 else (n + 255) // 16 * 16, p), (n + 240, s, 1, 0)]


def from_planes(*arguments: int) -> Loops:
    """The same the other way round."""
    return [(n, d, s, p) for n, s, d, p in reversed(planes(*arguments))]


# Path: (arithmetic, loops with n in them).
CONVERSIONS = {
    "load": [
        (pixel(source, target, channels), loops)
        for source, target in (*((source, "float32") for source in DTYPES), ("int16", "float16"), ("uint8", "uint16"))
        for channels, loops in ((1, one), (5, five), (5, turned), (1, exchanged), (3, exchanged_channels))
    ],
    "load transposed": [
        (channelwise(source, c if p else 1, steps), lambda n, c=c, s=s, step=step, p=p: planes(n, c, s, step, p))
        for sources, shapes in (
            (
                BYTES,
                (
                    (16, 16, 1),
                    (19, 19, 1),
                    (9, 12, 1),
                    (8, 8, 1),
                    (4, 4, 1),
                    (3, 3, 1),
                    (3, 4, 1),
                    (3, 3, -1),
                    (8, 3, 1),
                ),
            ),
            (("int16", "uint16", "float16", "bfloat16"), ((8, 8, 1), (19, 21, 1))),
        )
        for source, (c, s, step) in itertools.product(sources, shapes)
        for p, steps in ((0, 2), (1, 2 if c > 4 else 3))
    ],
    "store": [
        *(
            (plain(target), loops)
            for target in ("int16", "uint16", "float16", "bfloat16")
            for loops in (one, exchanged)
        ),
        *((pixel("float32", target, 5), five) for target in DTYPES if target not in ("int32", "float32")),
    ],
    "store int32": [(plain("int32"), one), (pixel("float32", "int32", 1), one), (pixel("float32", "int32", 5), five)],
    "store transposed": [
        (made, lambda n, c=c, s=s, p=p: from_planes(n, c, s, 1, p))
        for targets, shapes in ((BYTES, ((16, 16), (27, 29))), (("float16", "bfloat16"), ((8, 8), (19, 21))))
        for target, (c, s) in itertools.product(targets, shapes)
        for made, p in (
            (plain(target), 0),
            (pixel("float32", target, 1), 0) if target in BYTES else (channelwise("float32", c, 2, target), 1),
        )
    ],
    "quantize": [
        (made, loops)
        for target in (*BYTES, "int32")
        for made in (plain(target), pixel("float32", target, 1))
        for loops in (one, exchanged)
    ],
    "affine bytes": [
        (pixel(source, target, channels, -1), loops)
        for source, target in itertools.product(BYTES, BYTES)
        for channels, loops in ((1, one), (5, five), (1, exchanged))
    ],
    "fixed point": [
        (pixel(source, target, channels), loops)
        for source, target in itertools.product(BYTES, BYTES)
        for channels, loops in ((1, one), (5, five), (1, exchanged))
    ],
    "fixed point pixels": [
        (pixel(source, target, d), lambda n, s=s, d=d, step=step: [(n, s, d, 0), (d, step, 1, 1)])
        for source, target in itertools.permutations(BYTES)
        for s, d, step in PIXELS
    ],
}


# What a tile is made of: loops with n in them, and the zeros behind each run of the last one. Blocks of other sizes,
# few channels in blocks with gaps or pads on both sides, rows of rows, planes of several images, rows that are cut.
TILES: tuple[tuple[Callable[[int], Loops], int], ...] = (
    (lambda n: [(n, 4, 8, 0), (2, 4 * n, 4, 4), (4, 1, 1, 1)], 0),
    (lambda n: [(2, 8, 8 * n, 8), (n, 16, 8, 0), (8, 1, 1, 1)], 0),
    (lambda n: [(n, 5, 8, 0), (5, 1, 1, 1)], 3),
    (lambda n: [(n, 9, 16, 0), (5, 1, 1, 1)], 11),
    (lambda n: [(2, 3 * n, 4 * n, 0), (n, 1, 4, 0), (3, n, 1, 1)], 1),
    (lambda n: [(n, 3, 16, 0), (3, -1, 1, 1)], 13),
    (lambda n: [(2, 3 * n + 1, 4 * n, 0), (n, 3, 4, 0), (3, -1, 1, 1)], 1),
    (lambda n: [(n, -4, 4, 0), (3, 1, 1, 1)], 1),
    (lambda n: [(n, 1, 4, 0), (1, 1, 1, 0)], 3),
    (lambda n: [(3, 21 * n, 32 * n, 0), (n, 1, 32, 0), (21, n, 1, 1)], 11),
    (lambda n: [(2, n, 21 * n + 1, 0), (21, 2 * n, n, 1), (n, 1, 1, 0)], 0),
    (lambda n: [(n, 25, 25, 0), (5, 5, 1, 1), (5, 1, 5, 5)], 0),
)
