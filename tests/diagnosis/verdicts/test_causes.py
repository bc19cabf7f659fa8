"""Every cause is tried."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.computed.answers import Remade
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.verdicts import causes
from npu_layout.diagnosis.verdicts.causes import Situation
from npu_layout.reports import VERDICTS


def test_every_verdict_of_a_cause_has_a_trial() -> None:
    rng = np.random.default_rng(0)
    shape = (1, 6, 8, 8)
    references = [rng.normal(size=shape).astype(np.float32) for _ in range(6)]
    others = [rng.normal(size=shape).astype(np.float32) for _ in range(6)]
    spec = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.03))
    buffers = [spec.pack(np.ascontiguousarray(r[:, ::-1])) for r in references]
    evidence = Evidence(spec, buffers, references, others, 1)
    remade = Remade("in another way", {"color": "BGR"}, dict(enumerate(others)))
    exchanged = remade._replace(fix={"a": "b", "b": "a"}, cause="input_order")
    misread = remade._replace(fix=None, cause="input_layout")
    left = remade._replace(answers={}, text="tried on one frame alone")
    ways = [remade, exchanged, misread, left]
    situation = Situation("y", range(6), {"y": references, "z": others}, {"y": spec, "z": spec}, ways)
    tried = list(causes.every(evidence, situation))
    mirrored = Evidence(
        spec, [spec.pack(np.ascontiguousarray(r[..., ::-1])) for r in references], references, others, 1
    )
    tried += causes.every(mirrored, situation)
    assert {t.cause for t in tried} == set(VERDICTS) - {"ambiguous", "mismatch"}
    assert all(t.codes.shape == t.left.shape and t.text for t in tried)
    of_inputs = {"preprocessing", "input_layout", "input_order", "wrong_input"}
    assert {t.cause for t in tried if t.of_input} == of_inputs
    assert {t.cause for t in tried if t.answers} == of_inputs | {"geometry", "activation", "output_order"}
    assert not any(t.text == left.text for t in tried)


def test_each_generator_is_asked() -> None:
    """What causes.py imports from its neighbours it also tries."""
    tree = ast.parse(inspect.getsource(causes))
    functions = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level in (1, 2)  # of its part and of the wing
        for alias in node.names
        if alias.name.islower()
    }
    asking = causes.every, causes.without_inputs, causes.of_stored
    named = {name: each for part in asking for name, each in inspect.getclosurevars(part).globals.items()}
    asked = {name for name, each in named.items() if callable(each) and each not in asking}
    assert functions == asked and len(functions) >= 9


def test_what_was_tried_before_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    spec = nl.TensorSpec((1, 4, 24, 24), "NCHW", "float32")
    references = [rng.standard_normal(spec.shape).astype(np.float32) for _ in range(3)]
    evidence = Evidence(spec, [spec.pack(r + 0.1) for r in references], references, (), 1)
    remade = Remade("in another way", {"color": "BGR"}, dict(enumerate(references)))
    situation = Situation("y", range(3), {"y": references}, {"y": spec}, [remade])
    known = list(causes.without_inputs(evidence, situation))
    every = [t.text for t in causes.every(evidence, situation)]
    assert not any(t.text == remade.text for t in known)
    monkeypatch.setattr(causes, "without_inputs", None)
    again = list(causes.every(evidence, situation._replace(tried=known)))
    assert all(one is other for one, other in zip(again, known))
    assert [t.text for t in again] == every == [*(t.text for t in known), remade.text]
