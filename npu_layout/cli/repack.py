"""npu-layout repack: convert the file of a tensor to another layout."""

from __future__ import annotations

import argparse

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import isolated
from . import console, files, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("source", metavar="IN", help="a raw file, or .npy")
    parser.add_argument(
        "target", type=words.target, metavar="OUT", help="a raw file, or a .npy file if its name ends so"
    )
    parser.add_argument("--shape", type=words.shape, required=True, help="logical shape, such as 1x57x46x46")
    parser.add_argument("--from", dest="source_layout", type=words.layout, required=True, metavar="LAYOUT",
                        help="a tag (NCHW16c) or a vendor's name with its block (NC1HWC2:16)")  # fmt: skip
    parser.add_argument(
        "--to", dest="target_layout", type=words.layout, required=True, metavar="LAYOUT", help="the same for OUT"
    )
    parser.add_argument("--dtype", type=words.dtype, help="dtype of the elements; required for raw files")
    parser.add_argument("--axes", help="letters of the axes of --shape, if they are not in the order N C D H W")
    parser.add_argument("--force", action="store_true", help="overwrite OUT")


def run(options: argparse.Namespace) -> int:
    """Write OUT and return 0."""
    files.free(options.target, options.force)
    raw = not options.source.endswith(".npy")
    if raw and options.dtype is None:
        raise NpuLayoutError(f"{options.source}: raw bytes need --dtype")
    buffer = files.buffer_in(options.source)
    dtype = options.dtype or buffer.dtype
    for layout in (options.source_layout, options.target_layout):
        words.check_order(layout, options.shape, options.axes)
    source, target = (
        TensorSpec(options.shape, layout, dtype, axes=options.axes)
        for layout in (options.source_layout, options.target_layout)
    )
    packed = target.pack(source.unpack(buffer.data if raw else buffer))
    whole = packed if target.element.nibbles else packed.reshape(target.storage_shape)
    files.write_array(options.target, whole)
    console.show(f"{isolated(options.target)}: {target.describe()}, {target.nbytes} bytes")
    return 0
