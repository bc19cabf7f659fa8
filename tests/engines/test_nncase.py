"""NncaseSimulator against a stand-in for nncase: what its simulator is fed with, and what it returns."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import NncaseSimulator
from npu_layout.testing import check_engine


class RuntimeTensor:
    """As `_nncase.RuntimeTensor` of 2.11 is: made by from_numpy alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @staticmethod
    def from_numpy(array: np.ndarray) -> RuntimeTensor:
        assert array.flags.c_contiguous
        return RuntimeTensor(array.copy())

    def to_numpy(self) -> np.ndarray:
        return self.array


class Simulator:
    """A kmodel of an image, whose outputs are sums of channels and the image as it is, in memory that is used again."""

    shapes: ClassVar[dict[str, list[list[int]]]] = {"input": [[1, 4, 6, 3]], "output": [[1, 4, 6], [1, 4, 6, 3]]}
    dtypes: ClassVar[dict[str, Any]] = {
        "input": [np.dtype(np.uint8)],
        "output": [np.dtype(np.float32), np.dtype(np.uint8)],
    }
    memory = (np.zeros((1, 4, 6), np.float32), np.zeros((1, 4, 6, 3), np.uint8))
    fed: ClassVar[list[Any]] = []

    inputs_size = property(lambda self: len(self.shapes["input"]))
    outputs_size = property(lambda self: len(self.shapes["output"]))

    def load_model(self, content: bytes) -> None:
        assert isinstance(content, bytes)
        if content == b"broken":
            raise RuntimeError("invalid kmodel identifier")

    def get_input_shape(self, i: int) -> list[int]:
        return self.shapes["input"][i]

    def get_output_shape(self, i: int) -> list[int]:
        return self.shapes["output"][i]

    def get_input_desc(self, i: int) -> Any:
        return SimpleNamespace(dtype=self.dtypes["input"][i], start=0, size=72)

    def get_output_desc(self, i: int) -> Any:
        return SimpleNamespace(dtype=self.dtypes["output"][i], start=0, size=96)

    def set_input_tensor(self, i: int, tensor: RuntimeTensor) -> None:
        assert i == 0 and tensor.array.shape == (1, 4, 6, 3) and tensor.array.dtype == np.uint8
        self.fed[:] = [tensor.array]

    def run(self) -> None:
        self.memory[0][:] = self.fed[0].sum(axis=3)
        self.memory[1][:] = self.fed[0]

    def get_output_tensor(self, i: int) -> RuntimeTensor:
        return RuntimeTensor(self.memory[i])


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("nncase")
    library.Simulator, library.RuntimeTensor = Simulator, RuntimeTensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nncase", library)
    path = tmp_path / "m.kmodel"
    path.write_bytes(b"KMDL")
    return path


LAYOUTS = {"image": "NHWC", "copy": "NHWC", "sum": "NHW"}
NAMES: dict[str, Any] = {"input_names": ["image"], "output_names": ["sum", "copy"]}


def test_what_it_returns_is_kept(model: Path) -> None:
    with nl.open_engine(model, layouts=LAYOUTS, **NAMES) as engine:
        assert isinstance(engine, NncaseSimulator)
        assert engine.input_specs == [nl.TensorSpec.of_storage((1, 4, 6, 3), "NHWC", "uint8", name="image")]
        assert [(spec.name, spec.dtype, str(spec.layout)) for spec in engine.output_specs] == [
            ("sum", "float32", "NHW"),
            ("copy", "uint8", "NHWC"),
        ]
        images = np.random.default_rng(0).integers(0, 256, (2, 72), np.uint8)
        first, second = (engine.infer({"image": image}) for image in images)
        for found, image in ((first, images[0]), (second, images[1])):
            assert np.array_equal(found["copy"], image)
            assert np.array_equal(found["sum"], image.reshape(24, 3).sum(1).astype(np.float32))


def test_it_is_an_engine(model: Path) -> None:
    assert len(check_engine(lambda: NncaseSimulator(model, layouts=LAYOUTS, **NAMES))) == 9


def test_without_names(model: Path) -> None:
    with NncaseSimulator(model) as engine:
        assert [spec.name for spec in (*engine.input_specs, *engine.output_specs)] == ["input0", "output0", "output1"]
        assert engine.input_specs[0].axes == "NCHW"


def test_channels_that_seem_to_be_last_are_warned_of(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a kmodel that was compiled with input_layout="NHWC"."""
    monkeypatch.setattr(Simulator, "shapes", {"input": [[1, 320, 320, 3]], "output": [[1, 84, 2100], [1, 1, 100, 7]]})
    for options, name in (({}, "input0"), ({"input_names": ["images"]}, "images")):
        with pytest.warns(UserWarning, match=rf"m\.kmodel: {name}: .* give layouts={{'{name}': 'NHWC'}}") as found:
            NncaseSimulator(model, **options).close()
        assert [one.filename for one in found] == [__file__]
    with NncaseSimulator(model, layouts={"input0": "NHWC"}) as engine:  # and no warning
        assert engine.input_specs == [nl.TensorSpec.of_storage((1, 320, 320, 3), "NHWC", "uint8", name="input0")]


def test_what_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options, says in (
        ({"input_names": ["a", "b"]}, "input_names: .* has 1 input, got 2 names"),
        ({"output_names": ["a", "a"]}, "a"),
        ({"layouts": {"image": "NHWC"}}, "layouts: no tensor 'image'; the model has input0, output0, output1"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            NncaseSimulator(model, **options)
    monkeypatch.setattr(Simulator, "shapes", {"input": [[1, -1, 6, 3]], "output": []})
    with pytest.raises(nl.NpuLayoutError, match=r"input0: shape \[1, -1, 6, 3\] is not fixed: export the ONNX"):
        NncaseSimulator(model)
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match="invalid kmodel identifier"):
        NncaseSimulator(model)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nncase without .NET raises RuntimeError as it is imported."""
    path = tmp_path / "m.kmodel"
    path.write_bytes(b"KMDL")
    monkeypatch.setitem(sys.modules, "nncase", None)
    with pytest.raises(nl.NpuLayoutError, match=r"nncase cannot be imported .*; pip install nncase nncase-kpu"):
        NncaseSimulator(path)
    monkeypatch.delitem(sys.modules, "nncase")
    (tmp_path / "nncase.py").write_text("raise RuntimeError('Failed to get hostfxr path.')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(nl.NpuLayoutError, match="Failed to get hostfxr path"):
        NncaseSimulator(path)
