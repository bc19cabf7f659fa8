"""Make the tables of a report's page: an output's figures, candidate explanations and channels."""

from __future__ import annotations

from collections.abc import Sequence

from ..buffers import TensorSpec
from ..comparison import Clamped, Figures, listed
from ..diagnosis import LEAST, MARGIN
from .markup import Child, Html, el, join
from .output_report import OutputReport
from .words import bound, clamped, decibels, exact, number, passing, spoken

_ROWS, _MOST_ROWS = 12, 512  # channels: in sight, and at all
_RANKED = 8
_NONE = "\u2013"


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[Child]], numbers: int = 99, kind: str = ""
) -> Html:
    """Return a table. The first cell of a row is its heading; columns from `numbers` on are right-aligned."""
    right = ["right" if i >= numbers else None for i in range(len(head))]
    top = el("tr", *(el("th", h, scope="col", class_=c) for h, c in zip(head, right)))
    body = [
        el("tr", el("th", first, scope="row"), *(el("td", cell, class_=c) for cell, c in zip(cells, right[1:])))
        for first, *cells in rows
    ]
    whole = el("table", el("thead", top), el("tbody", *body), class_=kind or None, aria_label=caption)
    scrolled = el("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return join(el("p", caption, class_="quiet"), scrolled)


def figures(o: OutputReport) -> Html:
    """Return the figures over all channels, the tolerances that were given, and those that would just pass."""
    f = o.figures
    if f is None:
        return el("section", el("h3", "Figures"), el("p", "Nothing could be compared."))
    where = f"at {_place(f.at)} of frame {f.frame}" if f.at else f"in frame {f.frame}"
    rows = [
        ["SNR", decibels(f.snr_db), _asked(o, "min_snr_db")],
        ["Cosine", f"{f.cosine:.7f}", _asked(o, "min_cosine")],
        ["Largest absolute error", f"{number(f.max_abs)} {where}", _asked(o, "max_abs")],
    ]
    if f.max_steps is not None:
        rows.append(["Largest error in steps", f"{f.max_steps:.4g}", _asked(o, "max_steps")])
    if f.argmax_agreement is not None:
        rows.append(["Argmax agrees", f"{100 * f.argmax_agreement:.2f} %", _NONE])
    rows.append(["Range of the model", _range(f.low, f.high), _NONE])
    rows.append(["Range of the device", _range(f.device_low, f.device_high), _NONE])
    caption = f"As declared: {f.values:,} values of all frames and channels"
    return el(
        "section",
        el("h3", "Figures"),
        table(caption, ["Figure", "Found", "Tolerance"], rows, kind="figures"),
        _dead(o.dead),
        _clamped(o.clamped, f.values, o.spec),
        _passing(o),
    )


def _asked(o: OutputReport, name: str) -> Html | str:
    if name not in o.tolerances:
        return _NONE
    asked, _, met = o.tolerances[name]
    return join(
        f"{bound(name)} {exact(asked)}: ",
        el("b", "\u2713 met" if met else "\u2717 not met", class_="good" if met else "bad"),
    )


def _passing(o: OutputReport) -> Html | None:
    arguments = passing(o.verdict, o.passing)
    if not arguments:
        return None
    words = el("p", "These tolerances would just pass:", class_="quiet")
    return join(words, el("pre", el("code", f"validate(recording, model, {arguments})")))


def _dead(channels: Sequence[int]) -> Html | None:
    if not channels:
        return None
    text = f"Dead channels ({len(channels)}): {listed(channels, 40)}. The model's values vary there by less than half "
    return el("p", text + "a quantisation step, which the device cannot show.", class_="alarm")


def _clamped(found: Clamped | None, values: int, spec: TensorSpec) -> Html | None:
    if found is None:
        return None
    words = clamped(found, values, spec)
    return el("p", f"{words[0].upper()}{words[1:]}", class_="alarm")


def explanations(o: OutputReport) -> Html | None:
    """Return the table of the best candidates and the declared reading."""
    if not o.ranking:
        return None
    shown = [*o.ranking[:_RANKED], *(e for e in o.ranking[_RANKED:] if e.cause == "match")]
    top = max(e.score for e in shown)
    rows = []
    for e in shown:
        width = f"width:{100 * min(e.score / top, 1):.0f}%" if e.score > 0 else None
        bar = el("span", class_="meter", style=width) if width else None
        rows.append(["as declared" if e.cause == "match" else spoken(e.cause), e.text, join(decibels(e.score), bar)])
    caption = (
        f"How well device and model agree with each explanation (SNR within the channels); {len(rows)} of "
        f"{len(o.ranking)} are shown. A cause is named if it reaches {LEAST:g} dB and is {MARGIN:g} dB better than the "
        f"declared reading and every other cause."
    )
    head = ["Cause", "Explanation", "Agreement"]
    return el("section", el("h3", "Explanations"), table(caption, head, rows, kind="ranking"))


def channels(o: OutputReport) -> Html | None:
    """Return the table of the channels, worst first; channels that do not vary in the model come last."""
    if len(o.channels) < 2:
        return None
    order = sorted(range(len(o.channels)), key=lambda c: (not _varies(o.channels[c]), o.channels[c].snr_db))
    steps = any(f.max_steps is not None for f in o.channels)
    rows = [_channel_row(c, o, steps) for c in order[:_MOST_ROWS]]
    head = ["Channel", "SNR", "Cosine", "Largest error", *(["Steps"] if steps else []), "Frame", "Place"]
    head += ["Model's range", "Device's range"]
    rest = None
    if len(rows) > _ROWS:
        left = f"The next {len(rows) - _ROWS} of {len(order)} channels"
        rest = el("details", el("summary", left), table(left, head, rows[_ROWS:], 1, "channels"))
    first = table("Worst first, as declared", head, rows[:_ROWS], 1, "channels")
    return el("section", el("h3", f"The {len(o.channels)} channels"), first, rest)


def _varies(f: Figures) -> bool:
    return f.high > f.low


def _channel_row(c: int, o: OutputReport, steps: bool) -> list[str]:
    f = o.channels[c]
    name = f"{c}, dead" if c in o.dead else f"{c}, constant" if not _varies(f) else str(c)
    in_steps = [_NONE if f.max_steps is None else f"{f.max_steps:.3g}"] if steps else []
    ranges = _range(f.low, f.high), _range(f.device_low, f.device_high)
    error = number(f.max_abs)
    return [name, decibels(f.snr_db), f"{f.cosine:.5f}", error, *in_steps, str(f.frame), _place(f.at), *ranges]


def _place(at: Sequence[int]) -> str:
    return f"({','.join(map(str, at))})"


def _range(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"
