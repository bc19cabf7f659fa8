"""Collect the reports of many recordings in one object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Union

from ..errors import NpuLayoutError
from ..support import PathLike, isolated, json_text, many, shown
from .report import Report


class Reports(Mapping[str, Union[Report, str]]):
    """The result of `validate_many`: a mapping ``{path: Report}``, in the order of the recordings.

    If a recording could not be judged, its value is the reason as text. The mapping is true if there is at least one
    report and every one matches.

    Parameters
    ----------
    results
        {path: Report or text}.
    """

    def __init__(self, results: Mapping[str, Report | str]) -> None:
        pairs = results.items() if isinstance(results, Mapping) else [(None, None)]
        if not all(isinstance(path, str) and isinstance(result, (Report, str)) for path, result in pairs):
            raise NpuLayoutError(f"results: expected {{path: Report or text}}, got {shown(results)}")
        self._results = dict(results)

    def __getitem__(self, path: str) -> Report | str:
        return self._results[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __bool__(self) -> bool:
        return bool(self._results) and all(isinstance(r, Report) and bool(r) for r in self._results.values())

    @property
    def counts(self) -> dict[str, int]:
        """{verdict: how many recordings have it}, the most frequent first; "error": those that could not be judged."""
        return dict(Counter("error" if isinstance(r, str) else r.verdict for r in self._results.values()).most_common())

    def __str__(self) -> str:
        return "\n".join(
            [summary_line(self), *(f"{isolated(path)}: {_line(result)}" for path, result in self._results.items())]
        )

    def __repr__(self) -> str:
        return f"<Reports {summary_line(self)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict: for each path the Report's to_dict, or ``{"error": text}``."""
        return {
            "match": bool(self),
            "counts": self.counts,
            "recordings": {
                path: {"error": result} if isinstance(result, str) else result.to_dict()
                for path, result in self._results.items()
            },
        }

    def to_json(self, path: PathLike | None = None) -> str:
        """Return the reports as JSON text, and write it to `path`, if given.

        The file appears whole or not at all: OSError if it cannot be written, NpuLayoutError if `path` is no path.
        """
        return json_text(self.to_dict(), path)


def summary_line(reports: Reports) -> str:
    """Return how many recordings there are, and how many of each verdict: ``3 recordings: 2 match, 1 layout``."""
    counts = ", ".join(f"{n} {word}" for word, n in reports.counts.items()) or "none"
    return f"{many(len(reports), 'recording')}: {counts}"


def _line(result: Report | str) -> str:
    if isinstance(result, str):
        return f"error: {isolated(result)}"
    failed = [f"{isolated(found.title)} {found.verdict}" for found in result.findings if not found]
    return result.verdict + (f" ({', '.join(failed)})" if failed else "")
