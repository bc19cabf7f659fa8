"""Guess which head outputs can be, by their extents; what extents cannot distinguish is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, counted
from .assigning import MisnamedError, UndistinguishedError, is_hinted, listed, why_unread
from .elements import class_counts
from .families import FAMILIES, QUERIES
from .family import Family
from .fitting import fit
from .head import Boxes, Head
from .other_outputs import other_answers
from .places import Fitted, checked_specs
from .point_families import point_families
from .ranges import scaled_along, span_of
from .records import height_and_width
from .spare_outputs import spare_outputs

_WAYS = 4  # to leave outputs out, that are named
_COCO = 80  # classes: nobody's keypoints are taken for them


class Guess(NamedTuple):
    """What `guess` found.

    head: the one head that fits, or None. why: what says so, or what cannot be distinguished, and what to ask. others:
    the heads that fit, if there are several; with every activation if that is open. First come those at whose parts the
    outputs' names hint, last those that need an angle among the channels of scores alone, which no known export has.
    """

    head: Head | None
    why: str
    others: tuple[Head, ...] = ()


@checked_call
def guess(specs: Iterable[TensorSpec], input_shape: Sequence[int], classes: int | None = None) -> Guess:
    """Return the head that outputs can be.

    Parameters
    ----------
    specs
        TensorSpecs of the outputs, in any order.
    input_shape
        Height and width of the network's input, in pixels.
    classes
        Their number, if it is known: it distinguishes some heads. Rows of detections do not show it: None means 80
        there, and 90 for TFLite's post-process. Where n classes would need an angle among the channels of scores alone,
        heads of n + 1 classes are offered too.

    Returns
    -------
    A Guess. Its head is None if outputs fit no head, or several; if none, others are those that maps fit with other
    strides than the usual ones, or that fit without some outputs, which `why` names. Extents never show whether a head
    needs suppression, or whether the sigmoid is in the graph; the range of stored values does sometimes. Of one map,
    which fits YOLOv2 and much else, it is None unless `classes` is given. If channels may be keypoints, `why` says how
    many. If outputs may be no detector's, it names the call that decodes classes, pixels, text or joints.

    Raises
    ------
    NpuLayoutError
        On what is no spec.

    Examples
    --------
    >>> maps = [TensorSpec((1, n, k, k), "NCHW", "int8", name=f"{n}/{k}") for k in (8, 4, 2) for n in (64, 7)]
    >>> [head.name for head in guess(maps, (64, 64)).others]
    ['yolov8', 'yolov8', 'yolov10', 'yolov10']
    """
    given, size = checked_specs(specs), height_and_width(input_shape)
    known = None if classes is None else counted("classes", classes)
    tried = _all_tried(given, size, known)
    found, pointed = _found(tried, given, size, known)
    shapes = ", ".join(f"{spec.name or f'output {i}'} {spec.shape}" for i, spec in enumerate(given))
    others = other_answers(given, size)
    if not found:
        hint = f"; what decodes such outputs is {others}" if others else ""
        batch = next(
            (spec for spec in given if len(spec.shape) > 2 and spec.axes[0] == "N" and spec.shape[0] != 1), None
        )
        hint += "" if batch is None else f"; a batch of {batch.shape[0]} is decoded image by image"
        hint += "".join(f"; {why}" for why in map(why_unread, given) if why) + _if_channels_are_last(given, size, known)
        why = f"no head that is known fits the outputs {shapes} of an input of {size[0]}x{size[1]}{hint}"
        strides, heads = _of_other_strides(given, size, known)
        if heads:
            words = ", ".join(dict.fromkeys(f"{head.name} of {_classes(head.classes)}" for head in heads))
            why += f" and of the usual strides; with strides={strides} these fit, ask which the network is: {words}"
        else:
            words, heads = _without_some(given, size, known)
            why += words
        return Guess(None, why + _refused(tried), heads)
    fitting = _guessed(found, given, known, others, pointed)
    return fitting._replace(why=fitting.why + _refused(tried))


def _all_tried(given: tuple[TensorSpec, ...], size: tuple[int, int], known: int | None) -> list[_Fit]:
    """Return what `_tried` finds of all families; those of queries count if nothing else fits, or rows alone."""
    tried = list(_tried(given, size, known))
    rows = all(one.fitted is None or one.fitted.form.cells == "rows" for one in tried)
    if rows and ((not tried and len(given) > 1) or known is not None):
        tried += [one for one in _tried(given, size, known, QUERIES) if not tried or one.is_rows_first]
    return tried


def _found(
    tried: Sequence[_Fit], given: tuple[TensorSpec, ...], size: tuple[int, int], known: int | None
) -> tuple[list[_Fit], list[_Fit]]:
    """Return what fits, the likelier first, and what fits beside it if some channels are not scores but keypoints."""
    found = _fitting(tried)
    if known is not None and found and all(one.is_joined for one in found):
        found += _fitting(list(_tried(given, size, known + 1)))
    points = _fitting(list(_tried(given, size, known, tuple(point_families(given, known)))))
    pointed = [one for one in points if one.is_rows_first]
    if not found or known is not None:
        found, pointed = found + pointed, []
    if all(one.classes == _COCO for one in found):
        pointed = []
    return sorted(found, key=lambda one: one.rank(given)), pointed


def _without_some(
    given: tuple[TensorSpec, ...], size: tuple[int, int], known: int | None
) -> tuple[str, tuple[Head, ...]]:
    """Return, in words, what fits without some outputs, as few as possible, and the heads that do; "" if none does."""
    for choices in spare_outputs(given):
        ways, heads = dict[tuple[int, ...], str](), dict[Head, None]()
        for left_out in choices:
            kept = tuple(spec for i, spec in enumerate(given) if i not in left_out)
            found, pointed = _found(_all_tried(kept, size, known), kept, size, known)
            vague = known is None and any(one.is_vague for one in found)
            if not found or vague or any(set(way) < set(left_out) for way in ways) or len(ways) == _WAYS:
                continue
            found += pointed
            fits = "; ".join(dict.fromkeys(f"{one.family.word}, {_classes(one.classes)}" for one in found))
            ways[left_out] = f"without {', '.join(listed(i, given[i]) for i in left_out)} these fit: {fits}"
            guessed = _guessed(found, kept, known, "")
            heads.update(dict.fromkeys(guessed.others or (guessed.head,)))  # type: ignore[arg-type]
        if ways:
            return f"; {'; or '.join(ways.values())}; give the specs of the other outputs alone", tuple(heads)
    return "", ()


def _of_other_strides(
    specs: tuple[TensorSpec, ...], size: tuple[int, int], known: int | None
) -> tuple[tuple[int, ...], tuple[Head, ...]]:
    """Return the strides of maps, and the heads that fit the outputs with these, where boxes and scores are apart."""
    found = set()
    for spec in specs:
        cells = dict(zip(spec.axes, spec.shape))
        steps = {divmod(whole, cells.get(axis, 0) or 1) for axis, whole in zip("HW", size)} if "C" in cells else set()
        found |= {step for step, rest in steps if len(steps) == 1 and not rest and 1 < step < max(size)}
    strides, heads = tuple(sorted(found)), dict[tuple[str, int, Boxes], Head]()
    if len(specs) < 2 or not strides:
        return (), ()
    for family in FAMILIES:
        pattern = family.pattern()
        if pattern.anchors or pattern.priors or pattern.prototypes or pattern.keypoints or any(family.size):
            continue
        for n in sorted(family.counts({extent for spec in specs for extent in spec.shape}, known) - {0}):
            head = replace(family.make(n, "none"), strides=strides) if n > 0 else pattern
            try:
                fitted = fit(head, specs, size, {})
            except LayoutError:
                continue
            places = fitted.levels[0].places
            apart = {"box", "score"} <= places.keys() and places["box"].output != places["score"].output
            if fitted.form.cells == "grid" and apart:
                heads.setdefault((head.name, n, fitted.form.boxes), head)
    return strides, tuple(heads.values())


def _if_channels_are_last(given: tuple[TensorSpec, ...], size: tuple[int, int], known: int | None) -> str:
    """Return what fits if shapes that are said to be NCHW are in the order N, H, W and C, in words; "" if nothing."""
    plain = Layout.of_rank(4)  # of a shape without letters
    turned = tuple(
        TensorSpec.of_storage(spec.shape, "NHWC", spec.dtype, name=spec.name) if spec.layout == plain else spec
        for spec in given
    )
    if turned == given:
        return ""
    words = [f"{one.family.word}, {_classes(one.classes)}" for one in _fitting(list(_tried(turned, size, known)))]
    answers = other_answers(turned, size)
    words += [answers] if answers not in ("", other_answers(given, size)) else []
    how = "if their order is N, H, W, C, say so, TensorSpec.of_storage(shape, 'NHWC')"
    return f"; {how}: then these fit: {'; '.join(words)}" if words else ""


def _refused(tried: Sequence[_Fit]) -> str:
    """Return what heads would fit, if a name that says otherwise misleads."""
    why: dict[str, list[str]] = {}
    for one in tried:
        if one.misnamed:
            why.setdefault(one.misnamed, []).append(f"{one.family.word}, {_classes(one.classes)}")
    return "".join(f"; the outputs would fit {' or '.join(words)}, but {name}" for name, words in why.items())


def _classes(n: int) -> str:
    return f"{n} class{'es' * (n != 1)}"


def _guessed(
    found: Sequence[_Fit],
    given: Sequence[TensorSpec],
    known: int | None,
    others: str,
    pointed: Sequence[_Fit] = (),
) -> Guess:
    """Return what is known of heads that fit: the one, or all with the questions that are open.

    known: the number of classes; others: calls that can decode the outputs too, in words; pointed: what fits if some
    channels are not scores but keypoints.
    """
    heads, questions, reasons = [], [], []
    for one in found:
        family, fitted, n, unclear, _ = one
        acts = family.activations if fitted is None else _activations(family, fitted, given, n)
        units = _units(family, fitted, given)
        heads += [_in_unit(family.make(n, act), unit) for act in acts for unit in units]
        reasons.append(f"{family.word}, {_classes(n)}{' and an angle' * one.is_joined}")
        if one.is_joined:
            questions.append(f"whether those {n + 1} channels are {_classes(n)} and an angle, or {n + 1} classes")
        if unclear:
            questions.append(f"which output is which part (outputs=): {unclear}")
        if family.asked and (family.unsure or others or (known is None and not family.doubted)):
            questions.append(family.asked + f"; what else decodes such outputs is {others}" * bool(others))
        if len(acts) > 1:
            questions.append(f"whether the {acts[-1]} of scores is in the graph (activation=)")
        if len(units) > 1:
            questions.append("whether boxes are in pixels, or the whole input is 1 (unit=)")
    if len(found) > 1:
        questions.insert(0, "which of these the network is: " + "; ".join(reasons))
    if pointed:
        words = "; ".join(f"{one.family.word}, {_classes(one.classes)}" for one in pointed)
        questions.append(f"whether channels are no scores but keypoints (keypoints=, point_values=): {words}")
    if len(heads) == 1 and not questions:
        return Guess(heads[0], reasons[0])
    asked = ", and ".join(dict.fromkeys(questions))
    return Guess(None, f"extents and ranges do not decide, ask {asked}", tuple(heads))


class _Fit(NamedTuple):
    """A family whose head the outputs fit with so many classes; unclear: why `fitted` is not known, "" if it is.

    misnamed: nothing fits, because of this name alone.
    """

    family: Family
    fitted: Fitted | None
    classes: int
    unclear: str = ""
    misnamed: str = ""

    @property
    def is_joined(self) -> bool:
        """Whether the angle of a box is behind its scores in one output, and the box is in another."""
        places = {} if self.fitted is None else self.fitted.levels[0].places
        outputs = [places[role].output for role in ("score", "angle", "box") if role in places]
        return len(outputs) == 3 and outputs[0] == outputs[1] != outputs[2]

    @property
    def is_vague(self) -> bool:
        """Whether any map has the extents of the family, or what fits is one row."""
        row = self.fitted is not None and self.fitted.form.cells == "rows" and self.fitted.levels[0].grid[1] == 1
        return row or (bool(self.family.asked) and not self.family.unsure and not self.family.doubted)

    @property
    def is_rows_first(self) -> bool:
        """Whether rows of detections are before their channels in each output that has both."""
        if self.fitted is None or self.fitted.form.cells != "rows":
            return True
        places = self.fitted.levels[0].places.values()
        return all(place.columns < place.channel or place.part.count == 1 for place in places)

    def rank(self, specs: Sequence[TensorSpec]) -> tuple[bool, int]:
        """Return what sorts the likelier fit first: not joined, and names that hint at the parts of the outputs."""
        levels = () if self.fitted is None else self.fitted.levels
        places = [place for level in levels for place in level.places.values() if place.part.hint]
        return self.is_joined, -sum(is_hinted(place.part, specs[place.output].name) for place in places)


def _fitting(tried: Sequence[_Fit]) -> list[_Fit]:
    """Return each family and number of classes whose head the outputs fit; if none, those that names would decide."""
    every = [one for one in tried if not one.misnamed]
    return [one for one in every if one.fitted is not None] or every


def _tried(
    specs: tuple[TensorSpec, ...], size: tuple[int, int], known: int | None, families: Sequence[Family] = FAMILIES
) -> Iterator[_Fit]:
    extents = {n for spec in specs for n in spec.shape}
    for family in families:
        if (any(family.size) and size != family.size) or _is_of_another(family, specs):
            continue
        counts, labelled = class_counts(family.pattern(), specs, size)
        counts &= family.counts(extents, known)
        if labelled:
            counts |= {family.rows if known is None else known}
        unclear: dict[str, _Fit] = {}  # of rows of detections, the same whatever the number of classes
        for n in sorted(counts - {family.rows}) + [family.rows] * (family.rows in counts):
            head = family.tried(n)
            try:
                fitted = fit(head, specs, size, {})
            except UndistinguishedError as error:
                if not error.spare and (error.ways not in unclear or n == family.rows):
                    unclear[error.ways] = _Fit(family, None, head.classes, error.ways)
                continue
            except MisnamedError as error:
                if error.required:
                    yield _Fit(family, None, head.classes, misnamed=error.why_alone)
                continue
            except LayoutError:
                continue
            outputs, parts = len(_outputs(fitted)), len(fitted.levels[0].places)
            joined = outputs < parts and (family.apart or (fitted.form.cells == "rows" and outputs > 1))
            long = 0 < family.most < fitted.levels[0].grid[1]
            if not _activations(family, fitted, specs, n) or _one_cell(fitted) or joined or long:
                continue
            if known is not None or fitted.form.part("label") is None or n == family.rows:
                yield _Fit(family, fitted, head.classes)
        yield from unclear.values()


def _is_of_another(family: Family, specs: Sequence[TensorSpec]) -> bool:
    """Whether the name of an output has letters of another family."""
    return bool(family.unlike) and any(letters in spec.name for spec in specs for letters in family.unlike.split("|"))


def _outputs(fitted: Fitted) -> set[int]:
    """Return the outputs of the first level."""
    return {place.output for place in fitted.levels[0].places.values()}


def _one_cell(fitted: Fitted) -> bool:
    """Whether the outputs are one map of one cell, as those of a classifier are."""
    return fitted.form.cells == "grid" and [level.grid for level in fitted.levels] == [(1, 1)]


_NORMAL = 2.0  # boxes that are never larger are of an input of 1


def _units(family: Family, fitted: Fitted | None, specs: Sequence[TensorSpec]) -> tuple[str | None, ...]:
    """Return the units of boxes in a list or in rows that their range leaves open; None: as the head says."""
    if fitted is None or not family.units or fitted.form.cells == "grid":
        return (None,)
    level = fitted.levels[0]
    span = span_of(level, level.places["box"], specs[level.places["box"].output])
    return (None, "input") if span is None else ("input",) if span[1] <= _NORMAL else (None,)


def _in_unit(head: Head, unit: str | None) -> Head:
    """Return the head whose lists and rows have boxes in another unit."""
    if unit is None:
        return head
    forms = [replace(f, boxes=replace(f.boxes, unit=unit)) if f.cells != "grid" else f for f in head.forms]
    return replace(head, forms=tuple(forms))


def _activations(family: Family, fitted: Fitted, specs: Sequence[TensorSpec], classes: int) -> tuple[str, ...]:
    """Return the activations that the ranges of the outputs of scores leave open; none: it is another family."""
    if fitted.form.part("label") is not None:
        return ("none",)
    places = [(level, level.places["score"]) for level in fitted.levels]
    spans = [span_of(level, place, specs[place.output]) for level, place in places]
    if any(span is None for span in spans):
        return family.activations
    low = min(span[0] for span in spans if span)
    high = max(span[1] for span in spans if span)
    if low < -0.02 and not 0.9 < high < 1.1 and _is_of_scores(family, fitted, specs, classes):
        return family.activations[1:] or family.activations
    if low >= -0.02 and high < 1.02:
        return family.activations[:1] if family.activations[0] == "none" else ()
    return family.activations


def _is_of_scores(family: Family, fitted: Fitted, specs: Sequence[TensorSpec], classes: int) -> bool:
    """Whether the range of the output of scores is theirs: no part without their activation has the same scale."""
    level = fitted.levels[0]
    score = level.places["score"]
    spec, activation = specs[score.output], family.activations[-1]
    if spec.quantization is not None and spec.quantization.axis is not None:
        return scaled_along(level, score, 0, spec)[0] == "channels"
    form = next(form for form in family.make(classes, activation).forms if form.name == fitted.form.name)
    beside = [place.part.role for place in level.places.values() if place.output == score.output]
    return all(part.activation == activation for part in form.parts if part.role in beside)
