"""Maps of labels whose columns, rows or slices are in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.comparison import OutputComparison, channel_axis
from npu_layout.diagnosis import Evidence, Judgement, Situation, diagnose
from npu_layout.diagnosis.computed.place_orders import place_orders

MAP, WIDE, VOLUME = (1, 24, 40), (1, 1, 24, 40), (1, 12, 16, 20)
Change = Callable[[np.ndarray], np.ndarray]
COLUMNS, ROWS, SLICES = (np.random.default_rng(7).permutation(count) for count in (40, 24, 12))


def _labels(shape: tuple[int, ...], frames: int, seed: int = 0) -> list[np.ndarray]:
    """Labels of four classes, one of which fills half of a map; neighbours are alike."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(frames):
        scores = rng.normal(size=(4, *shape[1:]))
        for axis in range(1, len(shape)):
            scores = sum(np.roll(scores, by, axis) for by in range(5))
        scores[0] += scores.std()
        made.append(scores.argmax(0)[None])
    return made


def _with_noise(labels: np.ndarray, share: float, seed: int, passes: int = 1) -> np.ndarray:
    """Return labels of which a share is drawn anew, or, in further passes, is the label of a neighbour."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(labels.shape) < share, rng.integers(0, 4, labels.shape), labels)
    for k in range(1, passes):
        beside = np.roll(labels, int(rng.choice([-1, 1])), -1 - k % 2)
        labels = np.where(rng.random(labels.shape) < share, beside, labels)
    return labels


def _judged(model: Sequence[np.ndarray], device: Sequence[np.ndarray], dtype: str = "int64") -> Judgement:
    axis, shape = channel_axis(model[0]), model[0].shape
    spec = nl.TensorSpec(shape, {3: "NCW", 4: "NCHW"}[len(shape)], dtype, name="y")
    found = Evidence(spec, [spec.pack(x.astype(dtype)) for x in device], model, (), axis)
    compared = OutputComparison(axis, 1.0, labels=True)
    for k, pair in enumerate(zip(device, model)):
        compared.add(k, *pair)
    whole = compared.whole
    assert whole is not None
    situation = Situation("y", range(len(model)), {"y": model}, {"y": spec}, ())
    return diagnose(found, situation, whole.snr_db >= 10, compared)[1]


@pytest.mark.parametrize("frames", [2, 4])
@pytest.mark.parametrize(
    ("shape", "text", "change"),
    [
        (MAP, "columns are shifted by 9 of 40 places, and go on at the other end", lambda x: np.roll(x, 9, -1)),
        (MAP, "rows are shifted by 12 of 24 places, and go on at the other end", lambda x: np.roll(x, 12, 1)),
        (
            MAP,
            "columns are in another order: 38 of 40 are in other places (the model's are at 0, 20, 1, 21, ",
            lambda x: np.concatenate([x[..., ::2], x[..., 1::2]], -1),
        ),
        (MAP, "columns are in another order: ", lambda x: x[..., COLUMNS]),
        (WIDE, "rows are in another order: ", lambda x: x[..., ROWS, :]),
        (VOLUME, "slices are in another order: ", lambda x: x[:, SLICES]),
    ],
)
def test_another_order_is_named(shape: tuple[int, ...], text: str, change: Change, frames: int) -> None:
    model = _labels(shape, frames)
    device = [_with_noise(change(x), 0.02, k) for k, x in enumerate(model)]
    judgement = _judged(model, device)
    assert judgement.verdict == "geometry" and judgement.fix is None, judgement.why
    assert judgement.why.startswith(f"The picture was moved or resized: the maps' {text}"), judgement.why


def _late(by: int, first: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Return a change to slices that begin `by` places late, with something else at the first places."""
    return lambda x: np.concatenate([first(x[:, :by]), x[:, :-by]], 1)


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("1 of 12 places, and the first one is like the next", _late(1, lambda x: x)),
        ("1 of 12 places, and the first one is 0", _late(1, np.zeros_like)),
        ("3 of 12 places, and the first 3 are like the next", _late(3, lambda x: x[:, [0, 0, 0]])),
        ("1 of 12 places.", _late(1, lambda x: np.flip(x + 1, (1, 2, 3)) % 4)),
        (
            "2 of 12 places towards the first, and the last 2 are like the one before",
            lambda x: np.concatenate([x[:, 2:], x[:, -1:], x[:, -1:]], 1),
        ),
        ("1 of 12 places towards the first, and go on at the other end", lambda x: np.roll(x, -1, 1)),
    ],
)
def test_what_a_shift_leaves_at_the_first_slices_is_said(words: str, change: Change) -> None:
    """A buffer that is written one slice late has no last slice at its first place."""
    model = _labels(VOLUME, 3)
    for share in (0.0, 0.02)[: 1 if "first 3" in words else 2]:  # under noise, three alike are in any order
        judgement = _judged(model, [_with_noise(change(x), share, k) for k, x in enumerate(model)])
        assert judgement.verdict == "geometry", judgement.why
        assert f"the maps' slices are shifted by {words}" in judgement.why, judgement.why


