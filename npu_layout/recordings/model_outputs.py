"""Turn recorded outputs into the model's: paired by name or shape, with all of its axes, in its order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..engines import axes_in_model, shape_in_model
from ..errors import RecordingError
from ..layouts import Layout, Shape
from .recording import Recording
from .runs import Arrays, Frame


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

    Outputs are paired by name. Where the model does not have the name, they are paired by shape, then in their order.
    shapes: {model's output: shape}. RecordingError if more outputs were recorded than the model has.
    """
    pairs = {name: name for name in recording.outputs if name in shapes}
    for name in recording.outputs:
        if name in pairs:
            continue
        free = [k for k in shapes if k not in pairs.values()]
        if not free:
            raise RecordingError(
                f"output {name!r} is none of the model's outputs ({', '.join(shapes)}), which are all recorded already"
            )
        spec = recording.specs[name]
        pairs[name] = next((k for k in free if shapes[k] == shape_in_model(as_model(spec, shapes[k]))), free[0])
    return {name: pairs[name] for name in recording.outputs}


def as_model(spec: TensorSpec, wanted: Shape) -> TensorSpec:
    """Return `spec` with all axes of the model's shape, `wanted`.

    If the spec calls axes of that shape by other letters, they get the usual letters of a tensor of so many axes.
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
    """Return `spec` with the axes of extent 1 that the model's shape `wanted` has, such as N, and no further ones."""
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
