"""Heads and outputs that do not fit each other: what is missing, misnamed or left over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.decode.outputs.test_places import CELLS, SIDE, STRIDES


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
    stated = {"score": [f"sum/{s}" for s in STRIDES]}
    assert len(decode.Decoder(decode.yolov8(1), alone, (SIDE, SIDE), outputs=stated).specs) == 6
    with pytest.raises(nl.LayoutError, match="score of the level of stride 16"):
        decode.Decoder(decode.yolov8(1), alone, (SIDE, SIDE), outputs={"score": ["sum/8"]})


def test_the_input_to_which_maps_belong_is_said() -> None:
    _, specs = HEADS["sums"]
    expected = r"; maps of 8x8, 4x4, 2x2 cells belong to an input of \(64, 64\), not \(32, 32\)$"
    with pytest.raises(nl.LayoutError, match=expected):
        decode.Decoder(decode.yolov8(5), specs, (32, 32))
    words = r"; decode\.guess\(specs, \(64, 64\)\), or `.* --input 64x64` without --head, names the heads that they"
    with pytest.raises(nl.LayoutError, match=words):
        decode.Decoder(decode.yolov8(6), specs, (64, 64))


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


@pytest.mark.parametrize("make", (decode.yolov5, decode.yolov7))
def test_a_list_of_the_only_level_is_a_list(make: Callable[..., decode.Head]) -> None:
    """It has as many rows as the level's map has anchors of cells, but boxes in pixels."""
    rows = np.zeros((1, 3 * 8 * 8, 8), np.float32)
    rows[0, 2 * 64 + 9] = (30, 40, 10, 20, 0.9, 0.1, 0.5, 0.2)  # the third anchor of cell 9
    spec = nl.TensorSpec(rows.shape, "NWC", axes="NWC", name="output0")
    found = decode.Decoder(make(3, (8,), [[(10, 13), (16, 30), (33, 23)]]), [spec], (64, 64))([rows.ravel()])
    assert found.xyxy.tolist() == [[25, 30, 35, 50]]
    assert (found.cell.tolist(), found.anchor.tolist(), found.class_id.tolist()) == ([9], [2], [1])


@pytest.mark.parametrize("size", [(16, 48), (48, 16), (16, 16)])
def test_a_list_of_one_row_of_cells_is_a_list_too(size: tuple[int, int]) -> None:
    cells = size[0] * size[1] // 256
    rows = np.zeros((1, 3 * cells, 8), np.float32)
    rows[0, 2 * cells] = (30, 10, 10, 4, 0.9, 0.1, 0.5, 0.2)  # the third anchor of the first cell
    spec = nl.TensorSpec(rows.shape, "NWC", axes="NWC", name="output0")
    head = decode.yolov5(3, (16,), [[(10, 13), (16, 30), (33, 23)]])
    found = decode.Decoder(head, [spec], size)([rows.ravel()])
    assert found.xyxy.tolist() == [[25, 8, 35, 12]] and found.anchor.tolist() == [2]


@pytest.mark.parametrize("shape", [(1, 24, 1, 3), (1, 24, 3)])
def test_a_map_of_one_row_is_a_map_without_its_axis_too(shape: tuple[int, ...]) -> None:
    values = np.full(shape, 0.5, np.float32)
    values[0, 4::8] = 0
    values[0, 20, ..., 1] = 1  # the objectness of the third anchor of the middle cell, whose centre is the cell's
    head = decode.yolov5(3, (16,), [[(10, 13), (16, 30), (34, 24)]])
    spec = nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name="map")
    found = decode.Decoder(head, [spec], (16, 48))([values.ravel()])
    assert found.xyxy.tolist() == [[7, -4, 41, 20]] and found.cell.tolist() == [1]


def test_a_map_of_the_only_level_is_a_map() -> None:
    values = np.full((1, 24, 8, 8), 0.5, np.float32)
    values[0, 4::8] = 0
    values[0, 20, 1, 1] = 1  # the objectness of the third anchor of cell 9, whose centre is the cell's
    head = decode.yolov5(3, (8,), [[(10, 13), (16, 30), (33, 23)]])
    found = decode.Decoder(head, [nl.TensorSpec(values.shape)], (64, 64))([values.ravel()], confidence=0.5)
    assert (found.cell.tolist(), found.anchor.tolist()) == ([9], [2])
    assert found.xyxy.tolist() == [[12 - 16.5, 12 - 11.5, 12 + 16.5, 12 + 11.5]]


