"""Scales that are declared along the wrong axis."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.evidence import Evidence
from npu_layout.diagnosis.scale_axes import scale_axes
from tests.support.endings import ending


@pytest.mark.parametrize("shape, true, declared", [((1, 12, 12), 2, 1), ((1, 12, 12), 1, 2), ((1, 9, 9, 9), 3, 1)])
def test_scales_along_another_axis(shape: tuple[int, ...], true: int, declared: int) -> None:
    rng, letters = np.random.default_rng(0), "NCW" if len(shape) == 3 else "NCHW"
    scales = rng.uniform(0.01, 0.2, shape[true])
    by = scales.reshape([-1 if k == true else 1 for k in range(len(shape))])
    inputs = [(rng.normal(0, 30, shape) * by).astype(np.float32) for _ in range(5)]
    stored, read = (
        nl.TensorSpec(shape, letters, "int8", quantization=nl.Quantization(scales, 0, axis), name="y")
        for axis in (true, declared)
    )
    frames = [({"x": x}, {"y": stored.pack(x)}) for x in inputs]
    output = nl.validate(nl.Recording({"y": read}, frames), ending(shape)).outputs["y"]
    assert output.verdict == "quantization", str(output)
    assert output.fix.quantization.axis == true and np.allclose(output.fix.quantization.scale, scales, rtol=0.05)
    right = nl.validate(nl.Recording({"y": stored}, frames), ending(shape)).outputs["y"]
    assert right.verdict == "match", str(right)


def test_only_axes_of_that_length() -> None:
    shape = (1, 6, 8)
    spec = nl.TensorSpec(shape, "NCW", "int8", quantization=nl.Quantization([0.1] * 6, 0, 1))
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    assert not list(scale_axes(Evidence(spec, [spec.pack(x)] * 2, [x] * 2, (), 1)))
