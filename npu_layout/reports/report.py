"""Define the reports of `validate`: objects that are also text, JSON and a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import kernels
from ..decode import Comparison as DetectionComparison
from ..diagnosis import InputReport
from ..support import __version__, check_fields, isolated, json_text, many
from . import page
from .detected import detected
from .output_report import UNSURE, OutputReport, text

VERDICTS = tuple(page.MEANINGS)

_UNEXPLAINED_DB = 3.0  # the most that another reading gains where no cause was found


@dataclass(frozen=True, eq=False)
class Report:
    """The result of `validate`.

    True if every output matches, every checked input is as declared, and there was something to compare.

    Attributes
    ----------
    outputs
        {name: OutputReport}, in the recording's order.
    frames
        How many frames were compared.
    model
        What messages call the model.
    note
        What else the reader has to know, such as outputs that were not recorded, or that nothing was compared; or "".
    meta
        The recording's meta.
    inputs
        {name: InputReport} of the input that was made again from the recorded camera's frame, as the recording's
        preprocess describes, and of inputs that were fed in each other's place.
    unchecked
        Why no input was made again, as a line of text: the camera's frame was not recorded, the recording does not say
        how its inputs were made, or a Preprocessor refuses that. "" if one was made again.
    detections
        {frame: decode.Comparison} of the device's detections with the model's, if `validate` was given a head. If there
        are any, and all are the same, outputs that miss the tolerances are right too, unless another reading explains
        them better than the declared one.
    """

    outputs: Mapping[str, OutputReport]
    frames: int
    model: str
    note: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, InputReport] = field(default_factory=dict)
    unchecked: str = ""
    detections: Mapping[int, DetectionComparison] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = {"outputs": Mapping, "frames": int, "model": str, "note": str, "meta": Mapping, "inputs": Mapping}
        check_fields(self, **kinds, unchecked=str, detections=Mapping)

    def __bool__(self) -> bool:
        right = all(self.detections.values()) and all(map(self._right, self.outputs.values()))
        return self.frames > 0 and bool(self.outputs) and right and all(self.inputs.values())

    def _right(self, output: OutputReport) -> bool:
        """Whether an output matches, or differs by no cause that was found, and detections say that it does not matter.

        Which they do if there are any, the same in all frames.
        """
        decided = all(self.detections.values()) and any(found.matched for found in self.detections.values())
        unexplained = max((candidate.gain for candidate in output.ranking), default=0.0) <= _UNEXPLAINED_DB
        return bool(output) or (decided and unexplained)

    @property
    def findings(self) -> tuple[OutputReport | InputReport, ...]:
        """The reports of every output, then of the inputs."""
        return (*self.outputs.values(), *self.inputs.values())

    @property
    def verdict(self) -> str:
        """One verdict for the whole report: "match", or the first other one, outputs before inputs.

        A verdict that names a cause comes before "ambiguous" and "mismatch". "mismatch" if nothing was compared.
        """
        if not self.frames or not self.outputs:
            return "mismatch"
        wrong = [o for o in self.outputs.values() if not self._right(o)] + [i for i in self.inputs.values() if not i]
        verdicts = sorted((found.verdict for found in wrong), key=UNSURE.__contains__)
        return next(iter(verdicts), "match" if self else "mismatch")

    def __str__(self) -> str:
        return self._text(self._texts())

    def _texts(self) -> list[str]:
        """Return the text of each finding: arguments of a Preprocessor that several outputs have as fix stand once."""
        shown: list[OutputReport] = []
        texts = []
        for found in self.findings:
            if isinstance(found, OutputReport) and isinstance(found.fix, Mapping):
                before = next((one for one in shown if one.verdict == found.verdict and one.fix == found.fix), None)
                texts.append(text(found, "" if before is None else before.title))
                shown.append(found)
            else:
                texts.append(str(found))
        return texts

    def failures(self) -> str:
        """Return the report as text: in full for what does not match, in one line for what matches."""
        bad = [words for found, words in zip(self.findings, self._texts()) if found.verdict != "match"]
        good = ", ".join(isolated(found.title) for found in self.findings if found.verdict == "match")
        return self._text([*bad, f"match: {good}"] if bad and good else self._texts())

    def _text(self, findings: Iterable[str]) -> str:
        head = (
            f"{self.verdict}: {many(len(self.outputs), 'output')}, {many(self.frames, 'frame')}, {isolated(self.model)}"
        )
        return "\n".join(filter(None, (head, self.note, *findings, self.unchecked, detected(self.detections))))

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready dict, without the pictures."""
        return {
            "verdict": self.verdict,
            "match": bool(self),
            "model": self.model,
            "frames": self.frames,
            "note": self.note,
            "meta": dict(self.meta),
            "outputs": {name: output.to_dict() for name, output in self.outputs.items()},
            "inputs": {name: found.to_dict() for name, found in self.inputs.items()},
            "unchecked": self.unchecked,
            "detections": {str(frame): found.to_dict() for frame, found in self.detections.items()},
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as JSON text, and write it to `path`, if given.

        The file appears whole or not at all: OSError if it cannot be written, NpuLayoutError if `path` is no path.
        """
        return json_text(self.to_dict(), path)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report to `path` as one HTML file that needs nothing else.

        The page can be read in a browser and attached to an issue. It shows the verdict and its fix, figures, the error
        over channels and positions, histograms, and a contact sheet, on which the same buffer is read in the ways that
        explain it best, beside the model's output. The file appears whole or not at all. NpuLayoutError if it cannot be
        written.
        """
        page.write(path, page.page(self, f"npu_layout {__version__}, kernels {kernels.active()}"))
