"""What a spec's quantization and colours have to fit; each message says what is expected and what came."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout.buffers.elements import element
from npu_layout.buffers.spec_checks import check_quantization, checked_channels
from npu_layout.layouts import Storage

IMAGE = Storage.bind(nl.Layout("NHWC"), (1, 3, 4, 5))


@pytest.mark.parametrize("axis", [None, 1, -3])
def test_what_fits(axis: int | None) -> None:
    scale = 0.5 if axis is None else [0.5, 0.25, 0.125]
    check_quantization(nl.Quantization(scale, 1, axis), element("int8"), IMAGE)
    assert [checked_channels(c, IMAGE) for c in ("RGB", "BGR")] == ["RGB", "BGR"]


@pytest.mark.parametrize(
    ("quantization", "dtype", "words"),
    [
        (0.5, "int8", r"quantization: expected a Quantization or None, got 0\.5"),
        ((0.5, -3), "int8", r"got \(0\.5, -3\); give Quantization\(0\.5, -3\)$"),
        (nl.Quantization(0.5), "float32", "dtype float32 cannot be quantised; expected an integer"),
        (nl.Quantization([0.5, 1.0], axis=4), "int8", r"quantization axis 4 is outside -4\.\.3"),
        (nl.Quantization([0.5, 1.0], axis=1), "int8", r"axis 1 \(C\) has 3 elements, but quantization has 2 scales"),
    ],
)
def test_a_quantization_that_does_not_fit(quantization: object, dtype: str, words: str) -> None:
    with pytest.raises(nl.LayoutError, match=words):
        check_quantization(quantization, element(dtype), IMAGE)  # type: ignore[arg-type]


def test_colours_that_do_not_fit() -> None:
    with pytest.raises(nl.LayoutError, match=r"channels: expected 'BGR' or 'RGB', or None .* got 'rgb'"):
        checked_channels("rgb", IMAGE)
    with pytest.raises(nl.LayoutError, match="expected an axis C of 3 elements, got C of 4"):
        checked_channels("RGB", Storage.bind(nl.Layout("NHWC"), (1, 4, 4, 5)))
    with pytest.raises(nl.LayoutError, match="expected an axis C of 3 elements, got the axes NM"):
        checked_channels("RGB", Storage.bind(nl.Layout("NM"), (1, 4)))
