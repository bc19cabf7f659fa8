"""Say in words what a comparison of two dumps found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .layer_orders import StoredAs
from .layer_records import ComparedLayer
from .onnx_graph import GRAPH_INPUT

AllStored = Mapping[str, tuple[StoredAs, StoredAs]]  # of each tensor that was compared, how both dumps store it
_COUNTED = ("int64", "uint64", "bool")  # dtypes of sizes, indices and masks, whose error is no loss
_SUDDEN = 6.0  # dB that a layer loses at once
_EXACT = 60.0  # dB: more is no loss, as between two runs in float32


def worded(layers: Sequence[ComparedLayer], roots: Sequence[ComparedLayer], limit: float, stored: AllStored) -> str:
    """Return the result in a few sentences."""
    compared = [layer for layer in layers if layer.verdict in ("same", "differs")]
    counted = f"{len(compared)} of {len(layers)} tensors of the model are in both dumps"
    agreeing = [layer for layer in compared if layer.verdict == "same"]
    moved = [layer for layer in agreeing if _is_moved(stored[layer.name])]
    if moved:
        counted += f", {len(moved)} of them in another layout"
    undecided = [layer.name for layer in layers if layer.verdict == "undecided"]
    if undecided:
        counted += f". Not compared: {some(undecided)}"
    odd = [
        f"{one.name!r} agrees only if {one.why}, unlike most of the others."
        for one in _in_unusual_order(agreeing, stored)[:3]
    ]
    odd += ["If the dump does not store it so, its axes are really exchanged."] if odd else []
    if not roots:
        return " ".join([f"No layer differs: {counted}.", *_largest_loss(compared, stored), *odd])
    first = roots[0]
    said = [f"The first layer that differs is {first.name!r}{_operator(first)}: {_figures(first, limit)}."]
    if first.skipped:
        were = "was" if len(first.skipped) == 1 else "were"
        said.append(f"The fault may also be in {some(first.skipped)} before it, which {were} not compared.")
    said += _lost_before(first, layers, stored, limit)
    if len(roots) > 1:
        differ = "differs" if len(roots) == 2 else "differ"
        said.append(f"Independently of it, {some([layer.name for layer in roots[1:]])} {differ}.")
    return " ".join([*said, f"{counted}.", *odd])


def _is_moved(stored: tuple[StoredAs, StoredAs]) -> bool:
    """Return whether two dumps store a tensor in different layouts."""
    return stored[0].tag != stored[1].tag


def _in_unusual_order(agreeing: Sequence[ComparedLayer], stored: AllStored) -> list[ComparedLayer]:
    """Return the layers that agree in another order than most tensors of so many axes do.

    They may be stored so, or really be exchanged: one tensor does not show which. If most are stored in another
    layout, blocks and channels last are usual, and an exchange of the other axes is not.
    """
    found = []
    for one in (one for one in agreeing if _is_moved(stored[one.name])):
        alike = [c for c in agreeing if c.shape and one.shape and len(c.shape) == len(one.shape)]
        plain = [c for c in alike if not _is_moved(stored[c.name])]
        if 2 * len(plain) > len(alike) or len({_without_channels(form.tag) for form in stored[one.name]}) > 1:
            found.append(one)
    return found


def _without_channels(tag: str) -> str:
    """Return the axes of a tag but the channels: HW of NHWC and of NCHW16c."""
    return "".join(letter for letter in tag if letter.isupper() and letter != "C")


def _operator(layer: ComparedLayer) -> str:
    return f" ({layer.op}{f', node {layer.node!r}' if layer.node and layer.node != layer.name else ''})"


def _figures(layer: ComparedLayer, limit: float) -> str:
    """Return how far a layer is off, and whether it is its own fault."""
    if layer.snr_db is None:
        return layer.why
    said = f"{layer.snr_db:.1f} dB{f' ({layer.why})' if layer.why else ''}"
    if layer.op == GRAPH_INPUT:
        return f"{said}; the two runs had different inputs"
    if layer.inputs_db is None:
        return f"{said}; none of its inputs was compared"
    if layer.snr_db < limit and layer.inputs_db - layer.snr_db < _SUDDEN:
        return f"{said}, with {layer.inputs_db:.1f} dB at its inputs: the error has grown over the layers before it"
    return f"{said}, with {layer.inputs_db:.1f} dB at its inputs"


def _lost_before(first: ComparedLayer, layers: Sequence[ComparedLayer], stored: AllStored, limit: float) -> list[str]:
    """Return where the error of the first layer that differs comes from: a layer that just passes, or none."""
    if first.snr_db is None or first.inputs_db is None or first.inputs_db - first.snr_db >= _SUDDEN:
        return []
    just = [one for one in layers[: layers.index(first)] if one.snr_db is not None and one.snr_db < limit + _SUDDEN]
    return _largest_loss(just, stored)


def _largest_loss(layers: Sequence[ComparedLayer], stored: AllStored) -> list[str]:
    """Return where the error grows most, as a sentence or none."""
    real = [one for one in layers if one.name in stored and stored[one.name][0].dtype not in _COUNTED]
    known = [(one.inputs_db, one.snr_db, one) for one in real if one.inputs_db is not None and one.snr_db is not None]
    before, after, worst = max(known, key=lambda known: min(known[0], _EXACT) - known[1], default=(0.0, 0.0, None))
    if worst is None or min(before, _EXACT) - after < _SUDDEN:
        return []
    return [f"Most is lost at {worst.name!r}{_operator(worst)}: {before:.1f} to {after:.1f} dB."]


def some(names: Iterable[str], most: int = 4) -> str:
    """Return the first of some names as text."""
    listed = [*names]
    return ", ".join([*map(repr, listed[:most]), *(["..."] if len(listed) > most else [])])
