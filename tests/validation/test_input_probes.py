"""An output that is as declared shows the input only if it changes with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.validation.comparing import KeptRun
from npu_layout.validation.input_probes import plain_changes, show_input
from tests.support.small_models import FLOAT, build, helper

SHAPE = [1, 3, 12, 12]
HOW: dict[str, Any] = {"mean": [0.0] * 3, "std": [255.0] * 3, "resize": "stretch"}


def pictures(count: int) -> list[np.ndarray]:
    return [np.random.default_rng(seed).integers(0, 256, (12, 12, 3)).astype(np.uint8) for seed in range(count)]


def engine_of(operator: str, shape: list[int], **attributes: Any) -> nl.OnnxRuntimeEngine:
    """A model that returns its image as b, and what an operator makes of it as a."""
    nodes = [
        helper.make_node("Identity", ["x"], ["b"]),
        helper.make_node(operator, ["x"], ["a"], **attributes),
    ]
    return nl.OnnxRuntimeEngine(build(nodes, [("x", FLOAT, SHAPE)], [("a", FLOAT, shape), ("b", FLOAT, SHAPE)]))


@pytest.mark.parametrize(
    "operator, shape, attributes, change",
    [
        ("GlobalAveragePool", [1, 3, 1, 1], {}, lambda x: x[..., ::-1]),
        ("GlobalAveragePool", [1, 3, 1, 1], {}, lambda x: x.swapaxes(2, 3)),
        ("ReduceMean", [1, 1, 12, 12], {"axes": [1]}, lambda x: x[:, ::-1]),
        ("LpNormalization", SHAPE, {"axis": 1, "p": 2}, lambda x: x * 255),
    ],
)
def test_an_output_that_is_the_same_for_the_devices_input_settles_nothing(
    operator: str, shape: list[int], attributes: dict[str, Any], change: Any
) -> None:
    """The output b is explained by what the device made of its input as well as by a change of b; a is as declared."""
    engine = engine_of(operator, shape, **attributes)
    target = nl.TensorSpec(SHAPE, name="x")
    frames = pictures(6)
    inputs = [nl.Preprocessor(target, **HOW)(frame)[0].reshape(SHAPE).copy() for frame in frames]
    answers = [engine.infer(np.ascontiguousarray(change(x))) for x in inputs]
    specs = {"a": nl.TensorSpec(shape), "b": nl.TensorSpec(SHAPE)}
    runs = [
        ({"x": x, "frame": frame}, {name: specs[name].pack(y[name]) for name in specs})
        for x, frame, y in zip(inputs, frames, answers)
    ]
    report = nl.validate(nl.Recording(specs, runs, {"preprocess": HOW}), engine, progress=False).outputs
    assert report["a"].verdict == "match"
    found = report["b"]
    assert found.verdict in ("ambiguous", "preprocessing") or "the input is" in found.why, str(found)


def test_which_outputs_show_their_input() -> None:
    engine = engine_of("GlobalAveragePool", [1, 3, 1, 1])
    x = pictures(1)[0].transpose(2, 0, 1)[None].astype(np.float32)
    run = KeptRun(0, {"x": x}, None, {}, engine.infer(x))
    assert show_input(engine, run, ["b"]) and show_input(engine, run, ["a", "b"])
    assert not show_input(engine, run, ["a"]) and not show_input(engine, run, [])
    assert not show_input(engine, run._replace(inputs={"x": x, "y": x}), ["b"])
    blank = np.full_like(x, 3)
    assert not show_input(engine, KeptRun(0, {"x": blank}, None, {}, engine.infer(blank)), ["b"])


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32"])
def test_changes_have_the_shape_and_dtype_of_the_input(dtype: str) -> None:
    x = np.arange(2 * 3 * 3).reshape(1, 2, 3, 3).astype(dtype)
    made = list(plain_changes(x))
    assert len(made) == 3 + 3 + 2 + 2 and all(y.shape == x.shape and y.dtype == x.dtype for y in made)
    assert not any(np.array_equal(y, x) for y in made)
    assert len({y.tobytes() for y in made}) == len(made)
