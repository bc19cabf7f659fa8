"""npu-layout validate: compare recordings with the ONNX model, and report why they differ."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from ..errors import NpuLayoutError
from ..reports import Report, Reports, write_junit
from ..validation import find_recordings, validate_many
from . import console, heads, words

_TOLERANCES = {
    "min_snr_db": "least signal-to-noise ratio in dB (default: 10)",
    "min_cosine": "least cosine similarity",
    "max_abs": "largest absolute error",
    "max_steps": "largest error in quantisation steps",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("recordings", metavar="RECORDING", nargs="+", help="a recording, or a folder of recordings")
    parser.add_argument("model", metavar="MODEL", help="the ONNX model")
    for name, text in _TOLERANCES.items():
        parser.add_argument("--" + name.replace("_", "-"), action="append", type=words.tolerance,
                            metavar="[OUTPUT:]NUMBER", help=text)  # fmt: skip
    parser.add_argument("--head", metavar="HEAD", help=f"{heads.HELP}; then detections are compared too")
    parser.add_argument("--confidence", type=float, default=0.25, metavar="NUMBER",
                        help="least score of detections (default: 0.25)")  # fmt: skip
    parser.add_argument(
        "--workers", type=int, metavar="N", help="work in N processes; if one dies, only its recording is lost"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--junit", type=words.target, metavar="FILE", help="write JUnit XML, for a build server")
    parser.add_argument(
        "--html", type=words.target, metavar="FILE", help="write an HTML page with pictures, of one recording"
    )


def run(options: argparse.Namespace) -> int:
    """Print the verdicts; return 0 if all match, 1 if one does not, 2 if one cannot be read."""
    found = find_recordings(options.recordings)
    if options.html is not None and len(found) > 1:
        raise NpuLayoutError(f"--html: expected one recording, got {len(found)}")
    tolerances = {}
    for name in _TOLERANCES:
        if getattr(options, name) is not None:
            tolerances[name] = words.tolerances("--" + name.replace("_", "-"), getattr(options, name))
    reports = validate_many(
        found,
        options.model,
        workers=options.workers,
        pictures=options.html is not None,
        head=None if options.head is None else heads.head_of(options.head),
        confidence=options.confidence,
        **tolerances,
    )
    single = next(iter(reports.values())) if len(reports) == 1 else None
    refused = [_refusal(write) for write in _files(options, reports, single)]
    if isinstance(single, str):
        raise NpuLayoutError(single)
    if options.json:
        console.show_json({"command": options.command, **reports.to_dict()})
    elif single is not None:
        console.show_report(single)
    else:
        console.show_reports(reports)
    for error in filter(None, refused):  # after the verdict, which is not lost
        raise error
    if not all(isinstance(report, Report) for report in reports.values()):
        return 2
    return 0 if reports else 1


def _files(options: argparse.Namespace, reports: Reports, single: Report | str | None) -> Iterator[Callable[[], None]]:
    """Yield what writes each file that was asked for."""
    if options.junit is not None:
        yield lambda: write_junit(reports, options.junit, options.command)
    if options.html is not None and isinstance(single, Report):
        yield lambda: single.to_html(options.html)


def _refusal(write: Callable[[], None]) -> Exception | None:
    """Return why a file cannot be written, or None."""
    try:
        write()
    except (NpuLayoutError, OSError) as error:
        return error
    return None
