"""Parts that are stored across levels: the exports of airockchip and of MaixCAM, by formulas in plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.decoders.decoder import use_backend
from npu_layout.decode.outputs.places import checked_specs
from tests.support.scenes import NO_PROBABILITIES

STRIDES, SIDE = (8, 16, 32), 64
CELLS = [(SIDE // s) ** 2 for s in STRIDES]


def outputs(
    rng: np.random.Generator, layout: str, dtype: str, shape: tuple[int, ...], axes: str
) -> list[nl.TensorSpec]:
    q = nl.Quantization(0.02, -30) if dtype == "int8" else None
    big = nl.Quantization(0.5, -100) if dtype == "int8" else None
    maps = [
        nl.TensorSpec((1, 65, SIDE // s, SIDE // s), nl.Layout(layout), dtype, quantization=q, name=f"map{s}")
        for s in STRIDES
    ]
    points = nl.TensorSpec(shape, nl.Layout(axes, axes), dtype, quantization=big, name="points")
    specs = [*maps, points]
    return [specs[i] for i in rng.permutation(4)]


def test_a_batch_is_decoded_image_by_image() -> None:
    """As the error says it, also where blocks of channels are stored."""
    head, rng = decode.yolov8(classes=3), np.random.default_rng(3)
    ones = [
        nl.TensorSpec((1, n, SIDE // s, SIDE // s), "NCHW16c", "float16", name=f"{what}{s}")
        for s in STRIDES
        for what, n in (("box", 64), ("score", 3))
    ]
    batch = [spec.replace(shape=(2, *spec.shape[1:])) for spec in ones]
    with pytest.raises(nl.LayoutError, match=r"a batch of 2; .* spec.replace\(shape=\(1, 64, 8, 8\)\), .*e\(2, -1\)"):
        decode.Decoder(head, batch, (SIDE, SIDE))
    maps = {spec.name: rng.random(spec.shape).astype(np.float16) for spec in batch}
    buffers = {spec.name: spec.pack(maps[spec.name]) for spec in batch}
    decoder = decode.Decoder(head, ones, (SIDE, SIDE))
    for i in range(2):
        found = decoder({name: buffer.reshape(2, -1)[i] for name, buffer in buffers.items()}, confidence=0.9)
        single = decoder({spec.name: spec.pack(maps[spec.name][i : i + 1]) for spec in ones}, confidence=0.9)
        assert len(found) and decode.same(found, single, pixels=0, score=0)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("axes", ["ABCD", "NCW"])
@pytest.mark.parametrize("backend", nl.kernels.backends())
@NO_PROBABILITIES
def test_keypoints_of_one_output(layout: str, dtype: str, axes: str, backend: str) -> None:
    rng = np.random.default_rng(2)
    shape = (1, 51, sum(CELLS)) if axes == "NCW" else (1, 17, 3, sum(CELLS))
    specs = outputs(rng, layout, dtype, shape, axes)
    head = decode.yolov8(1, STRIDES, keypoints=17, across="pixels" if axes == "NCW" else "axes")
    assert decode.Head.from_dict(head.to_dict()) == head and head.forms[2].part("keypoints").across  # type: ignore[union-attr]
    buffers, values = {}, {}
    for spec in specs:
        real = rng.normal(0, 30, spec.shape) if spec.name == "points" else rng.normal(0, 1, spec.shape)
        buffers[spec.name] = spec.pack(real.astype(np.float32))
        values[spec.name] = spec.unpack(buffers[spec.name])
    decoder = decode.Decoder(head, specs, (SIDE, SIDE))
    use_backend(decoder, backend)
    found = decoder(buffers, confidence=0.9, iou=1.0)
    assert len(found) > 5 and found.keypoints is not None and set(found.level.tolist()) >= {0, 1}
    points = values["points"].reshape(17, 3, sum(CELLS))
    for row in range(len(found)):
        level, cell = int(found.level[row]), int(found.cell[row])
        scores = values[f"map{STRIDES[level]}"][0, 64].ravel()
        assert found.confidence[row] == scores[cell] >= 0.9
        assert (found.keypoints[row] == points[:, :, sum(CELLS[:level]) + cell]).all()
    passing = sum(int((values[f"map{s}"][0, 64] >= 0.9).sum()) for s in STRIDES)
    assert len(found) == passing


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cells() -> Iterator[tuple[int, int, int, int, int]]:
    """The level, the stride, the row, the column and the number of each cell of a list."""
    numbers = itertools.count()
    for level, stride in enumerate(STRIDES):
        for y, x in itertools.product(range(SIDE // stride), repeat=2):
            yield level, stride, y, x, next(numbers)


def side_of(bins: np.ndarray) -> float:
    """The mean of 16 bins under a softmax, as the network has it before the last convolution."""
    powers = [math.exp(float(v) - float(bins.max())) for v in bins]
    return sum(i * p for i, p in enumerate(powers)) / sum(powers)


def edges_of(sides: Sequence[float], stride: int, y: int, x: int) -> list[float]:
    left, top, right, bottom = map(float, sides)
    return [
        (x + 0.5 - left) * stride,
        (y + 0.5 - top) * stride,
        (x + 0.5 + right) * stride,
        (y + 0.5 + bottom) * stride,
    ]


def points_of(raw: np.ndarray, stride: int, y: int, x: int) -> list[list[float]]:
    """Of 51 numbers: x, y and visibility of each point (sipeed/MaixCDK, maix_nn_yolo11.hpp, _decode_keypoints)."""
    each = raw.reshape(17, 3).astype(float)
    return [[(2 * px + x) * stride, (2 * py + y) * stride, sigmoid(v)] for px, py, v in each.tolist()]


def made(rng: np.random.Generator, dtype: str, shapes: dict[str, tuple[int, ...]], layouts: Sequence[str]) -> Any:
    """Specs in any order, buffers, and what these mean."""
    specs, buffers, values = [], {}, {}
    for name, shape in shapes.items():
        q = nl.Quantization(0.03, -20) if dtype == "int8" else None
        axes = next(one for one in layouts if len(nl.Layout(one).axes) == len(shape))
        specs.append(nl.TensorSpec(shape, nl.Layout(axes), dtype, quantization=q, name=name))
        low, high = (0.0, 3.8) if name == "dfl" else (0.0, 1.0) if name in ("s", "turn") else (-3.0, 3.0)
        buffers[name] = specs[-1].pack(rng.uniform(low, high, shape).astype(np.float32))
        values[name] = specs[-1].unpack(buffers[name])
    return [specs[i] for i in rng.permutation(len(specs))], buffers, values


LAYOUTS = (("NCHW", "NCW"), ("NHWC", "NWC"), ("NCHW16c", "NCW8c"))


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("backend", nl.kernels.backends())
@pytest.mark.parametrize("beside", ["points", "masks", "none", "turn"])
def test_lists_of_sides(layouts: Sequence[str], dtype: str, backend: str, beside: str) -> None:
    """MaixCAM's YOLOv8 and YOLO11: sides behind the means of the bins, scores behind the sigmoid, and one more list."""
    rng, n = np.random.default_rng(4), sum(CELLS)
    more = {"points": {"kp": (1, 51, n)}, "masks": {"w": (1, 32, n), "p": (1, 32, 16, 16)}, "turn": {"turn": (1, 1, n)}}
    shapes = {"dfl": (1, 1, 4, n) if layouts[0] == "NCHW" else (1, 4, n), "s": (1, 3, n), **more.get(beside, {})}
    specs, buffers, values = made(rng, dtype, shapes, layouts)
    options = {"points": dict(keypoints=17), "masks": dict(coefficients=32)}.get(beside, {})
    make = decode.yolov8_obb if beside == "turn" else decode.yolov8
    head = make(3, STRIDES, listed="sides", **options)  # type: ignore[operator]
    named = {"score": ["s"], "angle": ["turn"]} if beside == "turn" else None
    decoder = decode.Decoder(head, specs, (SIDE, SIDE), outputs=named)
    use_backend(decoder, backend)
    found = decoder(buffers, confidence=0.9, iou=1.0)
    sides, scores = values["dfl"].reshape(4, n), values["s"][0]
    passing = {number for *_, number in cells() if float(scores[:, number].max()) >= 0.9}
    starts, at = np.cumsum([0, *CELLS]), {}
    for row in range(len(found)):
        at[int(starts[found.level[row]] + found.cell[row])] = row
    assert len(found) > 5 and (set(at) == passing if beside != "turn" else set(at) <= passing)
    for _, stride, y, x, number in cells():
        if number not in at:
            continue
        row = at[number]
        assert found.class_id[row] == scores[:, number].argmax() and found.confidence[row] == scores[:, number].max()
        edges = edges_of(sides[:, number], stride, y, x)
        if beside == "turn":
            angle = (float(values["turn"][0, 0, number]) - 0.25) * math.pi
            px, py = ((edges[i] + edges[i + 2]) / 2 - (c + 0.5) * stride for i, c in ((0, x), (1, y)))
            center = (
                (x + 0.5) * stride + px * math.cos(angle) - py * math.sin(angle),
                (y + 0.5) * stride + px * math.sin(angle) + py * math.cos(angle),
            )
            size = edges[2] - edges[0], edges[3] - edges[1]
            assert found.xywha is not None and np.allclose(found.xywha[row], [*center, *size, angle], 1e-6, 1e-5)
            continue
        assert (found.xyxy[row] == np.float32(edges)).all()
        if beside == "points":
            wanted = points_of(values["kp"][0, :, number], stride, y, x)
            assert found.keypoints is not None
            assert np.allclose(found.keypoints[row], wanted, 1e-6, 1e-6)
    if beside == "masks":
        order = [int(starts[level] + cell) for level, cell in zip(found.level, found.cell)]
        planes = next(spec for spec in specs if spec.name == "p")
        wanted = decode.masks(planes, buffers["p"], values["w"][0, :, order], found.xyxy, (SIDE, SIDE))
        assert found.masks is not None and any(crop.any() for crop in wanted.crops)
        assert [np.array_equal(a, b) for a, b in zip(found.masks.crops, wanted.crops)] == [True] * len(found)


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("backend", nl.kernels.backends())
@pytest.mark.parametrize("beside", ["points", "masks"])
def test_encoded_points_and_coefficients_across_levels(
    layouts: Sequence[str], dtype: str, backend: str, beside: str
) -> None:
    """MaixCAM2's: maps of bins and scores before the sigmoid, and one list of the network's own values."""
    rng, n, classes = np.random.default_rng(5), sum(CELLS), 2
    maps = {f"m{s}": (1, 64 + classes, SIDE // s, SIDE // s) for s in STRIDES}
    more = {"points": {"kp": (1, 51, n)}, "masks": {"w": (1, 32, n), "p": (1, 32, 16, 16)}}[beside]
    specs, buffers, values = made(rng, dtype, {**maps, **more}, layouts)
    options = {"points": dict(keypoints=17, across="encoded"), "masks": dict(coefficients=32)}[beside]
    head = decode.yolov8(classes, STRIDES, activation="sigmoid", **options)  # type: ignore[arg-type]
    decoder = decode.Decoder(decode.Head.from_dict(head.to_dict()), specs, (SIDE, SIDE))
    use_backend(decoder, backend)
    found = decoder(buffers, confidence=0.9, iou=1.0)
    starts = np.cumsum([0, *CELLS])
    at = {int(starts[found.level[row]] + found.cell[row]): row for row in range(len(found))}
    passing = 0
    plain = made(np.random.default_rng(5), dtype, {**maps, **more}, layouts)[2]
    for level, stride, y, x, number in cells():
        cell = plain[f"m{STRIDES[level]}"][0, :, y, x]
        score = sigmoid(float(cell[64:].max()))
        passing += score >= 0.9
        if number not in at:
            continue
        row = at[number]
        assert found.confidence[row] == np.float32(score) and found.class_id[row] == cell[64:].argmax()
        edges = edges_of([side_of(cell[16 * k : 16 * k + 16]) for k in range(4)], stride, y, x)
        assert np.allclose(found.xyxy[row], edges, 1e-6, 1e-5)
        if beside == "points":
            assert found.keypoints is not None
            wanted = points_of(plain["kp"][0, :, number], stride, y, x)
            assert np.allclose(found.keypoints[row], wanted, 1e-6, 1e-6)
    assert len(found) == passing > 5
    if beside == "masks":  # as if each level had a map of its own
        each = {
            f"w{s}": values["w"][:, :, a:b].reshape(1, 32, SIDE // s, -1)
            for s, a, b in zip(STRIDES, starts, starts[1:])
        }
        split = [nl.TensorSpec(v.shape, "NCHW", name=name) for name, v in {**values, **each}.items() if v.ndim == 4]
        apart = {spec.name: {**values, **each}[spec.name].astype(np.float32).ravel() for spec in split}
        again = decode.Decoder(head, split, (SIDE, SIDE))(apart, confidence=0.9, iou=1.0)
        assert found.masks is not None and again.masks is not None and len(again) == len(found)
        assert all((a == b).all() for a, b in zip(found.masks.crops, again.masks.crops))


def test_the_report_says_which_output_the_points_are_in() -> None:
    """Channels on one axis may be pixels or the network's own values; those on two are airockchip's pixels."""
    rng = np.random.default_rng(0)
    one = outputs(rng, "NCHW", "float32", (1, 51, sum(CELLS)), "NCW")
    two = outputs(rng, "NCHW", "float32", (1, 17, 3, sum(CELLS)), "ABCD")
    for across, specs, says in (
        ("axes", one, "say across='pixels' or across='encoded'"),
        ("encoded", two, r"those of \(1, 17, 3, ...\) are pixels: if they are not, give a spec of \(1, 51, ...\)"),
    ):
        with pytest.raises(nl.LayoutError, match=says):
            decode.Decoder(decode.yolov8(1, STRIDES, keypoints=17, across=across), specs, (SIDE, SIDE))
    with pytest.raises(nl.NpuLayoutError, match="across: expected one of axes, pixels, encoded, got 'cells'"):
        decode.yolov8(1, across="cells")
    with pytest.raises(nl.NpuLayoutError, match="listed: expected centers or sides, got 'edges'"):
        decode.yolov8(1, listed="edges")


def test_what_does_not_fit() -> None:
    head = decode.yolov8(1, STRIDES, keypoints=17)
    specs = outputs(np.random.default_rng(0), "NCHW", "float32", (1, 17, 2, sum(CELLS)), "ABCD")
    with pytest.raises(
        nl.LayoutError, match=r"keypoints: expected 51 channels before 84 cells in one output, got .*points"
    ):
        decode.Decoder(head, specs, (SIDE, SIDE))
    with pytest.raises(
        nl.NpuLayoutError, match="Part 'box': across: only keypoints, angle, coefficients can be stored"
    ):
        decode.Part("box", 64, across=True)


def test_specs_are_a_sequence_or_a_mapping() -> None:
    spec = nl.TensorSpec((1, 2, 3, 3), name="y")
    assert checked_specs([spec]) == checked_specs({"y": spec}) == (spec,)
    for wrong, says in (
        ([], "specs: expected one for each output, got none"),
        (spec, "specs: expected a sequence"),
        (
            [np.zeros((1, 2, 3, 3))],
            r"specs: expected TensorSpecs, got arrays: .* \[TensorSpec\(x.shape, dtype=x.dtype\)",
        ),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            checked_specs(wrong)


SMALL = {
    "yolov6": (decode.yolov6(5), {"box": 4, "score": 5}),
    "yolov6 of 4": (decode.yolov6(2), {"box": 4, "score": 2}),
    "nanodet": (decode.nanodet(2, (8, 16, 32)), {"box": 32, "score": 2}),
    "scrfd": (decode.scrfd(), {"score": 2, "box": 8, "keypoints": 20}),
    "yolov8": (decode.yolov8(16), {"box": 64, "score": 16}),
    "yolov8-pose": (decode.yolov8(4, keypoints=2), {"box": 64, "score": 4, "keypoints": 6}),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("size", [(32, 32), (32, 64), (64, 32), (32, 96), (64, 64), (128, 64)])
def test_maps_of_small_inputs_are_no_lists(name: str, size: tuple[int, int]) -> None:
    """A map of 1x2 cells has as many channels as another level has cells: it is no list of that level's cells."""
    head, parts = SMALL[name]
    specs = [
        nl.TensorSpec((1, count, size[0] // stride, size[1] // stride), name=f"{role}/{stride}")
        for stride in head.strides
        for role, count in parts.items()
    ]
    for order in (specs, specs[::-1]):
        decoder = decode.Decoder(head, order, size)
        for level in decoder._fitted.levels:
            got = {role: decoder.specs[place.output].name for role, place in level.places.items()}
            assert got == {role: f"{role}/{level.stride}" for role in parts}
