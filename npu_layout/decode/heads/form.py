"""Describe one way in which exports deliver a head: the parts of its outputs, and how channels become boxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ...errors import NpuLayoutError
from ...support import check_used, checked_call, flag, one_of, real_number, shown, text_of, whole_numbers
from .box_encodings import ENCODINGS, having
from .records import Record, count_of, items

ROLES = ("box", "score", "objectness", "bound", "keypoints", "coefficients", "label", "count", "angle", "offset")
HINTS = {"score": "cls", "objectness": "obj", "bound": "sum", "angle": "angle"}  # in names of outputs of one channel
ACTIVATIONS = ("none", "sigmoid", "softmax")
ANGLES = ("none", "shifted", "radians")
ACROSS = ("keypoints", "angle", "coefficients")  # parts that one output may have for the cells of all levels
UNITS = ("stride", "pixel", "input")
CELLS = ("grid", "list", "rows")


@checked_call
@dataclass(frozen=True)
class Part(Record):
    """Channels of one anchor of a cell that mean one thing.

    Parameters
    ----------
    role
        "box", "score", "objectness", "bound" (the sum of the scores, which is not read), "keypoints", "coefficients"
        (of masks); if rows are detections already, "label" (the class) and "count" (how many rows are detections);
        "angle" (of turned boxes); "offset" (x and y of a centre in its cell, where the part "box" has sizes alone).
    count
        The number of channels.
    activation
        What the decoder still has to apply: "none" (it is in the graph), "sigmoid", "softmax" over the classes, or, to
        coefficients, "tanh" (YOLACT).
    optional
        Whether outputs may lack the part.
    hint
        Letters that the output's name contains, for parts that extents do not distinguish: "cls" for one, "obj" for the
        other; "a|b" means either. If the letters end in a digit, the name has to end with them.
    across
        Whether one output has the part for the cells of all levels, on one axis, while other parts are maps; only for
        keypoints, the angle and coefficients. Its channels may be two axes: (1, 17, 3, 8400). `Keypoints` says how
        such keypoints are encoded.
    shared
        Whether all anchors of a cell have these channels in common (the classes of Yolo-FastestV2).

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
        How values v, after the part's activation, are a box. Centres are in cells: "cell" is a cell's column and row.

        - "dfl": distances from the cell's centre to the four sides left, top, right, bottom, each the mean of a softmax
          over `bins` (Li et al., Generalized Focal Loss, 2020). "distances": the four distances themselves.
        - "center_power" (YOLOv5, v7): v are sigmoids; centre 2 v - 0.5 + cell, size (2 v)**2 times the anchor.
        - "center_exp" (YOLOX): centre v + cell + `center`, size exp(v) in strides, or with unit "pixel" times the
          anchor.
        - "sigmoid_exp" (YOLOv2 to v4): centre sigmoid(v) + cell + `center`, size exp(v) times the anchor.
        - "variances" (SSD): of a prior with centre c and size s, and `variances` (a, b): centre c + v a s, size
          exp(v b) s. "linear" (MediaPipe): the same centre, size v b s. Without priors, c is the cell's centre and s
          the anchor.
        - "xywh" (centre and size), "xyxy" (edges): decoded already.
        - "tanh_sigmoid" (FastestDet): centre tanh(v) + cell + `center`, size sigmoid(v) times `unit`.
        - "center_size" (CenterNet): two channels, width and height; the centre is the part "offset" + cell, and without
          that part `center` + cell.

        The others that have a centre and a size may have them in two parts, "offset" and "box" (Hailo's YOLOv3 to v5).
    bins
        The number of bins of each side, for "dfl".
    center
        Where in a cell its centre is, in cells: 0.5, or 0 for its corner.
    unit
        The unit of the channels: "stride" (cells), "pixel" or "input" (1 is the whole input).
    variances
        The factors of centre and of size, for "variances" and "linear".
    order
        Which of the four stored numbers (for "dfl": of the four sides) is x or left, y or top, width or right, height
        or bottom: (1, 0, 3, 2) where y comes first.
    angle
        What the part "angle" means, by which boxes are turned from x towards y: "none" (boxes are upright), "shifted"
        ((v - 0.25) pi radians, v from 0 to 1; YOLOv8-OBB's maps), "radians". Boxes of "dfl" and "distances" are turned
        around the cell's centre, others around their own.
    spreads
        For "center_exp" and "sigmoid_exp": a factor for each level, by which a centre moves away from the middle of its
        cell (Darknet's scale_x_y): c = v or sigmoid(v) becomes c spread - (spread - 1) / 2. (): all are 1.

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
        if not known.binned:
            check_used("Boxes: bins", bins, 16, f"on encoding {self.encoding!r}; {having('binned', 'or')} has some")
        self._set(bins=bins, center=center, variances=pair, order=order, spreads=spreads)

    @property
    def channels(self) -> int:
        """The number of channels of one box."""
        known = ENCODINGS[self.encoding]
        return known.numbers * (self.bins if known.binned else 1)


@dataclass(frozen=True)
class Form(Record):
    """One way in which exports deliver a head.

    name: what messages call the form. parts: in the order that they have in an output of several parts. boxes: how the
    part "box" is encoded. cells: "grid": each level has outputs of its own, of height and width input / stride; "list":
    one axis has the cells of all levels, level by level, in a level anchor by anchor, of an anchor row by row; "rows":
    each row is a detection already, with its class as a number. interleaved: on an axis of cells, the anchors of a cell
    follow each other. grouped: an output of several parts has the first part of all anchors, then the second, and so
    on; otherwise all parts of the first anchor, then those of the second. whole: one output of each level has all
    parts, because anchors are counted over the channels of all of them. Raises NpuLayoutError if `boxes` and `parts` do
    not fit each other, and on other words.
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
