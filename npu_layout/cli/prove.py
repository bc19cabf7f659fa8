"""record and validate: what the accelerator said, and whether that is right."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from ..engines import OnnxRuntimeEngine, engine_named
from ..errors import NpuLayoutError
from ..frames import MODES
from ..recordings import Feed, Frames, capture, simulated
from ..reports import Report, write_junit
from ..validation import find_recordings, validate_many
from . import console, words

_TOLERANCES = {
    "min_snr_db": "least signal-to-noise ratio (default: 10)",
    "min_cosine": "least cosine",
    "max_abs": "largest absolute error",
    "max_steps": "largest error in quantisation steps",
}


def record_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the ONNX model that the accelerator's was made from")
    parser.add_argument("frames", metavar="FRAMES", nargs="+", help="images, videos, folders of images")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="the recording: a new or empty folder")
    runs = parser.add_mutually_exclusive_group(required=True)
    runs.add_argument("--engine", metavar="MODULE:FACTORY",
                      help="a callable that gives an object with infer and output_specs")  # fmt: skip
    runs.add_argument("--simulate", type=words.layout_and_dtype, metavar="LAYOUT[:DTYPE]",
                      help="no accelerator: the outputs as one would store them (default dtype: int8)")  # fmt: skip
    parser.add_argument("--resize", default="letterbox", help=f"{', '.join(MODES)} (default: letterbox)")
    parser.add_argument("--color", default="RGB", help="the model's channels: RGB, BGR or GRAY (default: RGB)")
    parser.add_argument("--mean", type=words.numbers, default=[0.0], help="in pixel units: 128, or 124,116,104")
    parser.add_argument("--std", type=words.numbers, default=[1.0], help="in pixel units")
    parser.add_argument("--axes", help="letters of the model's input, where they are not NCHW")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N frames")
    parser.add_argument("--without-frames", action="store_true", help="record the model's inputs alone")
    parser.add_argument("--note", default="", help="free text for the recording")


def record(options: argparse.Namespace) -> int:
    model, frames = OnnxRuntimeEngine(options.model), Frames(options.frames, options.limit)
    how: dict[str, Any] = dict(axes=options.axes, resize=options.resize, color=options.color)
    for key in ("mean", "std"):
        value = getattr(options, key)
        how[key] = value[0] if len(value) == 1 else value
    sys.path.insert(0, os.getcwd())  # as for python -m: the project's own modules
    engine = None if options.engine is None else engine_named(options.engine)
    feed = Feed(model, engine, **how)
    if engine is None:
        engine = simulated(model, feed, frames, *options.simulate)
    about: dict[str, Any] = dict(keep_frames=not options.without_frames, model=options.model, note=options.note)
    count = capture(engine, feed, frames, options.out, **about)
    console.say(f"{options.out}: {count} frames")
    return 0


def validate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recordings", metavar="RECORDING", nargs="+", help="a recording, or a folder that holds some")
    parser.add_argument("model", metavar="MODEL", help="the ONNX model")
    for name, text in _TOLERANCES.items():
        parser.add_argument("--" + name.replace("_", "-"), action="append", type=words.tolerance,
                            metavar="[OUTPUT:]NUMBER", help=text)  # fmt: skip
    parser.add_argument("--workers", type=int, metavar="N", help="processes; one that dies loses its recording alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit's XML, for a build server")
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures, of one recording")


def validate(options: argparse.Namespace) -> int:
    found = find_recordings(options.recordings)
    if options.html and len(found) > 1:
        raise NpuLayoutError(f"--html: expected one recording, got {len(found)}")
    asked = {}
    for name in _TOLERANCES:
        if getattr(options, name) is not None:
            asked[name] = words.tolerances("--" + name.replace("_", "-"), getattr(options, name))
    reports = validate_many(found, options.model, workers=options.workers, pictures=bool(options.html), **asked)
    if options.junit:
        write_junit(reports, options.junit, options.command)
    single = next(iter(reports.values())) if len(reports) == 1 else None
    if isinstance(single, str):
        raise NpuLayoutError(single)
    if options.html and single is not None:
        single.to_html(options.html)
    if options.json:
        console.say_json({"command": options.command, **reports.to_dict()})
    elif single is not None:
        console.say_report(single)
    else:
        console.say_reports(reports)
    if not all(isinstance(report, Report) for report in reports.values()):
        return 2
    return 0 if reports else 1
