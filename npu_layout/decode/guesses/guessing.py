"""Guess which head outputs can be, by their extents; what extents cannot distinguish is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...buffers import TensorSpec
from ...errors import LayoutError
from ...support import checked_call, counted
from ..heads.form import Boxes
from ..heads.head import Head
from ..heads.records import height_and_width
from ..outputs.assigning import listed
from ..outputs.fitting import fit
from ..outputs.input_sizes import MOST, guessing, input_sizes
from ..outputs.output_axes import Size, channels_last, why_unread
from ..outputs.places import Fitted, checked_specs
from .elements import class_counts, counted_outputs, head_elements
from .families import FAMILIES
from .family_fits import (
    FamilyFit,
    Outputs,
    all_tried,
    class_words,
    fitting,
    open_activations,
    open_units,
    rare_fits,
    tried_families,
)
from .other_outputs import other_answers
from .point_families import point_families
from .rare_families import families_of_bins, families_of_parts
from .spare_outputs import spare_outputs

_WAYS = 4  # to leave outputs out, that are named
_COCO = 80  # classes: nobody's keypoints are taken for them


class Guess(NamedTuple):
    """What `guess` found.

    head: the one head that fits, or None. why: the evidence, or what cannot be distinguished and what to find out;
    print(guess) shows it. others: the heads that fit, if there are several, one for each activation if the activation
    is not known. They are ordered: first those whose parts the outputs' names suggest, then those of 80 classes, or of
    people with 17 keypoints; last those with an angle among the channels of scores, which no known export has.
    """

    head: Head | None
    why: str
    others: tuple[Head, ...] = ()

    def __str__(self) -> str:
        return self.why


@checked_call
def guess(specs: Iterable[TensorSpec], input_shape: Sequence[int], classes: int | None = None) -> Guess:
    """Return the head that fits outputs, by their extents, dtypes, quantizations and names.

    Parameters
    ----------
    specs
        TensorSpecs of the outputs, in any order.
    input_shape
        Height and width of the network's input, in pixels.
    classes
        The number of classes, if you know it: it distinguishes some heads. Rows of detections do not show it: for them
        None means 80, or 90 for TFLite's post-process. If a head of n classes fits only with an angle among the
        channels of scores, heads of n + 1 classes are offered too.

    Returns
    -------
    A Guess. Its `head` is None if the outputs fit no head, or several. If they fit none, `why` names the size of the
    input that they fit, and `others` are heads that fit with other strides than the usual ones, or without some
    outputs, which `why` names. Extents never show whether a head needs suppression, or whether the sigmoid is in the
    graph; the range of stored values sometimes does. For a single map, which fits YOLOv2 and much else, `head` is None
    unless `classes` is given. If some channels may be keypoints, `why` says how many. If the outputs may be those of
    another network than a detector, `why` names the call that decodes classes, pixels, text or joints.

    Raises
    ------
    NpuLayoutError
        If `specs` has something else than TensorSpecs, or another argument is wrong.

    Examples
    --------
    >>> maps = [TensorSpec((1, n, k, k), "NCHW", "int8", name=f"{n}/{k}") for k in (8, 4, 2) for n in (64, 7)]
    >>> [head.name for head in guess(maps, (64, 64)).others]
    ['yolov8', 'yolov8', 'yolov10', 'yolov10']
    """
    known = None if classes is None else counted("classes", classes)
    given = Outputs(checked_specs(specs), height_and_width(input_shape), known)
    tried = all_tried(given)
    found, pointed = _found(tried, given)
    if not found:
        return _nothing_fits(given, tried)
    guessed = _guessed(found, given, other_answers(given.specs, given.size), pointed)
    return guessed._replace(why=guessed.why + _refused(tried))


def _nothing_fits(given: Outputs, tried: Sequence[FamilyFit]) -> Guess:
    """Return the guess of outputs that no head fits: what else may be tried, and the heads that then fit."""
    specs, size, _ = given
    shapes = ", ".join(f"{spec.name or f'output {i}'} {spec.shape}" for i, spec in enumerate(specs))
    others = other_answers(specs, size)
    hint = f"; such outputs are decoded by {others}" if others else ""
    batch = next((spec for spec in specs if len(spec.shape) > 2 and spec.axes[0] == "N" and spec.shape[0] != 1), None)
    hint += "" if batch is None else f"; a batch of {batch.shape[0]} is decoded image by image"
    hint += "".join(f"; {why}" for why in map(why_unread, specs) if why) + _if_channels_are_last(given)
    why = f"no known head fits the outputs {shapes} of an input of {size[0]}x{size[1]}"
    strides, heads = _of_other_strides(given)
    if heads:
        words = ", ".join(dict.fromkeys(f"{head.name} of {class_words(head.classes)}" for head in heads))
        why += " and of the usual strides"
        hint += f"; with strides={strides} these fit, find out which the network is: {words}"
    else:
        words, heads = _without_some(given)
        hint += words
    why += _of_other_inputs(given) + hint
    return Guess(None, why + _refused(tried), heads)


def _found(tried: Sequence[FamilyFit], given: Outputs, rare: bool = True) -> tuple[list[FamilyFit], list[FamilyFit]]:
    """Return what fits, the likelier first, and what fits beside it if some channels are not scores but keypoints.

    rare: whether families count that few networks have.
    """
    found, known = fitting(tried), given.classes
    if known is not None and found and all(one.is_joined for one in found):
        found += fitting(list(tried_families(given._replace(classes=known + 1))))
    points = fitting(list(tried_families(given, tuple(point_families(given.specs, known)))))
    points += fitting(rare_fits(given, families_of_parts(*given))) if rare else []
    pointed = [one for one in points if one.is_rows_first]
    if not found or known is not None:
        found, pointed = found + pointed, []
    if all(one.classes == _COCO for one in found):
        pointed = []
    if rare and not found and not pointed:
        found = fitting(rare_fits(given, families_of_bins(*given)))
    return sorted(found, key=lambda one: one.rank(given.specs)), pointed


def _without_some(given: Outputs) -> tuple[str, tuple[Head, ...]]:
    """Return, in words, what fits without some outputs, as few as possible, and the heads that do; "" if none does."""
    for choices in spare_outputs(given.specs):
        ways, heads = dict[tuple[int, ...], str](), dict[Head, None]()
        for left_out in choices:
            kept = given._replace(specs=tuple(spec for i, spec in enumerate(given.specs) if i not in left_out))
            found, pointed = _found(all_tried(kept), kept, rare=False)
            vague = given.classes is None and any(one.is_vague for one in found)
            if not found or vague or any(set(way) < set(left_out) for way in ways) or len(ways) == _WAYS:
                continue
            found += pointed
            fits = "; ".join(dict.fromkeys(one.words for one in found))
            ways[left_out] = f"without {', '.join(listed(i, given.specs[i]) for i in left_out)} these fit: {fits}"
            guessed = _guessed(found, kept, "")
            heads.update(dict.fromkeys(guessed.others or (guessed.head,)))  # type: ignore[arg-type]
        if ways:
            return f"; {'; or '.join(ways.values())}; give the specs of the other outputs alone", tuple(heads)
    return "", ()


def _fitting_sizes(given: Outputs) -> list[Size]:
    """Return other sizes of an input, those that the outputs fit."""
    fit_some = []
    for size in input_sizes(given.specs, given.size):
        other = given._replace(size=size)
        found, _ = _found(all_tried(other), other, rare=False)
        if found and not (given.classes is None and any(one.is_vague for one in found)):
            fit_some.append(size)
    return fit_some


def _of_other_inputs(given: Outputs) -> str:
    """Return, in words, the sizes of an input that the outputs fit; "" if they fit none."""
    fit_some = _fitting_sizes(given)
    if not fit_some:
        return ""
    sizes = " or ".join(f"{rows}x{columns}" for rows, columns in fit_some[:MOST])
    return f"; these outputs fit an input of {sizes}: {guessing(fit_some[0], 'says which heads')}"


def _of_other_strides(given: Outputs) -> tuple[tuple[int, ...], tuple[Head, ...]]:
    """Return the strides of maps, and the heads that fit the outputs with these, where boxes and scores are apart."""
    specs, size, known = given
    found = set()
    for spec in specs:
        cells = dict(zip(spec.axes, spec.shape))
        steps = {divmod(whole, cells.get(axis, 0) or 1) for axis, whole in zip("HW", size)} if "C" in cells else set()
        found |= {step for step, rest in steps if len(steps) == 1 and not rest and 1 < step < max(size)}
    strides, heads = tuple(sorted(found)), dict[tuple[str, int, Boxes], Head]()
    counted = counted_outputs(specs)
    if len(specs) < 2 or not strides:
        return (), ()
    for family in FAMILIES:
        pattern = family.pattern()
        if pattern.anchors or pattern.priors or pattern.prototypes or pattern.keypoints or any(family.size):
            continue
        counts, _ = class_counts(head_elements(replace(pattern, strides=strides), size), counted)
        for n in sorted(counts & family.counts(counted.extents, known)):
            head = replace(family.make(n, "none"), strides=strides)
            try:
                fitted = fit(head, specs, size, {})
            except LayoutError:
                continue
            places = fitted.levels[0].places
            apart = {"box", "score"} <= places.keys() and places["box"].output != places["score"].output
            if fitted.form.cells == "grid" and apart:
                heads.setdefault((head.name, n, fitted.form.boxes), head)
    return strides, tuple(heads.values())


def _if_channels_are_last(given: Outputs) -> str:
    """Return what fits if shapes that are said to be NCHW are in the order N, H, W and C, in words; "" if nothing.

    If nothing does, the one other size of an input that they then fit.
    """
    turned = channels_last(given.specs)
    if turned == given.specs:
        return ""
    last = given._replace(specs=turned)
    words = [one.words for one in fitting(list(tried_families(last)))]
    answers = other_answers(turned, given.size)
    words += [answers] if answers not in ("", other_answers(given.specs, given.size)) else []
    how = "if their order is N, H, W, C, say so, TensorSpec.of_storage(shape, 'NHWC')"
    sizes = [] if words else _fitting_sizes(last)
    if len(sizes) == 1:
        rows, columns = sizes[0]
        return f"; {how}: then they fit an input of {rows}x{columns}, and {guessing(sizes[0], 'says which heads')}"
    return f"; {how}: then these fit: {'; '.join(words)}" if words else ""


def _refused(tried: Sequence[FamilyFit]) -> str:
    """Return what heads would fit, if a name that says otherwise misleads."""
    why: dict[str, list[str]] = {}
    for one in tried:
        if one.misnamed:
            why.setdefault(one.misnamed, []).append(one.words)
    return "".join(f"; the outputs would fit {' or '.join(words)}, but {name}" for name, words in why.items())


def _guessed(found: Sequence[FamilyFit], given: Outputs, others: str, pointed: Sequence[FamilyFit] = ()) -> Guess:
    """Return what is known of heads that fit: the one, or all with the questions that are open.

    others: calls that can decode the outputs too, in words; pointed: what fits if some
    channels are not scores but keypoints.
    """
    heads, questions, reasons = [], [], []
    for one in found:
        family, fitted, n, unclear, _ = one
        acts = family.activations if fitted is None else open_activations(family, fitted, given.specs, n)
        units = open_units(family, fitted, given.specs)
        heads += [_in_unit(family.make(n, act), fitted, unit) for act in acts for unit in units]
        reasons.append(one.words + " and an angle" * one.is_joined)
        if one.is_joined:
            questions.append(f"whether those {n + 1} channels are {class_words(n)} and an angle, or {n + 1} classes")
        if unclear:
            questions.append(f"which output is which part (outputs=): {unclear}")
        if family.asked and (family.unsure or others or (given.classes is None and not family.doubted)):
            questions.append(family.asked + f"; such outputs are also decoded by {others}" * bool(others))
        if len(acts) > 1:
            questions.append(f"whether the {acts[-1]} of scores is in the graph (activation=)")
        if len(units) > 1:
            questions.append("whether boxes are in pixels, or the whole input is 1 (unit=)")
    if len(found) > 1:
        questions.insert(0, "which of these the network is: " + "; ".join(reasons))
    if pointed:
        words = "; ".join(one.words for one in pointed)
        questions.append(f"whether channels are no scores but keypoints (keypoints=, point_values=): {words}")
    if rivals := other_answers(given.specs, given.size, rivals=True):
        questions.append(f"whether the outputs are no head's, but decoded by {rivals}")
    if len(heads) == 1 and not questions:
        return Guess(heads[0], reasons[0])
    asked = ", and ".join(dict.fromkeys(questions))
    return Guess(None, f"extents and ranges do not decide: find out {asked}", tuple(heads))


def _in_unit(head: Head, fitted: Fitted | None, unit: str | None) -> Head:
    """Return the head whose form that fits, a list or rows, has boxes in another unit."""
    if unit is None or fitted is None:
        return head
    name = fitted.form.name
    forms = [replace(f, boxes=replace(f.boxes, unit=unit)) if f.name == name else f for f in head.forms]
    return replace(head, forms=tuple(forms))
