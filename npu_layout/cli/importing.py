"""npu-layout import: make a recording from the files of another tool."""

from __future__ import annotations

import argparse

from .. import exchange
from ..support import isolated, many
from . import console, files, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("path", metavar="PATH", help="the other tool's file or folder")
    parser.add_argument("out", type=words.target, metavar="OUT", help="the recording's folder")
    parser.add_argument("--form", help="what to read: raw, polygraphy, onnx or rknn (default: recognised by the files)")
    parser.add_argument("--specs", metavar="FILE", help="TensorSpecs as JSON, for outputs that are flat buffers")
    parser.add_argument("--description", metavar="FILE", help="for raw: the spec file, if it is not PATH/spec.json")
    parser.add_argument("--inputs", metavar="PATH", help="for polygraphy: the saved inputs, if they are not in PATH")
    parser.add_argument("--runner", help="for polygraphy: the runner whose results are read, if there are several")
    parser.add_argument("--model", metavar="FILE", help="for onnx and rknn: the model, for tensors without a name")
    parser.add_argument(
        "--outputs", type=lambda text: text.split(","), metavar="NAMES", help="for rknn: names of the outputs: a,b,c"
    )
    parser.add_argument("--side", help="for rknn: which results to read: runtime, simulator or golden")


def run(options: argparse.Namespace) -> int:
    """Write the recording and return 0."""
    names = ("form", "description", "inputs", "runner", "model", "outputs", "side")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.specs is not None:
        given["specs"] = files.specs_in(options.specs)
    if options.model is not None:
        files.checked_file("--model", options.model)
    recording = exchange.load(options.path, **given)
    recording.save(options.out)
    console.show(f"{isolated(options.out)}: {many(len(recording), 'frame')}")
    return 0
