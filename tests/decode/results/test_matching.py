"""Sets of detections compared: faults that were planted, and noise that is none."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode


def scene(rng: np.random.Generator, n: int) -> decode.Detections:
    """Detections that do not overlap, so that which belongs to which is known."""
    places = rng.permutation(400)[:n]
    corner = np.stack([places % 20 * 40, places // 20 * 40], 1).astype(np.float32) + rng.uniform(0, 8, (n, 2))
    xyxy = np.concatenate([corner, corner + rng.uniform(16, 30, (n, 2))], 1).astype(np.float32)
    scores = np.sort(rng.uniform(0.4, 1, n))[::-1].astype(np.float32)
    where = np.zeros(n, np.int64)
    return decode.Detections(xyxy, scores, rng.integers(0, 5, n), where, where, where)


def changed(d: decode.Detections, **columns: Any) -> decode.Detections:
    names = ("xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "masks", "xywha")
    return decode.Detections(**{**{name: getattr(d, name) for name in names}, **columns})


@pytest.mark.parametrize("seed", range(50))
def test_noise_and_order_are_no_fault(seed: int) -> None:
    """Boxes that move by a pixel, scores by 0.02, in another order."""
    rng = np.random.default_rng(seed)
    d = scene(rng, int(rng.integers(0, 60)))
    noisy = changed(
        d,
        xyxy=d.xyxy + rng.uniform(-1, 1, d.xyxy.shape).astype(np.float32),
        confidence=d.confidence + rng.uniform(-0.02, 0.02, len(d)).astype(np.float32),
    )
    order = rng.permutation(len(d))
    found = decode.same(noisy[order], d)
    assert found and len(found.matched) == len(d)
    assert all(order[i] == j for i, j in found.matched)
    assert found.pixels <= 1.001 and found.score <= 0.021


@pytest.mark.parametrize("seed", range(50))
def test_planted_faults_are_all_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = scene(rng, 30)
    rows = rng.permutation(30)
    lost, moved, relabelled, rescored = rows[:3], rows[3:5], rows[5:9], rows[9:10]
    xyxy, score, label = d.xyxy.copy(), d.confidence.copy(), d.class_id.copy()
    xyxy[moved, 0] -= 5
    label[relabelled] = (label[relabelled] + 1) % 5
    score[rescored] -= 0.2
    stay = np.setdiff1d(np.arange(30), lost)
    found = decode.same(changed(d, xyxy=xyxy, confidence=score, class_id=label)[stay], d)
    assert not found
    assert set(found.missing) == set(lost.tolist()) and found.extra == () == found.marginal
    named = {name: {j for _, j in getattr(found, name)} for name in ("moved", "relabelled", "rescored")}
    assert named == {
        "moved": set(moved.tolist()),
        "relabelled": set(relabelled.tolist()),
        "rescored": set(rescored.tolist()),
    }
    turned = decode.same(d, changed(d, xyxy=xyxy, confidence=score, class_id=label)[stay])
    assert set(turned.extra) == set(lost.tolist()) and turned.missing == ()
    words = str(found)
    assert words.startswith("27 matched, 3 missing, 2 moved, 4 relabelled, 1 rescored; edges within 5 px")


def posed(d: decode.Detections, keypoints: np.ndarray) -> decode.Detections:
    return changed(d, keypoints=keypoints.astype(np.float32))


@pytest.mark.parametrize("seed", range(20))
def test_keypoints_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = scene(rng, 12)
    points = rng.uniform(0, 1, (12, 17, 3))
    points[..., :2] = d.xyxy[:, None, :2] + points[..., :2] * (d.xyxy[:, None, 2:] - d.xyxy[:, None, :2])
    real = posed(d, points)
    noisy = points + np.concatenate([rng.uniform(-2, 2, (12, 17, 2)), rng.uniform(-0.2, 0.2, (12, 17, 1))], 2)
    noisy[:, 0, :2] += 300  # one joint that is taken for another one
    unseen = points[..., 2] < 0.5
    noisy[unseen] = rng.uniform(0, 800, (int(unseen.sum()), 3))
    assert decode.same(posed(d, noisy), real), str(decode.same(posed(d, noisy), real))
    wrong = points.copy()
    wrong[3:5, :, 0] += 40
    wrong[7, :, 2] = 1 - wrong[7, :, 2]
    found = decode.same(posed(d, wrong), real)
    strong = (abs(2 * points[7, :, 2] - 1) > 0.25) & (points[7, :, 2] >= 0.5)
    also = {7} if strong.sum() > 0.25 * (points[7, :, 2] >= 0.5).sum() else set()
    assert {j for _, j in found.keypoints} == {3, 4} | also and not found and "with other keypoints" in str(found)
    flat = decode.same(posed(d, wrong[..., :2]), posed(d, points[..., :2]))
    assert {j for _, j in flat.keypoints} == {3, 4}
    assert not decode.same(posed(d, np.full_like(points, np.nan)), real)


def masked(d: decode.Detections, crops: list[np.ndarray]) -> decode.Detections:
    corners = np.floor(d.xyxy[:, :2]).astype(np.int64)
    return changed(d, masks=decode.Masks(crops, corners, (900, 900)))


def test_masks_count() -> None:
    d = scene(np.random.default_rng(5), 6)
    disk = np.hypot(*np.mgrid[-8:8, -8:8]) < 7.5
    real = masked(d, [disk] * 6)
    assert decode.same(masked(d, [np.roll(disk, 1, 0)] * 6), real)
    found = decode.same(masked(d, [disk, ~disk, *[disk] * 3, np.zeros((16, 16), bool)]), real)
    assert [j for _, j in found.masks] == [1, 5] and "2 with another mask" in str(found)
    few = np.zeros((16, 16), bool)
    few[:2, :2] = True
    assert decode.same(masked(d, [~few & False] * 6), masked(d, [few] * 6))


def test_one_side_alone_cannot_be_compared() -> None:
    d = scene(np.random.default_rng(1), 3)
    points = np.zeros((3, 5, 3))
    for a, b in ((posed(d, points), d), (d, posed(d, points)), (posed(d, points), posed(d, points[:, :4]))):
        with pytest.raises(nl.NpuLayoutError, match="keypoints: expected the same kind on both sides, got"):
            decode.same(a, b)
    with pytest.raises(nl.NpuLayoutError, match="masks: expected the same kind on both sides, got none and those of"):
        decode.same(d, masked(d, [np.ones((4, 4), bool)] * 3))


def test_ties_are_named_and_count() -> None:
    """Suppression that kept the other one of two boxes with one score."""
    d = scene(np.random.default_rng(2), 4)
    xyxy, cell, score = d.xyxy.copy(), d.cell.copy(), d.confidence.copy()
    xyxy[:3, 2] += 6
    cell[[0, 2, 3]] += 1
    score[2] -= 0.04
    found = decode.same(changed(d, xyxy=xyxy, cell=cell, confidence=score), d)
    assert found.tied == ((0, 0),) and not found and "3 moved, 1 of these tied" in str(found)
    assert found.moved == ((0, 0), (1, 1), (2, 2))


def test_what_is_at_the_threshold_is_marginal() -> None:
    d = scene(np.random.default_rng(0), 6)
    d = changed(d, confidence=np.float32([0.9, 0.8, 0.7, 0.6, 0.28, 0.26]))
    found = decode.same(d[:4], d, confidence=0.25)
    assert found and found.marginal == (("reference", 4), ("reference", 5))
    assert not decode.same(d[:3], d, confidence=0.25) and not decode.same(d[:4], d)
    other = decode.same(d, d[:5], confidence=0.25)
    assert other and other.marginal == (("found", 5),)
    assert not decode.same(d[:0], d[:1], confidence=0.25)


def test_matches_are_one_to_one() -> None:
    """The best pairs, of all ways to pair boxes of one object, by brute force over greedy's definition."""
    rng = np.random.default_rng(3)
    where = np.zeros(4, np.int64)
    for _ in range(100):
        a, b = (
            decode.Detections(
                np.concatenate([c, c + 20], 1).astype(np.float32), np.ones(4, np.float32), where, where, where, where
            )
            for c in (rng.uniform(0, 20, (4, 2)), rng.uniform(0, 20, (4, 2)))
        )
        found = decode.same(a, b, overlap=0.3)
        left, right, wanted = set(range(4)), set(range(4)), []
        while True:
            pairs = [(iou(a.xyxy[i], b.xyxy[j]), -i, -j) for i, j in itertools.product(left, right)]
            best = max(pairs, default=(0.0, 0, 0))
            if best[0] < 0.3:
                break
            wanted.append((-best[1], -best[2]))
            left.discard(-best[1])
            right.discard(-best[2])
        assert sorted(wanted) == list(found.matched)


