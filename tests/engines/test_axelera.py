"""AxeleraEngine against a stand-in for axelera.runtime: padding, zero points, and memory that is used again."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import AxeleraEngine
from npu_layout.testing import check_engine

FED = SimpleNamespace(
    name="image", shape=(1, 9, 12, 4), dtype=np.dtype(np.int8), padding=[(0, 0), (2, 3), (1, 5), (0, 1)], scale=0.5,
    zero_point=-14,
)  # fmt: skip
FOUND = SimpleNamespace(
    name="", shape=(1, 4, 6, 8), dtype=np.dtype(np.int8), padding=[(0, 0), (0, 0), (0, 0), (0, 5)], scale=0.25,
    zero_point=3,
)  # fmt: skip


class Context:
    """A board whose network takes the mean of neighbours over the padding, too, as a convolution does."""

    open = 0
    asked: tuple[Any, ...] = ()
    preamble_graph = ""
    postamble_graph = ""
    breaks = False

    def __init__(self) -> None:
        Context.open += 1

    def release(self) -> None:
        Context.open -= 1

    def load_model(self, path: str) -> Any:
        if Path(path).read_bytes() == b"broken":
            raise RuntimeError("InvalidArgument: no model")
        return SimpleNamespace(
            inputs=lambda: [FED],
            outputs=lambda: [FOUND],
            preamble_graph=self.preamble_graph,
            postamble_graph=self.postamble_graph,
        )

    def device_connect(self, device: Any = None, num_sub_devices: int = 1, **more: Any) -> Any:
        Context.asked = (device, num_sub_devices)
        return self

    def load_model_instance(self, model: Any, **options: Any) -> Any:
        assert options == {"num_sub_devices": 1, "aipu_cores": 1}
        return self

    def run(self, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
        if self.breaks:
            raise RuntimeError("the device is lost")
        assert [a.shape for a in inputs] == [FED.shape] and [a.shape for a in outputs] == [FOUND.shape]
        real = (inputs[0].astype(np.float64) - FED.zero_point) * FED.scale
        outputs[0][:] = 99  # of the padding, which nobody reads
        outputs[0][..., :3] = _stored(network(real))


def network(padded: np.ndarray) -> np.ndarray:
    """The sums of two pixels, one of which is padding at the left edge."""
    return padded[:, 2:-3, 1:-5, :3] + padded[:, 2:-3, :-6, :3]


def _stored(real: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(real / FOUND.scale) + FOUND.zero_point, -128, 127).astype(np.int8)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("axelera.runtime")
    library.Context = Context  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "axelera", ModuleType("axelera"))
    monkeypatch.setitem(sys.modules, "axelera.runtime", library)
    monkeypatch.setattr(Context, "open", 0)
    path = tmp_path / "model.json"
    path.write_bytes(b"{}")
    return path


def test_the_padding_is_the_zero_point_and_outputs_are_copies(model: Path) -> None:
    rng = np.random.default_rng(0)
    with nl.open_engine(f"axelera:{model}", device="metis-0:4:0") as engine:
        assert isinstance(engine, AxeleraEngine) and Context.asked == ("metis-0:4:0", 1) and engine.postamble == ""
        (source,), (target,) = engine.input_specs, engine.output_specs
        assert (source.name, source.shape, target.name, target.shape) == (
            "image",
            (1, 4, 6, 3),
            "output0",
            (1, 4, 6, 3),
        )
        kept = []
        for _ in range(3):
            real = rng.integers(-4, 5, source.shape).astype(np.float32) * 0.5
            padded = np.pad(real.astype(np.float64), FED.padding)  # zeros in front of the convolution, as the model has
            found = engine.infer(source.pack(real))  # whose padding has other integers: 0
            kept.append((found["output0"], network(padded)))
        for buffer, wanted in kept:  # after the memory of all three was used again
            assert np.array_equal(target.unpack(buffer), wanted)
    assert Context.open == 0


def test_it_keeps_the_protocol(model: Path) -> None:
    assert len(check_engine(lambda: AxeleraEngine(model))) == 9
    assert Context.open == 0


def test_what_the_compiler_cut_off(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Context, "postamble_graph", "postprocess_graph.onnx")
    with AxeleraEngine(model) as engine:
        assert engine.postamble == str(model.parent / "postprocess_graph.onnx")
    monkeypatch.setattr(Context, "preamble_graph", "preprocess_graph.onnx")
    with pytest.raises(nl.NpuLayoutError, match=r"beginning was cut off, and is preprocess_graph\.onnx"):
        AxeleraEngine(model)
    assert Context.open == 0


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AxeleraEngine(model) as engine:
        monkeypatch.setattr(Context, "breaks", True)
        with pytest.raises(nl.NpuLayoutError, match="AxeleraEngine failed: the device is lost"):
            engine.infer(np.zeros(9 * 12 * 4, np.int8))
    monkeypatch.setattr(Context, "breaks", False)
    with monkeypatch.context() as later:
        later.setattr(np, "zeros", lambda *_: 1 / 0)  # as without memory for the outputs
        with pytest.raises(nl.NpuLayoutError, match="cannot be loaded: division by zero"):
            AxeleraEngine(model)
    assert Context.open == 0
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"model\.json: cannot be loaded: InvalidArgument"):
        AxeleraEngine(model)
    assert Context.open == 0
    monkeypatch.setitem(sys.modules, "axelera.runtime", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"axelera\.runtime cannot be imported .*Voyager SDK"):
        AxeleraEngine(model)
