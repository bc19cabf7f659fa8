"""Parts that are stored across levels: airockchip's pose export, whose keypoints are one output beside the maps."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.places import checked_specs

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
def test_keypoints_of_one_output(layout: str, dtype: str, axes: str, backend: str) -> None:
    rng = np.random.default_rng(2)
    shape = (1, 51, sum(CELLS)) if axes == "NCW" else (1, 17, 3, sum(CELLS))
    specs = outputs(rng, layout, dtype, shape, axes)
    head = decode.yolov8(1, STRIDES, keypoints=17)
    assert decode.Head.from_dict(head.to_dict()) == head and head.forms[2].part("keypoints").across  # type: ignore[union-attr]
    buffers, values = {}, {}
    for spec in specs:
        real = rng.normal(0, 30, spec.shape) if spec.name == "points" else rng.normal(0, 1, spec.shape)
        buffers[spec.name] = spec.pack(real.astype(np.float32))
        values[spec.name] = spec.unpack(buffers[spec.name])
    decoder = decode.Decoder(head, specs, (SIDE, SIDE))
    decoder._use(backend)
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


def test_what_does_not_fit() -> None:
    head = decode.yolov8(1, STRIDES, keypoints=17)
    specs = outputs(np.random.default_rng(0), "NCHW", "float32", (1, 17, 2, sum(CELLS)), "ABCD")
    with pytest.raises(
        nl.LayoutError, match=r"keypoints: expected 51 channels before 84 cells in one output, got .*points"
    ):
        decode.Decoder(head, specs, (SIDE, SIDE))
    with pytest.raises(nl.NpuLayoutError, match="Part 'box': across: only keypoints and angle can be stored"):
        decode.Part("box", 64, across=True)


def named(*parts: tuple[str, int], strides: tuple[int, ...] = STRIDES) -> list[nl.TensorSpec]:
    return [nl.TensorSpec((1, n, SIDE // s, SIDE // s), name=f"{name}/{s}") for s in strides for name, n in parts]


SUMS = (("box", 64), ("score", 5), ("sum", 1))
HEADS = {
    "sums": (decode.yolov8(5), named(*SUMS)),
    "one class": (decode.yolov8(1), named(("box", 64), ("score", 1), ("sum", 1))),
    "pose": (decode.yolov8(1, keypoints=7), named(("box", 64), ("score", 1), ("points", 21))),
    "seg": (
        decode.yolov8(5, coefficients=8),
        [*named(*SUMS, ("weights", 8)), nl.TensorSpec((1, 8, SIDE // 4, SIDE // 4), name="prototypes")],
    ),
    "obb": (decode.yolov8_obb(5), named(("box", 64), ("score", 5), ("angle", 1))),
    "obb across": (decode.yolov8_obb(5), [*named(*SUMS), nl.TensorSpec((1, 1, sum(CELLS)), "NCW", name="angle")]),
    "v5": (decode.yolov5(5), named(("map", 30))),
    "v6": (decode.yolov6(5), named(("box", 4), ("score", 5), ("sum", 1))),
    "v10": (decode.yolov10(5), named(*SUMS)),
    "x": (decode.yolox(5), named(("box", 4), ("obj", 1), ("cls", 5))),
    "yunet": (decode.yunet(), named(("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10))),
    "centernet": (decode.centernet_head(5, 8), named(("hm", 5), ("wh", 2), ("reg", 2), strides=(8,))),
}
OPTIONAL = {"sum", "reg"}  # all outputs of that name can be left out


@pytest.mark.parametrize("name", HEADS)
def test_an_output_that_is_missing_is_refused(name: str) -> None:
    """Whichever it is, of one level or of all, but for sums of all levels and the offsets of centres."""
    head, specs = HEADS[name]
    decode.Decoder(head, specs, (SIDE, SIDE))
    for i, spec in enumerate(specs):
        if spec.name != "reg/8":
            with pytest.raises(nl.LayoutError):
                decode.Decoder(head, specs[:i] + specs[i + 1 :], (SIDE, SIDE))
    for part in {spec.name.partition("/")[0] for spec in specs}:
        rest = [spec for spec in specs if spec.name.partition("/")[0] != part]
        if part in OPTIONAL:
            decode.Decoder(head, rest, (SIDE, SIDE))
        elif rest:
            with pytest.raises(nl.LayoutError):
                decode.Decoder(head, rest, (SIDE, SIDE))


def test_what_is_missing_is_said() -> None:
    _, specs = HEADS["sums"]
    expected = r"bound: the level of stride 16 has no such output; those of other levels are sum/8 .*sum/32"
    with pytest.raises(nl.LayoutError, match=expected):
        decode.Decoder(decode.yolov8(5), [spec for spec in specs if spec.name != "sum/16"], (SIDE, SIDE))
    alone = named(("box", 64), ("sum", 1))
    expected = (
        r"score of the level of stride 8: the only output of its shape is sum/8 \(1, 1, 8, 8\), whose name is that "
        r"of the sums of scores \('bound'\); is the output of scores missing\? If it is sum/8, give Decoder "
        r"outputs=\{'score': \[\.\.\.\]\}"
    )
    with pytest.raises(nl.LayoutError, match=expected):
        decode.Decoder(decode.yolov8(1), alone, (SIDE, SIDE))
    told = {"score": [f"sum/{s}" for s in STRIDES]}
    assert len(decode.Decoder(decode.yolov8(1), alone, (SIDE, SIDE), outputs=told).specs) == 6
    with pytest.raises(nl.LayoutError, match="score of the level of stride 16"):
        decode.Decoder(decode.yolov8(1), alone, (SIDE, SIDE), outputs={"score": ["sum/8"]})


@pytest.mark.parametrize(
    "head, parts, role",
    [
        (decode.yolov8(5), (("box", 64), ("score", 5), ("angle", 1)), "bound"),
        (decode.yolov10(5), (("box", 64), ("score", 5), ("angle", 1)), "bound"),
        (decode.ppyoloe(5), (("box", 68), ("score", 5), ("obj", 1)), "bound"),
        (decode.yolov8(1), (("box", 64), ("angle", 1)), "score"),
        (decode.yolov8(1), (("box", 64), ("obj", 1)), "score"),
        (decode.yolov8_obb(5), (("box", 64), ("score", 5), ("sum", 1)), "angle"),
        (decode.yolox(5), (("box", 4), ("score", 5), ("sum", 1)), "objectness"),
    ],
)
def test_an_output_that_is_a_part_of_another_head_is_refused(
    head: decode.Head, parts: tuple[tuple[str, int], ...], role: str
) -> None:
    specs = named(*parts)
    with pytest.raises(nl.LayoutError, match=f"{role} of the level of stride 8: the only output of its shape is "):
        decode.Decoder(head, specs, (SIDE, SIDE))
    meant = {role: [f"{parts[-1][0]}/{s}" for s in STRIDES]}
    decode.Decoder(head, specs, (SIDE, SIDE), outputs=meant)


def test_letters_in_the_names_of_all_outputs_say_nothing() -> None:
    for prefix in ("consumer", "triangle", "object"):
        specs = named((f"{prefix}_box", 64), (f"{prefix}_score", 1))
        fitted = decode.Decoder(decode.yolov8(1), specs, (SIDE, SIDE))._fitted
        assert [specs[level.places["score"].output].name for level in fitted.levels] == [
            f"{prefix}_score/{s}" for s in STRIDES
        ]
    specs = named(("consumer_box", 64), ("consumer_score", 5), ("consumer_angle", 1))
    with pytest.raises(nl.LayoutError, match=r"bound of the level of stride 8: .*angles \('angle'\)"):
        decode.Decoder(decode.yolov10(5), specs, (SIDE, SIDE))


def test_specs_are_a_sequence_or_a_mapping() -> None:
    spec = nl.TensorSpec((1, 2, 3, 3), name="y")
    assert checked_specs([spec]) == checked_specs({"y": spec}) == (spec,)
    for wrong, says in (([], "specs: expected one for each output, got none"), (spec, "specs: expected a sequence")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            checked_specs(wrong)
