"""Arrays as people have them: sliced, flipped, expanded, column-major, byte-swapped, overlapping, read-only, empty."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

AXES = {1: ["N", "C"], 2: ["NC", "HW"], 3: ["NCW", "CHW"], 4: ["NCHW"], 5: ["NCDHW"]}
DTYPES = ["uint8", "int16", ">i2", "float32", ">f4", "float64", "complex128", "bool", "M8[s]", "S3", "i4,u1", "object"]


def assert_same(got: np.ndarray, expected: Any, err_msg: str = "") -> None:
    """As numpy's assert_array_equal, which takes a hundred times as long where all bytes are the same, as usual."""
    wanted = np.asarray(expected)
    if got.shape != wanted.shape or got.dtype != wanted.dtype or got.tobytes() != wanted.tobytes():
        np.testing.assert_array_equal(got, wanted, err_msg=err_msg)


def filled(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).integers(0, 100, shape)
    if np.dtype(dtype).names:
        result = np.zeros(shape, dtype)
        for name in result.dtype.names:
            result[name] = values
        return result
    return values.astype(dtype)


@st.composite
def arrays(draw: Any, least: int = 0, ranks: tuple[int, int] = (1, 5)) -> np.ndarray:
    """An array of any of those kinds."""
    rank = draw(st.integers(*ranks))
    shape = tuple(draw(st.sampled_from([1, 1, 2, 3, 4, 5] + [0] * (not least))) for _ in range(rank))
    order = draw(st.permutations(range(rank)))
    dtype = draw(st.sampled_from(DTYPES))
    whole = filled(tuple(2 * shape[i] + 1 for i in order), dtype, draw(st.integers(0, 99)))
    kinds = st.sampled_from(["dense", "dense", "sliced", "expanded", "overlapping", "field", "unaligned", "read-only"])
    kind = draw(kinds)
    if kind == "sliced":
        steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in order]
        part = whole[
            tuple(slice(None, n if abs(s) == 1 else None, s) for n, s in zip(np.array(shape)[list(order)], steps))
        ]
        part = part[tuple(slice(0, shape[i]) for i in order)]
    else:
        part = np.ascontiguousarray(whole[tuple(slice(0, shape[i]) for i in order)])
    if kind == "expanded":
        axis = draw(st.integers(0, rank - 1))
        part = np.broadcast_to(part[(slice(None),) * axis + (slice(0, 1),)] if part.shape[axis] else part, part.shape)
    elif kind == "overlapping" and part.size and not part.dtype.hasobject:
        steps = [draw(st.integers(0, 3)) * part.itemsize for _ in order]
        memory = filled((1 + sum(3 * n for n in part.shape),), dtype)
        part = np.lib.stride_tricks.as_strided(memory, part.shape, steps)
    elif kind == "field":
        record = np.zeros(part.shape, [("pad", "u1"), ("x", part.dtype)])
        record["x"] = part
        part = record["x"]
    elif kind == "unaligned" and not part.dtype.hasobject:
        raw = np.zeros(part.nbytes + 1, np.uint8)[1:].view(part.dtype).reshape(part.shape)
        raw[...] = part
        part = raw
    result = part.transpose(np.argsort(order))
    if kind == "read-only":
        result = result.view()
        result.flags.writeable = False
    assert result.shape == shape
    return result


def tags(axes: str) -> list[str]:
    """Every plain tag of those axes that may be written (WHCN and CWHN may not)."""
    every = ("".join(places) for places in itertools.permutations(axes))
    return [tag for tag in every if tag not in ("WHCN", "CWHN")]


def bits(x: np.ndarray) -> Any:
    """What to compare where values may be anything: the objects, or the bytes in C order."""
    return x.tolist() if x.dtype.hasobject else x.tobytes()


def in_elements(x: np.ndarray) -> tuple[int, ...]:
    """The strides, counted in elements."""
    return tuple(s // x.itemsize for s in x.strides)
