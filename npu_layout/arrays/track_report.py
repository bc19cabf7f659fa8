"""The report of track_layout: each call with its place, formats, bytes and fix; the calls to fix come first."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..support import PathLike, ProcessLock, isolated, json_text, many
from .format_loss import Effect

_FAULTS = ("lost", "copied", "")


class CallPlace(NamedTuple):
    """The place of a call: the line of the caller's own code, and the library's line below it, if any."""

    file: str
    line: int
    within: str
    call: str


class Call(NamedTuple):
    """Calls of one function from one line with the same formats."""

    file: str  #: of the caller's own code, not of a library in between
    line: int
    call: str  #: such as "np.pad(x, ...)"
    inputs: str  #: formats of the arrays given: a Tensor's own, or "plain" and the formats that fit the strides
    output: str
    copied_nbytes: int  #: bytes that all these calls copied
    times: int
    fault: str  #: "lost", "copied" (without need) or ""
    fix: str  #: what to write instead
    within: str  #: the library's file and line of the call, if it is not at `line`


class LayoutReport:
    """The calls that were made while the block of :func:`track_layout` ran; it fills as they are made.

    It is false if a call lost a format. ``str()`` returns a table in plain text.
    """

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._seen: dict[tuple[CallPlace, Effect], list[int]] = {}  # [times, bytes]
        self._open = True

    def _count(self, place: CallPlace, what: Effect, times: int, nbytes: int) -> None:
        key = (place, what._replace(copied_nbytes=0))
        with self._lock.own:
            if self._open:
                sums = self._seen.setdefault(key, [0, 0])
                sums[0] += times
                sums[1] += nbytes

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call: those that lost the format, then needless copies, both by falling bytes, then the others."""
        with self._lock.own:
            seen = [(place, what, times, nbytes) for (place, what), (times, nbytes) in self._seen.items()]
        calls = [
            Call(place.file, place.line, place.call, w.inputs, w.output, nbytes, times, w.fault, w.fix, place.within)
            for place, w, times, nbytes in seen
            if times
        ]
        return tuple(
            sorted(calls, key=lambda call: (_FAULTS.index(call.fault), -call.copied_nbytes * bool(call.fault)))
        )

    @property
    def faults(self) -> tuple[Call, ...]:
        """The calls that lost a format or copied without need."""
        return tuple(call for call in self.calls if call.fault)

    def __bool__(self) -> bool:
        return not any(call.fault == "lost" for call in self.calls)

    @property
    def summary(self) -> str:
        """The numbers of calls and bytes, in a sentence."""
        calls = self.calls
        lost, copied = (sum(call.fault == fault for call in calls) for fault in _FAULTS[:2])
        total = sum(call.copied_nbytes for call in calls)
        return (
            f"{many(len(calls), 'kind')} of calls on Tensors: {lost} lost the format, {copied} copied without need; "
            f"{total} bytes copied in all"
        )

    def __str__(self) -> str:
        lines = [self.summary]
        for call in self.calls:
            times = f", {call.times} times" if call.times > 1 else ""
            within = f"  (in {isolated(shown(call.within))})" if call.within else ""
            where, formats = f"{isolated(shown(call.file))}:{call.line}", f"{call.inputs} -> {call.output}"
            lines.append(
                f"{call.fault or 'kept':6}  {where}  {call.call}  {formats}  {call.copied_nbytes} bytes{times}{within}"
            )
            if call.fix:
                lines.append(f"        fix: {call.fix}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON-ready dict: kept, summary and calls."""
        return {"kept": bool(self), "summary": self.summary, "calls": [call._asdict() for call in self.calls]}

    def to_json(self, path: PathLike | None = None) -> str:
        """Return the report as JSON text, and write it to `path`, if given.

        The file appears whole or not at all: OSError if it cannot be written, NpuLayoutError if `path` is no path.
        """
        return json_text(self.to_dict(), path)


def add(report: LayoutReport, place: CallPlace, what: Effect) -> None:
    """Count a call."""
    report._count(place, what, 1, what.copied_nbytes)


def bring_back(report: LayoutReport, place: CallPlace, what: Effect, nbytes: int) -> None:
    """Count a result that had lost its format as brought back into one, by copying so many bytes."""
    report._count(place, what, -1, -what.copied_nbytes)
    back = what._replace(output=f"{what.output}, then brought back", fault="", fix="")
    report._count(place, back, 1, what.copied_nbytes + nbytes)


def close(report: LayoutReport) -> None:
    """Count no more calls."""
    with report._lock.own:
        report._open = False


def shown(path: str) -> str:
    """Return a path as short as it can be: relative if it is below the working directory."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith(os.pardir) else relative
