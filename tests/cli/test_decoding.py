"""npu-layout decode: boxes of a recording, in numbers and on its frames."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.recordings import FRAME
from tests.support import detector
from tests.support.command_line import ran


def test_boxes_are_in_pixels_of_the_frame(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, "decode", "detected", "--head", "head.json", "--json", "--frames", "drawn")
    shown = json.loads(out)
    assert status == 0 and decode.Head.from_dict(shown["head"]) == detector.HEAD and shown["input"] == [64, 64]
    for i in range(3):
        wanted = detector.squares(i)[1]
        rows = [d for d in shown["detections"] if d["frame"] == i]
        assert len(rows) == len(wanted) and {d["of"] for d in rows} == {"frame"}
        for label, row, column in wanted:
            (found,) = [d for d in rows if abs(d["xyxy"][0] - (column * 12 - 6)) < 1 and d["class_id"] == label]
            assert abs(found["xyxy"][1] - (row * 12 - 6)) < 1 and abs(found["xyxy"][3] - (row * 12 + 18)) < 1
        drawn, frame = cv2.imread(f"drawn/frame-{i:06}.png"), detector.squares(i)[0]
        assert drawn.shape == frame.shape and 0.02 < (drawn != frame).any(2).mean() < 0.9


def test_boxes_of_a_part_are_in_pixels_of_the_whole_frame(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, plain = nl.Recording.load("detected"), ran(capsys, "decode", "detected", "--head", "head.json", "--json")[1]
    parts = []
    for inputs, outputs in runs:
        height, width = inputs["frame"].shape[:2]
        around = np.pad(inputs["frame"], ((5, 9), (31, 2), (0, 0)))
        parts.append(({**inputs, "frame": around, "frame.roi_xywh": np.array([31, 5, width, height])}, outputs))
    nl.Recording(runs.specs, parts, runs.meta).save("parts")
    shown = ran(capsys, "decode", "parts", "--head", "head.json", "--json")[1]
    for one, two in zip(json.loads(plain)["detections"], json.loads(shown)["detections"]):
        assert two["of"] == "frame" and two["xyxy"] == pytest.approx(np.add(one["xyxy"], [31, 5, 31, 5]).tolist())


def test_boxes_of_a_frame_that_was_not_enlarged(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """scaleup=False: the pixels of a small frame are those of the input, behind the border."""
    runs = nl.Recording.load("detected")
    plain = json.loads(ran(capsys, "decode", "detected", "--head", "head.json", "--json")[1])["detections"]
    height, width = 20, 44  # of an input of 64 x 64
    frame = np.zeros((height, width, 3), np.uint8)
    small = [({**inputs, "frame": frame}, outputs) for inputs, outputs in runs]
    nl.Recording(runs.specs, small, {"preprocess": {"resize": "letterbox", "scaleup": False}}).save("small")
    nl.Recording(runs.specs, [({"image": i["image"]}, o) for i, o in runs]).save("no_frames")
    raw, shown = (
        json.loads(ran(capsys, "decode", name, "--head", "head.json", "--json")[1])["detections"]
        for name in ("no_frames", "small")
    )
    assert len(raw) == len(shown) == len(plain) > 3
    for one, two in zip(raw, shown):
        assert one["of"] == "input" and two["of"] == "frame"
        left, top = (64 - width) / 2, (64 - height) / 2
        assert two["xyxy"] == pytest.approx(np.subtract(one["xyxy"], [left, top, left, top]).tolist(), abs=1e-3)


FORMATS = ("NV12", "I420", "YUYV", "RGB", "RGBA", "GRAY", "BGR")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("pitch", [0, 128])
def test_frames_as_cameras_deliver_them(
    name: str, pitch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One orange frame, in BGR and as it was delivered: the same boxes in its pixels, and the same picture, nearly."""
    monkeypatch.chdir(tmp_path)
    head, color = decode.yolov6(1, (8,)), (40, 120, 200)
    specs = {n: nl.TensorSpec((1, c, 8, 8), "NCHW", name=n) for n, c in (("box", 4), ("score", 1))}
    box, score = np.full((1, 4, 8, 8), 1.5, np.float32), np.zeros((1, 1, 8, 8), np.float32)
    score[0, 0, 4, 2] = 0.75
    outputs = {"box": box.ravel(), "score": score.ravel()}
    bgr = np.full((48, 96, 3), color, np.uint8)
    yuv = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420)
    gray = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    y, u, v = (int(yuv[row, column]) for row, column in ((0, 0), (48, 0), (-1, 0)))
    frames = {
        "NV12": np.concatenate([np.full((48, 96), y), np.tile([u, v], (24, 48))]).astype(np.uint8),
        "I420": yuv,
        "YUYV": np.tile([y, u, y, v], (48, 48)).astype(np.uint8).reshape(48, 96, 2),
        "RGB": cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB),
        "RGBA": cv2.cvtColor(bgr, cv2.COLOR_BGR2RGBA),
        "GRAY": gray,
        "BGR": bgr,
    }
    source, frame = name, frames[name]
    if pitch:
        source = nl.FrameSpec(name, (96, 48), strides=pitch * (4 if name in ("RGB", "RGBA", "BGR", "YUYV") else 1))
        frame = np.zeros(source.size, np.uint8)
        for place, plane in zip(source.planes(frame), nl.FrameSpec(name, (96, 48)).planes(frames[name].tobytes())):
            place[...] = plane

    class Board:
        input_specs = (nl.TensorSpec((1, 3, 64, 64), name="image"),)
        output_specs = tuple(specs.values())

        def infer(self, inputs: object, out: object = None) -> dict[str, np.ndarray]:
            return outputs

    for folder, seen, how in (("plain", bgr, "BGR"), ("delivered", frame, source)):
        preprocess = nl.Preprocessor(Board.input_specs[0], source=how)
        with nl.Recorder(Board(), folder, preprocess=preprocess) as recorder:
            recorder.infer(preprocess(seen)[0], frame=seen)
    Path("head.json").write_text(json.dumps(head.to_dict()))
    shown = {}
    for folder in ("plain", "delivered"):
        status, out, err = ran(capsys, "decode", folder, "--head", "head.json", "--json", "--frames", f"{folder}-drawn")
        assert status == 0, err
        shown[folder] = json.loads(out)["detections"]
    # the cell's centre in the input is (20, 36), its sides are 12; the frame is 1.5 times as large, under 16 rows
    assert shown["delivered"] == shown["plain"] and shown["plain"][0]["xyxy"] == [12.0, 12.0, 48.0, 48.0]
    one, two = (cv2.imread(f"{folder}-drawn/frame-000000.png").astype(int) for folder in ("plain", "delivered"))
    expected = np.where((one == color).all(2)[..., None], np.full(3, gray[0, 0]), one) if name == "GRAY" else one
    assert two.shape == (48, 96, 3) and np.abs(two - expected).max() <= 3 and (one != color).any()


