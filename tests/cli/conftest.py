"""A folder for the command line to work in: a model, recordings that match and do not, images and buffers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.support import detector
from tests.support.boards import Board, network, picture
from tests.support.layer_dumps import as_npy, channels_last, eight_bits, layers_of
from tests.support.paths import SAMPLES


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(frames=5)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: Board) -> Path:
    """A folder to work in: a model, recordings that match and do not, images, buffers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "samples").symlink_to(SAMPLES)
    (tmp_path / "model.onnx").write_bytes(network())
    board.recording().save("good")
    nhwc = nl.TensorSpec(board.spec.shape, "NHWC", "int8", quantization=board.spec.quantization)
    nchw = nl.TensorSpec(nhwc.shape, "NCHW", "int8", quantization=nhwc.quantization)
    board.recording(nchw, board.packed(nhwc)).save("tree/wrong")
    board.recording().save("tree/right")
    board.recording().save("damaged")
    Path("damaged/frame-000002.npz").write_bytes(b"no archive")
    Path("images").mkdir()
    for i in range(4):
        cv2.imwrite(f"images/{i}.png", picture(i))
    heat = np.random.default_rng(0).standard_normal((1, 57, 46, 46)).astype(np.float32)
    np.save("heat.npy", heat)
    spec = nl.TensorSpec(heat.shape, "NCHW16c", "int8", quantization=nl.Quantization(0.03, 4))
    spec.pack(heat).tofile("heat.bin")
    Path("spec.json").write_text(json.dumps({"heat": spec.to_dict()}))
    detector.recording(3).save("detected")
    Path("head.json").write_text(json.dumps(detector.HEAD.to_dict()))
    layers = layers_of(network())
    as_npy(layers, Path("onnx_layers"))
    as_npy({name: channels_last(eight_bits(array)) for name, array in layers.items()}, Path("board_layers"))
    return tmp_path
