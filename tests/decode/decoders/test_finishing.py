"""Turned boxes and peaks by Decoder, from stored outputs of any layout and dtype, against loops in plain numbers."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.decoders import finishing, reference
from npu_layout.decode.decoders.decoder import use_backend
from npu_layout.decode.results.turned import polygon_iou
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.scenes import NO_PROBABILITIES

STRIDES, SIZE, CLASSES = (8, 16, 32), (64, 96), 3


def cells(stride: int) -> tuple[int, int]:
    return SIZE[0] // stride, SIZE[1] // stride


def stored(rng: np.random.Generator, choose: random.Random, name: str, real: np.ndarray, scale: float) -> scenes.Output:
    layout, dtype = scenes.pick(choose)
    zero = {"int8": -100, "uint8": 20}.get(dtype, 3) if float(real.min()) >= 0 else 5
    plain = nl.Layout.of_rank(3) if real.ndim == 3 else layout
    return scenes.output(rng, real.shape, real, plain, dtype, scale, zero, choose.choice((0, 0, 3)), name=name)


def obb(seed: int, form: str) -> tuple[list[scenes.Output], list[Any], list[Any], list[float]]:
    """Outputs, and the values of boxes and scores of each level, and of the angles of all cells."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    outputs, boxes, scores, turns = [], [], [], []
    for s in STRIDES:
        box = stored(rng, choose, f"box{s}", rng.normal(0, 2, (1, 64, *cells(s))), 0.07)
        score = stored(rng, choose, f"score{s}", rng.random((1, CLASSES, *cells(s))) ** 4, 1 / 255)
        outputs += [box, score]
        boxes.append(box.values[0])
        scores.append(score.values[0])
        if form == "maps":
            outputs.append(stored(rng, choose, f"angle{s}", rng.random((1, 1, *cells(s))), 1 / 200))
            turns += outputs[-1].values.reshape(-1).tolist()
    if form != "maps":
        every = sum(math.prod(cells(s)) for s in STRIDES)
        outputs.append(stored(rng, choose, "turns", rng.random((1, 1, every)), 1 / 200))
        turns = outputs[-1].values.reshape(-1).tolist()
    choose.shuffle(outputs)
    return outputs, boxes, scores, turns


