"""Build the calls that several peers share: fill an output, run an ONNX graph, compile loops with numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..cases import Case
from . import libraries
from .registry import Call


def writes(out: np.ndarray, function: Callable[..., Any], *arguments: Any) -> Call:
    """Return a call of function(*arguments), which fills `out`, that returns `out`."""

    def run() -> np.ndarray:
        function(*arguments)
        return out

    return run


def graph(x: np.ndarray, out: np.ndarray, nodes: list[Any], constants: dict[str, np.ndarray]) -> Call:
    """Return a run of an ONNX graph from "x" to "y", whose memory onnxruntime reads and writes directly."""
    import onnx
    import onnxruntime as ort
    from onnx import helper, numpy_helper

    types = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in (x, out)]
    proto = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info("x", types[0], x.shape)],
        [helper.make_tensor_value_info("y", types[1], out.shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = libraries.threads()
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, out.dtype, out.shape, out.ctypes.data)

    return writes(out, session.run_with_iobinding, binding)


def loops(case: Case, element: str, **parameters: Any) -> Call:
    """Return a call of numba loops, one for each dimension in the result's order; `element` is an expression of {x}."""
    names = [f"i{k}" for k in range(len(case.x.shape))]
    lines = [f"def run({', '.join(['x', 'out', *parameters])}):"]
    for depth, axis in enumerate(case.order):
        lines.append(" " * (depth + 1) + f"for {names[axis]} in range(x.shape[{axis}]):")
    index = ", ".join(names[i] for i in case.order)
    lines.append(" " * (len(names) + 1) + f"out[{index}] = " + element.format(x=f"x[{', '.join(names)}]"))
    out = case.out()
    return writes(out, compiled("\n".join(lines)), case.x, out, *parameters.values())


@cache
def compiled(text: str) -> Any:
    """Compile the function `run` of a source text with numba."""
    import numba

    space: dict[str, Any] = {"np": np}
    exec(text, space)
    return numba.njit(space["run"])
