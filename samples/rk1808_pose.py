"""The classic RK1808 script for a pose network, written with npu_layout.

    python samples/rk1808_pose.py [IMAGE or VIDEO] [--model pose.rknn] [--output rk1808_pose.png]

The usual script resizes with cubic interpolation, transposes HWC to CHW, calls ``rknn.inference(inputs=[image],
data_format="nchw")``, and reshapes the flat answer to 1x57x46x46, trusting that this is its order. Here both ends are
TensorSpecs, which check what comes. Where Rockchip's ``rknn`` package is absent, a stand-in with the same methods runs
the ONNX model instead, and the program says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")

import cv2
import numpy as np
import pose
from webcam import decode

import npu_layout as nl

HERE = Path(__file__).resolve().parent
CLIP = HERE / "data" / "walk.mp4"
STAND_IN_MODEL = HERE / "models" / "pose.onnx"
CLIP_FRAME = 60

INPUT = nl.TensorSpec((1, 3, 368, 368), "NCHW", "uint8")
OUTPUT = nl.TensorSpec((1, 57, 46, 46), "NCHW", "float32")


class StandIn:
    """The methods of rknn.api.RKNN that this script calls, backed by nl.SimulatedNpu."""

    def load_rknn(self, path: str) -> int:
        # The toolkit builds mean and std into the network; a quantised input says the same to the simulation.
        mean = np.broadcast_to(np.asarray(pose.PREPROCESS.get("mean", 0), np.float64), 3)
        std = np.broadcast_to(np.asarray(pose.PREPROCESS.get("std", 1), np.float64), 3)
        image = nl.TensorSpec(INPUT.shape, "NCHW", "uint8", quantization=nl.Quantization(1 / std, mean, axis=1))
        self._npu = nl.SimulatedNpu(path, [OUTPUT], inputs=[image])
        return 0

    def init_runtime(self, target: str | None = None) -> int:
        return 0

    def inference(self, inputs: list[np.ndarray], data_format: str = "nhwc") -> list[np.ndarray]:
        if data_format != "nchw":
            raise nl.NpuLayoutError(f"the stand-in for rknn knows data_format 'nchw' alone, got {data_format!r}")
        return list(self._npu.infer(inputs[0]).values())

    def release(self) -> None:
        del self._npu


def read_frame(path: Path) -> np.ndarray:
    """An image, or one frame of a video: (H,W,3) uint8 BGR."""
    if not path.is_file():
        raise nl.NpuLayoutError(f"{path}: no such file")
    image = cv2.imread(str(path))
    if image is None:
        capture = cv2.VideoCapture(str(path))
        for _ in range(CLIP_FRAME):
            good, frame = capture.read()
            if not good:
                break
            image = frame
    if image is None:
        raise nl.NpuLayoutError(f"{path}: cannot be read as an image or a video (damaged, or another format)")
    return image


def make_rknn(model: str | None) -> tuple[Any, str]:
    try:
        from rknn.api import RKNN
    except ImportError:
        print("The package rknn is not installed: a stand-in runs the ONNX model on the CPU.")
        return StandIn(), model or str(STAND_IN_MODEL)
    if model is None:
        raise nl.NpuLayoutError("the package rknn is installed: give the compiled network with --model pose.rknn")
    return RKNN(), model


def run(args: argparse.Namespace) -> None:
    frame = read_frame(args.image)
    preprocess = nl.Preprocessor(INPUT, resize="stretch", interpolation="cubic", color=pose.PREPROCESS["color"])
    image, geometry = preprocess(frame)

    rknn, model = make_rknn(args.model)
    for call, argument in ((rknn.load_rknn, {"path": model}), (rknn.init_runtime, {"target": "rk1808"})):
        status = call(**argument)
        if status != 0:
            raise nl.NpuLayoutError(f"rknn: {call.__name__}({argument}) returned {status}")
    (answer,) = rknn.inference(inputs=[image], data_format="nchw")
    rknn.release()

    maps = OUTPUT.unpack(np.ascontiguousarray(answer))
    people = decode(maps, geometry)
    result = pose.draw(frame.copy(), people)
    if not cv2.imwrite(str(args.output), result):
        raise nl.NpuLayoutError(f"{args.output}: cannot be written")
    print(f"{len(people)} people in {args.image}; the picture is {args.output}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", nargs="?", type=Path, default=CLIP, help="image or video; default: the embedded clip")
    parser.add_argument("--model", help="the compiled network (.rknn); for the stand-in an ONNX model")
    parser.add_argument("--output", type=Path, default=Path("rk1808_pose.png"), help="the picture to write")
    try:
        run(parser.parse_args(argv))
    except (nl.NpuLayoutError, OSError, cv2.error) as error:
        print(f"rk1808_pose.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
