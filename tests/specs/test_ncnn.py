"""ncnn's Mat: every place of a tensor in its memory, counted by loops as mat.h counts them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


def mat(w: int, h: int = 1, d: int = 1, c: int = 1, *, dims: int, pack: int = 1, bytes_: int = 4, step: int = 0) -> Any:
    aligned = -(-w * h * d * bytes_ * pack // 16) * 16 // (bytes_ * pack)
    return dict(dims=dims, w=w, h=h, d=d, c=c, elempack=pack, elemsize=bytes_ * pack, cstep=step or aligned)


@pytest.mark.parametrize("pack", [1, 4, 8])
@pytest.mark.parametrize(("dims", "extents"), [(1, (7,)), (2, (5, 7)), (3, (3, 5, 7)), (4, (3, 2, 5, 7))])
def test_every_element_is_where_the_mat_has_it(dims: int, extents: tuple[int, ...], pack: int) -> None:
    names = {1: "w", 2: "hw", 3: "chw", 4: "cdhw"}[dims]
    given = mat(dims=dims, pack=pack, **dict(zip(names, extents)))
    spec = nl.specs.from_ncnn(given, name="out0")
    shape = (1, extents[0] * pack, *extents[1:])
    assert (spec.shape, spec.axes, spec.dtype, spec.name) == (shape, {1: "NC", 2: "NCW", 3: "NCHW", 4: "NCDHW"}[dims],
                                                              "float32", "out0")  # fmt: skip
    planes = given["c"] if dims > 2 else 1
    assert spec.nbytes == given["cstep"] * planes * given["elemsize"]
    for index in itertools.product(*map(range, shape[1:])):
        front, *rest = index
        block, lane = divmod(front, pack)
        at = block * given["cstep"] if dims > 2 else block * int(np.prod(extents[1:]))
        for i, part in enumerate(rest):
            at += part * int(np.prod(extents[i + 2 :]))
        assert spec.offset(0, *index) == at * pack + lane, index
    bare = nl.specs.from_ncnn(given, batch=False)
    assert (bare.shape, bare.axes) == (shape[1:], spec.axes[1:])
    memory = np.arange(spec.size, dtype=np.float32)
    np.testing.assert_array_equal(bare.unpack(memory), spec.unpack(memory)[0])


def test_types() -> None:
    assert nl.specs.from_ncnn(mat(3, 3, 1, 2, dims=3, bytes_=1)).dtype == "int8"
    half = mat(3, 3, 1, 2, dims=3, bytes_=2)
    assert nl.specs.from_ncnn(half, dtype="bfloat16").dtype == "bfloat16"
    assert nl.specs.from_ncnn(half, dtype=np.float16).dtype == "float16"
    assert nl.specs.from_ncnn(mat(3, dims=1), dtype="int32").dtype == "int32"


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"elemsize": 2}, {}, "does not report the type of its scalars of 2 bytes; give dtype="),
        ({"elemsize": 6, "elempack": 4}, {}, "elemsize 6 is not a multiple of elempack 4"),
        ({}, {"dtype": "int8"}, "dtype 'int8' does not fit scalars of 4 bytes"),
        ({"cstep": 8}, {}, "cstep 8 is shorter than a plane of 9 elements"),
        ({"dims": 2}, {}, "dims is 2, but w, h, d and c are 3, 3, 1 and 2"),
        ({"dims": 0, "w": 0, "h": 0, "c": 0}, {}, "an empty Mat has no memory"),
        ({"dims": 5}, {}, "expected 1 to 4 dims"),
        ({"n": 2}, {}, "n is 2; expected one image"),
        ({"elemsize": None}, {}, "no field 'elemsize'"),
        ({"w": 3.0}, {}, "field 'w': got 3.0"),
    ],
)
def test_refusals(change: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_ncnn({**mat(3, 3, 1, 2, dims=3), **change}, **options)
