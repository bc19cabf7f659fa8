"""Define the report of one output: an object that is also text and JSON, and the data of its pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..comparison import Clamped, Figures, listed
from ..diagnosis import Candidate
from ..support import check_fields, isolated
from . import fixes
from .words import clamped, found_text, passing, tolerance

UNSURE = ("ambiguous", "mismatch")  #: verdicts that name no cause
_NONE = type(None)
_SEVERAL = (tuple, list)
_WHOLE = (int, np.integer, _NONE)


@dataclass(frozen=True, eq=False)
class Exhibit:
    """The data of a page's pictures.

    They are one frame's buffer and the model's output (in the model's order of axes), samples of both sides from all
    kept frames (real values), and the mean squared error at each place of the last two axes. `answers`: for each
    candidate that is about inputs, by the index of its trial, what the model returns for that frame.
    """

    frame: int
    buffer: np.ndarray
    reference: np.ndarray
    device_samples: np.ndarray
    reference_samples: np.ndarray
    position_error: np.ndarray
    answers: Mapping[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class OutputReport:
    """The result of `validate` for one output.

    Attributes
    ----------
    name, against
        The output's name in the recording, and the name of the model's output with which it was compared.
    verdict
        "match", "layout", "quantization", "channel_order", "preprocessing", "output_order", "input_order",
        "wrong_input", "geometry", "activation", "input_layout", "ambiguous" or "mismatch".
    fix
        layout, quantization: a corrected TensorSpec (None if no spec can describe it); channel_order: indices that put
        the unpacked channels into the model's order (``tensor.take(fix, channel_axis)``); preprocessing: the
        Preprocessor's arguments that describe what was done to the frame (None if none do); output_order: {recorded
        name: model's name} of all outputs that were exchanged; input_order: {recorded input: the model's input in whose
        place it was fed}; wrong_input: the outputs' frame minus the inputs' frame, or None. Else None.
    why
        The evidence, and what to do, in sentences.
    spec
        The TensorSpec as declared.
    channel_axis
        The axis of the channels, in the model's order of axes: 1 (C), or the last if boxes and scores are beside each
        other there, as in (1, 8400, 85) and (1, 80, 80, 255); None: all values are one channel.
    figures, channels
        Figures over all channels (None if nothing could be compared), and a list of the figures of each channel.
    worst_channel
        The channel with the lowest SNR among those that vary; None if there is only one channel.
    dead
        Channels that the device cannot show, because they vary in the model's output by less than half a quantisation
        step; or by less than a step, if they are at least half of all channels and share one scale with far larger
        ones. Empty if that may be chance, as with a thousand classes in three frames.
    tolerances
        {name: (asked, found, whether it is met)} for the tolerances that were given.
    passing
        {name: the value that would just pass}, for each tolerance.
    ranking
        The explanations that were tried, best first, with their scores in dB (SNR within the channels).
    exhibit
        The data of the page's pictures, or None.
    also
        Verdicts of further causes, if two were found at once. Then `verdict` and `fix` are those of the cause that
        reads the buffer, or of the function at the model's end beside another input, and `why` describes both causes.
    clamped
        How many values are stored as an end of the dtype's range because the model's values are beyond it, at which
        end, and by how much. None if there are none, if they are too few or too near to matter, or if a cause was
        found.
    """

    name: str
    against: str
    verdict: str
    fix: Any
    why: str
    spec: TensorSpec
    channel_axis: int | None = None
    figures: Figures | None = None
    channels: Sequence[Figures] = ()
    worst_channel: int | None = None
    dead: tuple[int, ...] = ()
    tolerances: Mapping[str, tuple[float, float, bool]] = field(default_factory=dict)
    passing: Mapping[str, float] = field(default_factory=dict)
    ranking: Sequence[Candidate] = ()
    exhibit: Exhibit | None = field(default=None, repr=False)
    also: tuple[str, ...] = ()
    clamped: Clamped | None = None

    def __post_init__(self) -> None:
        check_fields(self, name=str, against=str, verdict=str, why=str, spec=TensorSpec)
        check_fields(self, channel_axis=_WHOLE, figures=(Figures, _NONE), channels=_SEVERAL, worst_channel=_WHOLE)
        check_fields(self, dead=_SEVERAL, tolerances=Mapping, passing=Mapping, ranking=_SEVERAL)
        check_fields(self, exhibit=(Exhibit, _NONE), also=_SEVERAL, clamped=(Clamped, _NONE))

    def __bool__(self) -> bool:
        return self.verdict == "match"

    @property
    def title(self) -> str:
        """What tables of outputs and inputs call it: its name."""
        return self.name

    def __str__(self) -> str:
        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready dict, without the pictures. A figure that is not finite is None."""
        return {
            "name": self.name,
            "against": self.against,
            "verdict": self.verdict,
            "fix": plain(self.fix),
            "also": list(self.also),
            "why": self.why,
            "spec": self.spec.to_dict(),
            "channel_axis": self.channel_axis,
            "figures": None if self.figures is None else plain(self.figures._asdict()),
            "channels": [plain(c._asdict()) for c in self.channels],
            "worst_channel": self.worst_channel,
            "dead": list(self.dead),
            "clamped": None if self.clamped is None else self.clamped._asdict(),
            "tolerances": {  # held: what `met` was called; scripts may read it
                k: {"asked": a, "found": f if math.isfinite(f) else None, "met": met, "held": met}
                for k, (a, f, met) in self.tolerances.items()
            },
            "passing": plain(self.passing),
            "ranking": [
                {"cause": e.cause, "text": e.text, "score": plain(e.score), "gain": plain(e.gain), "fix": plain(e.fix)}
                for e in self.ranking
            ],
        }


