"""npu-layout calibration: write frames as the calibration set of a toolchain."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..exchange import TOOLCHAINS, CalibrationSet
from ..frames import Preprocessor
from ..recordings import Frames
from ..support import isolated, many, track
from . import console, files, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "frames",
        metavar="FRAMES",
        nargs="+",
        help="images, videos, folders of images, or a camera such as /dev/video0, which needs --limit",
    )
    parser.add_argument("--model", required=True, metavar="MODEL", help="the float ONNX model, which reads the frames")
    parser.add_argument("--for", dest="toolchain", required=True, choices=tuple(TOOLCHAINS), metavar="TOOLCHAIN",
                        help=f"the toolchain that reads the set: {', '.join(TOOLCHAINS)}")  # fmt: skip
    parser.add_argument("--out", type=words.target, required=True, metavar="FOLDER", help="a new folder")
    words.add_preprocessing(parser)
    parser.add_argument("--every", type=words.count, default=1, metavar="N", help="every Nth frame (default: 1)")
    parser.add_argument("--limit", type=words.count, metavar="N", help="at most N frames")


def run(options: argparse.Namespace) -> int:
    """Write the set, print how it is used, and return 0."""
    model = OnnxRuntimeEngine(files.checked_file("--model", options.model))
    if len(model.input_specs) != 1:
        names = ", ".join(spec.name for spec in model.input_specs)
        raise NpuLayoutError(f"{options.model}: expected a model of one input, an image; it has {names}")
    (spec,) = model.input_specs
    if options.axes is not None:
        spec = spec.replace(layout=options.axes, axes=options.axes)
    frames = Frames(options.frames, None if options.limit is None else options.limit * options.every)
    total = -(-frames.total // options.every)
    total = total if options.limit is None else min(total, options.limit)
    chosen = (frame for n, frame in enumerate(frames) if n % options.every == 0)
    some = (frame for frame, _ in zip(chosen, range(total)))
    samples = CalibrationSet(
        track(some, total, "frames"), Preprocessor(spec, **words.preprocessing(options)), spec.name
    )
    count = samples.save(options.out, options.toolchain)
    console.show(f"{isolated(options.out)}: {many(count, 'frame')} for {options.toolchain}\n")
    console.show((Path(options.out) / "how.txt").read_text("utf-8").rstrip())
    return 0
