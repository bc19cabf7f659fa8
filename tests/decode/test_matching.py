"""Sets of detections compared: faults that were planted, and noise that is none."""

from __future__ import annotations

import itertools

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


def changed(d: decode.Detections, **columns: np.ndarray) -> decode.Detections:
    fields = {k: getattr(d, k) for k in ("xyxy", "confidence", "class_id", "level", "cell", "anchor")}
    return decode.Detections(**{**fields, **columns})


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
    with pytest.raises(nl.NpuLayoutError, match="reference: expected finite boxes"):
        decode.same(one, changed(one, xyxy=np.float32([[0, 0, np.nan, 1]])))
    with pytest.raises(nl.NpuLayoutError, match="found"):
        decode.same([], one)  # type: ignore[arg-type]
    assert decode.same(one, none).to_dict()["extra"] == (0,)
