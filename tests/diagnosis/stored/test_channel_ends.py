"""Channels at either end of an output's axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.stored.channel_ends import other_end
from npu_layout.reports import fixes
from tests.support.endings import ending, verdict


@pytest.mark.parametrize(
    "shape, axis, expected",
    [
        ((1, 9, 4), 1, 2),
        ((1, 9, 4), 2, 1),
        ((9, 4), 1, 0),
        ((1, 4), 1, None),
        ((7,), None, None),
        ((1, 5, 6, 7), 1, None),
        ((1, 6, 6, 7), 1, 3),
        ((1, 6, 6, 7), 2, None),
    ],
)
def test_the_other_end(shape: tuple[int, ...], axis: int | None, expected: int | None) -> None:
    references = [np.random.default_rng(k).normal(size=shape).astype(np.float32) for k in range(2)]
    letters = {1: "N", 2: "NC", 3: "NCW", 4: "NCHW"}[len(shape)]
    spec = nl.TensorSpec(shape, letters, "float32")
    evidence = Evidence(spec, [spec.pack(r) for r in references], references, (), axis)
    assert other_end(evidence) == expected


def _rows(shape: tuple[int, ...], frames: int = 6) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(np.float32) for _ in range(frames)]


@pytest.mark.parametrize("shape", [(1, 60, 4), (50, 4), (1, 40, 24), (1, 12, 12, 20)])
def test_values_in_another_order_within_each_row(shape: tuple[int, ...]) -> None:
    """Nothing in the values shows that the last axis are the channels."""
    order = np.roll(np.arange(shape[-1]), 1)
    for dtype, db in (("float32", 40), ("int8", 20)):
        output = verdict(ending(shape), _rows(shape), lambda x, y: y[..., order], db, dtype)
        assert output.verdict == "channel_order" and output.channel_axis == len(shape) - 1, str(output)
        assert output.fix == tuple(np.argsort(order).tolist())
        faultless = verdict(ending(shape), _rows(shape), lambda x, y: y, min(db, 20), dtype)
        assert faultless.verdict == "match", str(faultless)


@pytest.mark.parametrize("db", [9, 5])
def test_noise_has_no_other_end(db: float) -> None:
    for shape in ((1, 60, 4), (50, 4)):
        output = verdict(ending(shape), _rows(shape), lambda x, y: y, db)
        assert output.verdict == "mismatch" and output.fix is None, str(output)


def test_the_page_and_the_fix_read_the_other_end(tmp_path: Path) -> None:
    shape, order = (1, 40, 24), np.roll(np.arange(24), 1)
    inputs = _rows(shape)
    output = verdict(ending(shape), inputs, lambda x, y: y[..., order], 200)
    assert output.exhibit is not None and output.channel_axis == 2 and not output.channels and output.dead == ()
    code = fixes.code(output.verdict, output.fix, output.spec, output.channel_axis)
    names: dict[str, object] = {"buffer": output.exhibit.buffer}
    exec(code or "", names)
    assert np.allclose(np.asarray(names["tensor"]), output.exhibit.reference, atol=1e-6)
    nl.Report({"y": output}, 6, "model.onnx").to_html(tmp_path / "page.html")
    assert "24 of 24 channels are in other places" in (tmp_path / "page.html").read_text(encoding="utf-8")
