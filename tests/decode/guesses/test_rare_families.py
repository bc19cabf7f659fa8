"""Other bins than 16, and keypoints beside masks: every number that channels allow is offered, and none is certain."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.guesses.rare_families import families_of_bins, families_of_parts
from tests.support.output_specs import maps, of_shapes

SIZE = (640, 640)
PROTOTYPES = (1, 16, 160, 160)


def heads_of(found: decode.Guess) -> list[decode.Head]:
    return [found.head] if found.head else list(found.others)


def parts_of(head: decode.Head) -> tuple[int, int, int, int]:
    """Classes, bins, keypoints and coefficients."""
    points, masks = head.keypoints, head.prototypes
    bins = head.forms[0].boxes.bins
    return head.classes, bins, points.count if points else 0, masks.channels if masks else 0


@pytest.mark.parametrize("beside", [(), (54,), (16,), (54, 16)])
@pytest.mark.parametrize("bins", [5, 6, 8, 10, 12, 20, 24, 32])
def test_other_bins_are_offered(bins: int, beside: tuple[int, ...]) -> None:
    """Of YOLOv8 and its variants, with 18 keypoints, 16 coefficients or both, whatever the number of classes."""
    shapes = [*maps((4 * bins, 7, *beside)), *[PROTOTYPES] * (16 in beside)]
    for classes in (7, None):
        found = decode.guess(of_shapes(shapes), SIZE, classes)
        wanted = (7, bins, 18 * (54 in beside), 16 * (16 in beside))
        assert wanted in {parts_of(head) for head in heads_of(found)}, found.why
        if bins == 8 and not beside:  # NanoDet's boxes are the same
            assert {head.name for head in heads_of(found)} == {"nanodet", "yolov8", "yolov10"} and found.head is None
            continue
        assert found.head is None and f"whether a side has {bins} bins (bins=)" in found.why
        for head in heads_of(found):
            decode.Decoder(head, of_shapes(shapes), SIZE)


def test_bins_of_one_output_follow_from_the_classes() -> None:
    shapes = of_shapes(maps((4 * 10 + 80,)))
    found = decode.guess(shapes, SIZE, 80)
    assert {parts_of(head) for head in heads_of(found)} == {(80, 10, 0, 0)} and found.head is None


def test_the_same_channels_are_classes_or_bins() -> None:
    """40 and 80: 10 bins and 80 classes, or 20 bins and 40 classes; COCO's come first."""
    found = decode.guess(of_shapes(maps((40, 80))), SIZE)
    assert [parts_of(head)[:2] for head in heads_of(found) if not head.keypoints][::2] == [(80, 10), (40, 20)]


@pytest.mark.parametrize("count", [5, 17, 18])
@pytest.mark.parametrize("classes", [1, 2])
def test_keypoints_beside_masks(count: int, classes: int) -> None:
    """In maps, in one list, and in outputs of their own beside maps."""
    n, cells = 3 * count, 8400
    for shapes in (
        maps((64, classes, n, 16)),
        [(1, 4 + classes + n + 16, cells)],
        [*maps((64, classes)), (1, count, 3, cells), (1, 16, cells)],
    ):
        specs = of_shapes([*shapes, PROTOTYPES])
        found = decode.guess(specs, SIZE, classes)
        assert (classes, 16, count, 16) in {parts_of(head) for head in heads_of(found)}, (shapes, found.why)
        for head in heads_of(found):
            decode.Decoder(head, specs, SIZE)
    listed = decode.guess(of_shapes([(1, 5 + n + 16, cells), PROTOTYPES]), SIZE)
    assert f"{count} keypoints and masks of 16 coefficients (YOLOv8 of one class), 1 class" in listed.why
    assert (1 + n, 16, 0, 16) in {parts_of(head) for head in heads_of(listed)} and listed.head is None
    usual = decode.guess(of_shapes([(1, 5 + n + 32, cells), (1, 32, 160, 160)]), SIZE)
    assert f"no scores but keypoints (keypoints=, point_values=): {count} keypoints and masks (YOLOv8" in usual.why


def test_a_guess_decodes() -> None:
    """Of 8 bins: the box of a cell is that of the means of its bins, point and class are those of its channels."""
    rng = np.random.default_rng(3)
    specs = [
        spec.replace(name=f"y{i}") for i, spec in enumerate(of_shapes([*maps((32, 2, 54, 16), 64), (1, 16, 16, 16)]))
    ]
    values = {spec.name: rng.normal(0, 1, spec.shape).astype(np.float32) for spec in specs}
    for i in (1, 5, 9):
        values[f"y{i}"] = np.full(specs[i].shape, 0.01, np.float32)
    values["y1"][0, 1, 3, 5] = 0.9
    guessed = decode.guess(specs, (64, 64), 2)
    head = next(head for head in heads_of(guessed) if parts_of(head) == (2, 8, 18, 16))
    found = decode.Decoder(head, specs, (64, 64))({name: v.ravel() for name, v in values.items()}, 0.5)
    shares = np.exp(values["y0"][0, :, 3, 5].astype(np.float64).reshape(4, 8))
    left, top, right, bottom = (shares * np.arange(8)).sum(1) / shares.sum(1)
    box = [(5.5 - left) * 8, (3.5 - top) * 8, (5.5 + right) * 8, (3.5 + bottom) * 8]
    assert found.class_id.tolist() == [1] and np.allclose(found.xyxy[0], box, atol=1e-4)
    x, y, seen = values["y2"][0, :3, 3, 5].astype(np.float64)
    assert found.keypoints is not None
    assert np.allclose(found.keypoints[0, 0], [(2 * x + 5) * 8, (2 * y + 3) * 8, 1 / (1 + np.exp(-seen))], atol=1e-4)


@pytest.mark.parametrize("shapes", [[(1, 64, 80, 80), (1, 80, 80, 80)], [(1, 80, 8400)], [(1, 1000)], maps((3, 6))])
def test_other_outputs_have_no_such_family(shapes: list[tuple[int, ...]]) -> None:
    """Without prototypes there are no masks; a number of bins is a quarter of the channels of a map."""
    specs = of_shapes(shapes)
    assert not list(families_of_parts(specs, SIZE, None))
    assert all(family.word.startswith("20 bins a side") for family in families_of_bins(specs, SIZE, None))


def test_families_are_made_once() -> None:
    specs = of_shapes([*maps((32, 2, 54, 16)), PROTOTYPES])
    for families in (families_of_bins, families_of_parts):
        first, again = (list(families(specs, SIZE, None)) for _ in range(2))
        assert first and all(a is b for a, b in zip(first, again))


def test_what_is_known_stays() -> None:
    """YOLOv8 of 16 bins, YOLO-NAS' 17 and a segmentation network get no other bins beside them."""
    for shapes in (
        maps((64, 80)),
        maps((68, 80)),
        [*maps((64, 80, 32)), (1, 32, 160, 160)],
        [(1, 116, 8400), (1, 32, 160, 160)],
    ):
        assert "bins (bins=)" not in decode.guess(of_shapes(shapes), SIZE).why


def test_the_samples_detector() -> None:
    """8 bins, 18 keypoints and 16 coefficients: what samples/detect.py decodes."""
    shapes = [*maps((32, 2, 54, 16), 320), (1, 16, 80, 80)]
    specs = [spec.replace(dtype="int8", quantization=nl.Quantization(1 / 255, -128)) for spec in of_shapes(shapes)]
    found = decode.guess(specs, (320, 320), 2)
    assert decode.yolov8(2, bins=8, keypoints=18, coefficients=16) in found.others
