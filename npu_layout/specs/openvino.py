"""Make a TensorSpec from OpenVINO's port of a model, with what its PrePostProcessor put into the graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec, axes_of_rank
from ..errors import LayoutError
from ..layouts import COLOR_ORDERS, SWAPPED_ORDERS, Layout
from ..support import checked_call, one_of, text_of
from .metadata import Metadata, check_axes, known, one_or_more, text, whole_of

# Type.get_type_name() (src/core/src/type/element_type.cpp)
_DTYPES = {
    "boolean": "bool",
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"{sign}{bits}": f"{kind}{bits}" for sign, kind in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
_LETTERS = "ABEFGIJKLMOPQRSTUVXYZ"  # for dimensions without a name
_MOST = 16  # steps of a PrePostProcessor; more are the model's own


@checked_call
def from_openvino(port: Any, *, layout: str | None = None, color: str | None = None, name: str = "") -> TensorSpec:
    """Return the spec of an input or output of an OpenVINO model, in C order of the port's shape.

    Parameters
    ----------
    port
        An item of ``model.inputs``, ``model.outputs`` or of a compiled model's, or a mapping: names (or any_name),
        partial_shape (or shape), element_type, layout (github.com/openvinotoolkit/openvino, src/bindings/python).
        The layout is that of the port's Parameter or Result, as set_layout wrote it. Observed in OpenVINO 2026.4.1.
    layout
        The layout of a port that has none, such as "NHWC"; LayoutError if the port has another one. If there is none at
        all, the axes are N, NC, NCW, NCHW or NCDHW, with a warning if channels are last by the look of the shape:
        without a layout OpenVINO says nothing of what its numbers mean (its documentation, "Layout API Overview").
    color
        "RGB" or "BGR", the order that the model reads: the graph's first steps are then read as those of a
        PrePostProcessor. If they reverse channels, that is the spec's `channels`. If they subtract a mean from integers
        and divide by a scale, that is its `quantization`: what the integers are for the model. Give
        ``Preprocessor(spec, color=, mean=, std=)`` the values of the training as ever; the buffer then has plain
        pixels. The port has to be that of the model before compile_model. None: the graph is not read.
    name
        The tensor's name; "": the first of the port's names in alphabetical order.

    Returns
    -------
    TensorSpec with the axes in the order of the port's shape.

    Raises
    ------
    NpuLayoutError
        On a missing field, a dynamic shape, an unknown type, and a layout that contradicts the shape (LayoutError).

    Examples
    --------
    >>> spec = from_openvino({"names": ["x"], "shape": [1, 8, 6, 3], "element_type": "u8", "layout": "[N,H,W,C]"})
    >>> spec.axes, spec.dtype, spec.name
    ('NHWC', 'uint8', 'x')
    """
    given = Metadata("OpenVINO port", port)
    color = one_of("color", color, (None, *COLOR_ORDERS))
    name = text_of("name", name) or _name(given)
    what = f"OpenVINO tensor {name!r}"
    shape = _shape(given, what)
    axes = _axes(given, what, shape, layout)
    kind = given.field("element_type")
    kind = kind.get_type_name() if hasattr(kind, "get_type_name") else str(kind)
    dtype = known("OpenVINO element_type", kind, _DTYPES)
    spec = TensorSpec(shape, Layout.plain(axes), dtype, name=name)
    if color is None:
        return spec
    return _with_steps(spec, what, _steps(given.called("get_node"), axes), color)


def _name(given: Metadata) -> str:
    if given.field("names", None) is None:
        one: str = given.read("any_name", text, "")
        return one
    every: list[str] = given.read("names", lambda names: [text(name) for name in one_or_more(names)])
    return min(every, default="")


def _shape(given: Metadata, what: str) -> tuple[int, ...]:
    """Return a static shape; (1,) of a scalar."""
    field = "shape" if given.field("partial_shape", None) is None else "partial_shape"
    dims = given.read(field, list)
    shape = []
    for dim in dims:
        if getattr(dim, "is_dynamic", False):
            raise LayoutError(
                f"{what}: shape {given.field(field)} is dynamic: make it static before compile_model, such as "
                f"model.reshape([1, 3, 256, 192])"
            )
        length = dim.get_length() if hasattr(dim, "get_length") else dim
        shape.append(whole_of(what, field, length))
    return tuple(shape) or (1,)


def _axes(given: Metadata, what: str, shape: tuple[int, ...], layout: str | None) -> str:
    """Return a letter for each dimension: the port's layout, or `layout`, or those of the rank."""
    node = given.called("get_node", None)
    said = given.field("layout", None) if node is None else getattr(node, "layout", None)
    found = _letters(said)
    if layout is not None:
        asked = _letters(text_of("layout", layout))
        if found and asked != found:
            raise LayoutError(f"{what}: layout= is {layout!r}, but the port's is {said}")
        found = asked
    if found is None:
        return axes_of_rank(what, shape)
    check_axes(what, f"layout {layout or said}", found, len(shape), "the shape")
    spare = iter(letter for letter in _LETTERS if letter not in found)
    axes = "".join(next(spare) if letter == "?" else letter for letter in found)
    if len(set(axes)) != len(axes):
        raise LayoutError(f"{what}: layout {layout or said}: expected different letters")
    return axes


