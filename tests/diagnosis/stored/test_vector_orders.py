"""Channels of a vector in another order, in so few frames that each channel has next to no values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import same

WRITTEN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "reversed": lambda x: x[:, ::-1],
    "a class for the background in front": lambda x: np.concatenate([x[:, -1:], x[:, :-1]], 1),
    "seven places on": lambda x: np.concatenate([x[:, 7:], x[:, :7]], 1),
    "columns read as rows": lambda x: x.reshape(1, 8, -1).transpose(0, 2, 1).reshape(x.shape),
}


def judged(
    write: Callable[[np.ndarray], np.ndarray], count: int, frames: int, db: float, dtype: str
) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """The report of a vector, what the device returned in the model's order, and the buffers."""
    rng = np.random.default_rng(count + frames)
    xs = [rng.normal(0, 3, (1, count)).astype(np.float32) for _ in range(frames)]
    right = [(x + rng.normal(0, 3 * 10 ** (-db / 20), x.shape)).astype(np.float32) for x in xs]
    written = [np.ascontiguousarray(write(x)) for x in right]
    spec = nl.TensorSpec((1, count), "NC", dtype, name="y")
    if dtype != "float32":
        spec = spec.replace(quantization=nl.engines.calibrate(written, dtype))
    buffers = [spec.pack(x) for x in written]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": b}) for x, b in zip(xs, buffers)])
    return nl.validate(recording, same((1, count))).outputs["y"], right, buffers


@pytest.mark.parametrize("what", WRITTEN)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(("count", "frames", "db"), [(1000, 1, 10.0), (128, 3, 16.0), (1000, 6, 40.0)])
def test_the_fix_puts_the_channels_into_the_order_of_the_model(
    what: str, dtype: str, count: int, frames: int, db: float
) -> None:
    output, right, buffers = judged(WRITTEN[what], count, frames, db, dtype)
    assert output.verdict == "channel_order" and output.channel_axis == 1, output.why
    step = 0.0 if dtype == "float32" else float(output.spec.quantization.scale)
    for wanted, buffer in zip(right, buffers):
        fixed = output.spec.unpack(buffer).take(output.fix, output.channel_axis)
        assert np.abs(fixed - wanted).max() <= step / 2 + 1e-5


@pytest.mark.parametrize("what", WRITTEN)
def test_few_values_prove_no_order(what: str) -> None:
    output, *_ = judged(WRITTEN[what], 16 if "rows" in what else 8, 1, 6.0, "int8")
    assert output.verdict in ("ambiguous", "mismatch") and output.fix is None, output.why


@pytest.mark.parametrize("db", [10.0, 16.0, 24.0, 40.0])
def test_vectors_in_order_are_not_accused(db: float) -> None:
    for count, frames in ((1000, 1), (128, 3), (16, 6), (10, 1), (4, 12)):
        output, *_ = judged(lambda x: x, count, frames, db, "int8")
        assert output.verdict == "match" or (db < 16 and output.verdict == "mismatch"), output.why


def test_an_order_that_no_mistake_makes_is_not_called_one() -> None:
    order = np.random.default_rng(0).permutation(100)
    output, *_ = judged(lambda x: x[:, order], 100, 3, 24.0, "int8")
    assert output.verdict == "mismatch", output.why
