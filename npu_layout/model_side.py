"""A frame as the ONNX model has it: its inputs ready for the model, its outputs unpacked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .engines import OnnxRuntimeEngine, transposed
from .errors import NpuLayoutError, RecordingError
from .recording import Recording
from .recording_frames import FRAME, Arrays, Frame
from .tensor import TensorSpec


def model_inputs(recording: Recording, frame: Frame) -> Arrays:
    """The inputs as the ONNX model takes them. An input without a spec is that already. One with a spec is unpacked to
    its logical shape; where it holds integers that are not quantised and ``meta["preprocess"]`` names a mean or a std,
    the compiled model normalises by itself, so ``(x - mean) / std`` in float32 is applied along axis C.

    RecordingError where mean or std are no numbers, or fit neither one channel nor all.

    >>> spec = TensorSpec((1, 3, 1, 2), "NHWC", "uint8")
    >>> pixels = np.array([0, 10, 20, 100, 110, 120], np.uint8)
    >>> recording = Recording({"x": spec}, [({"x": pixels}, {})], {"preprocess": {"mean": [0, 10, 20], "std": 10}})
    >>> model_inputs(recording, recording.frames[0])["x"].tolist()
    [[[[0.0, 10.0]], [[0.0, 10.0]], [[0.0, 10.0]]]]
    """
    specs, meta = recording.specs, recording.meta
    return {k: model_input(specs[k], array, meta) if k in specs else array for k, array in frame.inputs.items()}


def model_input(spec: TensorSpec, buffer: Any, meta: Mapping[str, Any]) -> np.ndarray:
    """One input with a spec as the ONNX model takes it, in the spec's axes order; see model_inputs."""
    tensor = spec.unpack(buffer)
    if tensor.dtype.kind == "f" or not {"mean", "std"} & set(_preprocess(meta)):
        return tensor
    channels = tensor.shape[spec.axes.index("C")] if "C" in spec.axes else 1
    along = [channels if letter == "C" else 1 for letter in spec.axes]
    mean, std = (value.astype(np.float32).reshape(along) for value in normalisation(meta, channels))
    return np.asarray((tensor.astype(np.float32) - mean) / std)


class Feeds:
    """A recorded frame -> what the model takes."""

    def __init__(self, engine: OnnxRuntimeEngine, recording: Recording) -> None:
        self._ports = {port.name: port for port in engine._inputs}
        self._specs, self._meta, self._model = recording.specs, recording.meta, engine.model

    def __call__(self, frame: Frame, number: int) -> dict[str, np.ndarray]:
        return {name: self._input(name, frame, number) for name in self._ports}

    def _input(self, name: str, frame: Frame, number: int) -> np.ndarray:
        port, recorded = self._ports[name], frame.inputs
        others = [k for k in recorded if k != FRAME]
        source = name if name in recorded else others[0] if len(others) == len(self._ports) == 1 else ""
        if not source:
            raise RecordingError(
                f"frame {number} has the inputs {', '.join(recorded) or 'none'}; {self._model} needs {name!r}"
            )
        array, spec = recorded[source], self._specs.get(source)
        if spec is not None:
            floats = port.dtype is not None and port.dtype.kind == "f"
            # A model that takes integers takes the stored ones.
            array = model_input(spec, array, self._meta) if floats else spec.unpack(array, dtype=spec.element.unpacked)
            array = transposed(array, spec.axes, False)
        if port.dtype is not None and (spec is not None or array.dtype.kind == port.dtype.kind):
            cast = array.astype(port.dtype, copy=False)
            if port.dtype.kind != "f" and not np.array_equal(cast, array):
                raise RecordingError(
                    f"frame {number}: input {name!r} has values {array.min()} to {array.max()}; {self._model} takes "
                    f"{port.dtype}"
                )
            array = cast
        try:
            return port.check(array)
        except NpuLayoutError as error:
            hint = "" if spec is not None else f"; where the accelerator took {name!r} in another form, give its spec"
            raise RecordingError(f"frame {number}: {error}{hint}") from None


def _preprocess(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    given = meta.get("preprocess") or {}
    if not isinstance(given, Mapping):
        raise RecordingError(f"meta: preprocess: expected a mapping, got {given!r}")
    return given


def normalisation(meta: Mapping[str, Any], channels: int) -> tuple[np.ndarray, np.ndarray]:
    """(mean, std) that a recording's meta declares, in pixel units, one for each channel. RecordingError where they are
    no such numbers."""
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


def model_outputs(recording: Recording, frame: Frame) -> Arrays:
    """The outputs unpacked by their specs to logical axes: float32 where quantised, else the stored dtype.

    >>> spec = TensorSpec((1, 2, 1, 2), "NHWC", "int8")
    >>> recording = Recording({"y": spec}, [({}, {"y": np.array([1, 2, 3, 4], np.int8)})])
    >>> model_outputs(recording, recording.frames[0])["y"].tolist()
    [[[[1, 3]], [[2, 4]]]]
    """
    return {name: recording.specs[name].unpack(array) for name, array in frame.outputs.items()}