def _letters(layout: Any) -> list[str] | None:
    """Return the letters of a layout, "?" for what has none; None of one that says nothing, or not of every axis."""
    if layout is None:
        return None
    said = layout.to_string() if hasattr(layout, "to_string") else str(layout)
    parts = said[1:-1].split(",") if said.startswith("[") and said.endswith("]") else list(said)
    if not said or "..." in said:
        return None
    names = [part.strip().upper() for part in parts]
    return [one if len(one) == 1 and "A" <= one <= "Z" else "?" for one in names]


class _InputSteps(NamedTuple):
    """What a graph does to its input first: whether channels are reversed, and ``(x - mean) * scale``.

    Both are in the buffer's order of channels: one value, or one for each.
    """

    reverses: bool
    mean: np.ndarray
    scale: np.ndarray
    given: bool


def _steps(node: Any, axes: str) -> _InputSteps:
    """Follow the only reader of each node while it is a step of a PrePostProcessor."""
    reverses, given, letters = False, False, list(axes)
    mean, scale = np.zeros(1), np.ones(1)
    for _ in range(_MOST):
        readers = list(node.output(0).get_target_inputs())
        if len(readers) != 1:
            break
        node = readers[0].get_node()
        kind, constants = node.get_type_name(), _constants(node)
        if kind == "Transpose" and constants:
            letters = [letters[int(i)] for i in constants[0].ravel()]
        elif kind == "Gather" and len(constants) == 2 and constants[0].ravel().tolist() == [2, 1, 0]:
            if letters[int(constants[1].ravel()[0])] != "C":
                break
            reverses = not reverses
        elif kind in ("Subtract", "Multiply", "Divide") and len(constants) == 1:
            if kind != "Multiply" and _sources(node)[0].get_type_name() == "Constant":  # of the constant, not by it
                break
            values = _by_channel(constants[0], letters, reverses)
            if values is None:
                break
            given = True
            if kind == "Subtract":
                mean = mean + values / scale
            else:
                scale = scale * values if kind == "Multiply" else scale / values
        elif kind != "Convert":
            break
    return _InputSteps(reverses, mean, scale, given)


def _constants(node: Any) -> list[np.ndarray]:
    """Return the values of a node's constant inputs."""
    constants = [source for source in _sources(node) if source.get_type_name() == "Constant"]
    return [np.asarray(source.get_data(), np.float64) for source in constants]


def _sources(node: Any) -> list[Any]:
    return [port.get_source_output().get_node() for port in node.inputs()]


def _by_channel(values: np.ndarray, letters: list[str], reverses: bool) -> np.ndarray | None:
    """Return one value, or one for each channel of the buffer; None if the values belong to another axis."""
    if values.size == 1:
        return values.reshape(1)
    own = letters[len(letters) - values.ndim :]
    if "C" not in own or values.size != values.shape[own.index("C")]:
        return None
    channels = values.reshape(-1)
    return channels[::-1] if reverses else channels


def _with_steps(spec: TensorSpec, what: str, steps: _InputSteps, color: str) -> TensorSpec:
    """Return the spec with the colours and the meaning of its integers that the graph's steps imply."""
    if steps.reverses:
        spec = spec.replace(channels=SWAPPED_ORDERS[color])
    if not steps.given:
        return spec
    if spec.element.unpacked.kind not in "iu":
        raise LayoutError(
            f"{what}: the graph subtracts a mean or divides by a scale, which a spec of {spec.dtype} cannot contain: "
            f"give the input integers (tensor().set_element_type(Type.u8)), or leave color= out"
        )
    mean, scale = np.broadcast_arrays(steps.mean, steps.scale)
    if mean.size == 1:
        return spec.replace(quantization=Quantization(float(scale[0]), float(mean[0])))
    axis = spec.axes.index("C")
    return spec.replace(quantization=Quantization(scale.tolist(), mean.tolist(), axis))
