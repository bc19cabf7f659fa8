"""Frames of one form are read once: what was found out about the first is true of the others, and nothing else is."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.frame_source import FrameSource
from tests.support.pyav_frames import of_pyav
from tests.support.resized_pixels import as_on_x86


def _forms(memory: np.ndarray, width: int, height: int, pitch: int) -> dict[str, tuple[Any, Any]]:
    """The ways in which an NV12 frame of rows of `pitch` bytes is handed out: name, (source, frame)."""
    spec = nl.FrameSpec("NV12", (width, height), strides=pitch)
    y, uv = spec.planes(memory)
    end = pitch * height
    return {
        "tuple": ("NV12", (y, uv)),
        "list": ("NV12", [y, uv]),
        "rows of uv": ("NV12", (y, memory[end:].reshape(height // 2, pitch)[:, :width])),
        "spec, tuple": (spec, (y, uv)),
        "spec, memory": (spec, memory),
        "spec, bytes": (spec, memory.tobytes()),
        "spec, bytearray": (spec, bytearray(memory.tobytes())),
        "spec, memory apart": (spec, (memory[:end], memory[end:])),
        "spec, bytes apart": (spec, [memory[:end].tobytes(), memory[end:].tobytes()]),
        "PyAV": ("NV12", of_pyav([memory[:end].tobytes(), memory[end:].tobytes()], pitch, (width, height))),
    }


@pytest.mark.parametrize("pitch", [20, 32])
@pytest.mark.parametrize("how", list(_forms(np.zeros(480, np.uint8), 20, 16, 20)))
@pytest.mark.parametrize("color", ["RGB", "GRAY"])
def test_frames_of_a_form_that_was_read_are_not_read_again(
    how: str, pitch: int, color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each frame has memory of its own, and pixels of its own: cv2 says which."""
    width, height, rng = 20, 16, np.random.default_rng(5)
    spec = nl.TensorSpec((1, 1 if color == "GRAY" else 3, 8, 10), "NHWC", "uint8")
    source, _ = _forms(np.zeros(pitch * 24, np.uint8), width, height, pitch)[how]
    preprocess, read = nl.Preprocessor(spec, source=source, color=color), FrameSource.read
    reads: list[Any] = []
    monkeypatch.setattr(FrameSource, "read", lambda *given: reads.append(given) or read(*given))
    for _ in range(4):
        memory = rng.integers(0, 256, pitch * 24, np.uint8)
        rows = np.ascontiguousarray(memory.reshape(24, pitch)[:, :width])
        made = cv2.cvtColor(rows, cv2.COLOR_YUV2RGB_NV12)
        if color == "GRAY":
            y = np.maximum(rows[:height].astype(np.int64) - 16, 0) * 1220542 + (1 << 19)
            made = np.clip(y >> 20, 0, 255).astype(np.uint8)[..., None]
        expected = as_on_x86(made, (10, 8)).reshape(1, 8, 10, -1)
        _, frame = _forms(memory, width, height, pitch)[how]
        np.testing.assert_array_equal(preprocess(frame)[0], expected)
    assert len(reads) == (4 if kernels.active() == "numpy" else 1)


