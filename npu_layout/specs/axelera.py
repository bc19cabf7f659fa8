"""Make a TensorSpec from the TensorInfo of Axelera's runtime."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import Layout, c_strides
from ..support import checked_call, text_of
from .metadata import CHANNELS_LAST, Metadata, affine, check_axes, extents_of, text


@checked_call
def from_axelera(info: Any, *, axes: str | None = None, name: str = "") -> TensorSpec:
    """Return the spec of an input or output in Axelera's runtime: the buffer with its padding in front and behind.

    Parameters
    ----------
    info
        A TensorInfo, an item of ``model.inputs()`` or ``model.outputs()`` (axelera.runtime; github.com/axelera-ai-hub/
        voyager-sdk, docs/reference/apis/axruntime-py.md), or a mapping: name, shape with padding, dtype, padding (for
        each axis a pair, the elements in front and behind, as for numpy.pad), scale and zero_point:
        ``real = (q - zero_point) * scale``.
    axes
        The letters of the shape's axes; None: channels last, which is N, NC, NWC, NHWC or NDHWC, by the rank.
    name
        The tensor's name, if the info has none.

    Returns
    -------
    TensorSpec with the axes in the order of the shape; its logical shape is without padding. Scale 1 with zero point 0,
    which an info has if the model's manifest.json is missing, is no quantization. The padding of inputs has to be the
    zero point: AxeleraEngine writes it there, but `pack` and Preprocessor write 0.

    Raises
    ------
    NpuLayoutError
        On a missing field; LayoutError on fields that contradict each other.

    Examples
    --------
    >>> info = dict(name="x", shape=[1, 230, 240, 4], padding=[(0, 0), (3, 3), (3, 13), (0, 1)])
    >>> spec = from_axelera(dict(info, dtype="int8", scale=0.0186, zero_point=-14))
    >>> spec.shape, spec.storage_offset, spec.storage_strides, spec.nbytes
    ((1, 224, 224, 3), 2892, (220800, 960, 4, 1), 220800)
    """
    given = Metadata("Axelera info", info)
    name = text_of("name", name) or given.read("name", text, "")
    what = f"Axelera tensor {name!r}"
    pads = _padding(given, what, whole := given.extents("shape"))
    shape = [extent - front - behind for extent, (front, behind) in zip(whole, pads)]
    if not whole or min(shape) < 1:
        raise LayoutError(
            f"{what}: shape {whole} with padding {pads}: expected every extent to be 1 or more without it"
        )
    # input_tensor_layout is "Always NHWC", as are outputs.
    letters = CHANNELS_LAST.get(len(whole)) or Layout.of_rank(len(whole)).axes
    if axes is not None:
        check_axes(what, f"axes {axes!r}", text_of("axes", axes), len(whole), f"the shape {whole}")
    dtype = given.read("dtype", np.dtype, "int8")
    quantization = None
    scale, zero_point = given.read("scale", float, 1.0), given.whole("zero_point", 0)
    if dtype.kind in "iu" and (scale, zero_point) != (1.0, 0):
        quantization = affine(what, dtype, scale, zero_point)
    spec = TensorSpec(shape, Layout.plain(axes or letters), dtype, quantization=quantization, name=name)
    if shape == whole:
        return spec
    strides = c_strides(whole)
    first = sum(front * stride for (front, _), stride in zip(pads, strides))
    return spec.replace(storage_strides=strides, storage_offset=first, size=math.prod(whole))


def _padding(given: Metadata, what: str, shape: list[int]) -> list[tuple[int, int]]:
    """Return what is in front of and behind each axis; no padding at all is an empty list."""
    listed = [extents_of(f"{what} padding", "pair", pair) for pair in given.read("padding", list)]
    if not listed:
        return [(0, 0)] * len(shape)
    if len(listed) != len(shape) or any(len(pair) != 2 or min(pair) < 0 for pair in listed):
        raise LayoutError(f"{what}: padding {listed}: expected two numbers from 0 for each extent of {shape}")
    return [(front, behind) for front, behind in listed]
