"""Frames in, boxes, masks and skeletons out, by way of an accelerator's stored bytes.

    python samples/detect.py [SOURCE] [--output DIR]

SOURCE is a camera index, a video file, an image or a folder of images; left out, it is the clip in samples/data. Each
frame passes these stages:

    Preprocessor -> accelerator -> stored buffers -> Decoder -> draw

The accelerator is simulated: the network runs in onnxruntime on the CPU, and its 13 outputs come back as an accelerator
stores them, int8 in NC1HWC2 by default. The decoder reads them as they are stored. The float outputs are known too, so
every frame's detections are compared with theirs. Exit status: 0 if all agree, 1 if one frame's differ, 2 on bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pose
from detector import CLASSES, HEAD, INPUT_HW, PREPROCESS
from media import CLIP, HERE, InputError, Video

import npu_layout as nl
from npu_layout import decode
from npu_layout.engines import calibrate
from npu_layout.streams import Stream, open_source

MODEL = HERE / "models" / "detector.onnx"
DTYPES = ("int8", "uint8", "int16", "float16", "float32")
LAYOUTS = {"NC1HWC2": "NCHW16c", "NCHW": "NCHW", "NHWC": "NHWC", "NHWC8c": "NHWC8c"}  # names and tags
CALIBRATION_FRAMES = 16
PIXELS, SCORE = 6.0, 0.15  # how far edges and scores may move by quantisation


class Board:
    """A simulated accelerator with the sample's network: frames in, detections out.

    model: of the ONNX file; dtype, layout: how it stores its outputs; frames: (H, W, 3) BGR, whose outputs say the
    ranges of integers.
    """

    def __init__(self, model: Path, dtype: str, frames: Sequence[np.ndarray], layout: str = "NCHW16c") -> None:
        engine = nl.OnnxRuntimeEngine(str(model), threads=1)
        (target,) = engine.input_specs
        self.preprocess = nl.Preprocessor(target, **PREPROCESS)
        seen = [engine.infer(self.preprocess(frame)[0]) for frame in frames]
        specs = [
            nl.TensorSpec(
                spec.shape,
                nl.Layout(layout),
                dtype,
                quantization=calibrate([outputs[spec.name] for outputs in seen], dtype),
                name=spec.name,
            )
            for spec in engine.output_specs
        ]
        self.npu = nl.SimulatedNpu(engine, specs)
        self.decoder = decode.Decoder(HEAD, specs, INPUT_HW)
        self.of_floats = decode.Decoder(HEAD, engine.output_specs, INPUT_HW)

    def detections(self, frame: np.ndarray, confidence: float = 0.4) -> tuple[decode.Detections, nl.Geometry]:
        """What is in a frame, in pixels of the network's input, and how the frame became that."""
        buffer, geometry = self.preprocess(frame)
        return self.decoder(self.npu.infer(buffer), confidence=confidence), geometry

    def compared(self, outputs: Any, confidence: float) -> tuple[decode.Detections, decode.Comparison]:
        """Detections of the stored outputs, and how they differ from those of the same frame's floats."""
        found = self.decoder(outputs, confidence=confidence)
        real = self.of_floats(self.npu.last_float, confidence=confidence)
        return found, decode.same(found, real, pixels=PIXELS, score=SCORE)


def drawn(frame: np.ndarray, found: decode.Detections, geometry: nl.Geometry) -> np.ndarray:
    """Return the frame with masks, boxes and skeletons: a copy."""
    picture = decode.draw(frame, replace(found, keypoints=None), geometry, CLASSES)
    assert found.keypoints is not None
    people = []
    for points in found.keypoints.astype(np.float64):
        places = geometry.points_to_frame(points[:, :2], edges=True)
        places[points[:, 2] < 0.5] = np.nan
        people.append(places)
    return pose.draw(picture, people)


def frames_of(source: Any, count: int) -> list[np.ndarray]:
    """The first frames of a source, for calibration."""
    frames = []
    with closing(open_source(source)) as opened:
        for frame in opened:
            frames.append(np.array(frame))
            if len(frames) == count:
                break
    return frames


def run(args: argparse.Namespace) -> int:
    source = str(CLIP) if args.source is None else int(args.source) if args.source.isdigit() else args.source
    board = Board(args.model, args.dtype, frames_of(source, CALIBRATION_FRAMES), LAYOUTS[args.layout])
    args.output.mkdir(parents=True, exist_ok=True)
    video, best = Video(args.output / "detections.mp4", 20.0), args.output / "best.png"
    different, seconds, counts = [], [], []
    print(f"{source} -> simulated accelerator, {len(board.npu.output_specs)} outputs, {args.dtype} {args.layout}")

    def answer(result: Any) -> tuple[decode.Detections, decode.Comparison]:  # while the floats are this frame's
        return board.compared(result.outputs, args.confidence)

    with Stream(source, board.preprocess, board.npu, answer) as stream:
        for result in stream:
            found, comparison = result.value
            seconds.append(result.seconds["function"])
            if not comparison:
                different.append((result.number, str(comparison)))
            picture = drawn(result.frame, found, result.geometry)
            video.write(picture)
            if len(found) > max(counts, default=-1):
                cv2.imwrite(str(best), picture)
            counts.append(len(found))
            if args.max_frames and len(seconds) == args.max_frames:
                stream.stop()
                break
    video.close()
    milliseconds = 1e3 * float(np.median(seconds))
    print(f"{len(seconds)} frames, {sum(counts)} detections; {milliseconds:.2f} ms a frame to decode twice")
    print(f"{len(seconds) - len(different)} of {len(seconds)} frames have the detections of the float outputs")
    for number, words in different[:5]:
        print(f"frame {number}: {words}", file=sys.stderr)
    print(f"Results: {video.path}, {best}")
    return 1 if different else 0


def arguments(argv: Iterable[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("source", nargs="?", help="camera index, video file, image or folder of images; default: the embedded clip")
    add("--output", type=Path, default=Path("detect-output"), help="folder for the results (default: detect-output)")
    add("--model", type=Path, default=MODEL, help="an ONNX model with the sample detector's outputs")
    add("--layout", default="NC1HWC2", choices=LAYOUTS, help="how the accelerator stores outputs (default: NC1HWC2)")
    add("--dtype", default="int8", choices=DTYPES, help="in which dtype the accelerator stores them (default: int8)")
    add("--confidence", type=float, default=0.4, help="least score of a detection (default: 0.4)")
    add("--max-frames", type=int, default=0, help="stop after so many frames; 0: never (default)")
    return parser.parse_args(None if argv is None else list(argv))


def main(argv: Iterable[str] | None = None) -> int:
    try:
        return run(arguments(argv))
    except (InputError, nl.NpuLayoutError, OSError) as error:
        print(f"detect.py: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("detect.py: stopped", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
