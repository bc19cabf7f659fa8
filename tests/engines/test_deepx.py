"""DeepxEngine against a stand-in for dx_engine: what it is fed with, what it returns, what is disposed of."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import DeepxEngine
from npu_layout.testing import check_engine

INPUTS: dict[str, tuple[list[int], Any]] = {"image": ([1, 4, 6, 3], np.uint8)}
OUTPUTS: dict[str, tuple[list[int], Any]] = {"sum": ([1, 4, 6], np.float32), "twice": ([1, 4, 6, 3], np.uint8)}


class InferenceEngine:
    """An engine whose outputs are memory that each run overwrites, as a runtime's pool is."""

    alive = 0
    ppu = False
    inputs, outputs = INPUTS, OUTPUTS
    gap = 0  # bytes that a buffer has beside its shape

    def __init__(self, model_path: str, inference_option: Any = None) -> None:
        if Path(model_path).read_bytes() == b"broken":
            raise RuntimeError("invalid model")
        InferenceEngine.alive += 1
        self.memory = [np.zeros(shape, dtype) for shape, dtype in OUTPUTS.values()]

    def dispose(self) -> None:
        InferenceEngine.alive -= 1

    def is_ppu(self) -> bool:
        return self.ppu

    def _infos(self, side: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            dict(name=name, shape=shape, dtype=np.dtype(dtype), elem_size=np.dtype(dtype).itemsize)
            for name, (shape, dtype) in side.items()
        ]

    def get_input_tensors_info(self) -> list[dict[str, Any]]:
        return self._infos(self.inputs)

    def get_output_tensors_info(self) -> list[dict[str, Any]]:
        return self._infos(self.outputs)

    def get_input_tensor_sizes(self) -> list[int]:
        return [int(np.prod(info["shape"])) * info["elem_size"] + self.gap for info in self.get_input_tensors_info()]

    def get_output_tensor_sizes(self) -> list[int]:
        return [int(np.prod(info["shape"])) * info["elem_size"] for info in self.get_output_tensors_info()]

    def run(self, input_data: list[np.ndarray]) -> list[np.ndarray]:
        assert isinstance(input_data, list) and len(input_data) == 1, "several are a batch"
        (image,) = input_data
        assert image.shape == (1, 4, 6, 3) and image.dtype == np.uint8 and image.flags.c_contiguous
        self.memory[0][:] = image.sum(axis=3)
        self.memory[1][:] = image * 2
        return self.memory

    def run_multi_input(self, input_tensors: dict[str, np.ndarray]) -> list[np.ndarray]:
        assert list(input_tensors) == ["image", "more"]
        return self.run([input_tensors["image"] + input_tensors["more"]])


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("dx_engine")
    library.InferenceEngine = InferenceEngine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dx_engine", library)
    monkeypatch.setattr(InferenceEngine, "alive", 0)
    path = tmp_path / "m.dxnn"
    path.write_bytes(b"")
    return path


LAYOUTS = {"image": "NHWC", "twice": "NHWC", "sum": "NHW"}


def test_what_it_returns_is_kept(model: Path) -> None:
    with nl.open_engine(model, layouts=LAYOUTS) as engine:
        assert isinstance(engine, DeepxEngine) and InferenceEngine.alive == 1
        (image,) = engine.input_specs
        assert image == nl.TensorSpec.of_storage((1, 4, 6, 3), "NHWC", "uint8", name="image")
        assert [(spec.name, spec.axes, spec.dtype) for spec in engine.output_specs] == [
            ("sum", "NHW", "float32"),
            ("twice", "NHWC", "uint8"),
        ]
        frames = np.random.default_rng(0).integers(0, 100, (3, 4, 6, 3), np.uint8)
        preprocess = nl.Preprocessor(image, color="BGR", resize="stretch")
        kept = [engine.infer(preprocess(frame)[0]) for frame in frames]
        for frame, found in zip(frames, kept):
            assert np.array_equal(found["sum"], frame.sum(axis=2, dtype=np.float32).reshape(-1))
            assert np.array_equal(found["twice"], (frame * 2).reshape(-1))
    assert InferenceEngine.alive == 0


def test_it_keeps_the_protocol(model: Path) -> None:
    assert len(check_engine(lambda: DeepxEngine(model, layouts=LAYOUTS))) == 9
    assert InferenceEngine.alive == 0


def test_channels_that_seem_to_be_last_are_warned_of(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InferenceEngine, "inputs", {"image": ([1, 48, 64, 3], np.uint8)})
    monkeypatch.setattr(InferenceEngine, "outputs", {"map": ([1, 80, 80, 255], np.float32), "list": ([1, 9, 6], "f4")})
    with pytest.warns(UserWarning) as found:
        DeepxEngine(model).close()
    assert [one.filename for one in found] == [__file__] * 2
    for one, name in zip(found, ("image", "map")):
        assert f"m.dxnn: {name}: the order of shape" in str(one.message)
        assert f"give layouts={{{name!r}: 'NHWC'}}; if not, 'NCHW' says so" in str(one.message)
    with DeepxEngine(model, layouts={"image": "NHWC", "map": "NCHW"}) as engine:  # and no warning
        assert [spec.axes for spec in (*engine.input_specs, *engine.output_specs)] == ["NHWC", "NCHW", "NCW"]


def test_several_inputs_go_by_name(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InferenceEngine, "inputs", {**INPUTS, "more": ([1, 4, 6, 3], np.uint8)})
    with DeepxEngine(model, layouts={**LAYOUTS, "more": "NHWC"}) as engine:
        found = engine.infer({"more": np.full(72, 3, np.uint8), "image": np.full(72, 4, np.uint8)})
        assert (found["twice"] == 14).all()


def test_what_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for change, says in (
        ({"ppu": True}, "ends in a PPU: its output is a list of boxes"),
        ({"gap": 184}, r"image: its buffer has 256 bytes; .* needs 72"),
        ({"outputs": {"boxes": ([-1, 6], np.float32)}}, r"boxes: shape \[-1, 6\] is not fixed"),
    ):
        with monkeypatch.context() as patch:
            for name, value in change.items():
                patch.setattr(InferenceEngine, name, value)
            with pytest.raises(nl.NpuLayoutError, match=says):
                DeepxEngine(model)
    with pytest.raises(nl.NpuLayoutError, match="layouts: no tensor 'nothing'; the model has image, sum, twice"):
        DeepxEngine(model, layouts={"nothing": "NHWC"})
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.dxnn: cannot be loaded: invalid model"):
        DeepxEngine(model)
    assert InferenceEngine.alive == 0
    monkeypatch.setitem(sys.modules, "dx_engine", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"dx_engine cannot be imported .*DX-RT"):
        DeepxEngine(model)
