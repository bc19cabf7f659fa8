"""npu-layout export: write a recording as the files of another tool."""

from __future__ import annotations

import argparse

from .. import exchange
from ..recordings import Recording
from ..support import isolated, many
from . import console, files, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("recording", metavar="RECORDING", help="the recording's folder")
    parser.add_argument("out", type=words.target, metavar="OUT", help="a new folder")
    parser.add_argument("--form", required=True, help="what to write: raw, polygraphy or onnx")
    parser.add_argument(
        "--model", metavar="FILE", help="for polygraphy and onnx: write only this model's tensors, by its names"
    )


def run(options: argparse.Namespace) -> int:
    """Write the files and return 0."""
    if options.model is not None:
        files.checked_file("--model", options.model)
    recording = Recording.load(options.recording)
    exchange.save(recording, options.out, form=options.form, model=options.model)
    console.show(f"{isolated(options.out)}: {many(len(recording), 'frame')}")
    return 0
