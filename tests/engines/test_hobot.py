"""HobotEngine against a stand-in for hbm_runtime: views of padded memory, several networks, NV12."""

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
from npu_layout.engines import HobotEngine
from npu_layout.testing import check_engine
from tests.support import detector


class Type(enum.Enum):
    """hbDNNDataType, as pybind11 shows it"""

    S8, U8, S16, F32, NV12 = range(5)


class Quanti(enum.Enum):
    """hbDNNQuantiType"""

    NONE, SCALE = range(2)


DTYPES = {Type.S8: "int8", Type.U8: "uint8", Type.S16: "int16", Type.F32: "float32", Type.NV12: "uint8"}


def quant(scale: Any = (), zero_point: Any = (), axis: int = 0) -> SimpleNamespace:
    kind = Quanti.SCALE if len(scale) else Quanti.NONE
    return SimpleNamespace(
        quant_type=kind, scale=np.array(scale, np.float32), zero_point=np.array(zero_point, np.int32), axis=axis
    )


def padded(values: np.ndarray) -> np.ndarray:
    """A view of memory whose last axis is padded to 32 bytes and more, which is dirty."""
    step = -(-values.shape[-1] * values.itemsize // 32) * 32 // values.itemsize
    memory = np.empty((*values.shape[:-1], step), values.dtype)
    memory.view(np.uint8).fill(0xA5)
    memory[..., : values.shape[-1]] = values
    return memory[..., : values.shape[-1]]


BOX = nl.Quantization(np.linspace(0.05, 0.2, 64), 0, 3)
SCORE = nl.Quantization(0.25, 0)


class HBMRuntime:
    """The detector, with an input of pixels and quantised outputs in NHWC; a second network that only copies."""

    loaded = 0
    running = False
    names: tuple[str, ...] = ("squares",)
    changes: dict[str, Any] = {}  # noqa: RUF012
    wrong: Any = None

    def __init__(self, model_file: str) -> None:
        if Path(model_file).read_bytes() == b"broken":
            raise RuntimeError("hbDNN initialize from file failed.")
        HBMRuntime.loaded += 1
        self.network = nl.OnnxRuntimeEngine(detector.detector())
        self.model_names = list(self.names)
        tables: dict[str, Any] = dict(
            input_names=["image"], input_shapes={"image": [1, 64, 64, 3]}, input_dtypes={"image": Type.U8},
            input_quants={"image": quant()}, output_names=["box", "score"],
            output_shapes={"box": [1, 8, 8, 64], "score": [1, 8, 8, 3]},
            output_dtypes={"box": Type.S16, "score": Type.S8},
            output_quants={"box": quant(BOX.scale, [0] * 64, 3), "score": quant([0.25], [0])},
        )  # fmt: skip
        for name, table in {**tables, **self.changes}.items():
            setattr(self, name, {one: table for one in self.names})

    def __del__(self) -> None:
        if hasattr(self, "network"):
            HBMRuntime.loaded -= 1

    def run(self, input_tensors: dict[str, np.ndarray], model_name: str | None = None) -> Any:
        assert model_name in self.model_names and set(input_tensors) == {"image"}
        image = input_tensors["image"]
        dtype = self.input_dtypes[model_name]["image"]  # type: ignore[attr-defined]
        if image.dtype != DTYPES[dtype]:
            raise RuntimeError("Data type mismatch for input tensor 'image'")
        if dtype is Type.NV12:
            assert image.shape == (1, 96, 64, 1)
            image = np.repeat(image[:, :64], 3, 3)
        elif list(image.shape) != [1, 64, 64, 3]:
            raise RuntimeError("Mismatch in tensor dimension")
        found = self.network.infer(image.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))
        answers = {}
        for name, quantization, kind in (("box", BOX, "int16"), ("score", SCORE, "int8")):
            real = found[name].reshape(1, -1, 8, 8).transpose(0, 2, 3, 1)
            answers[name] = padded(quantization.quantize(real, kind))
        answers = answers if self.wrong is None else self.wrong(answers)
        return {model_name: answers}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("hbm_runtime")
    library.HB_HBMRuntime = HBMRuntime  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hbm_runtime", library)
    for name, value in (("names", ("squares",)), ("changes", {}), ("wrong", None)):
        monkeypatch.setattr(HBMRuntime, name, value)
    path = tmp_path / "m.hbm"
    path.write_bytes(b"")
    return path


LAYOUTS = dict.fromkeys(("image", "box", "score"), "NHWC")


def alive() -> int:
    gc.collect()
    return HBMRuntime.loaded


def test_it_finds_what_the_network_finds(model: Path) -> None:
    frame, objects = detector.squares(1)
    before = alive()
    with nl.open_engine(model, layouts=LAYOUTS) as engine:
        assert isinstance(engine, HobotEngine)
        (image,), (box, score) = engine.input_specs, engine.output_specs
        assert image == nl.TensorSpec.of_storage((1, 64, 64, 3), "NHWC", "uint8", name="image")
        assert (box.dtype, box.axes, box.quantization.count, box.quantization.axis) == ("int16", "NHWC", 64, 3)
        assert (score.dtype, score.quantization) == ("int8", nl.Quantization(0.25, 0))
        buffers = engine.infer(nl.Preprocessor(image, color="RGB", resize="letterbox")(frame)[0])
        decoder = nl.decode.Decoder(detector.HEAD, [box, score], (64, 64))
        found = decoder([buffers["box"], buffers["score"]], confidence=0.5)
        assert sorted(found.class_id.tolist()) == sorted(kind for kind, *_ in objects)
    assert alive() == before


