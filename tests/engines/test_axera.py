"""AxeraEngine against a stand-in for axengine: what it is fed with, what it returns, what is unloaded."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import AxeraEngine
from npu_layout.testing import check_engine
from tests.support import detector


class Session:
    """The detector on pixels: its input is NHWC uint8, its outputs are a map in NHWC and one in NCHW, float32."""

    loaded = 0
    given: dict[str, Any] = {}  # noqa: RUF012
    wrong: Any = None
    names: tuple[Any, ...] = ("box", "score")

    def __init__(self, path: str, sess_options: Any = None, providers: Any = None, provider_options: Any = None):
        assert isinstance(path, str), "AXCLRTSession encodes it"
        if Path(path).read_bytes() == b"broken":
            raise RuntimeError("Failed to load model.")
        Session.given = {"providers": providers, "provider_options": provider_options}
        Session.loaded += 1
        self.network = nl.OnnxRuntimeEngine(detector.detector())

    def __del__(self) -> None:
        if hasattr(self, "network"):
            Session.loaded -= 1

    def get_inputs(self, shape_group: int = 0) -> list[Any]:
        return [SimpleNamespace(name="image", shape=[1, 64, 64, 3], dtype=np.dtype(np.uint8))]

    def get_outputs(self, shape_group: int = 0) -> list[Any]:
        shapes = ([1, 8, 8, 64], [1, 3, 8, 8])
        return [
            SimpleNamespace(name=name, shape=shape, dtype=np.dtype(np.float32))
            for name, shape in zip(self.names, shapes)
        ]

    def run(self, output_names: Any, input_feed: dict[str, np.ndarray], run_options: Any = None) -> list[np.ndarray]:
        assert output_names is None, "it mixes up the outputs of a list"
        (image,) = (input_feed.pop(node.name) for node in self.get_inputs())
        assert not input_feed and image.dtype == np.uint8 and image.shape == (1, 64, 64, 3)
        assert image.flags.c_contiguous, "its memory is copied as it is stored"
        found = self.network.infer(image.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))
        answers = [np.ascontiguousarray(found["box"].reshape(1, 64, 8, 8).transpose(0, 2, 3, 1)), found["score"]]
        return answers if self.wrong is None else self.wrong(answers)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library = ModuleType("axengine")
    library.InferenceSession = Session  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "axengine", library)
    monkeypatch.setattr(Session, "wrong", None)
    monkeypatch.setattr(Session, "names", ("box", "score"))
    path = tmp_path / "m.axmodel"
    path.write_bytes(b"")
    gc.collect()  # sessions that exceptions of a test before still have
    return path


LAYOUTS = {"image": "NHWC", "box": "NHWC"}


def test_it_finds_what_the_network_finds(model: Path) -> None:
    frame, objects = detector.squares(0)
    before = Session.loaded
    with nl.open_engine(model, layouts=LAYOUTS) as engine:
        assert isinstance(engine, AxeraEngine) and Session.loaded == before + 1
        assert engine.input_specs == [nl.TensorSpec.of_storage((1, 64, 64, 3), "NHWC", "uint8", name="image")]
        assert [spec.axes for spec in engine.output_specs] == ["NHWC", "NCHW"]
        preprocess = nl.Preprocessor(engine.input_specs[0], color="RGB", resize="letterbox")
        buffers = engine.infer(preprocess(frame)[0])
        decoder = nl.decode.Decoder(detector.HEAD, engine.output_specs, (64, 64))
        found = decoder([buffers[spec.name] for spec in engine.output_specs], confidence=0.5)
        assert sorted(found.class_id.tolist()) == sorted(kind for kind, *_ in objects)
    assert Session.loaded == before
    assert Session.given == {"providers": None, "provider_options": None}


def test_it_keeps_the_protocol(model: Path) -> None:
    before = Session.loaded
    assert len(check_engine(lambda: AxeraEngine(model, layouts=LAYOUTS))) == 9
    assert Session.loaded == before
    with nl.open_engine(f"axera:{model}", provider="AXCLRTExecutionProvider", device=1, layouts=LAYOUTS):
        assert Session.given == {"providers": "AXCLRTExecutionProvider", "provider_options": [{"device_id": 1}]}


def test_channels_that_seem_to_be_last_are_warned_of(model: Path) -> None:
    """Of the input's (1, 64, 64, 3) and the box's (1, 8, 8, 64); the score's (1, 3, 8, 8) is NCHW by the look of it."""
    with pytest.warns(UserWarning) as found, nl.open_engine(model) as engine:
        assert [spec.axes for spec in (*engine.input_specs, *engine.output_specs)] == ["NCHW"] * 3
    assert [one.filename for one in found] == [__file__] * 2
    for one, (name, shape) in zip(found, {"image": (1, 64, 64, 3), "box": (1, 8, 8, 64)}.items()):
        words = f"m.axmodel: {name}: the order of shape {shape} is not known, and read as NCHW: N=1, C={shape[1]}, "
        assert words in str(one.message)
        assert str(one.message).endswith(f"last, give layouts={{{name!r}: 'NHWC'}}; if not, 'NCHW' says so")
    with nl.open_engine(model, layouts={"image": "NCHW", "box": "NHWC"}) as engine:  # and no warning
        assert engine.input_specs[0].axes == "NCHW"


