"""The values and the largest score that stored integers can mean, against TensorSpec.unpack of every code."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.outputs.fitting import fit
from npu_layout.decode.outputs.ranges import codes, largest_score, largest_value, span_of, values_of


@pytest.mark.parametrize("dtype, low, high", [("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767)])
def test_codes_are_all_values_of_the_dtype(dtype: str, low: int, high: int) -> None:
    spec = nl.TensorSpec((1, 4), "NC", dtype, quantization=nl.Quantization(0.25, 3))
    found = codes(spec)
    assert found is not None and found.dtype == dtype and found.tolist() == list(range(low, high + 1))
    every = nl.TensorSpec((1, len(found)), "NC", dtype, quantization=nl.Quantization(0.25, 3))
    assert np.array_equal(values_of(spec, found), every.unpack(found))


def test_codes_of_others() -> None:
    assert [n for n in codes(nl.TensorSpec((1, 4), "NC", "int4"))] == list(range(-8, 8))  # type: ignore[union-attr]
    assert [n for n in codes(nl.TensorSpec((1, 4), "NC", "uint4"))] == list(range(16))  # type: ignore[union-attr]
    for dtype in ("float32", "float16", "int32", "bfloat16"):
        assert codes(nl.TensorSpec((1, 4), "NC", dtype)) is None


def test_a_row_of_values_for_each_scale() -> None:
    quantization = nl.Quantization([0.5, 2.0, 0.125], [1, -2, 0], axis=1)
    spec = nl.TensorSpec((1, 3, 2, 2), "NCHW", "int8", quantization=quantization)
    stored = np.arange(-128, 128).astype(np.int8)
    rows = values_of(spec, stored)
    for row, scale, zero in zip(rows, (0.5, 2.0, 0.125), (1, -2, 0)):
        assert np.array_equal(row, (stored.astype(np.float64) - zero) * scale)


def largest(head: decode.Head, dtype: str, scale: float, zero: int) -> float:
    quantization = None if dtype.startswith("f") else nl.Quantization(scale, zero)
    channels = (64, 2) if head.name == "yolov8" else (21,)
    specs = [
        nl.TensorSpec((1, n, 32 // s, 32 // s), "NCHW", dtype, quantization=quantization, name=f"{n}/{s}")
        for s in (8, 16, 32)
        for n in channels
    ]
    return largest_score(head, fit(head, specs, (32, 32), {}), specs)


def test_the_largest_score() -> None:
    most = np.float32(127 - 10) * np.float32(0.125)
    assert largest(decode.yolov8(2), "int8", 0.125, 10) == most
    assert largest(decode.yolov8(2, activation="sigmoid"), "int8", 0.125, 10) == pytest.approx(
        1 / (1 + math.exp(-most))
    )
    assert largest(decode.yolov5(2), "int8", 0.125, 10) == float(most) * float(most)
    assert largest(decode.yolov8(2), "float32", 1, 0) == math.inf
    assert largest(decode.yolov8(2, activation="softmax"), "int8", 0.001, 0) == pytest.approx(
        1 / (1 + math.exp(-0.255))
    )
    assert largest(decode.yolov8(2, activation="softmax"), "float32", 1, 0) == 1
    assert largest(decode.yolov8(2, activation="sigmoid"), "float16", 1, 0) == 1


def scores_of(head: decode.Head, spec: nl.TensorSpec, first: int, activation: str) -> float:
    """The largest of classes by loops: each class with its greatest integer, all others with their least."""
    given, info = spec.quantization, np.iinfo(spec.stored)
    assert given is not None
    count = head.classes + (head.background is not None)
    scales, zeros = (np.broadcast_to(v, spec.shape[1]) for v in (given.scale, given.zero_point))
    means = [
        [float(np.float32(np.float32(code - int(zeros[c])) * np.float32(scales[c]))) for code in (info.min, info.max)]
        for c in range(first, first + count)
    ]
    found = []
    for c, (_, high) in enumerate(means):
        by = {"none": high, "sigmoid": 1 / (1 + math.exp(-high))}
        by["softmax"] = 1 / (1 + sum(math.exp(low - high) for k, (low, _) in enumerate(means) if k != c))
        if c != head.background:
            found.append(by[activation])
    return max(found)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("activation", ["none", "sigmoid", "softmax"])
def test_scales_of_other_channels_do_not_count(activation: str, dtype: str) -> None:
    """Boxes and scores in one map: boxes reach 12, scores do not, and a threshold beyond them was taken."""
    rng, classes = np.random.default_rng(5), 3
    head = decode.yolov8(classes, (8,), activation=activation)
    for _ in range(20):
        scales = np.concatenate([rng.uniform(0.05, 0.2, 64), rng.uniform(0.0005, 0.02, classes)]).astype(np.float32)
        zeros = rng.integers(-20, 20, 64 + classes)
        q = nl.Quantization(scales, zeros, axis=1)
        spec = nl.TensorSpec((1, 64 + classes, 4, 4), "NCHW16c", dtype, quantization=q, name="map")
        wanted = scores_of(head, spec, 64, activation)
        found = largest_score(head, fit(head, [spec], (32, 32), {}), [spec])
        assert found == pytest.approx(wanted, rel=1e-12)
        decoder, buffer = decode.Decoder(head, [spec], (32, 32)), np.zeros(spec.size, dtype)
        with pytest.raises(nl.NpuLayoutError, match=r"no stored value reaches .*: stored values mean at most"):
            decoder([buffer], found * 1.001)
        assert len(decoder([buffer], found)) >= 0


def test_anchors_and_rows_have_the_scales_of_their_own() -> None:
    """Objectness and score of one anchor count together; scales of rows are those of all channels."""
    head = decode.yolov5(1, (8,), [[(8, 8), (16, 16), (24, 24)]])
    scales = np.full(18, 1.0, np.float32)
    scales[[4, 10, 16]], scales[[5, 11, 17]] = (0.001, 0.004, 0.002), (0.004, 0.001, 0.003)
    spec = nl.TensorSpec((1, 18, 4, 4), dtype="int8", quantization=nl.Quantization(scales, 0, axis=1), name="map")
    found = largest_score(head, fit(head, [spec], (32, 32), {}), [spec])
    assert found == pytest.approx(127 * 127 * 0.002 * 0.003, rel=1e-6)
    two = decode.yolov8(2, (8,))
    q = nl.Quantization([0.001, 0.005, 0.002, 0.003], [0, 27, 0, 0], axis=2)
    specs = [nl.TensorSpec((1, n, 4, 4), dtype="int8", quantization=q, name=str(n)) for n in (64, 2)]
    assert largest_score(two, fit(two, specs, (32, 32), {}), specs) == np.float32(100) * np.float32(0.005)


def test_the_background_is_no_score() -> None:
    priors = np.float32([[0.5, 0.5, 1, 1], [0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.2, 0.2]])
    softmax = 1 / (1 + math.exp(-128 * 0.003 - 127 * 0.002))  # the background with its least integer
    for activation, wanted in (("none", 127 * 0.002), ("softmax", softmax)):
        head = decode.ssd(priors, 1, activation=activation)
        q = nl.Quantization([0.003, 0.002], 0, axis=2)
        specs = [
            nl.TensorSpec((1, 3, 4), dtype="int8", layout="NHW", quantization=nl.Quantization(0.1), name="box"),
            nl.TensorSpec((1, 3, 2), dtype="int8", layout="NHW", quantization=q, name="score"),
        ]
        found = largest_score(head, fit(head, specs, (32, 32), {"score": ["score"]}), specs)
        assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("dtype", "most"), [("int32", 2.0**31), ("uint32", 2.0**32), ("int4", 7.0), ("uint4", 15.0)])
def test_integers_of_other_widths_bound_the_score(dtype: str, most: float) -> None:
    head, scale = decode.yolov8(2, (8,)), 0.5 / most
    specs = [
        nl.TensorSpec((1, n, 4, 4), dtype=dtype, quantization=nl.Quantization(scale), name=str(n)) for n in (64, 2)
    ]
    assert largest_score(head, fit(head, specs, (32, 32), {}), specs) == pytest.approx(0.5, rel=1e-6)
    with pytest.raises(nl.NpuLayoutError, match=r"no stored value reaches 0\.6: stored values mean at most 0\.5"):
        decode.Decoder(head, specs, (32, 32))([spec.pack(np.zeros(spec.shape, np.float32)) for spec in specs], 0.6)


def test_the_span_of_a_part_is_that_of_its_own_channels() -> None:
    head = decode.yolov8(2, (8,))
    scales, zeros = np.repeat([0.5, 0.01], [64, 2]), np.repeat([0, -128], [64, 2])
    q = nl.Quantization(scales, zeros, axis=1)
    specs = [nl.TensorSpec((1, 66, 4, 4), dtype="int8", quantization=q, name="map")]
    (level,) = fit(head, specs, (32, 32), {}).levels
    assert span_of(level, level.places["box"], specs[0]) == (-64.0, 63.5)
    assert span_of(level, level.places["score"], specs[0]) == pytest.approx((0, 2.55))
    assert span_of(level, level.places["score"], specs[0].replace(quantization=None)) is None
    assert largest_value(specs[0]) == 63.5 and largest_value(nl.TensorSpec((1, 4), "NC")) == math.inf


LIST = nl.TensorSpec((1, 7, 84), "NCW", "int8", name="Identity")  # 4 + 3 channels of the 84 cells of 64x64


@pytest.mark.parametrize("quantization", [nl.Quantization(1 / 255, -128), nl.Quantization(0.0078, 0)])
def test_boxes_that_cannot_be_in_pixels_are_warned_of(quantization: nl.Quantization) -> None:
    """TFLite's exports have boxes of 0 to 1: all of them were in the corner, and nothing said why."""
    spec = LIST.replace(quantization=quantization)
    words = (
        r"head 'yolov8': its boxes are in pixels, but the stored values of 'Identity': .* mean at most (1|0\.991); if"
    )
    with pytest.warns(UserWarning, match=words) as found:
        decode.Decoder(decode.yolov8(3), [spec], (64, 64))
    assert [one.filename for one in found] == [__file__]
    assert str(found[0].message).endswith("give the head unit='input'")
    decode.Decoder(decode.yolov8(3, unit="input"), [spec], (64, 64))  # and no warning
    with pytest.warns(UserWarning, match="its boxes are in pixels"):  # of a list with scales of its own for boxes
        decode.Decoder(
            decode.ppyoloe(3),
            [
                nl.TensorSpec((1, 84, 4), "NCW", "int8", name="boxes", quantization=quantization),
                nl.TensorSpec((1, 84, 3), "NCW", name="scores"),
            ],
            (64, 64),
        )


