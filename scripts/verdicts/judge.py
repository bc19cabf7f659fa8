"""Was a verdict right, and its fix? A fix is judged by what it does: what is read, what the network would have seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout.reports import VERDICTS

from .cases import Planted, Truth
from .faults import REFUSALS
from .feeding import apart, feed, saturated
from .second_input import EXCHANGED

NOISE_OF_TWO = 1.1 * 2**0.5  # of channels that are equal in the model, in each other's place, each with its own noise
INPUT = "the recorded input"
_NO_CAUSE = "no known change explains that"
FAILURES = ("accused", "wrong fix", "missed", "refused", "crashed")


class Outcome(NamedTuple):
    """What became of one output of a case.

    `outcome`: "right"; "allowed" (what the data do not decide was refused, or read as well as can be); or one of
    FAILURES: "accused" of a cause that it has not, "wrong fix" of the right cause, "missed" (a match, with a fault
    in it), "refused" (ambiguous or mismatch where the data decide), "crashed".
    """

    case: str
    output: str
    planted: str
    verdict: str
    outcome: str
    says: str
    why: str
    declared_db: float
    true_db: float


def judged(planted: Planted, report: Any) -> list[Outcome]:
    """One outcome for each output."""
    return [_judged(planted, name, truth, report.outputs[name]) for name, truth in planted.truths.items()]


def judged_input(planted: Planted, report: Any) -> list[Outcome]:
    """The outcome of the recorded input, if the frame is recorded. A refusal names no cause, and has no fix."""
    if "frame" not in planted.recording.frames[0].inputs:
        return []
    wanted, found = planted.fault.recorded, report.inputs.get("image")
    verdict, why = ("crashed", str(report.unchecked)) if found is None else (found.verdict, found.why)
    if found is None:
        outcome = "crashed"
    elif verdict == wanted.verdict and wanted.words in why:
        outcome = "right"
    elif found.fix is None and _NO_CAUSE in why:
        outcome = "allowed" if wanted.may_refuse else "refused"
    else:
        outcome = "missed" if verdict == "match" else "accused"
    says = "" if found is None or found.fix is None else f"fix {dict(found.fix)!r}"
    return [Outcome(str(planted.case), INPUT, wanted.verdict, verdict, outcome, says, why, 0.0, 0.0)]


def crashed(planted: Planted, error: BaseException) -> list[Outcome]:
    """The outcomes where validate raised."""
    says = f"{type(error).__name__}: {error}"
    return [_outcome(planted, name, truth, "crashed", "crashed", says, "") for name, truth in planted.truths.items()]


def _outcome(planted: Planted, name: str, truth: Truth, verdict: str, outcome: str, says: str, why: str) -> Outcome:
    kind = planted_class(planted, truth)
    return Outcome(str(planted.case), name, kind, verdict, outcome, says, why, truth.declared_db, truth.true_db)


def planted_class(planted: Planted, truth: Truth) -> str:
    """The row of the confusion matrix."""
    return "untellable" if planted.fault.untellable and truth.planted else truth.cause


def _judged(planted: Planted, name: str, truth: Truth, output: Any) -> Outcome:
    verdict, fix, says = output.verdict, output.fix, ""
    if verdict not in VERDICTS:
        outcome, says = "crashed", f"verdict {verdict!r}"
    elif verdict == truth.cause or verdict in truth.accept:
        says = _fix_error(planted, truth, verdict, fix)
        outcome = "wrong fix" if says else "right" if verdict == truth.cause else "allowed"
    elif verdict == "geometry" and _is_mirrored(truth, output):
        outcome = "right"
    elif verdict in REFUSALS:
        rival, db = planted.rival(name) if truth.planted else ("none", -200.0)
        outcome = "allowed" if db > truth.true_db - 4 else "refused"
        says = f"{rival} explains {db:.1f} dB" if db > -200 else ""
    else:
        outcome = "missed" if verdict == "match" else "accused"
    return _outcome(planted, name, truth, verdict, outcome, says, str(output.why))


def _is_mirrored(truth: Truth, output: Any) -> bool:
    """Whether places in reverse are called a mirrored row, of an output that is read with channels of another axis.

    It is the same: the device's row is the model's from right to left.
    """
    order = None if truth.order is None else list(truth.order)
    reverse = order is not None and len(truth.spec.shape) == 3 and order == sorted(order, reverse=True)
    return reverse and output.channel_axis == 2 and "the maps are mirrored from left to right" in output.why.lower()


def _fix_error(planted: Planted, truth: Truth, verdict: str, fix: Any) -> str:
    """What is wrong with a fix; "" if it is right."""
    if verdict in ("layout", "quantization"):
        return _reading_error(truth, fix)
    if verdict == "channel_order":
        return _order_error(truth, fix)
    if verdict == "preprocessing" and "seen" not in planted.done:
        return _input_error(planted, truth, fix)
    expected: Any = {
        "output_order": planted.names,
        "input_order": EXCHANGED,
        "wrong_input": planted.fault.shift,
    }.get(verdict)
    return "" if fix == expected and type(fix) is type(expected) else f"fix {fix!r}, expected {expected!r}"


def _differs(truth: Truth, read: list[np.ndarray], wanted: list[np.ndarray], noise: np.ndarray) -> str:
    """Where `read` is not `wanted` but for 5 % of a channel's deviation, its noise, or a step; "" if it is."""
    y, r = (np.stack([np.moveaxis(a, 1, 0) for a in arrays], 1) for arrays in (read, wanted))
    y, r = (a.astype(np.float64).reshape(len(a), -1) for a in (y, r))
    scale = 0.0 if truth.spec.quantization is None else np.broadcast_to(truth.spec.quantization.scale, len(r))
    with np.errstate(all="ignore"):
        error = np.sqrt(((y - r) ** 2).mean(1))
        excess = error / np.maximum(np.maximum(0.05 * r.std(1), noise), np.maximum(1.01 * scale, 1e-6))
    worst = int(np.argmax(np.where(np.isfinite(excess), excess, np.inf)))
    if excess[worst] <= 1:
        return ""
    return (
        f"channel {worst} is off by {error[worst]:.4g} (deviation {r.std(1)[worst]:.4g}), {excess[worst]:.1f} too far"
    )


