"""Masks against plain loops over pixels in Python's integers, and against float64 formulas."""

from __future__ import annotations

import gc
import math
import pickle
import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest

from npu_layout import NpuLayoutError, Quantization, TensorSpec, decode, kernels
from npu_layout.decode.decoders.decoder import use_backend

LAYOUTS = ("NCHW", "NHWC", "NCHW16c", "NCHW32c", "NCHW4c")


def _along(factor, size):
    """Return, for each pixel of an axis, the cells before and behind its centre, and what the latter counts, times 2
    factor."""
    places = []
    for at in range(size * factor):
        low, rest = divmod(2 * at + 1 - factor, 2 * factor)  # (at + 1/2) / factor - 1/2, times 2 factor
        places.append((min(max(low, 0), size - 1), min(max(low + 1, 0), size - 1), rest))
    return places


def _enlarged(logits, column, row, fx, fy):
    """Return the value at a pixel's centre, times 4 fx fy: exact, because weights are whole numbers."""
    (left, right, q), (t, b, p) = column, row
    above = logits[t][left] * (2 * fx - q) + logits[t][right] * q
    below = logits[b][left] * (2 * fx - q) + logits[b][right] * q
    return above * (2 * fy - p) + below * p


def _expected(prototypes, c, box, size, change=lambda v: v):
    k, h, w = prototypes.shape
    weights, planes = [int(v) for v in c], prototypes.astype(int).tolist()
    logits = [[change(sum(weights[i] * planes[i][y][x] for i in range(k))) for x in range(w)] for y in range(h)]
    fx, fy = size[1] // w, size[0] // h
    columns, rows = _along(fx, w), _along(fy, h)
    result = np.zeros(size, bool)
    for y in range(size[0]):
        for x in range(size[1]):
            if box is None or (box[0] <= x < box[2] and box[1] <= y < box[3]):
                result[y, x] = _enlarged(logits, columns[x], rows[y], fx, fy) > 0
    return result


def _made(rng, layout, dtype, channels, h, w):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max + 1
    zero = int(rng.integers(low, high))
    spec = TensorSpec((1, channels, h, w), layout, dtype, quantization=Quantization(0.03, zero))
    stored = rng.integers(low, high, (channels, h, w))
    flat = rng.integers(low, high, spec.size).astype(dtype)
    flat[spec.offset(0, *np.indices(stored.shape))] = stored
    return spec, flat, stored - zero


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("factor", [1, 2, 4, 5])
def test_masks_are_exact(layout, dtype, factor, backend, activate):
    activate(backend)
    rng = np.random.default_rng(factor)
    for channels, h, w in ((32, 5, 9), (16, 3, 20), (5, 4, 3), (1, 1, 1)):
        spec, flat, prototypes = _made(rng, layout, dtype, channels, h, w)
        size = (h * factor, w * factor)
        c = rng.integers(-128, 128, (6, channels)).astype(np.int8)
        zero = int(rng.integers(-128, 128))
        ends = rng.uniform(-3, max(size) + 3, (6, 4))
        boxes = np.concatenate([np.minimum(ends[:, :2], ends[:, 2:]), np.maximum(ends[:, :2], ends[:, 2:])], 1)
        boxes[0] = -9, -9, 999, 999
        boxes[1] = np.rint(boxes[1])
        found = decode.masks(spec, flat, c, boxes, size, zero_point=zero)
        for i in range(6):
            expected = _expected(prototypes, c[i].astype(int) - zero, boxes[i], size)
            assert np.array_equal(found.full(i), expected)
        assert np.array_equal(found.dense().sum(axis=(1, 2)), [crop.sum() for crop in found])


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_sum_of_nothing_is_outside(dtype, backend, activate):
    """The same numbers in float32, whose products are rounded, add up to 6e-9: a scale must not set a pixel."""
    activate(backend)
    weights, stored = np.array([[9, -7, -2, 8]], np.int8), np.array([6, 4, 9, -1])
    assert int(weights[0].astype(int) @ stored) == 0
    spec = TensorSpec((1, 4, 1, 1), "NCHW", dtype, quantization=Quantization(0.0235, 0))
    real = weights.astype(np.float32) * np.float32(0.0147), stored.astype(np.float32) * np.float32(0.0235)
    rounded = real[0][0].astype(np.float64) @ real[1].astype(np.float64)
    assert 1e-9 < rounded < 1e-8
    for factor in (1, 4):
        box, size = np.array([[0, 0, factor, factor]]), (factor, factor)
        assert not decode.masks(spec, stored.astype(dtype), weights, box, size).full(0).any()
        assert decode.masks(spec, stored.astype(dtype), real[0], box, size).full(0).all()  # what these numbers say


