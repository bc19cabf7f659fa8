"""A frame beside its recorded input: units, saturation and errors, against formulas in plain numbers."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks import input_pairs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair

HIGH, WIDE = 5, 7
MEAN, STD = [10.0, 20.0, 30.0], [2.0, 4.0, 5.0]
HOW: dict[str, Any] = {"color": "RGB", "mean": MEAN, "std": STD, "resize": "stretch"}
FRAME = (
    np.random.default_rng(0).integers(0, 256, (HIGH, WIDE, 3)).astype(np.uint8)
)  # as large as the input: a copy of it
SPECS = {
    "float32": nl.TensorSpec((1, 3, HIGH, WIDE)),
    "last": nl.TensorSpec((1, HIGH, WIDE, 3), axes="NHWC"),
    "int8": nl.TensorSpec((1, 3, HIGH, WIDE), "NHWC", "int8", quantization=nl.Quantization(0.8, -20)),
    "per channel": nl.TensorSpec(
        (1, 3, HIGH, WIDE), "NCHW", "int8", quantization=nl.Quantization([0.8, 0.5, 0.25], [1, 2, 3], axis=1)
    ),
    "uint8": nl.TensorSpec((1, 3, HIGH, WIDE), "NHWC", "uint8"),
}


def pair(name: str, recorded: Any = 0.0, how: Any = HOW) -> InputPair:
    spec = SPECS[name]
    return InputPair(spec, {3: FRAME}, 3, np.broadcast_to(np.float32(recorded), spec.shape), how)


def elements(spec: nl.TensorSpec) -> Any:
    """(index, channel, the pixel of the frame there, which is RGB of a BGR frame) of each element."""
    for c, y, x in product(range(3), range(HIGH), range(WIDE)):
        index = tuple({"N": 0, "C": c, "H": y, "W": x}[letter] for letter in spec.axes)
        yield index, c, int(FRAME[y, x, 2 - c])


@pytest.mark.parametrize("name", SPECS)
def test_what_is_made_of_the_frame(name: str) -> None:
    spec, one = SPECS[name], pair(name)
    pixels = one.pixels(HOW)
    made = one.made(pixels, HOW)
    beyond = 0
    for index, c, pixel in elements(spec):
        assert pixels[index] == pixel
        real = pixel if name == "uint8" else (pixel - MEAN[c]) / STD[c]  # of integers mean and std are the model's
        if spec.quantization is not None:
            scale, zero = (
                float(np.broadcast_to(v, 3)[c]) for v in (spec.quantization.scale, spec.quantization.zero_point)
            )
            code = real / scale + zero
            beyond += not -129 <= code <= 128
            assert abs(made.values[index] - (min(max(round(code), -128), 127) - zero) * scale) < 1e-5 + scale * (
                abs(code - round(code)) > 0.499
            )
        else:
            assert made.values[index] == pytest.approx(real, rel=1e-6, abs=1e-6)
    assert made.saturated == pytest.approx(beyond / FRAME.size) and (beyond > 0) == (spec.quantization is not None)


def test_the_last_fit_is_used_again() -> None:
    one = pair("float32")
    first = one.pixels(HOW)
    assert one.pixels({**HOW, "mean": 0, "std": 1}) is first  # they are no part of a fit
    other = one.pixels({**HOW, "color": "BGR"})
    assert np.array_equal(other[:, ::-1], first) and one.pixels(HOW) is not first
    assert np.array_equal(one.pixels(HOW, FRAME[::-1]), first[:, :, ::-1])


@pytest.mark.parametrize(
    ("name", "step"), [("float32", 1.0), ("uint8", 1.0), ("int8", 0.8 * 5), ("per channel", 0.8 * 5)]
)
def test_the_unit_of_errors(name: str, step: float) -> None:
    """A step is a pixel value, or a stored integer if that is coarser: the largest scale times the largest std."""
    one = pair(name, 2.0)
    assert one.step == pytest.approx(step)
    std = [1, 1, 1] if name == "uint8" else STD
    wanted = math.sqrt(sum((3.5 * s / step) ** 2 for s in std) / 3)
    assert one.off(one.recorded + 3.5) == pytest.approx(wanted, rel=1e-5)
    assert one.off(one.recorded + 3.5, one.recorded + 3.5) == 0.0
    first = tuple(slice(1) if letter == "C" else slice(None) for letter in one.spec.axes)
    assert one.off(one.recorded + 3.5, where=first) == pytest.approx(3.5 * std[0] / step, rel=1e-5)
    assert one.off(one.recorded * np.float32(np.nan)) == math.inf


def test_what_was_recorded_in_pixels() -> None:
    spec = SPECS["last"]
    real = np.random.default_rng(1).normal(0, 1, spec.shape).astype(np.float32)
    one = InputPair(spec, {0: FRAME}, 0, real, HOW)
    for index, c, _ in elements(spec):
        assert one.measured[index] == pytest.approx(real[index] * STD[c] + MEAN[c], rel=1e-5)
    squares, count = 0.0, 0
    for channel in range(3):
        units = [float(real[i]) * STD[c] for i, c, _ in elements(spec) if c == channel]
        mean = sum(units) / len(units)
        squares, count = squares + sum((u - mean) ** 2 for u in units), count + len(units)
    assert one.contrast == pytest.approx(math.sqrt(squares / count), rel=1e-5)
    assert one.frame is FRAME and one.channels == 3


def test_what_is_one_colour_has_no_contrast() -> None:
    """However the values of its channels differ, and whatever their mean rounds to."""
    spec = SPECS["last"]
    real = np.empty(spec.shape, np.float32)
    for index, c, _ in elements(spec):
        real[index] = (0.1, -1.7, 2.3)[c]
    assert InputPair(spec, {0: FRAME}, 0, real, HOW).contrast == 0.0


@pytest.mark.parametrize(("dtype", "inverted"), [("uint8", 0), ("int8", 128)])
def test_the_mean_and_std_of_pixels_that_were_stored_as_they_are(dtype: str, inverted: int) -> None:
    """They make the real value of each byte, of one quantization and of one for each channel."""
    per_channel = nl.Quantization([0.02, 0.03, 0.04], [4, 5, 6], axis=1)
    for quantization in (nl.Quantization(0.02, 7), per_channel, nl.Quantization([0.02, 0.03, 0.04], axis=-3)):
        spec = nl.TensorSpec((1, 3, HIGH, WIDE), "NCHW", dtype, quantization=quantization)
        one = InputPair(spec, {0: FRAME}, 0, np.zeros(spec.shape, np.float32), HOW)
        ((mean, std),) = one.of_bytes()
        for pixel in (0, 1, 127, 200, 255):
            stored = np.full(spec.shape, pixel - inverted, dtype)
            for c in range(3):
                assert (pixel - mean[c]) / std[c] == pytest.approx(spec.unpack(stored)[0, c, 0, 0], abs=1e-5)


def test_only_bytes_that_have_a_scale_are_stored_as_they_are() -> None:
    rows = nl.TensorSpec((1, 3, 2, 2), "NCHW", "int8", quantization=nl.Quantization([0.1, 0.2], axis=2))
    words = nl.TensorSpec((1, 3, 2, 2), "NCHW", "int16", quantization=nl.Quantization(0.1))
    for spec in (rows, words, nl.TensorSpec((1, 3, 2, 2)), nl.TensorSpec((1, 3, 2, 2), "NHWC", "uint8")):
        assert not [*InputPair(spec, {0: FRAME}, 0, np.zeros(spec.shape, np.float32), HOW).of_bytes()]


def test_the_share_at_the_top() -> None:
    top = (127 + 20) * 0.8
    values = np.full(SPECS["int8"].shape, top - 0.8, np.float32)
    assert pair("int8", values).at_top == 0.0
    values[0, 0, 0, :5] = top
    assert pair("int8", values).at_top == pytest.approx(5 / FRAME.size)
    assert pair("float32", 1e30).at_top == 0.0


@pytest.mark.parametrize(("beyond", "saturated"), [(0.0, 0.0), (0.75, 0.0), (1.25, 1.0)])
@pytest.mark.parametrize("low", [True, False])
def test_what_is_less_than_a_step_beyond_the_range_is_rounding(low: bool, beyond: float, saturated: float) -> None:
    spec = nl.TensorSpec((1, 3, HIGH, WIDE), "NCHW", "int8", quantization=nl.Quantization(1.0, 0))
    how = {"color": "BGR", "mean": 0, "std": 1, "resize": "stretch"}
    one = InputPair(spec, {0: FRAME}, 0, np.zeros(spec.shape, np.float32), how)
    code = -128 - beyond if low else 127 + beyond
    made = one.made(np.full(spec.shape, code, np.float32), how)
    assert made.saturated == saturated and (made.values == (-128 if low else 127)).all()


def test_a_fitter_shares_what_is_fitted_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of a Preprocessor for each frame, and a new array."""
    made: list[dict[str, Any]] = []

    class Counted(nl.Preprocessor):
        def __init__(self, target: nl.TensorSpec, **how: Any) -> None:
            made.append(how)
            super().__init__(target, **how)

    own = nl.Preprocessor
    monkeypatch.setattr(input_pairs, "Preprocessor", Counted)
    spec = nl.TensorSpec((1, 6, 9, 3), axes="NHWC", dtype="uint8")
    target = nl.TensorSpec(spec.shape, nl.Layout.plain(spec.axes))
    rng, fit, kept = np.random.default_rng(0), input_pairs.Fitter(spec), []
    yuv = nl.FrameSpec("NV12", (8, 6), strides=(16, 16))
    ways: list[tuple[dict[str, Any], int, tuple[int, ...]]] = [
        ({}, 1, (11, 14, 3)),
        ({"color": "BGR"}, 2, (11, 14, 3)),
        ({"pad_value": [1, 2, 3]}, 3, (5, 4, 3)),
        ({"pad_value": np.array([1, 2, 3])}, 3, (5, 4, 3)),
        ({"pad_value": (1, 2, 4)}, 4, (5, 4, 3)),
        ({"source": yuv}, 5, (yuv.size,)),
        ({"source": yuv.to_dict()}, 6, (yuv.size,)),
        ({"source": yuv.to_dict()}, 6, (yuv.size,)),
        ({}, 6, (3, 30, 3)),
    ]
    for how, count, shape in ways:
        frame = rng.integers(0, 256, shape).astype(np.uint8)
        stated = {**how, "source": yuv} if "source" in how else how
        expected = own(target, **stated)(frame)[0].reshape(spec.shape)
        kept.append((fit(frame, how), expected))
        assert len(made) == count
    for got, expected in kept:
        np.testing.assert_array_equal(got, expected)
    frame = rng.integers(0, 256, (20, 30, 3)).astype(np.uint8)
    for part in ((1, 3, 20, 9), None, (0, 0, 7, 15)):
        expected = own(target, resize="letterbox")(frame, roi_xywh=part)[0].reshape(spec.shape)
        np.testing.assert_array_equal(fit(frame, {"resize": "letterbox"}, part), expected)
    for bad in ({"pad_value": {1, 2}}, {"source": {1: 2, "a": 3}}):
        with pytest.raises(nl.NpuLayoutError):
            fit(frame, bad)
    for i in range(200):
        assert fit(np.zeros((4, 4, 3), np.uint8), {"pad_value": i}).shape == spec.shape


@pytest.mark.parametrize(
    ("source", "dtype", "rows"),
    [
        ("BGR", "uint8", 4),
        ("GRAY16", "uint16", 4),
        ("RGB565", "uint16", 4),
        ("P010", "uint16", 6),
        ("NV12", "uint8", 6),
    ],
)
def test_the_place_of_a_frame_in_its_border_whatever_its_format(source: str, dtype: str, rows: int) -> None:
    """A picture of 8 x 4 in a square of 8: two rows of border above it, two below."""
    spec = nl.TensorSpec((1, 1 if source == "GRAY16" else 3, 8, 8), "NHWC", "uint8")
    frame = np.zeros((rows, 8, 3) if source == "BGR" else (rows, 8), dtype)
    how = {"color": "GRAY" if source == "GRAY16" else "RGB", "resize": "letterbox", "source": source}
    inside = InputPair(spec, {0: frame}, 0, np.zeros(spec.shape, np.float32), how).inside(how)
    of_rows = np.moveaxis(inside, spec.axes.index("H"), 0).reshape(8, -1)
    assert of_rows.all(1).tolist() == of_rows.any(1).tolist() == [False] * 2 + [True] * 4 + [False] * 2
