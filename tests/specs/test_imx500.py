"""The IMX500's outputs: one run of floats, sizes fastest first, cut up as picamera2's get_outputs cuts it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

SIZES = ([4, 3], [5], [2, 3, 4], [1, 2, 1, 3])


def about(*sizes: list[int], **change: Any) -> dict[str, Any]:
    """As IMX500.__get_output_tensor_info returns it."""
    infos = [dict(tensor_data_num=math.prod(s), num_dimensions=len(s), size=list(s)) for s in sizes]
    return {"network_name": "net", "num_tensors": len(sizes), "info": infos, **change}


def test_every_output_of_a_run_of_floats() -> None:
    run = np.random.default_rng(0).normal(size=sum(map(math.prod, SIZES))).astype(np.float32)
    at = 0
    for i, size in enumerate(SIZES):
        spec = nl.specs.from_imx500(about(*SIZES), index=i, name=f"y{i}")
        count = math.prod(size)
        np.testing.assert_array_equal(spec.unpack(run), run[at : at + count].reshape(size, order="F"))
        assert (spec.nbytes, spec.storage_offset, spec.name, spec.dtype) == (run.nbytes, at, f"y{i}", "float32")
        at += count
    assert nl.specs.from_imx500(about(*SIZES)["info"], index=2) == nl.specs.from_imx500(about(*SIZES), index=2)


def test_sizes_beyond_the_dimensions_are_not_read() -> None:
    info = dict(tensor_data_num=12, num_dimensions=2, size=[4, 3, 0, 0, 7])
    assert nl.specs.from_imx500([info]).shape == (4, 3)


@pytest.mark.parametrize(
    ("info", "index", "says"),
    [
        (about([4, 3]), 1, "index 1: expected 0 to 0, because info has 1 output"),
        (about([4, 3]), -1, "index -1"),
        (about([4, 3], num_tensors=2), 0, "num_tensors 2: expected 1 to 1"),
        ([], 0, "num_tensors 0"),
        ([dict(tensor_data_num=13, size=[4, 3])], 0, "output 0: size .4, 3. has not tensor_data_num 13 elements"),
        ([dict(tensor_data_num=0, size=[4, 0])], 0, "has not tensor_data_num 0"),
        ([dict(num_dimensions=3, size=[4, 3])], 0, "num_dimensions 3: expected 1 to 2"),
        ([dict(size=[4, 3]), dict(size=None)], 0, "IMX500 info 1 has no field 'size'"),
    ],
)
def test_refusals(info: Any, index: int, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_imx500(info, index=index)
