"""Boards whose compiled model normalises pixels: not declared, declared, and beside other faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import SIDE, Board

PIXELS = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8", name="image")
HOW: dict[str, Any] = {"color": "RGB", "resize": "letterbox"}
IMAGENET = {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}
MODELS: dict[str, Mapping[str, Any]] = {"0 to 1": {"std": 255}, "imagenet": IMAGENET}


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def recording(
    board: Board,
    reads: Mapping[str, Any],
    declared: Mapping[str, Any],
    noise: float = 0.0,
    quantization: nl.Quantization | None = None,
    **more: Any,
) -> nl.Recording:
    """Runs of a board that gets pixels, and whose network reads what `reads` makes of them."""
    rng, runs = np.random.default_rng(0), []
    for frame in board.frames:
        flat = nl.Preprocessor(PIXELS, **{**HOW, **more})(frame)[0].reshape(-1)
        x = PIXELS.unpack(flat).astype(np.float32)
        mean, std = (np.float32(reads.get(key, n)).reshape(1, -1, 1, 1) for key, n in (("mean", 0), ("std", 1)))
        maps = board.engine.infer(np.ascontiguousarray((x - mean) / std))["maps"]
        maps = maps + rng.standard_normal(maps.shape).astype(np.float32) * np.float32(noise * maps.std())
        runs.append(({"image": flat, "frame": frame}, {"maps": maps.astype(np.float32)}))
    specs = {"image": PIXELS.replace(quantization=quantization), "maps": nl.TensorSpec(board.spec.shape)}
    return nl.Recording(specs, runs, {"preprocess": {**HOW, **declared}})


@pytest.mark.parametrize(
    ("name", "noise", "declared"),
    [("0 to 1", 0.0, {}), ("0 to 1", 0.2, {"mean": [0.0] * 3, "std": [1.0] * 3}), ("imagenet", 0.2, {})],
)
def test_what_is_not_declared_is_said(board: Board, name: str, noise: float, declared: Mapping[str, Any]) -> None:
    given = recording(board, MODELS[name], declared, noise)
    report = nl.validate(given, board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "preprocessing" and report.inputs["image"], str(report)
    formula = {"0 to 1": "pixel / 255, which", "imagenet": "(pixel - mean) / std, with"}[name]
    says = "The recorded input 'image' has pixels, and the accelerator's model normalises them by itself: the outputs"
    assert f"{says} are those for {formula}" in output.why, output.why
    assert "blank" not in output.why and "forgotten" not in output.why and "agree to" in output.why
    assert "declare it as preprocess=, as in the fix: the buffer stays as it is" in output.why
    fixed = nl.Recording(given.specs, given.frames, {"preprocess": output.fix})
    after = nl.validate(fixed, board.engine)
    assert after, str(after)


def nv12(bgr: np.ndarray, pitch: int) -> np.ndarray:
    """A frame of BGR as NV12 in rows of `pitch` bytes, with U and V of the top left one of four pixels."""
    height, width = bgr.shape[:2]
    planar = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420).reshape(-1)
    memory = np.full((height * 3 // 2, pitch), 0xEE, np.uint8)
    memory[:height, :width] = planar[: height * width].reshape(height, width)
    for first, values in enumerate(np.split(planar[height * width :], 2)):
        memory[height:, first:width:2] = values.reshape(height // 2, width // 2)
    return memory


@pytest.mark.parametrize("yuv", ["exact", "planes"])
def test_frames_of_y_u_and_v_get_the_same_words(board: Board, yuv: str) -> None:
    """The arguments of a Preprocessor have `yuv`, which belongs to the frame: a fix has it, too."""
    height, width = board.frames[0].shape[:2]
    writes = nl.Preprocessor(PIXELS, **HOW, source=nl.FrameSpec("NV12", (width, height), strides=width + 16), yuv=yuv)
    runs = []
    for frame in board.frames:
        memory = nv12(frame, width + 16)
        flat = writes(memory)[0].reshape(-1)
        maps = board.engine.infer(np.ascontiguousarray(PIXELS.unpack(flat).astype(np.float32) / 255))["maps"]
        runs.append(({"image": flat, "frame": memory}, {"maps": maps}))
    specs = {"image": PIXELS, "maps": nl.TensorSpec(board.spec.shape)}
    report = nl.validate(nl.Recording(specs, runs, {"preprocess": writes.arguments}), board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "preprocessing" and "accelerator's model normalises them by itself" in output.why
    assert output.fix == {**writes.arguments, "std": [255.0] * 3}
    assert nl.validate(nl.Recording(specs, runs, {"preprocess": output.fix}), board.engine)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", [*MODELS, "pixels"])
def test_what_is_declared_is_a_match(board: Board, name: str, noise: float) -> None:
    reads = MODELS.get(name, {})
    report = nl.validate(recording(board, reads, reads, noise), board.engine)
    assert report and "normalises" not in str(report), str(report)


def signed(given: nl.Recording) -> nl.Recording:
    """The same pixels as int8: 128 is taken from each, which the zero point adds again."""
    spec = PIXELS.replace(dtype="int8", quantization=nl.Quantization(1.0, -128))
    runs = [
        ({**run.inputs, "image": (run.inputs["image"].astype(np.int16) - 128).astype(np.int8)}, run.outputs)
        for run in given.frames
    ]
    return nl.Recording({**given.specs, "image": spec}, runs, given.meta)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", [*MODELS, "pixels"])
@pytest.mark.parametrize("is_signed", [False, True])
def test_a_scale_of_1_says_no_more_than_none(
    board: Board, name: str, noise: float, is_signed: bool, tmp_path: Path
) -> None:
    """What Hailo reports of an input of pixels: it is a match with mean and std declared, and named without."""

    def made(declared: Mapping[str, Any]) -> nl.Recording:
        plain = recording(board, reads, declared, noise, nl.Quantization(1.0, 0.0))
        return signed(plain) if is_signed else plain

    reads = MODELS.get(name, {})
    given = made(reads)
    report = nl.validate(given, board.engine)
    assert report and report.inputs["image"].verdict == "match", str(report)
    assert report.inputs["image"].spec == given.specs["image"]
    given.save(tmp_path / "saved")
    assert str(nl.validate(tmp_path / "saved", board.engine)) == str(report)
    if reads:
        output = nl.validate(made({}), board.engine).outputs["maps"]
        assert output.verdict == "preprocessing" and "normalises them by itself" in output.why, output.why


def test_other_faults_keep_their_words(board: Board) -> None:
    """Another mean and std than declared, and pixels of the other order: nothing is said of a runtime."""
    for given in (recording(board, {"std": 255}, IMAGENET), recording(board, IMAGENET, IMAGENET, color="BGR")):
        report = nl.validate(given, board.engine)
        assert report.verdict == "preprocessing", str(report)
        assert "normalises them by itself" not in str(report)
