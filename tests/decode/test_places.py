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


def test_specs_are_a_sequence_or_a_mapping() -> None:
    spec = nl.TensorSpec((1, 2, 3, 3), name="y")
    assert checked_specs([spec]) == checked_specs({"y": spec}) == (spec,)
    for wrong, says in (([], "specs: expected one for each output, got none"), (spec, "specs: expected a sequence")):
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
