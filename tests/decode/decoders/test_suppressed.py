"""Rows of the layer DetectionOutput, against what a program would write; thresholds of all suppressed lists."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.backends import decoders

SIZE = (96, 160)  # height and width


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
        lambda least: decode.hailo_nms(bytes(2 * (4 + 20)), 2, SIZE, least),
        lambda least: decode.detection_output(spec, rows, SIZE, least),
    ):
        assert len(call(1)) == 0
        with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1: .*, got 25; 25 .* are 0\.25$"):
            call(25)
        with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1: .*, got 1000000\.0$"):
            call(1e6)
        with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1: .*, got -0\.5$"):
            call(-0.5)