def test_it_keeps_the_protocol(model: Path) -> None:
    before = alive()
    assert len(check_engine(lambda: HobotEngine(model, layouts=LAYOUTS))) == 9
    assert alive() == before


def test_a_file_of_several_networks(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HBMRuntime, "names", ("squares", "circles"))
    with nl.open_engine(f"hobot:{model}", model_name="circles", layouts=LAYOUTS) as engine:
        assert engine.infer(np.zeros(64 * 64 * 3, np.uint8))["score"].size == 192
    for wanted, got in ((None, "it has several"), ("lines", "got 'lines'")):
        with pytest.raises(nl.NpuLayoutError, match=rf"model_name: .*expected one of 'squares', 'circles'; {got}"):
            HobotEngine(model, model_name=wanted)


def test_channels_that_seem_to_be_last_are_warned_of(model: Path) -> None:
    """The metadata has no layout: an input (1, 64, 64, 3) was one of 64 channels, in silence."""
    with pytest.warns(UserWarning, match=r"layouts=\{name: 'NHWC'\}") as found, HobotEngine(model) as engine:
        assert engine.input_specs[0].axes == "NCHW"
    assert {str(one.message).split("'")[1] for one in found} == {"image", "box", "score"}
    assert {one.filename for one in found} == {__file__}


def test_an_nv12_picture_has_to_be_described(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"input_shapes": {"image": [1, 3, 64, 64]}, "input_dtypes": {"image": Type.NV12}}
    monkeypatch.setattr(HBMRuntime, "changes", changes)
    with pytest.raises(nl.NpuLayoutError, match=r"m\.hbm: Hobot tensor 'image': NV12 is a picture of several planes"):
        HobotEngine(model, layouts=LAYOUTS)
    planes = nl.TensorSpec.of_storage((1, 96, 64, 1), "NHWC", "uint8", name="image")
    with HobotEngine(model, input_specs=[planes], layouts=LAYOUTS) as engine:
        assert engine.input_specs == [planes]
        assert engine.infer(np.zeros(96 * 64, np.uint8))["box"].dtype == np.int16
    with pytest.raises(nl.NpuLayoutError, match="input_specs: no tensor 'picture'; the model has image"):
        HobotEngine(model, input_specs=[planes.replace(name="picture")], layouts=LAYOUTS)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda a: {"box": a["box"]}, "engine HobotEngine: returned the outputs box, expected box, score"),
        (lambda a: {**a, "heat": a["box"]}, "engine HobotEngine: returned the outputs box, score, heat"),
        (lambda a: {**a, "box": a["box"][:, :4]}, "engine HobotEngine: output box"),
        (lambda a: {**a, "score": a["score"].astype(np.float32)}, "engine HobotEngine: output score: .*float32"),
        (lambda a: {**a, "score": a["score"].transpose(0, 3, 1, 2)}, "engine HobotEngine: output score"),
    ],
)
def test_a_runtime_that_contradicts_its_metadata_is_named(model: Path, wrong: Any, says: str) -> None:
    with HobotEngine(model, layouts=LAYOUTS) as engine:
        out = {spec.name: np.full(spec.size, 7, spec.stored) for spec in engine.output_specs}
        HBMRuntime.wrong = staticmethod(wrong)
        with pytest.raises(nl.NpuLayoutError, match=says):
            engine.infer(np.zeros(64 * 64 * 3, np.uint8), out=out)
        assert all((array == 7).all() for array in out.values())


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = alive()
    with pytest.raises(nl.NpuLayoutError, match="layouts: no tensor 'y'; the model has image, box, score"):
        HobotEngine(model, layouts={"y": "NHWC"})
    for changes, says in (
        ({"input_shapes": {"image": [-1, 64, 64, 3]}}, r"m\.hbm: image: shape \[-1, 64, 64, 3\] is dynamic"),
        ({"output_quants": {"box": quant([0.5], [0, 1]), "score": quant()}}, "zeroPointLen 2: expected 0, 1 or 1"),
        ({"output_dtypes": {"box": SimpleNamespace(name="S4"), "score": Type.S8}}, "'S4': expected one of"),
        ({"output_shapes": {"box": [1, 8, 8, 64]}}, r"m\.hbm: cannot be loaded: 'score'"),
    ):
        monkeypatch.setattr(HBMRuntime, "changes", changes)
        with pytest.raises(nl.NpuLayoutError, match=says):
            HobotEngine(model, layouts=LAYOUTS)
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.hbm: cannot be loaded: hbDNN initialize from file failed"):
        HobotEngine(model)
    assert alive() == before
    monkeypatch.setitem(sys.modules, "hbm_runtime", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"hbm_runtime cannot be imported .*install that of RDK OS"):
        HobotEngine(model)
