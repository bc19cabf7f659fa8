"""Moves that take each fast path, at any width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from tests.support.arrays import assert_same
from tests.support.kernel_walks import Loops, boxed, filling, pad_places, walked
from tests.support.memory import LAST_CACHE, Fenced

# Path: (bytes of an element, loops with n in them). What is padded has zeros behind the last loop, up to the next step
# of the one before.
# Loops are (extent, source step, destination step[, parameter step]), innermost last.
EXAMPLES = {
    "copy": [(size, lambda n: [(3, n + 5, n + 2), (n, 1, 1)]) for size in (1, 2, 3, 4, 8, 12)],
    "rows": [
        *(
            (
                size,
                lambda n, k=k, a=a, b=b, way=way: [
                    (b, k * n, a * k * n + 2),
                    (a, way * (b + 2) * k * n, k * n),
                    (k * n, 1, 1),
                ],
            )
            for size, k in ((1, 1), (2, 3), (3, 1), (4, 1), (8, 1), (12, 3))
            for a, b, way in ((5, 19, 1), (19, 5, 1), (2, 2, -1))
        ),
        (4, lambda n: [(3, n, -(-5 * n // 1024) * 1024), (5, 3 * n + 2, n), (n, 1, 1)]),  # pages apart
        (1, lambda n: [(n, 40, 120), (3, 40 * n, 40), (40, 1, 1)]),
        (1, lambda n: [(3, 40, 40 * n), (n, 120, 40), (40, 1, 1)]),
        (40, lambda n: [(3, 1, n), (n, 3, 1)]),  # as a part of rows is planned again
    ],
    "transpose": [
        *((size, lambda n, m=m: [(m, 1, n + 1), (n, m + 2, 1)]) for size in (1, 2, 4, 8, 16) for m in (5, 17, 33, 67)),
        *((size, lambda n, m=m: [(m, 1, n), (n, m, 1)]) for size in (1, 2, 4) for m in (5, 7, 9, 15, 17, 21)),
        *((size, lambda n, m=m: [(n, 1, m), (m, n, 1)]) for size in (1, 2, 4) for m in (5, 7, 9, 15, 17, 21)),
    ],
    "detour": [
        (size, loops)
        for size, k in ((1, 2), (1, 7), (2, 3), (4, 2), (4, 3))
        for loops in (
            lambda n, k=k: [(n, 1, 83 * k + 1), (83, n, k), (k, 84 * n + 3, 1)],
            lambda n, k=k: [(83, 1, n * k), (n, -83, k), (k, 84 * n, 1)],
            lambda n, k=k: [(k, 1, 84 * n + 3), (83, k, n), (n, 83 * k + 1, 1)],
            lambda n, k=k: [(k, 1, 84 * n), (n, -k, 83), (83, n * k, 1)],
            lambda n, k=k: [(4, 1, n * k), (n, 4, k), (k, 4 * n + 3, 1)],
            lambda n, k=k: [(k, 1, 4 * n + 3), (n, k, 4), (4, n * k, 1)],
        )
    ]
    + [  # few on both sides, next to each other on either one
        (size, loops)
        for size, k in ((1, 2), (1, 4), (2, 2), (2, 4), (1, 3))
        for loops in (
            lambda n, k=k: [(n, 4, 4 * k + 1), (4, 1, k), (k, 4 * n + 3, 1)],
            lambda n, k=k: [(n, -4, 4 * k + 1), (4, 1, k), (k, 4 * n + 3, 1)],
            lambda n, k=k: [(k, 1, 4 * n + 3), (n, 4 * k + 1, 4), (4, k, 1)],
        )
    ]
    + [
        (size, loops)
        for size, k, c in ((4, 4, 4), (2, 8, 8), (4, 3, 8))
        for loops in (
            lambda n, k=k, c=c: [(c, 1, n * k), (n, c, k), (k, c * n + 3, 1)],
            lambda n, k=k, c=c: [(k, 1, c * n + 3), (n, k, c), (c, n * k, 1)],
        )
    ],
    "split": [
        (size, lambda n, c=c, of=of, way=way: [(c, 1, n + 3), (n, way * of, 1)])
        for size in (1, 2, 4)
        for c, of in ((2, 2), (3, 3), (4, 4), (8, 8), (2, 3), (3, 4), (5, 8))
        for way in (1, -1)
    ],
    "merge": [
        (size, lambda n, c=c, way=way: [(n, way, c), (c, n + 3, 1)])
        for size in (1, 2, 4)
        for c in (2, 3, 4, 8)
        for way in (1, -1)
    ],
    "pixels": [
        (1, lambda n, s=s, d=d, step=step: [(n, s, d), (d, step, 1)])
        for s, d, step in (
            *((3, 3, -1), (4, 3, 1), (4, 3, -1), (8, 3, -1), (5, 3, 1)),
            *((-3, 3, -1), (-4, 3, 1), (-4, 3, -1), (-8, 3, -1), (-5, 3, 1), (-8, 2, -1), (-4, 4, -1)),
        )
    ],
    "reverse": [
        *((size, lambda n: [(3, n + 2, n + 5), (n, -1, 1)]) for size in (1, 2, 4, 8, 16)),
        *((1, lambda n, k=k: [(2, k * n + 1, k * n + 3), (n, -k, k), (k, 1, 1)]) for k in (3, 5, 6, 7, 9, 12, 15)),
        (4, lambda n: [(2, 3 * n + 1, 3 * n), (n, -3, 3), (3, 1, 1)]),
    ],
    "padded": [
        (
            size,
            lambda n, a=a, b=b, s=s, far=far: [
                (2, n * abs(s) + 1, n * b),
                (n, s, b),
                (a, (2 * n + 1) * s if far > 0 else far or 1, 1),
            ],
        )
        for size, blocks in (
            (1, (4, 5, 8, 16, 32, 48, 64)),
            (2, (4, 8, 16, 32, 64)),
            (3, (4,)),
            (4, (4, 8, 16, 32)),
            (8, (4,)),
            (12, (2,)),
        )
        for b in blocks
        for a, s, far in (
            (1, 1, 0),
            (3, 3, 0),
            (3, 1, 1),
            (1, 3, 0),
            (3, 5, 0),
            (3, 9, 0),
            (3, 4, 1),
            (2, -3, 0),
            (7, 7, 0),
            (3, 3, -1),
            (8, 8, 0),
            (12, 1, 1),
            (16, 17, 0),
            (20, 20, 0),
            *((a, 8, -1) for a in (5, 6, 7)),
        )
        if a < b and a * size <= (32 if s == far == 1 else 64)
    ],
    "strided": [
        (size, loops)
        for size in (1, 2, 3, 4, 8, 16)
        for loops in (lambda n: [(2, 7 * n, 5 * n), (n, 2, 3)], lambda n: [(5, 2, 3 * n + 1), (n, 11, 3)])
    ],
}
PAST = LAST_CACHE // 2 + 4096  # bytes read and written, from which on the core stores past the caches (core.c)


def pads_of(path: str, loops: Loops) -> int:
    return loops[-2][2] - loops[-1][0] if path == "padded" else 0


def mover(path: str, size: int, loops: Loops, backend: str) -> tuple[Any, Box, int, int]:
    """The program of a move, its box, and the elements of both sides."""
    box, src_size, dst_size = boxed(loops)
    pads, name = pads_of(path, loops), Arithmetic(f"V{size}", f"V{size}")
    dst_size += pads
    program = kernels.program(src_size, dst_size, filling(loops, pads), (box,), name, backend)
    return program, box, src_size, dst_size


def expected_of(
    path: str, loops: Loops, box: Box, source: np.ndarray, size: int, dst_size: int, sentinel: int
) -> np.ndarray:
    result = np.full(dst_size * size, sentinel, np.uint8)
    elements = result.view(f"V{size}")
    elements[walked(loops, 1, box.dst)] = source.view(f"V{size}")[walked(loops, 0, box.src)]
    pads = pads_of(path, loops)
    if pads:
        elements[pad_places(loops, box.dst, pads)] = b"\0" * size
    return result


def check_move(
    fences: tuple[Fenced, Fenced],
    backends: Sequence[str],
    path: str,
    size: int,
    loops: Loops,
    first: bool,
    sentinel: int,
) -> list[tuple[str, str]]:
    """Return each path that a backend used, with the backend."""
    expected, used = None, []
    for backend in backends:
        program, box, src_size, dst_size = mover(path, size, loops, backend)
        places = [fence.first if first else fence.last for fence in fences]
        source, target = places[0](src_size * size), places[1](dst_size * size)
        if expected is None:
            source[:] = np.random.default_rng(src_size).integers(0, 256, source.size, np.uint8)
            expected = expected_of(path, loops, box, source, size, dst_size, sentinel)
        target[:] = sentinel
        program.run(source.view(f"V{size}"), target.view(f"V{size}"))
        assert_same(target, expected, err_msg=f"{backend} {size} {loops}")
        used += [(backend, name) for name in getattr(program, "paths", list)()]
    return used
