"""Frames that were fitted into the input in other ways than declared, or changed before they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.diagnosis import PreparedImage, variants
from npu_layout.diagnosis.other_inputs import frame_fits
from npu_layout.diagnosis.other_inputs.frame_fits import PICTURE
from tests.support.boards import picture

HEIGHT, WIDTH = 32, 48
PRE: dict[str, Any] = {"color": "RGB", "mean": [120.0, 115.0, 100.0], "std": [60.0, 58.0, 57.0]}
INPUT, OUTPUT = nl.TensorSpec((1, 3, HEIGHT, WIDTH)), nl.TensorSpec((1, 8, HEIGHT // 2, WIDTH // 2), "NHWC", "float16")


def network() -> bytes:
    """Two convolutions: 3x32x48 -> 8x16x24."""
    rng = np.random.default_rng(0)
    weights = {"a": rng.standard_normal((12, 3, 5, 5)) / 8, "b": rng.standard_normal((8, 12, 3, 3)) / 10}
    nodes = [
        helper.make_node("Conv", ["image", "a"], ["c"], strides=[2, 2], pads=[2, 2, 2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "b"], ["maps"], pads=[1, 1, 1, 1]),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("image", INPUT.shape), ("maps", OUTPUT.shape))
    ]
    constants = [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()]
    graph = helper.make_graph(nodes, "wide", ports[:1], ports[1:], constants)
    opset = [helper.make_opsetid("", 13)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


MODEL = nl.OnnxRuntimeEngine(network(), threads=1)


def detailed(seed: int) -> np.ndarray:
    """A frame of soft blobs with small squares in it, BGR, 60 x 70: its border is at the left and at the right."""
    frame, rng = picture(seed)[:, :70].copy(), np.random.default_rng(seed)
    for y, x in rng.integers(0, 56, (60, 2)):
        frame[y : y + 4, x + 5 : x + 9] = rng.integers(0, 256, 3)
    return frame


FRAMES = [detailed(i) for i in range(6)]


def made(frame: np.ndarray, **how: Any) -> np.ndarray:
    x: np.ndarray = nl.Preprocessor(INPUT, **{**PRE, **how})(frame)[0].reshape(INPUT.shape).copy()
    return x


def judged(
    fed: list[np.ndarray], noise: float = 0.1, recorded: bool = True, frames: int = 6, **how: Any
) -> nl.OutputReport:
    """What is said if the device saw `fed`, and the recording has what PRE and `how` make of the frames."""
    rng, pairs = np.random.default_rng(0), []
    for frame, x in zip(FRAMES[:frames], fed):
        y = MODEL.infer(x)["maps"]
        stored = OUTPUT.pack((y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32))
        inputs = {"image": made(frame, **how), **({"frame": frame} if recorded else {})}
        pairs.append((inputs, {"maps": stored}))
    recording = nl.Recording({"maps": OUTPUT}, pairs, {"preprocess": {**PRE, **how}})
    return nl.validate(recording, MODEL).outputs["maps"]


@pytest.mark.parametrize("frames", [1, 6])
@pytest.mark.parametrize("other", ["nearest", "nearest_floor", "cubic", "area"])
def test_another_interpolation(other: str, frames: int) -> None:
    """What is left of cubic is 20 dB: a much better explanation speaks, whatever the tolerances say."""
    output = judged([made(f, interpolation=other) for f in FRAMES], 0.01, frames=frames)
    assert output.verdict == "preprocessing" and output.fix == {**PRE, "interpolation": other}, str(output)
    assert f"interpolation '{other}' instead of 'linear'" in output.why


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("pad", [0, 127, 255, [120.0, 115.0, 100.0], [114.0, 0.0, 0.0], [0.0, 0.0, 114.0]])
def test_another_border(pad: Any, recorded: bool) -> None:
    """Without the frame, too: the border is seen in the recorded input."""
    output = judged([made(f, pad_value=pad) for f in FRAMES], 0.01, recorded)
    assert output.verdict == "preprocessing" and output.fix == {**PRE, "pad_value": pad}, str(output)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("pad, noise", [(40, 0.1), (77, 0.01), (77, 0.1), (200, 0.1)])
def test_an_unusual_border(pad: int, noise: float, recorded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the fix, and its neighbours that explain as much are in the words; the model runs a few times more."""
    runs: list[Any] = []
    infer = MODEL.infer
    output = judged([made(f, pad_value=pad) for f in FRAMES], noise, recorded)
    assert output.verdict == "preprocessing" and output.fix == {**PRE, "pad_value": pad}, str(output)
    near = "" if noise == 0.01 else " ("
    assert f"a border of {pad} instead of 114{near or '.'}" in output.why and (
        " explain as much)" in output.why
    ) == bool(near)
    monkeypatch.setattr(MODEL, "infer", lambda x: runs.append(x) or infer(x))
    judged([made(f, pad_value=pad) for f in FRAMES], noise, recorded)
    found = len(runs)
    runs.clear()
    judged([made(f) for f in FRAMES], noise, recorded)
    assert found <= len(runs) + 75  # most are two changes, 25 borders in five more frames, 6 the devices of `judged`


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("declared", [0, 77, 114])
def test_borders_without_a_fault_under_noise(declared: int, noise: float) -> None:
    output = judged([made(f, pad_value=declared) for f in FRAMES], noise, pad_value=declared)
    assert output.fix is None and output.verdict in ("match", "mismatch"), str(output)
    assert "a border of" not in output.why.split(" reaches ")[0] or "next best" in output.why


