"""Make a TensorSpec of each output of Sony's IMX500 camera."""

from __future__ import annotations

import math
from typing import Any

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, many, text_of, whole_number
from .metadata import Metadata

_LETTERS = "ABCDEFGH"


@checked_call
def from_imx500(info: Any, *, index: int = 0, name: str = "") -> TensorSpec:
    """Return the spec of one output in the camera's CnnOutputTensor: a single run of float32 for all outputs.

    Parameters
    ----------
    info
        What picamera2's parsing of CnnOutputTensorInfo returns (github.com/raspberrypi/picamera2, picamera2/devices/
        imx500/imx500.py): a mapping or struct with num_tensors and info, a list with tensor_data_num, num_dimensions
        and size for each tensor. Or that list alone.
    index
        Which of the outputs: 0 is the first.
    name
        The output's name, which the camera does not report.

    Returns
    -------
    TensorSpec of float32 with the shape `size`, whose first axis is the fastest in memory, as picamera2 reshapes it
    (``order="F"``). Its buffer is the whole run: `storage_offset` is where the output begins, `size` all floats. The
    axes have letters without a meaning: A, B, C ...

    Raises
    ------
    NpuLayoutError
        On a missing field; LayoutError if there is no such output, or sizes and counts contradict each other.

    Examples
    --------
    >>> info = [dict(tensor_data_num=12, num_dimensions=2, size=[4, 3]), dict(tensor_data_num=3, size=[3])]
    >>> spec = from_imx500(info)
    >>> spec.shape, str(spec.layout), spec.size
    ((4, 3), 'BA', 15)
    >>> from_imx500(info, index=1).storage_offset
    12
    """
    listed = isinstance(info, (list, tuple))
    given = Metadata("IMX500 info", {"info": info} if listed else info)
    tensors = given.read("info", list)
    count = given.whole("num_tensors", len(tensors))
    if not 1 <= count <= len(tensors):
        raise LayoutError(f"IMX500 num_tensors {count}: expected 1 to {len(tensors)}, as many as info has")
    place = whole_number("index", index)
    if not 0 <= place < count:
        raise LayoutError(f"IMX500 index {index}: expected 0 to {count - 1}, because info has {many(count, 'output')}")
    sizes = [_size(Metadata(f"IMX500 info {i}", one), i) for i, one in enumerate(tensors[:count])]
    counts = [math.prod(size) for size in sizes]
    axes = _LETTERS[: len(sizes[place])]
    return TensorSpec(
        sizes[place],
        Layout(axes[::-1], axes),
        storage_offset=sum(counts[:place]),
        size=sum(counts),
        name=text_of("name", name),
    )


def _size(given: Metadata, index: int) -> list[int]:
    """Return the extents of a tensor, fastest first; LayoutError if its counts contradict them."""
    size = given.extents("size")
    rank, most = given.whole("num_dimensions", len(size)), min(len(size), len(_LETTERS))
    if not 1 <= rank <= most:
        raise LayoutError(f"IMX500 output {index}: num_dimensions {rank}: expected 1 to {most}, as size is {size}")
    count = given.whole("tensor_data_num", math.prod(size[:rank]))
    if math.prod(size[:rank]) != count or count < 1:
        raise LayoutError(f"IMX500 output {index}: size {size[:rank]} has not tensor_data_num {count} elements")
    return size[:rank]
