"""What a head becomes for the kernels: tables of places, checked element by element, and what they decode."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.decoders import compiling
from npu_layout.decode.decoders.decoder import use_backend
from tests.support.compiled_heads import SIZE, described, maps
from tests.support.scenes import NO_PROBABILITIES


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NHWC8c", "CHWN", "NHCW"])
def test_every_element_is_where_the_spec_says(layout: str) -> None:
    head = decode.yolov8(5, (8, 16), keypoints=3)
    specs = maps(layout, "int8", (64, 5, 9), nl.Quantization(0.1, -3))
    made = described(head, specs)
    assert made is not None and made.points == 9 and made.nbytes == tuple(spec.nbytes for spec in specs)
    choose = random.Random(layout)
    for grid in made.levels:
        (anchor,) = grid.anchors
        assert grid.points == kernels.Points("cells", 3, "sigmoid", 0.1) and anchor.objectness is None
        for source in (anchor.score, anchor.box, anchor.points):
            assert source is not None
            spec, map_ = specs[source.buffer], source.map
            assert len(map_.channels) == spec.shape[1] and len(map_.rows) * len(map_.columns) == grid.columns**2
            for _ in range(20):
                c, y, x = (
                    choose.randrange(spec.shape[1]),
                    choose.randrange(grid.columns),
                    choose.randrange(grid.columns),
                )
                assert map_.channels[c] + map_.rows[y] + map_.columns[x] == spec.offset(0, c, y, x)


def test_what_the_kernels_do_not_read() -> None:
    head = decode.yolov8(5, (8, 16))
    for dtype in ("int4", "float64", "int64"):
        assert described(head, maps("NCHW", dtype, (64, 5))) is None


def _scales(n: int) -> list[float]:
    return [1 + k / 99 for k in range(n)]


BEYOND = {  # {what: the head with n more than the kernels count, channels of its outputs}
    "anchors": lambda n: (
        decode.retinanet(1, (8,), scales=_scales(64 + n), ratios=[1.0]),
        (4 * (64 + n), 64 + n),
    ),
    "bins": lambda n: (decode.yolov8(1, (8,), bins=64 + n), (4 * (64 + n), 1)),
    "points": lambda n: (decode.yolov8(1, (8,), keypoints=1365 + n), (64, 1, 3 * (1365 + n))),
}


@pytest.mark.parametrize("what", BEYOND)
def test_what_is_more_than_the_kernels_count_is_decoded_by_numpy(what: str) -> None:
    for n in (0, 1):
        head, channels = BEYOND[what](n)
        specs = [nl.TensorSpec((1, c, 2, 2), name=str(c)) for c in channels]
        assert (described(head, specs, (16, 16)) is None) == bool(n)
        values = [np.zeros(spec.size, np.float32) for spec in specs]
        values[1][:] = -9.0
        values[1][1] = 0.75 if head.forms[0].parts[1].activation == "none" else 9.0
        found = decode.Decoder(head, specs, (16, 16))(values)
        assert (found.cell.tolist(), found.class_id.tolist(), found.anchor.tolist()) == ([1], [0], [0])


def test_so_many_cells_are_decoded_by_numpy() -> None:
    for side in (4096, 4097):
        specs = [nl.TensorSpec((1, c, side, side), name=str(c)) for c in (4, 1)]
        made = described(decode.yolov6(1, (2,)), specs, (2 * side, 2 * side))
        assert (made is None) == (side > 4096)


def test_whether_a_head_is_decoded_whole_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(compiling, "decoded_whole", lambda *given: asked.append(given) or True)
    head = decode.yolov8(5, (8, 16), coefficients=7)
    prototypes = nl.TensorSpec((1, 7, 8, 8), "NCHW", "int8", name="prototypes")
    made = described(head, [*maps("NCHW", "int8", (64, 5, 7)), prototypes])
    assert made is not None and len(made.levels) == 2 and made.coefficients == 7 and len(asked) == 1


def drawn_heads(choose: random.Random) -> tuple[decode.Head, list[nl.TensorSpec], dict[str, list[str]]]:
    """A head, float32 specs of its outputs, and which output is which part where extents do not say it."""
    grids = [(s, SIZE[0] // s) for s in (8, 16)]
    family = choose.choice(("maps", "list", "anchors", "points", "turned", "centers"))
    dfl = choose.choice((1, 3, 8, 16))
    if family == "list":
        return decode.yolov8(5, (8, 16)), [nl.TensorSpec((1, 9, 20), "NCW", name="all")], {}
    if family == "anchors":
        head = decode.yolov5(3, (8, 16), decode.yolov5().anchors[:2])
        return head, [nl.TensorSpec((1, 3, 8, n, n), nl.Layout.plain("NACHW"), name=f"{s}") for s, n in grids], {}
    if family == "points":
        head = decode.yolov8(1, (8, 16), bins=dfl, keypoints=7)
        specs = [nl.TensorSpec((1, k, n, n), "NCHW", name=f"{s}{k}") for s, n in grids for k in (4 * dfl, 1)]
        return head, [*specs, nl.TensorSpec((1, 7, 3, 20), nl.Layout.plain("NCHW"), name="points")], {}
    if family == "centers":
        parts = {"score": 3, "box": 2, "offset": 2}
        specs = [nl.TensorSpec((1, n, 8, 8), "NCHW", name=role) for role, n in parts.items()]
        return decode.centernet_head(3), specs, {role: [role] for role in parts}
    make, parts = {
        "maps": (decode.yolov8, {"box": 4 * dfl, "score": 5}),
        "turned": (decode.yolov8_obb, {"box": 4 * dfl, "score": 5, "angle": 1}),
    }[family]
    specs = [nl.TensorSpec((1, k, n, n), "NCHW", name=f"{role}{s}") for s, n in grids for role, k in parts.items()]
    head = make(
        5, (8, 16), bins=dfl, activation=choose.choice(("none", "sigmoid")), labels=choose.choice(("best", "all"))
    )
    return head, specs, {role: [f"{role}{s}" for s, _ in grids] for role in parts}


@pytest.mark.filterwarnings("ignore:head .* its boxes are in pixels")  # numbers at random are no network's
@pytest.mark.parametrize("seed", range(60))
@NO_PROBABILITIES
def test_scales_along_any_axis_decode_as_what_they_mean(seed: int) -> None:
    """The same detections, bit by bit, with every backend, and of float32 values in another layout."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    head, plain, outputs = drawn_heads(choose)
    specs, buffers = [], []
    for spec in plain:
        dtype = choose.choice(("int8", "uint8", "int16", "uint16"))
        info, axis = np.iinfo(dtype), choose.randrange(-len(spec.shape), len(spec.shape))
        n = spec.shape[axis]
        scales = rng.uniform(0.5, 2, n) * 256 / (info.max - info.min) * choose.choice((0.004, 0.02))
        zeros = rng.integers(info.min // 2, info.max // 2 + 1, n)
        layout = (
            spec.layout
            if len(spec.shape) != 4 or spec.name == "points"
            else choose.choice(("NCHW", "NHWC", "NCHW16c", "NHCW8w4c"))
        )
        q = nl.Quantization(scales, zeros, axis) if choose.random() < 0.8 else nl.Quantization(scales[0], zeros[0])
        specs.append(nl.TensorSpec(spec.shape, layout, dtype, quantization=q, name=spec.name))
        buffers.append(rng.integers(info.min, info.max + 1, specs[-1].size).astype(dtype))
    twins = [spec.unpack(buffer).reshape(-1) for spec, buffer in zip(specs, buffers)]
    decoder = decode.Decoder(head, specs, SIZE, outputs=outputs)
    assert decoder._made is not None
    for confidence in (0.05, 0.5):
        try:
            wanted = decode.Decoder(head, plain, SIZE, outputs=outputs)(twins, confidence, limit=2000)
            for backend in kernels.backends():
                use_backend(decoder, backend)
                found = decoder(buffers, confidence, limit=2000)
                for name in ("xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "xywha"):
                    mine, theirs = getattr(found, name), getattr(wanted, name)
                    assert (mine is None) == (theirs is None) and np.array_equal(
                        mine, theirs, equal_nan=theirs is not None
                    )
        except nl.NpuLayoutError as error:
            assert "no stored value reaches" in str(error)


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 16, 63, 64])
def test_powers_of_all_floats_have_the_same_bits(bins: int) -> None:
    """Sides that overflow, underflow and are no numbers, with the loops of every instruction set."""
    rng = np.random.default_rng(bins)
    head = decode.yolov8(1, (8,), bins=bins)
    specs = [nl.TensorSpec((1, n, 12, 12), "NHWC", name=f"{i}") for i, n in enumerate((4 * bins, 1))]
    box = rng.normal(0, 1, (144, 4 * bins)) * 10.0 ** rng.integers(-3, 4, (144, 1))
    box[:20] += rng.choice([0, -708, -709, 800, np.inf, -np.inf, np.nan], (20, 4 * bins))
    outputs = {"box": ["0"], "score": ["1"]}
    decoder = decode.Decoder(head, specs, (96, 96), outputs=outputs)
    results = []
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder([box.astype(np.float32).ravel(), np.ones(144, np.float32)], 0.5, 1.0, 144)
        results.append(found.xyxy)
    assert all(np.array_equal(one, results[-1], equal_nan=True) for one in results)
    assert np.isfinite(results[-1][20:]).all()