def iou(a: np.ndarray, b: np.ndarray) -> float:
    w = max(0.0, float(min(a[2], b[2])) - float(max(a[0], b[0])))
    h = max(0.0, float(min(a[3], b[3])) - float(max(a[1], b[1])))
    areas = [float((e[2].astype(float) - e[0]) * (e[3].astype(float) - e[1])) for e in (a, b)]
    return w * h / (sum(areas) - w * h)


def test_empty_and_bad() -> None:
    none = scene(np.random.default_rng(0), 0)
    one = scene(np.random.default_rng(0), 1)
    assert decode.same(none, none) and not decode.same(one, none) and decode.same(one, none).extra == (0,)
    thin = changed(one, xyxy=np.float32([[3, 3, 3, 9]]))
    assert decode.same(thin, thin)
    with pytest.raises(nl.NpuLayoutError, match="found"):
        decode.same([], one)  # type: ignore[arg-type]
    assert decode.same(one, none).to_dict()["extra"] == (0,)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("seed", range(8))
def test_boxes_that_are_no_numbers(seed: int, value: float) -> None:
    """Found alone has them: extra and missing. Both have them, of the same class and cell: no difference."""
    rng = np.random.default_rng(seed)
    d = changed(scene(rng, 20), cell=np.arange(20), keypoints=np.zeros((20, 3, 3), np.float32))
    rows = sorted(rng.permutation(20)[:4].tolist())
    xyxy, score = d.xyxy.copy(), d.confidence.copy()
    xyxy[rows, rng.integers(0, 4, 4)] = value
    score[rows[0]] = np.inf
    odd, order = changed(d, xyxy=xyxy, confidence=score), rng.permutation(20)
    found = decode.same(odd[order], odd)
    assert found and len(found.matched) == 20 and found.pixels == found.score == 0
    found = decode.same(odd, d)
    assert not found and found.extra == found.missing == tuple(rows) and len(found.matched) == 16
    assert found.moved == found.rescored == found.relabelled == () and found.pixels == found.score == 0
    other = changed(odd, class_id=odd.class_id + (np.arange(20) == rows[1]))
    found = decode.same(other, odd)
    assert not found and found.extra == (rows[1],) == found.undefined and found.missing == ()
    elsewhere = changed(odd, cell=np.where(np.arange(20) == rows[2], 99, odd.cell))
    assert decode.same(elsewhere, odd).extra == (rows[2],)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("seed", range(8))
