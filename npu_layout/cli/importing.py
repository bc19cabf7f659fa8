"""npu-layout import: make a recording of what another tool wrote."""

from __future__ import annotations

import argparse

from .. import exchange
from . import console, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("path", metavar="PATH", help="what another tool wrote")
    parser.add_argument("out", metavar="OUT", help="the recording's folder")
    parser.add_argument("--form", help="raw, polygraphy, onnx or rknn (default: told from what lies there)")
    parser.add_argument("--specs", metavar="FILE", help="TensorSpecs as JSON, of outputs that are flat buffers")
    parser.add_argument("--description", metavar="FILE", help="raw: the spec file, where it is not PATH/spec.json")
    parser.add_argument("--inputs", metavar="PATH", help="polygraphy: the saved inputs, where they lie elsewhere")
    parser.add_argument("--runner", help="polygraphy: whose results, where there are several")
    parser.add_argument("--model", metavar="FILE", help="onnx, rknn: the model, for names that the tensors lack")
    parser.add_argument("--outputs", type=lambda text: text.split(","), metavar="NAMES", help="rknn: a,b,c")
    parser.add_argument("--side", help="rknn: runtime, simulator or golden")


def run(options: argparse.Namespace) -> int:
    """Write the recording; 0 when it is done."""
    names = ("form", "description", "inputs", "runner", "model", "outputs", "side")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.specs is not None:
        given["specs"] = words.specs_in(options.specs)
    recording = exchange.load(options.path, **given)
    recording.save(options.out)
    console.say(f"{options.out}: {len(recording)} frames")
    return 0
