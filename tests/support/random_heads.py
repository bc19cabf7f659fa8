"""Heads of random records, outputs that fit them, and random buffers: for what every backend has to decode alike."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.heads.box_encodings import ENCODINGS
from npu_layout.decode.heads.form import UNITS
from npu_layout.decode.heads.rules import POINTS
from npu_layout.kernels import SCORES

LAYOUTS = ("NCHW", "NHWC", "NCHW4c", "NCHW16c", "NCHW32c", "NHWC8c", "CHWN", "NHCW")
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")
RARE = ("float64", "int64", "uint32", "int4", "uint4", "bool")
_SHARES = (("sigmoid_exp", "stride"), ("center_exp", "pixel"))  # boxes whose cells are equal shares of the input
_ANCHORED, _SPREAD = ("center_power", "sigmoid_exp"), ("center_exp", "sigmoid_exp")


class Case(NamedTuple):
    """A head, the specs of its outputs, the input's height and width, and which outputs are which part."""

    head: decode.Head
    specs: list[nl.TensorSpec]
    size: tuple[int, int]
    outputs: dict[str, list[str]]


def case(choose: random.Random) -> Case:
    strides = tuple(choose.sample((4, 8, 16, 32), choose.randrange(1, 4)))
    size = choose.choice((16, 32, 33, 48)), choose.choice((16, 32, 40, 64))
    encoding, many = choose.choice(tuple(ENCODINGS)), choose.choice((1, 1, 2, 3))
    anchored = many > 1 or encoding in _ANCHORED
    pairs = [[(choose.uniform(2, 40), choose.uniform(2, 40)) for _ in range(many)] for _ in strides]
    classes, activation = choose.choice((1, 2, 3, 5, 17)), choose.choice(("none", "sigmoid", "softmax"))
    background = choose.choice((None, None, 0, classes, classes // 2))
    score, angle = choose.choice(("class", "class", *SCORES[1:])), choose.choice(("none", "none", "shifted"))
    boxes = _boxes(choose, encoding, angle, len(strides))
    if (boxes.encoding, boxes.unit) in _SHARES:
        size = -(-size[0] // max(strides)) * max(strides), -(-size[1] // max(strides)) * max(strides)
    parts, points = _parts(choose, boxes, classes + (background is not None), activation, score)
    grid, interleaved = choose.random() < 0.7, choose.random() < 0.5
    form = decode.Form("any", tuple(parts), boxes, "grid" if grid else "list", not grid and interleaved)
    head = decode.Head(
        "any", classes, strides, (form,), pairs if anchored else (), score, choose.choice(("best", "all")), background,
        points, None, _suppression(choose, angle, score == "class" and activation != "softmax"),
    )  # fmt: skip
    specs, outputs = _specs(choose, head, size, many if anchored else 1)
    choose.shuffle(specs)
    return Case(head, specs, size, outputs)


def _boxes(choose: random.Random, encoding: str, angle: str, levels: int) -> decode.Boxes:
    spread = encoding in _SPREAD and choose.random() < 0.6
    turned = encoding != "center_size" and choose.random() < 0.2
    return decode.Boxes(
        encoding,
        choose.choice((1, 2, 8, 16)) if encoding == "dfl" else 16,
        choose.choice((0.0, 0.5)),
        choose.choice(UNITS[:2] if encoding == "center_exp" else UNITS),
        (choose.choice((0.1, 1.0)), 0.2),
        tuple(choose.sample(range(4), 4)) if turned else (0, 1, 2, 3),
        angle,
        tuple(choose.choice((1.0, 1.2, 2.0)) for _ in range(levels)) if spread else (),
    )


def _parts(
    choose: random.Random, boxes: decode.Boxes, scores: int, activation: str, rule: str
) -> tuple[list[decode.Part], decode.Keypoints | None]:
    single = ("none", "sigmoid")
    parts = [
        decode.Part("box", boxes.channels, "none" if boxes.encoding == "dfl" else choose.choice(single)),
        decode.Part("score", scores, activation),
    ]
    if rule != "class":
        parts.append(decode.Part("objectness", 1, choose.choice(single)))
    points = None
    if choose.random() < 0.4:
        points = decode.Keypoints(choose.choice((1, 5)), choose.choice((2, 3)), choose.choice(POINTS), "sigmoid")
        points = dataclasses.replace(points, order=choose.choice(("xy", "xy", "yx", "apart")))
        parts.append(decode.Part("keypoints", points.count * points.values))
    if boxes.angle != "none":
        parts.append(decode.Part("angle", 1, choose.choice(single)))
    if boxes.encoding == "center_size" and choose.random() < 0.7:
        parts.append(decode.Part("offset", 2, choose.choice(single)))
    return parts, points


def _suppression(choose: random.Random, angle: str, ordered: bool) -> decode.Suppression:
    kinds = ("greedy", "greedy", "none", *("peaks",) * ordered, *("probiou", "polygons") * (angle != "none"))
    kind = choose.choice(kinds)
    options: dict[str, Any] = {}
    if kind in ("greedy", "probiou", "polygons"):
        options = {"per_class": choose.random() < 0.6, "inclusive": choose.random() < 0.5}
    if kind == "greedy":
        options |= {"extra": choose.choice((0.0, 1.0)), "epsilon": choose.choice((0.0, 1e-6))}
    return decode.Suppression(kind, **options)


def _specs(
    choose: random.Random, head: decode.Head, size: tuple[int, int], many: int
) -> tuple[list[nl.TensorSpec], dict[str, list[str]]]:
    form, specs, outputs = head.forms[0], [], {}
    grids = [(-(-size[0] // s), -(-size[1] // s)) for s in head.strides]
    together = choose.random() < 0.4
    for group in [list(form.parts)] if together else [[part] for part in form.parts]:
        name, channels = "+".join(part.role for part in group), sum(part.count for part in group)
        if form.cells == "grid":
            names = [f"{name}/{s}" for s in head.strides]
            layout, dtype = choose.choice(LAYOUTS), _dtype(choose)
            for each, grid in zip(names, grids):
                specs.append(nl.TensorSpec((1, channels * many, *grid), nl.Layout(layout), dtype, name=each))
        else:
            names, cells = [name], many * sum(h * w for h, w in grids)
            shape = (1, channels, cells) if choose.random() < 0.5 else (1, cells, channels)
            specs.append(nl.TensorSpec(shape, "NCW", _dtype(choose), name=name))
        outputs.update({part.role: names for part in group})
    return [_quantized(choose, spec) for spec in specs], outputs


def _dtype(choose: random.Random) -> str:
    return choose.choice(RARE if choose.random() < 0.1 else DTYPES)


def _quantized(choose: random.Random, spec: nl.TensorSpec) -> nl.TensorSpec:
    """The spec with one scale, one for each index of an axis, or none."""
    if spec.dtype in ("float16", "bfloat16", "float32", "float64", "bool") or choose.random() < 0.15:
        return spec
    bits = 4 if spec.dtype.endswith("int4") else 8 * spec.stored.itemsize

    def numbers() -> tuple[float, float]:
        zero = choose.choice((0, 3, 0.5, 7)) if bits == 4 else choose.choice((0, 0, 3, 0.5, 100))
        return choose.choice((8.0, 16.0, 2.0)) / 2.0 ** min(bits, 32), zero

    if choose.random() < 0.6:
        return spec.replace(quantization=nl.Quantization(*numbers()))
    axis = choose.randrange(len(spec.shape))
    each = [numbers() for _ in range(spec.shape[axis])]
    scales, zeros = zip(*(each if choose.random() < 0.7 else each[:1] * len(each)))
    return spec.replace(quantization=nl.Quantization(list(scales), list(zeros), axis=axis))


def buffer_of(choose: random.Random, spec: nl.TensorSpec) -> np.ndarray:
    """Random elements: many equal ones, some that are no numbers; of wide integers those that are one float32."""
    rng = np.random.default_rng(choose.randrange(1 << 30))
    kind, some = spec.stored, choose.random()
    if kind.kind == "f" or spec.dtype == "bfloat16":
        real = rng.normal(0, choose.choice((0.5, 2, 6)), spec.shape)
        real = np.round(real * 2) / 2 if some < 0.4 else real
        if some < 0.25:
            odd = rng.random(spec.shape)
            for at, value in enumerate((np.nan, np.inf, -np.inf, -0.0)):
                real[(odd > at * 0.02) & (odd < at * 0.02 + 0.02)] = value
        with np.errstate(over="ignore"):
            return np.array(spec.pack(real.astype(np.float64 if spec.dtype == "float64" else np.float32)))
    if spec.dtype == "bool":
        return rng.integers(0, 2, spec.nbytes).astype(bool)
    if some < 0.3:
        return (rng.integers(0, 3, spec.nbytes) * choose.choice((1, 37, 85))).astype(np.uint8).view(kind)
    if kind.itemsize >= 4 and some < 0.8:
        middle = (int(np.iinfo(kind).min) + int(np.iinfo(kind).max)) // 2
        return (middle + rng.integers(-(1 << 24), 1 << 24, spec.nbytes // kind.itemsize)).astype(kind)
    return rng.integers(0, 256, spec.nbytes).astype(np.uint8).view(kind)
