"""A Preprocessor whose target states its channels, against one whose target does not, and numpy's flip."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout import kernels

MEAN, STD, PAD = (123.7, 116.3, 103.5), (58.4, 57.1, 61.4), (10, 20, 30)
SCALES, ZERO_POINTS = [0.02, 0.03, 0.04], [-5, 0, 7]
LAYOUTS = ["NCHW", "NHWC", "CHWN", "NCHW4c", "NCHW16c", "NHCW8w", "NHWC8c", "NHCW8w4c"]


def scaled(axis: int | None, turned: bool = False) -> nl.Quantization:
    step = -1 if turned else 1
    return nl.Quantization(0.03, -5) if axis is None else nl.Quantization(SCALES[::step], ZERO_POINTS[::step], axis)


@st.composite
def cases(draw: Any) -> tuple[nl.TensorSpec, nl.TensorSpec, dict[str, Any]]:
    """A target that states its channels, the one that is written in the model's order, and arguments."""
    axes, layout = draw(st.sampled_from(["NCHW", "NHWC", "NWHC"])), draw(st.sampled_from(LAYOUTS))
    dtype = draw(st.sampled_from(["float32", "float16", "bfloat16", "uint8", "int8", "int16"]))
    color, channels = draw(st.sampled_from(["RGB", "BGR"])), draw(st.sampled_from(["RGB", "BGR"]))
    extents = {"N": draw(st.integers(1, 2)), "C": 3, "H": draw(st.integers(2, 19)), "W": draw(st.integers(2, 23))}
    shape = [extents[letter] for letter in axes]
    signed = dtype in ("int8", "int16")
    by_channel = signed and draw(st.booleans())
    quantizations: list[Any] = [None, None]
    if signed:
        axis = axes.index("C") if by_channel else None
        quantizations = [scaled(axis), scaled(axis, channels != color)]
    stated = nl.TensorSpec(shape, layout, dtype, axes=axes, quantization=quantizations[0], channels=channels)
    plain = nl.TensorSpec(shape, layout, dtype, axes=axes, quantization=quantizations[1])
    how = dict(color=color, pad_value=PAD, source=draw(st.sampled_from(["BGR", "RGB", "BGRA", "GRAY"])))
    how["resize"] = draw(st.sampled_from(["letterbox", "stretch", "crop"]))
    return stated, plain, how if dtype == "uint8" else {**how, "mean": MEAN, "std": STD}


@given(cases(), st.integers(0, 999))
def test_the_channels_of_the_buffer(case: Any, seed: int) -> None:
    """Bit for bit what is written without channels, with C flipped if they are not the model's; pads are 0."""
    stated, plain, how = case
    rng = np.random.default_rng(seed)
    depth = {"GRAY": 1, "BGRA": 4}.get(how["source"], 3)
    sizes = rng.integers(2, 40, (stated.shape[stated.axes.index("N")], 2))
    frames = [rng.integers(0, 256, (*size, depth)).astype(np.uint8) for size in sizes]
    out = np.full(stated.storage_shape, 99, stated.stored)
    got, geometries = nl.Preprocessor(stated, **how).batch(frames, out)
    wanted, same = nl.Preprocessor(plain, **how).batch(frames)
    c = stated.axes.index("C")
    raw = {key: value for key, value in plain.to_dict().items() if key != "quantization"}
    of_model = nl.TensorSpec.from_dict(raw)
    if plain.dtype == "bfloat16":
        of_model = nl.TensorSpec.from_dict({**raw, "dtype": "uint16"})
    tensor = of_model.unpack(np.ascontiguousarray(wanted))
    flipped = tensor if stated.channels == how["color"] else np.flip(tensor, c)
    np.testing.assert_array_equal(got.reshape(-1), of_model.pack(flipped))
    assert got is out and geometries == same


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
def test_every_kind_of_kernels(backend: str, layout: str, dtype: str) -> None:
    """The plan of a frame that is the network's size, run by each, against a loop over pixels."""
    quantization = scaled(1) if dtype == "int8" else None
    spec = nl.TensorSpec((1, 3, 9, 13), layout, dtype, quantization=quantization, channels="BGR")
    how: dict[str, Any] = {} if dtype == "uint8" else {"mean": MEAN, "std": STD}
    preprocess = nl.Preprocessor(spec, source="BGR", color="RGB", **how)
    frame = np.random.default_rng(3).integers(0, 256, (9, 13, 3)).astype(np.uint8)
    plan, got = preprocess.plan, np.full(spec.size, 99, spec.stored)
    kernels.program(frame.size, spec.size, plan.fills, plan.boxes, plan.arithmetic, backend).run(frame.reshape(-1), got)
    expected = np.zeros(spec.size, spec.stored)
    for h, w, c in np.ndindex(frame.shape):
        value: Any = frame[h, w, c]  # BGR to BGR
        if how:
            mean, std = np.float32(MEAN[2 - c]), np.float32(STD[2 - c])  # which are RGB's
            value = (np.float32(value) - mean) * (np.float32(1) / std)
        if quantization is not None:
            value = np.clip(np.rint(value / np.float32(SCALES[c])) + ZERO_POINTS[c], -128, 127)  # the buffer's
        expected[spec.offset(0, c, h, w)] = value
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(preprocess(frame)[0].reshape(-1), expected)


def test_the_border_is_in_the_order_of_the_model() -> None:
    spec = nl.TensorSpec((1, 3, 4, 4), "NHWC", "uint8", channels="BGR")
    buffer, _ = nl.Preprocessor(spec, color="RGB", pad_value=PAD)(np.full((2, 4, 3), 7, np.uint8))
    assert buffer[0, 0, 0].tolist() == [30, 20, 10] and buffer[0, 1, 0].tolist() == [7, 7, 7]


def test_it_may_be_pickled() -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", channels="BGR"), mean=MEAN, std=STD)
    frame = np.random.default_rng(0).integers(0, 256, (5, 9, 3)).astype(np.uint8)
    again = pickle.loads(pickle.dumps(preprocess))
    assert again.target == preprocess.target
    np.testing.assert_array_equal(again(frame)[0], preprocess(frame)[0])


def test_gray_is_no_order_of_three() -> None:
    with pytest.raises(nl.NpuLayoutError, match="uint8 BGR, axes NCHW, has 3 channels; color GRAY expects 1"):
        nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8", channels="BGR"), color="GRAY")


def test_ranges_are_those_of_the_models_channels() -> None:
    """The scale of blue, first in the buffer, is checked with the mean and std of blue, the model's last."""
    scales, mean, std = [0.001, 0.02, 0.02], (123.7, 116.3, 127.5), (58.4, 57.1, 1000.0)
    fits = nl.TensorSpec((1, 3, 8, 8), "NHWC", "int8", quantization=nl.Quantization(scales, 0, 1), channels="BGR")
    assert nl.Preprocessor(fits, mean=mean, std=std)
    turned = nl.TensorSpec.from_dict({**fits.to_dict(), "channels": "RGB"})
    with pytest.raises(nl.NpuLayoutError, match=r"mean=\[123.7, 116.3, 127.5\] .* are clamped"):
        nl.Preprocessor(turned, mean=mean, std=std)
