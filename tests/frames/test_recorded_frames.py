"""Frames that are recorded as one array, and read again: a Preprocessor makes the same input of each."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames import as_channels, frame_array, frame_part, with_bytes_exchanged
from tests.support import frame_formats as formats
from tests.support.small_models import FLOAT, build, helper

TARGET = nl.TensorSpec((1, 3, 12, 16), "NCHW", "float32", name="x")


def make(preprocess: Any, frame: Any) -> np.ndarray:
    target = nl.TensorSpec((1, {"GRAY": 1, "BGRA": 4}.get(preprocess.get("color"), 3), 12, 16))
    return nl.Preprocessor(target, **preprocess)(frame)[0]


@pytest.mark.parametrize("name", formats.FLAT)
@pytest.mark.parametrize("color", ["RGB", "GRAY", "BGRA"])
def test_arrays_and_channels_make_the_same_input(name: str, color: str) -> None:
    spec = nl.FrameSpec(name, (24, 18), strides=[s + 128 for s in nl.FrameSpec(name, (24, 18)).strides])
    memory = formats.noise(spec.size or 0)
    planes = spec.planes(memory)
    sources: list[Any] = [spec.to_dict()] if name in formats.TILES else [name, spec.to_dict()]
    for source in sources:
        how = json.loads(json.dumps({"source": source, "color": color}))
        expected = make(how, planes)
        for given in [planes] + ([memory, memory.tobytes()] if source != name else []):
            recorded = frame_array(given, how)
            assert isinstance(recorded, np.ndarray)
            np.testing.assert_array_equal(make(how, recorded), expected)
            channels, other = as_channels(recorded, how)
            assert (
                channels.ndim in (2, 3)
                and channels.dtype == np.uint8
                and other["source"] in ("GRAY", "BGR", *formats.CHANNELS)
            )
            np.testing.assert_array_equal(make(other, channels), expected)


def test_words_with_their_bytes_exchanged() -> None:
    """Arrays of words, and their memory, rows with gaps and an odd byte behind all included."""
    words = np.array([[0x1234, 0x00FF], [0xABCD, 7]], np.uint16)
    other = [[0x3412, 0xFF00], [0xCDAB, 0x0700]]
    for name in ("RGB565", "GRAY16"):
        exchanged = with_bytes_exchanged(name, words)
        assert exchanged is not None and exchanged.tolist() == other and exchanged.dtype == np.uint16
    memory = np.arange(11, dtype=np.uint8)
    spec = nl.FrameSpec("RGB565", (2, 2), strides=6, size=11).to_dict()
    exchanged = with_bytes_exchanged(spec, memory)
    assert exchanged is not None and exchanged.tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 10]
    planes = with_bytes_exchanged("P010", np.zeros((6, 4), np.uint16) + 1)
    assert planes is not None and (planes == 256).all()
    for name in ("BGR", "NV12", "GRAY", "MJPEG", "RGGB", "RGGB10P"):
        assert with_bytes_exchanged(name, memory) is None


@pytest.mark.parametrize("name", formats.FLAT)
@pytest.mark.parametrize("color", ["RGB", "GRAY"])
def test_the_part_of_a_frame_makes_the_input_of_that_part(name: str, color: str) -> None:
    spec = nl.FrameSpec(name, (24, 18))
    memory = np.random.default_rng(3).integers(0, 256, spec.size, np.uint8)
    how: dict[str, Any] = {"source": spec.to_dict(), "color": color, "resize": "stretch"}
    whole = as_channels(memory, how)[0]
    target = nl.TensorSpec((1, 1 if color == "GRAY" else 3, 12, 16))
    for roi in ((3, 5, 15, 9), (4, 2, 8, 8), (23, 17, 1, 1)):
        x, y, w, h = roi
        part, other = as_channels(memory, how, roi)
        np.testing.assert_array_equal(part, whole[y : y + h, x : x + w])
        expected = nl.Preprocessor(target, **how)(memory, roi_xywh=roi)[0]
        np.testing.assert_array_equal(nl.Preprocessor(target, **other)(part)[0], expected)
        assert frame_part(memory, how, roi) == (x, y, x + w, y + h)
    assert frame_part(memory, how) == (0, 0, 24, 18)
    for wrong in ((20, 0, 5, 5), (0, 0, 24, 19), (0, 0, 0, 1)):
        for refused in (as_channels, frame_part):
            with pytest.raises(nl.NpuLayoutError, match=r"roi_xywh: expected .* inside the frame of 24x18"):
                refused(memory, how, wrong)


def test_what_is_already_channels_stays() -> None:
    image = np.zeros((6, 8, 3), np.uint8)
    for how in ({}, {"source": "RGB"}, {"resize": "crop"}):
        assert frame_array(image, how) is image
        assert as_channels(image, how)[0] is image and as_channels(image, how)[1] == how
        assert (
            as_channels(image, how, (1, 1, 2, 1))[0].base is image and as_channels(image, how, (1, 1, 2, 1))[1] == how
        )


def test_odd_planes_need_a_spec() -> None:
    planes = (np.zeros((5, 7), np.uint8), np.zeros((3, 4, 2), np.uint8))
    with pytest.raises(
        nl.NpuLayoutError, match=r"planes of NV12 of 7x5 fit no single array; expected source=FrameSpec"
    ):
        frame_array(planes, {"source": "NV12"})
    assert frame_array(planes, {"source": nl.FrameSpec("NV12", (7, 5))}).shape == (59,)


def test_mjpeg() -> None:
    data = bytes(cv2.imencode(".jpg", cv2.resize(formats.noise(48).reshape(4, 4, 3), (24, 18)))[1])
    recorded = frame_array(data, {"source": "MJPEG"})
    assert recorded.tobytes() == data
    np.testing.assert_array_equal(make({"source": "MJPEG"}, recorded), make({"source": "MJPEG"}, data))


class Frame:
    """A frame that describes its colours, as PyAV has it."""

    def __init__(self, planes: Any, size_wh: Any, **colors: int) -> None:
        self.width, self.height = size_wh
        self.format = SimpleNamespace(name="yuv420p")
        self.planes = [Memory(plane.tobytes()) for plane in planes]
        for memory, plane in zip(self.planes, planes):
            memory.line_size = plane.shape[1]
        self.__dict__.update(colors)


class Memory(bytes):
    line_size = 0


def test_colours_that_a_recording_would_lose_are_refused() -> None:
    spec = nl.FrameSpec("I420", (32, 18))
    planes = spec.planes(formats.noise(spec.size or 0))
    usual = Frame(planes, (32, 18), color_range=1, colorspace=5)
    np.testing.assert_array_equal(frame_array(usual, {"source": "I420"}).reshape(-1)[: 32 * 18], planes[0].reshape(-1))
    for colors, says in (({"color_range": 2}, "bt601, full"), ({"colorspace": 1}, "bt709, limited")):
        frame = Frame(planes, (32, 18), **colors)
        with pytest.raises(nl.NpuLayoutError, match=f"it says {says}; .* expected preprocess with source=FrameSpec.of"):
            frame_array(frame, {"source": "I420"})
        own = nl.FrameSpec.of(frame)
        np.testing.assert_array_equal(
            make({"source": own}, frame_array(frame, {"source": own.to_dict()})), make({"source": own}, frame)
        )


def negation() -> bytes:
    return bytes(
        build([helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, TARGET.shape)], [("y", FLOAT, TARGET.shape)])
    )


def scene(seed: int) -> np.ndarray:
    """A smooth picture, other for each seed."""
    return cv2.resize(formats.noise(5 * 4 * 3, seed).reshape(5, 4, 3), (32, 18), interpolation=cv2.INTER_CUBIC)


def as_nv12(image: np.ndarray) -> np.ndarray:
    flat = cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420)
    height, width = image.shape[:2]
    uv = flat[height:].reshape(2, -1, width // 2).transpose(1, 2, 0).reshape(-1, width)
    return np.concatenate([flat[:height], uv])


SPEC = nl.FrameSpec("NV12", (32, 18), strides=64)


def given_as(kind: str, frame: np.ndarray) -> Any:
    planes = nl.FrameSpec("NV12", (32, 18)).planes(frame)
    if kind == "array":
        return frame
    if kind == "planes":
        return planes
    memory = np.zeros(SPEC.size or 0, np.uint8)
    for plane, own in zip(planes, SPEC.planes(memory)):
        own[...] = plane
    return memory.tobytes() if kind == "bytes" else SPEC.planes(memory)


@pytest.mark.parametrize(
    ("kind", "source"), [("array", "NV12"), ("planes", "NV12"), ("bytes", SPEC), ("pitched planes", SPEC)]
)
@pytest.mark.parametrize("fault", ["", "color", "resize"])
def test_validate_makes_recorded_frames_again(kind: str, source: Any, fault: str, tmp_path: Path) -> None:
    """NV12 frames are recorded, loaded and made again; what was really done to them is the fix, with their source."""
    model = nl.OnnxRuntimeEngine(negation(), threads=1)
    device = nl.SimulatedNpu(model, [nl.TensorSpec(TARGET.shape, "NCHW", "float32", name="y")])
    declared = nl.Preprocessor(TARGET, source=source, std=255)
    really = {"color": {"color": "BGR"}, "resize": {"resize": "stretch"}}.get(fault, {})
    done = nl.Preprocessor(TARGET, **{**declared.arguments, **really})
    with nl.Recorder(device, tmp_path / "run", preprocess=declared) as recorder:
        for seed in range(4):
            frame = given_as(kind, as_nv12(scene(seed)))
            recorder.infer({"x": done(frame)[0]}, frame=frame)
    recording = nl.Recording.load(tmp_path / "run")
    assert recording.meta["preprocess"] == declared.arguments
    np.testing.assert_array_equal(
        declared(recording.frames[0].inputs["frame"])[0], declared(given_as(kind, as_nv12(scene(0))))[0]
    )
    report = nl.validate(recording, negation(), progress=False)
    (found,) = report.inputs.values()
    if not fault:
        assert found.verdict == "match" and report
        return
    assert found.verdict == "preprocessing" and found.fix == {**declared.arguments, **really}
    assert nl.Preprocessor(TARGET, **found.fix).source == source


def test_frames_that_do_not_fit_are_refused_and_nothing_recorded(tmp_path: Path) -> None:
    model = nl.OnnxRuntimeEngine(negation(), threads=1)
    preprocess = nl.Preprocessor(TARGET, source=SPEC)
    with nl.Recorder(model, tmp_path / "run", preprocess=preprocess) as recorder:
        with pytest.raises(
            nl.RecordingError, match=r"frame 0: input 'frame': frame: buffer has 9 bytes; NV12 of 32x18"
        ):
            recorder.infer({"x": np.zeros(TARGET.shape, np.float32)}, frame=bytes(9))
        assert recorder.count == 0
    with nl.Recorder(model, tmp_path / "other", preprocess={"source": SPEC}) as recorder:
        recorder.infer({"x": np.zeros(TARGET.shape, np.float32)}, frame=bytes(SPEC.size or 0))
    assert nl.Recording.load(tmp_path / "other").meta["preprocess"]["source"] == SPEC.to_dict()


def test_views_whose_copies_are_other_frames_are_not_recorded() -> None:
    """Of NV12 mirrored as a whole the copy on disk would have U and V exchanged, which `validate` would then report."""
    frame = np.zeros((12, 8), np.uint8)
    for view, says in ((frame[:, ::-1], "U and V are exchanged"), (frame[::-1], "upside down")):
        with pytest.raises(nl.NpuLayoutError, match=rf"^frame: an array of NV12, .*{says}.*; give what"):
            frame_array(view, {"source": "NV12"})
    mirrored = np.zeros((12, 8, 3), np.uint8)[:, ::-1]
    assert frame_array(mirrored, {}) is mirrored and frame_array(frame, {"source": "NV12"}) is frame
    flat = np.zeros(96, np.uint8)
    assert frame_array(flat, {"source": "NV12"}) is flat
