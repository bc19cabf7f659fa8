"""RknnEngine against a stand-in for rknn-toolkit-lite2: what it calls, and what it makes of each answer."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import RknnEngine
from npu_layout.testing import check_engine

IMAGE = nl.TensorSpec.of_storage((1, 4, 6, 3), "NHWC", "uint8", name="image")


class RKNNLite:
    """Two outputs, NCHW float32: the picture's halves, and the sum of its channels; its arguments are 2.5.0's."""

    statuses: dict[str, int] = {}  # noqa: RUF012
    calls: list[Any] = []  # noqa: RUF012
    silent = False
    given: list[np.ndarray] = []  # noqa: RUF012

    def load_rknn(self, path: str) -> int:
        self.calls.append(("load_rknn", path))
        return self.statuses.get("load_rknn", 0)

    def init_runtime(self, **options: Any) -> int:
        self.calls.append(("init_runtime", options))
        return self.statuses.get("init_runtime", 0)

    def inference(self, inputs: list[np.ndarray], data_type: Any = None, data_format: Any = None) -> Any:
        assert data_type is data_format is None, "versions differ in what they accept"
        x = inputs[0]
        self.given[:] = inputs
        assert x.shape == (1, 4, 6, 3) and x.dtype == np.uint8 and x.flags.c_contiguous
        if self.silent:
            return None
        real = x.transpose(0, 3, 1, 2).astype(np.float32)
        return [real / 2, real.sum((2, 3))]

    def release(self) -> None:
        self.calls.append(("release",))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    api = ModuleType("rknnlite.api")
    api.RKNNLite = RKNNLite  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rknnlite", ModuleType("rknnlite"))
    monkeypatch.setitem(sys.modules, "rknnlite.api", api)
    monkeypatch.setattr(RKNNLite, "statuses", {})
    monkeypatch.setattr(RKNNLite, "calls", [])
    monkeypatch.setattr(RKNNLite, "silent", False)
    path = tmp_path / "m.rknn"
    path.write_bytes(b"")
    return path


def test_it_runs(model: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 4, 6, 3)).astype(np.uint8)
    with nl.open_engine(model, input_specs=[IMAGE], core_mask=2) as engine:
        found = engine.infer(x)
        assert [spec.shape for spec in engine.output_specs] == [(1, 3, 4, 6), (1, 3)]
        assert np.array_equal(engine.output_specs[0].unpack(found["output0"]), x.transpose(0, 3, 1, 2) / np.float32(2))
        assert np.array_equal(found["output1"], x.sum((1, 2)).astype(np.float32).ravel())
    assert RKNNLite.calls == [("load_rknn", str(model)), ("init_runtime", {"core_mask": 2}), ("release",)]
    named = RknnEngine(model, input_specs=[IMAGE], output_names=["half", "sum"])
    assert list(named.infer(x)) == ["half", "sum"]
    assert len(check_engine(lambda: RknnEngine(model, input_specs=[IMAGE]))) == 9


def test_an_input_of_another_order_becomes_nhwc(model: Path) -> None:
    """RKNNLite took it for NHWC, another picture of the same size, or refused its `data_format`."""
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 4, 6)).astype(np.uint8)
    for layout in ("NCHW", "NHWC", "NHCW", "CHWN", "NCHW4c"):
        spec = nl.TensorSpec((1, 3, 4, 6), layout, "uint8", name="image")
        with RknnEngine(model, input_specs=[spec]) as engine:
            half, total = engine.infer(spec.pack(x)).values()
        assert np.array_equal(half, x.astype(np.float32).ravel() / 2)
        assert np.array_equal(total, x.sum((2, 3)).astype(np.float32).ravel())
    sizes = nl.TensorSpec((1, 2), "NC", "uint8", name="sizes")
    first = nl.TensorSpec((1, 3, 4, 6), "NCHW", "uint8", name="image")
    with RknnEngine(model, input_specs=[first, sizes]) as engine:
        engine.infer({"image": x, "sizes": np.uint8([4, 6])})
    assert [array.shape for array in RKNNLite.given] == [(1, 4, 6, 3), (1, 2)]
    assert np.array_equal(RKNNLite.given[0], np.moveaxis(x, 1, 3)) and RKNNLite.given[1].tolist() == [[4, 6]]
    with pytest.raises(nl.NpuLayoutError, match=r"input_specs: image: RKNNLite takes .* expected the axes N, C, H and"):
        RknnEngine(model, input_specs=[nl.TensorSpec((1, 3, 4, 6), "NCDW", "uint8", name="image")])
    for shape, tag, dtype in (((1, 17, 4, 6), "NCHW16c", "int8"), ((1, 3, 4, 6), "NCHW", "int4")):
        with pytest.raises(nl.NpuLayoutError, match=r"input_specs: image: RKNNLite takes .* without blocks and half"):
            RknnEngine(model, input_specs=[nl.TensorSpec(shape, tag, dtype, name="image")])


def test_an_image_that_is_nhwc_is_not_copied(model: Path) -> None:
    with RknnEngine(model, input_specs=[IMAGE]) as engine:
        x = np.zeros((1, 4, 6, 3), np.uint8)
        engine.infer(x)
        assert np.shares_memory(RKNNLite.given[0], x)


def test_outputs_that_seem_to_have_their_channels_last_are_warned_of(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a graph that ends in a transposition; nothing that RKNNLite returns says so."""
    answers = [np.arange(size, dtype=np.float32) for size in (6 * 6 * 4, 4 * 6 * 6, 1 * 7)]
    shaped = [a.reshape(s) for a, s in zip(answers, ((1, 6, 6, 4), (1, 4, 6, 6), (1, 7)))]
    monkeypatch.setattr(RKNNLite, "inference", lambda self, inputs: shaped)
    with pytest.warns(UserWarning) as found, nl.open_engine(model, input_specs=[IMAGE]) as engine:
        assert [spec.axes for spec in engine.output_specs] == ["NCHW", "NCHW", "NC"]
    assert [one.filename for one in found] == [__file__]
    words = "m.rknn: output0: the order of shape (1, 6, 6, 4) is not known, and read as NCHW: N=1, C=6, H=6, W=4"
    assert words in str(found[0].message)
    assert str(found[0].message).endswith("last, give layouts={'output0': 'NHWC'}; if not, 'NCHW' says so")
    named = {"input_specs": [IMAGE], "output_names": ["boxes", "maps", "sum"]}
    with RknnEngine(model, layouts={"boxes": "NHWC"}, **named) as engine:  # and no warning
        spec = engine.output_specs[0]
        real = spec.unpack(engine.infer(np.zeros((1, 4, 6, 3), np.uint8))["boxes"])
        channels = spec.axes.index("C")
        assert spec.shape[channels] == 4
        assert np.array_equal(np.moveaxis(real, channels, 3), shaped[0])
    with RknnEngine(model, layouts={"boxes": "NCHW"}, **named) as engine:
        assert engine.output_specs[0].axes == "NCHW"
    with pytest.raises(nl.NpuLayoutError, match=r"layouts: no output 'image'; the model has boxes, maps, sum"):
        RknnEngine(model, layouts={"image": "NHWC"}, **named)