@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.3])
def test_noise_makes_no_order(share: float) -> None:
    for seed in range(5):
        shape = (MAP, WIDE, VOLUME)[seed % 3]
        model = _labels(shape, 1 + seed % 2, seed)
        device = [_with_noise(x, share, seed, 1 + seed % 4) for x in model]
        judgement = _judged(model, device, ("int64", "int32", "uint8")[seed % 3])
        assert judgement.verdict in ("match", "mismatch"), (seed, judgement.why)
        assert " order" not in judgement.why, judgement.why


def test_a_few_labels_that_two_columns_differ_by_prove_no_order() -> None:
    """The device has them the other way round, and errs as much elsewhere."""
    model = _labels(MAP, 1)
    model[0][..., 11] = model[0][..., 10]
    model[0][0, 5:8, 11] = (model[0][0, 5:8, 10] + 1) % 4
    device = _with_noise(model[0], 0.05, 3)
    device[..., [10, 11]] = model[0][..., [11, 10]]
    judgement = _judged(model, [device])
    assert judgement.verdict == "match", judgement.why


def test_columns_that_are_mirrored_are_no_order() -> None:
    for shape in (MAP, (1, 16, 16)):
        model = _labels(shape, 3)
        for share in (0.0, 0.02):
            judgement = _judged(model, [_with_noise(x[..., ::-1], share, k) for k, x in enumerate(model)])
            assert "the maps are mirrored from left to right" in judgement.why, judgement.why


def test_the_axis_of_channels_that_were_last_is_no_side_of_the_map() -> None:
    model = [x[..., None] for x in _labels(MAP, 2)]
    judgement = _judged(model, [np.ascontiguousarray(x[:, :, COLUMNS]) for x in model])
    assert "the maps' columns are in another order" in judgement.why, judgement.why


def test_rows_of_one_map_are_in_another_order_and_not_sorted() -> None:
    model = _labels(MAP, 1)
    judgement = _judged(model, [np.ascontiguousarray(x[:, ROWS]) for x in model])
    assert "the maps' rows are in another order" in judgement.why, judgement.why


@pytest.mark.parametrize(("axis", "dtype"), [(1, "int64"), (None, "float32")])
def test_of_what_is_no_map_of_labels_no_order_is_looked_for(axis: int | None, dtype: str) -> None:
    """Of what has channels, and of what is no whole number."""
    model = [x.astype(dtype) for x in _labels(MAP, 2)]
    device = [np.ascontiguousarray(x[..., COLUMNS]) for x in model]
    found = [Evidence(nl.TensorSpec(MAP, "NCW", dtype), device, model, (), a) for a in (axis, None)]
    assert not list(place_orders(found[0]))
    assert len(list(place_orders(found[1]))) == (dtype == "int64")
