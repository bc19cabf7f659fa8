"""A spec that states its channels: checked, kept in every form, and brought into a model's order by numpy's flip."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.buffers import in_model_order, spec_in_model_order, with_exchanged_colors
from npu_layout.buffers.colors import is_exchanged

LAYOUTS = ("NCHW", "NHWC", "CHWN", "NCHW4c", "NCHW16c", "NHWC8c", "NHCW8w", "CNHW4c")
COLORS = ("RGB", "BGR")


@st.composite
def images(draw: Any) -> dict[str, Any]:
    """The arguments of a TensorSpec of an image, quantised or not."""
    axes = draw(st.sampled_from(["NCHW", "NHWC", "HCWN", "CHW", "HWC"]))
    extents = {"N": draw(st.integers(1, 2)), "C": 3, "H": draw(st.integers(1, 5)), "W": draw(st.integers(1, 5))}
    shape = [extents[letter] for letter in axes]
    layout = draw(st.sampled_from(LAYOUTS)) if "N" in axes else draw(st.sampled_from(["CHW", "HWC", "CHW4c"]))
    dtype = draw(st.sampled_from(["uint8", "int8", "int16", "float32", "float16"]))
    kind = draw(st.sampled_from(["none", "tensor", "C", "W"])) if "int" in dtype else "none"
    quantization = None
    if kind == "tensor":
        quantization = nl.Quantization(0.5, 3)
    elif kind != "none":
        axis = axes.index(kind) - draw(st.sampled_from([0, len(axes)]))
        scales = [0.25 * (i + 1) for i in range(extents[kind])]
        quantization = nl.Quantization(scales, list(range(extents[kind])), axis)
    return dict(shape=shape, layout=layout, dtype=dtype, axes=axes, quantization=quantization, name="image")


@given(images(), st.sampled_from(COLORS), st.integers(0, 99))
def test_nothing_of_a_buffer_is_reordered(how: dict[str, Any], channels: str, seed: int) -> None:
    plain, stated = nl.TensorSpec(**how), nl.TensorSpec(**how, channels=channels)
    buffer = np.random.default_rng(seed).integers(0, 100, plain.size).astype(plain.stored)
    for to in (None, "WCHN" if "N" in plain.axes else "WCH"):
        np.testing.assert_array_equal(stated.unpack(buffer, to=to), plain.unpack(buffer, to=to))
    tensor = plain.unpack(buffer)
    np.testing.assert_array_equal(stated.pack(tensor), plain.pack(tensor))
    np.testing.assert_array_equal(stated.unpack(buffer, out=np.empty_like(tensor)), tensor)
    assert stated.nbytes == plain.nbytes and stated.storage == plain.storage


@given(images(), st.sampled_from(COLORS))
def test_it_is_part_of_what_a_spec_is_only_if_given(how: dict[str, Any], channels: str) -> None:
    plain, stated = nl.TensorSpec(**how), nl.TensorSpec(**how, channels=channels)
    other = nl.TensorSpec(**how, channels="RGB" if channels == "BGR" else "BGR")
    assert plain.channels is None and stated.channels == channels
    assert plain == nl.TensorSpec(**how, channels=None) and len({plain, stated, other}) == 3
    assert "channels" not in plain.to_dict() and "channels" not in repr(plain) and str(plain) == repr(plain)
    assert stated.to_dict() == {**plain.to_dict(), "channels": channels}
    assert repr(stated) == f"{repr(plain)[:-1]}, channels={channels!r})"
    for again in (
        nl.TensorSpec.from_dict(json.loads(json.dumps(stated.to_dict()))),
        pickle.loads(pickle.dumps(stated)),
        copy.deepcopy(stated),
        eval(repr(stated), {"TensorSpec": nl.TensorSpec, "Quantization": nl.Quantization}),
    ):
        assert again == stated and hash(again) == hash(stated) and again.channels == channels
    assert stated.describe() == f"{plain.describe()} {channels}"


@pytest.mark.parametrize(
    "wrong", ["bgr", "", "RGBA", "GRAY", "YUV", 3, True, ["BGR"], b"BGR", float("nan"), np.str_("G")]
)
def test_what_is_no_order_of_colours(wrong: Any) -> None:
    with pytest.raises(nl.LayoutError, match=r"channels: expected 'BGR' or 'RGB', or None .*, got "):
        nl.TensorSpec((1, 3, 4, 4), channels=wrong)
    with pytest.raises(nl.LayoutError, match="channels: expected"):
        nl.TensorSpec.from_dict({"shape": [1, 3, 4, 4], "channels": wrong})


@pytest.mark.parametrize(
    ("shape", "how", "got"),
    [
        ((1, 4, 3, 3), {}, "C of 4"),
        ((1, 3, 3, 1), {"layout": "NHWC", "axes": "NHWC"}, "C of 1"),
        ((3, 3), {"layout": "HW", "axes": "HW"}, "the axes HW"),
        ((3,), {"layout": "M"}, "the axes M"),
    ],
)
def test_what_has_no_three_channels(shape: tuple[int, ...], how: dict[str, Any], got: str) -> None:
    with pytest.raises(nl.LayoutError, match=f"channels='BGR': expected an axis C of 3 elements, got {got}"):
        nl.TensorSpec(shape, **how, channels="BGR")


@given(images(), st.sampled_from(COLORS), st.sampled_from(COLORS), st.integers(0, 99))
def test_in_the_order_of_a_model(how: dict[str, Any], channels: str, color: str, seed: int) -> None:
    """What a model gets, and the same by a spec whose scales are the model's, of a buffer that is the model's."""
    spec = nl.TensorSpec(**how, channels=channels)
    buffer = np.random.default_rng(seed).integers(0, 100, spec.size).astype(spec.stored)
    tensor, c = spec.unpack(buffer), spec.axes.index("C")
    wanted = tensor if channels == color else np.take(tensor, [2, 1, 0], c)
    got = in_model_order(spec, tensor, color)
    np.testing.assert_array_equal(got, wanted)
    assert got.flags.c_contiguous and got.dtype == tensor.dtype and is_exchanged(spec, color) == (channels != color)
    model = spec_in_model_order(spec, color)
    assert model.channels is None and model.storage == spec.storage and model.name == spec.name
    stored = nl.TensorSpec.from_dict({**spec.to_dict(), "quantization": None}).unpack(buffer)
    flipped = np.ascontiguousarray(stored if channels == color else np.flip(stored, c))
    np.testing.assert_array_equal(model.unpack(model.pack(flipped)), wanted)
    plain = nl.TensorSpec(**how)
    assert in_model_order(plain, tensor, color) is tensor and spec_in_model_order(plain, color) is plain
    assert with_exchanged_colors(with_exchanged_colors(spec.quantization, spec.axes), spec.axes) == spec.quantization


def test_a_string_of_numpy() -> None:
    spec = nl.TensorSpec((1, 3, 2, 2), channels=np.str_("BGR"))
    assert type(spec.channels) is str and repr(spec).endswith("channels='BGR')")


def test_a_model_without_colours() -> None:
    spec = nl.TensorSpec((1, 3, 2, 2), channels="BGR")
    for color in ("GRAY", "rgb", None, 3):
        with pytest.raises(nl.LayoutError, match="channels='BGR': expected a model whose color is BGR or RGB, got "):
            in_model_order(spec, np.zeros(spec.shape), color)  # type: ignore[arg-type]
    plain = nl.TensorSpec((1, 3, 2, 2))
    assert not is_exchanged(plain, "GRAY")


def test_a_plan_does_not_exchange_colours() -> None:
    bgr, rgb, plain = (nl.TensorSpec((1, 3, 2, 2), "NHWC", "uint8", channels=c) for c in ("BGR", "RGB", None))
    with pytest.raises(nl.LayoutError, match=r"uint8 BGR and .* uint8 RGB differ in their colours"):
        nl.plan(bgr, rgb)
    buffer = np.arange(12, dtype=np.uint8)
    for source, target in ((bgr, bgr), (bgr, plain), (plain, rgb)):
        assert nl.plan(source, target)(buffer).tolist() == buffer.tolist()
