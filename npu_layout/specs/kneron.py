"""Make a TensorSpec from Kneron PLUS's tensor descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, one_of, text_keys, text_of
from .metadata import Metadata, element_strides, enum_name, extents_of, first, known, text

# kp_struct.h: kp_model_target_chip_t, by number
_CHIPS = {1: "KL520", 2: "KL720", 3: "KL530", 4: "KL730", 5: "KL630", 6: "KL540"}
_DTYPES = {
    **dict.fromkeys(("4W4C8B", "1W16C8B", "1W16C8B_CH_COMPACT", "16W1C8B", "RAW_8B"), "int8"),
    **dict.fromkeys(("HW4C8B_KEEP_A", "HW4C8B_DROP_A", "HW1C8B"), "int8"),
    **dict.fromkeys(("8W1C16B", "RAW_16B", "HW1C16B_LE"), "int16"),
    **dict.fromkeys(("4W4C8BHL", "1W16C8BHL", "1W16C8BHL_CH_COMPACT", "16W1C8BHL"), "int16"),
    "HW1C16B_BE": ">i2",
    "RAW_FLOAT": "float32",
}
_RETRIEVED = ("fixed", "float")
_GROUPS = {"1W16C8B": 16}  # channels that strides are those of; the groups follow each other


class _Order(NamedTuple):
    """How a data_layout is stored on a chip: its tag, what W is padded to a multiple of, and for how many channels."""

    tag: str
    row: int
    most: int = 1 << 31


# src/kp_inference.c, and the examples of inputs in Kneron PLUS
_DENSE = dict.fromkeys(("RAW_8B", "RAW_16B", "RAW_FLOAT"), _Order("NCHW", 1))
_PLANES = {
    **{"16W1C8B": _Order("NCHW", 16), "8W1C16B": _Order("NCHW", 8)},
    **{"1W16C8B": _Order("NCHW16c", 1), "4W4C8B": _Order("NCHW4c", 4)},
    **_DENSE,
}
_ROWS = {"16W1C8B": _Order("NHCW", 16), "8W1C16B": _Order("NHCW", 8), "4W4C8B": _Order("NHCW4c", 16, 4), **_DENSE}
_STORED = {"KL520": _ROWS, "KL630": _PLANES, "KL720": _PLANES}


@checked_call
def from_kneron(tensor: Any, *, chip: Any = None, name: str = "", retrieved: str | None = None) -> TensorSpec:
    """Return the spec of an input's or output's buffer, as the NPU has it or as Kneron PLUS converts it.

    Parameters
    ----------
    tensor
        A TensorDescriptor of Kneron PLUS (``model_nef_descriptor.models[0].output_nodes[0]``; kp_tensor_descriptor_t of
        include/kp_struct.h, github.com/kneron/document_center), or a mapping such as a part of the JSON that it prints:
        name, data_layout (a name: its numbers differ between releases), tensor_shape_info with v1 (shape_npu: N, C, H,
        W) or v2 (shape, stride_npu in elements), quantization_parameters with v1 (quantized_axis and
        quantized_fixed_point_descriptor_list of scale and radix: ``q = real * scale * 2**radix``). JSON has "data" for
        v1 and v2. Descriptors of PLUS 1.x have shape_npu and the list without v1.
    chip
        "KL520", "KL630" or "KL720": the descriptor's target_chip, on which the order of a v1 data_layout depends. v2,
        the descriptor of KL730, needs none.
    name
        The tensor's name, if the descriptor has none.
    retrieved
        None: the raw buffer that is sent to generic data inference, or that retrieve_raw_fixed_node returns. "fixed" or
        "float": the result of generic_inference_retrieve_fixed_node or ..._float_node of PLUS 2 and 3 with the channel
        order CHW, or DEFAULT for v2: dense, in the order of the axes (src/kp_inference.c); then no chip is needed.

    Returns
    -------
    TensorSpec with the axes NCHW, for v2 those of its rank. If the strides of v2 leave a gap behind the last row, the
    buffer includes it: it has the outermost stride times its extent elements.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on raw buffers of high and low bytes (HL), of a chip whose
        order is not known, on what cannot be retrieved, and on fields that contradict each other.

    Examples
    --------
    >>> says = dict(shape_npu=[1, 57, 46, 46], data_layout="KP_MODEL_TENSOR_DATA_LAYOUT_16W1C8B")
    >>> from_kneron(says, chip="KL720").storage_shape, from_kneron(says, chip="KL520").storage_shape
    ((1, 57, 46, 48), (1, 46, 57, 48))
    """
    given = Metadata("Kneron tensor", tensor)
    name = text_of("name", name) or given.read("name", text, "")
    what = f"Kneron tensor {name!r}"
    kind = _kind(given, what)
    info = given.part("tensor_shape_info") or given
    strided = _is_strided(info)
    part = info.part("v2" if strided else "v1") or info.part("data") or info
    if retrieved is not None:
        shape = _numbers(part, "shape") if strided else _planes(part, what)
        if not strided and shape[0] != 1:
            raise LayoutError(f"{what}: shape_npu {shape}: Kneron PLUS retrieves one image, expected N to be 1")
        return _retrieved(given, what, kind, shape, one_of("retrieved", retrieved, _RETRIEVED), name)
    if "8BHL" in kind:
        raise LayoutError(f"{what}: {kind} stores 16 low bytes, then 16 high bytes, which no layout describes")
    if strided:
        return _of_strides(given, part, what, kind, name)
    shape = _planes(part, what)
    order = _stored(what, chip, kind)
    if shape[1] > order.most:
        raise LayoutError(
            f"{what}: {kind} of {shape[1]} channels on {chip}: the order of more than {order.most} is not known"
        )
    layout = Layout(order.tag)
    stored = list(layout.storage_shape(shape))
    place = layout.letters.index("W")
    stored[place] += -stored[place] % order.row
    return TensorSpec(
        shape,
        layout,
        _DTYPES[kind],
        storage_shape=stored,
        quantization=_quantization(given, what, kind, len(shape)),
        name=name,
    )


def _planes(info: Metadata, what: str) -> list[int]:
    """Return the shape of v1."""
    shape = info.extents("shape_npu")
    if len(shape) != 4 or min(shape) < 1:
        raise LayoutError(f"{what}: shape_npu {shape}: expected N, C, H, W")
    return shape


def _retrieved(given: Metadata, what: str, kind: str, shape: list[int], how: str, name: str) -> TensorSpec:
    """Return the spec of a node that Kneron PLUS has put into the order of its axes."""
    if kind == "RAW_FLOAT" or kind.startswith("HW"):
        raise LayoutError(f"{what}: Kneron PLUS retrieves no nodes of {kind}: expected 8 or 16 bits of an output")
    quantization = _quantization(given, what, kind, len(shape))
    layout = Layout.of_rank(len(shape))
    if how == "float":
        return TensorSpec(shape, layout, "float32", name=name)
    return TensorSpec(shape, layout, _DTYPES[kind], quantization=quantization, name=name)


def _is_strided(info: Metadata) -> bool:
    """Return whether a shape is of version 2; without a version, whether v2 is there and v1 is not."""
    version = info.field("version", None)
    if version is None:
        return info.part("v1") is None and info.part("v2") is not None
    return str(getattr(version, "name", version)).endswith("2")


def _kind(given: Metadata, what: str) -> str:
    """Return the name of data_layout, without its prefix; NpuLayoutError on an unknown one."""
    said = given.field("data_layout")
    if isinstance(said, (int, np.integer)) and not hasattr(said, "name"):
        raise LayoutError(f"{what}: data_layout {said}: its numbers differ between releases; give the name")
    kind = enum_name("Kneron data_layout", said, ()).rpartition(".")[2]  # printed as Type.NAME
    kind = kind[len("KP_MODEL_TENSOR_DATA_LAYOUT_") :] if kind.startswith("KP_MODEL") else kind
    known("Kneron data_layout", kind, _DTYPES)
    return kind


def _stored(what: str, chip: Any, kind: str) -> _Order:
    """Return how a data_layout is stored on a chip."""
    if chip is None:
        raise LayoutError(f"{what}: the order of {kind} depends on the chip; give chip=, such as 'KL720'")
    named = enum_name("Kneron chip", chip, _CHIPS).rpartition(".")[2]
    named = named[len("KP_MODEL_TARGET_CHIP_") :] if named.startswith("KP_MODEL") else named
    if named not in _STORED:
        raise LayoutError(f"{what}: chip {named}: expected one of {', '.join(_STORED)}")
    orders = _STORED[named]
    if kind not in orders:
        raise LayoutError(f"{what}: {kind} on {named}: expected one of {', '.join(orders)}")
    return orders[kind]


def _of_strides(given: Metadata, info: Metadata, what: str, kind: str, name: str) -> TensorSpec:
    """Return the spec of v2: strides in elements; of groups of channels they are those within one."""
    shape = _numbers(info, "shape")
    strides = element_strides(what, "stride_npu", _numbers(info, "stride_npu"), shape, 1)
    axes = Layout.of_rank(len(shape)).axes
    tag, whole = axes, max((n * s for n, s in zip(shape, strides)), default=1)
    size = _GROUPS.get(kind)
    if size is not None:
        channels = [i for i, s in enumerate(strides) if s == 1]
        inner = max(channels, key=lambda i: (shape[i] > 1, i), default=None)
        if inner is None:
            raise LayoutError(f"{what}: stride_npu {strides}: expected 1 for the channels of {kind}")
        group = max([size, *(n * s for i, (n, s) in enumerate(zip(shape, strides)) if i != inner)])
        tag += f"{size}{axes[inner].lower()}"
        whole = group * -(-shape[inner] // size)
        strides = [*strides[:inner], group, *strides[inner + 1 :], 1]
    return TensorSpec(
        shape,
        Layout(tag, axes),
        _DTYPES[kind],
        storage_strides=strides,
        size=whole,
        quantization=_quantization(given, what, kind, len(shape)),
        name=name,
    )


def _numbers(info: Metadata, field: str) -> list[int]:
    """Return numbers of a sequence, or of a pointer whose length is shape_len."""
    count = info.whole("shape_len", -1)
    if count > 26:
        raise LayoutError(f"{info.what}: shape_len {count}: expected at most 26")
    return extents_of(info.what, field, info.read(field, first(count)))


def _quantization(given: Metadata, what: str, kind: str, rank: int) -> Quantization | None:
    """Return what integers mean: ``real = q / (scale * 2**radix)``; None if there are no descriptors, or of floats."""
    params = given.part("quantization_parameters")
    if params is None or kind == "RAW_FLOAT":
        return None
    part = params.part("v1") or params.part("data") or params
    listed = part.field("quantized_fixed_point_descriptor_list", None)
    if listed is None:
        return None
    if isinstance(listed, Mapping):
        listed = _in_turn(listed, what)
    each = [Metadata(f"{part.what} descriptor", one) for one in part.read("list", list, listed)]
    if not each:
        return None
    multipliers = [one.read("scale", _scale) * 2.0 ** _radix(one, what) for one in each]
    if len(each) == 1:
        return Quantization.from_multiplier(multipliers[0])
    axis = part.whole("quantized_axis", 1)  # PLUS 1.x has no field for it
    if not 0 <= axis < rank:
        raise LayoutError(f"{what}: {len(each)} descriptors with quantized_axis {axis}: expected 0 to {rank - 1}")
    return Quantization.from_multiplier(multipliers, axis)


def _in_turn(printed: Mapping[Any, Any], what: str) -> list[Any]:
    """Return the items of a list that is printed as ``{"0": ..., "1": ...}``, in whatever order."""
    by_number = text_keys(f"{what}: quantized_fixed_point_descriptor_list", printed, LayoutError)
    numbers = [str(i) for i in range(len(by_number))]
    if by_number.keys() != set(numbers):
        raise LayoutError(
            f"{what}: quantized_fixed_point_descriptor_list has the keys {', '.join(by_number)}: expected 0 to "
            f"{len(numbers) - 1}, each once"
        )
    return [by_number[number] for number in numbers]


def _scale(given: Any) -> float:
    """Return a scale: a number, or an object that has it as its value."""
    return float(given["value"] if isinstance(given, Mapping) else getattr(given, "value", given))


def _radix(descriptor: Metadata, what: str) -> int:
    radix = descriptor.whole("radix")
    if abs(radix) > 127:
        raise LayoutError(f"{what}: radix {radix}: expected -127 to 127")
    return radix
