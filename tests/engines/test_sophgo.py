"""SophgoEngine against a stand-in for sail: both memories of its tensors, scales of both directions, what is freed."""

from __future__ import annotations

import enum
import gc
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import SophgoEngine
from npu_layout.testing import check_engine
from tests.support import detector


class Dtype(enum.Enum):
    """sail.Dtype, as pybind11 shows it"""

    BM_FLOAT32, BM_FLOAT16, BM_INT8, BM_UINT8 = range(4)


# What update_data takes, and asnumpy gives.
HELD = {Dtype.BM_FLOAT32: np.float32, Dtype.BM_FLOAT16: np.uint16, Dtype.BM_INT8: np.int8, Dtype.BM_UINT8: np.uint8}


class Tensor:
    """Memory of the system and of the TPU, both dirty; nothing moves between them unasked."""

    alive = 0

    def __init__(self, handle: Any, shape: list[int], dtype: Dtype, own_sys_data: bool, own_dev_data: bool) -> None:
        assert handle == "handle" and isinstance(shape, list) and own_sys_data is own_dev_data is True
        self.system, self.device = (np.empty(shape, HELD[dtype]) for _ in range(2))
        for memory in (self.system, self.device):
            memory.view(np.uint8).fill(0xA5)
        Tensor.alive += 1

    def __del__(self) -> None:
        if hasattr(self, "system"):
            Tensor.alive -= 1

    def update_data(self, data: np.ndarray) -> None:
        if data.shape != self.system.shape or data.dtype != self.system.dtype:
            raise RuntimeError("The dtype of the input array does not match the Tensor!")
        self.system[:] = data

    def sync_s2d(self) -> None:
        self.device[:] = self.system

    def sync_d2s(self) -> None:
        self.system[:] = self.device

    def asnumpy(self) -> np.ndarray:
        return self.system.copy()


class Engine:
    """The detector: int8 in, int8 boxes and float16 scores out."""

    alive = 0
    graphs: tuple[str, ...] = ("squares",)
    scales: dict[str, float] = {}  # noqa: RUF012
    shapes: dict[str, Any] = {}  # noqa: RUF012
    shrinks = False
    table: dict[str, tuple[list[int], Dtype, float]] = {  # noqa: RUF012
        "image": ([1, 3, 64, 64], Dtype.BM_INT8, 127.0),
        "box": ([1, 64, 8, 8], Dtype.BM_INT8, 0.125),
        "score": ([1, 3, 8, 8], Dtype.BM_FLOAT16, 1.0),
    }

    def __init__(self, bmodel_path: str, tpu_id: int, mode: str) -> None:
        assert mode == "devio" and isinstance(tpu_id, int)
        if Path(bmodel_path).read_bytes() == b"broken":
            raise RuntimeError("invalid bmodel")
        Engine.alive += 1
        self.network = nl.OnnxRuntimeEngine(detector.detector())
        self.now = {name: shape for name, (shape, *_) in self.table.items()}

    def __del__(self) -> None:
        if hasattr(self, "network"):
            Engine.alive -= 1

    def get_handle(self) -> str:
        return "handle"

    def get_graph_names(self) -> list[str]:
        return list(self.graphs)

    def get_input_names(self, graph: str) -> list[str]:
        assert graph in self.graphs
        return ["image"]

    def get_output_names(self, graph: str) -> list[str]:
        assert graph in self.graphs
        return ["box", "score"]

    def shape(self, graph: str, name: str) -> list[int]:
        assert graph in self.graphs
        return list(self.now[name])

    def dtype(self, graph: str, name: str) -> Dtype:
        return self.table[name][1]

    def scale(self, graph: str, name: str) -> float:
        return self.scales.get(name, self.table[name][2])

    get_input_shape = get_output_shape = shape
    get_input_dtype = get_output_dtype = dtype
    get_input_scale = get_output_scale = scale

    def process(self, graph: str, inputs: dict[str, Tensor], outputs: dict[str, Tensor]) -> None:
        assert graph in self.graphs and set(inputs) == {"image"} and set(outputs) == {"box", "score"}
        real = inputs["image"].device.astype(np.float32) / np.float32(127)
        found = self.network.infer(real)
        box = np.rint(found["box"].reshape(1, 64, 8, 8) / 0.125).clip(-128, 127)
        outputs["box"].device[:] = box.astype(np.int8)
        outputs["score"].device[:] = found["score"].reshape(1, 3, 8, 8).astype(np.float16).view(np.uint16)
        if self.shrinks:
            self.now["box"] = [1, 64, 4, 8]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package, sail = ModuleType("sophon"), ModuleType("sophon.sail")
    parts = dict(Engine=Engine, Tensor=Tensor, IOMode=SimpleNamespace(DEVIO="devio"), Dtype=Dtype)
    for name, part in parts.items():
        setattr(sail, name, part)
    monkeypatch.setitem(sys.modules, "sophon", package)
    monkeypatch.setitem(sys.modules, "sophon.sail", sail)
    for name, value in (("graphs", ("squares",)), ("scales", {}), ("shrinks", False)):
        monkeypatch.setattr(Engine, name, value)
    path = tmp_path / "m.bmodel"
    path.write_bytes(b"")
    return path


