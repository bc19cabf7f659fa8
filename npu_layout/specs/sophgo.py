"""Make a TensorSpec from Sophgo's bm_net_info_t."""

from __future__ import annotations

import operator
from typing import Any

from ..buffers import Quantization, TensorSpec, axes_of_rank, element
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, one_of, text_of, whole_number
from .metadata import Metadata, affine, check_axes, dtype_of, one_or_more, shape_of, text

# bmruntime's bmdef.h: bm_data_type_t, by number
_TYPES = (
    *("FLOAT32", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "BFLOAT16"),
    *("INT4", "UINT4"),
)
_DTYPES = {name: name.lower() for name in _TYPES if not name.endswith("INT4")}
_SIDES = ("input", "output")


@checked_call
def from_sophgo(
    info: Any, *, side: str = "output", index: int = 0, stage: int = 0, layout: str | None = None
) -> TensorSpec:
    """Return the spec of an input or output of a network in Sophgo's runtime: dense, in the order of its shape (1N).

    Parameters
    ----------
    info
        A bm_net_info_t (bmruntime's bmdef.h, and its documentation of bmrt_get_network_info), or a mapping: input_num,
        input_names, input_dtypes, input_scales, input_zero_point (may be missing), max_input_bytes, stages with
        input_shapes (bm_shape_t: num_dims and dims; or sequences), stage_num; and the same fields with "output" in
        place of "input". Types are numbers or names.
    side
        "input" or "output".
    index
        Which input or output: 0 is the first.
    stage
        Which of the shapes that the network was compiled for: 0 is the first. A dynamic network's shape is its largest.
    layout
        The letters of the shape, which the metadata leaves open; None: N, NC, NCW, NCHW ... by its rank, with a warning
        if channels are last by the look of it.

    Returns
    -------
    TensorSpec with the axes in the order of the shape. An input's scale turns real values into integers, an output's
    integers into real values (sophgo/sophon-sail, src/engine.cpp, scale_input_tensor and scale_output_tensor); scale 1
    with zero point 0 is no quantization: the integers are the values.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on 4-bit types, a float type with a scale, a scale that is
        not positive, and fields that contradict each other.

    Examples
    --------
    >>> stage = dict(output_shapes=[[1, 84, 8]])
    >>> from_sophgo(dict(output_names=["y"], output_dtypes=[2], output_scales=[0.5], stages=[stage]))
    TensorSpec((1, 84, 8), 'NCW', 'int8', quantization=Quantization(0.5, 0), name='y')
    """
    given = Metadata("Sophgo info", info)
    side, place, step = one_of("side", side, _SIDES), whole_number("index", index), whole_number("stage", stage)
    letters = None if layout is None else text_of("layout", layout)
    count = given.whole(f"{side}_num", -1)
    if place < 0 or -1 < count <= place:
        raise LayoutError(f"Sophgo index {index}: {side}_num is {count}")
    name = given.read(f"{side}_names", lambda names: text(one_or_more(names)[place]))
    what = f"Sophgo {side} {name!r}"
    kind = given.read(f"{side}_dtypes", lambda kinds: kinds[place])
    dtype = dtype_of("Sophgo dtype", kind, _TYPES, _DTYPES, "BM_")
    shape = _shape(given, side, place, step)
    axes = letters or axes_of_rank(what, shape)
    check_axes(what, f"layout {axes}", axes, len(shape), f"the shape {shape}")
    quantization = _quantization(given, what, side, place, dtype)
    spec = TensorSpec(shape, Layout.plain(axes), dtype, quantization=quantization, name=name)
    most = _number(given, f"max_{side}_bytes", place, spec.nbytes)
    if most < spec.nbytes:
        raise LayoutError(f"{what}: max_{side}_bytes {most}, but {spec.describe()} needs {spec.nbytes}")
    return spec


def _number(given: Metadata, field: str, index: int, default: int) -> int:
    """Return a whole number of an array; `default` if it is missing, or a null pointer."""
    values = given.field(field, None)
    if values is None or (hasattr(type(values), "contents") and not values):
        return default
    number: int = given.read(field, lambda found: operator.index(found[index]))
    return number


def _shape(given: Metadata, side: str, index: int, stage: int) -> list[int]:
    """Return the shape that a stage has."""
    count = given.whole("stage_num", -1)
    if stage < 0 or -1 < count <= stage:
        raise LayoutError(f"Sophgo stage {stage}: stage_num is {count}")
    one = Metadata(f"Sophgo stages[{stage}]", given.read("stages", lambda stages: stages[stage]))
    found = one.read(f"{side}_shapes", lambda shapes: shapes[index])
    return shape_of(f"Sophgo {side}_shapes", found, "num_dims", "dims")


def _quantization(given: Metadata, what: str, side: str, index: int, dtype: str) -> Quantization | None:
    """Return how integers are meant; None if they are the values."""
    scale = given.read(f"{side}_scales", lambda scales: float(scales[index]))
    zero = _number(given, f"{side}_zero_point", index, 0)
    if not scale > 0:
        raise LayoutError(f"{what}: scale {scale}: expected a positive number")
    if element(dtype).unpacked.kind not in "iu":
        if scale != 1 or zero:
            raise LayoutError(f"{what}: {dtype} with scale {scale} and zero point {zero}: floats have 1 and 0")
        return None
    if scale == 1 and zero == 0:
        return None
    return affine(what, dtype, 1.0 / scale if side == "input" else scale, zero)