def text(report: OutputReport, fixed_by: str = "") -> str:
    """Return the report of an output as text.

    fixed_by: the output whose fix, which was shown before, is this one's too; "" shows the fix.
    """
    lines = [f"{isolated(report.title)}: {', '.join([report.verdict, *report.also])}", f"  {report.why}"]
    if report.fix is not None:
        fix = f"that of {isolated(fixed_by)}" if fixed_by else fixes.line(report.verdict, report.fix)
        lines.append(f"  fix: {fix}")
    if report.figures is not None:
        f = report.figures
        parts = [f"SNR {f.snr_db:.1f} dB", f"cosine {f.cosine:.7f}"]
        parts.append(f"largest error {f.max_abs:.6g} at {f.at} of frame {f.frame}")
        if f.max_steps is not None:
            parts.append(f"{f.max_steps:.1f} steps")
        if f.argmax_agreement is not None:
            parts.append(f"argmax agrees at {100 * f.argmax_agreement:.1f} %")
        lines.append("  " + ", ".join(parts))
    if report.worst_channel is not None and report.channels:
        worst = report.channels[report.worst_channel]
        lines.append(f"  worst channel {report.worst_channel}: SNR {worst.snr_db:.1f} dB, cosine {worst.cosine:.5f}")
    if report.dead and report.verdict != "mismatch":  # whose `why` has them
        lines.append(f"  {_channel_words(report.dead)} less than half a step, which the device cannot show")
    if report.clamped is not None and report.figures is not None:
        lines.append(f"  {clamped(report.clamped, report.figures.values, report.spec)}")
    for name, (asked, found, met) in report.tolerances.items():
        measured = f"found {found_text(found, asked)}" if math.isfinite(found) else "not measured"
        lines.append(f"  {tolerance(name, asked)}: {measured}, {'met' if met else 'NOT met'}")
    offered = passing(report.verdict, report.passing)
    if offered:
        lines.append(f"  tolerances that would pass: {offered}")
    return "\n".join(lines)


def _channel_words(channels: Sequence[int]) -> str:
    shown = listed(channels, 8)
    return f"channel {shown} varies by" if len(channels) == 1 else f"{len(channels)} channels ({shown}) vary by"


def plain(value: Any) -> Any:
    """Return `value` as JSON can contain it: a TensorSpec as its dict, None in the place of NaN and infinity."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        return None
    if isinstance(value, TensorSpec):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value
