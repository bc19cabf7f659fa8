"""What is found out about a recorded input, as the report says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...buffers import TensorSpec
from ...support import check_fields, isolated


@dataclass(frozen=True)
class InputReport:
    """What `validate` finds out about an input that was recorded with the camera's frame.

    Attributes
    ----------
    name
        The input's name in the recording.
    verdict
        "match", or why the input is not what the recording's preprocess makes of the frame: "preprocessing" (other
        arguments or colours); "geometry" (the same picture mirrored, rotated, cropped or shifted, or of another part of
        the frame than the recording notes); "input_layout" (its bytes in another order, with another sign, or of a
        frame whose rows are padded); "wrong_input" (another frame's input, or a part of one). An
        input that was not made again can have "input_order" too: inputs were fed in each other's place, as the outputs
        show.
    fix
        The Preprocessor's arguments that make the input of the frame; for "input_order", and if no arguments make it or
        none are needed, None.
    why
        The evidence, and what to do, in sentences.
    spec
        The input's TensorSpec, as declared, or as the model reads it if none was declared.
    frames
        The numbers of the frames that were checked.
    """

    name: str
    verdict: str
    fix: Mapping[str, Any] | None
    why: str
    spec: TensorSpec
    frames: tuple[int, ...]

    def __post_init__(self) -> None:
        check_fields(self, name=str, verdict=str, fix=(Mapping, type(None)), why=str, spec=TensorSpec, frames=tuple)

    def __bool__(self) -> bool:
        return self.verdict == "match"

    @property
    def title(self) -> str:
        """What tables call it, among outputs."""
        return f"input {self.name}"

    def __str__(self) -> str:
        lines = [f"input {isolated(self.name)}: {self.verdict}", f"  {self.why}"]
        return "\n".join(lines if self.fix is None else [*lines, f"  fix: {self.fix!r}"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready dict."""
        fix = self.fix and {k: v.to_dict() if isinstance(v, TensorSpec) else v for k, v in self.fix.items()}
        spec, frames = self.spec.to_dict(), list(self.frames)
        return {"name": self.name, "verdict": self.verdict, "fix": fix, "why": self.why, "spec": spec, "frames": frames}