def test_sums_of_floats_do_not_depend_on_the_order_of_axes():
    rng = np.random.default_rng(2)
    half = rng.normal(0, 1, (16, 24, 24)).astype(np.float32)
    values = np.concatenate([half, half[::-1]])  # sums are 0 but for rounding, which depends on the order of additions
    weights = rng.normal(0, 1, (5, 16)).astype(np.float32)
    coefficients = np.concatenate([weights, -weights[:, ::-1]], 1)
    boxes, found = np.tile([0, 0, 48, 48], (5, 1)), set()
    for axes in ("NCHW", "NHWC", "HWC", "NWHC", "NHCW"):
        moved = values.transpose(["CHW".index(a) for a in axes if a != "N"])
        spec = TensorSpec.of_storage([{"N": 1, "C": 32}.get(a, 24) for a in axes], axes, "float32")
        found.add(decode.masks(spec, moved.copy().ravel(), coefficients, boxes, (48, 48)).dense().tobytes())
    assert len(found) == 1 and any(found.pop())


def test_probabilities_need_the_scale_of_coefficients():
    spec = TensorSpec((1, 2, 4, 4), "NCHW", "int8")
    with pytest.raises(NpuLayoutError, match=r"^coefficients: expected real numbers .*got int8; give"):
        decode.masks(
            spec, np.zeros(32, np.int8), np.ones((1, 2), np.int8), [[0, 0, 4, 4]], (16, 16), rule="probabilities"
        )


@pytest.mark.parametrize("rule", ["probabilities", "cells"])
def test_other_rules(rule):
    rng = np.random.default_rng(3)
    spec, flat, prototypes = _made(rng, "NCHW16c", "int8", 8, 6, 6)
    c, size = rng.integers(-9, 9, (1, 8)).astype(np.int8), (24, 24)
    box = np.array([[4.0, 3.0, 21.0, 18.0]])
    found = decode.masks(spec, flat, c.astype(np.float64) * 0.01, box, size, rule=rule).full(0)
    if rule == "probabilities":
        expected = _expected(prototypes, c[0], box[0], size, lambda v: Fraction(1 / (1 + math.exp(-0.0003 * v)) - 0.5))
    else:
        cut = prototypes * 0  # the box in cells: 1 .. 5.25 across, 0.75 .. 4.5 down
        cut[:, 1:5, 1:6] = prototypes[:, 1:5, 1:6]
        expected = _expected(cut, c[0], None, size)
        assert expected[:, 21:].any() and expected[18:].any()  # beyond the box
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("factors", [(1, 1), (2, 2), (3, 3), (4, 4), (2, 5), (4, 1)])
def test_cells_cut_out_before_they_are_enlarged(factors, dtype):
    """Every pixel of the input, as ultralytics' older process_mask leaves it: nothing is cut out afterwards."""
    rng = np.random.default_rng(sum(factors))
    h, w = 5, 7
    size = h * factors[0], w * factors[1]
    spec, flat, prototypes = _made(rng, "NCHW4c", "int8", 4, h, w)
    if dtype == "float32":
        spec = TensorSpec((1, 4, h, w))
        flat = prototypes.astype(np.float32).ravel()
    c = rng.integers(-9, 9, (40, 4)).astype(np.int8 if dtype == "int8" else np.float64)
    ends = np.sort(rng.uniform(-4, max(size) + 4, (40, 2, 2)), 1)
    ends[::3] = np.rint(ends[::3])
    boxes = ends.reshape(40, 4)
    boxes[5], boxes[6] = (1, 1, 1, 1), (0, 0, size[1], size[0])
    found = decode.masks(spec, flat, c, boxes, size, rule="cells")
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        cut = np.zeros_like(prototypes)
        for y in range(h):
            for x in range(w):
                if x0 <= x * factors[1] < x1 and y0 <= y * factors[0] < y1:
                    cut[:, y, x] = prototypes[:, y, x]
        assert np.array_equal(found.full(i), _expected(cut, c[i], None, size)), (i, boxes[i])


