"""A frame as the ONNX model has it: its inputs ready for the model, its outputs unpacked."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import RecordingError
from .recording import Recording
from .recording_frames import Arrays, Frame
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
    preprocess = recording.meta.get("preprocess")
    return {
        name: _normalised(recording.specs[name], array, preprocess if isinstance(preprocess, dict) else {})
        if name in recording.specs
        else array
        for name, array in frame.inputs.items()
    }


def _normalised(spec: TensorSpec, array: np.ndarray, preprocess: dict[str, Any]) -> np.ndarray:
    tensor = spec.unpack(array)
    values = {key: preprocess[key] for key in ("mean", "std") if preprocess.get(key) is not None}
    if not values or tensor.dtype.kind == "f":
        return tensor
    channels = tensor.shape[spec.axes.index("C")] if "C" in spec.axes else 1
    steps: dict[str, Any] = {}
    for key, value in values.items():
        step = np.asarray(value)
        if step.dtype.kind not in "iuf" or step.ndim > 1 or step.size not in (1, channels):
            raise RecordingError(f"meta: preprocess: {key}: expected 1 or {channels} numbers, got {value!r}")
        shape = [step.size if letter == "C" else 1 for letter in spec.axes]
        steps[key] = step.astype(np.float32).reshape(shape)
    result: np.ndarray = (tensor.astype(np.float32) - steps.get("mean", np.float32(0))) / steps.get(
        "std", np.float32(1)
    )
    return result


def model_outputs(recording: Recording, frame: Frame) -> Arrays:
    """The outputs unpacked by their specs to logical axes: float32 where quantised, else the stored dtype.

    >>> spec = TensorSpec((1, 2, 1, 2), "NHWC", "int8")
    >>> recording = Recording({"y": spec}, [({}, {"y": np.array([1, 2, 3, 4], np.int8)})])
    >>> model_outputs(recording, recording.frames[0])["y"].tolist()
    [[[[1, 3]], [[2, 4]]]]
    """
    return {name: recording.specs[name].unpack(array) for name, array in frame.outputs.items()}
