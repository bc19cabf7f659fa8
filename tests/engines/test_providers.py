"""Execution providers of onnxruntime: how they are given, and that none is left out in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import npu_layout as nl
from npu_layout.engines import OnnxRuntimeEngine
from npu_layout.engines.providers import asked_for
from tests.support.exchanged import recording

CPU = "CPUExecutionProvider"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, [(CPU, {})]),
        (CPU, [(CPU, {})]),
        ("A", [("A", {}), (CPU, {})]),
        (("A", {"level": 3}), [("A", {"level": "3"}), (CPU, {})]),
        ([("A", {"folder": "x"}), CPU], [("A", {"folder": "x"}), (CPU, {})]),
        (["A", ("B", {})], [("A", {}), ("B", {}), (CPU, {})]),
    ],
)
def test_how_they_are_given(given: Any, wanted: Any) -> None:
    assert asked_for(given) == wanted


@pytest.mark.parametrize("given", [[], 5, [5], [("A", 3)], ["A", "A"], [("A", {}, {})], "", {"A": {}}, b"A"])
def test_what_is_none(twice: bytes, given: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match="providers: expected a name, as 'TIDLExecutionProvider', or a list"):
        OnnxRuntimeEngine(twice, providers=given)


class Session:
    """What a vendor's build of onnxruntime makes: of some providers, it goes on without them."""

    broken = False
    given: tuple[Any, ...] = ()
    whole = onnxruntime.InferenceSession

    def __init__(self, source: Any, options: Any, providers: Any, provider_options: Any) -> None:
        Session.given = providers, provider_options
        self._session = self.whole(source, options, providers=[CPU])
        self.get_inputs, self.get_outputs, self.run = (
            self._session.get_inputs,
            self._session.get_outputs,
            self._session.run,
        )

    def get_providers(self) -> list[str]:
        return [CPU] if self.broken else self.given[0]


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> type[Session]:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["TIDLExecutionProvider", CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    return Session


TIDL = [("TIDLExecutionProvider", {"artifacts_folder": "artifacts", "debug_level": 0})]


def test_an_accelerator_is_asked_and_is_no_reference(twice: bytes, ramp: np.ndarray, vendor: type[Session]) -> None:
    engine = OnnxRuntimeEngine(twice, providers=TIDL)
    assert vendor.given == (
        ["TIDLExecutionProvider", CPU],
        [{"artifacts_folder": "artifacts", "debug_level": "0"}, {}],
    )
    assert engine.accelerators == ["TIDLExecutionProvider"]
    np.testing.assert_array_equal(engine.infer(ramp)["y"], ramp * np.float32(2))
    with pytest.raises(nl.NpuLayoutError, match=r"model: expected one that runs on the CPU, got .* on TIDLExecution"):
        nl.validate(recording(2), engine)
    assert OnnxRuntimeEngine(twice).accelerators == []


def test_none_is_left_out_in_silence(twice: bytes, vendor: type[Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor, "broken", True)
    with pytest.raises(nl.NpuLayoutError, match=f"could not start TIDLExecutionProvider and would run on {CPU}"):
        OnnxRuntimeEngine(twice, providers=TIDL)
    monkeypatch.undo()
    with pytest.raises(
        nl.NpuLayoutError, match=r"this onnxruntime has no TIDLExecutionProvider, it has .*spacemit_ort"
    ):
        nl.open_engine("onnx:samples/models/detector.onnx", providers=TIDL)


@pytest.mark.skipif(
    "AzureExecutionProvider" not in onnxruntime.get_available_providers(), reason="this onnxruntime has no other one"
)
def test_onnxruntimes_own_session_has_what_was_asked(twice: bytes, ramp: np.ndarray) -> None:
    engine = OnnxRuntimeEngine(twice, providers=["AzureExecutionProvider"])
    assert engine.accelerators == ["AzureExecutionProvider"]
    np.testing.assert_array_equal(engine.infer(ramp)["y"], ramp * np.float32(2))
