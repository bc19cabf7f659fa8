"""Turn a recorded run into what the ONNX model has: inputs ready for the model, outputs unpacked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Callable, Union

import numpy as np

from ..buffers import Quantization, TensorSpec, in_model_order
from ..engines import (
    OnnxRuntimeEngine,
    axes_in_model,
    fits,
    order_in_model,
    ports,
    reference,
    shape_in_model,
    transposed,
)
from ..errors import LayoutError, NpuLayoutError, RecordingError
from ..layouts import Layout, Shape
from .recording import Recording
from .runs import CAMERA, Arrays, Frame

Model = Union[str, "os.PathLike[str]", bytes, OnnxRuntimeEngine]


def model_inputs(recording: Recording, run: Frame) -> Arrays:
    """Return the inputs for an ONNX model of real-valued inputs, without the camera input.

    An input without a spec is returned unchanged. One with a spec is unpacked to its logical shape; if that has
    `channels`, they are brought into the model's order, ``meta["preprocess"]``'s color (RGB by default). If it contains
    integers that are not quantised and ``meta["preprocess"]`` names a mean or a std, the compiled model normalises by
    itself, so ``(x - mean) / std`` in float32 is applied along axis C.

    Raises RecordingError if mean or std are no numbers, or their number is neither 1 nor that of the channels.

    >>> spec = TensorSpec((1, 3, 1, 2), "NHWC", "uint8")
    >>> pixels = np.array([0, 10, 20, 100, 110, 120], np.uint8)
    >>> recording = Recording({"x": spec}, [({"x": pixels}, {})], {"preprocess": {"mean": [0, 10, 20], "std": 10}})
    >>> model_inputs(recording, recording.frames[0])["x"].tolist()
    [[[[0.0, 10.0]], [[0.0, 10.0]], [[0.0, 10.0]]]]
    """
    specs, meta, inputs = recording.specs, recording.meta, run.inputs
    names = [k for k in inputs if k not in CAMERA] or [*inputs]
    return {k: model_input(specs[k], inputs[k], meta) if k in specs else inputs[k] for k in names}


def model_input(spec: TensorSpec, buffer: Any, meta: Mapping[str, Any]) -> np.ndarray:
    """Return one input that has a spec, for the ONNX model, in the spec's order of axes; see model_inputs."""
    tensor = in_order(spec, spec.unpack(buffer), meta)
    if tensor.dtype.kind == "f" or not {"mean", "std"} & set(_preprocess(meta)):
        return tensor
    channels = tensor.shape[spec.axes.index("C")] if "C" in spec.axes else 1
    along = [channels if letter == "C" else 1 for letter in spec.axes]
    mean, std = (value.astype(np.float32).reshape(along) for value in normalisation(meta, channels))
    return np.asarray((tensor.astype(np.float32) - mean) / std)


def in_order(spec: TensorSpec, tensor: np.ndarray, meta: Mapping[str, Any]) -> np.ndarray:
    """Return an unpacked tensor with its colours in the model's order, which meta's preprocess states.

    RecordingError if the spec has channels, and preprocess's color is no order of three.
    """
    if spec.channels is None:
        return tensor
    try:
        return in_model_order(spec, tensor, _preprocess(meta).get("color", "RGB"))
    except LayoutError as error:
        raise RecordingError(f"meta: preprocess: color: {error}") from None


class Feeds:
    """Turns a recorded run into the model's inputs."""

    def __init__(self, engine: OnnxRuntimeEngine, recording: Recording) -> None:
        self._ports = {port.name: port for port in ports(engine)["input"]}
        self._specs, self._meta, self._model = recording.specs, recording.meta, engine.model

    def __call__(self, run: Frame, number: int) -> dict[str, np.ndarray]:
        """Return {input: array} of run `number`, ready for the model."""
        return {name: self._input(name, run, number) for name in self._ports}

    def _input(self, name: str, run: Frame, number: int) -> np.ndarray:
        port, recorded = self._ports[name], run.inputs
        others = [k for k in recorded if k not in CAMERA]
        source = name if name in recorded else others[0] if len(others) == len(self._ports) == 1 else ""
        if not source:
            raise RecordingError(
                f"frame {number} has the inputs {', '.join(recorded) or 'none'}; {self._model} needs {name!r}"
            )
        array, spec = recorded[source], self._specs.get(source)
        if spec is not None:
            floats = port.dtype is not None and port.dtype.kind == "f"
            # A model with integer inputs gets the stored integers.
            if floats:
                array = model_input(spec, array, self._meta)
            else:
                array = in_order(spec, spec.unpack(array, dtype=spec.element.unpacked), self._meta)
            array = array.transpose(order_in_model(spec, port.shape))
        if port.dtype is not None and (spec is not None or array.dtype.kind == port.dtype.kind):
            cast = array.astype(port.dtype, copy=False)
            if port.dtype.kind != "f" and not np.array_equal(cast, array):
                raise RecordingError(
                    f"frame {number}: input {name!r} has values {array.min()} to {array.max()}; {self._model} needs "
                    f"{port.dtype}"
                )
            array = cast
        try:
            return port.check(array)
        except NpuLayoutError as error:
            hint = "" if spec is not None else f"; if the accelerator's {name!r} has another form, give its spec"
            raise RecordingError(f"frame {number}: {error}{hint}") from None


