"""Values that never change prove nothing: a mask of -10000 is right on any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import same

LAYOUTS = {2: "NC", 3: "NCW", 4: "NCHW"}


def judged(
    shape: tuple[int, ...],
    mask: float,
    device: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    dtype: str = "float32",
    frames: int = 6,
    spread: float = 3.0,
) -> nl.OutputReport:
    """The report on values of which a tenth is `mask` in every frame; `device` changes the others alone."""
    rng = np.random.default_rng(0)
    masked = rng.permutation(np.arange(np.prod(shape)) % 10 == 0).reshape(shape)
    xs = [np.where(masked, mask, rng.normal(0, spread, shape)).astype(np.float32) for _ in range(frames)]
    quantization = nl.engines.calibrate(xs, dtype) if dtype == "int8" else None
    spec = nl.TensorSpec(shape, LAYOUTS[len(shape)], dtype, quantization=quantization, name="y")
    ys = [spec.pack(np.where(masked, mask, device(x, rng)).astype(np.float32)) for x in xs]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(xs, ys)])
    return nl.validate(recording, same(shape)).outputs["y"]


@pytest.mark.parametrize("mask", [-1e4, -1e9])
@pytest.mark.parametrize(("shape", "frames"), [((1, 1000), 6), ((1, 50, 40), 6), ((1, 50, 40), 16)])
def test_noise_beside_a_mask_is_no_match(shape: tuple[int, ...], frames: int, mask: float) -> None:
    output = judged(shape, mask, lambda x, rng: rng.normal(0, 3.0, shape), frames=frames)
    assert output.verdict == "mismatch" and output.figures is not None and output.figures.snr_db > 40, output
    assert "values that change from frame to frame, and these agree to -" in output.why, output.why


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("snr", [8.0, 12.0, 30.0])
@pytest.mark.parametrize("mask", [0.0, -40.0, -1e4])
@pytest.mark.parametrize("shape", [(1, 1000), (1, 50, 40), (1, 4, 20, 20)])
def test_a_board_whose_noise_is_a_part_of_what_changes_is_right(
    shape: tuple[int, ...], mask: float, snr: float, dtype: str
) -> None:
    output = judged(shape, mask, lambda x, rng: x + rng.normal(0, 3.0 * 10 ** (-snr / 20), shape), dtype)
    assert "from frame to frame" not in output.why and output.verdict in ("match", "mismatch"), output
    assert output.verdict == "match" or snr < 10


@pytest.mark.parametrize("spread", [3.0, 100.0, 400.0])
def test_what_rounding_takes_is_not_called_wrong(spread: float) -> None:
    """A step of 40 holds -10000: values of 3 are rounded away, those of 100 and more are there."""
    output = judged((1, 50, 40), -1e4, lambda x, rng: x, "int8", spread=spread)
    assert "from frame to frame" not in output.why, output
