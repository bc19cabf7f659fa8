"""One tensor is judged: noise of 8 bits is the same, what is unrelated differs, and some cannot be judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_layout.comparison import MOST_DB
from npu_layout.exchange.layer_records import ComparedLayer
from npu_layout.exchange.layer_verdicts import judged
from npu_layout.exchange.onnx_graph import GraphTensor
from tests.support.layer_dumps import eight_bits

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1, 8, 12, 10)).astype(np.float32)


def verdict(a: Any, b: Any, op: str = "Conv", dtype: str = "float32", floor: float = 0.0) -> ComparedLayer:
    shape = a.shape if isinstance(a, np.ndarray) else None
    tensor = GraphTensor("y", op, "node", ("x",), shape, dtype)
    return judged(ComparedLayer("y", op, "node", "missing"), tensor, a, b, 10.0, floor)[0]


def test_equal_values_and_noise() -> None:
    same = verdict(X, X.copy())
    assert (same.verdict, same.snr_db, same.why, same.shape) == ("same", MOST_DB, "", X.shape)
    board = verdict(X, eight_bits(X))
    assert board.verdict == "same" and board.snr_db is not None and 35 < board.snr_db < 50
    loud = X + RNG.standard_normal(X.shape).astype(np.float32) * 0.25
    assert verdict(X, loud).verdict == "same" and verdict(X, loud, floor=1.0).snr_db == MOST_DB
    assert verdict(X, X + 0.5 * RNG.standard_normal(X.shape)).verdict == "differs"


def test_the_mean_alone_is_not_enough() -> None:
    """Far from 0 the mean hides what varies: 30 dB say nothing."""
    far = 10 + 0.3 * X
    other = 10 + 0.3 * RNG.standard_normal(X.shape).astype(np.float32)
    found = verdict(far, other)
    assert found.snr_db is not None and found.snr_db > 25 and found.verdict == "differs"
    assert "what varies is unrelated" in found.why
    narrow = 10 + 0.02 * X  # less than 8 bits over 0..10 distinguish
    assert verdict(narrow, eight_bits(narrow)).verdict == "same"
    assert verdict(narrow, narrow * 0 + 10).verdict == "same"


@pytest.mark.parametrize("count", [1, 2])
def test_channels_that_are_unrelated(count: int) -> None:
    b = eight_bits(X)
    b[:, 2 : 2 + count] = RNG.standard_normal(b[:, :count].shape)
    wide = np.repeat(X, 8, 1), np.concatenate([b, *[eight_bits(X)] * 7], 1)
    found = verdict(np.concatenate([X] * 8, 1), wide[1])
    assert found.verdict == "differs" and found.snr_db is not None and found.snr_db > 10
    assert found.why.startswith("channel 2 of 64 is" if count == 1 else "channels 2, 3 of 64 are")
    row = np.concatenate([eight_bits(np.concatenate([X] * 4, 2))])
    row[:, :, 5] = RNG.standard_normal(row[:, :, 5].shape)
    assert verdict(np.concatenate([X] * 4, 2), row).why.startswith("index 5 of the 48 along axis 2 is unrelated")


def test_whole_numbers() -> None:
    labels = RNG.integers(0, 80, (1, 200))
    ties = np.where(RNG.random(labels.shape) < 0.4, 79 - labels, labels)
    assert verdict(labels, ties, "ArgMax", "int64").verdict == "same"
    assert verdict(labels, 79 - labels, "ArgMax", "int64").verdict == "differs"
    assert verdict(labels, labels[:, ::-1], "TopK", "int64").verdict == "undecided"
    masks = labels > 40
    assert verdict(masks, masks.astype(np.float32), "Greater", "bool").verdict == "same"
    assert verdict(masks, ~masks, "Greater", "bool").verdict == "differs"


def test_scales_that_few_values_do_not_show() -> None:
    few = X[:, :, 0, :1].reshape(1, 8)
    codes = np.round(few / np.abs(few).max() * 127).astype(np.int8)
    for a, b in ((few, codes), (codes, few), (few[:, :4], codes[:, :4])):
        assert verdict(a, b).verdict == "undecided"
    found = verdict(X, np.round(X / 0.05).astype(np.int8) * 0)
    assert found.verdict == "undecided" and "no scale is known" in found.why
    assert verdict(X, np.round(X / 0.05).astype(np.int8)).why.startswith("b read with the scale 0.05")


def test_integers_against_the_sign_of_the_values() -> None:
    """No scale is needed to see that they are wrong."""
    codes = np.round(X / 0.05).astype(np.int8)
    for a, b in ((X, -codes), (-codes, X)):
        found = verdict(a, b)
        assert found.verdict == "differs" and found.snr_db is None and found.why.startswith("no scale makes")
    few = X[:, :2, :1, :2].reshape(1, 4)
    assert verdict(few, -codes[:, :2, :1, :2].reshape(1, 4)).verdict == "undecided"


def test_not_finite() -> None:
    bad = X.copy()
    bad[0, 0, 0, :3] = np.nan, np.inf, -np.inf
    found = verdict(X, bad)
    assert found.verdict == "differs" and found.snr_db is None
    assert found.why == (
        "b has 1 of 960 values NaN where the other is finite; b has 2 of 960 values infinite where the other is finite"
    )
    assert verdict(bad, X).why.startswith("a has 1 of") and verdict(bad, bad.copy()).verdict == "same"
    swapped = bad.copy()
    swapped[0, 0, 0, :3] = np.inf, np.nan, -np.inf
    assert verdict(bad, swapped).why == "NaN and infinity are in different places"
    assert verdict(np.full(9, np.nan), np.full(9, np.nan)).verdict == "same"


def test_masks_beyond_float16() -> None:
    a, b = X.copy(), X.copy()
    a[0, 0], b[0, 0] = -3.4e38, -65504
    assert verdict(a, b).verdict == verdict(b, a).verdict == "same"
    b[0, 0] = -np.inf
    assert verdict(a, b).verdict == "same"
    b[0, 0] = 65504
    assert verdict(a, b).verdict == "differs"


def test_values_too_large_to_square() -> None:
    a = X.astype(np.float64) * 1e200
    assert verdict(a, a.copy()).verdict == "same" and verdict(a, -a).verdict == "differs"
    assert verdict(X, a).why.startswith("b has 960 of 960 values infinite")


def test_other_sizes() -> None:
    assert verdict(X, X[:, :, 1:]).verdict == "differs"
    assert verdict(X, bytes(37)).verdict == "undecided"
    assert verdict(np.zeros((0, 4)), np.zeros((0, 4))).why == "neither has a value"
