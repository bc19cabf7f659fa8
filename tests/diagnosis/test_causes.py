"""Every cause is tried."""

from __future__ import annotations

import ast
import inspect

import numpy as np

import npu_layout as nl
from npu_layout.diagnosis import causes
from npu_layout.diagnosis.answers import Remade
from npu_layout.diagnosis.causes import Situation
from npu_layout.diagnosis.evidence import Evidence
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
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if alias.name.islower()
    }
    assert functions == set(inspect.getclosurevars(causes.every).globals) and len(functions) >= 9