@pytest.mark.parametrize("most", [[1, 1, 1], [1, 1, 64]])
def test_boxes_in_maps_are_warned_of_if_those_of_no_level_can_be_in_pixels(most: list[int]) -> None:
    boxes, parts = decode.Boxes("xyxy", unit="pixel"), (decode.Part("box", 4), decode.Part("score", 3))
    head = decode.Head("maps", 3, (8, 16, 32), (decode.Form("maps", parts, boxes, "grid"),))
    specs = [
        nl.TensorSpec((1, 7, k, k), "NCHW", "int8", quantization=nl.Quantization(m / 255, -128), name=f"maps{k}")
        for k, m in zip((8, 4, 2), most)
    ]
    with pytest.warns(UserWarning, match="its boxes are in pixels") if max(most) == 1 else nullcontext():
        decode.Decoder(head, specs, (64, 64))


@pytest.mark.parametrize(
    ("head", "specs"),
    [
        (decode.yolov8(3), [LIST.replace(quantization=nl.Quantization(0.26, -128))]),  # up to 66 pixels
        (decode.yolov8(3), [LIST.replace(dtype="float32")]),
        (decode.yolov8(3), [LIST.replace(dtype="int16", quantization=nl.Quantization(0.004))]),  # up to 131 pixels
        (
            decode.yolov8(3),
            [LIST.replace(quantization=nl.Quantization([0.3] * 4 + [0.004] * 3, [-128] * 7, axis=1))],
        ),
        (
            decode.yolov8(3),  # sides in strides, by bins
            [
                nl.TensorSpec((1, n, k, k), "NCHW", "int8", quantization=nl.Quantization(0.01), name=f"{n}/{k}")
                for k in (8, 4, 2)
                for n in (64, 3)
            ],
        ),
        (
            decode.Head(  # sizes are powers of e, times the anchor in pixels
                "of anchors",
                3,
                (8, 16, 32),
                (
                    decode.Form(
                        "list",
                        (decode.Part("box", 4), decode.Part("score", 3)),
                        decode.Boxes("center_exp", unit="pixel", center=0.0),
                        "list",
                    ),
                ),
                anchors=[[(10.0, 10.0)], [(20.0, 20.0)], [(40.0, 40.0)]],
            ),
            [LIST.replace(quantization=nl.Quantization(1 / 255, -128))],
        ),
        (
            decode.ssd([(0.5, 0.5, 1.0, 1.0)] * 5, 2),  # offsets from priors
            [
                nl.TensorSpec((1, 5, n), "NCW", "int8", quantization=nl.Quantization(0.01), name=name)
                for n, name in ((4, "box"), (3, "score"))
            ],
        ),
    ],
    ids=range(7),
)
def test_no_other_boxes_are_warned_of(head: decode.Head, specs: list[nl.TensorSpec]) -> None:
    decode.Decoder(head, specs, (64, 64))  # a warning is an error here