@pytest.mark.skipif(kernels.active() == "numpy", reason="no compiled kernels")
def test_a_form_that_comes_after_many_others_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the frames of a camera after crops of other sizes; what is kept does not grow."""
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"))
    for width in range(8, 208):
        preprocess(np.zeros((8, width, 3), np.uint8))
    frame = np.zeros((300, 8, 3), np.uint8)
    preprocess(frame)
    monkeypatch.setattr(FrameSource, "read", None)
    preprocess(frame)
    assert len(preprocess._passes.known) <= 64 and len(preprocess._passes._passes) <= 64


def test_what_was_checked_of_planes_is_checked_again() -> None:
    """Of frames whose form was read: order, number and dtype, and that no plane shares memory with the result."""
    gray = nl.Preprocessor(nl.TensorSpec((1, 1, 8, 8), "NHWC", "uint8"), source="NV12", color="GRAY")
    y, memory = np.full((8, 8), 90, np.uint8), np.zeros(64, np.uint8)
    uv, out = memory[:32].reshape(4, 4, 2), memory.reshape(1, 8, 8, 1)
    for _ in range(2):
        assert (gray((y, uv))[0] == round((90 - 16) * 255 / 219)).all()
        for wrong, words in (
            ((uv, y), "they are in another order"),
            ((y,), "expected a uint8 array"),
            ((y, uv, uv), "expected a uint8 array"),
            ((y, [uv]), "got list"),
            ((), "without planes"),
            ((y, uv.astype(np.int8)), "expected a uint8 array"),
            ((True, y), "give its second item"),
        ):
            with pytest.raises(nl.NpuLayoutError, match=words):
                gray(wrong)
        for roi in (None, (0, 0, 8, 8)):
            with pytest.raises(nl.NpuLayoutError, match="shares memory with a frame"):
                gray((y, uv), out, roi_xywh=roi)
        assert not memory.any()
    assert gray((y, uv[:, :, ::-1]))[1] == gray((y, uv))[1]


def test_frames_of_pyav_whose_description_differs_are_read_anew() -> None:
    """Also where their memory has the same sizes: cv2 and full range say what each of them is."""
    rng = np.random.default_rng(9)
    memory = [rng.integers(0, 256, 320).astype(np.uint8), rng.integers(0, 256, 160).astype(np.uint8)]
    planes = [plane.tobytes() for plane in memory]
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source="NV12", resize="stretch")
    for _ in range(2):
        for pitch, size_wh, more in (
            (20, (20, 16), {}),
            (20, (18, 16), {}),
            (32, (20, 10), {}),
            (20, (20, 16), dict(color_range=2, colorspace=5)),
            (20, (20, 16), dict(color_range=1, colorspace=5)),
            (20, (20, 16), dict(color_range=1, colorspace=1)),
        ):
            (width, height), full = size_wh, more.get("color_range") == 2
            y = memory[0].reshape(-1, pitch)[:height, :width].astype(np.float64)
            uv = memory[1].reshape(-1, pitch)[: height // 2, :width].reshape(height // 2, -1, 2).astype(np.float64)
            u, v = (uv[..., i].repeat(2, 0).repeat(2, 1) - 128 for i in range(2))
            kr, kb = (0.2126, 0.0722) if more.get("colorspace") == 1 else (0.299, 0.114)
            light, swing = (y, 1.0) if full else (np.maximum(y - 16, 0) * 255 / 219, 255 / 224)
            r, b = light + 2 * (1 - kr) * swing * v, light + 2 * (1 - kb) * swing * u
            g = (light - kr * r - kb * b) / (1 - kr - kb)
            rgb = np.clip(np.rint(np.stack([r, g, b], -1)), 0, 255).astype(np.uint8)
            found = preprocess(of_pyav(planes, pitch, size_wh, **more))[0][0]
            assert np.abs(found.astype(int) - cv2.resize(rgb, (8, 8))).max() <= 2, (pitch, size_wh, more)


@pytest.mark.parametrize("pitch", [20, 32])
@pytest.mark.parametrize("how", list(_forms(np.zeros(480, np.uint8), 20, 16, 20)))
def test_parts_of_frames_of_a_form_that_was_read(how: str, pitch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts that cv2 converts, cuts and resizes, from any pixel on; only the first frame is read."""
    rng, reads, read = np.random.default_rng(8), [], FrameSource.read
    spec = nl.TensorSpec((1, 3, 8, 10), "NHWC", "uint8")
    source, _ = _forms(np.zeros(pitch * 24, np.uint8), 20, 16, pitch)[how]
    preprocess = nl.Preprocessor(spec, source=source, resize="stretch")
    monkeypatch.setattr(FrameSource, "read", lambda *given: reads.append(given) or read(*given))
    out = np.zeros(spec.storage_shape, np.uint8)
    for n in range(30):
        memory = rng.integers(0, 256, pitch * 24, np.uint8)
        rgb = cv2.cvtColor(np.ascontiguousarray(memory.reshape(24, pitch)[:, :20]), cv2.COLOR_YUV2RGB_NV12)
        _, frame = _forms(memory, 20, 16, pitch)[how]
        x, y = int(rng.integers(0, 19)), int(rng.integers(0, 15))
        width, height = int(rng.integers(1, 21 - x)), int(rng.integers(1, 17 - y))
        found, geometry = preprocess(frame, out if n % 2 else None, roi_xywh=(x, y, width, height))
        expected = as_on_x86(np.ascontiguousarray(rgb[y : y + height, x : x + width]), (10, 8))
        np.testing.assert_array_equal(found[0], expected)
        assert geometry.crop_xyxy == (x, y, x + width, y + height) and geometry.frame_wh == (20, 16)
        assert geometry == nl.Geometry(*(getattr(geometry, name) for name in vars(geometry)))
        if n % 9 == 4:
            np.testing.assert_array_equal(preprocess(frame)[0][0], as_on_x86(rgb, (10, 8)))
    if kernels.active() != "numpy":
        assert len(reads) == 2  # of the first part, and of the first whole frame
    for wrong in ((15, 0, 6, 4), (0, 0, 0, 4), (-1, 0, 4, 4), (0, 0, 4)):
        with pytest.raises(nl.NpuLayoutError, match=r"^roi_xywh: expected"):
            preprocess(frame, roi_xywh=wrong)
    with pytest.raises(nl.NpuLayoutError, match=r"^out"):
        preprocess(frame, np.zeros((1, 8, 10, 3), np.int8), roi_xywh=(0, 0, 4, 4))