def test_float_prototypes_and_what_is_refused():
    spec = TensorSpec((1, 2, 4, 4), "NCHW", "float32")
    flat = np.r_[np.ones(16), -np.ones(16)].astype(np.float32)
    found = decode.masks(
        spec, flat, np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0, 0, 4, 4], [np.nan] * 4]), (16, 16)
    )
    assert found.full(0).sum() == 16 and found.crops[1].shape == (0, 0) and not found.full(1).any()
    assert len(found[:1]) == 1 and found[np.array([False, True])].crops[0].size == 0
    with pytest.raises(NpuLayoutError, match=r"a whole multiple of 4x4.*; got 17x16"):
        decode.masks(spec, flat, np.ones((1, 2)), np.zeros((1, 4)), (17, 16))
    with pytest.raises(NpuLayoutError, match=r"\(n, 2\)"):
        decode.masks(spec, flat, np.ones((1, 3)), np.zeros((1, 4)), (16, 16))
    with pytest.raises(NpuLayoutError, match="rule"):
        decode.masks(spec, flat, np.ones((1, 2)), np.zeros((1, 4)), (16, 16), rule="half")
    assert len(decode.masks(spec, flat, np.ones((0, 2)), np.zeros((0, 4)), (16, 16))) == 0


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("axes", ["NHWC", "HWC", "CHW", "NWHC"])
def test_prototypes_with_their_axes_in_any_order(axes, dtype):
    """As TFLite and Hailo give them: channels last in the tensor itself."""
    rng = np.random.default_rng(len(axes))
    extents = {"N": 1, "C": 16, "H": 12, "W": 20}
    quantization = Quantization(0.03, 5) if dtype == "int8" else None
    usual = TensorSpec((1, 16, 12, 20), "NCHW", dtype, quantization=quantization)
    other = TensorSpec.of_storage([extents[a] for a in axes], axes, dtype, quantization=quantization)
    values = rng.integers(-60, 60, (16, 12, 20)).astype(np.float32) * 0.03
    moved = values.transpose(["CHW".index(a) for a in axes if a != "N"])
    coefficients, boxes = rng.integers(-99, 99, (3, 16)), np.float32([[3, 2, 70, 40], [0, 0, 80, 48], [9, 9, 30, 30]])
    wanted = decode.masks(usual, usual.pack(values[None]), coefficients, boxes, (48, 80))
    found = decode.masks(other, other.pack(moved.reshape(other.shape)), coefficients, boxes, (48, 80))
    assert all(np.array_equal(a, b) and a.any() for a, b in zip(found, wanted))
    head = decode.yolov8(2, (8,), coefficients=16)
    parts = [TensorSpec((1, n, 6, 10), "NCHW", dtype, name=f"p{n}") for n in (64, 2, 16)]
    proto = other.replace(name="proto")
    assert (
        len(decode.Decoder(head, [*parts, proto], (48, 80))([np.zeros(s.size, s.stored) for s in [*parts, proto]], 1))
        == 0
    )


SIDE, COUNT = 320, 32