def test_boxes_that_the_reference_does_not_define(seed: int, value: float) -> None:
    """Whatever found has of that class in those cells, and nothing, is no difference; all else counts as ever."""
    rng = np.random.default_rng(seed)
    d = changed(scene(rng, 20), cell=np.arange(20))
    rows, order = np.sort(rng.permutation(20)[:4]), rng.permutation(20)
    xyxy, score = d.xyxy.copy(), d.confidence.copy()
    xyxy[rows[1:], rng.integers(0, 4, 3)] = value
    score[rows[0]] = value
    odd = changed(d, xyxy=xyxy, confidence=score)
    found = decode.same(d[order], odd)
    assert found and found.undefined == tuple(rows) and len(found.matched) == 16
    assert found.extra == found.missing == found.moved == () and found.pixels == found.score == 0
    assert str(found).startswith("16 matched, 4 undefined in the reference; edges within 0 px")
    left = decode.same(d[order[~np.isin(order, rows[:2])]], odd)
    assert left and left.undefined == tuple(rows)
    relabelled = decode.same(changed(d, class_id=d.class_id + (np.arange(20) == rows[1])), odd)
    assert not relabelled and relabelled.extra == (rows[1],) and relabelled.undefined == tuple(rows)
    elsewhere = decode.same(changed(d, cell=np.where(np.arange(20) == rows[2], 99, d.cell)), odd)
    assert not elsewhere and elsewhere.extra == (rows[2],)
    other = int(np.setdiff1d(np.arange(20), rows)[0])
    less = decode.same(d[np.arange(20) != other], odd)
    assert not less and less.missing == (other,) and less.extra == ()


