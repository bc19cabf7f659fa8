"""Fit outputs to the heads of every known family, and find what the ranges of their stored values leave open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...buffers import TensorSpec
from ...errors import LayoutError
from ..outputs.assigning import MisnamedError, UndistinguishedError, is_hinted
from ..outputs.fitting import fit
from ..outputs.places import Fitted
from ..outputs.ranges import UNIT_RANGE, scaled_along, span_of
from .elements import class_counts, counted_outputs
from .families import FAMILIES, QUERIES
from .family import Family

_COCO, _COCO_POINTS = 80, 17  # classes, and keypoints of a person
# Scores behind an activation are 0 .. 1; the ends of a quantised range are near these, not exact.
_LEAST_SCORE, _MOST_SCORE = -0.02, 1.02
_NEAR_ONE = (0.9, 1.1)


class Outputs(NamedTuple):
    """Outputs whose head is looked for.

    size: height and width of the network's input in pixels; classes: their number, None if any may be.
    """

    specs: tuple[TensorSpec, ...]
    size: tuple[int, int]
    classes: int | None


class FamilyFit(NamedTuple):
    """A family whose head the outputs fit with so many classes; unclear: why `fitted` is not known, "" if it is.

    misnamed: nothing fits, because of this name alone.
    """

    family: Family
    fitted: Fitted | None
    classes: int
    unclear: str = ""
    misnamed: str = ""

    @property
    def words(self) -> str:
        """The family and its number of classes, as questions name them."""
        return f"{self.family.word}, {class_words(self.classes)}"

    @property
    def is_joined(self) -> bool:
        """Whether the angle of a box is behind its scores in one output, and the box is in another."""
        places = {} if self.fitted is None else self.fitted.levels[0].places
        outputs = [places[role].output for role in ("score", "angle", "box") if role in places]
        return len(outputs) == 3 and outputs[0] == outputs[1] != outputs[2]

    @property
    def is_mixed(self) -> bool:
        """Whether some parts of a level are in one output, and others beside it."""
        places = {} if self.fitted is None else self.fitted.levels[0].places
        return 1 < len({place.output for place in places.values()}) < len(places)

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

    def rank(self, specs: Sequence[TensorSpec]) -> tuple[bool, int, bool]:
        """Return what sorts the likelier fit first: not joined, and names that hint at the parts of the outputs.

        Then come COCO's 80 classes, those that rows would have, and people, one class with COCO's 17 keypoints:
        what most networks are trained for.
        """
        levels = () if self.fitted is None else self.fitted.levels
        places = [place for level in levels for place in level.places.values() if place.part.hint]
        hints = sum(is_hinted(place.part, specs[place.output].name) for place in places)
        points = self.family.pattern().keypoints
        is_people = self.classes == 1 and points is not None and points.count == _COCO_POINTS
        return self.is_joined, -hints, not (is_people or self.classes in (self.family.rows, _COCO))


def class_words(n: int) -> str:
    """Return a number of classes in words: "1 class", "80 classes"."""
    return f"{n} class{'es' * (n != 1)}"


def all_tried(given: Outputs) -> list[FamilyFit]:
    """Return what outputs fit of all families; those of queries count if nothing else fits, or rows alone."""
    tried = list(tried_families(given))
    rows = all(one.fitted is None or one.fitted.form.cells == "rows" for one in tried)
    if rows and ((not tried and len(given.specs) > 1) or given.classes is not None):
        tried += [one for one in tried_families(given, QUERIES) if not tried or one.is_rows_first]
    elif rows and not tried:  # ultralytics' RT-DETR; of others it could be any text
        tried += tried_families(given._replace(classes=_COCO), QUERIES[:1])
    return tried


def fitting(tried: Sequence[FamilyFit]) -> list[FamilyFit]:
    """Return each family and number of classes whose head the outputs fit; if none, those that names would decide."""
    every = [one for one in tried if not one.misnamed]
    return [one for one in every if one.fitted is not None] or every


def tried_families(given: Outputs, families: Sequence[Family] = FAMILIES) -> Iterator[FamilyFit]:
    """Yield what outputs fit of some families, and what they would fit but for a name, or if names said more."""
    specs, size, known = given
    counted = counted_outputs(specs)
    for family in families:
        if (any(family.size) and size != family.size) or _is_of_another(family, specs):
            continue
        counts, labelled = class_counts(family.elements(size), counted)
        if counts:
            counts &= family.counts(counted.extents, known)
        if labelled:
            counts |= {family.rows if known is None else known}
        unclear: dict[str, FamilyFit] = {}  # of rows of detections, the same whatever the number of classes
        for n in sorted(counts - {family.rows}) + [family.rows] * (family.rows in counts):
            head = family.tried(n)
            try:
                fitted = fit(head, specs, size, {})
            except UndistinguishedError as error:
                if not error.spare and (error.ways not in unclear or n == family.rows):
                    unclear[error.ways] = FamilyFit(family, None, head.classes, error.ways)
                continue
            except MisnamedError as error:
                if error.required:
                    yield FamilyFit(family, None, head.classes, misnamed=error.why_alone)
                continue
            except LayoutError:
                continue
            shows_classes = fitted.form.part("label") is None
            if _is_of_family(family, fitted, specs, n) and (known is not None or shows_classes or n == family.rows):
                yield FamilyFit(family, fitted, head.classes)
        yield from unclear.values()


def rare_fits(given: Outputs, families: Iterable[Family]) -> list[FamilyFit]:
    """Return what outputs fit of families that few networks have: their parts are apart, or all of them together."""
    return [one for one in tried_families(given, tuple(families)) if not one.is_mixed]


def _is_of_family(family: Family, fitted: Fitted, specs: Sequence[TensorSpec], n: int) -> bool:
    """Whether outputs that fit a head of a family are as its exports are: how many, how long, and their ranges."""
    outputs, parts = len(_outputs(fitted)), len(fitted.levels[0].places)
    rows = fitted.form.cells == "rows" and not _has_named_labels(fitted, specs)
    is_joined = outputs < parts and (family.apart or (rows and outputs > 1))
    is_longer = 0 < family.most < fitted.levels[0].grid[1]
    return not (is_joined or is_longer or _one_cell(fitted)) and bool(open_activations(family, fitted, specs, n))


def _is_of_another(family: Family, specs: Sequence[TensorSpec]) -> bool:
    """Whether a name has letters of another family, or none those of this one, or rows are counted as in another."""
    if family.single not in (None, _has_single_count(specs)):
        return True
    return _in_names(family.unlike, specs) or (bool(family.like) and not _in_names(family.like, specs))


def _has_single_count(specs: Sequence[TensorSpec]) -> bool:
    """Whether outputs are floats, of which one is a number (1,) beside boxes (1, n, 4).

    TFLite's operator writes these (tensorflow/lite/kernels/detection_postprocess.cc), and so does TensorFlow's own
    graph (tensorflow/models, research/object_detection/exporter.py). TensorRT's EfficientNMS writes int32 (1, 1) and
    classes of int32 (NVIDIA/TensorRT, plugin/efficientNMSPlugin/README.md).
    """
    shapes = [tuple(spec.shape) for spec in specs]
    return (1,) in shapes and max(map(len, shapes)) == 3 and all(s.element.unpacked.kind == "f" for s in specs)


def _in_names(letters: str, specs: Sequence[TensorSpec]) -> bool:
    """Whether the name of an output has some letters: "a|b", one or the other; "": no name has."""
    return bool(letters) and any(some in spec.name for spec in specs for some in letters.split("|"))


def _outputs(fitted: Fitted) -> set[int]:
    """Return the outputs of the first level."""
    return {place.output for place in fitted.levels[0].places.values()}


def _has_named_labels(fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether classes are an output of their own, whose name says so, as MMDeploy's "labels" beside "dets"."""
    places = fitted.levels[0].places
    label = places.get("label")
    alone = label is not None and sum(place.output == label.output for place in places.values()) == 1
    return label is not None and alone and is_hinted(replace(label.part, hint="label|class"), specs[label.output].name)


