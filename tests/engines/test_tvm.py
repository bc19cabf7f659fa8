"""TvmEngine against a stand-in for TVM's Relax; test_runtimes.py runs it with apache-tvm itself."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import TvmEngine
from npu_layout.testing import check_engine

X = nl.TensorSpec((1, 4, 6, 6), name="x")


class Tensor:
    """What tvm.runtime.tensor makes: a copy on a device."""

    def __init__(self, array: np.ndarray, device: str) -> None:
        self._array = np.array(array)
        assert device == "device cpu"

    def numpy(self) -> np.ndarray:
        return self._array.copy()


class Machine:
    """Two functions: "main" returns x with channels last, twice x and its sum; "one" a tensor that is no tuple."""

    def __init__(self, library: str, device: str) -> None:
        assert library.endswith("m.so")

    def __getitem__(self, name: str) -> Any:
        return {"main": self._main, "one": lambda x: Tensor(-x.numpy(), "device cpu")}[name]

    @staticmethod
    def _main(x: Tensor) -> list[Tensor]:
        real = x.numpy()
        found = np.moveaxis(real, 1, 3), real * 2, real.sum((2, 3), dtype=np.float64)
        return [Tensor(array, "device cpu") for array in found]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tvm, relax = ModuleType("tvm"), ModuleType("tvm.relax")
    tvm.device = "device {}".format  # type: ignore[attr-defined]
    tvm.runtime = SimpleNamespace(load_module=str, tensor=Tensor)  # type: ignore[attr-defined]
    relax.VirtualMachine = Machine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tvm", tvm)
    monkeypatch.setitem(sys.modules, "tvm.relax", relax)
    path = tmp_path / "m.so"
    path.write_bytes(b"")
    return path


def test_it_runs(model: Path) -> None:
    x = np.random.default_rng(0).random((1, 4, 6, 6)).astype(np.float32)
    with nl.open_engine(f"tvm:{model}", input_specs=[X], function="one", output_names=["minus"]) as engine:
        assert np.array_equal(engine.infer(x)["minus"], -x.ravel())
    assert len(check_engine(lambda: TvmEngine(model, input_specs=[X], function="one"))) == 9
    with pytest.raises(nl.NpuLayoutError, match=r"m\.so: cannot be loaded: 'nothing'"):
        TvmEngine(model, input_specs=[X], function="nothing")


def test_outputs_that_seem_to_have_their_channels_last_are_warned_of(model: Path) -> None:
    """The library does not say the order of its axes."""
    with pytest.warns(UserWarning) as found, nl.open_engine(f"tvm:{model}", input_specs=[X]) as engine:
        assert [(spec.axes, spec.dtype) for spec in engine.output_specs] == [
            ("NCHW", "float32"), ("NCHW", "float32"), ("NC", "float64")
        ]  # fmt: skip
    assert [one.filename for one in found] == [__file__]
    assert "m.so: output0: the order of shape (1, 6, 6, 4) is not known, and read as NCHW" in str(found[0].message)
    assert str(found[0].message).endswith("last, give layouts={'output0': 'NHWC'}; if not, 'NCHW' says so")
    x = np.random.default_rng(1).random((1, 4, 6, 6)).astype(np.float32)
    with TvmEngine(model, input_specs=[X], layouts={"output0": "NHWC"}) as engine:  # and no warning
        one, two, _ = (spec.unpack(buffer) for spec, buffer in zip(engine.output_specs, engine.infer(x).values()))
        axes = [engine.output_specs[0].axes.index(letter) for letter in "NCHW"]
        assert np.array_equal(one.transpose(axes), x) and np.array_equal(two, x * 2)
    with pytest.raises(nl.NpuLayoutError, match=r"layouts: no output 'x'; the model has output0, output1, output2"):
        TvmEngine(model, input_specs=[X], layouts={"x": "NHWC"})