def _reading_error(truth: Truth, fix: Any) -> str:
    if not isinstance(fix, nl.TensorSpec):
        return f"fix {fix!r}, expected a TensorSpec"
    try:
        read = [fix.unpack(buffer.tobytes()) for buffer in truth.buffers]
    except ValueError as error:
        return f"fix {fix!r} cannot read the buffer: {error}"
    if read[0].shape != truth.values[0].shape:
        return f"fix {fix!r} has another shape than {truth.values[0].shape}"
    says = _differs(truth, read, truth.values, truth.noise)
    return says and f"{says}; fix {fix!r}, expected {truth.spec!r}"


def _order_error(truth: Truth, fix: Any) -> str:
    count = truth.spec.shape[1]
    if not isinstance(fix, tuple) or sorted(fix) != list(range(count)):
        return f"fix {fix!r}, expected a permutation of {count} channels"
    expected = tuple(np.argsort(range(count) if truth.order is None else truth.order).tolist())
    wanted, noise = truth.in_model_order(), truth.noise[list(expected)] * NOISE_OF_TWO
    says = _differs(truth, [v[:, list(fix)] for v in truth.values], wanted, noise)
    return says and f"{says}; fix {fix!r}, expected {expected!r}"


def _input_error(planted: Planted, truth: Truth, fix: Any) -> str:
    if not isinstance(fix, Mapping):
        return f"fix {fix!r}, expected Preprocessor arguments"
    arguments = {k: v for k, v in fix.items() if v is not None}
    if "frame" not in planted.recording.frames[0].inputs:
        arguments["resize"] = planted.done["resize"]
    worst = 0.0
    for image, fed in zip(planted.images, planted.fed):
        try:
            seen = feed(planted.model, image, arguments)
        except (ValueError, TypeError) as error:
            return f"fix {fix!r} is none: {error}"
        wanted = fed
        if truth.cut:  # what saturates alike is alike
            seen, wanted = (saturated(x, planted.recording.meta["preprocess"]) for x in (seen, fed))
        worst = max(worst, apart(seen, wanted))
    return "" if worst <= 1 else f"the input is {worst:.1f} times too far off; fix {fix!r}, expected {planted.done!r}"
