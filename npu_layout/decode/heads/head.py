"""Describe a network's head as a record: what each cell of its outputs says, and how that becomes detections."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...errors import NpuLayoutError
from ...kernels import SCORES
from ...support import checked_call, iterates, real_number, shown, text_of
from .box_encodings import ENCODINGS, having
from .form import Form, Part
from .records import Record, count_of, counts_of, items
from .rules import KINDS, Keypoints, Prototypes, Suppression

LABELS = ("best", "all")
_CLASSES = 1 << 20  # at most


@checked_call
@dataclass(frozen=True)
class Head(Record):
    """What a network's outputs mean, as data. The functions of `npu_layout.decode`, such as `yolov8`, return one.

    Parameters
    ----------
    name
        The network's name, which messages show.
    classes
        The number of classes without the background, at most 1,048,576.
    strides
        For each level the pixels of the input from one cell to the next: (8, 16, 32).
    anchors
        For each level pairs of width and height in pixels, not necessarily as many at all levels; (): no anchors. If
        there are priors, only the number of anchors counts.
    score
        What a detection's score is: "class": that of its class; "objectness": that times the objectness; "root": the
        square root of this product; "weighted": the class's to the power of 0.4 times the objectness to the power of
        0.6 (FastestDet).
    labels
        "best": one detection for each anchor of a cell, of the first class with the largest float32 score; "all": one
        for each class that passes.
    background
        The stored number of the background, which is no class: that of its score, or, where a part "label" has the
        classes as numbers, the number of rows that are no detections. It is left out, and the classes after it are
        numbered from there. None: there is no background.
    keypoints, prototypes, suppression
        See Keypoints, Prototypes and Suppression.
    forms
        The ways in which exports deliver the head; the first one that fits the outputs is used. See Form.
    priors
        Centre x, y, width and height of a prior for each row of a list, or for each anchor of each cell of the maps of
        each level, the whole input being 1; (): cells and anchors say where boxes are.

    Raises NpuLayoutError if the parts of a form do not fit the classes and points, and on other words and numbers.
    """

    name: str
    classes: int
    strides: tuple[int, ...]
    forms: tuple[Form, ...] = field(metadata={"record": Form, "many": True})
    anchors: tuple[tuple[tuple[float, float], ...], ...] = ()
    score: str = "class"
    labels: str = "best"
    background: int | None = None
    keypoints: Keypoints | None = field(default=None, metadata={"record": Keypoints})
    prototypes: Prototypes | None = field(default=None, metadata={"record": Prototypes})
    suppression: Suppression = field(default=Suppression(), metadata={"record": Suppression})
    priors: tuple[tuple[float, ...], ...] = ()
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"score": SCORES, "labels": LABELS}

    def _check(self) -> None:
        text_of("Head: name", self.name)
        strides = counts_of("Head: strides", self.strides)
        anchors = tuple(_level(level) for level in items("Head: anchors", self.anchors))
        if not strides:
            raise NpuLayoutError("Head: strides: expected one for each level, got none")
        if anchors and (len(anchors) != len(strides) or not all(anchors)):
            raise NpuLayoutError(
                f"Head: anchors: expected some for each of {len(strides)} strides, got {[len(a) for a in anchors]}"
            )
        priors = _priors_of(self.priors)
        self._set(classes=count_of("Head: classes", self.classes), strides=strides, anchors=anchors, priors=priors)
        if self.classes > _CLASSES:
            raise NpuLayoutError(f"Head: classes: expected at most {_CLASSES}, got {self.classes}")
        if not self.forms:
            raise NpuLayoutError("Head: forms: expected one or more, got none")
        if self.background is not None:
            background = count_of("Head: background", self.background, 0)
            if background > int(self.classes):
                raise NpuLayoutError(f"Head: background: expected 0 .. {self.classes}, got {background}")
            self._set(background=background)
        for form in self.forms:
            self._check_form(form)

    def _check_peaks(self, form: Form, where: str) -> None:
        """Raise NpuLayoutError if stored scores of neighbours are not in the order of the scores themselves."""
        activation = form.part("score").activation  # type: ignore[union-attr]
        if self.score != "class" or activation == "softmax":
            got = f"score={self.score!r} with activation {activation!r}"
            raise NpuLayoutError(f"{where}: suppression 'peaks' needs score='class' without softmax, got {got}")

    def _check_form(self, form: Form) -> None:
        where = f"Head {self.name!r}, form {form.name!r}"
        stored = 1 if form.part("label") else self.classes + (self.background is not None)
        given = form.part("score").count  # type: ignore[union-attr]
        if given != stored:
            beside = " and background" if self.background is not None else ""
            raise NpuLayoutError(f"{where}: part 'score' has {given} channels, classes{beside} need {stored}")
        kind = KINDS[self.suppression.kind]
        if kind.cells:
            self._check_peaks(form, where)
        if self.score != "class" and form.part("objectness") is None:
            raise NpuLayoutError(f"{where}: score={self.score!r} needs a part 'objectness'")
        coefficients = form.part("coefficients")
        if coefficients is not None and self.prototypes and coefficients.count != self.prototypes.channels:
            got = f"part 'coefficients' has {coefficients.count} channels, prototypes= has {self.prototypes.channels}"
            raise NpuLayoutError(f"{where}: {got}")
        points = form.part("keypoints")
        numbers = self.keypoints.count * self.keypoints.values if self.keypoints else 0
        if points is not None and points.count != numbers:
            raise NpuLayoutError(f"{where}: part 'keypoints' has {points.count} channels, keypoints= has {numbers}")
        known = ENCODINGS[form.boxes.encoding]
        if self.priors and not (known.offset and form.boxes.center == 0.0):
            raise NpuLayoutError(
                f"{where}: priors need boxes of encoding {having('offset', 'or')} with center 0, got {form.boxes}"
            )
        if known.anchored and not self.anchors:
            raise NpuLayoutError(f"{where}: boxes of encoding {form.boxes.encoding!r} need anchors")
        count, spreads = len(self.strides), form.boxes.spreads
        if spreads and len(spreads) != count:
            raise NpuLayoutError(f"{where}: Boxes: spreads: expected one for each of {count} strides, got {spreads}")
        if kind.turned and form.boxes.angle == "none":
            raise NpuLayoutError(
                f"{where}: suppression {self.suppression.kind!r} needs boxes with an angle, got {form.boxes}"
            )

    @property
    def anchors_each(self) -> int:
        """The number of anchors of a cell of the first level; 1 if the head has no anchors."""
        return len(self.anchors[0]) if self.anchors else 1


def scored_background(head: Head, part: Part) -> int | None:
    """Return which channel of the part "score" is the background's; None if none is: labels may have it instead."""
    return head.background if part.count > 1 else None


