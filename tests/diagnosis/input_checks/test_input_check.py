"""validate makes recorded inputs anew from the camera's frames, and says what else was done where they differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.cli.console import show_reports
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.pytest_plugin import assert_matches
from npu_layout.reports.junit import write_junit
from tests.support.boards import SIDE, Board, network
from tests.support.paths import SAMPLES

MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
HOW: dict[str, Any] = {"color": "RGB", "mean": MEAN, "std": STD, "resize": "letterbox"}
IMAGE = nl.TensorSpec((1, 3, SIDE, SIDE))
Make = Callable[[np.ndarray], np.ndarray]


def walk(count: int = 5) -> list[np.ndarray]:
    """Frames of a real camera, 480 x 640, with detail that interpolations treat in other ways."""
    clip = cv2.VideoCapture(str(SAMPLES / "data" / "walk.mp4"))
    return [clip.read()[1] for _ in range(count)]


FRAMES = walk()


def by(spec: nl.TensorSpec = IMAGE, **change: Any) -> Make:
    return lambda frame: nl.Preprocessor(spec, **{**HOW, **change})(frame)[0]


def scaled(mean: Any, std: Any) -> Make:
    """Of the letterboxed pixels, in units that no Preprocessor takes."""
    m, s = (np.reshape(v, (-1, 1, 1)) for v in (mean, std))
    return lambda frame: ((by(mean=0, std=1)(frame) - m) / s).astype(np.float32)


def own(resize: Make) -> Make:
    """A letterbox of the user's own around `resize`, which gives 36 x 48 pixels of RGB."""

    def make(frame: np.ndarray) -> np.ndarray:
        canvas = np.full((SIDE, SIDE, 3), 114, np.float32)
        canvas[6:42] = resize(np.ascontiguousarray(frame[..., ::-1]))
        return ((canvas - MEAN) / STD).transpose(2, 0, 1)[None].astype(np.float32)

    return make


def judged(make: Make, how: Any = HOW, frames: Any = FRAMES, spec: nl.TensorSpec | None = None) -> Any:
    """The InputReport, or None where there is none."""
    specs = {} if spec is None else {"image": spec}
    pairs = [({"image": make(frame), "frame": frame}, {}) for frame in frames]
    return recorded_inputs(nl.Recording(specs, pairs, {"preprocess": how})).reports.get("image")


M, S = np.array(MEAN), np.array(STD)
WRONG = {
    "color": (by(color="BGR"), {"color": "BGR"}, "color='BGR'"),
    "top left": (by(resize="letterbox_top_left"), {"resize": "letterbox_top_left"}, "resize='letterbox_top_left'"),
    "stretch": (by(resize="stretch"), {"resize": "stretch"}, "resize='stretch'"),
    "crop": (by(resize="crop"), {"resize": "crop"}, "resize='crop'"),
    "nothing": (by(mean=0, std=1), {"mean": [0.0] * 3, "std": [1.0] * 3}, "mean=0, std=1 (mean and std forgotten)"),
    "255 alone": (by(mean=0, std=255), {"std": [255.0] * 3}, "mean=0, std=255 (mean and std forgotten, but divided"),
    "to -1": (by(mean=127.5, std=127.5), {"mean": [127.5] * 3, "std": [127.5] * 3}, "mean=127.5, std=127.5"),
    "units": (scaled(M / 255, S / 255), {}, "(mean and std for 0 to 1 applied to pixels of 0 to 255)"),
    "before": (scaled(M * 255, S * 255), {}, "(divided by 255 before mean and std for 0 to 255 are applied)"),
    "twice": (scaled(M + M * S, S * S), {}, "(mean and std applied twice)"),
    "no mean": (by(mean=0), {"mean": [0.0] * 3}, "(mean forgotten)"),
    "no std": (by(std=1), {"std": [1.0] * 3}, "(std forgotten)"),
    "reversed": (by(mean=MEAN[::-1], std=STD[::-1]), {"mean": MEAN[::-1]}, "mean=[103.5, 116.3, 123.7]"),
    "swapped": (lambda f: by()(f)[:, ::-1], {"color": "BGR", "mean": MEAN[::-1]}, "color='BGR', mean=[103.5"),
    "area": (by(interpolation="area"), {"interpolation": "area"}, "interpolation='area'"),
    "cubic": (by(interpolation="cubic"), {"interpolation": "cubic"}, "interpolation='cubic'"),
    "nearest": (by(interpolation="nearest"), {"interpolation": "nearest"}, "interpolation='nearest'"),
    "black border": (by(pad_value=0), {"pad_value": 0}, "pad_value=0"),
    "border of 0": (by(pad_value=MEAN), {"pad_value": MEAN}, "pad_value=[123.7, 116.3, 103.5]"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_was_done_instead(what: str) -> None:
    make, fix, words = WRONG[what]
    found = judged(make)
    assert found.verdict == "preprocessing" and not found and found.frames == (0, 2, 4), str(found)
    assert words in found.why.partition("is not what preprocess= makes of the frame: it is what ")[2], str(found)
    assert {k: found.fix[k] for k in fix} == fix and found.fix.keys() >= HOW.keys()
    assert judged(make, found.fix).verdict == "match"


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW4c"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8"])
def test_as_the_accelerator_takes_it(layout: str, dtype: str) -> None:
    """Quantised and not; unquantised integers are the pixels, whose mean and std the model knows."""
    quantization = nl.Quantization(4.8 / 255, -14) if dtype == "int8" else None
    spec = nl.TensorSpec((1, 3, SIDE, SIDE), layout, dtype, quantization=quantization)
    plain = {"mean": 0, "std": 1} if dtype == "uint8" else {}
    assert judged(by(spec, **plain), spec=spec).verdict == "match"
    found = judged(by(spec, color="BGR", **plain), spec=spec)
    assert "it is what color='BGR' makes" in found.why, str(found)
    assert found.fix == {**HOW, "color": "BGR"} and found.spec == spec
    if dtype == "int8":
        forgotten = spec.pack(by(mean=0, std=1)(FRAMES[0]))
        assert "mean and std forgotten" in judged(lambda frame: forgotten, spec=spec, frames=FRAMES[:1]).why


