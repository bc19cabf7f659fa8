"""npu-layout record: run an accelerator on images and videos, and record what it returns."""

from __future__ import annotations

import argparse
from typing import Any

from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..recordings import Feed, Frames, capture, simulated
from ..support import isolated, many
from . import console, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("model", metavar="MODEL", help="the ONNX model from which the accelerator's was made")
    parser.add_argument(
        "frames",
        metavar="FRAMES",
        nargs="+",
        help="images, videos, folders of images, or a camera such as /dev/video0, which needs --limit",
    )
    parser.add_argument(
        "--out", type=words.target, required=True, metavar="FOLDER", help="the recording: a new or empty folder"
    )
    runs = parser.add_mutually_exclusive_group(required=True)
    runs.add_argument("--engine", metavar="ENGINE",
                      help="module:factory, a callable that returns an object with infer and output_specs; or "
                           "kind:model, as npu_layout.open_engine opens it")  # fmt: skip
    runs.add_argument("--simulate", type=words.layout_and_dtype, metavar="LAYOUT[:DTYPE]",
                      help="simulate an accelerator with outputs of this layout (default dtype: int8)")  # fmt: skip
    parser.add_argument("--engine-option", type=words.option, action="append", metavar="NAME=VALUE",
                        help="an option for the engine of kind:model, as JSON or text: "
                             "'input_shapes={\"in0\": [3, 192, 256]}', accelerator=npu")  # fmt: skip
    words.add_preprocessing(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="at most N frames")
    parser.add_argument("--without-frames", action="store_true", help="record the model's inputs, but no camera frames")
    parser.add_argument("--note", default="", help="free text for the recording")


def run(options: argparse.Namespace) -> int:
    """Write the recording and return 0."""
    chosen = words.options("--engine-option", options.engine_option)
    if chosen and options.engine is None:
        raise NpuLayoutError("--engine-option: expected --engine KIND:MODEL beside it, got --simulate")
    model, frames = _model(options.model, options.frames), Frames(options.frames, options.limit)
    engine = None if options.engine is None else words.engine(options.engine, chosen)
    feed = Feed(model, engine, axes=options.axes, **words.preprocessing(options))
    if engine is None:
        engine = simulated(model, feed, frames, *options.simulate)
    about: dict[str, Any] = dict(keep_frames=not options.without_frames, model=options.model, note=options.note)
    count = capture(engine, feed, frames, options.out, **about)
    console.show(f"{isolated(options.out)}: {many(count, 'frame')}")
    return 0


def _model(path: str, frames: list[str]) -> OnnxRuntimeEngine:
    try:
        return OnnxRuntimeEngine(path)
    except NpuLayoutError as error:
        if not path.endswith(".onnx") and any(name.endswith(".onnx") for name in frames):
            raise NpuLayoutError(f"{error}; the model comes before the frames") from None
        raise