def as_list(d: decode.Detections, rows: Iterable[int]) -> decode.Detections:
    """What hailo_nms makes of such detections, in the order of `rows`, class by class."""
    memory = []
    rows = list(rows)
    for label in range(5):
        some = [int(i) for i in rows if d.class_id[i] == label]
        memory.append(np.float32([len(some)]))
        memory.extend(np.append(d.xyxy[i, [1, 0, 3, 2]] / 800, d.confidence[i]).astype(np.float32) for i in some)
    frame = np.zeros(5 * (1 + 5 * len(rows)), np.float32)
    written = np.concatenate(memory)
    frame[: len(written)] = written
    return decode.hailo_nms(frame, 5, (800, 800))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(12))
def test_a_list_that_the_device_suppressed_has_no_cells(seed: int) -> None:
    """Rows of its list are not the model's cells, whether they are the same numbers or not."""
    rng = np.random.default_rng(seed)
    plain = scene(rng, 20)
    model = changed(plain, cell=rng.permutation(400)[:20], level=rng.integers(0, 3, 20))
    noisy = changed(plain, xyxy=plain.xyxy + rng.uniform(-1, 1, (20, 4)).astype(np.float32))
    device = as_list(noisy, rng.permutation(20))
    assert device.listed and device[3:9].listed and not model.listed and not model[[1]].listed
    assert decode.same(device, model) and decode.same(model, device) and decode.same(device, as_list(plain, range(20)))
    xyxy, rows = plain.xyxy.copy(), np.sort(rng.permutation(20)[:4])
    xyxy[rows, rng.integers(0, 4, 4)] = np.nan
    odd = changed(model, xyxy=xyxy)
    both = decode.same(as_list(odd, rng.permutation(20)), odd)
    assert both and len(both.matched) == 20 and both.undefined == ()
    number = decode.same(device, odd)
    assert number and len(number.matched) == 16 and number.undefined == tuple(rows)
    alone = decode.same(as_list(odd, range(20)), model)
    assert not alone and len(alone.extra) == len(alone.missing) == 4


