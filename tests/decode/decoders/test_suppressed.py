"""Lists of boxes that a runtime has suppressed, against what a program would write: one box after the other."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.backends import decoders

SIZE = (96, 160)  # height and width
MOST = 7

Box = tuple[float, float, float, float, float]


def boxes(rng: np.random.Generator, classes: int) -> list[list[Box]]:
    """Some boxes of each class, y_min, x_min, y_max, x_max and score; the best first."""
    found = []
    for _ in range(classes):
        rows = [tuple(float(np.float32(n)) for n in rng.random(5)) for _ in range(int(rng.integers(0, MOST + 1)))]
        found.append(sorted(rows, key=lambda row: -row[4]))
    return found  # type: ignore[return-value]


def by_class(given: list[list[Box]]) -> bytes:
    packed = b""
    for rows in given:
        packed += struct.pack("<f", len(rows)) + b"".join(struct.pack("<5f", *row) for row in rows)
    return packed.ljust(len(given) * (4 + 20 * MOST), b"\xff")  # memory for more, which nobody wrote


def by_score(given: list[list[Box]]) -> bytes:
    rows = sorted(((row, n) for n, of in enumerate(given) for row in of), key=lambda pair: -pair[0][4])
    packed = struct.pack("<H", len(rows)) + b"".join(struct.pack("<5fH", *row, n) for row, n in rows)
    return packed.ljust(2 + len(given) * MOST * 22, b"\xee")


def padded(given: list[list[Box]]) -> np.ndarray:
    made = np.zeros((len(given), 5, MOST), np.float32)
    for n, rows in enumerate(given):
        for i, row in enumerate(rows):
            for k, number in enumerate(row):
                made[n, k, i] = number
    return made


def arrays(given: list[list[Box]]) -> list[np.ndarray]:
    return [np.array(rows, np.float32).reshape(-1, 5) for rows in given]


class Detection(NamedTuple):
    """What pyhailort makes of a box of HAILO_NMS_BY_SCORE."""

    y_min: float
    x_min: float
    y_max: float
    x_max: float
    score: float
    class_id: int


def released() -> memoryview:
    memory = memoryview(bytes(8))
    memory.release()
    return memory


def objects(given: list[list[Box]]) -> list[Detection]:
    rows = sorted(((row, n) for n, of in enumerate(given) for row in of), key=lambda pair: -pair[0][4])
    return [Detection(*row, n) for row, n in rows]


FORMS: dict[str, Any] = {
    "bytes": lambda given: (by_class(given), "by_class"),
    "bytearray": lambda given: (bytearray(by_class(given)), "by_class"),
    "uint8": lambda given: (np.frombuffer(by_class(given), np.uint8), "by_class"),
    "float32": lambda given: (np.frombuffer(by_class(given), np.float32), "by_class"),
    "rows": lambda given: (np.frombuffer(by_class(given), np.float32).reshape(len(given), -1), "by_class"),
    "unaligned": lambda given: (np.frombuffer(b"x" + by_class(given), np.uint8)[1:], "by_class"),
    "arrays": lambda given: (arrays(given), "by_class"),
    "wider arrays": lambda given: ([np.empty((0, 5)) if not a.size else a for a in arrays(given)], "by_class"),
    "padded": lambda given: (padded(given), "by_class"),
    "by score": lambda given: (by_score(given), "by_score"),
    "objects": lambda given: (objects(given), "by_score"),
    "by score, uint8": lambda given: (np.frombuffer(by_score(given), np.uint8), "by_score"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_boxes_are_found(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = boxes(rng, (1, 3, 80, 5)[seed])
    output, order = FORMS[form](given)
    least, limit = ((0.0, 300), (0.5, 300), (0.3, 20), (0.0, 1))[seed]
    found = decode.hailo_nms(output, len(given), SIZE, least, limit, order=order)
    flat = [(row, n) for n, rows in enumerate(given) for row in rows]
    wanted = sorted((pair for pair in flat if pair[0][4] >= least), key=lambda pair: -pair[0][4])[:limit]
    assert len(found) == len(wanted)
    for i, ((top, left, bottom, right, score), label) in enumerate(wanted):
        edges = (left * SIZE[1], top * SIZE[0], right * SIZE[1], bottom * SIZE[0])
        assert found.xyxy[i].tolist() == [float(np.float32(edge)) for edge in edges]
        assert (found.confidence[i], found.class_id[i]) == (score, label)
    assert not found.level.any() and not found.anchor.any()
    if order == "by_class":
        assert found.cell.tolist() == [flat.index(pair) for pair in wanted]
    assert found.xyxy.dtype == found.confidence.dtype == np.float32 and found.class_id.dtype == np.int64


def test_memory_by_score_may_have_any_shape() -> None:
    given = [[(0.0, 0.0, 1.0, 1.0, 0.5)], [(0.0, 0.5, 1.0, 1.0, 0.75)]]
    memory = np.frombuffer(by_score(given) + bytes(2), np.uint8)
    plain, shaped = (decode.hailo_nms(array, 2, SIZE, order="by_score") for array in (memory, memory.reshape(1, 1, -1)))
    assert len(plain) == 2 and shaped.xyxy.tolist() == plain.xyxy.tolist()
    assert shaped.class_id.tolist() == plain.class_id.tolist() == [1, 0]


def test_equal_scores_and_nan() -> None:
    rows = [(0.0, 0.0, 1.0, 1.0, 0.5), (0.0, 0.0, 0.5, 1.0, float("nan")), (0.5, 0.0, 1.0, 1.0, 0.5)]
    found = decode.hailo_nms(by_class([rows, rows[:1]]), 2, SIZE)
    assert found.cell.tolist() == [0, 2, 3] and found.class_id.tolist() == [0, 0, 1]
    assert (
        len(decode.hailo_nms(by_class([[], []]), 2, SIZE))
        == 0
        == len(decode.hailo_nms(by_score([]), 2, SIZE, order="by_score"))
        == len(decode.hailo_nms([], 2, SIZE, order="by_score"))
    )


@pytest.mark.parametrize(
    ("output", "arguments", "kind", "words"),
    [
        (b"", {}, nl.BufferSizeError, "0 bytes, which end in class 0 of 2 .classes."),
        (struct.pack("<f", 0), {}, nl.BufferSizeError, "4 bytes, which end in class 1 of 2"),
        (struct.pack("<3f", 1, 0, 0), {}, nl.BufferSizeError, "end in class 0"),
        (struct.pack("<2f", 0.5, 0), {}, nl.NpuLayoutError, "the number of boxes of class 0 at float 0, got 0.5"),
        (struct.pack("<2f", -1, 0), {}, nl.NpuLayoutError, "got -1"),
        (struct.pack("<2f", float("nan"), 0), {}, nl.NpuLayoutError, "got nan"),
        (b"abc", {}, nl.BufferSizeError, "no whole number of float32"),
        (np.zeros(4, np.float64), {}, nl.NpuLayoutError, "memory of float32, or bytes, got float64"),
        (np.zeros(8, np.float32)[::2], {}, nl.NpuLayoutError, "contiguous"),
        (memoryview(bytes(16))[::2], {}, nl.NpuLayoutError, "contiguous memory of float32, or bytes, got memoryview"),
        (released(), {}, nl.NpuLayoutError, "output: expected .* got memoryview: .* released"),
        (np.ndarray, {}, nl.NpuLayoutError, "memory of float32, or bytes, got object"),
        ({"nms": []}, {}, nl.NpuLayoutError, r"one output, got those of nms; give output\['nms'\]$"),
        ({"a": [], "b": []}, {}, nl.NpuLayoutError, "one output, got those of a, b; give one of them$"),
        ({}, dict(order="by_score"), nl.NpuLayoutError, "one output, got those of none"),
        (struct.pack("<H", 2) + bytes(43), dict(order="by_score"), nl.BufferSizeError, "45 bytes.* 2 boxes need 46"),
        (b"", dict(order="by_score"), nl.BufferSizeError, "0 bytes"),
        (struct.pack("<H5fH", 1, 0, 0, 1, 1, 0.5, 2), dict(order="by_score"), nl.NpuLayoutError, "below 2, got 2"),
        ([np.zeros((1, 5), np.float32)], {}, nl.LayoutError, "expected 2 arrays, one for each class, got 1$"),
        ([[np.zeros((1, 5), np.float32)] * 2], {}, nl.LayoutError, r"got 1; it has a list .* give output\[0\]"),
        (np.zeros((1, 2, 5, 3), np.float32), {}, nl.LayoutError, r"got float32 \(1, 2, 5, 3\); .* give output\[0\]"),
        ([[np.zeros((1, 5))], [np.zeros((0, 5))]], {}, nl.LayoutError, r"of one input, got float64 \(1, 1, 5\)"),
        ([Detection(0, 0, 1, 1, 0.5, 1)], {}, nl.LayoutError, 'Detection objects: give order="by_score"'),
        ([Detection(0, 0, 1, 1, 0.5, 2)], dict(order="by_score"), nl.NpuLayoutError, r"output\[0\]: .* below 2, got 2"),
        ([Detection(0, 0, 1, 1, 0.5, -1)], dict(order="by_score"), nl.NpuLayoutError, "below 2, got -1"),
        ([np.zeros(5)], dict(order="by_score"), nl.NpuLayoutError, r"Detection .* got ndarray; .* order=\"by_class\""),
        ([[Detection(0, 0, 1, 1, 0.5, 1)]], dict(order="by_score"), nl.NpuLayoutError, r"got list.* give output\[0\]"),
        ([Detection(0, 0, 1, "x", 0.5, 1)], dict(order="by_score"), nl.NpuLayoutError, "expected a Detection"),
        (np.zeros((2, 6, 3), np.float32), {}, nl.LayoutError, r"expected \(2, 5, most\)"),
        (np.zeros((2, 5, 3), np.float32), dict(order="by_score"), nl.NpuLayoutError, "memory of uint8, .* got float32"),
        (b"", dict(limit=0), nl.NpuLayoutError, "limit"),
        (b"", dict(order="by_name"), nl.NpuLayoutError, "order"),
    ],
)
def test_refused(output: Any, arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        decode.hailo_nms(output, 2, SIZE, **arguments)


@pytest.mark.parametrize(("true", "most"), [(80, 100), (3, 7), (2, 2), (90, 20)])
def test_another_number_of_classes_is_refused(true: int, most: int) -> None:
    """With fewer, the boxes of the last classes were lost in silence: the memory's size says how many there are."""
    memory = np.zeros(true * (1 + 5 * most), np.float32)
    memory[true - 1 : true + 5] = 1, 0.25, 0.5, 0.75, 1, 0.9  # a box of the last class, behind as many zeros
    assert decode.hailo_nms(memory, true, SIZE).class_id.tolist() == [true - 1]
    for wrong in {*range(1, true + 3)} - {true}:
        fits = len(memory) % wrong == 0 and (len(memory) // wrong) % 5 == 1
        if fits:  # the size is that of both, as 1 * (1 + 5 * 601) is 6 * (1 + 5 * 100)
            continue
        with pytest.raises(nl.BufferSizeError, match=rf"of {wrong} classes has {wrong} \* \(1 \+ 5 \* most\)") as error:
            decode.hailo_nms(memory, wrong, SIZE)
        if abs(wrong - true) == 1:
            assert f"{true} (of {most} boxes each)" in str(error.value)
    rows = memory.reshape(true, -1)
    assert decode.hailo_nms(rows, true, SIZE).class_id.tolist() == [true - 1]
    assert decode.hailo_nms(memory[None], true, SIZE).class_id.tolist() == [true - 1]


@pytest.mark.parametrize("frames", [2, 3, 5, 8])
@pytest.mark.parametrize(("classes", "most"), [(80, 100), (3, 1), (1, 20)])
def test_several_frames_in_one_buffer_are_named(frames: int, classes: int, most: int) -> None:
    one = classes * (1 + 5 * most)
    memory = np.zeros(frames * one, np.float32)
    memory[one] = 1  # a box of the second frame
    words = rf"; this is the size for a batch of .*\b{frames} \(of {most} boxes each\)[^;]* frames: give output.reshape"
    for given in (memory, memory.tobytes(), memory.reshape(1, -1)):
        with pytest.raises(nl.BufferSizeError, match=words):
            decode.hailo_nms(given, classes, (8, 8))
    each = [decode.hailo_nms(memory.reshape(frames, -1)[i], classes, (8, 8)) for i in range(frames)]
    assert [len(found) for found in each] == [0, 1, *[0] * (frames - 2)]
    assert "batch" not in str(wrong_classes(memory[:one], classes + 1))


def wrong_classes(memory: np.ndarray, classes: int) -> BaseException:
    with pytest.raises(nl.BufferSizeError) as refused:
        decode.hailo_nms(memory, classes, (8, 8))
    return refused.value


def test_rows_of_another_number_of_classes_are_refused() -> None:
    rows = np.zeros((6, 1 + 5 * 100), np.float32)  # as large as a frame of one class with 601 boxes
    with pytest.raises(nl.LayoutError, match=r"expected \(1, floats\), a row for each class, .* got \(6, 501\)"):
        decode.hailo_nms(rows, 1, SIZE)
    with pytest.raises(nl.BufferSizeError, match=r"10020 floats; .* make the buffer that HailoRT fills float32$"):
        decode.hailo_nms(np.zeros(80 * (1 + 5 * 100), np.uint8), 80, SIZE)  # as if each float were a byte
    with pytest.raises(nl.BufferSizeError, match=r"output has 7 floats; .*; give the memory of one frame alone$"):
        decode.hailo_nms(np.zeros(7, np.float32), 3, SIZE)
    with pytest.raises(nl.BufferSizeError, match=r"output has 126 floats; .* its first axis counts inputs: give"):
        decode.hailo_nms(np.zeros((2, 3 * (1 + 5 * 4)), np.float32), 3, SIZE)


@pytest.mark.parametrize(
    "dtype, layout", [("float32", "NCHW"), ("float16", "NCHW"), ("float32", "NHWC"), ("bfloat16", "NCHW")]
)
@pytest.mark.parametrize("count", [0, 3, 20])
def test_rows_of_detection_output(count: int, dtype: str, layout: str) -> None:
    """Behind the row of -1 is what an earlier run left."""
    rng, rows = np.random.default_rng(count), np.zeros((1, 1, 20, 7), np.float32)
    rows[0, 0, :, 1] = rng.integers(1, 21, 20)
    rows[0, 0, :, 2:] = rng.random((20, 5))
    rows[0, 0, count : count + 1] = -1
    spec = nl.TensorSpec(rows.shape, layout, dtype, axes="NCHW", name="out")
    stored = spec.pack(rows)
    values = spec.unpack(stored).astype(float)[0, 0, :count].tolist()
    order = sorted((i for i in range(count) if values[i][2] >= 0.3), key=lambda i: -values[i][2])
    found = decode.detection_output(spec, stored, SIZE, 0.3)
    assert found.cell.tolist() == order and found.class_id.tolist() == [int(values[i][1]) for i in order]
    assert found.confidence.tolist() == [values[i][2] for i in order]
    for k, i in enumerate(order):
        left, top, right, bottom = values[i][3:]
        wanted = np.float32([left * SIZE[1], top * SIZE[0], right * SIZE[1], bottom * SIZE[0]])
        assert found.xyxy[k].tolist() == wanted.tolist()
    assert len(decode.detection_output(spec, stored, SIZE, 0.3, 1)) == min(1, len(order))


def test_rows_of_detection_output_that_are_refused() -> None:
    rows = np.float32([[0, 1, 0.9, 0, 0, 1, 1], [0, 2.5, 0.1, 0, 0, 1, 1], [np.nan, -1, 0.9, 0, 0, 1, 1]])
    spec = nl.TensorSpec((1, 1, 3, 7))
    assert decode.detection_output(spec, rows.ravel(), SIZE, 0.5).class_id.tolist() == [1]
    with pytest.raises(nl.NpuLayoutError, match=r"whole numbers of 0 or more, got 2\.5"):
        decode.detection_output(spec, rows.ravel(), SIZE, 0.05)
    rows[1, 0] = 1
    with pytest.raises(nl.NpuLayoutError, match="buffer: rows of several inputs"):
        decode.detection_output(spec, rows.ravel(), SIZE)
    for shape in ((1, 1, 3, 6), (1, 2, 3, 7), (7,)):
        with pytest.raises(nl.LayoutError, match=r"expected \(1, 1, n, 7\)"):
            decode.detection_output(nl.TensorSpec(shape, nl.Layout.of_rank(len(shape))), rows.ravel(), SIZE)
    with pytest.raises(nl.BufferSizeError, match="buffer"):
        decode.detection_output(spec, rows.ravel()[1:], SIZE)


def ncnn_rows(rng: np.random.Generator, count: int) -> list[list[float]]:
    """What ncnn writes: the class, from 1 on, the score, then the edges; the best first."""
    scores = sorted((float(np.float32(n)) for n in rng.random(count)), reverse=True)
    return [[float(rng.integers(1, 21)), s, *map(float, rng.random(4, np.float32))] for s in scores]


@pytest.mark.parametrize(
    "shape, layout, dtype",
    [((6, 6), "NC", "float32"), ((1, 9, 6), "NCW", "float16"), ((1, 1, 4, 6), "NHWC", "float32")],
)
@pytest.mark.parametrize("background", [None, 0])
def test_rows_of_ncnn(shape: tuple[int, ...], layout: str, dtype: str, background: int | None) -> None:
    """Six numbers, the class first; its number is one more than that of a head without a background."""
    rows = ncnn_rows(np.random.default_rng(len(shape)), shape[-2])
    spec = nl.TensorSpec(shape, layout, dtype, axes=nl.Layout.of_rank(len(shape)).axes, name="detection_out")
    stored = spec.pack(np.float32(rows).reshape(shape))
    values = spec.unpack(stored).astype(float).reshape(-1, 6).tolist()
    found = decode.detection_output(spec, stored, SIZE, 0.3, layer="ncnn", background=background)
    kept = [row for row in values if row[1] >= 0.3]
    assert 0 < len(kept) == len(found) and found.listed
    for i, (label, score, left, top, right, bottom) in enumerate(kept):
        assert (found.class_id[i], found.confidence[i]) == (label - (background == 0), np.float32(score))
        wanted = np.float32([left * SIZE[1], top * SIZE[0], right * SIZE[1], bottom * SIZE[0]])
        assert found.xyxy[i].tolist() == wanted.tolist()


def test_rows_of_ncnn_are_a_head_too() -> None:
    """Its columns are the parts of a record, in their order, and every backend reads them as detection_output does."""
    parts = (decode.Part("label", 1), decode.Part("score", 1), decode.Part("box", 4))
    form = decode.Form("rows", parts, decode.Boxes("xyxy", unit="input"), "rows")
    head = decode.Head("ncnn", 20, (1,), (form,), background=0, suppression=decode.Suppression("none"))
    head = decode.Head.from_dict(head.to_dict())
    rows = np.float32([*ncnn_rows(np.random.default_rng(0), 12), [0, 0, 0, 0, 0, 0]]).ravel()
    spec = nl.TensorSpec((1, 13, 6), "NCW", name="rows")
    for least in (0.0, 0.4):
        listed = decode.detection_output(spec, rows, SIZE, least, layer="ncnn", background=0)
        for decoder in decoders(head, [spec], SIZE):
            found = decoder([rows], least)
            assert found.xyxy.tobytes() == listed.xyxy.tobytes() and len(found) == len(listed) > 3
            assert found.confidence.tobytes() == listed.confidence.tobytes()
            assert found.class_id.tolist() == listed.class_id.tolist()


def test_rows_of_another_layer_are_refused() -> None:
    """YOLOv10's rows have six numbers too, edges first: nobody reads six without being told whose they are."""
    with pytest.raises(nl.LayoutError, match=r"\(1, 1, n, 7\); if these are rows of ncnn's layer, say layer='ncnn'$"):
        decode.detection_output(nl.TensorSpec((1, 1, 2, 6)), np.zeros(12, np.float32), SIZE)
    with pytest.raises(nl.LayoutError, match=r"expected \(n, 6\); if these are rows of caffe's layer, say layer="):
        decode.detection_output(nl.TensorSpec((1, 1, 2, 7)), np.zeros(14, np.float32), SIZE, layer="ncnn")
    with pytest.raises(nl.LayoutError, match=r"expected \(n, 6\)$"):
        decode.detection_output(nl.TensorSpec((1, 1, 2, 5)), np.zeros(10, np.float32), SIZE, layer="ncnn")
    edges = np.float32([120.5, 30, 200, 90, 0.9, 2])  # of YOLOv10
    with pytest.raises(nl.NpuLayoutError, match=r"buffer: expected classes as whole numbers of 0 or more, got 120\.5"):
        decode.detection_output(nl.TensorSpec((1, 6), "NC"), edges, SIZE, 0.5, layer="ncnn")
    with pytest.raises(nl.NpuLayoutError, match="layer: expected caffe or ncnn, got 'tflite'"):
        decode.detection_output(nl.TensorSpec((1, 6), "NC"), edges, SIZE, layer="tflite")


@pytest.mark.parametrize(
    ("background", "numbered"),
    [(None, [1, 5, 20, 3]), (0, [0, 4, 19, 2]), (4, [1, 4, 19, 3]), (21, [1, 5, 20, 3]), (99, [1, 5, 20, 3])],
)
def test_classes_without_the_background(background: int | None, numbered: list[int]) -> None:
    """Caffe's and TensorFlow's networks have it first, MMDetection's last: nothing is between or after it there."""
    rows = np.zeros((5, 7), np.float32)  # the last one was not written to
    rows[:4, 1], rows[:4, 2] = (1, 5, 20, 3), (0.9, 0.8, 0.7, 0.6)
    found = decode.detection_output(nl.TensorSpec((1, 1, 5, 7)), rows.ravel(), SIZE, 0.1, background=background)
    assert found.class_id.tolist() == numbered and found.cell.tolist() == [0, 1, 2, 3]
    assert found.class_id.dtype == np.int64
    everything = decode.detection_output(nl.TensorSpec((1, 1, 5, 7)), rows.ravel(), SIZE, background=background)
    assert everything.class_id.tolist() == (numbered if background == 0 else [*numbered, 0])


def test_a_detection_of_the_background_is_refused() -> None:
    """Of person-detection-0200 class 0 is a person: its detections would be lost in silence."""
    rows = np.zeros((3, 7), np.float32)
    rows[:, 1:3] = (1, 0.9), (0, 0.4), (0, 0)
    spec = nl.TensorSpec((1, 1, 3, 7))
    words = r"^buffer: row 1 is a detection of class 0, which background= .*; .* classes from 0, leave background= out$"
    with pytest.raises(nl.NpuLayoutError, match=words):
        decode.detection_output(spec, rows.ravel(), SIZE, 0.3, background=0)
    assert decode.detection_output(spec, rows.ravel(), SIZE, 0.5, background=0).class_id.tolist() == [0]
    assert decode.detection_output(spec, rows.ravel(), SIZE, 0.3, background=1 << 20).class_id.tolist() == [1, 0]


def test_the_classes_of_the_layer_are_those_of_an_ssd_head() -> None:
    """One prior, scores of the background and of three classes: the layer's number is one more than the head's."""
    priors, scores = [(0.5, 0.5, 0.5, 0.5)], np.float32([[[0.05, 0.1, 0.8, 0.05]]])
    specs = [nl.TensorSpec((1, 1, 4), "NCW", name="box"), nl.TensorSpec((1, 1, 4), "NCW", name="score")]
    head = decode.ssd(priors, 3, activation="none", yx=False)
    expected = decode.Decoder(head, specs, SIZE)([np.zeros(4, np.float32), scores.ravel()], 0.5, 0.5)
    row = np.float32([0, 2, 0.8, 0.25, 0.25, 0.75, 0.75])  # as the layer writes it: 2 of 0 .. 3
    found = decode.detection_output(nl.TensorSpec((1, 1, 1, 7)), row, SIZE, 0.5, background=0)
    assert found.class_id.tolist() == expected.class_id.tolist() == [1] and decode.same(found, expected)


def test_thresholds_in_percent_are_refused() -> None:
    """They found nothing in silence: a score is a probability."""
    rows, spec = np.zeros(7, np.float32), nl.TensorSpec((1, 1, 1, 7))
    for call in (
        lambda least: decode.hailo_nms(by_class([[], []]), 2, SIZE, least),
        lambda least: decode.detection_output(spec, rows, SIZE, least),
    ):
        assert len(call(1)) == 0
        with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1: .*, got 25; 25 .* are 0\.25$"):
            call(25)
        with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1: .*, got 1000000\.0$"):
            call(1e6)
        with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1: .*, got -0\.5$"):
            call(-0.5)
