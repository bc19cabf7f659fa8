"""Another resize at the end of the network."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.diagnosis.computed import resizes
from npu_layout.diagnosis.computed.resizes import MODES, matrix
from npu_layout.diagnosis.scoring.evidence import Evidence
from tests.support.endings import smooth, verdict

SMALL, LARGE = (1, 4, 12, 9), (1, 4, 48, 36)
ONNX = {
    "half_pixel": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    "align_corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "asymmetric": {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "nearest_rounded": {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "round_prefer_ceil",
    },
}


def _resize(mode: str) -> bytes:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SMALL)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, LARGE)
    scales = numpy_helper.from_array(np.array([1, 1, 4, 4], np.float32), "s")
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], **ONNX[mode])
    graph = helper.make_graph([node], "resize", [x], [y], [scales])
    return bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    )


def _run(mode: str, x: np.ndarray) -> np.ndarray:
    return np.asarray(ort.InferenceSession(_resize(mode), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0])


@pytest.mark.parametrize("mode", MODES)
def test_weights_are_onnxruntimes(mode: str) -> None:
    x = smooth(SMALL, 1)[0]
    mine = matrix(mode, 12, 48) @ x.astype(np.float64) @ matrix(mode, 9, 36).T
    assert np.abs(mine - _run(mode, x)).max() < 1e-4


@pytest.mark.parametrize("own", ["half_pixel", "align_corners", "nearest"])
@pytest.mark.parametrize("other", ["half_pixel", "align_corners", "asymmetric", "nearest"])
def test_another_resize_is_named(own: str, other: str) -> None:
    for dtype, db in (("float32", 40), ("int8", 25)):
        output = verdict(_resize(own), smooth(SMALL), lambda x, y: _run(other, x), db, dtype)
        if own == other:
            assert output.verdict == "match", str(output)
            continue
        assert output.verdict == "geometry" and output.fix is None, str(output)
        ends = [MODES[mode].words for mode in (other, own)]
        assert f"the maps end in a {ends[0]}, and the model's in a {ends[1]}" in output.why, output.why


@pytest.mark.parametrize("db", [20, 12])
def test_the_models_resize_under_noise(db: float) -> None:
    for seed in range(3):
        output = verdict(_resize("half_pixel"), smooth(SMALL, seed=seed), lambda x, y: y, db, "int8", seed=seed)
        assert output.verdict == "match", str(output)


@pytest.mark.parametrize("width", [2048, 2052])
def test_long_rows_are_no_maps(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes, or words: to undo a resize of 8,400 places takes minutes, of 32,000 more memory than there is."""
    asked: list[int] = []

    def undone(x: np.ndarray, mode: str, height: int, width: int) -> np.ndarray:
        asked.append(width)
        return np.zeros((*x.shape[:-2], height, width))

    monkeypatch.setattr(resizes, "_reduced", undone)
    references = [np.random.default_rng(k).standard_normal((1, 4, 8, width)).astype(np.float32) for k in range(2)]
    evidence = Evidence(nl.TensorSpec(references[0].shape, "NCHW"), [-r.ravel() for r in references], references, (), 1)
    assert list(resizes.resizes(evidence)) == [] and bool(asked) == (width == 2048)
