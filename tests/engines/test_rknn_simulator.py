"""RknnSimulator: on rknn-toolkit2 where that is installed, and against a stand-in that fails at each step."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import RknnSimulator
from npu_layout.testing import check_engine
from tests.support import runtime_models as models
from tests.support.small_models import FLOAT, build, helper


class RKNN:
    """What the toolkit does, with onnxruntime for the simulator; it too leaves files where it works."""

    calls: list[Any] = []  # noqa: RUF012
    statuses: dict[str, int] = {}  # noqa: RUF012
    silent = False

    def __init__(self, verbose: bool) -> None:
        self.model: nl.OnnxRuntimeEngine | None = None

    def _step(self, name: str, *given: Any) -> int:
        self.calls.append((name, *given))
        Path("check.onnx").write_bytes(b"")
        return self.statuses.get(name, 0)

    def config(self, **options: Any) -> None:
        self._step("config", options)

    def load_onnx(self, path: str) -> int:
        assert os.path.isabs(path)
        self.model = nl.OnnxRuntimeEngine(path)
        return self._step("load_onnx")

    def build(self, do_quantization: bool, dataset: str | None) -> int:
        assert dataset is None or os.path.isabs(dataset)
        return self._step("build", do_quantization)

    def init_runtime(self) -> int:
        return self._step("init_runtime")

    def inference(self, inputs: list[np.ndarray], data_format: list[str | None]) -> Any:
        assert self.model is not None and data_format == ["nchw"]
        if self.silent:
            return None
        found = self.model.infer(inputs[0])
        return [found[spec.name].reshape(spec.shape).astype(np.float64) for spec in self.model.output_specs]

    def release(self) -> None:
        self.calls.append(("release",))


@pytest.fixture
def toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[RKNN]:
    api = ModuleType("rknn.api")
    api.RKNN = RKNN  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rknn", ModuleType("rknn"))
    monkeypatch.setitem(sys.modules, "rknn.api", api)
    for name, value in (("calls", []), ("statuses", {}), ("silent", False)):
        monkeypatch.setattr(RKNN, name, value)
    monkeypatch.chdir(tmp_path)
    return RKNN


def test_it_converts_and_runs_in_a_folder_of_its_own(toolkit: type[RKNN], tmp_path: Path) -> None:
    path, x = models.onnx(tmp_path / "m.onnx"), models.image()
    (tmp_path / "set.txt").write_text("")
    wanted = nl.OnnxRuntimeEngine(path).infer(x)
    with nl.open_engine("rknn-simulator:m.onnx", dataset="set.txt", quantized_algorithm="mmse") as engine:
        assert [spec.name for spec in engine.input_specs] == ["image"]
        assert {spec.name: spec.dtype for spec in engine.output_specs} == {"box": "float32", "score": "float32"}
        found = engine.infer(x)
        assert all(np.array_equal(found[name], wanted[name].ravel()) for name in wanted)
        assert Path.cwd() == tmp_path
    steps = [("config", {"target_platform": "rk3588", "quantized_algorithm": "mmse"}), ("load_onnx",), ("build", True)]
    assert toolkit.calls == [*steps, ("init_runtime",), ("release",)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.onnx", "set.txt"]
    assert len(check_engine(lambda: RknnSimulator(path))) == 9


def test_the_order_of_outputs_is_the_onnx_models(toolkit: type[RKNN], tmp_path: Path) -> None:
    """Which the engine of that model reads by its rank: a shape (1, 6, 6, 4) is no reason for a warning here."""
    nodes = [helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1])]
    (tmp_path / "m.onnx").write_bytes(build(nodes, [("x", FLOAT, [1, 4, 6, 6])], [("y", FLOAT, [1, 6, 6, 4])]))
    with RknnSimulator(tmp_path / "m.onnx") as engine, nl.OnnxRuntimeEngine(tmp_path / "m.onnx") as reference:
        assert engine.output_specs == reference.output_specs == [nl.TensorSpec((1, 6, 6, 4), name="y")]


def test_an_output_of_another_rank_than_the_models(toolkit: type[RKNN], tmp_path: Path, monkeypatch: Any) -> None:
    """The model's letters are of four axes; what the toolkit returns has two."""
    path = models.onnx(tmp_path / "m.onnx")
    inference = toolkit.inference

    def flat(self: RKNN, **given: Any) -> list[np.ndarray]:
        return [y.reshape(1, -1) for y in inference(self, **given)]

    monkeypatch.setattr(toolkit, "inference", flat)
    with RknnSimulator(path) as engine, nl.OnnxRuntimeEngine(path) as reference:
        for spec, other in zip(engine.output_specs, reference.output_specs):
            assert (spec.shape, spec.axes) == ((1, other.size), "NC") and len(other.axes) == 4


def test_what_goes_wrong(toolkit: type[RKNN], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = models.onnx(tmp_path / "m.onnx")
    for step in ("load_onnx", "build", "init_runtime"):
        monkeypatch.setattr(toolkit, "statuses", {step: -1})
        toolkit.calls.clear()
        with pytest.raises(nl.NpuLayoutError, match=rf"m\.onnx: cannot be loaded: {step} returned -1"):
            RknnSimulator(path)
        assert toolkit.calls[-1] == ("release",) and Path.cwd() == tmp_path
    monkeypatch.setattr(toolkit, "statuses", {})
    toolkit.calls.clear()
    with monkeypatch.context() as patch:
        patch.setattr(toolkit, "inference", lambda *given, **more: [np.zeros((1, 2))] * 5)
        with pytest.raises(nl.NpuLayoutError, match="has 5 outputs, got 2 names"):
            RknnSimulator(path)
    assert toolkit.calls[-1] == ("release",)
    engine = RknnSimulator(path)
    monkeypatch.setattr(toolkit, "silent", True)
    with pytest.raises(nl.NpuLayoutError, match="the simulator returned nothing"):
        engine.infer(models.image())
    with pytest.raises(nl.NpuLayoutError, match="mean_values, std_values: the inputs are the ONNX model's"):
        RknnSimulator(path, mean_values=[[0, 0, 0]], std_values=[[1, 1, 1]])
    monkeypatch.setitem(sys.modules, "rknn.api", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match="pip install rknn-toolkit2"):
        RknnSimulator(path)


@pytest.mark.filterwarnings("ignore")  # the toolkit's own, at import
def test_rknn_toolkits_simulator(tmp_path: Path) -> None:
    """Without and with quantisation from a calibration set; what was converted already is another engine's."""
    pytest.importorskip("rknn.api", reason="rknn-toolkit2 is not installed")
    path = models.onnx(tmp_path / "m.onnx")
    x = models.image()
    wanted = nl.OnnxRuntimeEngine(path).infer(x)
    folder = tmp_path / "set"
    folder.mkdir()
    rng = np.random.default_rng(3)
    for i in range(4):
        np.save(folder / f"{i}.npy", x if i == 0 else rng.random(x.shape).astype(np.float32))
    (folder / "dataset.txt").write_text("".join(f"{file}\n" for file in sorted(folder.glob("*.npy"))))
    for dataset, decibels in ((None, 50), (folder / "dataset.txt", 20)):
        with nl.open_engine(f"rknn-simulator:{path}", dataset=dataset) as engine:
            found = engine.infer({"image": x})
            for spec in engine.output_specs:
                y, reference = spec.unpack(found[spec.name]), wanted[spec.name]
                error = float(((y - reference) ** 2).mean())
                assert 10 * np.log10(float((reference**2).mean()) / max(error, 1e-12)) > decibels
    assert not list(tmp_path.glob("check*")) and not list(Path.cwd().glob("check*.onnx"))
