"""npu-layout decode: print what a head reads from a recording, and draw it on the recorded frames."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..decode import Decoder, Detections, draw, guess
from ..diagnosis import image_size
from ..errors import NpuLayoutError
from ..frames import Geometry, Preprocessor
from ..recordings import CAMERA, FRAME, Frame, Recording, roi_of
from ..reports import plain
from ..support import many, whole
from . import console, heads, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("recording", metavar="RECORDING", help="a recording of the network's outputs")
    parser.add_argument("--head", metavar="HEAD", help=f"{heads.HELP}; without it, the heads that fit are named")
    parser.add_argument("--input", type=words.shape, metavar="HxW",
                        help="height and width of the input (default: those of the recorded input)")  # fmt: skip
    parser.add_argument("--confidence", type=float, default=0.25, metavar="NUMBER", help="least score (default: 0.25)")
    parser.add_argument("--iou", type=float, default=0.45, metavar="NUMBER",
                        help="drop boxes that overlap a better one of their class by more (default: 0.45)")  # fmt: skip
    parser.add_argument(
        "--limit", type=words.count, default=300, metavar="N", help="at most N detections (default: 300)"
    )
    parser.add_argument(
        "--frames",
        type=words.target,
        metavar="FOLDER",
        help="write the recorded frames there as PNG, with the detections",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; NaN and infinity are null")


def run(options: argparse.Namespace) -> int:
    """Print the detections of each frame, write pictures, and return 0."""
    recording = Recording.load(options.recording)
    if not len(recording):
        raise NpuLayoutError(f"{options.recording}: the recording has no frames")
    head = None if options.head is None else heads.head_of(options.head)
    size = _input_shape(options.input, recording)
    specs = [spec.replace(name=name) for name, spec in recording.specs.items() if name in recording.outputs]
    if head is None:
        raise NpuLayoutError(
            f"--head: expected what the outputs mean, such as 'yolov8(classes=80)'; {guess(specs, size)}"
        )
    try:
        decoder = Decoder(head, specs, size)
    except NpuLayoutError as error:
        raise NpuLayoutError(f"--head {options.head}: {error}") from None
    shown: list[dict[str, Any]] = []
    for i, frame in enumerate(recording):
        found = decoder(frame.outputs, options.confidence, options.iou, options.limit)
        geometry = _geometry(recording, frame, size)
        if options.frames is not None:
            picture = _picture(options.recording, frame, size, geometry)
            source = (recording.meta.get("preprocess") or {}).get("source", "BGR")
            _write(Path(options.frames), i, draw(picture, found, geometry, source=source))
        shown += _rows(i, found, geometry)
    if options.json:
        console.show_json({"head": head.to_dict(), "input": list(size), "detections": plain(shown)})
    else:
        rows = [(d["frame"], d["class_id"], f"{d['confidence']:.3f}", *(f"{v:.1f}" for v in d["xyxy"])) for d in shown]
        console.table(("frame", "class", "score", "left", "top", "right", "bottom"), rows)
        where = ", in pixels of the input" if any(row["of"] == "input" for row in shown) else ""
        console.show(f"{many(len(shown), 'detection')} in {many(len(recording), 'frame')}{where}")
    return 0


def _input_shape(given: tuple[int, ...] | None, recording: Recording) -> tuple[int, int]:
    """Return height and width of the network's input: as given, or of the one recorded image."""
    if given is not None:
        if len(given) != 2:
            raise NpuLayoutError(f"--input: expected HxW, got {'x'.join(map(str, given))}")
        return given[0], given[1]
    for name, x in recording.frames[0].inputs.items():
        extents = dict(zip(recording.specs[name].axes, recording.specs[name].shape)) if name in recording.specs else {}
        if {"H", "W"} <= extents.keys():
            return extents["H"], extents["W"]
        size = None if name in CAMERA else image_size(x.shape)
        if size is not None:
            return size
    raise NpuLayoutError("--input: the recording has no image of the network's input; give its HxW")


def _geometry(recording: Recording, frame: Frame, size: tuple[int, int]) -> Geometry | None:
    """Return how the recorded camera frame became the input, by the recording's preprocess; None if it has none."""
    picture = frame.inputs.get(FRAME)
    how = recording.meta.get("preprocess")
    if picture is None or not how:
        return None
    resize = {k: v for k, v in how.items() if k in ("resize", "source", "scaleup")}
    return Preprocessor(TensorSpec((1, 3, *size)), **resize)(picture, roi_xywh=roi_of(frame.inputs))[1]


def _rows(number: int, found: Detections, geometry: Geometry | None) -> list[dict[str, Any]]:
    """Return a row for each detection, in pixels of the frame if that was recorded, else of the input.

    Turned boxes have their corners, and heads with keypoints x, y and the confidence of each.
    """
    xyxy = found.xyxy if geometry is None else geometry.boxes_to_frame(found)
    rows: list[dict[str, Any]] = [
        {
            "frame": number,
            "class_id": int(found.class_id[k]),
            "confidence": float(found.confidence[k]),
            "xyxy": [float(v) for v in xyxy[k]],
            "of": "input" if geometry is None else "frame",
        }
        for k in range(len(found))
    ]
    for row, corners in zip(rows, () if found.xyxyxyxy is None else found.xyxyxyxy):
        row["xyxyxyxy"] = _places(corners, geometry)
    for row, points in zip(rows, () if found.keypoints is None else found.keypoints):
        confidence = points[:, 2:].astype(np.float64).tolist()
        row["keypoints"] = [[*place, *of] for place, of in zip(_places(points[:, :2], geometry), confidence)]
    return rows


def _places(points: np.ndarray, geometry: Geometry | None) -> list[list[float]]:
    """Return points that count as edges, in pixels as boxes are."""
    places = points if geometry is None else geometry.points_to_frame(points, edges=True)
    return np.asarray(places, np.float64).tolist()  # type: ignore[no-any-return]


def _picture(folder: str, frame: Frame, size: tuple[int, int], geometry: Geometry | None) -> np.ndarray:
    """Return the recorded camera frame; NpuLayoutError if there is none, or nothing says how it became the input."""
    picture = frame.inputs.get(FRAME)
    if picture is None:
        raise NpuLayoutError(f"--frames: {folder} was recorded without its camera frames; leave --frames out")
    if geometry is None and picture.shape[:2] != size:
        raise NpuLayoutError(
            f"--frames: {folder} does not say how frames of {picture.shape} became the input of {size}: its meta has "
            "no preprocess, as Recorder(preprocess=) writes it; leave --frames out"
        )
    return picture


def _write(folder: Path, number: int, drawn: np.ndarray) -> None:
    import cv2

    folder.mkdir(parents=True, exist_ok=True)
    done, png = cv2.imencode(".png", drawn)
    assert done
    with whole(folder / f"frame-{number:06}.png") as file:
        file.write(png.tobytes())