ONE_SCALE = nl.Quantization(640 / 255, -128)
_LISTS = [  # a head, outputs and the input's size; the first four lose the scores
    (decode.yolov8(80), [nl.TensorSpec((1, 84, 8400), "NCW", "int8", name="y", quantization=ONE_SCALE)], 640),
    (
        decode.yolov8(80),
        [nl.TensorSpec.of_storage((1, 2100, 84), "NWC", "uint8", quantization=nl.Quantization(1.26))],
        320,
    ),
    (decode.yolov5(80), [nl.TensorSpec((1, 25200, 85), "NWC", "int8", axes="NWC", quantization=ONE_SCALE)], 640),
    (decode.yolo26(80), [nl.TensorSpec((1, 300, 6), "NWC", "int8", axes="NWC", quantization=ONE_SCALE)], 640),
    (decode.yolov8(80), [nl.TensorSpec((1, 84, 8400), "NCW", "int16", quantization=nl.Quantization(640 / 32767))], 640),
    (decode.yolov8(80), [nl.TensorSpec((1, 84, 8400), "NCW", "int8")], 640),  # stored numbers, no scale
    (decode.yolov8(80), [nl.TensorSpec((1, 84, 8400), "NCW")], 640),
    (
        decode.yolov8(80),
        [
            nl.TensorSpec(
                (1, 84, 8400), "NCW", "int8", quantization=nl.Quantization([2.5] * 4 + [1 / 255] * 80, [-128] * 84, 1)
            )
        ],
        640,
    ),
    (
        decode.yolov8(80, unit="input"),
        [nl.TensorSpec((1, 84, 8400), "NCW", "int8", quantization=nl.Quantization(1 / 255, -128))],
        640,
    ),
    (
        decode.yolov8(80, activation="sigmoid"),  # logits lose less
        [nl.TensorSpec((1, 84, 8400), "NCW", "int8", quantization=ONE_SCALE)],
        640,
    ),
    (
        decode.ppyoloe(80),
        [
            nl.TensorSpec((1, 8400, 4), "NWC", "int8", axes="NWC", name="boxes", quantization=ONE_SCALE),
            nl.TensorSpec(
                (1, 8400, 80), "NWC", "int8", axes="NWC", name="scores", quantization=nl.Quantization(1 / 255, -128)
            ),
        ],
        640,
    ),
    (
        decode.yolov5(3, strides=[8], anchors=[[(10, 13), (16, 30), (33, 23)]]),  # maps after the sigmoid
        [nl.TensorSpec((1, 24, 8, 8), dtype="int8", quantization=nl.Quantization(1 / 255, -128))],
        64,
    ),
]


