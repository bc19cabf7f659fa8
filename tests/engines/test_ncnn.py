"""NcnnEngine against a stand-in for ncnn that finds more rows or fewer; test_runtimes.py runs it with ncnn itself."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import NcnnEngine


class Mat:
    """Rows of six numbers in memory of their own; none of no rows. Fields and gaps are those of ncnn's Mat."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        h, w = rows.shape
        full = h > 0
        self.dims, self.w, self.h, self.d, self.c = (2, w, h, 1, 1) if full else (0, 0, 0, 0, 0)
        self.elemsize, self.elempack, self.cstep = (4, 1, h * w) if full else (0, 0, 0)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self._rows

    def clone(self) -> Mat:
        return Mat(self._rows.copy())


class Extractor:
    def input(self, name: str, mat: Mat) -> None:
        self._scores = mat._rows[0]

    def extract(self, name: str) -> tuple[int, Mat]:
        found = [[1, score, 0, 0, 1, 1] for score in self._scores if score >= 0.5]
        return 0, Mat(np.array(found, np.float32).reshape(-1, 6))


class Net:
    def __init__(self) -> None:
        self.opt = SimpleNamespace(
            use_fp16_packed=True, use_fp16_storage=True, use_fp16_arithmetic=True, num_threads=0
        )  # fmt: skip

    def load_param(self, path: str) -> int:
        return 0

    load_model = load_param

    def input_names(self) -> list[str]:
        return ["scores"]

    def output_names(self) -> list[str]:
        return ["detection_out"]

    def create_extractor(self) -> Extractor:
        return Extractor()

    def clear(self) -> None:
        pass


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("ncnn")
    library.Net, library.Mat = Net, Mat  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ncnn", library)
    for suffix in (".param", ".bin"):
        (tmp_path / f"m{suffix}").write_bytes(b"")
    return tmp_path / "m.param"


ADVICE = r"has no spec: extract its Mat with ncnn itself; of a layer DetectionOutput, decode\.detection_output\("


def test_an_output_that_is_empty_at_first_is_refused(model: Path) -> None:
    with pytest.raises(
        nl.NpuLayoutError, match=rf"m\.param: output detection_out: empty for an input of zeros.*{ADVICE}"
    ):
        NcnnEngine(model, input_shapes={"scores": (1, 4)})


def test_an_output_whose_shape_changes_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory was read to the end of the first shape: values of other memory, or the end of the process."""
    monkeypatch.setattr(np, "zeros", np.ones)  # of an input of ones all four pass
    with NcnnEngine(model, input_shapes={"scores": (1, 4)}) as engine:
        monkeypatch.undo()
        assert [spec.shape for spec in engine.output_specs] == [(1, 4, 6)]
        found = engine.infer(np.full((1, 4), 0.75, np.float32))["detection_out"].reshape(4, 6)
        assert found[:, 1].tolist() == [0.75] * 4
        for scores, got in (([1, 1, 0, 1], "dims 2, w 6, h 3"), ([0, 0, 0, 0], "dims 0, w 0, h 0")):
            with pytest.raises(
                nl.NpuLayoutError, match=rf"detection_out: expected .*\(1,4,6\).*, got a Mat of {got}.*{ADVICE}"
            ):
                engine.infer(np.float32([scores]))