@pytest.mark.parametrize("kind", ["greedy", "none"])
@pytest.mark.parametrize("dtype", ["int64", "int4", "float64"])
def test_boxes_of_other_dtypes_are_read_for_candidates_alone(dtype: str, kind: str) -> None:
    """Boxes of a scale for each channel, beside scores of float32."""
    rng, sizes = np.random.default_rng(3), (8, 4, 2)
    scales = nl.Quantization(rng.uniform(0.1, 0.4, 64), np.zeros(64), axis=1)
    specs = [
        nl.TensorSpec((1, 64, n, n), "NHWC", dtype, quantization=None if dtype == "float64" else scales, name=f"box{n}")
        for n in sizes
    ]
    specs += [nl.TensorSpec((1, 3, n, n), "NHWC", name=f"score{n}") for n in sizes]
    values = [rng.integers(-7, 8, spec.shape) / (1 if k > 2 else 4) for k, spec in enumerate(specs)]
    buffers = [spec.pack(np.float32(v)) for spec, v in zip(specs, values)]
    head = dataclasses.replace(decode.yolov8(3, activation="sigmoid"), suppression=decode.Suppression(kind))
    floats = [spec.replace(dtype="float32", quantization=None) for spec in specs]
    decoder, plain = (decode.Decoder(head, each, (64, 64)) for each in (specs, floats))
    assert decoder._made is not None and decoder._whole == (dtype == "int4") and plain._whole
    unpacked = [np.asarray(spec.unpack(buffer), np.float32) for spec, buffer in zip(specs, buffers)]
    wanted = plain([spec.pack(values) for spec, values in zip(floats, unpacked)])
    assert len(wanted) > 10
    for backend in kernels.backends():
        use_backend(decoder, backend)
        found = decoder(buffers)
        for field in ("xyxy", "confidence", "class_id", "level", "cell"):
            assert getattr(found, field).tobytes() == getattr(wanted, field).tobytes(), (backend, field)