def test_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, "decode", "detected", "--head", "head.json", "--confidence", "0.9", "--limit", "1")
    assert status == 0 and out.rstrip().endswith("3 detections in 3 frames")
    assert out.split()[:4] == ["frame", "class", "score", "left"]


def test_bad_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def says(*arguments: str) -> str:
        status, _, err = ran(capsys, "decode", *arguments)
        assert status == 2
        return err

    assert "none.json: No such file" in says("detected", "--head", "none.json")
    assert "expected a dict with any of name" in says("detected", "--head", "spec.json")
    Path("text.json").write_text("{")
    assert "text.json: not JSON" in says("detected", "--head", "text.json")
    assert "does not fit the outputs maps" in says("good", "--head", "head.json")
    assert "--input: expected HxW, got 3" in says("detected", "--head", "head.json", "--input", "3")
    frames = [(dict(image=r.inputs["image"]), r.outputs) for r in nl.Recording.load("detected")]
    nl.Recording(detector.specs(), frames, {}).save("bare")
    assert "recorded without its camera frames" in says("bare", "--head", "head.json", "--frames", "out")
    assert not Path("out").exists()
    status, out, _ = ran(capsys, "decode", "bare", "--head", "head.json", "--json")
    assert status == 0 and {d["of"] for d in json.loads(out)["detections"]} == {"input"}
    status, out, _ = ran(capsys, "decode", "bare", "--head", "head.json")
    assert status == 0 and out.rstrip().endswith("in 3 frames, in pixels of the input")
    unsaid = [
        (dict(image=r.inputs["image"], frame=r.inputs["frame"]), r.outputs) for r in nl.Recording.load("detected")
    ]
    nl.Recording(detector.specs(), unsaid, {}).save("unsaid")
    assert "does not say how frames of" in says("unsaid", "--head", "head.json", "--frames", "out")
    nl.Recording(detector.specs(), [({"x": np.zeros(3, np.float32)}, frames[0][1])], {}).save("blind")
    assert "give its HxW" in says("blind", "--head", "head.json")
    assert ran(capsys, "decode", "blind", "--head", "head.json", "--input", "64x64")[0] == 0


