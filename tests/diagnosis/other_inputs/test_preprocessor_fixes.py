"""What a Preprocessor refuses of a fix, asked of it for the image that the fix is about."""

from __future__ import annotations

from typing import Any

import pytest

import npu_layout as nl
from npu_layout.diagnosis.other_inputs.preprocessor_fixes import is_refused, of_colours, of_pixels

SHAPE = (1, 3, 8, 8)
PIXELS = nl.TensorSpec(SHAPE, "NHWC", "uint8")
FLOATS = nl.TensorSpec(SHAPE, "NHWC")
INT8 = nl.TensorSpec(SHAPE, "NHWC", "int8", quantization=nl.Quantization(1 / 50, 0))


@pytest.mark.parametrize("how", [{"mean": 0.5, "std": 0.25}, {"target": PIXELS, "mean": 128, "std": 50}])
def test_refused(how: dict[str, Any]) -> None:
    with pytest.raises(nl.NpuLayoutError):
        nl.Preprocessor(**{"target": FLOATS, **how})
    assert is_refused(how)


@pytest.mark.parametrize("how", [{"mean": 128, "std": 50}, {"color": "GRAY"}, {"color": "BGRA"}])
def test_taken(how: dict[str, Any]) -> None:
    """By some image: the fix does not say how many channels it has."""
    assert not is_refused(how)


def test_mean_and_std_of_pixels() -> None:
    """A buffer of pixels is written without them; the model behind it has them."""
    how = {"mean": [128.0] * 3, "std": [50.0] * 3}
    assert "not in the Preprocessor that writes the buffer" in of_pixels({**how, "target": PIXELS})
    for target in (FLOATS, INT8):
        nl.Preprocessor(target, **how)
        assert of_pixels({**how, "target": target}) == ""
    assert of_pixels({"target": PIXELS, "mean": 0, "std": 1}) == of_pixels({"target": PIXELS}) == ""


def test_yuv_stays_beside_the_declared_interpolation_alone() -> None:
    declared = {"source": "NV12", "yuv": "planes"}
    fix = {**declared, "color": "BGR"}
    assert of_colours(fix, declared) == fix
    assert of_colours({**fix, "interpolation": "cubic"}, declared) == {
        "source": "NV12",
        "color": "BGR",
        "interpolation": "cubic",
    }
    cubic = {**declared, "yuv": "exact", "interpolation": "cubic"}
    assert of_colours({**cubic, "color": "BGR"}, cubic)["yuv"] == "exact"