def test_what_cannot_be_opened_is_released(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that tries again until the board is ready would hold a context of the NPU for each try."""
    for names, silent, statuses in (
        (None, False, {"load_rknn": -1}),
        (None, False, {"init_runtime": -1}),
        (None, True, {}),
        (["one"], False, {}),
    ):
        monkeypatch.setattr(RKNNLite, "statuses", statuses)
        monkeypatch.setattr(RKNNLite, "silent", silent)
        monkeypatch.setattr(RKNNLite, "calls", [])
        with pytest.raises(nl.NpuLayoutError):
            RknnEngine(model, input_specs=[IMAGE], output_names=names)
        assert RKNNLite.calls[-1] == ("release",) and RKNNLite.calls.count(("release",)) == 1
        assert ("init_runtime", {}) in RKNNLite.calls or "load_rknn" in statuses


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("load_rknn", "init_runtime"):
        monkeypatch.setattr(RKNNLite, "statuses", {step: -1})
        with pytest.raises(nl.NpuLayoutError, match=rf"m\.rknn: cannot be loaded: {step} returned -1"):
            RknnEngine(model, input_specs=[IMAGE])
    monkeypatch.setattr(RKNNLite, "statuses", {})
    for specs in ([], [IMAGE.replace(name="")]):
        with pytest.raises(nl.NpuLayoutError, match="input_specs: expected a TensorSpec with a name"):
            RknnEngine(model, input_specs=specs)
    with pytest.raises(nl.NpuLayoutError, match=r"does not report .* give a TensorSpec with a name .*of_storage\("):
        nl.open_engine(model)
    with pytest.raises(nl.NpuLayoutError, match=r"output_names: .* has 2 outputs, got 1 name"):
        RknnEngine(model, input_specs=[IMAGE], output_names=["one"])
    engine = RknnEngine(model, input_specs=[IMAGE])
    monkeypatch.setattr(RKNNLite, "silent", True)
    with pytest.raises(nl.NpuLayoutError, match="RKNNLite returned nothing"):
        engine.infer(np.zeros((1, 4, 6, 3), np.uint8))

    def refuse() -> None:  # as on a board whose driver is missing
        raise RuntimeError("unsupported platform")

    monkeypatch.setattr(sys.modules["rknnlite.api"], "RKNNLite", refuse)
    with pytest.raises(nl.NpuLayoutError, match=r"m\.rknn: cannot be loaded: unsupported platform"):
        RknnEngine(model, input_specs=[IMAGE])
    monkeypatch.setitem(sys.modules, "rknnlite.api", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match="pip install rknn-toolkit-lite2"):
        RknnEngine(model, input_specs=[IMAGE])