def alive() -> tuple[int, int]:
    gc.collect()
    return Engine.alive, Tensor.alive


def test_it_computes_what_the_network_computes(model: Path) -> None:
    before = alive()
    x = np.random.default_rng(0).random((1, 3, 64, 64)).astype(np.float32)
    with nl.open_engine(model) as engine:
        assert isinstance(engine, SophgoEngine)
        (image,), (box, score) = engine.input_specs, engine.output_specs
        assert (image.dtype, image.quantization) == ("int8", nl.Quantization.from_multiplier(127))
        assert (box.dtype, box.quantization) == ("int8", nl.Quantization(0.125, 0))
        assert (score.dtype, score.quantization, score.axes) == ("float16", None, "NCHW")
        found = engine.infer(image.pack(x))
        assert found["box"].dtype == np.int8 and found["score"].dtype == np.float16
        wanted = nl.OnnxRuntimeEngine(detector.detector()).infer(image.unpack(image.pack(x)))
        assert np.abs(box.unpack(found["box"]) - wanted["box"].reshape(box.shape)).max() <= 0.0625 + 1e-6
        close = np.abs(score.unpack(found["score"]) - wanted["score"].reshape(score.shape))
        assert close.max() < 0.01
    assert alive() == before


def test_it_keeps_the_protocol(model: Path) -> None:
    before = alive()
    assert len(check_engine(lambda: SophgoEngine(model))) == 9
    assert alive() == before
    with nl.open_engine(f"sophgo:{model}", layouts={"box": "NHWC"}, tpu_id=1) as engine:
        assert [spec.axes for spec in engine.output_specs] == ["NHWC", "NCHW"]


def test_float16_goes_in_as_its_bits(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Engine.table, "image", ([1, 3, 64, 64], Dtype.BM_FLOAT16, 1.0))
    with SophgoEngine(model) as engine:
        assert engine.input_specs[0].dtype == "float16"
        engine.infer(np.zeros(3 * 64 * 64, np.float16))


def test_a_file_of_several_networks(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "graphs", ("squares", "circles"))
    with SophgoEngine(model, graph_name="circles") as engine:
        engine.infer(np.zeros(3 * 64 * 64, np.int8))
    for wanted, got in ((None, "it has several"), ("lines", "got 'lines'")):
        with pytest.raises(nl.NpuLayoutError, match=rf"graph_name: .*expected one of 'squares', 'circles'; {got}"):
            SophgoEngine(model, graph_name=wanted)


def test_a_runtime_that_contradicts_its_metadata_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = np.zeros(3 * 64 * 64, np.int8)
    with SophgoEngine(model) as engine:
        out = {spec.name: np.full(spec.size, 7, spec.stored) for spec in engine.output_specs}
        monkeypatch.setattr(Tensor, "asnumpy", lambda tensor: tensor.system.astype(np.float32))
        with pytest.raises(nl.NpuLayoutError, match=r"engine SophgoEngine: output box: .*float32"):
            engine.infer(zeros, out=out)
        monkeypatch.undo()
        engine._engine.shrinks = True  # type: ignore[attr-defined]
        with pytest.raises(nl.NpuLayoutError, match=r"SophgoEngine: output box is now \(1, 64, 4, 8\), not \(1, 64, 8"):
            engine.infer(zeros, out=out)
        assert all((array == 7).all() for array in out.values())


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = alive()
    with pytest.raises(nl.NpuLayoutError, match="layouts: no tensor 'y'; the model has image, box, score"):
        SophgoEngine(model, layouts={"y": "NHWC"})
    with pytest.raises(nl.NpuLayoutError, match="tpu_id"):
        SophgoEngine(model, tpu_id="0")  # type: ignore[arg-type]
    monkeypatch.setattr(Engine, "scales", {"box": 0.0})
    with pytest.raises(nl.NpuLayoutError, match=r"Sophgo output 'box': scale 0\.0: expected a positive number"):
        SophgoEngine(model)
    monkeypatch.setattr(Engine, "scales", {})
    monkeypatch.setattr(Tensor, "update_data", None)

    def failing(*arguments: Any) -> None:
        raise MemoryError("bm_malloc_device_byte failed")

    monkeypatch.setattr(sys.modules["sophon.sail"], "Tensor", failing)
    with pytest.raises(nl.NpuLayoutError, match=r"m\.bmodel: cannot be loaded: bm_malloc_device_byte failed"):
        SophgoEngine(model)
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.bmodel: cannot be loaded: invalid bmodel"):
        SophgoEngine(model)
    assert alive() == before
    monkeypatch.setitem(sys.modules, "sophon.sail", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"sophon\.sail cannot be imported .*install SOPHON-SAIL"):
        SophgoEngine(model)