def _level(given: Any) -> tuple[tuple[float, float], ...]:
    _check_nested(given, "the anchors of a level")
    return tuple(_pair(pair) for pair in items("Head: anchors", given))


def _check_nested(given: Any, place: str) -> None:
    if not iterates(given):
        raise NpuLayoutError(
            f"Head: anchors: expected pairs of width and height for each level, as in [[(10, 13), (16, 30)], "
            f"[(30, 61), (62, 45)]], got {shown(given)} in the place of {place}"
        )


def _pair(given: Any) -> tuple[float, float]:
    _check_nested(given, "a pair")
    width, height = (real_number("Head: anchors", v, 0.0) for v in items("Head: anchors", given, 2))
    return width, height


def _priors_of(given: Any) -> tuple[tuple[float, ...], ...]:
    """Return four floats for each prior; thousands of them are checked at once if they are floats already."""
    priors = items("Head: priors", given)
    plain = all(type(prior) is tuple and len(prior) == 4 for prior in priors)
    numbers: list[Any] = list(itertools.chain.from_iterable(priors)) if plain else [None]
    if set(map(type, numbers)) <= {float} and all(map(math.isfinite, numbers)):
        return priors
    return tuple(tuple(real_number("Head: priors", v) for v in items("Head: priors", prior, 4)) for prior in priors)
