"""Usual means and stds, and which of them a quantised input can be meant for."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.buffers import Quantization
from npu_layout.frames import IMAGENET, as_pixels, usual
from npu_layout.frames.pixel_units import check_range, check_units

IMAGE_MEAN, IMAGE_STD = IMAGENET


def test_usual_means_follow_the_order_of_colours() -> None:
    rgb, bgr, gray = usual("RGB", 3), usual("BGR", 3), usual("GRAY", 1)
    assert list(rgb) == list(bgr) and next(iter(rgb.values())) == ((0.0,) * 3, (1.0,) * 3)
    assert (IMAGE_MEAN, IMAGE_STD) in rgb.values() and (IMAGE_MEAN[::-1], IMAGE_STD[::-1]) in bgr.values()
    assert {name: tuple(v[::-1] for v in both) for name, both in rgb.items()} == bgr
    assert set(gray) < set(rgb) and all(len(mean) == len(std) == 1 for mean, std in gray.values())


@pytest.mark.parametrize(
    "mean, std",
    [
        ((0.0,), (1.0,)),
        ((0.0,), (-1.0,)),
        (IMAGE_MEAN, IMAGE_STD),
        ((1.0,), (1.5,)),
        ((0.5, 1.0), (1.0, 1.0)),
        ((-5.0, 1.0), (1.0, 1.0)),
    ],
)
def test_pixel_units_pass(mean: Any, std: Any) -> None:
    check_units(mean, std)


def test_units_from_0_to_1_are_refused_with_those_times_255() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"got mean=0\.5 and std=0\.25: .* give mean=127\.5 and std=63\.75"):
        check_units((0.5,) * 3, (0.25,) * 3)


@pytest.mark.parametrize(
    ("mean", "std", "meant"),
    [
        ((0.0,), (1 / 255,), r"multiplied by 0\.00392157, give std=255$"),
        (
            (123.7, 116.3, 103.5),
            (0.0171, 0.0175, 0.0174),
            r"multiplied by \[.*\], give std=\[58\.4795, 57\.1429, 57\.4713\]$",
        ),
        ((0.0,), (0.5,), r"divides by 255 first, give mean=0 and std=127\.5$"),
        ((0.5,), (1.0,), r"give mean=127\.5 and std=255$"),
        ((-0.5,), (1.0,), r"mean is subtracted: .* give mean=127\.5 and std=255$"),
        ((-5.0,), (1.0,), r": mean is subtracted: give mean=5$"),
        ((-124.0,), (1 / 255,), r"mean is subtracted, before std divides: give mean=124 and std=255$"),
        ((-124.0,), (57.0,), r": mean is subtracted: give mean=124$"),
        ((-1.0,), (1 / 127.5,), r"mean is subtracted, before std divides: give mean=127\.5 and std=127\.5$"),
        ((-1.0,), (127.5,), r"mean is subtracted, before std divides: give mean=127\.5$"),
        ((-0.5,), (1 / 255,), r"give mean=127\.5 and std=255$"),
        ((-2.0,), (0.25,), r"divides by 255 first, give mean=127\.5 and std=63\.75$"),
        ((-0.5, 0.3, 0.0), (1.0, 1.0, 1.0), r": a mean of pixels is positive$"),
        ((-123.675, -116.28, -103.53), (58.4, 57.1, 57.4), r"give mean=\[123\.675, 116\.28, 103\.53\]$"),
        ((-127.5,), (0.5,), r"mean is subtracted: .* give mean=127\.5 and std=127\.5$"),
        ((-5.0, 0.5), (1.0, 1.0), r": a mean of pixels is positive$"),
        ((0.5,), (255.0,), r"give mean=127\.5 and std=255$"),
        ((0.0, 0.0, 0.0), (58.0, 57.0, 0.225), r"give mean=0 and std=\[58, 57, 57\.375\]$"),
        ((0.485, 0.456, 0.0), (58.0, 57.0, 57.0), r"give mean=\[123\.675, 116\.28, 0\] and std=\[58, 57, 57\]$"),
    ],
)
def test_each_of_them_is_refused_with_what_was_meant(mean: Any, std: Any, meant: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=meant):
        check_units(mean, std)


def test_the_bias_of_coremltools_becomes_the_mean_of_imagenet() -> None:
    """Its guide to image inputs: scale 1 / (0.226 * 255), and bias -mean / std of pixels from 0 to 1."""
    bias = tuple(-m / s for m, s in zip(IMAGE_MEAN, IMAGE_STD))
    with pytest.raises(nl.NpuLayoutError, match="before std divides: give ") as error:
        check_units(bias, (1 / (0.226 * 255),) * 3)
    mean, std = ast.literal_eval(str(error.value).split("give mean=")[1].replace(" and std=", ", "))
    assert mean == pytest.approx([0.226 * 255 * -v for v in bias], rel=1e-5) and std == pytest.approx(57.63)


def test_what_a_message_proposes_is_accepted() -> None:
    rng, proposed = np.random.default_rng(0), 0
    for _ in range(500):
        mean, std = float(-(10 ** rng.uniform(-1.5, 2.3))), float(10 ** rng.uniform(-2.5, 2.4))
        with pytest.raises(nl.NpuLayoutError) as error:
            check_units((mean,), (std,))
        given = dict(re.findall(r"(mean|std)=([-+.e\d]+)", str(error.value).split("give ")[1]))
        check_units((float(given["mean"]),), (float(given.get("std", std)),))
        proposed += 1
    assert proposed == 500


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_range_is_refused_if_nearly_half_of_the_pixels_are_clamped(dtype: str) -> None:
    """Each pixel value on its own, by the rule of ONNX."""
    rng, info = np.random.default_rng(5), np.iinfo(dtype)
    refused = 0
    for _ in range(300):
        scale, zero = float(rng.choice([1 / 255, 1 / 128, 0.02, 1.0])), int(rng.integers(info.min, info.max + 1))
        mean, std = float(rng.uniform(0, 200)), float(rng.choice([1, 58, 128, 255]))
        stored = (np.arange(256) - mean) / std / scale + zero
        clamped = ((stored < info.min - 0.5) | (stored > info.max + 0.5)).mean()
        if abs(clamped - 0.49) < 0.01:
            continue
        arguments = ("here", Quantization(scale, zero), np.dtype(dtype), (mean,), (std,), "GRAY")
        if clamped <= 0.49:
            check_range(*arguments)
            continue
        refused += 1
        with pytest.raises(nl.NpuLayoutError, match=f"^here stores .* and {100 * clamped:.0f} % of the pixel values"):
            check_range(*arguments)
    assert 50 < refused < 250


def test_the_worst_channel_decides_and_the_usual_numbers_that_fit_are_named() -> None:
    quantization = Quantization([1.0, 1 / 255, 1.0], -128, axis=1)
    with pytest.raises(nl.NpuLayoutError, match="99 % of the pixel values"):
        check_range("here", quantization, np.dtype("int8"), (0.0,) * 3, (1.0,) * 3, "RGB")
    check_range("here", quantization, np.dtype("int8"), (0.0,) * 3, (1.0, 255.0, 1.0), "RGB")
    either = r"; mean=0, std=255 or mean=127\.5, std=127\.5 would fit$"  # a symmetric range has a half below 0 anyway
    with pytest.raises(nl.NpuLayoutError, match=either):
        check_range("here", Quantization(1 / 128), np.dtype("int8"), (0.0,) * 3, (1.0,) * 3, "RGB")
    with pytest.raises(nl.NpuLayoutError, match=r"clamped; mean=127\.5, std=127\.5 would fit$"):
        check_range("here", Quantization(1 / 128, 128), np.dtype("uint8"), (0.0,) * 3, (1.0,) * 3, "RGB")


@pytest.mark.parametrize(("mean", "std"), [(0, 1), (0, 255), (127.5, 127.5)])
def test_a_range_of_a_half_is_what_kneron_stores(mean: float, std: float) -> None:
    """Its inputs of int8 with 8 bits of a fraction are pixel / 256 - 0.5."""
    spec = nl.TensorSpec((1, 3, 8, 8), "NHWC", "int8", quantization=Quantization.from_dfp(8))
    with pytest.raises(nl.NpuLayoutError, match=r"clamped; mean=128, std=256 would fit$"):
        nl.Preprocessor(spec, mean=mean, std=std)
    pixels = nl.Preprocessor(spec, mean=128, std=256)(np.full((8, 8, 3), 255, np.uint8))[0]
    assert set(pixels.ravel().tolist()) == {127}


@pytest.mark.parametrize(("dtype", "zero_point"), [("uint8", 0), ("int8", -128)])
@pytest.mark.parametrize(("mean", "std"), [(0, 255), (127.5, 127.5), ((104, 117, 123), 1), (0, 2)])
def test_pixels_as_they_are_take_no_mean_and_std(mean: Any, std: float, dtype: str, zero_point: int) -> None:
    """A picture of 0 and 1, or with its darker half clamped, would be no error of the runtime."""
    spec = nl.TensorSpec((1, 3, 8, 8), "NHWC", dtype, quantization=Quantization(1.0, zero_point), name="in")
    says = f"target 'in': .* has scale 1 and zero point {zero_point}, so it stores pixels as they are: expected no mean"
    with pytest.raises(nl.NpuLayoutError, match=says) as refused:
        nl.Preprocessor(spec, mean=mean, std=std)
    assert "leave both out if the compiled model normalises by itself" in str(refused.value)
    frame = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    made = nl.Preprocessor(spec)(frame)[0][0]
    assert made.dtype == dtype and np.array_equal(made.astype(int) - zero_point, frame[..., ::-1])
    nl.Preprocessor(spec.replace(quantization=Quantization(1 / 40, zero_point)), std=40)


def test_pixels_are_bytes_of_scale_1_of_which_the_least_is_0() -> None:
    spec = nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8", name="in")
    for dtype, least in (("uint8", 0), ("int8", -128)):
        for same in (Quantization(1.0, least), Quantization([1.0, 1.0, 1.0], least, axis=1)):
            assert as_pixels(spec.replace(quantization=same, dtype=dtype)) == spec
    for dtype, other in (
        ("uint8", None),
        ("uint8", Quantization(1.0, 1)),
        ("uint8", Quantization([1.0, 1.0, 0.5], 0, axis=1)),
        ("int8", Quantization(1.0)),
        ("int8", Quantization(1.0, -127)),
        ("int8", Quantization([1.0, 1.0, 1.0], [-128, -128, -127], axis=1)),
        ("int8", Quantization(1 / 255, -128)),
        ("uint8", Quantization(1.0, -128)),
        ("uint16", Quantization(1.0, 0)),
        ("uint4", Quantization(1.0, 0)),
        ("float32", None),
    ):
        given = spec.replace(quantization=other, dtype=dtype)
        assert as_pixels(given) is given


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("ImageNet's mean and std", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ("CLIP's mean and std", (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
        ("mean and std 127.5", (0.5,) * 3, (0.5,) * 3),
        ("pixels divided by 255", (0.0,) * 3, (1.0,) * 3),
        ("pixels as they are", (0.0,) * 3, (1 / 255,) * 3),
    ],
)
def test_usual_numbers_are_those_that_are_published_for_0_to_1(name: str, mean: Any, std: Any) -> None:
    got = usual("RGB", 3)[name]
    np.testing.assert_allclose(got, np.multiply(255, (mean, std)), rtol=0, atol=6e-4)
