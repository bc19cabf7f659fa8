"""Inputs made of parts of frames: sound ones are no fault, planted faults are found, and other parts are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.camera_frames import CameraFrames
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.recordings import Frame, RunsOnDisk
from tests.diagnosis.input_checks.test_input_check import HOW, IMAGE, MEAN, walk
from tests.diagnosis.input_checks.test_input_sources import TARGET, negation, scene, stored

FRAMES = walk()
ROIS = [(101 + 20 * i, 31 + 12 * i, 240, 300 - 10 * i) for i in range(5)]
FRAME, ROI = "frame", "frame.roi_xywh"


def judged(make: Callable[[int], np.ndarray], rois: Any = ROIS, how: Any = HOW) -> Any:
    runs = [({"image": make(i), FRAME: f, ROI: np.array(roi)}, {}) for i, (f, roi) in enumerate(zip(FRAMES, rois))]
    return recorded_inputs(nl.Recording({}, runs, {"preprocess": how})).reports["image"]


def by(rois: Any = ROIS, spec: nl.TensorSpec = IMAGE, **change: Any) -> Callable[[int], np.ndarray]:
    return lambda i: nl.Preprocessor(spec, **{**HOW, **change})(FRAMES[i], roi_xywh=rois[i])[0]


@pytest.mark.parametrize("resize", ["letterbox", "letterbox_top_left", "stretch", "crop"])
def test_parts_as_they_were_noted_match(resize: str) -> None:
    found = judged(by(resize=resize), how={**HOW, "resize": resize})
    assert found.verdict == "match" and found.frames == (0, 2, 4), str(found)
    whole = [(0, 0, 640, 480)] * 5
    assert judged(by(whole), whole)


def test_faults_are_found_in_parts() -> None:
    bgr = judged(by(color="BGR"))
    assert bgr.fix["color"] == "BGR" and "it is what color='BGR' makes" in bgr.why, str(bgr)
    assert "resize='stretch'" in judged(by(resize="stretch")).why
    assert "mean and std forgotten" in judged(by(mean=0, std=1)).why
    mirrored = judged(lambda i: np.flip(by(resize="stretch")(i), 3), how={**HOW, "resize": "stretch"})
    assert mirrored.verdict == "geometry" and "mirrored from left to right" in mirrored.why, str(mirrored)


OTHERS = {
    "the whole frame": [(0, 0, 640, 480)] * 5,
    "roi_xywh read as left, top, right, bottom": [(x, y, w - x, h - y) for x, y, w, h in ROIS],
    "roi_xywh with x and y, width and height exchanged": [(y, x, h, w) for x, y, w, h in ROIS],
    "the roi_xywh of 1 frame before": [ROIS[max(i - 1, 0)] for i in range(5)],
    "the roi_xywh of 2 frames after": [ROIS[min(i + 2, 4)] for i in range(5)],
}


@pytest.mark.parametrize("words", OTHERS)
def test_another_part_is_named(words: str) -> None:
    found = judged(by(OTHERS[words]))
    assert found.verdict == "geometry" and found.fix is None and f"it is what {words} makes" in found.why, str(found)


def test_a_part_that_is_none_of_these_is_no_match() -> None:
    found = judged(by([(x + 37, y + 11, w, h) for x, y, w, h in ROIS]))
    assert not found and found.fix is None and "no known change explains that" in found.why
    assert "roi_xywh=" not in found.why


def test_a_part_that_was_not_noted_is_no_match() -> None:
    runs = [({"image": by()(i), FRAME: frame}, {}) for i, frame in enumerate(FRAMES)]
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": HOW})).reports["image"]
    assert not found and "if it was made of a part of the frame, record that with roi_xywh=." in found.why


def test_a_part_outside_its_frame_is_refused() -> None:
    for roi in ((400, 0, 241, 10), (0, 471, 10, 10)):
        with pytest.raises(
            nl.RecordingError, match=r"frame 0: input 'frame.roi_xywh': expected a part of 640x480, got"
        ):
            judged(by(), [roi] * 5)


def test_the_parts_that_are_read() -> None:
    runs = [({FRAME: frame, ROI: np.array(roi)}, {}) for frame, roi in zip(FRAMES, ROIS)]
    frames = CameraFrames(nl.Recording({}, runs), HOW)
    x, y, w, h = ROIS[3]
    assert list(frames) == list(range(5)) and 5 not in frames and frames.roi(3) == ROIS[3]
    np.testing.assert_array_equal(frames[3], FRAMES[3][y : y + h, x : x + w])
    with pytest.raises(KeyError):
        frames[5]
    others = frames.other_parts(3)
    np.testing.assert_array_equal(others["the whole frame"](), FRAMES[3])
    x, y, w, h = ROIS[2]
    np.testing.assert_array_equal(others["the roi_xywh of 1 frame before"](), FRAMES[3][y : y + h, x : x + w])
    assert "the roi_xywh of 2 frames after" not in others  # there is none
    same = nl.Recording({}, [({FRAME: FRAMES[0], ROI: np.array((0, 0, 640, 480))}, {})] * 2)
    assert CameraFrames(same, HOW).other_parts(0).keys() == set()
    plain = CameraFrames(nl.Recording({}, [({FRAME: FRAMES[0]}, {})]), HOW)
    assert plain.roi(0) is None and plain[0] is not None and plain.other_parts(0) == {}
    assert plain.near(0, (0, 0, 0, 0)) is None


def test_frames_that_were_seen_are_not_read_again() -> None:
    runs = [Frame({FRAME: frame, ROI: np.array(roi)}, {}) for frame, roi in zip(FRAMES, ROIS)]
    reads: list[int] = []

    def read(i: int) -> Frame:
        reads.append(i)
        return runs[i]

    recording = nl.Recording({}, RunsOnDisk(len(runs), read, "run {}".format, {}))
    reads.clear()
    frames = CameraFrames(recording, HOW, {3: runs[3].inputs})
    x, y, w, h = ROIS[3]
    np.testing.assert_array_equal(frames[3], FRAMES[3][y : y + h, x : x + w])
    assert frames.roi(3) == ROIS[3] and not reads
    assert [frames.roi(2) for _ in range(3)] == [ROIS[2]] * 3 and reads == [2]


def test_the_parts_near_the_noted_one() -> None:
    runs = [({FRAME: frame, ROI: np.array((400, 31, 239, 300))}, {}) for frame in FRAMES]
    frames = CameraFrames(nl.Recording({}, runs), {**HOW, "yuv": "exact"})
    near = frames.near(1, (-2, 1, 3, -1))
    assert near is not None and near.part == (398, 32, 242, 299) and near.how == {}
    np.testing.assert_array_equal(near.frame, FRAMES[1])
    for outside in ((0, 0, 2, 0), (2, 0, 0, 0), (0, -32, 0, 0), (0, 0, -239, 0), (0, 150, 0, 0)):
        assert frames.near(1, outside) is None
    assert frames.near(1, (1, 0, 0, 0)) is not None
    planes = {"source": "NV12", "yuv": "planes"}
    raw = [({FRAME: stored("NV12", frame), ROI: np.array((5, 3, 20, 20))}, {}) for frame in FRAMES]
    cut = CameraFrames(nl.Recording({}, raw), {**HOW, **planes}).near(0, (1, 1, 0, 0))
    assert cut is not None and cut.how == planes and cut.frame is raw[0][0][FRAME] and cut.part == (6, 4, 20, 20)


@pytest.mark.parametrize("yuv", ["exact", "planes"])
@pytest.mark.parametrize("name", ["NV12", "I420", "YUYV"])
def test_parts_of_frames_in_their_own_format(name: str, yuv: str) -> None:
    """A recorder that notes the part, and validate, which makes the input again with it."""
    how = {"source": name, "yuv": yuv, "std": 255}

    def report(**really: Any) -> Any:
        declared, made = nl.Preprocessor(TARGET, **how), nl.Preprocessor(TARGET, **{**how, **really})
        device = nl.SimulatedNpu(negation(), [nl.TensorSpec(TARGET.shape, "NCHW", "float32", name="y")], threads=1)
        runs = []
        for i in range(3):
            frame, roi = stored(name, scene(i)), np.array((5 + i, 3, 33, 27 + i))
            x = made(frame, roi_xywh=roi)[0]
            runs.append(({"x": x, FRAME: frame, ROI: roi}, device.infer(x)))
        recording = nl.Recording({"y": device.output_specs[0]}, runs, {"preprocess": declared.arguments})
        return nl.validate(recording, negation(), progress=False)

    found = report()
    assert found and found.inputs["x"].verdict == "match" and "made again" in str(found), str(found)
    twin = {"NV12": "NV21", "I420": "YV12", "YUYV": "YVYU"}[name]
    exchanged = report(source=twin).inputs["x"]
    assert f"it is what U and V exchanged (source {twin}) makes" in exchanged.why, str(exchanged)
    assert report(color="BGR").inputs["x"].fix["color"] == "BGR"


def test_what_the_outputs_say_of_parts() -> None:
    """The accelerator was given BGR, the recording has the input as declared: the part is resized in other ways."""
    declared, wrong = nl.Preprocessor(TARGET, **{**HOW, "mean": MEAN}), nl.Preprocessor(TARGET, **HOW, pad_value=0)
    device = nl.SimulatedNpu(negation(), [nl.TensorSpec(TARGET.shape, "NCHW", "float32", name="y")], threads=1)
    runs = []
    for frame, roi in zip(FRAMES, ROIS):
        good, bad = (preprocess(frame, roi_xywh=roi)[0] for preprocess in (declared, wrong))
        runs.append(({"x": good, FRAME: frame, ROI: np.array(roi)}, device.infer(bad)))
    recording = nl.Recording({"y": device.output_specs[0]}, runs, {"preprocess": declared.arguments})
    found = nl.validate(recording, negation(), progress=False).outputs["y"]
    assert found.verdict == "preprocessing" and found.fix["pad_value"] == 0, str(found)


def recording_of(rois: Any) -> nl.Recording:
    declared = nl.Preprocessor(TARGET, **{**HOW, "mean": MEAN})
    device = nl.SimulatedNpu(negation(), [nl.TensorSpec(TARGET.shape, "NCHW", "float32", name="y")], threads=1)
    runs = []
    for frame, roi, noted in zip(FRAMES, ROIS, rois):
        x = declared(frame, roi_xywh=roi)[0]
        runs.append(({"x": x, FRAME: frame, ROI: np.array(noted)}, device.infer(x)))
    return nl.Recording({"y": device.output_specs[0]}, runs, {"preprocess": declared.arguments})


def test_a_part_of_one_row() -> None:
    """Its bytes are one row of the part, and not of the frame that it is in."""
    report = nl.validate(recording_of([(0, 0, 5, 1)] * 5), negation(), progress=False)
    assert report.inputs["x"].verdict != "match" and report.outputs["y"], str(report)


@pytest.mark.parametrize("frame", range(5))
def test_a_part_outside_any_frame_is_refused(frame: int) -> None:
    rois = [*ROIS]
    rois[frame] = (600, 0, 41, 10)
    with pytest.raises(nl.RecordingError, match=rf"frame {frame}: input 'frame.roi_xywh': expected a part of 640x480"):
        nl.validate(recording_of(rois), negation(), progress=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((-1, 0, 0, 0), "the part 1 pixel to the left of roi_xywh"),
        ((2, 0, 0, 0), "the part 2 pixels to the right of roi_xywh"),
        ((0, -2, 0, 0), "the part 2 pixels above roi_xywh"),
        ((0, 1, 0, 0), "the part 1 pixel below roi_xywh"),
        ((-1, -1, 0, 0), "roi_xywh with x and y rounded down to even numbers"),
        ((-1, -1, -1, -1), "roi_xywh rounded down to even numbers"),
    ],
)
def test_a_part_a_little_off_is_no_other_resize(change: tuple[int, ...], words: str) -> None:
    noted = [(101, 31, 241, 301)] * 5
    used = [tuple(a + b for a, b in zip(roi, change)) for roi in noted]
    found = judged(by(used), noted)
    assert (found.verdict, found.fix) == ("geometry", None) and words in found.why, str(found)
    assert judged(by(noted), noted).verdict == "match"


@pytest.mark.parametrize("how", [{"source": "NV12"}, {"source": 3}])
def test_a_preprocess_that_frames_do_not_fit_leaves_outputs_compared(how: Any) -> None:
    made = recording_of(ROIS)
    recording = nl.Recording(made.specs, [*made.frames], {"preprocess": how})
    report = nl.validate(recording, negation(), progress=False)
    assert report.outputs["y"] and not report.inputs and report.unchecked.startswith("input: not checked, "), report
    with pytest.raises(nl.RecordingError, match="meta: preprocess: expected a mapping, got 'RGB'"):
        nl.validate(nl.Recording(made.specs, [*made.frames], {"preprocess": "RGB"}), negation(), progress=False)