def _preprocess(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    given = meta.get("preprocess") or {}
    if not isinstance(given, Mapping):
        raise RecordingError(f"meta: preprocess: expected a mapping, got {given!r}")
    return given


def normalisation(meta: Mapping[str, Any], channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (mean, std) that a recording's meta declares, in pixel units, one for each channel.

    RecordingError if they are no such numbers.
    """
    given = _preprocess(meta)
    return _values(given, "mean", 0, channels), _values(given, "std", 1, channels)


def _values(given: Mapping[str, Any], key: str, default: float, channels: int) -> np.ndarray:
    values = np.asarray(given.get(key, default))
    fits = values.dtype.kind in "iuf" and values.ndim <= 1 and values.size in (1, channels)
    if not fits or not np.isfinite(values).all() or (key == "std" and not values.all()):
        raise RecordingError(
            f"meta: preprocess: {key}: expected 1 or {channels} numbers"
            f"{' other than 0' if key == 'std' else ''}, got {given.get(key)!r}"
        )
    return np.broadcast_to(values.astype(np.float64).reshape(-1), (channels,)).copy()


def model_outputs(recording: Recording, run: Frame) -> Arrays:
    """Return the outputs, unpacked by their specs to logical axes: float32 if quantised, else the stored dtype.

    >>> spec = TensorSpec((1, 2, 1, 2), "NHWC", "int8")
    >>> recording = Recording({"y": spec}, [({}, {"y": np.array([1, 2, 3, 4], np.int8)})])
    >>> model_outputs(recording, recording.frames[0])["y"].tolist()
    [[[[1, 3]], [[2, 4]]]]
    """
    return {name: recording.specs[name].unpack(array) for name, array in run.outputs.items()}


def paired(recording: Recording, shapes: Mapping[str, Shape]) -> dict[str, str]:
    """Return {recorded output: model's output}.

    Outputs are paired by name. A name that the model does not have is paired by shape, then in order. shapes: of the
    model's outputs.
    """
    pairs = {name: name for name in recording.outputs if name in shapes}
    for name in recording.outputs:
        if name in pairs:
            continue
        free = [k for k in shapes if k not in pairs.values()]
        if not free:
            raise RecordingError(
                f"output {name!r} is none of the model's ({', '.join(shapes)}), and all of those are paired"
            )
        spec = recording.specs[name]
        pairs[name] = next((k for k in free if shapes[k] == shape_in_model(as_model(spec, shapes[k]))), free[0])
    return {name: pairs[name] for name in recording.outputs}


def as_model(spec: TensorSpec, wanted: Shape) -> TensorSpec:
    """Return `spec` with all of the model's axes.

    If it names axes of the wanted shape differently, they get the letters that the model's axes have here by number.
    """
    letters, spec = Layout.of_rank(len(wanted)).axes, completed(spec, wanted)
    if spec.shape != wanted or shape_in_model(spec) == wanted:
        return spec
    table = str.maketrans(spec.axes + spec.axes.lower(), letters + letters.lower())
    named = {"axes": letters, "layout": spec.layout.tag.translate(table)}
    fields = {k: v for k, v in spec.to_dict().items() if k != "channels"}  # the letter of C may have changed
    return TensorSpec.from_dict({**fields, **named})


def without_ones(spec: TensorSpec, wanted: Shape) -> TensorSpec:
    """Return `spec` without axes of extent 1 that the model's shape `wanted` lacks: H and W of (1, 1000, 1, 1).

    The others get the letters of the model's axes. A spec to which that does not apply is returned as it is.
    """
    ones = [axis for axis, n in zip(spec.axes, spec.shape) if n == 1]
    letters = Layout.of_rank(len(wanted)).axes
    surplus = len(spec.axes) - len(wanted)
    if surplus < 1 or len(ones) < surplus or not letters:
        return spec
    inner = sorted(reversed(ones), key=lambda axis: axis in letters)  # those that the model does not have go first
    order = [spec.axes[i] for i in axes_in_model(spec.axes)]
    for dropped in combinations(inner, surplus):
        kept = [axis for axis in order if axis not in dropped]
        if tuple(spec.shape[spec.axes.index(axis)] for axis in kept) == wanted:
            return _of_axes(spec, kept, letters)
    return spec


def _of_axes(spec: TensorSpec, kept: Sequence[str], letters: str) -> TensorSpec:
    """Return `spec` with the axes `kept` alone, whose letters become `letters`; the others have the extent 1."""
    names = str.maketrans("".join(kept).lower() + "".join(kept), letters.lower() + letters)
    dropped = "".join(axis for axis in spec.axes if axis not in kept)
    axes = "".join(axis for axis in spec.axes if axis in kept)
    tag = re.sub(rf"[{dropped}]|[0-9]+[{dropped.lower()}]", "", spec.layout.tag)
    places = [k for k, dim in enumerate(spec.layout.dims) if spec.layout.axes[dim.axis] in kept]
    quantization = spec.quantization
    if quantization is not None and quantization.axis is not None:
        scaled = spec.axes[quantization.axis]
        if scaled in dropped:  # of one scale
            scale, zero_point = (np.asarray(x).reshape(-1)[0] for x in (quantization.scale, quantization.zero_point))
            quantization = Quantization(scale, zero_point)
        else:
            quantization = Quantization(quantization.scale, quantization.zero_point, axes.index(scaled))
    return TensorSpec(
        [n for axis, n in zip(spec.axes, spec.shape) if axis in kept],
        tag.translate(names),
        spec.dtype,
        axes=axes.translate(names),
        quantization=quantization,
        storage_shape=[spec.storage_shape[k] for k in places],
        storage_strides=[spec.storage_strides[k] for k in places],
        storage_offset=spec.storage_offset,
        size=spec.size,
        name=spec.name,
    )


def completed(spec: TensorSpec, wanted: Shape) -> TensorSpec:
    """Return `spec` with the axes of extent 1 that the model's shape `wanted` has, such as N, and without others."""
    spec = without_ones(spec, wanted)
    letters = Layout.of_rank(len(wanted)).axes
    lacking = [a for a, n in zip(letters, wanted) if a not in spec.axes and n == 1]
    if not lacking or len(spec.axes) + len(lacking) != len(wanted) or not set(spec.axes) <= set(letters):
        return spec
    front, quantization = "".join(lacking), spec.quantization
    if quantization is not None and quantization.axis is not None:
        axis = quantization.axis % len(spec.axes) + len(lacking)
        quantization = Quantization(quantization.scale, quantization.zero_point, axis)
    strides = spec.storage_strides
    far = max([spec.size, *(n * abs(s) for n, s in zip(spec.storage_shape, strides))])
    return TensorSpec(
        (*(1 for _ in lacking), *spec.shape),
        front + spec.layout.tag,
        spec.dtype,
        axes=front + spec.axes,
        quantization=quantization,
        storage_shape=(*(1 for _ in lacking), *spec.storage_shape),
        storage_strides=(*(far for _ in lacking), *strides),
        storage_offset=spec.storage_offset,
        size=spec.size,
        name=spec.name,
        channels=spec.channels,
    )


def sides(recording: Recording, model: Model | None = None) -> Callable[[Frame, int], Frame]:
    """Return a function of a run and its number that returns its inputs and outputs as the model has them.

    They have the model's order of axes and its names, as `validate` compares them. Without a model the function uses
    model_inputs and model_outputs.
    """
    if model is None:
        return lambda run, _: Frame(model_inputs(recording, run), model_outputs(recording, run))
    engine = reference(model)
    feeds = Feeds(engine, recording)
    # The shapes of a real answer, because the model may leave lengths open.
    shapes = {name: array.shape for name, array in engine.infer(feeds(recording.frames[0], 0)).items()}
    pairs = paired(recording, shapes)
    specs = {name: as_model(recording.specs[name], shapes[other]) for name, other in pairs.items()}
    for name, other in pairs.items():
        shape, given = shape_in_model(specs[name]), shapes[other]
        if shape != given and not fits(engine.output_shapes[other] or (1,), shape):
            raise RecordingError(
                f"output {name!r}: {specs[name].describe()} has the shape {shape} in the model's order of axes; "
                f"{engine.model} returns {other!r} of shape {given}"
            )

    def side(run: Frame, number: int) -> Frame:
        outputs = {pairs[k]: transposed(specs[k].unpack(flat), specs[k].axes, False) for k, flat in run.outputs.items()}
        return Frame(feeds(run, number), outputs)

    return side