def turned(found: list[scenes.Found], turns: list[float], activation: str, meaning: str) -> list[list[float]]:
    """Centre, size and angle of each, from the sides that its upright box shows."""
    starts, boxes = [0], []
    for s in STRIDES:
        starts.append(starts[-1] + math.prod(cells(s)))
    for one in found:
        s, v = STRIDES[one.level], turns[starts[one.level] + one.cell]
        v = 1 / (1 + math.exp(-v)) if activation == "sigmoid" else v
        angle = (v - 0.25) * math.pi if meaning == "shifted" else v
        cx, cy = (one.cell % cells(s)[1] + 0.5) * s, (one.cell // cells(s)[1] + 0.5) * s
        left, top, right, bottom = cx - one.box[0], cy - one.box[1], one.box[2] - cx, one.box[3] - cy
        x, y = (right - left) / 2, (bottom - top) / 2
        cosine, sine = math.cos(angle), math.sin(angle)
        middle = [cx + x * cosine - y * sine, cy + x * sine + y * cosine]
        boxes.append([*middle, left + right, top + bottom, angle])
    return boxes


@pytest.mark.parametrize("form", ["maps", "angles across levels"])
@pytest.mark.parametrize("seed", range(12))
def test_turned_boxes(seed: int, form: str) -> None:
    outputs, boxes, scores, turns = obb(seed, form)
    activation, meaning = ("none", "sigmoid")[seed % 2], ("shifted", "shifted", "radians")[seed % 3]
    labels = ("best", "all")[seed % 4 == 3]
    head = decode.yolov8_obb(CLASSES, angle_activation=activation, angle=meaning, labels=labels)
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head
    candidates = scenes.yolov8(boxes, scores, STRIDES, 0.3, "none", labels)
    every = turned(candidates, turns, activation, meaning)
    kept = scenes.kept_turned([np.float32(box).tolist() for box in every], [c.class_id for c in candidates], 0.3)
    assert 2 < len(kept) < len(every)
    decoder = decode.Decoder(head, [o.spec for o in outputs], SIZE)
    assert form in repr(decoder) and decoder._made is not None and decoder._whole
    results = []
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder([o.buffer for o in outputs], confidence=0.3, iou=0.3)
        assert found.confidence.tolist() == [candidates[i].score for i in kept]
        for name in ("class_id", "level", "cell", "anchor"):
            assert getattr(found, name).tolist() == [getattr(candidates[i], name) for i in kept]
        assert found.xywha is not None and found.xyxyxyxy is not None and found.xywha.dtype == np.float32
        wanted = np.array([every[i] for i in kept])
        np.testing.assert_array_max_ulp(found.xywha[:, 2:], wanted[:, 2:].astype(np.float32), 1)
        np.testing.assert_allclose(found.xywha, wanted, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(found.xyxy[:, :2], found.xyxyxyxy.min(1), rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(found.xyxy[:, 2:], found.xyxyxyxy.max(1), rtol=1e-5, atol=1e-4)
        results.append(found.xywha.tobytes() + found.xyxy.tobytes())
        few = decoder([o.buffer for o in outputs], confidence=0.3, iou=0.3, limit=4)
        assert few.xywha is not None and np.array_equal(few.xywha, found.xywha[:4])
    assert len(set(results)) == 1


def test_turned_boxes_suppressed_by_their_areas() -> None:
    outputs, _, _, _ = obb(2, "maps")
    head = decode.yolov8_obb(CLASSES)
    buffers, specs = [o.buffer for o in outputs], [o.spec for o in outputs]
    none = dataclasses.replace(head, suppression=decode.Suppression("none"))
    every = decode.Decoder(none, specs, SIZE)(buffers, 0.3)
    by_area = dataclasses.replace(head, suppression=decode.Suppression("polygons"))
    found = decode.Decoder(by_area, specs, SIZE)(buffers, 0.3, 0.2)
    assert every.xywha is not None and found.xywha is not None
    kept: list[int] = []
    boxes = every.xywha.astype(np.float64)
    for i in range(len(every)):
        same = [j for j in kept if every.class_id[j] == every.class_id[i]]
        if not any(polygon_iou(boxes[j], boxes[[i]])[0] > 0.2 for j in same):
            kept.append(i)
    assert 3 < len(kept) < len(every) and np.array_equal(found.xywha, every.xywha[kept])


def test_turned_boxes_in_a_list() -> None:
    rng = np.random.default_rng(1)
    every = sum(math.prod(cells(s)) for s in STRIDES)
    real = np.concatenate(
        [rng.uniform(0, 64, (2, every)), rng.uniform(4, 30, (2, every)), rng.random((3, every)) ** 3,
         rng.uniform(-0.7, 2.3, (1, every))]
    )[None].astype(np.float32)  # fmt: skip
    spec = nl.TensorSpec(real.shape, "NCW", name="out")
    decoder = decode.Decoder(decode.yolov8_obb(3), [spec], SIZE)
    values = real[0].astype(float)
    order = sorted(
        (p for p in range(every) if values[4:7, p].max() >= 0.5), key=lambda p: -np.float32(values[4:7, p].max())
    )
    boxes = [values[[0, 1, 2, 3, 7], p].tolist() for p in order]
    kept = scenes.kept_turned(boxes, [int(values[4:7, p].argmax()) for p in order], 0.3)
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder(real.ravel(), confidence=0.5, iou=0.3)
        assert found.xywha is not None and 5 < len(kept) < len(boxes)
        np.testing.assert_allclose(found.xywha, np.float32([boxes[i] for i in kept]), rtol=1e-6)


@pytest.mark.parametrize("kind", ["probiou", "polygons", "greedy", "none"])
@pytest.mark.parametrize("seed", range(5))
@NO_PROBABILITIES
def test_turned_boxes_of_any_float_have_the_same_bits(kind: str, seed: int) -> None:
    """Of no number, infinite, far away, without area and of one place: with every backend."""
    rng = np.random.default_rng(seed)
    every = sum(math.prod(cells(s)) for s in STRIDES)
    real = rng.uniform(0, 60, (8, every)).astype(np.float32)
    real[4:7] = rng.integers(0, 5, (3, every)) / 4
    real[7] = rng.choice([0.3, -2, 7.5, 1e4, 6e5, -1e30, 0], every) * rng.random(every)
    awkward = rng.choice(every, 40, replace=False)
    real[rng.integers(0, 8, 40), awkward] = rng.choice([np.nan, np.inf, -np.inf, 0, -5, 1e30, 3e38, 1e-40], 40)
    head = dataclasses.replace(
        decode.yolov8_obb(3), suppression=decode.Suppression(kind, inclusive=kind != "none" and seed % 2 == 1)
    )
    decoder = decode.Decoder(head, [nl.TensorSpec((1, 8, every), "NCW", name="out")], SIZE)
    results = []
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder(real.ravel(), 0.5, 0.3, 1000)
        assert found.xywha is not None
        results.append(np.concatenate([found.xyxy, found.xywha, found.cell[:, None], found.class_id[:, None]], 1))
    assert len(results[0]) > 10
    assert all(np.array_equal(one, results[-1], equal_nan=True) for one in results)


def test_memory_of_turned_boxes_is_used_again_and_grows_for_many_candidates() -> None:
    outputs, _, _, _ = obb(1, "maps")
    decoder = decode.Decoder(decode.yolov8_obb(CLASSES, labels="all"), [o.spec for o in outputs], SIZE)
    decoder._work.make_room(8)
    buffers = [o.buffer for o in outputs]
    alone = decoder(buffers, 0.01, 0.5, 50)
    out = decoder(buffers, 0.5, 0.5, 50)
    again = decoder(buffers, 0.01, 0.5, 50, out=out)
    assert np.shares_memory(again.xywha, out.xywha) and np.array_equal(again.xywha, alone.xywha)  # type: ignore[arg-type]
    assert np.array_equal(again.xyxy, alone.xyxy) and len(again) > 20


def centers(seed: int, offset: bool) -> tuple[dict[str, scenes.Output], tuple[int, int]]:
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    grid = choose.choice([(9, 12), (1, 7), (16, 16)])
    reals = {"hm": rng.normal(0, 2, (1, CLASSES, *grid)), "wh": rng.uniform(1, 6, (1, 2, *grid))}
    if offset:
        reals["reg"] = rng.uniform(0, 1, (1, 2, *grid))
    scale = {"hm": 0.3, "wh": 0.05, "reg": 1 / 200}  # coarse scores: neighbours are often equal
    return {name: stored(rng, choose, name, real, scale[name]) for name, real in reals.items()}, grid


def peaks(made: dict[str, scenes.Output], grid: tuple[int, int], activation: str, least: float) -> list[Any]:
    """Score, class, cell and edges of every cell that no neighbour exceeds, the best first."""
    heat, size = (made[name].values[0].astype(float) for name in ("hm", "wh"))
    found = []
    for y, x in np.ndindex(*grid):
        for c in range(CLASSES):
            v = heat[c, y, x]
            score = 1 / (1 + math.exp(-v)) if activation == "sigmoid" else v
            if v < heat[c, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].max() or score < least:
                continue
            ox, oy = made["reg"].values[0, :, y, x].astype(float) if "reg" in made else (0.5, 0.5)
            w, h = size[:, y, x]
            box = (x + ox - w / 2, y + oy - h / 2, x + ox + w / 2, y + oy + h / 2)
            found.append((np.float32(score), c, y * grid[1] + x, *(4 * v for v in box)))
    return sorted(found, key=lambda row: -row[0])


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("seed", range(16))
@NO_PROBABILITIES
def test_centernet(seed: int, offset: bool) -> None:
    made, grid = centers(seed, offset)
    activation, least = (("none", 0.9), ("sigmoid", 0.7))[seed % 2]
    head = decode.centernet_head(CLASSES, activation=activation)
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head
    size = (4 * grid[0], 4 * grid[1])
    decoder = decode.Decoder(head, [o.spec for o in made.values()], size)
    wanted = peaks(made, grid, activation, least)
    assert wanted
    specs = {name: made[own].spec for name, own in zip(("heat", "size", "offset"), made)}
    buffers = {name: made[own].buffer for name, own in zip(("heat", "size", "offset"), made)}
    function = decode.centernet(specs, buffers, least, 300, activation=activation)  # type: ignore[arg-type]
    results = []
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder([o.buffer for o in made.values()], confidence=least)
        assert found.confidence.tolist() == [float(row[0]) for row in wanted]
        assert found.class_id.tolist() == [row[1] for row in wanted]
        assert found.cell.tolist() == [row[2] for row in wanted]
        np.testing.assert_allclose(found.xyxy, [row[3:] for row in wanted], rtol=1e-6, atol=1e-5)
        results.append(found.xyxy.tobytes())
        rows = [sorted(zip(f.class_id.tolist(), f.cell.tolist(), f.xyxy.tolist())) for f in (found, function)]
        assert [row[:2] for row in rows[0]] == [row[:2] for row in rows[1]]
        assert len(decoder([o.buffer for o in made.values()], least, limit=1)) == 1
    assert len(set(results)) == 1


def test_joints_of_centerpose() -> None:
    """Of the cell's corner, in cells (Hailo's centerpose, whose heatmaps of joints are left out)."""
    rng = np.random.default_rng(4)
    channels = {"hm": 1, "wh": 2, "hps": 6, "reg": 2}
    real = {name: rng.random((1, n, 6, 5)).astype(np.float32) for name, n in channels.items()}
    specs = [nl.TensorSpec(x.shape, "NHWC", axes="NCHW", name=name) for name, x in real.items()]
    for decoder in decoders(decode.centernet_head(1, keypoints=3), specs, (24, 20)):
        found = decoder([spec.pack(real[spec.name]) for spec in specs], 0.5)
        assert len(found) > 2
        for k, cell in enumerate(found.cell.tolist()):
            y, x = divmod(cell, 5)
            joints = [(x + float(a), y + float(b)) for a, b in real["hps"][0, :, y, x].reshape(3, 2)]
            np.testing.assert_allclose(found.keypoints[k], 4 * np.array(joints), rtol=1e-6)
            middle = (x + float(real["reg"][0, 0, y, x])) * 4, (y + float(real["reg"][0, 1, y, x])) * 4
            np.testing.assert_allclose((found.xyxy[k, :2] + found.xyxy[k, 2:]) / 2, middle, rtol=1e-6)


def test_a_neighbour_that_is_no_number_exceeds_all() -> None:
    heat, size = np.zeros((1, 1, 5, 5), np.float32), np.full((1, 2, 5, 5), 2, np.float32)
    heat[0, 0, 1, 1], heat[0, 0, 4, 4], heat[0, 0, 0, 0] = 0.9, 0.8, np.nan
    specs = [nl.TensorSpec(x.shape, "NCHW", name=n) for n, x in (("hm", heat), ("wh", size))]
    decoder = decode.Decoder(decode.centernet_head(1), specs, (20, 20))
    for backend in kernels.backends():
        use_backend(decoder, backend)
        assert decoder([heat.ravel(), size.ravel()], 0.3).cell.tolist() == [24]


@NO_PROBABILITIES
def test_a_scale_for_each_channel() -> None:
    """Sizes and heat with a scale per channel: the same peaks as of the values that they mean."""
    rng = np.random.default_rng(2)
    q = nl.Quantization([0.01, 0.02, 0.005], [0, 3, -4], axis=1)
    heat = nl.TensorSpec((1, 3, 8, 8), "NCHW", "int8", quantization=q, name="hm")
    wide = nl.TensorSpec((1, 2, 8, 8), "NHWC", "uint8", quantization=nl.Quantization([0.1, 0.2], 0, axis=1), name="wh")
    buffers = [rng.integers(-128, 128, heat.size).astype(np.int8), rng.integers(0, 256, wide.size).astype(np.uint8)]
    reals = [spec.unpack(buffer) for spec, buffer in zip((heat, wide), buffers)]
    plain = [nl.TensorSpec(r.shape, "NCHW", name=s.name) for r, s in zip(reals, (heat, wide))]
    head = decode.centernet_head(3)
    found = decode.Decoder(head, [heat, wide], (32, 32))(buffers, 0.3)
    wanted = decode.Decoder(head, plain, (32, 32))([r.ravel() for r in reals], 0.3)
    assert len(found) > 5 and np.array_equal(found.xyxy, wanted.xyxy) and np.array_equal(found.cell, wanted.cell)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (dict(parts=(decode.Part("box", 4), decode.Part("score", 1)), boxes=decode.Boxes("xyxy", angle="radians")),
         "need a part 'angle' of 1 channels, got none"),
        (dict(parts=(decode.Part("box", 4), decode.Part("score", 1), decode.Part("angle", 1)),
              boxes=decode.Boxes("xyxy")), "need no part 'angle', got one of 1 channels"),
        (dict(parts=(decode.Part("box", 2), decode.Part("score", 1), decode.Part("offset", 4)),
              boxes=decode.Boxes("center_size")), "need a part 'offset' of 2 channels, got one of 4"),
        (dict(parts=(decode.Part("box", 4), decode.Part("score", 1)), boxes=decode.Boxes("center_size")),
         "has 2 channels, its part has 4"),
    ],
)  # fmt: skip
def test_parts_and_boxes_fit_each_other(form: dict[str, Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        decode.Form("x", **form)


def test_what_is_refused() -> None:
    with pytest.raises(nl.NpuLayoutError, match="suppression 'probiou' needs boxes with an angle"):
        decode.Head("x", 80, (8,), decode.yolov8().forms, suppression=decode.Suppression("probiou"))
    with pytest.raises(nl.NpuLayoutError, match="order: 'center_size' has two numbers"):
        decode.Boxes("center_size", order=(1, 0, 3, 2))
    specs = [nl.TensorSpec((1, n, 8, 8), name=f"x{i}") for i, n in enumerate((3, 2, 2))]
    with pytest.raises(nl.LayoutError, match=r"extents do not distinguish parts: .*outputs="):
        decode.Decoder(decode.centernet_head(3), specs, (32, 32))
    stated = decode.Decoder(decode.centernet_head(3), specs, (32, 32), outputs={"box": ["x2"], "offset": ["x1"]})
    assert [stated._fitted.levels[0].places[role].output for role in ("score", "box", "offset")] == [0, 2, 1]


@pytest.mark.parametrize("rule", [{}, {"per_class": False}, {"inclusive": True}, {"extra": 1.0}, {"epsilon": 0.5}])
def test_backends_suppress_alike(rule: dict[str, Any]) -> None:
    rng = np.random.default_rng(len(rule))
    n, limit = 400, 90
    corner = rng.integers(0, 40, (n, 2))
    xyxy = np.concatenate([corner, corner + rng.integers(0, 20, (n, 2))], 1).astype(np.float32)
    xyxy[::50] = np.nan
    xyxy[7] = [-np.inf, 0, np.inf, 9]
    head = dataclasses.replace(decode.yolov8(3), suppression=decode.Suppression(**rule))
    columns = [np.sort(rng.integers(0, 20, n).astype(np.float32))[::-1].copy(), rng.integers(0, 3, n)]
    found = reference.Candidates(*columns, *(np.zeros(n, np.int64) for _ in range(3)))
    for some in (found, found.take(np.arange(0))):
        kept = [
            finishing._greedy(head, xyxy[: len(some)], some, 0.5, limit, backend).tolist()
            for backend in kernels.backends()
        ]
        assert all(each == kept[0] for each in kept) and len(kept[0]) <= limit


@pytest.mark.parametrize("kind", ["polygons", "probiou", "greedy", "none"])
def test_no_candidate_is_no_detection(kind: str) -> None:
    head = dataclasses.replace(decode.yolov8_obb(3), suppression=decode.Suppression(kind))
    specs = [nl.TensorSpec((1, n, 64 // s, 64 // s), name=f"{n}/{s}") for s in (8, 16, 32) for n in (64, 3, 1)]
    decoder = decode.Decoder(head, specs, (64, 64))
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder([np.zeros(spec.size, np.float32) for spec in specs])
        assert (
            len(found) == 0 and found.xyxy.shape == (0, 4) and found.xywha is not None and found.xywha.shape == (0, 5)
        )