def _segmented(dtype="int8"):
    """A decoder of boxes (edges in pixels) with masks, and outputs of `boxes` in its first cells."""
    boxes = decode.Boxes("xyxy", unit="pixel")
    parts = (decode.Part("box", 4), decode.Part("score", 2), decode.Part("coefficients", COUNT))
    head = decode.Head(
        "any", 2, (8,), (decode.Form("maps", parts, boxes),), prototypes=decode.Prototypes(COUNT),
        suppression=decode.Suppression("none"),
    )  # fmt: skip
    cells, quantization = SIDE // 8, None if dtype == "float32" else Quantization(1 / 64, 3)
    shapes = {"box": (1, 4, cells, cells), "score": (1, 2, cells, cells), "weights": (1, COUNT, cells, cells)}
    specs = [TensorSpec(shape, "NCHW", name=name) for name, shape in shapes.items()]
    specs[2] = specs[2].replace(dtype=dtype, quantization=quantization)
    side = SIDE // 4
    specs.append(TensorSpec((1, COUNT, side, side), "NCHW16c", dtype, quantization=quantization, name="prototypes"))
    rng = np.random.default_rng(5)
    tail = [spec.pack(rng.normal(0, 1, spec.shape).astype(np.float32)) for spec in specs[2:]]

    def outputs(edges):
        box, score = (np.zeros(spec.shape, np.float32) for spec in specs[:2])
        box.reshape(4, -1)[:, : len(edges)] = np.transpose(edges)
        score[0, 1].reshape(-1)[: len(edges)] = np.linspace(0.9, 0.5, len(edges))
        return [box.ravel(), score.ravel(), *tail]

    return decode.Decoder(head, specs, (SIDE, SIDE)), outputs


def _boxes(rng, n, least, most):
    corner, size = rng.uniform(0, SIDE - most, (n, 2)), rng.uniform(least, most, (n, 2))
    return np.concatenate([corner, corner + size], 1)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("backend", kernels.backends())
def test_masks_of_out_are_those_without_it(backend, dtype, activate):
    activate(backend)
    decoder, outputs = _segmented(dtype)
    use_backend(decoder, backend)
    rng = np.random.default_rng(6)
    out = None
    for n, least, most in ((20, 60, 90), (9, 3, 200), (0, 1, 2), (30, 10, 60), (30, 100, 250), (12, 60, 90)):
        buffers = outputs(_boxes(rng, n, least, most))
        alone = decoder(buffers, limit=30)
        out = decoder(buffers, limit=30, out=out)
        assert len(out) == len(alone.masks) == n
        assert np.array_equal(out.masks.offsets, alone.masks.offsets) and out.masks.offsets.dtype == np.int64
        assert all(np.array_equal(a, b) for a, b in zip(out.masks, alone.masks))
        assert n == 0 or (any(crop.any() for crop in out.masks) and out.masks.dense().sum() > 0)


def test_masks_use_the_memory_of_out_and_grow_to_the_largest():
    decoder, outputs = _segmented()
    rng = np.random.default_rng(7)
    many, few = outputs(_boxes(rng, 30, 80, 120)), outputs(_boxes(rng, 10, 20, 40))
    first = decoder(many, limit=40)
    again = decoder(few, limit=40, out=first)
    assert np.shares_memory(again.masks.crops[0], first.masks.crops[0])
    small = decoder(few, limit=40)
    larger = decoder(many, limit=40, out=small)
    assert not np.shares_memory(larger.masks.crops[0], small.masks.crops[0])
    assert np.shares_memory(decoder(few, limit=40, out=larger).masks.crops[0], larger.masks.crops[0])
    kept = again[[3, 1]]
    assert np.shares_memory(kept.masks.crops[0], again.masks.crops[3])


@pytest.mark.parametrize("rule", ["logits", "probabilities", "cells"])
@pytest.mark.parametrize("backend", kernels.backends())
def test_masks_alone_use_the_memory_of_earlier_ones(rule, backend, activate):
    activate(backend)
    rng, spec = np.random.default_rng(8), TensorSpec((1, 5, 16, 16), "NCHW", "int8")
    flat = rng.integers(-128, 128, spec.size).astype(np.int8)
    kind = np.float32 if rule == "probabilities" else np.int8
    out = None
    for n, most in ((9, 40), (3, 60), (0, 1), (9, 30)):
        corner = rng.integers(0, 4, (n, 2))
        given = rng.integers(-9, 9, (n, 5)).astype(kind), np.concatenate([corner, corner + most], 1), (64, 64)
        alone = decode.masks(spec, flat, *given, rule=rule)
        before = out
        out = decode.masks(spec, flat, *given, rule=rule, out=out)
        assert len(out) == n and np.array_equal(out.offsets, alone.offsets)
        assert all(np.array_equal(a, b) for a, b in zip(out, alone))
        if before is not None and len(before) and n:
            assert np.shares_memory(out.crops[0], before.crops[0])
    with pytest.raises(NpuLayoutError, match="out"):
        decode.masks(spec, flat, *given, out=[])


