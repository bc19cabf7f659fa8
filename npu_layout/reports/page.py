"""Make the page of a report: the verdict first, then the evidence for each output, in figures and pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol

import numpy as np

from ..comparison import listed
from ..decode import Comparison
from ..diagnosis import InputReport
from ..errors import NpuLayoutError
from ..support import isolated, write_text
from . import fixes, tables
from .contact_sheet import contact_sheet
from .detected import detected
from .markup import Child, Html, document, el
from .output_report import Exhibit, OutputReport
from .pictures import ERRORS, bars, error_map, histogram, picture, scale
from .tables import table
from .words import decibels, number, spoken

#: What each verdict means. The keys are all verdicts, in the order of the documentation.
MEANINGS: Mapping[str, str] = {
    "match": "As declared, the outputs are the model's.",
    "layout": "The buffer is stored in another layout or type than declared.",
    "quantization": "The stored numbers do not have the declared scale, zero point or sign.",
    "channel_order": "The channels are in another order than the model's.",
    "preprocessing": "The accelerator was given another input than declared.",
    "output_order": "Outputs are exchanged: one contains what belongs to another.",
    "input_order": "Inputs are exchanged: the accelerator was fed one in the place of another.",
    "wrong_input": "The outputs belong to other frames than those that they are paired with.",
    "geometry": "The picture is mirrored, rotated, cropped, shifted or resized in another way.",
    "activation": "The device's model ends in another way than the ONNX model.",
    "input_layout": "The input's bytes are in another order, or mean other values, than declared.",
    "ambiguous": "The recording does not decide what is right.",
    "mismatch": "The outputs are not the model's, and no known cause explains it.",
}
_KINDS = {"match": "good", "ambiguous": "open"}  # classes of colours; that of other verdicts is "bad"
_NAMED = 12  # outputs in the banner
_LONG = 120  # characters, of HTML, of a fact that does not go beside others
_SIGNS = {"good": "\u2713", "open": "?", "bad": "\u2717"}


class _Reported(Protocol):
    """What a page shows of a Report, whose room imports this one."""

    @property
    def verdict(self) -> str: ...

    @property
    def outputs(self) -> Mapping[str, OutputReport]: ...

    @property
    def inputs(self) -> Mapping[str, InputReport]: ...

    @property
    def model(self) -> str: ...

    @property
    def frames(self) -> int: ...

    @property
    def note(self) -> str: ...

    @property
    def meta(self) -> Mapping[str, Any]: ...

    @property
    def unchecked(self) -> str: ...

    @property
    def detections(self) -> Mapping[int, Comparison]: ...


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # of float64 near its ends
def page(report: _Reported, made_by: str) -> str:
    """Return the whole page as HTML. made_by: the library's version and its kernels."""
    kind = _kind(report.verdict)
    outputs, inputs, model = list(report.outputs.values()), list(report.inputs.values()), report.model
    meaning: str | None = MEANINGS[report.verdict] if outputs else "Nothing was compared."
    if outputs and report.verdict == ("mismatch" if all(outputs) else "match"):
        meaning = None  # detections or an input decide, which is said below
    wrong = [isolated(o.name) for o in outputs if o.verdict != "match"]
    no_match = "No match" if report.verdict != "match" else "No match by themselves, but all detections are the same"
    banner = el(
        "header",
        el(
            "div",
            el("p", f"npu_layout: validation against {model}", class_="over"),
            el("h1", _sign(kind), el("span", f"Verdict: {spoken(report.verdict)}")),
            el("p", meaning),
            el("p", f"{no_match}: {len(wrong)} of {len(outputs)} outputs ({listed(wrong, _NAMED)})")
            if wrong[len(outputs) == 1 :] or (wrong and report.verdict == "match")
            else None,
            el("p", "The detections are not the model's.") if not all(report.detections.values()) else None,
            *(el("p", f"{isolated(found.title)} is not what was declared") for found in inputs if not found),
        ),
        class_=f"banner {kind}",
    )
    about = _about(report, model, made_by)
    sections = [*map(_input, inputs), *(_output(i, output) for i, output in enumerate(outputs))]
    body = el("main", about, _contents(outputs) if len(outputs) > 1 else None, *sections)
    footer = (
        "SNR: the power of the model's output over the power of the error. SNR within the channels: the same without "
        "the channels' means. With 10 dB more, the error has a tenth of the power."
    )
    return document(f"{spoken(report.verdict)}: {model}", banner, body, el("footer", footer))


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a file that appears whole or not at all. NpuLayoutError if it cannot be written."""
    try:
        write_text(path, text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NpuLayoutError(f"the report cannot be written to {str(path)!r}: {reason}") from None


def _kind(verdict: str) -> str:
    return _KINDS.get(verdict, "bad")


def _sign(kind: str) -> Html:
    return el("span", _SIGNS[kind], class_="sign", aria_hidden="true")


def _badge(verdict: str) -> Html:
    kind = _kind(verdict)
    return el("span", _sign(kind), spoken(verdict), class_=f"badge {kind}")


def _about(report: _Reported, model: str, made_by: str) -> Html:
    meta = {k: v for k, v in report.meta.items() if v not in (None, "", {}, [])}
    now = datetime.now(timezone.utc)
    facts = {
        "Compared with": el("code", model),
        "Frames compared": report.frames,
        "Preprocessing of the inputs": _arguments(meta.pop("preprocess", None)),
        "Note of the recording": meta.pop("note", None),
        "Report made": el("time", f"{now:%Y-%m-%d %H:%M} UTC", datetime=f"{now:%Y-%m-%dT%H:%MZ}"),
        "Written by": made_by,
    }
    text = json.dumps(meta, indent=1, ensure_ascii=False, default=str)
    return el(
        "section",
        el("p", report.note, class_="alarm") if report.note else None,
        _quiet(report.unchecked) if report.unchecked else None,
        *map(_quiet, detected(report.detections).splitlines()),
        el("dl", *(_fact(k, v) for k, v in facts.items() if v is not None)),
        el("details", el("summary", "What else was recorded"), el("pre", text)) if meta else None,
        class_="card",
        aria_label="About this report",
    )


def _fact(name: str, value: Child) -> Html:
    """Return a fact; a long one has a row of its own."""
    return el("div", el("dt", name), el("dd", value), class_="long" if len(str(value)) > _LONG else None)


def _arguments(preprocess: Any) -> Html | str:
    if not preprocess:
        return "not recorded"
    given = preprocess.items() if isinstance(preprocess, Mapping) else [("", preprocess)]
    return el("code", ", ".join(f"{k}={v!r}" for k, v in given))


def _contents(outputs: Sequence[OutputReport]) -> Html:
    rows = [
        [
            el("a", o.name or "(no name)", href=f"#output-{i}"),
            _badge(o.verdict),
            decibels(o.figures.snr_db) if o.figures else "\u2013",
        ]
        for i, o in enumerate(outputs)
    ]
    return el("nav", table(f"The {len(outputs)} outputs", ["Output", "Verdict", "SNR"], rows), class_="card")


def _output(place: int, o: OutputReport) -> Html:
    against = "" if o.against == o.name else f", compared with the model's {o.against}"
    heading = el("h2", o.name or "(no name)", id=f"output-{place}-name")
    code = fixes.code(o.verdict, o.fix, o.spec, o.channel_axis)
    return el(
        "section",
        el("div", heading, _badge(o.verdict), class_="title"),
        el("p", f"Declared as {o.spec.storage.describe()} {o.spec.dtype}{against}", class_="quiet"),
        el("p", o.why, class_="why"),
        el("section", el("h3", "The fix"), el("pre", el("code", code))) if code else None,
        contact_sheet(o, o.exhibit) if o.exhibit is not None and o.exhibit.reference.size else None,
        tables.figures(o),
        el("section", el("div", *_maps(o, o.exhibit), class_="grid")) if o.exhibit is not None else None,
        tables.explanations(o),
        tables.channels(o),
        class_="card output",
        id=f"output-{place}",
        aria_labelledby=f"output-{place}-name",
    )


def _input(found: InputReport) -> Html:
    """Return the section of an input that was recorded with the camera's frame."""
    code = fixes.code(found.verdict, found.fix, found.spec, None)
    return el(
        "section",
        el("div", el("h2", found.title), _badge(found.verdict), class_="title"),
        el("p", found.why, class_="why"),
        el("section", el("h3", "The fix"), el("pre", el("code", code))) if code else None,
        class_="card",
    )