def test_turned_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One box in the middle, turned by an eighth: its corners in pixels of a frame twice as large."""
    monkeypatch.chdir(tmp_path)
    head = decode.yolov8_obb(2, (8,), bins=8)
    specs = {n: nl.TensorSpec((1, c, 8, 8), "NCHW", name=n) for n, c in (("box", 32), ("score", 2), ("angle", 1))}
    values = {name: np.zeros(spec.shape, np.float32) for name, spec in specs.items()}
    values["box"][0, [2, 8 + 1, 16 + 2, 24 + 1], 3, 3] = 99  # sides of 2, 1, 2, 1 cells
    values["score"][0, 1, 3, 3], values["angle"][0, 0, 3, 3] = 0.75, 0.5
    frame = np.full((128, 128, 3), 40, np.uint8)
    inputs = {"image": np.zeros((1, 3, 64, 64), np.float32), FRAME: frame}
    outputs = {name: specs[name].pack(value) for name, value in values.items()}
    nl.Recording(specs, [(inputs, outputs)], {"preprocess": detector.PREPROCESS}).save("turned")
    Path("head.json").write_text(json.dumps(head.to_dict()))
    status, out, _ = ran(capsys, "decode", "turned", "--head", "head.json", "--json", "--frames", "drawn")
    (row,) = json.loads(out)["detections"]
    assert status == 0 and row["class_id"] == 1 and row["of"] == "frame"
    assert decode.Head.from_dict(json.loads(out)["head"]) == head
    wanted = cv2.boxPoints(((56, 56), (64, 32), 45.0))
    apart = np.abs(np.array(row["xyxyxyxy"])[:, None] - wanted[None]).max(-1)
    assert (apart.min(1) < 0.01).all() and (apart.min(0) < 0.01).all()
    np.testing.assert_allclose(row["xyxy"], [*wanted.min(0), *wanted.max(0)], atol=0.01)
    drawn = cv2.imread("drawn/frame-000000.png")
    changed = (drawn != 40).any(2)
    x, y = np.rint((wanted[0] + wanted[1]) / 2).astype(int)
    assert changed.any() and changed[y - 1 : y + 2, x - 1 : x + 2].any()


def test_keypoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In pixels of the frame as boxes are: a point at a box's corner stays there."""
    monkeypatch.chdir(tmp_path)
    specs = {n: nl.TensorSpec((1, c, 8, 8), "NCHW", name=n) for n, c in (("box", 32), ("score", 2), ("points", 6))}
    values = {name: np.zeros(spec.shape, np.float32) for name, spec in specs.items()}
    values["box"][0, [1, 9, 17, 25], 3, 2] = 99  # sides of a cell
    values["score"][0, 1, 3, 2] = 0.75
    values["points"][0, :, 3, 2] = -0.25, -0.25, 0, 0.75, 0.75, 2  # (2 v + cell) strides: the box's corners
    inputs = {"image": np.zeros((1, 3, 64, 64), np.float32), FRAME: np.full((192, 192, 3), 40, np.uint8)}
    outputs = {name: specs[name].pack(value) for name, value in values.items()}
    nl.Recording(specs, [(inputs, outputs)], {"preprocess": detector.PREPROCESS}).save("posed")
    head = "yolov8(2, (8,), bins=8, keypoints=2)"
    status, out, err = ran(capsys, "decode", "posed", "--head", head, "--json", "--frames", "drawn")
    assert status == 0, err
    (row,) = json.loads(out)["detections"]
    assert row["xyxy"] == [36.0, 60.0, 84.0, 108.0] and row["of"] == "frame"
    first, second = row["keypoints"]
    assert first == [36.0, 60.0, 0.5] and second[:2] == [84.0, 108.0] and 0.88 < second[2] < 0.8808