def _one_cell(fitted: Fitted) -> bool:
    """Whether the outputs are one map of one cell, as those of a classifier are."""
    return fitted.form.cells == "grid" and [level.grid for level in fitted.levels] == [(1, 1)]


def open_units(family: Family, fitted: Fitted | None, specs: Sequence[TensorSpec]) -> tuple[str | None, ...]:
    """Return the units of boxes in a list or in rows that their range leaves open; None: as the head says.

    Without a range, boxes that the head has in pixels may be of an input of 1; queries are of an input of 1.
    """
    if fitted is None or not family.units or fitted.form.cells == "grid":
        return (None,)
    level = fitted.levels[0]
    span = span_of(level, level.places["box"], specs[level.places["box"].output])
    own = fitted.form.boxes.unit
    if own == "stride":  # encoded as in maps
        return (None,)
    if span is None:
        return (None, "input") if own == "pixel" else (None,)
    unit = "input" if span[1] <= UNIT_RANGE else "pixel"
    return (None if unit == own else unit,)


def open_activations(family: Family, fitted: Fitted, specs: Sequence[TensorSpec], classes: int) -> tuple[str, ...]:
    """Return the activations that the ranges of the outputs of scores leave open; none: it is another family."""
    if fitted.form.part("label") is not None:
        return ("none",)
    places = [(level, level.places["score"]) for level in fitted.levels]
    spans = [span_of(level, place, specs[place.output]) for level, place in places]
    if any(span is None for span in spans):
        return family.activations
    low = min(span[0] for span in spans if span)
    high = max(span[1] for span in spans if span)
    near_one = _NEAR_ONE[0] < high < _NEAR_ONE[1]
    if low < _LEAST_SCORE and not near_one and _is_of_scores(family, fitted, specs, classes):
        return family.activations[1:] or family.activations
    if low >= _LEAST_SCORE and high < _MOST_SCORE:
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
