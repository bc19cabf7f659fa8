"""What a comparison of two dumps says: of each tensor of the model, and of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..support import check_fields


class ComparedLayer(NamedTuple):
    """A tensor of the model, compared in the dumps a and b by `compare_layers`. Making one raises nothing.

    Attributes
    ----------
    name, op, node
        The tensor's name, the operator that computes it ("Input": it is an input of the model), and its node's name.
    verdict
        "same", "differs", "undecided" (it cannot be compared), or "missing" in one of the dumps or both.
    snr_db
        Power of a's values over that of the difference, in dB, in the layout in which both agree best; None if they
        were not compared.
    inputs_db
        The least snr_db of the tensors from which it is computed; None if none of them was compared. In place of a
        tensor that was not compared, those from which that one is computed count.
    why
        What differs, or why it cannot be compared; else which of the dumps is stored in another layout.
    shape, layout_a, layout_b
        The tensor's shape, and each dump's layout and dtype (only the dtype if the two agree in no layout); None and ""
        if they were not compared.
    inputs, skipped
        The names of the nearest compared tensors from which it is computed, and of the tensors between these and it,
        which were not compared (none if it is missing itself).
    """

    name: str
    op: str
    node: str
    verdict: str
    snr_db: float | None = None
    inputs_db: float | None = None
    why: str = ""
    shape: tuple[int, ...] | None = None
    layout_a: str = ""
    layout_b: str = ""
    inputs: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for JSON. Raises nothing."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self._asdict().items()}


@dataclass(frozen=True)
class LayerComparison:
    """What `compare_layers` found; true if no layer differs.

    Attributes
    ----------
    layers
        Every tensor of the model in topological order, those that are missing too.
    first
        The first layer that differs while none of its inputs does, or None.
    others
        Further layers that differ and depend on no layer that differs.
    why
        The result in words.
    unknown_a, unknown_b
        Names in each dump that are no tensor of the model.
    min_snr_db
        The limit that was used.
    """

    layers: tuple[ComparedLayer, ...]
    first: ComparedLayer | None
    others: tuple[ComparedLayer, ...]
    why: str
    unknown_a: tuple[str, ...]
    unknown_b: tuple[str, ...]
    min_snr_db: float

    def __post_init__(self) -> None:
        check_fields(self, layers=tuple, first=(ComparedLayer, type(None)), others=tuple, why=str)
        check_fields(self, unknown_a=tuple, unknown_b=tuple, min_snr_db=(int, float))

    def __bool__(self) -> bool:
        return self.first is None

    def __str__(self) -> str:
        return self.why

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for JSON. Raises nothing."""
        return {
            "first": None if self.first is None else self.first.to_dict(),
            "others": [layer.to_dict() for layer in self.others],
            "why": self.why,
            "layers": [layer.to_dict() for layer in self.layers],
            "unknown_a": list(self.unknown_a),
            "unknown_b": list(self.unknown_b),
            "min_snr_db": self.min_snr_db,
        }