@pytest.mark.parametrize("recorded", [True, False])
def test_a_picture_that_is_darker_at_its_sides_has_no_other_border(recorded: bool) -> None:
    """A border has its part in what explains it, but leaves more than the noise of a sound device."""
    darker = 1 - 0.4 * np.linspace(-1, 1, WIDTH) ** 2
    mean, std = (np.array(PRE[name])[:, None, None] for name in ("mean", "std"))
    fed = [(((made(f) * std + mean) * darker - mean) / std).astype(np.float32) for f in FRAMES]
    output = judged(fed, 0.01, recorded)
    assert output.verdict == "mismatch" and output.fix is None, str(output)


@pytest.mark.parametrize("height", [58, 60])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_colours_of_a_frame_of_the_input_s_aspect(dtype: str, height: int) -> None:
    """Every mode makes the same of it, or nearly: another mode with the other colours is no second explanation."""
    how, rng, pairs = {**PRE, "resize": "letterbox"}, np.random.default_rng(0), []
    q = nl.Quantization(255 / 57 / 255, -10) if dtype == "int8" else None
    spec = nl.TensorSpec(INPUT.shape, "NHWC", dtype, quantization=q)
    for seed in range(6):
        frame = cv2.resize(picture(seed), (WIDTH * 60 // HEIGHT, height))
        x = spec.unpack(nl.Preprocessor(spec, **{**how, "color": "BGR"})(frame)[0])
        y = MODEL.infer(x)["maps"]
        stored = OUTPUT.pack((y + 0.15 * y.std() * rng.standard_normal(y.shape)).astype(np.float32))
        pairs.append(({"image": nl.Preprocessor(spec, **how)(frame)[0], "frame": frame}, {"maps": stored}))
    recording = nl.Recording({"image": spec, "maps": OUTPUT}, pairs, {"preprocess": how})
    output = nl.validate(recording, MODEL).outputs["maps"]
    assert output.verdict == "preprocessing" and output.fix == {**how, "color": "BGR"}, str(output)


def gamma(frame: np.ndarray) -> np.ndarray:
    return (255 * (frame / 255) ** 2.2).round().astype(np.uint8)


def negative(frame: np.ndarray) -> np.ndarray:
    return 255 - frame


def video(frame: np.ndarray) -> np.ndarray:
    return (16 + frame * (219 / 255)).round().astype(np.uint8)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    ("change", "words", "pad"),
    [
        (gamma, "gamma of 2.2", 114),
        (negative, "negative", 0),
        (video, "16 to 235 read as 0 to 255", 0),
    ],
)
def test_a_frame_that_was_changed_before_it_got_its_border(
    change: Callable[[np.ndarray], np.ndarray], words: str, pad: int, recorded: bool
) -> None:
    output = judged([made(change(f), pad_value=pad) for f in FRAMES], 0.03, recorded, pad_value=pad)
    assert (output.verdict, output.fix) == ("preprocessing", None), str(output)
    assert words in output.why and "but for the border" in output.why


def test_an_input_that_was_changed_with_its_border() -> None:
    """The changed border has the simpler explanation."""
    pixels = [made(f) * np.reshape(PRE["std"], (3, 1, 1)) + np.reshape(PRE["mean"], (3, 1, 1)) for f in FRAMES]
    fed = [(255 * (np.clip(p, 0, 255) / 255) ** 2.2 - np.reshape(PRE["mean"], (3, 1, 1))) for p in pixels]
    output = judged([(x / np.reshape(PRE["std"], (3, 1, 1))).astype(np.float32) for x in fed])
    assert output.verdict == "preprocessing" and "gamma of 2.2" in output.why, str(output)
    assert "but for the border" not in output.why


TURNS = {
    "90 degrees clockwise": lambda f: cv2.rotate(f, cv2.ROTATE_90_CLOCKWISE),
    "90 degrees counterclockwise": lambda f: cv2.rotate(f, cv2.ROTATE_90_COUNTERCLOCKWISE),
    "transposed": cv2.transpose,
}


@pytest.mark.parametrize("words", TURNS)
def test_a_frame_that_was_turned(words: str) -> None:
    """No input of other height than width is another one, turned."""
    output = judged([made(TURNS[words](f)) for f in FRAMES])
    assert (output.verdict, output.fix) == ("geometry", None) and f"the frame is {words}" in output.why.replace(
        "rotated by ", ""
    ), str(output)


def test_a_frame_that_was_mirrored_before_its_border_was_put_at_one_side() -> None:
    how = {"resize": "letterbox_top_left"}
    output = judged([made(f[:, ::-1].copy(), **how) for f in FRAMES], **how)
    assert output.verdict == "geometry" and "mirrored from left to right" in output.why, str(output)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("frames", [1, 6])
def test_noise_is_none_of_them(noise: float, recorded: bool, frames: int) -> None:
    assert judged([made(f) for f in FRAMES], noise, recorded, frames).verdict == "match"


def test_a_picture_that_is_all_border_has_none() -> None:
    flat = made(np.full((60, 90, 3), 114, np.uint8))
    for x, how in ((flat, PRE), (made(FRAMES[0]), {**PRE, "resize": "stretch"})):
        ids = [v.id for v in variants(PreparedImage(x, (-3.0, 3.0), {"preprocess": how}))]
        assert not [id for id in ids if id[0] == "fit" or id[-1] == PICTURE]


def _pitched(frame: np.ndarray, pitch: int) -> np.ndarray:
    """What is read of a frame whose rows begin every `pitch` pixels in memory, as if they had no gaps."""
    memory = np.zeros(frame.shape[0] * pitch * 3, np.uint8)
    for y, row in enumerate(frame):
        memory[y * pitch * 3 : y * pitch * 3 + row.size] = row.ravel()
    return memory[: frame.size].reshape(frame.shape)


@pytest.mark.parametrize("frames", [1, 6])
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_the_pitch_of_a_frame_is_ignored(noise: float, frames: int) -> None:
    """Rows of 70 pixels begin at multiples of 16: the picture is sheared before it is resized."""
    output = judged([made(_pitched(f, 80)) for f in FRAMES], noise, frames=frames)
    assert output.verdict == "input_layout" and output.fix is None, str(output)
    assert "the pitch of the frame is ignored: its rows of 70 pixels begin every 80" in output.why
    assert judged([made(f) for f in FRAMES], noise, frames=frames).verdict == "match"


def test_frames_are_fitted_only_as_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The declared way is made only for what is compared with it: another interpolation, or colours in another mode."""
    fitted: list[dict[str, Any]] = []

    def counted(target: nl.TensorSpec, **how: Any) -> nl.Preprocessor:
        fitted.append(how)
        return nl.Preprocessor(target, **how)

    monkeypatch.setattr(frame_fits, "Preprocessor", counted)
    x = made(FRAMES[0])
    given = PreparedImage(x, (float(x.min()), float(x.max())), {"preprocess": PRE}, FRAMES[0])

    def of(*ids: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        fitted.clear()
        return [variant.id for variant in variants(given, lambda id: id in ids)]

    turned, pad = ("device", "turned 180"), ("fit", ("pad_value", 0))
    stretched, both = ("fit", ("resize", "stretch")), ("fit", ("color", "BGR"), ("resize", "stretch"))
    assert of() == [] == fitted
    assert of(turned) == [turned]
    assert fitted == []
    assert of(pad) == [pad]
    assert [how["pad_value"] for how in fitted] == [0]
    assert of(stretched) == [stretched]
    assert [how["resize"] for how in fitted] == ["stretch"]
    assert of(both) == [both]
    assert len(fitted) == 3
    done = {(how.get("resize"), how["color"]) for how in fitted}
    assert done == {("stretch", "RGB"), (None, "RGB"), ("stretch", "BGR")}
    every = {variant.id for variant in variants(given)}
    assert {pad, stretched, both, turned} <= every
