"""Describe a network's head as a record: what each cell of its outputs says, and how that becomes detections."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import NpuLayoutError
from ..support import checked_call, flag, iterates, one_of, real_number, shown, text_of, whole_numbers
from .box_encodings import ENCODINGS, having
from .records import Record, count_of, counts_of, items
from .rules import Keypoints, Prototypes, Suppression

ROLES = ("box", "score", "objectness", "bound", "keypoints", "coefficients", "label", "count", "angle", "offset")
HINTS = {"score": "cls", "objectness": "obj", "bound": "sum", "angle": "angle"}  # in names of outputs of one channel
ACTIVATIONS = ("none", "sigmoid", "softmax")
ANGLES = ("none", "shifted", "radians")
ACROSS = ("keypoints", "angle", "coefficients")  # parts that one output may have for the cells of all levels
UNITS = ("stride", "pixel", "input")
CELLS = ("grid", "list", "rows")
RULES = ("class", "objectness", "root", "weighted")
LABELS = ("best", "all")


@checked_call
@dataclass(frozen=True)
class Part(Record):
    """Channels of one anchor of a cell that mean one thing.

    Parameters
    ----------
    role
        "box", "score", "objectness", "bound" (a sum of scores, which is not read), "keypoints", "coefficients" (of
        masks); of rows that are detections already "label" (the class) and "count" (how many rows are detections);
        "angle" (of turned boxes); "offset" (of a centre in its cell, x and y, beside boxes that are sizes).
    count
        Channels.
    activation
        What the decoder still has to apply: "none" (it is in the graph), "sigmoid", "softmax" over the classes, or, to
        coefficients, "tanh" (YOLACT).
    optional
        Outputs may lack it.
    hint
        Some letters in the output's name, for parts that extents do not distinguish: "cls" beside "obj"; "a|b": one or
        the other. If they end in a digit, the name ends with them.
    across
        One output has keypoints, the angle or coefficients for the cells of all levels, on one axis, while other parts
        are maps. Its channels may be two axes: (1, 17, 3, 8400). `Keypoints` says what keypoints of it are.
    shared
        All anchors of a cell have the same channels (the classes of Yolo-FastestV2).

    Raises NpuLayoutError on other words and counts.
    """

    role: str
    count: int
    activation: str = "none"
    optional: bool = False
    hint: str = ""
    across: bool = False
    shared: bool = False

    _words: ClassVar[dict[str, tuple[str, ...]]] = {"role": ROLES, "activation": (*ACTIVATIONS, "tanh")}

    def _check(self) -> None:
        count, optional = count_of(f"Part {self.role!r}: count", self.count), flag("Part: optional", self.optional)
        text_of("Part: hint", self.hint)
        flag("Part: shared", self.shared)
        if self.activation == "tanh" and self.role != "coefficients":
            raise NpuLayoutError(f"Part {self.role!r}: activation: 'tanh' is of 'coefficients' alone")
        if flag("Part: across", self.across) and self.role not in ACROSS:
            raise NpuLayoutError(f"Part {self.role!r}: across: only {', '.join(ACROSS)} can be stored across levels")
        self._set(count=count, optional=optional)


@checked_call
@dataclass(frozen=True)
class Boxes(Record):
    """How channels become the edges of a box.

    Parameters
    ----------
    encoding
        "dfl": four sides left, top, right, bottom, each the mean of a softmax over `bins`, from the cell's centre (Li
        et al., Generalized Focal Loss, 2020). "distances": the four sides themselves. "center_power" (YOLOv5, v7):
        sigmoids s, centre 2 s - 0.5 + cell, size (2 s)**2 anchor. "center_exp" (YOLOX): centre v + cell, size exp(v)
        strides; unit "pixel": times the anchor. "sigmoid_exp" (YOLOv2 to v4): centre sigmoid(v) + cell, size exp(v)
        anchor. "variances" (SSD): offsets from a prior, and exp of sizes, times
        `variances`; "linear" (MediaPipe): the same without exp. "xywh"
        (centre and size), "xyxy" (edges): decoded already. "tanh_sigmoid" (FastestDet): centre tanh(v) + cell, size
        sigmoid(v) times `unit`. "center_size" (CenterNet): width and height, of two
        channels; the centre is the part "offset" + cell, and without that part `center` + cell. Others that have a
        centre and a size may have them in a part each, "offset" and "box" (Hailo's YOLOv3 to v5).
    bins
        Of each side of "dfl".
    center
        Where in a cell its centre is, in cells: 0.5, or 0 for its corner.
    unit
        Of the channels: "stride" (cells), "pixel" or "input" (1 is the whole input).
    variances
        Of centre and size.
    order
        Which of the four stored numbers (for "dfl": of the four sides) is x or left, y or top, width or right, height
        or bottom: (1, 0, 3, 2) where y comes first.
    angle
        What the part "angle" means, by which boxes are turned from x towards y: "none" (boxes are upright), "shifted"
        ((v - 0.25) pi radians, v from 0 to 1; YOLOv8-OBB's maps), "radians". Boxes of "dfl" and "distances" are turned
        around the cell's centre, others around their own.
    spreads
        Of "center_exp" and "sigmoid_exp", factors of each level by which a centre moves from the middle of its cell
        (Darknet's scale_x_y): c = v or sigmoid(v) becomes c spread - (spread - 1) / 2. (): 1.

    Raises NpuLayoutError on other words and numbers.
    """

    encoding: str = "dfl"
    bins: int = 16
    center: float = 0.5
    unit: str = "stride"
    variances: tuple[float, float] = (0.1, 0.2)
    order: tuple[int, ...] = (0, 1, 2, 3)
    angle: str = "none"
    spreads: tuple[float, ...] = ()
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"encoding": tuple(ENCODINGS), "unit": UNITS, "angle": ANGLES}

    def _check(self) -> None:
        pair = tuple(real_number("Boxes: variances", v, 0.0) for v in items("Boxes: variances", self.variances, 2))
        center = real_number("Boxes: center", self.center)
        order = whole_numbers("Boxes: order", self.order, 4, 0)
        if sorted(order) != [0, 1, 2, 3]:
            raise NpuLayoutError(f"Boxes: order: expected 0, 1, 2 and 3 in any order, got {shown(order)}")
        known = ENCODINGS[self.encoding]
        if known.numbers == 2 and order != (0, 1, 2, 3):
            raise NpuLayoutError(f"Boxes: order: {self.encoding!r} has two numbers and no order, got {order}")
        spreads = tuple(real_number("Boxes: spreads", v, 0.0) for v in items("Boxes: spreads", self.spreads))
        if spreads and not known.spread:
            some = having("spread")
            raise NpuLayoutError(f"Boxes: spreads: {some} have some, {self.encoding!r} has none, got {spreads}")
        if self.encoding == "center_exp" and self.unit == "input":
            why = "'center_exp' has sizes in 'stride' or, times the anchor, in 'pixel'"
            raise NpuLayoutError(f"Boxes: unit: {why}, got {self.unit!r}")
        bins = count_of("Boxes: bins", self.bins)
        self._set(bins=bins, center=center, variances=pair, order=order, spreads=spreads)

    @property
    def channels(self) -> int:
        """Channels of one box."""
        known = ENCODINGS[self.encoding]
        return known.numbers * (self.bins if known.binned else 1)


@dataclass(frozen=True)
class Form(Record):
    """One way in which exports deliver a head: its parts, in the order in which one output has several of them.

    cells: "grid": each level has outputs of its own, of height and width input / stride; "list": one axis has the cells
    of all levels, one after the other, of each level anchor by anchor, row by row; "rows": each row is a detection
    already, with its class as a number. interleaved: on an axis of cells, the anchors of one cell follow each other.
    grouped: an output of several parts has each part of all anchors, then the next, and not all parts of an anchor,
    then those of the next. whole: one output of each level has all parts, because anchors are counted over the channels
    of all of them. Raises NpuLayoutError if `boxes` and `parts` do not fit each other, and on other words.
    `name` is what messages call it.
    """

    name: str
    parts: tuple[Part, ...] = field(metadata={"record": Part, "many": True})
    boxes: Boxes = field(default=Boxes(), metadata={"record": Boxes})
    cells: str = "grid"
    interleaved: bool = False
    grouped: bool = False
    whole: bool = False
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"cells": CELLS}

    def _check(self) -> None:
        text_of("Form: name", self.name)
        flag("Form: interleaved", self.interleaved)
        flag("Form: whole", self.whole)
        grouped = flag("Form: grouped", self.grouped)
        if any(part.shared for part in self.parts) and not grouped:
            raise NpuLayoutError(f"Form {self.name!r}: grouped: parts that anchors share need True, got {self.grouped}")
        roles = [part.role for part in self.parts]
        for role in ("box", "score"):
            if roles.count(role) != 1:
                raise NpuLayoutError(
                    f"Form {self.name!r}: parts: expected one {role!r}, got {', '.join(roles) or 'none'}"
                )
        if len(set(roles)) != len(roles):
            raise NpuLayoutError(f"Form {self.name!r}: parts: expected each role once, got {', '.join(roles)}")
        apart, stored = self.part("offset") is not None, self.part("box").count  # type: ignore[union-attr]
        known = ENCODINGS[self.boxes.encoding]
        splits = known.split and self.boxes.order == (0, 1, 2, 3)
        if stored != (2 if apart and splits else self.boxes.channels):
            raise NpuLayoutError(
                f"Form {self.name!r}: a box of encoding {self.boxes.encoding!r} has {self.boxes.channels} channels"
                f"{', or 2 beside its offset' * splits}, its part has {stored}"
            )
        self._check_beside("angle", 1, self.boxes.angle != "none", True)
        self._check_beside("offset", 2, known.numbers == 2 or splits, False)

    def _check_beside(self, role: str, count: int, known: bool, needed: bool) -> None:
        """Raise NpuLayoutError if the part is not as the boxes say: of `count` channels, allowed, needed."""
        part = self.part(role)
        absent = part is None or (needed and part.optional)
        if (absent and known and needed) or (part is not None and (not known or part.count != count)):
            got = "none" if part is None else f"one of {part.count} channels{', optional' * part.optional}"
            expected = f"a part {role!r} of {count} channels" if known else f"no part {role!r}"
            raise NpuLayoutError(f"Form {self.name!r}: boxes {self.boxes} need {expected}, got {got}")

    def part(self, role: str) -> Part | None:
        """Return the part of a role, or None; NpuLayoutError on what is no role."""
        one_of("role", role, ROLES)
        return next((part for part in self.parts if part.role == role), None)


@checked_call
@dataclass(frozen=True)
class Head(Record):
    """What a network's outputs mean, as data; a network is a row of `npu_layout.decode.networks`.

    Parameters
    ----------
    name
        Of the network.
    classes
        Their number.
    strides
        Pixels of the input from one cell to the next, a level each: (8, 16, 32).
    anchors
        Width and height in pixels, some for each level, not as many at all levels; () : no anchors. Beside priors their
        number alone counts.
    score
        "class": the class's own; "objectness": times objectness; "root": the square root of that product; "weighted":
        the class's to the power of 0.4 times objectness to the power of 0.6 (FastestDet).
    labels
        "best": one detection for each cell, the first class with the largest float32; "all": one for each class.
    background
        The number of the class that is none; it is left out, and classes behind it count from there. None: there is no
        such class.
    keypoints, prototypes, suppression, forms
        See Keypoints, Prototypes, Suppression and Form. Of the forms, the first one that outputs fit is used.
    priors
        Centre x, y, width and height of a prior for each row of a list, or for each anchor of each cell of the maps of
        each level, the whole input being 1; () : cells and anchors say where boxes are.

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
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"score": RULES, "labels": LABELS}

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
        if self.suppression.kind == "peaks":
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
        if self.suppression.kind in ("probiou", "polygons") and form.boxes.angle == "none":
            raise NpuLayoutError(
                f"{where}: suppression {self.suppression.kind!r} needs boxes with an angle, got {form.boxes}"
            )

    @property
    def anchors_each(self) -> int:
        """Anchors of each cell of the first level, 1 where there are none."""
        return len(self.anchors[0]) if self.anchors else 1


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