def test_gray_and_nhwc_inputs_of_the_model() -> None:
    gray = nl.TensorSpec((1, SIDE, SIDE, 1), nl.Layout.plain("NHWC"))
    how = {"color": "GRAY", "mean": 128, "std": 64}
    assert judged(by(gray, **how), {**HOW, **how})
    assert "resize='stretch'" in judged(by(gray, resize="stretch", **how), {**HOW, **how}).why


def floats(frame: np.ndarray) -> np.ndarray:
    return cv2.resize(frame.astype(np.float32), (48, 36))


def smooth(frame: np.ndarray) -> np.ndarray:
    """As resizing with a wider filter, PIL's for instance, is: no interpolation of cv2."""
    return cv2.resize(cv2.GaussianBlur(frame, (0, 0), 3), (48, 36))


def test_small_frames_that_kept_their_size_are_made_again() -> None:
    frames, how = [cv2.resize(frame, (30, 22)) for frame in FRAMES], {**HOW, "scaleup": False}
    report = judged(by(scaleup=False), how, frames)
    assert report is not None and report
    report = judged(by(), how, frames)
    assert report is not None and not report


def test_where_mean_and_std_are_not_said_the_usual_ones_will_do() -> None:
    how = {"color": "RGB", "resize": "letterbox"}
    for usual in ({"mean": 0, "std": 1}, {"mean": 0, "std": 255}, {"mean": 127.5, "std": 127.5}):
        assert judged(by(**usual), how)
        found = judged(by(color="BGR", **usual), how)
        assert found.fix["color"] == "BGR" and found.fix["std"] == [usual["std"]] * 3, str(found)
    assert judged(by(mean=17, std=3), how) is None