def _maps(o: OutputReport, exhibit: Exhibit) -> Iterator[Html]:
    """Yield where the errors are: over channels, over positions, over values."""
    if len(o.channels) > 1:
        errors = [f.max_abs for f in o.channels]
        worst = int(np.argmax(errors))
        yield el(
            "section",
            el("h3", "Error over channels"),
            _quiet(f"Largest absolute error of each channel, up to {number(errors[worst])} in channel {worst}."),
            bars(errors, worst),
            _ends("channel 0", f"channel {len(errors) - 1}"),
        )
    places = np.atleast_2d(exhibit.position_error)
    if o.figures is not None and places.size > 1:
        image, most = error_map(places)
        down, across = places.shape
        words = f"Root mean square error at each of {f'{down} x {across}' if down > 1 else across} positions"
        yield el(
            "section",
            el("h3", "Error over positions"),
            _quiet(f"{words}, over all channels and frames."),
            picture(image, words, "map"),
            scale(ERRORS, "0", number(most)),
        )
    drawn, low, high = histogram(exhibit.device_samples, exhibit.reference_samples)
    keys = [el("span", el("i", class_="key reference"), "model")]
    if exhibit.device_samples.size:
        keys.append(el("span", el("i", class_="key line"), "device, as declared"))
    yield el(
        "section",
        el("h3", "Histograms of both sides"),
        _quiet(
            "How often finite values occur, on a log scale, in samples of all frames. If both sides agree here, an "
            "error is one of order; if not, one of scale or of the input."
        ),
        drawn,
        _ends(number(low), number(high)),
        el("p", *keys, class_="quiet legend"),
    )


def _quiet(text: str) -> Html:
    return el("p", text, class_="quiet")


def _ends(first: str, last: str) -> Html:
    return el("div", el("span", first), el("span", last), class_="ends")