def test_pickled_masks_are_their_crops_alone():
    decoder, outputs = _segmented()
    found = decoder(outputs(_boxes(np.random.default_rng(9), 30, 80, 120)), limit=40).masks
    written = pickle.dumps(found)
    assert len(written) < 1.2 * sum(crop.nbytes for crop in found) + 8192
    assert all(np.array_equal(a, b) for a, b in zip(pickle.loads(written), found))


def _numpys():
    """Bytes of numpy's arrays that are traced."""
    domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([domain]).traces)


@pytest.mark.skipif(kernels.active() == "numpy", reason="numpy unpacks what the kernels read in place")
def test_a_second_call_allocates_nothing_that_grows():
    """What is held stays as it is; what is held for a while does not depend on the masks' pixels."""
    decoder, outputs = _segmented()
    rng = np.random.default_rng(8)
    n = 40
    buffers = [outputs(_boxes(rng, n, side, side + 1)) for side in (200, 30, 120, 190)]
    pixels = int(sum(crop.size for crop in decoder(buffers[0], limit=n).masks))
    whole = np.empty((SIDE, SIDE), bool)
    tracemalloc.start()
    try:
        found = decoder(buffers[0], limit=n)
        found = decoder(buffers[1], limit=n, out=found)
        gc.collect()
        held, peaks = _numpys(), []
        for at in (2, 1, 3, 2, 0, 3):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            found = decoder(buffers[at], limit=n, out=found)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
        gc.collect()
        assert _numpys() == held
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert found.masks.full(0, whole) is whole
        assert tracemalloc.get_traced_memory()[1] - before < 2000
    finally:
        tracemalloc.stop()
    work = 4 * (SIDE // 4 * (SIDE // 4 + 2) + 2 * (SIDE // 4 + 4))  # the kernels' cells of one mask
    assert max(peaks) < work + 1500 * n < pixels / 10, (peaks, work, pixels)


@pytest.mark.parametrize("rule", ["logits", "probabilities", "cells"])
@pytest.mark.parametrize("side", [8, 16, 24])
def test_prototypes_that_are_no_numbers_warn_of_nothing(rule: str, side: int) -> None:
    """Pixels that they take part in are outside; those beside them are as without."""
    real = np.ones((1, 2, 8, 8), np.float32)
    real[0, 0, 2, 3], real[0, 1, 6, 6] = np.nan, np.inf
    real.view(np.uint32)[0, 0, 5, 0] = 0x7F800001  # signalling
    spec = TensorSpec(real.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = decode.masks(spec, real.ravel(), np.array([[1, 0.0]]), [[0, 0, side, side]], (side, side), rule=rule)
    factor, outside = side // 8, np.zeros((side, side), bool)
    middles = (np.arange(side) + 0.5) / factor - 0.5
    for y, x in ((2, 3), (5, 0), (6, 6)):
        near = [(np.abs(middles - at) < 1) for at in (y, x)]
        outside |= np.outer(*near)
    assert np.array_equal(found[0], ~outside)


@pytest.mark.parametrize("seed", range(80))
def test_every_width_and_number_of_channels_is_exact(seed: int) -> None:
    """Rows shorter than a vector, tails, odd channels, and boxes that end anywhere, against products of whole maps."""
    rng = np.random.default_rng(seed)
    channels, h = int(rng.choice([2, 3, 7, 16, 31, 32, 33, 64])), int(rng.choice([1, 2, 5, 20]))
    w, factor = int(rng.choice([1, 3, 8, 15, 16, 17, 20, 33, 40])), int(rng.choice([1, 2, 4, 4, 4, 8]))
    spec, flat, prototypes = _made(rng, str(rng.choice(LAYOUTS)), str(rng.choice(["int8", "uint8"])), channels, h, w)
    c = rng.integers(-128, 128, (5, channels)).astype(np.int16)
    windows = np.sort(rng.integers(0, [[[w * factor + 1], [h * factor + 1]]], (5, 2, 2)), 2)
    windows = windows.transpose(0, 2, 1).reshape(5, 4).astype(np.int32)
    wanted = []
    for weights, (x0, y0, x1, y1) in zip(c, windows):
        logits = np.tensordot(weights.astype(np.int64), prototypes, 1)
        for n, axis in ((h, 0), (w, 1)):  # times 2 factor along each axis
            at = 2 * np.arange(n * factor) + 1 - factor
            low, part = at // (2 * factor), at % (2 * factor)
            ends = (np.take(logits, np.clip(low + k, 0, n - 1), axis) for k in (0, 1))
            parts = (np.expand_dims(p, 1 - axis) for p in (2 * factor - part, part))
            logits = sum(end * p for end, p in zip(ends, parts))
        wanted.append((logits > 0)[y0:y1, x0:x1].reshape(-1))
    for backend in kernels.backends()[:-1]:
        out = np.full(sum(map(len, wanted)) + 8, 9, np.uint8)
        place = kernels.FeatureMap(spec.dtype, *_tables(spec))
        zero = int(spec.quantization.zero_point)
        assert kernels.masks(place, flat, zero, c, windows, factor, out[:-8], backend)
        assert np.array_equal(out[:-8], np.concatenate(wanted)) and (out[-8:] == 9).all()


def _tables(spec):
    """Return the offsets of channels, rows and columns, whose sum an element is at."""
    _, channels, h, w = spec.shape
    start = spec.offset(0, 0, 0, 0)
    rows, columns = (
        [spec.offset(0, 0, y, 0) - start for y in range(h)],
        [spec.offset(0, 0, 0, x) - start for x in range(w)],
    )
    return tuple(np.array(v, np.int64) for v in ([spec.offset(0, c, 0, 0) for c in range(channels)], rows, columns))


def test_no_instance_has_no_masks() -> None:
    """Whether it is asked for alone, or a decoder found none; the prototypes still have to fit."""
    spec = TensorSpec((1, 32, 16, 16), "NHWC", "int8", name="prototypes")
    none = decode.masks(spec, np.zeros(spec.size, np.int8), np.zeros((0, 32), np.int8), np.zeros((0, 4)), (64, 64))
    assert len(none) == 0 and none.offsets.shape == (0, 2) and none.dense().shape == (0, 64, 64)
    with pytest.raises(NpuLayoutError, match="buffer"):
        decode.masks(spec, np.zeros(9, np.int8), np.zeros((0, 32), np.int8), np.zeros((0, 4)), (64, 64))
    specs = [TensorSpec((1, n, 64 // s, 64 // s), name=f"{n}/{s}") for s in (8, 16, 32) for n in (64, 3, 32)]
    decoder = decode.Decoder(decode.yolov8(3, coefficients=32), [*specs, spec], (64, 64))
    buffers = [np.zeros(one.size, one.stored) for one in decoder.specs]
    buffers[1][5] = 0.9
    one = decoder(buffers, 0.5)
    found = decoder([b * 0 for b in buffers], 0.5, out=one)
    assert len(one.masks) == 1 and len(found.masks) == 0 and found.masks.offsets.shape == (0, 2)


def test_prototypes_with_a_zero_point_that_is_no_integer() -> None:
    """Half a step from 0: what is stored as 0 is outside or inside by half a step times the coefficient."""
    boxes = np.float32([[0, 0, 16, 16]])
    for zero, inside in ((0.5, False), (-0.5, True), (0.0, False)):
        spec = TensorSpec((1, 1, 4, 4), "NCHW", "int8", quantization=Quantization(0.5, zero))
        found = decode.masks(spec, np.zeros(16, np.int8), np.int16([[3]]), boxes, (16, 16))
        assert (found.crops[0] == inside).all()