@pytest.mark.parametrize(
    ("head", "lacking", "says"),
    [
        (
            decode.yolov8(80, coefficients=32),
            ("proto",),
            r"'maps' and 'list' and 'points .*levels': prototypes: .*none;",
        ),
        (
            decode.yolov8(80, coefficients=32),
            ("c0", "c1", "c2"),
            "coefficients: expected 32 .* in one output, got b0, s0, b1, s1, b2, s2;",
        ),
        (decode.yolov8(80), ("proto",), "as 'maps': no part of the head is in c0, c1, c2; as 'list': "),
        (decode.ssd_postprocessed(90), (), "count: expected one output of one element, got none;"),
    ],
)
def test_each_output_is_listed_once(head: decode.Head, lacking: tuple[str, ...], says: str) -> None:
    """A head of several forms says what is wrong with all of them once, and shapes in front alone."""
    channels = {"b": 64, "s": 80, "c": 32}
    shapes = {f"{k}{i}": (1, n, 640 // s, 640 // s) for i, s in enumerate((8, 16, 32)) for k, n in channels.items()}
    shapes["proto"] = (1, 32, 160, 160)
    specs = [nl.TensorSpec(shape, name=name) for name, shape in shapes.items() if name not in lacking]
    with pytest.raises(nl.LayoutError, match=says) as refused:
        decode.Decoder(head, specs, (640, 640))
    assert [str(refused.value).count(f"{spec.name} {spec.shape}") for spec in specs] == [1] * len(specs)


def of_cells(channels: int, anchors: int = 1) -> list[nl.TensorSpec]:
    return [nl.TensorSpec((1, anchors * sum(CELLS), channels), "NCW", name="all")]


PRIORS = np.full((10, 4), 0.5)
COUNTED: dict[str, tuple[Callable[[int], decode.Head], list[nl.TensorSpec]]] = {
    "v8, maps": (decode.yolov8, named(("box", 64), ("score", 6))),
    "v8, maps in one": (decode.yolov8, named(("map", 70))),
    "v8, sums": (decode.yolov8, named(("box", 64), ("score", 6), ("sum", 1))),
    "v8, list": (decode.yolov8, of_cells(10)),
    "v8, masks": (
        lambda n: decode.yolov8(n, coefficients=8),
        [*of_cells(18), nl.TensorSpec((1, 8, SIDE // 4, SIDE // 4), name="prototypes")],
    ),
    "v8, turned": (decode.yolov8_obb, of_cells(11)),
    "v5, maps": (decode.yolov5, named(("map", 33))),
    "v5, list": (decode.yolov5, of_cells(11, 3)),
    "v6, list": (decode.yolov6, of_cells(11)),
    "v10, maps": (decode.yolov10, named(("box", 64), ("score", 6))),
    "x, list": (decode.yolox, of_cells(11)),
    "26, maps": (decode.yolo26, named(("box", 4), ("score", 6))),
    "rtmdet": (decode.rtmdet, named(("score", 6), ("box", 4))),
    "nanodet": (lambda n: decode.nanodet(n, STRIDES), of_cells(38)),
    "damoyolo": (decode.damoyolo, named(("box", 68), ("score", 7))),
    "depthai": (decode.depthai_yolo, named(("map", 11))),
    "centernet": (lambda n: decode.centernet_head(n, 8), named(("hm", 6), ("wh", 2), ("reg", 2), strides=(8,))),
    "ssd, and its background": (
        lambda n: decode.ssd(PRIORS, n),
        [nl.TensorSpec((1, 10, n), "NCW", name=name) for name, n in (("box", 4), ("score", 7))],
    ),
    "detr, and its last score": (
        decode.detr,
        [nl.TensorSpec((1, 10, n), "NCW", name=name) for name, n in (("box", 4), ("score", 7))],
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_one_number_of_classes_fits(name: str) -> None:
    """The outputs are those of six classes: with five the last class would be lost, with seven something else is it."""
    make, specs = COUNTED[name]
    fit_them = set()
    for classes in range(1, 80):
        try:
            decode.Decoder(make(classes), specs, (SIDE, SIDE))
        except nl.LayoutError as error:
            assert "does not fit the outputs" in str(error)
        else:
            fit_them.add(classes)
    assert fit_them == {6}


@pytest.mark.parametrize("head", [decode.yolov10, decode.yolo26])
def test_rows_do_not_say_how_many_classes_there_are(head: Callable[[int], decode.Head]) -> None:
    """A larger number is right; with a smaller one the class that is too large is an error, and not lost."""
    rows = np.zeros((1, 5, 6), np.float32)
    rows[0, :2, 4:] = (0.9, 6), (0.8, 2)
    spec = nl.TensorSpec(rows.shape, "NCW", name="rows")
    for classes in (7, 80):
        assert decode.Decoder(head(classes), [spec], (SIDE, SIDE))([rows], 0.5).class_id.tolist() == [6, 2]
    with pytest.raises(nl.NpuLayoutError, match=r"whole numbers below 6 \(classes\), got 6"):
        decode.Decoder(head(6), [spec], (SIDE, SIDE))([rows], 0.5)