def test_what_cannot_be_checked_is_said() -> None:
    frame, cannot = FRAMES[0], "a Preprocessor cannot make it of the frame: "
    for inputs, meta, why in (
        ({"image": by()(frame)}, {"preprocess": HOW}, "no camera frame recorded"),
        ({"image": by(color="BGR")(frame), "frame": frame}, {}, "preprocess="),
        ({"image": by(color="BGR")(frame), "frame": frame}, {"preprocess": {**HOW, "color": "rgb"}}, cannot),
        ({"image": by(color="BGR")(frame), "frame": frame}, {"preprocess": {**HOW, "mean": "grey"}}, cannot),
        ({"image": by(color="BGR")(frame), "frame": frame}, {"preprocess": "RGB"}, "preprocess="),
        ({"image": by(color="BGR")(frame), "frame": frame[..., 0]}, {"preprocess": HOW}, cannot),
        (
            {"left": by(color="BGR")(frame), "right": by()(frame), "frame": frame},
            {"preprocess": HOW},
            "several are images",
        ),
        ({"image": np.zeros((2, 3, 48, 48), np.float32), "frame": frame}, {"preprocess": HOW}, "none is an image"),
        ({"image": np.zeros((1, 3, 48, 48), np.int8), "frame": frame}, {"preprocess": HOW}, "none is an image"),
        ({"words": np.zeros((1, 77), np.int64), "frame": frame}, {"preprocess": HOW}, "none is an image"),
    ):
        reports, unchecked = recorded_inputs(nl.Recording({}, [(inputs, {})], meta))
        assert reports == {} and unchecked.startswith("input: not checked, ") and why in unchecked, unchecked
    assert recorded_inputs(nl.Recording({}, [], {"preprocess": HOW})).reports == {}
    odd = {"image": by(mean=17, std=3)(frame), "frame": frame}
    assert "no usual ones" in recorded_inputs(nl.Recording({}, [(odd, {})], {"preprocess": {"color": "RGB"}})).unchecked


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script that says RGB and makes BGR; the outputs are what the model says of what it was given."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "model.onnx").write_bytes(network())
    board = Board(frames=1)
    npu = nl.SimulatedNpu(nl.OnnxRuntimeEngine(network(), threads=1), [nl.TensorSpec(board.spec.shape, "NHWC")])
    made = nl.Preprocessor(IMAGE, **{**HOW, "color": "BGR"})
    with nl.Recorder(npu, folder / "r", preprocess=HOW) as recorder:
        for frame in FRAMES:
            recorder.infer(made(frame)[0], frame=frame)
    return folder


def test_the_report_is_false_and_says_so_everywhere(
    wrong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = nl.validate(nl.Recording.load(wrong / "r"), wrong / "model.onnx")
    found = report.inputs["image"]
    says = "it is what color='BGR' makes"
    assert report.outputs["maps"].verdict == "match" and not report and report.verdict == "preprocessing"
    assert str(report).startswith("preprocessing: 1 output, 5 frames") and str(found) in str(report)
    assert says in str(report) and f"fix: {found.fix}" in str(report)
    written = json.loads(report.to_json())
    assert written["match"] is False and written["inputs"]["image"]["fix"] == {**HOW, "color": "BGR"}
    report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("&#x27;", "'").replace("&#39;", "'")
    assert "input image is not what was declared" in page and says in page and "how = {" in page
    with pytest.raises(AssertionError, match=says):
        assert_matches(wrong / "r", wrong / "model.onnx")
    reports = nl.validate_many(wrong / "r", wrong / "model.onnx")
    assert not reports and reports.counts == {"preprocessing": 1} and "(input image preprocessing)" in str(reports)
    write_junit(reports, tmp_path / "junit.xml", "npu-layout")
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    failure = suite.find("testcase[@name='input image']/failure")
    assert [suite.get(k) for k in ("tests", "failures", "errors")] == ["2", "1", "0"]
    assert failure is not None and says in str(failure.get("message"))
    show_reports(reports)
    assert "input image" in (out := capsys.readouterr().out) and says in out


def test_where_mean_and_std_are_not_said_others_than_the_usual_are_no_fault() -> None:
    unsaid = {"color": "RGB", "resize": "letterbox"}
    for mean, std in (([103.939, 116.779, 123.68], 1), (128, 1), (0, 127.5), (0, STD)):
        assert judged(scaled(np.broadcast_to(mean, 3), np.broadcast_to(std, 3)), unsaid) is None


@pytest.mark.parametrize("fill", [0, 200, None])
def test_planes_with_gaps_that_were_read_without(fill: int | None) -> None:
    """Whatever is in the gaps, which is not known."""

    def make(frame: np.ndarray) -> np.ndarray:
        planes = by(mean=0, std=1)(frame).reshape(3, SIDE * SIDE)
        memory = np.random.default_rng(0).integers(0, 256, (3, 3072)) if fill is None else np.full((3, 3072), fill)
        memory[:, : SIDE * SIDE] = planes
        pixels = memory.ravel()[: planes.size].reshape(3, SIDE, SIDE)
        return (((pixels.transpose(1, 2, 0) - MEAN) / STD).transpose(2, 0, 1)[None]).astype(np.float32)

    found = judged(make)
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "no gap between them (they begin every 3072 elements)" in found.why, found.why