def test_a_session_on_a_card_is_unloaded(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """axengine refers to it until the end of the program: each model that was closed stayed in the card's memory."""
    kept: list[Any] = []

    class OnCard(Session):
        unloaded = False

        def __init__(self, *given: Any, **options: Any):
            super().__init__(*given, **options)
            kept.append(self)

        def __exit__(self, *error: Any) -> bool:
            self.unloaded = True
            return False

    monkeypatch.setattr(sys.modules["axengine"], "InferenceSession", OnCard)
    with AxeraEngine(model, layouts=LAYOUTS):
        assert not kept[0].unloaded
    with pytest.raises(nl.NpuLayoutError, match="no tensor"):
        AxeraEngine(model, layouts={"nothing": "NHWC"})
    assert [session.unloaded for session in kept] == [True, True]


@pytest.mark.parametrize(("provider", "times"), [("AXCLRTExecutionProvider", 1), ("AxEngineExecutionProvider", 0)])
def test_a_session_on_a_card_is_unloaded_by_an_older_axengine(
    model: Path, monkeypatch: pytest.MonkeyPatch, provider: str, times: int
) -> None:
    """Its `__exit__` does nothing, and the session on the card has none; that on the board is unloaded by `__del__`."""
    unloaded: list[str] = []

    class Older(Session):
        def __init__(self, *given: Any, **options: Any):
            super().__init__(*given, **options)
            self._sess = SimpleNamespace(_unload=lambda: unloaded.append("unload"))

        def get_providers(self) -> str:
            return provider

        def __exit__(self, *error: Any) -> bool:
            return False

    monkeypatch.setattr(sys.modules["axengine"], "InferenceSession", Older)
    with AxeraEngine(model, layouts=LAYOUTS):
        assert not unloaded
    assert unloaded == ["unload"] * times


def test_bfloat16_is_fed_and_read_as_its_bits(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")

    class Half(Session):
        def get_inputs(self, shape_group: int = 0) -> list[Any]:
            return [SimpleNamespace(name="x", shape=[1, 4], dtype=np.dtype(ml_dtypes.bfloat16))]

        def get_outputs(self, shape_group: int = 0) -> list[Any]:
            return [SimpleNamespace(name="y", shape=[1, 4], dtype=np.dtype(ml_dtypes.bfloat16))]

        def run(self, output_names: Any, input_feed: dict[str, np.ndarray], run_options: Any = None) -> Any:
            assert input_feed["x"].dtype == ml_dtypes.bfloat16
            return [input_feed["x"] * ml_dtypes.bfloat16(2)]

    monkeypatch.setattr(sys.modules["axengine"], "InferenceSession", Half)
    with AxeraEngine(model) as engine:
        (source,), (target,) = engine.input_specs, engine.output_specs
        assert source.dtype == target.dtype == "bfloat16"
        x = np.array([[1, -2.5, 0.125, 96]], np.float32)
        assert np.array_equal(target.unpack(engine.infer(source.pack(x))["y"]), 2 * x)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda answers: answers[:1], "engine AxeraEngine: returned 1 output, expected box, score"),
        (lambda answers: [answers[0][:, 1:], answers[1]], "engine AxeraEngine: output box"),
        (lambda answers: [answers[0].astype(np.float64), answers[1]], "engine AxeraEngine: output box: .*float64"),
        (lambda answers: [answers[0].transpose(0, 3, 1, 2), answers[1]], "engine AxeraEngine: output box"),
    ],
)
def test_a_session_that_contradicts_its_metadata_is_named(model: Path, wrong: Any, says: str) -> None:
    with AxeraEngine(model, layouts=LAYOUTS) as engine:
        out = {spec.name: np.full(spec.size, 7, np.float32) for spec in engine.output_specs}
        Session.wrong = staticmethod(wrong)
        with pytest.raises(nl.NpuLayoutError, match=says):
            engine.infer(np.zeros(64 * 64 * 3, np.uint8), out=out)
        assert all((array == 7).all() for array in out.values())


def test_what_goes_wrong(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Session.loaded
    for layouts, says in (
        ({"nothing": "NHWC"}, r"layouts: no tensor 'nothing'; the model has image, box, score"),
        ("NHWC", "layouts: expected"),
        ({"image": "NC"}, "shape"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            AxeraEngine(model, layouts=layouts)  # type: ignore[arg-type]
    for names, says in (
        (("box", object()), "axengine reports the name <object .*expected text"),
        (("box", "box"), r"expected outputs with names of their own, got \['box', 'box'\]"),
    ):
        monkeypatch.setattr(Session, "names", names)
        with pytest.raises(nl.NpuLayoutError, match=says):
            AxeraEngine(model, layouts=LAYOUTS)
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.axmodel: cannot be loaded: Failed to load model"):
        AxeraEngine(model)
    assert Session.loaded == before
    monkeypatch.setitem(sys.modules, "axengine", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"axengine cannot be imported .*install the wheel of .*/AXERA-TECH"):
        AxeraEngine(model)
