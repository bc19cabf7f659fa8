"""DepthAiEngine against a stand-in for the device; with depthai's own NNData and TensorInfo where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import DepthAiEngine
from npu_layout.testing import check_engine

CODES = {"uint8": "U8F", "int8": "I8", "float16": "FP16", "float32": "FP32", "int32": "INT", "float64": "FP64"}


class Data:
    """As NNData keeps tensors: one after the other, each from a multiple of 64 bytes on."""

    def __init__(self) -> None:
        self.layers: list[Any] = []
        self.memory = b""

    def addTensor(self, name: str, array: np.ndarray, kind: str) -> None:
        assert CODES[array.dtype.name] == kind
        self.memory += bytes(-len(self.memory) % 64)
        order = {2: 0x43, 3: 0x321, 4: 0x4321}[array.ndim]
        strides = [0 if n == 1 else s for n, s in zip(array.shape, array.strides)]
        info = {"name": name, "order": order, "dataType": kind, "dims": list(array.shape), "strides": strides}
        self.layers.append(SimpleNamespace(**info, offset=len(self.memory), numDimensions=array.ndim))
        self.memory += array.tobytes()

    def getAllLayers(self) -> list[Any]:
        return self.layers

    def getData(self) -> np.ndarray:
        return np.frombuffer(self.memory, np.uint8)


def tensor_of(data: Any, name: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    offset = next(info.offset for info in data.getAllLayers() if info.name == name)
    memory = np.asarray(data.getData()).reshape(-1).view(np.uint8).tobytes()
    return np.frombuffer(memory, dtype, int(np.prod(shape)), offset).reshape(shape)


class Queue:
    def __init__(self, device: Device) -> None:
        self.device = device

    def send(self, data: Any) -> None:
        self.device.waiting.append(data)

    def get(self, wait: Any) -> Any:
        assert wait.total_seconds() == 10
        if self.device.hangs == "interrupt":
            raise KeyboardInterrupt
        return self.device.answer() if not self.device.hangs else None


class Device:
    """A pipeline of one network: a scaled copy, and sums of rows as float16."""

    hangs: Any = False
    lacks = False
    started = 0

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.runs = False
        port = SimpleNamespace(createInputQueue=lambda: Queue(self), createOutputQueue=lambda: Queue(self))
        self.network = SimpleNamespace(
            input=port, out=port, setNNArchive=lambda archive: None, setModelPath=self.load, archive=None
        )

    def create(self, node: str) -> Any:
        assert node == "network"
        return self.network

    def load(self, path: str) -> None:
        if Path(path).read_bytes() == b"broken":
            raise RuntimeError("Blob is not valid")

    def start(self) -> None:
        self.runs = True
        Device.started += 1

    def stop(self) -> None:
        Device.started -= self.runs

    def answer(self) -> Any:
        x = tensor_of(self.waiting.pop(0), "image", "uint8", (1, 3, 4, 5))
        kinds = sys.modules["depthai"].TensorInfo.DataType
        data = sys.modules["depthai"].NNData()
        if not self.lacks:
            data.addTensor("rows", x.sum(3).astype(np.float16), kinds.FP16)
        data.addTensor("copy", 255 - x, kinds.U8F)
        return data


class Archive:
    def __init__(self, path: str) -> None:
        image = SimpleNamespace(name="image", dtype="uint8", shape=[1, 3, 4, 5], layout="NCHW", input_type="image")
        self.config = SimpleNamespace(model=SimpleNamespace(inputs=[image]))

    def getConfigV1(self) -> Any:
        return self.config


@pytest.fixture(params=["stand-in", "depthai"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library: Any = ModuleType("depthai")
    library.NNData = Data
    library.TensorInfo = SimpleNamespace(DataType=SimpleNamespace(**{code: code for code in CODES.values()}))
    if request.param == "depthai":
        real = pytest.importorskip("depthai")
        library.NNData, library.TensorInfo = real.NNData, real.TensorInfo
    library.Pipeline, library.NNArchive = Device, Archive
    library.node = SimpleNamespace(NeuralNetwork="network")
    monkeypatch.setitem(sys.modules, "depthai", library)
    monkeypatch.setattr(Device, "started", 0)
    path = tmp_path / "m.rvc2.tar.xz"
    path.write_bytes(b"")
    return path


def test_it_runs(model: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 4, 5)).astype(np.uint8)
    with DepthAiEngine(model) as engine:
        (source,) = engine.input_specs
        assert (source.name, source.axes, source.dtype) == ("image", "NCHW", "uint8")
        assert {spec.name: (spec.shape, spec.dtype) for spec in engine.output_specs} == {
            "rows": ((1, 3, 4), "float16"),
            "copy": ((1, 3, 4, 5), "uint8"),
        }
        found = engine.infer(source.pack(x))
        specs = {spec.name: spec for spec in engine.output_specs}
        assert np.array_equal(specs["copy"].unpack(found["copy"]), 255 - x)
        assert np.array_equal(specs["rows"].unpack(found["rows"]), x.sum(3))
    assert Device.started == 0
    assert len(check_engine(lambda: DepthAiEngine(model))) == 9


def test_a_blob_needs_its_inputs(model: Path, tmp_path: Path) -> None:
    blob = tmp_path / "m.blob"
    blob.write_bytes(b"")
    spec = nl.TensorSpec((1, 3, 4, 5), "NCHW", "uint8", name="image")
    with nl.open_engine(blob, input_specs=[spec]) as engine:
        assert engine.input_specs == [spec] and len(engine.output_specs) == 2
    with pytest.raises(nl.NpuLayoutError, match=r"m\.blob: input_specs: expected a TensorSpec for each input"):
        nl.open_engine(blob)
    with pytest.raises(nl.NpuLayoutError, match="input image: DepthAI has no bfloat16"):
        nl.open_engine(blob, input_specs=[spec.replace(dtype="bfloat16")])
    blob.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.blob: cannot be loaded: Blob is not valid"):
        nl.open_engine(blob, input_specs=[spec])
    assert Device.started == 0


def test_an_answer_that_comes_late_is_not_the_next_runs(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was: all results were those of the frame before, from then on. An interrupt leaves an answer behind, too."""
    with DepthAiEngine(model) as engine:
        frames = [np.full(60, n, np.uint8) for n in range(6)]
        for error, late in ((nl.NpuLayoutError, True), (KeyboardInterrupt, "interrupt")):
            for frame in frames[:2]:
                monkeypatch.setattr(Device, "hangs", late)
                with pytest.raises(error):
                    engine.infer(frame)
            monkeypatch.setattr(Device, "hangs", False)
            for n, frame in enumerate(frames):
                assert engine.infer(frame)["copy"].tolist() == [255 - n] * 60


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DepthAiEngine(model)
    monkeypatch.setattr(Device, "lacks", True)
    with pytest.raises(nl.NpuLayoutError, match="no tensor 'rows' in the answer; got copy"):
        engine.infer(np.zeros(60, np.uint8))
    monkeypatch.setattr(Device, "hangs", True)
    with pytest.raises(nl.NpuLayoutError, match="no answer within 10 s"):
        engine.infer(np.zeros(60, np.uint8))
    engine.close()
    with pytest.raises(nl.NpuLayoutError, match="no answer within 10 s"):
        DepthAiEngine(model)
    assert Device.started == 0
    with pytest.raises(nl.NpuLayoutError, match="timeout"):
        DepthAiEngine(model, timeout="long")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "depthai", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"depthai cannot be imported .*pip install depthai"):
        DepthAiEngine(model)
