"""The compiled detector against wrong descriptions: an error, or a result; never an element outside a buffer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.results.detections import memory_for
from npu_layout.kernels.detecting import ACTIVATIONS, ANGLES, ENCODINGS, SUPPRESSIONS

pytestmark = pytest.mark.skipif(
    kernels.backends() == ["numpy"], reason="the compiled kernels were not built, or are turned off"
)
NUMBERS = (-(2**62), -(2**31), -1, 0, 1, 2, 3, 7, 63, 64, 65, 255, 1 << 16, 1 << 31, (1 << 62) + 1)


def made(choose: random.Random) -> tuple[kernels.Detection, list[np.ndarray]]:
    """A description that is right, and its buffers."""
    family = choose.choice(("v8", "v5", "ssd", "shares", "rows", "pose", "obb", "centernet", "seg"))
    layout = choose.choice(("NCHW", "NHWC", "NCHW16c", "NHWC8c"))
    dtype = choose.choice(("int8", "uint8", "int16", "int32", "float16", "float32"))
    q = nl.Quantization(0.05, 3) if dtype[-2:] not in ("16", "32") or "int" in dtype else None
    if family == "rows":
        shapes = {"box": (1, 9, 4), "label": (1, 9), "score": (1, 9), "count": (1,)}
        specs = [
            nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), dtype, name=name, quantization=q)
            for name, shape in shapes.items()
        ]
        outputs = {name: [name] for name in ("box", "label", "score")}
        decoder = decode.Decoder(decode.ssd_postprocessed(3), specs, (32, 32), outputs=outputs)
    elif family in ("ssd", "shares"):
        head = decode.ssd(np.full((40, 4), 0.5), 3, activation="sigmoid" if family == "ssd" else "softmax")
        specs = [nl.TensorSpec((1, 40, n), "NCW", dtype, name=k, quantization=q) for k, n in (("b", 4), ("s", 4))]
        decoder = decode.Decoder(head, specs, (32, 32), outputs={"box": ["b"], "score": ["s"]})
    else:
        head, strides, channels = {
            "v8": (decode.yolov8(5, (8, 16)), (8, 16), {"box": 64, "score": 5}),
            "v5": (decode.yolov5(5, (8, 16), decode.yolov5().anchors[:2]), (8, 16), {"map": 30}),
            "pose": (decode.yolov8(5, (8, 16), keypoints=7), (8, 16), {"box": 64, "score": 5, "points": 21}),
            "seg": (decode.yolov8(5, (8, 16), coefficients=9), (8, 16), {"box": 64, "score": 5, "weights": 9}),
            "obb": (decode.yolov8_obb(5, (8, 16)), (8, 16), {"box": 64, "score": 5, "angle": 1}),
            "centernet": (decode.centernet_head(5), (4,), {"hm": 5, "wh": 2, "reg": 2}),
        }[family]
        specs = [
            nl.TensorSpec((1, n, 32 // s, 32 // s), nl.Layout(layout), dtype, name=f"{name}/{s}", quantization=q)
            for s in strides
            for name, n in channels.items()
        ]
        if family == "seg":
            specs.append(nl.TensorSpec((1, 9, 8, 8), nl.Layout(layout), dtype, name="prototypes"))
        if q is not None and choose.random() < 0.6:  # scales along an axis
            axis = choose.choice((1, 1, 2, 3))
            specs = [
                spec.replace(quantization=nl.Quantization(np.linspace(0.04, 0.06, spec.shape[axis]), 3, axis=axis))
                for spec in specs
            ]
        decoder = decode.Decoder(head, specs, (32, 32))
    rng = np.random.default_rng(choose.randrange(1 << 30))
    buffers = [rng.integers(0, 256, spec.nbytes, np.uint8).view(spec.stored) for spec in decoder.specs]
    assert decoder._made is not None
    return decoder._made, buffers


def table(choose: random.Random, array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed[choose.randrange(len(changed))] = choose.choice(NUMBERS)
    return choose.choice((changed, array[:-1], np.concatenate([array, array]), -array, array[::-1].copy()))


def source(choose: random.Random, given: Any) -> Any:
    what = choose.randrange(8)
    if what == 7:
        return given._replace(activation=choose.choice(ACTIVATIONS))
    if what == 6:
        scale = np.full(choose.choice((1, 4, 5, 64, 1 << 17)), 0.5, np.float32)
        scales = given.scales or kernels.Scales(choose.choice(("channels", "rows", "columns")), scale, scale)
        changed = (None, scales._replace(scale=scale), scales._replace(zero=scales.zero[:-1]),
                   scales._replace(each=choose.choice(("", "channels", "rows", "columns"))))  # fmt: skip
        return given._replace(scales=choose.choice(changed), values=choose.choice((None, given.values)))
    if what < 3:
        field = ("channels", "rows", "columns")[what]
        return given._replace(map=given.map._replace(**{field: table(choose, getattr(given.map, field))}))
    if what == 3:
        return given._replace(buffer=choose.choice((-1, 0, 1, 5, 64)))
    if what == 4:
        dtype = choose.choice(("int8", "uint16", "int32", "float16", "float32", "bfloat16"))
        return given._replace(map=given.map._replace(dtype=dtype))
    values = None if given.values is None else given.values[: choose.choice((0, 8, 255))]
    return given._replace(values=choose.choice((None, values)))


def lied(choose: random.Random, description: Any) -> Any:
    """The description with one thing changed."""
    levels = list(description.levels)
    at = choose.randrange(len(levels))
    grid = levels[at]
    what = choose.randrange(13)
    if what == 0:
        sizes = list(description.nbytes)
        sizes[choose.randrange(len(sizes))] = choose.choice(NUMBERS)
        return description._replace(nbytes=tuple(sizes))
    if what == 1:
        return description._replace(classes=choose.choice(NUMBERS))
    if what == 2:
        return description._replace(levels=tuple(levels * choose.choice((0, 40))))
    if what == 12:
        filled = choose.choice((None, description.filled or grid.anchors[0].score))
        return description._replace(filled=filled if filled is None else source(choose, filled))
    if what == 10:
        return description._replace(suppression=choose.choice(SUPPRESSIONS))
    if what == 11:
        levels[at] = grid._replace(angle=choose.choice(ANGLES))
    elif what > 7:
        wrong = (None, ("cells", 4, "none", 0.1), ("pixels", 2, "sigmoid", 0.1), ("priors", -1, "none", np.inf))
        chosen = choose.choice(wrong)
        if choose.random() < 0.5:
            field = choose.choice(("points", "coefficients"))
            return description._replace(**{field: choose.choice((0, 1, 8, 9, 10, 20, 21, 22, 1 << 40, -1))})
        levels[at] = grid._replace(points=None if chosen is None else kernels.Points(*chosen))
    elif what == 3:
        levels[at] = grid._replace(columns=choose.choice(NUMBERS), bins=choose.choice((1, 2, 16, 64)))
    elif what == 4:
        priors = None if grid.priors is None else grid.priors[:-1]
        levels[at] = grid._replace(priors=choose.choice((priors, np.zeros((3, 4)))), encoding=choose.choice(ENCODINGS))
    else:
        anchors = list(grid.anchors)
        k = choose.randrange(len(anchors))
        parts = ("score", "box", "objectness", "points", "angle", "offset", "label", "background", "coefficients")
        part = choose.choice([name for name in parts if getattr(anchors[k], name) is not None])
        anchors[k] = anchors[k]._replace(**{part: source(choose, getattr(anchors[k], part))})
        if choose.random() < 0.1:
            anchors[k] = anchors[k]._replace(**{choose.choice(("objectness", "points", "angle", "offset")): None})
        if choose.random() < 0.1:
            given = choose.choice((None, anchors[k].score, anchors[k].box))
            anchors[k] = anchors[k]._replace(**{choose.choice(("label", "background")): given})
        if choose.random() < 0.1:
            anchors[k] = anchors[k]._replace(aside=choose.choice((-1, 1, 3, 4, 1 << 40)))
        if part == "points" and choose.random() < 0.3:
            anchors[k] = anchors[k]._replace(heats=choose.choice((None, np.zeros(8), np.zeros(256))))
        levels[at] = grid._replace(anchors=tuple(anchors) if what != 7 else ())
    return description._replace(levels=tuple(levels))


@pytest.mark.parametrize("seed", range(6))
def test_lies_are_refused_or_harmless(seed: int) -> None:
    choose = random.Random(seed)
    refused = ran = 0
    right = [made(choose) for _ in range(8)]
    for _ in range(250):
        description, buffers = choose.choice(right)
        for _ in range(choose.choice((1, 1, 1, 2))):
            try:
                description = lied(choose, description)
            except (IndexError, ValueError):  # an empty table has nothing more to change
                break
        level = choose.choice(kernels.backends()[:-1])
        try:
            detector = kernels.detector(description, level)
        except (ValueError, TypeError, OverflowError):
            refused += 1
            continue
        assert detector is not None
        room = memory_for(20, (7, 3), True)
        count = sum(len(grid.anchors) for grid in description.levels)
        thresholds = np.full(
            choose.choice((count, count, 0, count + 1)), choose.choice((-(2**31), -128, 0, 3)), np.int32
        )
        try:
            edges, turned = choose.choice((None, np.empty((20, 4)))), choose.choice((None, room.xywha))
            weights = choose.choice((None, np.empty((20, 9)), np.empty((20, 8))))
            n = detector.run(tuple(buffers), thresholds.tobytes(), 0.1, 0.5, 20, *room[:7], turned, edges, weights)
        except (ValueError, TypeError):
            refused += 1
            continue
        ran += 1
        assert 0 <= n <= 20 or n == -2  # a label that is no class
    assert refused > 50 and ran > 5


def test_bad_runs_are_refused() -> None:
    description, buffers = made(random.Random(1))
    detector = kernels.detector(description)
    assert detector is not None
    count = sum(len(grid.anchors) for grid in description.levels)
    thresholds = np.zeros(count, np.int32).tobytes()
    room = memory_for(5, (7, 3), True)
    edges = np.empty((5, 4))
    good = (tuple(buffers), thresholds, 0.1, 0.5, 5, *room, edges, None)
    n = detector.run(*good)
    with np.errstate(over="ignore"):
        assert 0 < n <= 5 and np.array_equal(edges[:n].astype(np.float32), room.xyxy[:n])
    for i, wrong in (
        (0, tuple(buffers[:-1])),
        (0, (*buffers[:-1], buffers[-1][:-1])),
        (0, (*buffers[:-1], "text")),
        (1, thresholds[:-1]),
        (4, 6),
        (4, -1),
        (5, room.xyxy[:2]),
        (5, room.xyxy[:, :2]),
        (7, room.class_id[:1]),
        (10, room.anchor.astype(np.int8)),
        (12, np.empty((4, 5), np.float32)),
        (13, edges[:4]),
        (13, np.empty((8, 4))[::2]),
    ):
        given = list(good)
        given[i] = wrong
        with pytest.raises((ValueError, TypeError, BufferError)):
            detector.run(*given)
