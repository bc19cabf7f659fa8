"""Distinguish a runtime that exchanges red and blue in its graph from an input that was made in the wrong order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ..other_inputs.input_images import FLIPPED, How
from ..other_inputs.preprocessor_fixes import of_pixels
from ..verdicts.verdict import Judgement
from .input_report import InputReport

_ORDERED = ("color", "mean", "std")

Judgements = dict[str, Judgement]
Inputs = dict[str, InputReport]


def runtime_exchanges(
    judgements: Mapping[str, Judgement], inputs: Mapping[str, InputReport], meta: Mapping[str, Any]
) -> tuple[Judgements, Inputs]:
    """Return the judgements and inputs; those on exchanged colours also say what to declare as `channels=`.

    If the outputs are those for red and blue exchanged, and the input, made again from the camera's frame, has them
    exchanged too, then the model gets what is declared, and the runtime converts: both have one cause and one fix. If
    the buffer was not made again or is as declared, the judgement keeps its fix, and its advice names `channels=`.
    """
    declared = meta.get("preprocess") or {}
    color = declared.get("color", "RGB") if isinstance(declared, Mapping) else None
    found = {name: j for name, j in judgements.items() if j.verdict == "preprocessing" and _exchanges(j.fix, declared)}
    if not found or color not in FLIPPED:
        return {**judgements}, {**inputs}
    made = next(iter(inputs.values()), None)
    fix = None if made is None else _conversion(made, declared, next(iter(found.values())).fix)
    if made is None or fix is None:
        advised = {name: j.noted(_advice(made, color)) for name, j in found.items()}
        if made is not None and made and made.spec.channels is None:  # the input cannot be at fault
            advised = {name: j._replace(advice=_given_to_the_runtime(made, color)) for name, j in found.items()}
        return {**judgements, **advised}, {**inputs}
    spec = fix["target"]
    what = f"The buffer of input {made.name!r} contains {spec.channels}, and the runtime exchanges red and blue in its "
    what += f"graph: the model reads {color}, as declared."
    advice = f"Fix: declare the input as TensorSpec(..., channels={spec.channels!r}), as in the fix.{of_pixels(fix)}"
    changed = {name: j._replace(fix=fix, evidence=what, advice=advice) for name, j in found.items()}
    return {**judgements, **changed}, {**inputs, made.name: replace(made, fix=fix, why=f"{what} {advice}")}


def _exchanges(fix: Any, declared: How) -> bool:
    """Return whether a fix is the declared arguments, but for red and blue."""
    if not isinstance(fix, Mapping) or not isinstance(declared, Mapping) or "target" in fix:
        return False
    others = [{k: v for k, v in how.items() if k not in _ORDERED} for how in (fix, declared)]
    return others[0] == others[1] and fix.get("color") == FLIPPED.get(declared.get("color", "RGB"))


def _conversion(made: InputReport, declared: How, by_outputs: How) -> How | None:
    """Return the arguments, and the target's channels, of a runtime that converts; None if that is not what it does.

    by_outputs: the fix that the outputs ask for.
    """
    if made.spec.channels is not None or not _exchanges(made.fix, declared):
        return None
    assert made.fix is not None
    color = declared.get("color", "RGB")
    target = TensorSpec.from_dict({**made.spec.to_dict(), "channels": FLIPPED[color]})
    is_pixels = made.spec.element.unpacked.kind != "f" and made.spec.quantization is None
    # Pixels are normalised by the compiled model, as the outputs show; other inputs were, in the buffer's order.
    of_model = by_outputs if is_pixels else {k: _reversed(v) for k, v in made.fix.items() if k in ("mean", "std")}
    ordered = {k: v for k, v in of_model.items() if k in ("mean", "std") and k in declared}
    return {**declared, **ordered, "target": target}


def _reversed(values: Any) -> Any:
    return values if np.ndim(values) == 0 else list(values)[::-1]


def _given_to_the_runtime(made: InputReport, color: str) -> str:
    """Return what to do if the buffer is as declared."""
    other = FLIPPED[color]
    return (
        f"The input {made.name!r} is as declared. So the runtime exchanges red and blue, and the model reads "
        f"{other}. If it was trained on {other}, declare the input as TensorSpec(..., channels={color!r}) with "
        f"color={other!r}; if on {color}, give the runtime {other}, by channels={other!r} with color={color!r}, or "
        f"turn the exchange off."
    )


def _advice(made: InputReport | None, color: str) -> str:
    """Return what channels= has to do with outputs that are those for red and blue exchanged."""
    other = FLIPPED[color]
    if made is not None and made.spec.channels is not None:
        contains = f"channels={made.spec.channels!r} of the input's TensorSpec"
        return f"Or {contains} is wrong: the runtime does not do what it and color={color!r} declare."
    return (
        "Or the runtime exchanges red and blue of the input in its graph: if it should, declare the buffer's order in "
        f"the input's TensorSpec(..., channels={other!r} or {color!r}), and the other one, the model's, as color."
    )
