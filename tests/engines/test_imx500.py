"""Imx500Engine against a stand-in for picamera2: the run of floats, its parts, and what goes wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import Imx500Engine

SIZES = [[4, 3, 2], [5]]  # the first axis is the fastest


class Sensor:
    def __init__(self, path: str) -> None:
        if Path(path).read_bytes() == b"broken":
            raise RuntimeError("IMX500: Requested camera dev-node not found")
        self.camera_num = 3

    def get_output_shapes(self, metadata: dict[str, Any]) -> list[list[int]]:
        return SIZES


class Camera:
    open = 0
    silent = 2  # frames before the first that has outputs
    count = 29

    def __init__(self, number: int) -> None:
        assert number == 3
        Camera.open += 1
        self.frame = 0

    def start(self) -> None:
        self.frame = 1

    def capture_metadata(self) -> dict[str, Any]:
        assert self.frame, "the camera was not started"
        self.frame += 1
        if self.frame <= self.silent + 1:
            return {"SensorTimestamp": self.frame}
        return {"SensorTimestamp": self.frame, "CnnOutputTensor": [self.frame + i / 4 for i in range(self.count)]}

    def close(self) -> None:
        Camera.open -= 1


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library: Any = ModuleType("picamera2")
    devices: Any = ModuleType("picamera2.devices")
    imx500: Any = ModuleType("picamera2.devices.imx500")
    library.Picamera2, imx500.IMX500 = Camera, Sensor
    for module in (library, devices, imx500):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(Camera, "open", 0)
    path = tmp_path / "network.rpk"
    path.write_bytes(b"")
    return path


def test_each_output_is_a_part_of_the_run(model: Path) -> None:
    with nl.open_engine(model, output_names=["boxes", "classes"]) as engine:
        assert engine.input_specs == [] and [spec.shape for spec in engine.output_specs] == [(4, 3, 2), (5,)]
        found = engine.infer({})
        run = engine.metadata["SensorTimestamp"] + np.arange(29, dtype=np.float32) / 4
        assert {name: buffer.size for name, buffer in found.items()} == {"boxes": 29, "classes": 29}
        boxes, classes = (spec.unpack(found[spec.name]) for spec in engine.output_specs)
        assert np.array_equal(boxes, run[:24].reshape((4, 3, 2), order="F")) and np.array_equal(classes, run[24:])
        out = {spec.name: np.zeros(spec.size, np.float32) for spec in engine.output_specs}
        later = engine.infer({}, out=out)
        assert later["boxes"][0] == found["boxes"][0] + 1 and np.shares_memory(later["boxes"], out["boxes"])
        with pytest.raises(nl.NpuLayoutError, match="image"):
            engine.infer({"image": np.zeros(3)})
    assert Camera.open == 0
    with pytest.raises(nl.NpuLayoutError, match="closed"):
        engine.infer({})


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"frames: expected|frames"):
        Imx500Engine(model, frames="many")  # type: ignore[arg-type]
    with pytest.raises(
        nl.NpuLayoutError, match=r"2 frames had no outputs \(CnnOutputTensor\); is the network loaded\?"
    ):
        Imx500Engine(model, frames=2)
    with pytest.raises(nl.NpuLayoutError, match=r"output_names: model .* has 2 outputs, got 1 name"):
        Imx500Engine(model, output_names=["one"])
    monkeypatch.setattr(Camera, "count", 30)
    with pytest.raises(nl.NpuLayoutError, match=r"expected 29 floats, of outputs \[\[4, 3, 2\], \[5\]\], got 30"):
        Imx500Engine(model)
    assert Camera.open == 0
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"network\.rpk: cannot be loaded: IMX500: Requested camera"):
        Imx500Engine(model)
    with pytest.raises(nl.NpuLayoutError, match=r"nowhere\.rpk: no such file"):
        nl.open_engine("nowhere.rpk")
    monkeypatch.setitem(sys.modules, "picamera2", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"picamera2 cannot be imported .*python3-picamera2"):
        Imx500Engine(model)