def test_cells_of_a_list_hide_nothing_and_tie_nothing() -> None:
    """The reference's undefined box is in cell 1; row 1 of the device's list has another class's neighbour."""
    d = changed(scene(np.random.default_rng(2), 3), class_id=np.array([1, 1, 1]), cell=np.array([7, 1, 9]))
    xyxy = d.xyxy.copy()
    xyxy[1] = np.nan
    device = as_list(changed(d, class_id=np.array([1, 0, 1])), range(3))
    found = decode.same(device, changed(d, xyxy=xyxy))
    assert not found and [int(device.class_id[i]) for i in found.extra] == [0] and found.undefined == (1,)
    two = decode.same(as_list(d, range(3)), changed(d, xyxy=xyxy)[[1]])
    assert len(two.extra) == 2 and two.undefined == (0,)  # one row stands for it, not every one of the class
    xyxy = d.xyxy + np.float32([0, 0, 6, 0])
    moved = decode.same(as_list(changed(d, xyxy=xyxy), range(3)), d)
    assert len(moved.moved) == 3 and moved.tied == ()


def test_parts_that_one_side_lacks_can_be_left_out() -> None:
    d = scene(np.random.default_rng(1), 3)
    posed_model = posed(d, np.zeros((3, 5, 3)))
    with pytest.raises(
        nl.NpuLayoutError, match=r"to leave them out, give dataclasses.replace\(\.\.\., keypoints=None\)$"
    ):
        decode.same(as_list(d, range(3)), posed_model)
    assert decode.same(as_list(d, range(3)), dataclasses.replace(posed_model, keypoints=None))


def test_limits_in_percent_are_refused() -> None:
    """Whatever was missing counted as marginal, and any score as near enough."""
    one = changed(scene(np.random.default_rng(0), 3), confidence=np.float32([0.5, 0.9, 1.0]))
    none = one[:0]
    for what, given, most in (("confidence", 25, 1), ("score", 5, 1), ("shift", 5, 1), ("overlap", 50, 1)):
        says = rf"^{what}: expected 0 \.\. 1.*, got .*; {given} percent are {given / 100}$"
        with pytest.raises(nl.NpuLayoutError, match=says):
            decode.same(one, one, **{what: given})  # type: ignore[arg-type]
        assert decode.same(one, one, **{what: most})  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"^confidence: expected 0 \.\. 1"):
        decode.same(none, none, confidence=25)
    logits = changed(one, confidence=np.float32([2.1, 7, 9]))
    assert decode.same(logits, logits, confidence=2, score=1.5)
    assert decode.same(logits[1:], logits, confidence=2, score=0.2).marginal == (("reference", 0),)
    assert not decode.same(logits[:1], logits, confidence=2, score=1.5)


def test_turned_boxes_are_compared_by_their_corners() -> None:
    """A turn that leaves the edges around a box as they are is seen; width and height exchanged are not."""
    row = np.zeros(1, np.int64)

    def one(*xywha: float) -> decode.Detections:
        boxes = np.float32([xywha])
        plain = decode.Detections(np.float32([[0, 0, 40, 40]]), np.float32([0.9]), row, row, row, row)
        return changed(plain, xywha=boxes)

    a = one(20, 20, 44, 10, np.pi / 4)
    assert decode.same(a, a) and decode.same(a, one(20, 20, 44, 10, np.pi / 4 + np.pi))
    assert decode.same(a, one(20, 20, 10, 44, np.pi / 4 + np.pi / 2))
    assert decode.same(a, one(20.5, 20, 44, 10, np.pi / 4 + 0.03))
    crossed = decode.same(a, one(20, 20, 44, 10, -np.pi / 4))
    assert not crossed and crossed.moved == ((0, 0),) and crossed.pixels > 20
    upright = changed(a, xywha=None)
    with pytest.raises(nl.NpuLayoutError, match="xywha: expected the same kind on both sides"):
        decode.same(a, upright)
    with pytest.raises(nl.NpuLayoutError, match="expected 1 turned boxes"):
        decode.same(changed(a, xywha=np.float32([[20, 20, 44, 10]])), a)
    for none in ([[20, 20, 44, 10, np.nan]], [[20, 20, 44, np.inf, 0]]):
        odd = changed(a, xywha=np.float32(none))
        assert decode.same(odd, odd) and (decode.same(odd, a).extra, decode.same(a, odd).undefined) == ((0,), (0,))