@pytest.mark.parametrize("case", range(len(_LISTS)))
def test_one_scale_for_pixels_and_scores_is_warned_of(case: int) -> None:
    """Such a list of 8 bits decodes to nothing, and nothing said why."""
    head, specs, side = _LISTS[case]
    if case >= 4:
        decode.Decoder(head, specs, (side, side))  # a warning is an error here
        return
    with pytest.warns(
        UserWarning, match=r"has one scale for boxes in pixels and scores of 0 to 1.* steps of [12]\."
    ) as found:
        decoder = decode.Decoder(head, specs, (side, side))
    assert len(found) == 1 and found[0].filename == __file__
    (spec,) = specs
    assert not np.rint(np.float64([0.1, 0.3, 0.6]) / spec.quantization.scale).any() and decoder.largest_score > 2


def _maps(kind: str, quantization: nl.Quantization | None = None, **parts: int) -> list[nl.TensorSpec]:
    return [
        nl.TensorSpec((1, n, 8, 8), "NCHW16c", kind, quantization=quantization if role == "score" else None, name=role)
        for role, n in parts.items()
    ]


_V8 = decode.yolov8(3, (8,))


def _run(head: decode.Head, specs: list[nl.TensorSpec], scores: np.ndarray) -> decode.Decoder:
    """Decode twice what is read as `scores`, (1, 3, 8, 8); the second time nothing may be said."""
    decoder = decode.Decoder(head, specs, (64, 64))
    buffers = {s.name: s.pack(scores if s.name == "score" else np.zeros(s.shape, s.element.unpacked)) for s in specs}
    for _ in range(2):
        decoder(buffers)
    return decoder


