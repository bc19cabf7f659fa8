"""HailoEngine against a stand-in for hailo_platform: what is opened and closed, and what it makes of each answer."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import HailoEngine
from npu_layout.testing import check_engine

LOG: list[str] = []


class Context:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> Any:
        LOG.append(f"open {self.name}")
        return self

    def __exit__(self, *error: Any) -> None:
        LOG.append(f"close {self.name}")


def info(name: str, shape: tuple[int, ...], order: str = "NHWC") -> SimpleNamespace:
    return SimpleNamespace(
        name=name,
        shape=shape,
        format=SimpleNamespace(type="UINT8", order=order, flags=0),
        quant_info=SimpleNamespace(qp_zp=3.0, qp_scale=0.5, limvals_min=0.0, limvals_max=1.0),
        nms_shape=SimpleNamespace(number_of_classes=3, max_bboxes_per_class=2),
    )


class Hef:
    order = "NHWC"

    def __init__(self, path: str) -> None:
        if Path(path).read_bytes() == b"broken":
            raise RuntimeError("HAILO_INVALID_HEF(26)")

    def get_input_vstream_infos(self) -> list[Any]:
        return [info("net/in", (4, 6, 3))]

    def get_output_vstream_infos(self) -> list[Any]:
        return [info("net/out", (4, 6, 3), self.order)]


class Group(Context):
    def activate(self, params: str) -> Context:
        assert params == "params"
        return Context("network")

    def create_params(self) -> str:
        return "params"


class Device(Context):
    def __init__(self) -> None:
        super().__init__("device")

    def configure(self, hef: Hef, configure_params_by_name: Any = None) -> list[Group]:
        assert configure_params_by_name is None, "an interface that a Hailo-15 may not have"
        return [Group("group")]


class Streams(Context):
    def __init__(self, group: Group, inputs: str, outputs: str) -> None:
        super().__init__(f"streams {inputs} {outputs}")

    def infer(self, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        x = given["net/in"]
        assert x.shape == (1, 4, 6, 3) and x.dtype == np.uint8
        return {"net/out": 255 - x}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    platform: Any = ModuleType("hailo_platform")
    platform.HEF, platform.VDevice, platform.InferVStreams = Hef, Device, Streams
    platform.FormatType = SimpleNamespace(AUTO="auto", UINT8="u8", UINT16="u16", FLOAT32="f32")
    make = SimpleNamespace(make=lambda group, format_type: format_type)
    platform.InputVStreamParams = platform.OutputVStreamParams = make
    monkeypatch.setitem(sys.modules, "hailo_platform", platform)
    monkeypatch.setattr(Hef, "order", "NHWC")
    LOG.clear()
    path = tmp_path / "m.hef"
    path.write_bytes(b"")
    return path


def test_it_runs(model: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 4, 6, 3)).astype(np.uint8)
    with nl.open_engine(model) as engine:
        (source,), (target,) = engine.input_specs, engine.output_specs
        assert source.name == "net/in" and source.axes == "NHWC" and source.dtype == "uint8"
        found = engine.infer({"net/in": x})["net/out"]
        assert np.array_equal(target.unpack(found), (255 - x - np.float32(3)) * np.float32(0.5))
    assert [
        *("open device", "open streams auto auto", "open network"),
        *("close network", "close streams auto auto", "close device"),
    ] == LOG
    assert len(check_engine(lambda: HailoEngine(model))) == 9
    real = HailoEngine(model, output_format="FLOAT32")
    assert real.output_specs[0].dtype == "float32" and real.output_specs[0].quantization is None


BOXES = [  # what pyhailort's vstreams return of an image: for each class top, left, bottom, right and score
    np.empty((0, 5)),
    np.float32([[0.25, 0.5, 0.75, 1, 0.75], [0, 0, 0.5, 0.5, 0.5]]),
    np.float32([[0.5, 0, 1, 0.25, 0.875]]),
]
MEMORY = [0, 2, *BOXES[1].ravel(), 1, *BOXES[2].ravel()]  # and what HailoRT has: numbers, and their boxes


@pytest.mark.parametrize("order", ["HAILO_NMS", "HAILO_NMS_BY_CLASS", "HAILO_FORMAT_ORDER_HAILO_NMS_BY_CLASS"])
def test_boxes_that_hailort_has_suppressed(model: Path, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    monkeypatch.setattr(Hef, "order", order)
    monkeypatch.setattr(Streams, "infer", lambda self, given: {"net/out": [BOXES]})
    with HailoEngine(model) as engine:
        (spec,) = engine.output_specs
        assert spec.shape == (1, 3 * (1 + 2 * 5)) and spec.dtype == "float32" and spec.name == "net/out"
        found = engine.infer(np.zeros((1, 4, 6, 3), np.uint8))["net/out"]
    assert LOG[1] == "open streams auto f32", "a list of boxes is read as floats; the input stays as it is"
    assert found.tolist() == [*MEMORY, *[0] * (33 - len(MEMORY))]
    boxes = nl.decode.hailo_nms(found, 3, (4, 8))
    assert boxes.class_id.tolist() == [2, 1, 1] and boxes.xyxy[1].tolist() == [4, 1, 8, 3]
    assert len(check_engine(lambda: HailoEngine(model))) == 9


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(nl.NpuLayoutError, match="output_format: expected one of AUTO, UINT8"):
        HailoEngine(model, output_format="INT4")
    monkeypatch.setattr(Hef, "order", "HAILO_NMS_BY_SCORE")
    LOG.clear()
    with pytest.raises(nl.NpuLayoutError, match="NMS"):
        HailoEngine(model)
    assert LOG == [], "it is refused before a device is taken"
    monkeypatch.setattr(Hef, "order", "HAILO_NMS_BY_CLASS")
    with pytest.raises(
        nl.NpuLayoutError, match="output_format: net/out is a list of boxes: expected AUTO or FLOAT32, got UINT8"
    ):
        HailoEngine(model, output_format="UINT8")
    assert LOG == []
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.hef: cannot be loaded: HAILO_INVALID_HEF"):
        HailoEngine(model)
    monkeypatch.setitem(sys.modules, "hailo_platform", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match="install HailoRT from Hailo's developer zone"):
        HailoEngine(model)


class InferModel(Context):
    """What HailoRT 5 has for Hailo-10H: a model whose tensors have no axis for images, and buffers that are bound."""

    def __init__(self) -> None:
        super().__init__("infer model")
        self.kinds: dict[str, str] = {}
        self.buffers: dict[str, np.ndarray] = {}

    def _port(self, name: str) -> Any:
        assert name in ("net/in", "net/out")
        return SimpleNamespace(
            set_format_type=lambda kind: self.kinds.update({name: kind}),
            set_buffer=lambda array: self.buffers.update({name: array}),
        )

    input = output = _port

    def configure(self) -> InferModel:
        return self

    def create_bindings(self) -> InferModel:
        return self

    def run(self, bindings: list[InferModel], timeout: int) -> None:
        assert bindings == [self] and timeout > 0
        x, y = self.buffers["net/in"], self.buffers["net/out"]
        assert x.shape == (4, 6, 3) and x.dtype == np.uint8 and x.flags.c_contiguous
        y[:] = 255 - x if y.shape == x.shape else [*MEMORY, *[0] * (33 - len(MEMORY))]


class Device10(Context):
    made: Any = None

    def __init__(self, params: Any = None) -> None:
        super().__init__("device")
        self.params = params

    @staticmethod
    def create_params() -> Any:
        return SimpleNamespace(scheduling_algorithm=None)

    def configure(self, hef: Hef, configure_params_by_name: Any = None) -> list[Group]:
        raise RuntimeError("libhailort failed with error: 7 (HAILO_NOT_IMPLEMENTED)")

    def create_infer_model(self, path: str) -> InferModel:
        assert self.params.scheduling_algorithm == "round robin" and path.endswith("m.hef")
        Device10.made = InferModel()
        return Device10.made


def test_a_device_without_vstreams(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["hailo_platform"], "VDevice", Device10)
    algorithms = SimpleNamespace(ROUND_ROBIN="round robin")
    monkeypatch.setattr(sys.modules["hailo_platform"], "HailoSchedulingAlgorithm", algorithms, raising=False)
    x = np.random.default_rng(0).integers(0, 256, (2, 1, 4, 6, 3)).astype(np.uint8)
    with nl.open_engine(model) as engine:
        kept = [engine.infer({"net/in": one})["net/out"] for one in x]
        for one, found in zip(x, kept):  # of bound memory, which the second run wrote to again
            assert np.array_equal(found, 255 - one.reshape(-1))
    opened = ["open device", "open infer model", "close infer model", "close device"]
    assert ["open device", "close device", *opened] == LOG
    assert Device10.made.kinds == {}
    assert len(check_engine(lambda: HailoEngine(model))) == 9
    monkeypatch.setattr(Hef, "order", "HAILO_NMS_BY_CLASS")
    with HailoEngine(model) as engine:
        found = engine.infer(x[0])["net/out"]
    assert Device10.made.kinds == {"net/out": "f32"} and found[: len(MEMORY)].tolist() == MEMORY
    monkeypatch.setattr(Hef, "order", "NHWC")
    with HailoEngine(model, output_format="FLOAT32") as real:
        assert Device10.made.kinds == {"net/out": "f32"} and Device10.made.buffers["net/out"].dtype == np.float32
        assert real.output_specs[0].dtype == "float32"


class LateModel(InferModel):
    """One whose first run does not answer in time, and writes to its outputs during the second."""

    def __init__(self) -> None:
        super().__init__()
        self.late: Any = None
        self.made: list[InferModel] = []

    def create_bindings(self) -> InferModel:
        self.made.append(InferModel())
        return self.made[-1]

    def run(self, bindings: list[InferModel], timeout: int) -> None:
        (one,) = bindings
        if self.late is None:
            self.late = one.buffers
            raise RuntimeError("libhailort failed with error: 4 (HAILO_TIMEOUT)")
        one.run(bindings, timeout)
        self.late["net/out"][:] = 77
        assert not self.late["net/in"].any(), "memory of a run that is under way"


def test_a_run_that_did_not_answer_in_time_writes_to_no_later_result(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = sys.modules["hailo_platform"]
    monkeypatch.setattr(library, "VDevice", Device10)
    monkeypatch.setattr(library, "HailoSchedulingAlgorithm", SimpleNamespace(ROUND_ROBIN="round robin"), raising=False)
    late = LateModel()
    monkeypatch.setattr(Device10, "create_infer_model", lambda self, path: late)
    x = np.random.default_rng(0).integers(1, 256, (3, 1, 4, 6, 3)).astype(np.uint8)
    with nl.open_engine(model) as engine:
        with pytest.raises(nl.NpuLayoutError, match="HAILO_TIMEOUT"):
            engine.infer(np.zeros((1, 4, 6, 3), np.uint8))
        for one in x:
            assert np.array_equal(engine.infer(one)["net/out"], 255 - one.reshape(-1))
    assert len(late.made) == 2, "the memory of runs that answered is used again"


class Shared:
    """A configured model as of pyhailort: each of its bindings has memory of its own, and several may run at a time."""

    hef = property(lambda self: Hef(__file__))

    def create_bindings(self, input_buffers: Any = None, output_buffers: Any = None) -> Any:
        assert input_buffers is None and output_buffers["net/out"].shape == (4, 6, 3)
        bound = dict(output_buffers)

        def port(name: str) -> Any:
            return SimpleNamespace(set_buffer=lambda array: bound.update({name: array}))

        return SimpleNamespace(input=port, bound=bound)

    def run(self, bindings: list[Any], timeout: int) -> None:
        (one,) = bindings
        assert one.bound["net/in"].shape == (4, 6, 3) and one.bound["net/in"].flags.c_contiguous and timeout > 0
        one.bound["net/out"][:] = 255 - one.bound["net/in"]


def test_the_page_has_several_runs_at_a_time() -> None:
    page = (Path(__file__).parents[2] / "docs/vendors.md").read_text("utf-8")
    known: dict[str, Any] = {"nl": nl, "np": np}
    exec(page[page.index("class Bound:") : page.index("params = VDevice")], known)
    frames = np.random.default_rng(0).integers(0, 256, (9, 1, 4, 6, 3)).astype(np.uint8)
    shared = Shared()
    with nl.streams.EnginePool([known["Bound"](shared, shared) for _ in range(3)]) as pool:
        answers = list(pool.map({"net/in": frame} for frame in frames))
    assert [answer["net/out"].tolist() for answer in answers] == [(255 - frame).ravel().tolist() for frame in frames]
