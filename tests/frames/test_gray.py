"""Gray is one rule in every layout, bit-equal to cv2.cvtColor for integers."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl

OVERLAPPING = np.lib.stride_tricks.as_strided(np.zeros(9, np.uint8), (4, 4, 1), (1, 1, 1))
RNG = np.random.default_rng(5)
CODES = {"BGR": cv2.COLOR_BGR2GRAY, "RGB": cv2.COLOR_RGB2GRAY}
LAYOUTS = ["HWC", "CHW", "NHWC", "NCHW", "CHWN", "NHCW", "NCHW4c", "NCHW16c", "NHCW8w4c", "NCHW4n", "NHWC8c"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", list(CODES))
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize(("batch", "channels", "size"), [(1, 3, (33, 47)), (3, 4, (1, 1)), (2, 5, (19, 301))])
def test_as_cv2(layout: str, order: str, dtype: str, batch: int, channels: int, size: tuple) -> None:
    made = nl.Layout(layout)
    if "N" not in made.axes:
        batch = 1
    images = RNG.random((batch, *size, channels)).astype(np.float32)
    if dtype != "float32":
        images = (images * (np.iinfo(dtype).max + 1)).astype(dtype)
    expected = np.stack([cv2.cvtColor(np.ascontiguousarray(i[..., :3]), CODES[order]) for i in images])
    logical = (batch, channels, *size)[-len(made.axes) :]
    spec = nl.TensorSpec(logical, made, dtype)
    stored = spec.pack(images.transpose(0, 3, 1, 2).reshape(logical)).reshape(spec.storage_shape)
    before = stored.copy()
    got = nl.to_gray(stored, layout, order=order)
    assert got.dtype == dtype and got.ndim == len(made.axes)
    np.testing.assert_array_equal(stored, before)
    plain = nl.repack(got, made.letters, made.axes).reshape(-1, *got.shape[:0], 1)
    extents = dict(zip(made.letters, got.shape))
    plain = plain.reshape([extents[a] for a in made.axes]).reshape(extents.get("N", 1), extents["H"], extents["W"])
    window = plain[:batch, : size[0], : size[1]]
    if dtype == "float32":
        np.testing.assert_allclose(window, expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(window, expected)


def test_large_images_in_chunks() -> None:
    image = RNG.integers(0, 256, (700, 901, 3), np.uint8)
    expected = cv2.cvtColor(image, CODES["BGR"])
    np.testing.assert_array_equal(nl.to_gray(image, "HWC")[..., 0], expected)
    np.testing.assert_array_equal(nl.to_gray(image[::-1, ::2], "HWC")[..., 0], expected[::-1, ::2])
    np.testing.assert_array_equal(nl.to_gray(image.transpose(2, 0, 1).copy(), "CHW")[0], expected)
    np.testing.assert_array_equal(nl.to_gray(image, "HWC", to="CHW"), expected[None])
    out = np.zeros((700, 901, 1), np.uint8)
    assert nl.to_gray(image, "HWC", out=out) is out and (out[..., 0] == expected).all()


def test_the_same_image_again() -> None:
    """What the first call found out holds for arrays of its kind, and is asked again of others."""
    image = RNG.integers(0, 256, (60, 70, 3), np.uint8)
    out = np.zeros((60, 70, 1), np.uint8)
    for turn in (1, -1, 1):
        given = np.ascontiguousarray(image[::turn])
        assert nl.to_gray(given, "HWC", out=out) is out
        np.testing.assert_array_equal(out[..., 0], cv2.cvtColor(given, CODES["BGR"]))
    given = image[::-1]
    assert nl.to_gray(given, "HWC", out=out) is out
    np.testing.assert_array_equal(out[..., 0], cv2.cvtColor(image, CODES["BGR"])[::-1])
    room = np.zeros((60, 75, 1), np.uint8)
    nl.to_gray(image, "HWC", out=room[:, :70])
    np.testing.assert_array_equal(room[:, :70, 0], cv2.cvtColor(image, CODES["BGR"]))
    assert not room[:, 70:].any()
    kept = out.copy()
    locked = out[:]
    locked.flags.writeable = False
    for wrong, says in ((locked, "read-only"), (out.astype(np.int8), "dtype"), (out.reshape(70, 60, 1), "shape")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.to_gray(image, "HWC", out=wrong)
    memory = np.zeros(3 * 60 * 70 + 60 * 70, np.uint8)
    with pytest.raises(nl.NpuLayoutError, match="shares memory"):
        nl.to_gray(memory[: image.size].reshape(image.shape), "HWC", out=memory[: out.size].reshape(out.shape))
    np.testing.assert_array_equal(out, kept)


def test_refusals() -> None:
    for image, layout, arguments, says in (
        (np.zeros((4, 4, 2), np.uint8), "HWC", {}, "at least 3"),
        (np.zeros((4, 4, 3), np.float64), "HWC", {}, "float64"),
        (np.zeros((0, 4, 3), np.uint8), "HWC", {}, "empty"),
        (np.zeros((4, 4), np.uint8), "HWC", {}, "dimensions"),
        (np.zeros((4, 4, 3), np.uint8), "HWC", {"order": "GBR"}, "BGR or RGB"),
        (np.zeros((4, 4, 3), np.uint8), "HWC", {"to": "NCHW"}, "axes"),
        (np.zeros((4, 4, 3), np.uint8), "HWC", {"out": np.zeros((4, 4), np.uint8)}, "shape"),
        (np.zeros((4, 4, 3), np.uint8), "HWC", {"out": OVERLAPPING}, "overlap"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.to_gray(image, layout, **arguments)
