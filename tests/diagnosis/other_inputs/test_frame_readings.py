"""Outputs of frames of Y, U and V that the device reads in another way; and faultless ones, on which it is silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.other_inputs.frame_readings import other_sources
from tests.diagnosis.input_checks.test_input_sources import SIZE, TWINS, scene, stored
from tests.support.boards import SIDE, network

INPUT = nl.TensorSpec((1, 3, SIDE, SIDE), name="image")
Change = Callable[[np.ndarray], np.ndarray]
HOW: dict[str, Any] = {"mean": [120.0, 115.0, 100.0], "std": [60.0, 58.0, 57.0]}


@pytest.fixture(scope="module")
def engine() -> nl.OnnxRuntimeEngine:
    return nl.OnnxRuntimeEngine(network(), threads=1)


def words_of(bgr: np.ndarray) -> np.ndarray:
    """A frame of RGB565, (H, W) uint16, by hand."""
    blue, green, red = (bgr[..., i].astype(np.uint16) for i in range(3))
    return np.ascontiguousarray((red >> 3 << 11) | (green >> 2 << 5) | (blue >> 3))


def judged(
    engine: nl.OnnxRuntimeEngine,
    form: str,
    declared: Any,
    really: Any,
    db: float,
    change: Change | None = None,
    before: Change | None = None,
    **really_also: Any,
) -> nl.OutputReport:
    """The report of a device that makes its input of the camera's frame by itself, with noise so many dB below.

    before, change: what it does to the frame, and to the input.
    """
    own = nl.Preprocessor(INPUT, source=declared, **HOW)
    device = nl.Preprocessor(INPUT, source=really, **{**HOW, **really_also})
    frames = [words_of(scene(seed)) if form == "RGB565" else stored(form, scene(seed)) for seed in range(8)]
    seen = [device(frame if before is None else before(frame))[0] for frame in frames]
    answers = [engine.infer(x if change is None else change(x))["maps"] for x in seen]
    rng = np.random.default_rng(1)
    noisy = [y + rng.normal(size=y.shape) * y.std() * 10 ** (-db / 20) for y in answers]
    spec = nl.TensorSpec(answers[0].shape, "NHWC", "int8", quantization=nl.engines.calibrate(noisy, "int8"))
    runs = [({"image": own(f)[0], "frame": f}, {"maps": spec.pack(y)}) for f, y in zip(frames, noisy)]
    recording = nl.Recording({"image": INPUT, "maps": spec}, runs, {"preprocess": own.arguments})
    return nl.validate(recording, engine, progress=False).outputs["maps"]


@pytest.mark.parametrize("form", ["NV12", "I420", "YUYV"])
@pytest.mark.parametrize(
    "other, words",
    [
        ({}, "U and V exchanged (source "),
        ({"matrix": "bt709"}, "matrix='bt709' (BT.709)"),
        ({"range": "full"}, "range='full' (0 to 255)"),
    ],
)
def test_another_reading_of_the_frame_is_the_fix(
    engine: nl.OnnxRuntimeEngine, form: str, other: dict[str, Any], words: str
) -> None:
    really = nl.FrameSpec(form if other else TWINS[form], SIZE, **other)
    found = judged(engine, form, nl.FrameSpec(form, SIZE), really, 35)
    assert found.verdict == "preprocessing", str(found)
    assert found.why.startswith(f"The input was made in another way than declared: the frame is read with {words}")
    assert found.fix is not None and nl.FrameSpec.from_dict(found.fix["source"]) == really, found.fix
    made = nl.Preprocessor(INPUT, **found.fix)(stored(form, scene(0)))[0]
    assert np.allclose(made, nl.Preprocessor(INPUT, source=really, **HOW)(stored(form, scene(0)))[0], atol=1e-5)


def test_a_matrix_that_colours_alone_do_not_tell(engine: nl.OnnxRuntimeEngine) -> None:
    really = nl.FrameSpec("NV12", SIZE, matrix="bt2020")
    found = judged(engine, "NV12", "NV12", really, 35)
    assert found.fix is not None and nl.FrameSpec.from_dict(found.fix["source"]) == really, str(found)


def test_the_range_beside_other_colours_is_two_changes(engine: nl.OnnxRuntimeEngine) -> None:
    found = judged(engine, "NV12", "NV12", nl.FrameSpec("NV12", SIZE, range="full"), 35, color="BGR")
    assert found.verdict == "preprocessing" and "pixels of 16 to 235 read as 0 to 255" in found.why, str(found)
    assert found.fix is not None and found.fix["color"] == "BGR", found.fix


@pytest.mark.parametrize(
    "really",
    [
        nl.FrameSpec("NV21", SIZE, matrix="bt709"),
        nl.FrameSpec("NV21", SIZE, range="full"),
        nl.FrameSpec("NV12", SIZE, matrix="bt709", range="full"),
    ],
)
@pytest.mark.parametrize("db", [20, 35])
def test_two_other_readings_at_once(engine: nl.OnnxRuntimeEngine, really: nl.FrameSpec, db: float) -> None:
    found = judged(engine, "NV12", nl.FrameSpec("NV12", SIZE), really, db)
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert nl.FrameSpec.from_dict(found.fix["source"]) == really and found.fix["std"] == HOW["std"], found.fix
    assert " and " in found.why.split("the frame is read with ")[1].split(". With that")[0]


def test_mean_and_std_applied_twice_beside_another_reading(engine: nl.OnnxRuntimeEngine) -> None:
    mean, std = (np.array(HOW[name], np.float32)[:, None, None] for name in ("mean", "std"))
    really = nl.FrameSpec("NV12", SIZE, range="full")
    found = judged(engine, "NV12", "NV12", really, 35, lambda x: (x - mean / 255) / (std / 255))
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert "applied twice, in units of 0 to 1, and the frame is read with range='full'" in found.why
    assert nl.FrameSpec.from_dict(found.fix["source"]) == really and found.fix["std"][0] == 60 * 60 / 255


@pytest.mark.parametrize("db", [20, 35])
def test_mean_and_std_forgotten_beside_u_and_v(engine: nl.OnnxRuntimeEngine, db: float) -> None:
    """Red and blue exchanged make nearly the same of it, and are two changes beside mean and std, too."""
    mean, std = (np.array(HOW[name], np.float32)[:, None, None] for name in ("mean", "std"))
    found = judged(engine, "NV12", "NV12", "NV21", db, lambda x: x * std + mean)
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert found.fix["source"] == "NV21" and found.fix.get("color", "RGB") == "RGB" and found.fix["std"] == [1.0] * 3
    assert "mean and std forgotten, and the frame is read with U and V exchanged" in found.why


@pytest.mark.parametrize("db", [20, 35])
def test_words_in_the_other_byte_order(engine: nl.OnnxRuntimeEngine, db: float) -> None:
    found = judged(engine, "RGB565", "RGB565", "RGB565", db, before=np.ndarray.byteswap)
    assert found.verdict == "input_layout" and found.fix is None, str(found)
    assert "the frame is read with the two bytes of each word exchanged" in found.why
    found = judged(engine, "RGB565", "RGB565", "RGB565", db, color="BGR")
    assert found.verdict == "preprocessing" and found.fix is not None and found.fix["color"] == "BGR", str(found)


@pytest.mark.parametrize("form", ["NV12", "I420", "YUYV", "RGB565"])
@pytest.mark.parametrize("db", [8, 14, 20, 30])
def test_faultless_frames_under_noise(engine: nl.OnnxRuntimeEngine, form: str, db: float) -> None:
    found = judged(engine, form, form, form, db)
    assert found.verdict in ("match", "ambiguous", "mismatch") and found.fix is None, str(found)
    assert found.verdict == "match" or db == 8, str(found)


def test_a_frame_that_does_not_fit_its_source(engine: nl.OnnxRuntimeEngine) -> None:
    x = nl.Preprocessor(INPUT, **HOW)(scene(0))[0]
    spec = nl.TensorSpec((1, 19, 12, 12), name="maps")
    runs = [({"image": x, "frame": scene(0)}, {"maps": -spec.pack(engine.infer(x)["maps"])})]
    recording = nl.Recording({"image": INPUT, "maps": spec}, runs, {"preprocess": {**HOW, "source": "NV12"}})
    with pytest.raises(nl.RecordingError, match="'frame' and meta's preprocess do not fit"):
        nl.validate(recording, engine, progress=False)


def test_others_are_of_one_change_or_of_several() -> None:
    frame = stored("NV12", scene(0))
    named = other_sources("NV12", frame)
    assert [one.changes for one in named] == [1] * 4 + [2] * 5 + [3] * 2
    assert [one.source for one in named if isinstance(one.source, str)] == ["NV21"]
    spec = nl.FrameSpec("NV12", SIZE, strides=64, matrix="bt2020", range="full")
    memory = np.zeros(spec.size or 0, np.uint8)
    found = other_sources(spec.to_dict(), memory)
    others = [nl.FrameSpec.from_dict(one.source) for one in found]
    assert all(other.strides == spec.strides and other.size == spec.size for other in others)
    fields = ("format", "matrix", "range")
    changed = [sum(getattr(other, field) != getattr(spec, field) for field in fields) for other in others]
    assert changed == [one.changes for one in found] and len({str(one.source) for one in found}) == len(found) == 11
    for channels in ("BGR", "GRAY", "MJPEG", "RGGB", "RGB565"):
        assert not other_sources(channels, frame)
    only = other_sources("NV16", np.zeros((36 * 2, 48), np.uint8))
    assert [one.changes for one in only] == [1] * 3 + [2] * 2 and only[-1].words.count(" and ") == 1