def test_a_recording_of_stored_inputs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The input's spec is no output's, and says height and width where the buffer is flat."""
    runs = nl.Recording.load("detected")
    stored = nl.TensorSpec((1, 3, 64, 64), "NHWC", "float32", name="image")
    flat = [({**i, "image": stored.pack(i["image"])}, o) for i, o in runs]
    nl.Recording({**runs.specs, "image": stored}, flat, runs.meta).save("stored")
    plain = ran(capsys, "decode", "detected", "--head", "head.json", "--json")[1]
    status, out, err = ran(capsys, "decode", "stored", "--head", "yolov8(3, (8,), activation='sigmoid')", "--json")
    assert status == 0 and json.loads(out)["detections"] == json.loads(plain)["detections"], err
    assert json.loads(out)["detections"]


def test_boxes_and_points_of_no_number_are_null(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A network that overflowed has scores that pass, and boxes of NaN or infinity: JSON has neither."""
    channels = {"box": 64, "score": 3, "points": 15}
    specs = {f"{k}{s}": nl.TensorSpec((1, n, 64 // s, 64 // s)) for s in (8, 16, 32) for k, n in channels.items()}
    values = {name: np.zeros(spec.shape, np.float32) for name, spec in specs.items()}
    values["score8"][0, 1, 2, 3] = values["score16"][0, 2, 1, 1] = 0.9
    values["box8"][0, :, 2, 3] = np.nan
    values["points16"][0, 0, 1, 1] = np.inf
    nl.Recording(specs, [({}, values)]).save("overflowed")
    given = ("decode", "overflowed", "--head", "yolov8(3, keypoints=5)", "--input", "64x64")
    status, out, err = ran(capsys, *given, "--json")
    first, second = json.loads(out)["detections"]
    assert status == 0 and "defect" not in err and first["xyxy"] == [None] * 4 and first["class_id"] == 1
    assert (
        second["xyxy"] == [-96.0, -96.0, 144.0, 144.0]
        and [p[0] is None for p in second["keypoints"]] == [True] + [False] * 4
    )
    status, out, _ = ran(capsys, *given)
    assert status == 0 and out.count("nan") == 4


def test_without_a_head_those_that_fit_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capsys, "decode", "detected")
    assert status == 2 and out == "" and "--head: expected what the outputs mean" in err
    specs = [spec.replace(name=name) for name, spec in nl.Recording.load("detected").specs.items() if name != "image"]
    assert err.splitlines()[-1].endswith(str(decode.guess(specs, (64, 64))))


def test_a_head_that_does_not_fit_is_answered_with_a_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("detected").rename("a board")
    status, out, err = ran(capsys, "decode", "a board", "--head", "yolov5(80)")
    assert status == 2 and out == "" and "decode: --head yolov5(80): " in err
    found = re.search(r"`npu-layout (decode RECORDING .*)` without --head, names the heads", err)
    assert found, err
    answer = ran(capsys, *("a board" if word == "RECORDING" else word for word in found[1].split()))[2]
    assert "--head: expected what the outputs mean" in answer and answer != err