@pytest.mark.parametrize(
    "name",
    ["BGR", "RGBA", "GRAY", "GRAY16", "RGB565", "I420", "YUYV", "P010", "RGGB", "RGGB10P", "NV12_4L4", "NV12_16L32S"],
)
@pytest.mark.parametrize("color", ["RGB", "GRAY"])
def test_parts_of_every_kind_of_frames(name: str, color: str) -> None:
    """As of a Preprocessor that reads the frame for the first time."""
    rng = np.random.default_rng(2)
    spec = nl.FrameSpec(name, (64, 48), strides=2 * nl.FrameSpec(name, (64, 48)).strides[0])
    target = nl.TensorSpec((1, 1 if color == "GRAY" else 3, 9, 11), "NCHW")
    preprocess = nl.Preprocessor(target, source=spec, color=color, std=255)
    for _ in range(12):
        memory = rng.integers(0, 256, spec.size, np.uint8)
        x, y = int(rng.integers(0, 60)), int(rng.integers(0, 44))
        part = (x, y, int(rng.integers(1, 65 - x)), int(rng.integers(1, 49 - y)))
        fresh = nl.Preprocessor(target, source=spec, color=color, std=255)
        for frame in (memory, spec.planes(memory)):
            np.testing.assert_array_equal(preprocess(frame, roi_xywh=part)[0], fresh(memory, roi_xywh=part)[0])


@pytest.mark.parametrize("layout", ["NHWC", "NCHW", "NCHW16c"])
def test_batches_of_forms_that_were_read(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame has a form of its own, and is where a single frame of one image would be."""
    rng = np.random.default_rng(3)
    one = nl.TensorSpec((1, 3, 8, 10), layout, "int8", quantization=nl.Quantization(1.0, -128))
    batch, single = (nl.Preprocessor(spec, source="NV12") for spec in (one.replace(shape=(3, 3, 8, 10)), one))
    read, reads = FrameSource.read, []
    monkeypatch.setattr(FrameSource, "read", lambda *given: reads.append(given) or read(*given))

    def frames() -> list[Any]:
        packed, apart = (rng.integers(0, 256, (24, 20), np.uint8) for _ in range(2))
        y, uv = rng.integers(0, 256, (6, 4), np.uint8), rng.integers(0, 256, (3, 2, 2), np.uint8)
        return [packed, (apart[:16], apart[16:].reshape(8, 10, 2)), [y, uv]]

    for n in range(4):
        given, out = frames(), np.zeros(batch.target.storage_shape, np.int8)
        reads.clear()
        buffer, geometries = batch.batch(given, out) if n % 2 else batch.batch(given)
        assert len(reads) == (0 if n and kernels.active() != "numpy" else 3) and (buffer is out) == bool(n % 2)
        for i, (frame, geometry) in enumerate(zip(given, geometries)):
            expected, alone = single(frame)
            assert (buffer[i] == expected[0]).all() and geometry == alone
    for roi in (None, (0, 0, 4, 4)):
        with pytest.raises(nl.NpuLayoutError, match=r"frames: got 1; .* expects 3"):
            batch(frames()[0], roi_xywh=roi)
    with pytest.raises(nl.NpuLayoutError, match=r"frames: got 2; .* expects 3"):
        batch.batch(frames()[:2])
    with pytest.raises(nl.NpuLayoutError, match="frame 1: expected a uint8 array"):
        batch.batch([frames()[0], np.zeros((24, 20), np.float32), frames()[0]])
    parts = batch.batch(given, rois_xywh=[(0, 0, 8, 8), None, None])[0]
    assert (parts[0] == single(given[0], roi_xywh=(0, 0, 8, 8))[0][0]).all() and (parts[1] == buffer[1]).all()


def test_a_batch_of_known_forms_over_one_of_its_frames_is_refused_and_nothing_written() -> None:
    batch = nl.Preprocessor(nl.TensorSpec((2, 3, 8, 8), "NHWC", "uint8")).batch
    memory = np.zeros(2 * 8 * 8 * 3, np.uint8)
    out, over = memory.reshape(2, 8, 8, 3), memory[192:].reshape(8, 8, 3)
    frame = np.full((8, 8, 3), 9, np.uint8)
    assert (batch([frame, frame])[0] == 9).all() and (batch([frame, frame], out)[0] == 9).all()
    memory[:] = 0
    for frames in ([frame, over], [over, frame]):
        with pytest.raises(nl.NpuLayoutError, match="shares memory with a frame"):
            batch(frames, out)
        assert not memory.any()
    read_only = np.zeros((2, 8, 8, 3), np.uint8)
    read_only.flags.writeable = False
    for wrong in (read_only, np.zeros((2, 8, 8, 6), np.uint8)[..., ::2], np.zeros((2, 8, 8, 3), np.int8), out[:1], [1]):
        with pytest.raises(nl.NpuLayoutError, match="out"):
            batch([frame, frame], wrong)
