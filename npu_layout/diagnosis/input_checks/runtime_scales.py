"""Distinguish a runtime that normalises pixels in its graph, undeclared, from an input that was made wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ..verdicts.verdict import Judgement

_AFFINE = ("mean", "std")


def runtime_normalises(
    judgements: Mapping[str, Judgement], inputs: Mapping[str, TensorSpec], meta: Mapping[str, Any]
) -> dict[str, Judgement]:
    """Return the judgements; one that names a mean and a std for an input of pixels says instead what to declare.

    A recorded integer that is a pixel has not been normalised. If a recorded input has pixels, neither mean nor std is
    declared, and the outputs are those for pixels with both, then the compiled model applies them.

    inputs: the specs of the recorded inputs; meta: the recording's.
    """
    declared = meta.get("preprocess") or {}
    pixels = [name for name, spec in inputs.items() if spec.element.unpacked.kind in "iu" and spec.quantization is None]
    if not isinstance(declared, Mapping) or not pixels or _is_affine(declared):
        return {**judgements}
    found = {name: j for name, j in judgements.items() if j.verdict == "preprocessing" and _normalises(j.fix, declared)}
    return {**judgements, **{name: _advised(j, pixels) for name, j in found.items()}}


def _is_affine(how: Mapping[str, Any]) -> bool:
    """Whether arguments have a mean or a std that changes pixels."""
    return bool(np.any(np.asarray(how.get("mean", 0)) != 0) or np.any(np.asarray(how.get("std", 1)) != 1))


def _normalises(fix: Any, declared: Mapping[str, Any]) -> bool:
    """Whether a fix is the declared arguments, but for mean and std."""
    if not isinstance(fix, Mapping) or "target" in fix or not _is_affine(fix):
        return False
    return _others(fix) == _others(declared)


def _others(how: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in how.items() if k not in _AFFINE}


def _advised(judgement: Judgement, pixels: list[str]) -> Judgement:
    """Return the judgement with what to declare; pixels: the names of the inputs that have them."""
    mean, std = (np.unique(judgement.fix.get(key, default)) for key, default in (("mean", 0), ("std", 1)))
    plain = len(mean) == len(std) == 1 and mean[0] == 0
    formula = f"pixel / {std[0]:g}" if plain else "(pixel - mean) / std, with the mean and the std of the fix"
    which = f"The recorded input {pixels[0]!r} has" if len(pixels) == 1 else "The recorded inputs have"
    return judgement._replace(
        evidence=f"{which} pixels, and the accelerator's model normalises them by itself: the outputs are those for "
        f"{formula}, which is not declared.",
        advice="Fix: if the model reads that, declare it as preprocess=, as in the fix: the buffer stays as it is. If "
        "the model takes pixels, and normalises them in its own graph, it is done twice: leave mean and std out of the "
        "compiler's options.",
    )
