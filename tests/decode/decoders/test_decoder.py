"""Decoder: stored outputs of every layout and dtype against loops in float64."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.scenes import NO_PROBABILITIES

STRIDES = (8, 16, 32)


def maps_v8(rng: np.random.Generator, choose: random.Random, size: tuple[int, int], classes: int, graph: bool) -> Any:
    """Outputs, boxes' and scores' values of each level."""
    outputs, boxes, scores = [], [], []
    for n, stride in enumerate(STRIDES):
        grid = (-(-size[0] // stride), -(-size[1] // stride))
        layout, dtype = scenes.pick(choose)
        pitch = choose.choice((0, 0, 3))
        real = scenes.logits(rng, (1, classes, *grid), 0.02)
        scale, zero = (1 / 255, {"int8": -128, "uint8": 0}.get(dtype, 0)) if graph else (0.08, 20)
        if graph:
            real = 1 / (1 + np.exp(-real))
        score = scenes.output(rng, real.shape, real, layout, dtype, scale, zero, pitch, name=f"score{n}")
        layout, dtype = scenes.pick(choose)
        box = scenes.output(
            rng, (1, 64, *grid), rng.normal(0, 2, (1, 64, *grid)), layout, dtype, 0.07, 5, name=f"box{n}"
        )
        outputs += [box, score]
        boxes.append(box.values[0])
        scores.append(score.values[0])
    choose.shuffle(outputs)
    return outputs, boxes, scores


@pytest.mark.parametrize("seed", range(40))
def test_yolov8_maps(seed: int) -> None:
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    size, classes = choose.choice([(64, 64), (64, 96), (72, 40), (32, 32)]), choose.choice([1, 3, 17, 80])
    graph, labels, confidence = seed % 2 == 0, ("best", "all")[seed % 3 == 0], choose.choice([0.001, 0.25, 0.6])
    outputs, boxes, scores = maps_v8(rng, choose, size, classes, graph)
    activation = "none" if graph else "sigmoid"
    head = decode.yolov8(classes, activation=activation, labels=labels)
    buffers = [o.buffer for o in outputs] if seed % 2 else {o.spec.name: o.buffer.tobytes() for o in outputs}
    wanted = scenes.kept(scenes.yolov8(boxes, scores, STRIDES, confidence, activation, labels), 0.5, 200)
    results = []
    for decoder in decoders(head, [o.spec for o in outputs], size):
        found = decoder(buffers, confidence=confidence, iou=0.5, limit=200)
        scenes.same(found, wanted)
        results.append(found.xyxy.tobytes())
    assert len(set(results)) == 1  # bit by bit


@pytest.mark.parametrize("seed", range(30))
def test_yolov5_maps(seed: int) -> None:
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    size, classes = choose.choice([(64, 64), (64, 96)]), choose.choice([1, 5, 80])
    labels, confidence = ("best", "all")[seed % 3 == 0], choose.choice([0.01, 0.25])
    graph = seed % 2 == 0
    outputs, values = [], []
    for n, stride in enumerate(STRIDES):
        grid = (size[0] // stride, size[1] // stride)
        layout, dtype = scenes.pick(choose)
        real = scenes.logits(rng, (3, 5 + classes, *grid), 0.1)
        real[:, :4] = rng.normal(0, 1, real[:, :4].shape)
        scale, zero = (1 / 255, {"int8": -128, "uint8": 0}.get(dtype, 0)) if graph else (0.06, 10)
        real = 1 / (1 + np.exp(-real)) if graph else real
        flat = real.reshape(1, -1, *grid)
        if seed % 5 == 4:
            made = scenes.output(
                rng, (1, *real.shape), real[None], nl.Layout.plain("NACHW"), dtype, scale, zero, name=f"{n}"
            )
        elif seed % 5 == 3:  # as ONNX exports them: anchors, rows, columns, channels
            turned = real.transpose(0, 2, 3, 1)[None]
            made = scenes.output(rng, turned.shape, turned, nl.Layout.plain("NAHWC"), dtype, scale, zero, name=f"{n}")
        else:
            made = scenes.output(rng, flat.shape, flat, layout, dtype, scale, zero, name=f"{n}")
        outputs.append(made)
        back = made.values.transpose(0, 1, 4, 2, 3) if seed % 5 == 3 else made.values
        values.append(back.reshape(real.shape))
    choose.shuffle(outputs)
    activation = "none" if graph else "sigmoid"
    head = decode.yolov5(classes, activation=activation, labels=labels)
    wanted = scenes.kept(scenes.yolov5(values, head.anchors, STRIDES, confidence, activation, labels), 0.45, 300)
    results = []
    for decoder in decoders(head, [o.spec for o in outputs], size):
        found = decoder([o.buffer for o in outputs], confidence)
        scenes.same(found, wanted)
        results.append(found.xyxy.tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16"])
@NO_PROBABILITIES
def test_yolov8_list(turned: bool, dtype: str) -> None:
    rng = np.random.default_rng(3)
    cells = 64 + 16 + 4
    real = rng.random((1, 7, cells)) * 64
    real[:, 4:] = 1 / (1 + np.exp(-scenes.logits(rng, (1, 3, cells), 0.1))) * 64
    if dtype == "float32":
        real[:, 4:] /= 64
    made = scenes.output(
        rng,
        (1, 7, cells) if not turned else (1, cells, 7),
        real.transpose(0, 2, 1) if turned else real,
        nl.Layout.plain("NCW" if not turned else "NWC"),
        dtype,
        64 / 255,
        {"int8": -128}.get(dtype, 0),
    )
    values = made.values[0].T if turned else made.values[0]
    wanted = []
    for p in range(cells):
        x, y, w, h = (float(v) for v in values[:4, p])
        label = int(np.argmax(values[4:, p]))
        level, start = next((n, s) for n, s, end in ((0, 0, 64), (1, 64, 80), (2, 80, 84)) if p < end)
        if float(values[4 + label, p]) >= 0.3:
            box = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
            wanted.append(scenes.Found(float(values[4 + label, p]), label, level, p - start, 0, box))
    wanted.sort(key=lambda f: -f.score)
    assert len(wanted) > 5
    for decoder in decoders(decode.yolov8(3), [made.spec], (64, 64)):
        scenes.same(decoder(made.buffer, confidence=0.3, iou=0.5), scenes.kept(wanted, 0.5, 300))


@pytest.mark.parametrize("share", [0.004, 0.1, 0.13, 0.16, 0.5])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
def test_cells_of_many_equal_scores(share: float, layout: str) -> None:
    rng, side, classes = np.random.default_rng(7), 72, 5
    q = nl.Quantization(0.25, 0)
    score = nl.TensorSpec((1, classes, side, side), layout, "int8", quantization=q, name="score")
    box = nl.TensorSpec((1, 64, side, side), layout, "int8", quantization=q, name="box")
    there = rng.random((side, side)) < share
    codes = np.where(there, rng.integers(0, 4, (classes, side, side)), 0)
    head = decode.yolov8(classes, strides=(8,))
    head = dataclasses.replace(head, suppression=decode.Suppression("none"))
    buffers = [score.pack(codes[None] / 4), box.pack(rng.integers(0, 8, (1, 64, side, side)) / 4)]
    cells = np.flatnonzero(codes.max(0).reshape(-1) >= 1)
    best = codes.reshape(classes, -1)[:, cells]
    order = np.argsort(-best.max(0), kind="stable")
    for decoder in decoders(head, [score, box], (8 * side, 8 * side)):
        found = decoder(buffers, confidence=0.25, limit=30000)
        assert found.cell.tolist() == cells[order].tolist()
        assert found.class_id.tolist() == best.argmax(0)[order].tolist()
        assert found.confidence.tolist() == (best.max(0)[order] / 4).tolist()


@pytest.mark.parametrize("last", [False, True])
def test_as_many_channels_as_rows_and_columns(last: bool) -> None:
    """Maps (1, 3, 8, 8, 8) of three classes: the other levels say whether channels are first or last."""
    rng, head = np.random.default_rng(4), decode.yolov5(3)
    maps = [rng.random((1, 3, 8, side, side)).astype(np.float32) for side in (8, 4, 2)]
    stored = [np.ascontiguousarray(m.transpose(0, 1, 3, 4, 2)) if last else m for m in maps]
    anchored = [nl.TensorSpec(m.shape, nl.Layout.of_rank(5), name=f"map{n}") for n, m in enumerate(stored)]
    plain = [nl.TensorSpec((1, 24, *m.shape[3:]), name=f"map{n}") for n, m in enumerate(maps)]
    one = decode.Decoder(head, anchored, (64, 64))([m.ravel() for m in stored], confidence=0.5)
    two = decode.Decoder(head, plain, (64, 64))([m.ravel() for m in maps], confidence=0.5)
    assert len(one) > 20 and one.xyxy.tobytes() == two.xyxy.tobytes()
    assert one.class_id.tolist() == two.class_id.tolist() and one.anchor.tolist() == two.anchor.tolist()


def test_letters_say_where_channels_are() -> None:
    """One map (1, 3, 20, 20, 20): its extents do not, and there is no other level."""
    head = decode.yolov5(15, (32,), [[(10, 13), (16, 30), (33, 23)]], activation="sigmoid")
    for axes, last in (("NAHWC", True), ("NACHW", False)):
        x = np.full((1, 3, 20, 20, 20), -9, np.float32)
        for channel in (4, 8):
            x[(0, 1, 4, 7, channel) if last else (0, 1, channel, 4, 7)] = 9
        found = decode.Decoder(head, [nl.TensorSpec(x.shape, nl.Layout.plain(axes))], (640, 640))([x.ravel()])
        assert (found.cell.tolist(), found.anchor.tolist(), found.class_id.tolist()) == ([4 * 20 + 7], [1], [3]), axes


@pytest.mark.parametrize("rows", [1, 5, 6, 7])
def test_rows_that_are_as_many_as_their_columns(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x = np.concatenate(
        [rng.uniform(0, 64, (rows, 4)), rng.uniform(0.5, 1, (rows, 1)), rng.integers(0, 9, (rows, 1))], 1
    )
    x = x[np.argsort(-x[:, 4])].astype(np.float32)
    found = decode.Decoder(decode.yolo26(9), [nl.TensorSpec((1, rows, 6), "NHW", name="o")], (64, 64))([x.ravel()])
    assert np.array_equal(found.xyxy, x[:, :4]) and np.array_equal(found.class_id, x[:, 5])


def test_nothing_is_found() -> None:
    rng, choose = np.random.default_rng(0), random.Random(0)
    outputs, _, _ = maps_v8(rng, choose, (64, 64), 3, True)
    decoder = decode.Decoder(decode.yolov8(3), [o.spec for o in outputs], (64, 64))
    empty = [
        np.full(o.spec.size, np.iinfo(o.spec.stored).min if o.spec.stored.kind in "iu" else 0).astype(o.spec.stored)
        for o in outputs
    ]
    found = decoder(empty)
    assert len(found) == 0 and found.xyxy.shape == (0, 4) and found.confidence.shape == found.class_id.shape == (0,)
    assert found.xyxy.dtype == np.float32 and found.class_id.dtype == np.int64


def test_memory_is_used_again() -> None:
    rng, choose = np.random.default_rng(1), random.Random(1)
    outputs, _, _ = maps_v8(rng, choose, (64, 64), 3, True)
    buffers = [o.buffer for o in outputs]
    for decoder in decoders(decode.yolov8(3), [o.spec for o in outputs], (64, 64)):
        first = decoder(buffers, limit=50)
        kept = first.xyxy.copy()
        again = decoder(buffers, confidence=0.001, limit=50, out=first)
        assert np.shares_memory(again.xyxy, first.xyxy) and len(again) > len(first)
        third = decoder(buffers, limit=20, out=again)
        assert np.array_equal(third.xyxy, kept[:20])
        with pytest.raises(nl.NpuLayoutError, match="out: expected Detections of a Decoder with room for 51"):
            decoder(buffers, limit=51, out=first)
        with pytest.raises(nl.NpuLayoutError, match=r"out: expected Detections of a Decoder .* got no memory"):
            decoder(buffers, out=first[:1])


def test_a_decoder_goes_to_other_processes() -> None:
    rng, choose = np.random.default_rng(1), random.Random(1)
    outputs, _, _ = maps_v8(rng, choose, (64, 64), 3, True)
    buffers = [o.buffer for o in outputs]
    decoder = decode.Decoder(decode.yolov8(3), [o.spec for o in outputs], (64, 64))
    wanted = decoder(buffers)
    for again in (pickle.loads(pickle.dumps(decoder)), copy.deepcopy(decoder)):
        assert len(wanted) and np.array_equal(again(buffers).xyxy, wanted.xyxy) and repr(again) == repr(decoder)
    maps = [nl.TensorSpec((1, n, 8, 8), name=f"{i}") for i, n in enumerate((64, 1, 1))]
    named = decode.Decoder(decode.yolov8(1, (8,)), maps, (64, 64), outputs={"score": "2"})
    assert pickle.loads(pickle.dumps(named))._fitted == named._fitted


def test_thresholds_that_are_none() -> None:
    maps = [nl.TensorSpec((1, n, 8, 8), name=f"{n}") for n in (64, 2)]
    decoder, buffers = decode.Decoder(decode.yolov8(2, (8,)), maps, (64, 64)), [np.zeros(s.size, "f4") for s in maps]
    for iou, says in ((45, r"iou: expected 0 \.\. 1, got 45; 45 percent are 0\.45"), (-0.1, "iou"), (np.nan, "iou")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            decoder(buffers, iou=iou)
    stored = [spec.replace(dtype="int8", quantization=nl.Quantization(0.7 / 127)) for spec in maps]
    decoder, buffers = (
        decode.Decoder(decode.yolov8(2, (8,)), stored, (64, 64)),
        [s.pack(np.zeros(s.shape)) for s in stored],
    )
    for asked, says in ((0.75, "0.75: .* at most 0.7 "), (0.7, "0.7: .* at most 0.699999988 ")):
        with pytest.raises(nl.NpuLayoutError, match=f"no stored value reaches {says}"):
            decoder(buffers, confidence=asked)


@pytest.mark.parametrize("seed", range(12))
def test_yolov8_pose(seed: int) -> None:
    """Points beside the boxes: (2 v + cell) stride, and the sigmoid of the visibility."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    outputs, boxes, scores = maps_v8(rng, choose, (64, 64), 1, True)
    points = []
    for n, stride in enumerate(STRIDES):
        shape = (1, 51, 64 // stride, 64 // stride)
        layout, dtype = scenes.pick(choose)
        points.append(scenes.output(rng, shape, rng.normal(0, 2, shape), layout, dtype, 0.05, 3, 2, name=f"points{n}"))
    head = decode.yolov8(1, keypoints=17)
    wanted = scenes.kept(scenes.yolov8(boxes, scores, STRIDES, 0.005, "none", "best"), 0.45, 300)
    assert wanted
    for decoder in decoders(head, [o.spec for o in outputs + points], (64, 64)):
        found = decoder([o.buffer for o in outputs + points], confidence=0.005)
        scenes.same(found, wanted)
        assert found.keypoints is not None and found.keypoints.shape == (len(wanted), 17, 3)
        assert found.keypoints.dtype == np.float32
        for k, one in enumerate(wanted):
            width = 64 // STRIDES[one.level]
            values = points[one.level].values[0, :, one.cell // width, one.cell % width].astype(np.float64)
            x, y, v = values[0::3], values[1::3], values[2::3]
            expected = np.stack(
                [
                    (2 * x + one.cell % width) * STRIDES[one.level],
                    (2 * y + one.cell // width) * STRIDES[one.level],
                    1 / (1 + np.exp(-v)),
                ],
                1,
            )
            np.testing.assert_array_max_ulp(found.keypoints[k], expected.astype(np.float32), 1)


def of_channels(rng: np.random.Generator, choose: random.Random, name: str, n: int, grid: Any, low: float) -> Any:
    """An output whose channels have scales and zero points of their own: its spec, its buffer, its values."""
    layout, dtype = choose.choice(scenes.LAYOUTS), choose.choice(("int8", "uint8"))
    info = np.iinfo(dtype)
    codes = rng.integers(info.min, info.max + 1, (1, n, *grid))
    made = scenes.output(rng, codes.shape, codes, layout, dtype, 1.0, 0, choose.choice((0, 3)), name=name)
    scales = np.exp(rng.uniform(np.log(low), np.log(10 * low), n)).astype(np.float32)
    zeros = rng.integers(info.min, info.max + 1, n)
    spec = made.spec.replace(quantization=nl.Quantization(scales, zeros, axis=1))
    values = (codes[0] - zeros[:, None, None]).astype(np.float32) * scales[:, None, None]
    return spec, made.buffer, values


@pytest.mark.parametrize("seed", range(24))
@NO_PROBABILITIES
def test_a_scale_for_each_channel(seed: int) -> None:
    """Classes are compared by what their codes mean, before the activation: sigmoids of large logits are all 1."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    labels, activation = ("best", "all")[seed % 2], ("sigmoid", "none")[seed // 2 % 2]
    grids = [(32 // s, 48 // s) for s in (8, 16)]
    box = [of_channels(rng, choose, f"box{n}", 64, grid, 0.01) for n, grid in enumerate(grids)]
    score = [of_channels(rng, choose, f"score{n}", 5, grid, 0.3 if seed % 3 else 0.02) for n, grid in enumerate(grids)]
    points = [of_channels(rng, choose, f"points{n}", 6, grid, 0.02) for n, grid in enumerate(grids)]
    head = decode.yolov8(5, (8, 16), activation=activation, labels=labels, keypoints=2)
    boxes, scores = [values for _, _, values in box], [values for _, _, values in score]
    wanted = scenes.kept(scenes.yolov8(boxes, scores, (8, 16), 0.6, activation, labels), 0.5, 300)
    assert wanted
    results = []
    specs, buffers = ([part[i] for part in box + score + points] for i in (0, 1))
    for decoder in decoders(head, specs, (32, 48)):
        found = decoder(buffers, 0.6, 0.5)
        scenes.same(found, wanted)
        assert found.keypoints is not None
        results.append(found.xyxy.tobytes() + found.keypoints.tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("seed", range(12))
@NO_PROBABILITIES
def test_a_scale_for_each_channel_of_anchors(seed: int) -> None:
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    labels, activation = ("best", "all")[seed % 2], ("sigmoid", "none")[seed // 2 % 2]
    made = [of_channels(rng, choose, f"m{n}", 24, (64 // s, 64 // s), 0.02) for n, s in enumerate(STRIDES)]
    head = decode.yolov5(3, activation=activation, labels=labels)
    values = [v.reshape(3, 8, *v.shape[1:]) for _, _, v in made]
    every = scenes.yolov5(values, head.anchors, STRIDES, 0.3, activation, labels)
    positive = [f for f in every if values[f.level][f.anchor, 4].reshape(-1)[f.cell] >= 0 or activation == "sigmoid"]
    wanted = scenes.kept(positive, 0.45, 300)
    assert wanted
    results = []
    for decoder in decoders(head, [spec for spec, _, _ in made], (64, 64)):
        found = decoder([buffer for _, buffer, _ in made], 0.3)
        scenes.same(found, wanted)
        results.append(found.xyxy.tobytes())
    assert len(set(results)) == 1


def test_a_confidence_that_no_stored_value_reaches() -> None:
    specs = [nl.TensorSpec((1, n, k, k), dtype="int8", name=f"{n}/{k}") for k in (8, 4, 2) for n in (64, 2)]
    decoder = decode.Decoder(decode.yolov8(2), specs, (64, 64))
    buffers = [np.zeros(spec.size, np.int8) for spec in specs]
    with pytest.raises(nl.NpuLayoutError, match=r"no stored value reaches 200: stored values mean at most 127 \(.*\)$"):
        decoder(buffers, confidence=200)
    unit = [spec.replace(quantization=nl.Quantization(1 / 255, -128)) for spec in specs]
    with pytest.raises(nl.NpuLayoutError, match=r"no stored value reaches 25: .*; 25 percent are 0\.25$"):
        decode.Decoder(decode.yolov8(2), unit, (64, 64))(buffers, confidence=25)


def decoder_of(activation: str, dtype: str = "float32", scale: float | None = None) -> tuple[decode.Decoder, Any]:
    """One level of 64 cells, whose scores are stored zeros."""
    quantization = None if scale is None else nl.Quantization(scale)
    specs = [nl.TensorSpec((1, n, 8, 8), "NCHW", dtype, quantization=quantization, name=str(n)) for n in (64, 2)]
    buffers = [np.zeros(spec.size, spec.stored) for spec in specs]
    return decode.Decoder(decode.yolov8(2, (8,), activation=activation), specs, (64, 64)), buffers


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_confidence_in_percent_is_refused_where_scores_are_floats(dtype: str) -> None:
    """It found nothing in silence: no dtype says that a score of 25 cannot be."""
    decoder, buffers = decoder_of("none", dtype)
    says = (
        r"^confidence: expected 0 \.\. 1: scores are probabilities, as activation='none' says; 'sigmoid' is for logits"
    )
    with pytest.raises(nl.NpuLayoutError, match=says + r", got 25; 25 percent are 0\.25$"):
        decoder(buffers, confidence=25)
    with pytest.raises(nl.NpuLayoutError, match=says + ", got 1.5; 1.5 percent"):
        decoder(buffers, confidence=1.5)
    assert len(decoder(buffers, confidence=-3, iou=1)) == 64  # scores behind no activation may be negative
    assert len(decoder(buffers, confidence=0, iou=1, limit=9)) == 9 and len(decoder(buffers, confidence=1)) == 0
    for activation in ("sigmoid", "softmax"):
        decoder, buffers = decoder_of(activation, dtype)
        with pytest.raises(
            nl.NpuLayoutError, match=r"^confidence: no stored value reaches 25: .*; 25 percent are 0\.25$"
        ):
            decoder(buffers, confidence=25)
        assert len(decoder(buffers, confidence=-0.5, iou=1)) == 64


@NO_PROBABILITIES
def test_integers_say_what_scores_can_be() -> None:
    """Logits, or other scores as they are: thresholds above 1 and below 0 are theirs."""
    decoder, (boxes, scores) = decoder_of("none", "int8", 0.125)
    scores[[3, 5]] = 127, 40
    assert decoder((boxes, scores), confidence=5, iou=1).cell.tolist() == [3, 5]
    assert len(decoder((boxes, scores), confidence=-2.0, iou=1)) == 64
    scores[:] = -128
    assert len(decoder((boxes, scores), confidence=-2.0)) == 0


@pytest.mark.parametrize(("layout", "dtype"), [("NCHW16c", "int8"), ("NHWC", "float32")])
def test_threads_share_a_decoder(layout: str, dtype: str) -> None:
    """As the workers of a stream do, each with outputs of its own."""
    side, rng = 96, np.random.default_rng(7)
    scales = {"box": nl.Quantization(0.1, -10), "score": nl.Quantization(1 / 255, -128)}
    maps = [
        nl.TensorSpec(
            (1, n, side // s, side // s),
            layout,
            dtype,
            quantization=scales[what] if dtype == "int8" else None,
            name=f"{what}{s}",
        )
        for s in STRIDES
        for what, n in (("box", 64), ("score", 8))
    ]
    frames = []
    for _ in range(6):
        values = [3 * rng.random(m.shape) if "box" in m.name else (rng.random(m.shape) < 0.02) * 0.9 for m in maps]
        frames.append([m.pack(v.astype(np.float32)) for m, v in zip(maps, values)])
    for decoder in decoders(decode.yolov8(8), maps, (side, side)):
        alone = [decoder(buffers, 0.3) for buffers in frames]
        assert len({len(found) for found in alone}) > 1
        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(lambda n, d=decoder: d(frames[n % 6], 0.3), range(60)))  # type: ignore[misc]
        for n, found in enumerate(together):
            assert found.xyxy.tobytes() == alone[n % 6].xyxy.tobytes()
            assert found.confidence.tobytes() == alone[n % 6].confidence.tobytes()


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int4_high", "uint4_high"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@NO_PROBABILITIES
def test_numbers_of_half_a_byte(dtype: str, layout: str) -> None:
    """As the same numbers of a byte each, masks included; the least threshold that is refused is that of 4 bits."""
    rng, whole = np.random.default_rng(5), dtype.split("4")[0] + "8"
    low = 0 if whole == "uint8" else -8
    channels = {"box": 28, "score": 3, "weights": 5}
    shapes = {f"{name}{k}": (1, n, k, k) for k in (8, 4, 3) for name, n in channels.items()} | {
        "protos": (1, 5, 16, 16)
    }
    scale = {name: nl.Quantization(1 / 7 if name.startswith("score") else 0.3, 0) for name in shapes}
    codes = {name: rng.integers(low, low + 16, shape) for name, shape in shapes.items()}
    head = decode.yolov8(3, (8, 16, 22), bins=7, coefficients=5)
    results, most = [], []
    for kind in (dtype, whole):
        specs = [
            nl.TensorSpec(shape, nl.Layout(layout, "NCHW"), kind, quantization=scale[name], name=name)
            for name, shape in shapes.items()
        ]
        buffers = [spec.pack(codes[spec.name] * np.float32(scale[spec.name].scale)) for spec in specs]
        for decoder in decoders(head, specs, (64, 64)):
            assert decoder._made is not None and decoder.specs == tuple(specs)
            found = decoder(buffers, 0.6, limit=30)
            masks = [found.masks.full(k).tobytes() for k in range(len(found))]
            results.append((found.xyxy.tobytes(), found.confidence.tobytes(), found.class_id.tobytes(), masks))
        most.append(decoder.largest_score)
    assert all(result == results[0] for result in results) and len(results[0][3]) > 5
    assert most[0] == pytest.approx((low + 15) / 7) and most[0] < most[1]


def test_lists_without_cells_are_known_as_such() -> None:
    """Rows that the network ranked are listed; maps, lists of cells and rows before suppression are not."""
    rows = nl.TensorSpec((1, 300, 6), "NHW", name="rows")
    ranked = decode.Decoder(decode.yolov10(80), [rows], (640, 640))
    cells = decode.Decoder(decode.yolov8(80), [nl.TensorSpec((1, 84, 8400), "NCW", name="cells")], (640, 640))
    buffer = np.zeros(rows.shape, np.float32)
    buffer[0, 3] = 1, 2, 30, 40, 0.9, 5
    found = ranked([buffer.ravel()])
    assert len(found) == 1 and found.listed and found.cell.tolist() == [3]
    assert not cells([np.zeros(84 * 8400, np.float32)]).listed
    parts = [
        nl.TensorSpec((1, 100, *rest), "NCW"[: 2 + len(rest)], name=name)
        for name, rest in (("box", (4,)), ("score", ()), ("label", ()))
    ]
    before = decode.Decoder(
        decode.labelled_rows(3), parts, (64, 64), outputs={name: name for name in ("box", "score", "label")}
    )
    assert not before([np.zeros(spec.size, np.float32) for spec in parts]).listed


class _MetTogether:
    """A bound of scores that two threads compare with theirs at the same time, before either goes on."""

    __array_ufunc__ = None

    def __init__(self) -> None:
        self.both, self.count = threading.Barrier(2), itertools.count()

    def __lt__(self, score: float) -> bool:
        if next(self.count) < 2:
            self.both.wait(60)
        return score > 1.5


def test_two_threads_that_meet_an_improbable_score_together_are_warned_once() -> None:
    decoder = decode.Decoder(decode.yolov10(80), [nl.TensorSpec((1, 300, 6), "NHW", name="rows")], (640, 640))
    buffer = np.zeros((1, 300, 6), np.float32)
    buffer[0, 3] = 1, 2, 30, 40, 4, 5
    decoder._probable = _MetTogether()  # type: ignore[assignment]
    with pytest.warns(UserWarning, match="a score is 4, ") as said, ThreadPoolExecutor(2) as threads:
        assert [len(found) for found in threads.map(decoder, [[buffer]] * 2)] == [1, 1]
        decoder([buffer])
    assert len(said) == 1
