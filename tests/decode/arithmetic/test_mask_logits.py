"""The sign of a mask's logits: when it is that of integers, and numpy's masks where the kernels have none."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import Quantization, TensorSpec, kernels
from npu_layout.decode.arithmetic.mask_logits import MASK_RULES, MaskLogits, planes_of

SPEC = TensorSpec((1, 4, 3, 5), "NHWC", "int8", quantization=Quantization(0.1, 7))


def logits_of(spec: TensorSpec, dtype: str = "int8", zero_point: float = 0) -> MaskLogits:
    rng = np.random.default_rng(1)
    flat = rng.integers(-9, 9, spec.size).astype(spec.stored)
    return MaskLogits(spec, flat, rng.integers(-9, 9, (2, 4)).astype(dtype), zero_point)


def test_whose_sign_is_that_of_integers() -> None:
    assert logits_of(SPEC).are_integers and logits_of(SPEC, "uint16", -3).are_integers
    assert logits_of(SPEC.replace(dtype="int16")).are_integers
    for spec, dtype, zero in (
        (TensorSpec((1, 4, 3, 5), "NHWC", "float32"), "int8", 0),
        (SPEC.replace(dtype="int32"), "int8", 0),
        (SPEC.replace(quantization=Quantization(0.1, 1 << 60)), "int8", 0),
        (SPEC.replace(quantization=Quantization([0.1] * 4, [0] * 4, axis=1)), "int8", 0),
        (SPEC, "float32", 0),
        (SPEC, "int32", 0),
        (SPEC, "int8", 0.5),
        (SPEC, "int8", 1 << 17),
    ):
        assert not logits_of(spec, dtype, zero).are_integers, (spec, dtype, zero)


@pytest.mark.parametrize("letters", ["NCHW", "NHWC", "CHW", "HWC"])
def test_planes_whatever_the_order_of_axes(letters: str) -> None:
    extents = {"N": 1, "C": 4, "H": 3, "W": 5}
    spec = TensorSpec([extents[letter] for letter in letters], axes=letters, layout=letters)
    assert planes_of(spec) == (4, 3, 5) == MaskLogits(spec, np.zeros(60, np.float32), np.zeros((0, 4))).planes
    assert planes_of(TensorSpec((2, 4, 3, 5))) is None and planes_of(TensorSpec((4, 3), "CW")) is None


def test_numpy_writes_what_the_kernels_write() -> None:
    """And where the kernels have no loops, they write nothing."""
    logits, size, sides = logits_of(SPEC, "int16", 2), (12, 20), [(20, 12), (7, 5)]
    windows = np.array([[0, 0, 20, 12], [3, 2, 10, 7]], np.int32)
    crops = [np.zeros((down, across), bool) for across, down in sides]
    logits.write_by_numpy(MASK_RULES["logits"], None, windows, size, crops)
    out = np.full(sum(across * down for across, down in sides), 2, np.uint8)
    if logits.write_compiled(windows, size, out):
        np.testing.assert_array_equal(out, np.concatenate([crop.ravel() for crop in crops]))
    else:
        assert kernels.active() == "numpy" and (out == 2).all()
    assert not logits.write_compiled(windows, (12, 21), out) and not logits_of(SPEC, "float32").write_compiled(
        windows, size, out
    )


def test_nan_is_not_set() -> None:
    spec = TensorSpec((1, 4, 3, 5), "NHWC")
    logits = MaskLogits(spec, np.full(spec.size, np.nan, np.float32), np.ones((1, 4), np.float32))
    crop = np.ones((3, 5), bool)
    logits.write_by_numpy(MASK_RULES["logits"], None, np.array([[0, 0, 5, 3]], np.int32), (3, 5), [crop])
    assert not crop.any()
