"""Where onnxruntime computes wrongly on a processor: no reference is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from npu_layout.engines import OnnxRuntimeEngine, onnxruntime_faults
from tests.support.small_models import FLOAT, UINT8, build, helper, onnx

_SIZES = (186, 81, 18), (64, 64, 64), (7, 33, 50)  # rows, sums and columns; of the first and last some were wrong


@pytest.fixture
def processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``processor(flags)``: this machine's processor has these; None: the system does not say."""

    def pretend(flags: str | None) -> None:
        path = tmp_path / "cpuinfo"
        if flags is not None:
            path.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: amx_int8\n", encoding="utf-8")
        monkeypatch.setattr(onnxruntime_faults, "_CPUINFO", path)
        onnxruntime_faults._features.cache_clear()

    yield pretend
    onnxruntime_faults._features.cache_clear()


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch, processor: Any) -> None:
    """This onnxruntime counts as one with wrong products."""
    processor("fpu amx_int8")
    monkeypatch.setattr(onnxruntime, "__version__", "1.23.2")


@pytest.mark.parametrize(
    ("version", "is_wrong"),
    [("1.20.1", False), ("1.21.0", True), ("1.24.4", True), ("1.25.0", False), ("1.3", False), ("2.0", False)],
)
def test_versions_and_processors(processor: Any, version: str, is_wrong: bool) -> None:
    processor("fpu amx_tile amx_int8 avx512f")
    assert onnxruntime_faults.has_wrong_products(version) is is_wrong
    for flags in ("fpu avx512f amx_int8x", "", None):
        processor(flags)
        assert not onnxruntime_faults.has_wrong_products(version)


def test_a_version_without_numbers_is_a_right_one(processor: Any) -> None:
    processor("amx_int8")
    assert not onnxruntime_faults.has_wrong_products("unknown")


def _constants(weights: dict[str, Any]) -> list[Any]:
    return [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]


def _quantised(rng: np.random.Generator, m: int, k: int, n: int) -> tuple[bytes, np.ndarray, np.ndarray]:
    """A product of uint8 and int8 in QDQ format, its input, and what numpy computes of it."""
    x, w = rng.integers(0, 256, (m, k)).astype(np.uint8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    scale, zero, zero_w = np.float32(0.5), np.uint8(35), np.int8(0)
    out = np.float32(np.abs((x.astype(int) - 35) @ w.astype(int)).max() / 4 / 100)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["w", "s", "zw"], ["b"]),
        helper.make_node("MatMul", ["a", "b"], ["c"]),
        helper.make_node("QuantizeLinear", ["c", "so", "z128"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "so", "z128"], ["y"]),
    ]
    weights = {"w": w, "s": scale, "z": zero, "zw": zero_w, "so": out, "z128": np.uint8(128)}
    model = build(nodes, [("x", UINT8, [m, k])], [("y", FLOAT, [m, n])], _constants(weights))
    exact = ((x.astype(int) - 35) @ w.astype(int)) * 0.25
    return model, x, np.clip(np.rint(exact / out) + 128, 0, 255) * out - 128 * out


@pytest.mark.parametrize("size", _SIZES)
def test_products_are_right_on_this_machine(size: tuple[int, int, int]) -> None:
    """They are not, without the option that is set, where `has_wrong_products` says so."""
    model, x, expected = _quantised(np.random.default_rng(3), *size)
    step = np.diff(np.unique(expected)).min()
    assert np.abs(OnnxRuntimeEngine(model, threads=1).infer(x)["y"] - expected).max() < 1.5 * step


def test_integers_stay_apart_where_their_products_are_wrong(wrong: None, recwarn: pytest.WarningsRecorder) -> None:
    model, x, expected = _quantised(np.random.default_rng(4), *_SIZES[0])
    engine = OnnxRuntimeEngine(model, threads=1)
    options = engine._session.get_session_options()
    assert options.get_session_config_entry("session.disable_quant_qdq") == "1"
    np.testing.assert_allclose(engine.infer(x)["y"], expected, atol=1.5 * np.diff(np.unique(expected)).min())
    assert not recwarn.list


def test_operators_of_integers_are_warned_of(wrong: None, tmp_path: Path) -> None:
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    weights = {"w": np.ones((3, 2), np.int8)}
    model = build([node], [("x", UINT8, [4, 3])], [("y", onnx.TensorProto.INT32, [4, 2])], _constants(weights))
    (tmp_path / "m.onnx").write_bytes(model)
    for given in (model, tmp_path / "m.onnx"):
        with pytest.warns(UserWarning, match=r"^model.* has MatMulInteger: onnxruntime 1\.23\.2 multiplies .*1\.25"):
            OnnxRuntimeEngine(given)
