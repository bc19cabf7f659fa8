"""Turn recorded inputs into the model's: unpacked, normalised, and in its order of axes and channels."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..buffers import TensorSpec, in_model_order
from ..engines import (
    OnnxRuntimeEngine,
    order_in_model,
    ports,
)
from ..errors import LayoutError, NpuLayoutError, RecordingError
from ..frames import as_pixels
from .recording import Recording
from .runs import CAMERA, Arrays, Frame, RunsOnDisk


def model_inputs(recording: Recording, run: Frame) -> Arrays:
    """Return the inputs for an ONNX model of real-valued inputs, without the camera input.

    An input without a spec is returned unchanged. One with a spec is unpacked to its logical shape; if that has
    `channels`, they are brought into the model's order, ``meta["preprocess"]``'s color (RGB by default). If it contains
    integers that are not quantised, or pixels whose quantization says so, and ``meta["preprocess"]`` names a mean or a
    std, the compiled model normalises by itself, so ``(x - mean) / std`` in float32 is applied along axis C.

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
    plain = as_pixels(spec)
    tensor = in_order(plain, plain.unpack(_pixel_buffer(spec, plain, buffer)), meta)
    if tensor.dtype.kind == "f" or not {"mean", "std"} & set(_preprocess(meta)):
        return tensor
    channels = tensor.shape[spec.axes.index("C")] if "C" in spec.axes else 1
    along = [channels if letter == "C" else 1 for letter in spec.axes]
    mean, std = (value.astype(np.float32).reshape(along) for value in normalisation(meta, channels))
    return np.asarray((tensor.astype(np.float32) - mean) / std)


def of_pixels(recording: Recording) -> Recording:
    """Return the recording with a spec of plain uint8 for inputs whose quantization only says that they are pixels."""
    given, own = recording.specs, recording.outputs
    plain = {name: spec if name in own else as_pixels(spec) for name, spec in given.items()}
    changed = copy.copy(recording)
    changed.specs = plain
    if any(spec.dtype != given[name].dtype for name, spec in plain.items()):
        changed.frames = RunsOnDisk(
            len(recording), partial(_run_of_pixels, recording), partial(_name_of_run, recording), plain
        )
    return changed


def _run_of_pixels(recording: Recording, i: int) -> Frame:
    """Return run `i` with its inputs of pixels as uint8."""
    inputs, outputs = recording.frames[i]
    specs = {name: spec for name, spec in recording.specs.items() if name in inputs}
    pixels = {name: _pixel_buffer(spec, as_pixels(spec), inputs[name]) for name, spec in specs.items()}
    return Frame({**inputs, **pixels}, outputs)


def _name_of_run(recording: Recording, i: int) -> str:
    return recording.frames.where(i) if isinstance(recording.frames, RunsOnDisk) else f"frame {i}"


def _pixel_buffer(spec: TensorSpec, plain: TensorSpec, buffer: Any) -> Any:
    """Return a buffer of `spec` as one of its pixels, which have the highest bit of a byte inverted if it is signed."""
    if plain.dtype == spec.dtype:
        return buffer
    spec.unpack(buffer)  # refuses what is no buffer of the declared spec, such as one of another dtype
    return np.ascontiguousarray(buffer).view(np.uint8) ^ np.uint8(0x80)


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