@pytest.mark.parametrize(
    ("kind", "quantization", "words"),
    [
        ("int8", None, r"has no quantization, so that its integers are read .*quantization=\(scale, zero_point\)"),
        ("uint8", None, "has no quantization"),
        ("int16", None, "has no quantization"),
        ("float32", None, "is read with activation='none': give the head activation='sigmoid' if"),
        ("float16", None, "activation='sigmoid'"),
        ("int8", nl.Quantization(0.1, 5), "activation='sigmoid' if .*, or check the scale"),
    ],
)
def test_scores_that_are_no_probabilities_are_warned_of_once(
    kind: str, quantization: nl.Quantization | None, words: str
) -> None:
    scores = np.zeros((1, 3, 8, 8), np.float32)
    scores[0, 1, 2, 3] = 4
    given = scores if kind[0] == "f" or quantization else scores.astype(kind)
    with pytest.warns(
        UserWarning, match=rf"head 'yolov8': a score is 4(\.0\d*)?, .* the score of 'score': .*{words}"
    ) as said:
        _run(_V8, _maps(kind, quantization, box=64, score=3), given)
    assert [one.filename for one in said] == [__file__]


@pytest.mark.parametrize(
    ("kind", "quantization"),
    [
        ("float32", None),
        ("float16", None),
        ("bfloat16", None),
        ("uint8", nl.Quantization(1 / 255)),
        ("int8", nl.Quantization(1 / 255, -128)),
        ("int8", nl.Quantization.from_dfp(7)),
        ("int8", nl.Quantization.from_dfp(6)),
        ("int8", nl.Quantization.from_dfp(3)),  # a coarse one: one step above 1 is 1.125
        ("int16", nl.Quantization(1 / 32768)),
        ("uint8", nl.Quantization([0.0039, 0.004, 0.01], [0, 1, 2], axis=1)),
        ("uint8", None),  # 0 and 1
    ],
)
def test_probabilities_with_the_noise_of_a_device_are_not_warned_of(
    kind: str, quantization: nl.Quantization | None
) -> None:
    rng = np.random.default_rng(5)
    for seed in range(20):
        scores = rng.choice([0, 0.5, 1.0], (1, 3, 8, 8)).astype(np.float32) if seed % 2 else rng.random((1, 3, 8, 8))
        step = 0.0 if quantization is None else float(np.max(quantization.scale))
        noisy = scores + rng.choice([-1, 0, 1], scores.shape) * (step or 0.01 * (kind[0] in "fb"))
        raw = kind == "uint8" and quantization is None
        _run(
            _V8,
            _maps(kind, quantization, box=64, score=3),
            (scores > 0.5).astype(kind) if raw else noisy.astype(np.float32),
        )


def test_the_objectness_without_its_sigmoid_is_named() -> None:
    head = decode.yolov5(2, (8,), [[(10, 13)]], activation="none")
    spec = nl.TensorSpec((1, 7, 8, 8), "NCHW", name="maps")
    values = np.full(spec.shape, 0.5, np.float32)
    values[0, 4] = 6
    decoder = decode.Decoder(head, [spec], (64, 64))
    with pytest.warns(UserWarning, match=r"head 'yolov5': a score is 3, .*activation='sigmoid'"):
        decoder([values])
    sigmoid = decode.Decoder(decode.yolov5(2, (8,), [[(10, 13)]], activation="sigmoid"), [spec], (64, 64))
    assert len(sigmoid([values * 9]))  # which bounds them


@pytest.mark.parametrize("raw", [0, 1, 2])
def test_the_output_that_lacks_its_quantization_is_named_among_all(raw: int) -> None:
    specs = [
        nl.TensorSpec((1, n, k, k), "NCHW", "uint8", quantization=nl.Quantization(1 / 255), name=f"{words}{k}")
        for k in (8, 4, 2)
        for n, words in ((64, "box"), (3, "score"))
    ]
    one = 2 * raw + 1
    specs[one] = specs[one].replace(quantization=None)
    decoder = decode.Decoder(decode.yolov8(3), specs, (64, 64))
    with pytest.warns(UserWarning, match=f"a score is 200, .*the score of 'score{(8, 4, 2)[raw]}': .* has no quantiz"):
        decoder([np.full(spec.shape, 200, np.uint8) for spec in specs])


def test_of_scores_and_objectness_the_one_without_a_quantization_is_named() -> None:
    for missing in ("score", "objectness"):
        specs = [
            nl.TensorSpec((1, n, 8, 8), "NCHW", "uint8", quantization=nl.Quantization(1 / 255), name=name)
            for n, name in ((4, "box"), (3, "score"), (1, "objectness"))
        ]
        specs = [spec.replace(quantization=None) if spec.name == missing else spec for spec in specs]
        decoder = decode.Decoder(decode.yolox(3, (8,), activation="none"), specs, (64, 64))
        with pytest.warns(UserWarning, match=f"the {missing} of '{missing}': .* has no quantization"):
            decoder([np.full(spec.shape, 200, np.uint8) for spec in specs])
