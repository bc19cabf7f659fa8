"""npu-layout explain: show where a layout stores each element, in numbers and as a picture."""

from __future__ import annotations

import argparse
import sys

from ..buffers import TensorSpec, element
from ..drawing import CACHE_LINE, colour_depth, explain, picture_path
from ..errors import NpuLayoutError
from ..frames import FrameSpec, format_hint, pixel_format
from ..layouts import Layout
from . import console, files, words

_WIDTH = 1400  # of a picture, in pixels


def _described(text: str) -> Layout | str:
    if text.endswith(".json") or _is_pixel_format(text):
        return text
    try:
        return words.layout(text)
    except argparse.ArgumentTypeError as error:
        hint = format_hint(text)
        more = f"; or a camera's pixel format{hint}" if hint else ""
        raise argparse.ArgumentTypeError(f"{error}{more}") from None


def _is_pixel_format(text: str) -> bool:
    try:
        return bool(pixel_format(text))
    except NpuLayoutError:
        return False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("layout", type=_described, metavar="LAYOUT",
                        help="a tag (NCHW16c), a vendor's name (NC1HWC2:16), a TensorSpec's .json, or a camera's pixel "
                             "format (NV12)")  # fmt: skip
    parser.add_argument("shape", nargs="?", type=words.shape, metavar="SHAPE",
                        help="logical shape, such as 1x57x46x46; for a pixel format its size, 640x480")  # fmt: skip
    parser.add_argument("--dtype", type=words.dtype, help="dtype of the elements (default: float32)")
    parser.add_argument("--axes", help="letters of the shape's axes, if they are not in the order N C D H W")
    parser.add_argument("--at", type=words.shape, metavar="N,C,H,W", help="an index: show where it is stored")
    parser.add_argument("--window", type=words.shape, metavar="3x3", help="mark what a convolution window reads")
    parser.add_argument("--gray", action="store_true", help="mark what one gray pixel reads")
    parser.add_argument("--compare", nargs="+", default=[], type=words.layout, metavar="LAYOUT",
                        help="other layouts to show beside the first one")  # fmt: skip
    parser.add_argument(
        "--part", type=words.shape, metavar="1x20x2x3", help="extents of the part to show, at most 4096 elements"
    )
    parser.add_argument(
        "--cache-line", type=words.count, default=CACHE_LINE, help=f"bytes of a cache line (default: {CACHE_LINE})"
    )
    parser.add_argument(
        "--picture", type=words.target, nargs="+", default=[], metavar="FILE", help="write the picture (.svg, .png)"
    )
    parser.add_argument("--width", type=words.count, help=f"largest width of the picture in pixels (default: {_WIDTH})")
    parser.add_argument("--pitch", type=words.count, metavar="BYTES",
                        help="for a pixel format: bytes from one row of the first plane to the next")  # fmt: skip
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto",
                        help="print in colours (default: auto, on a terminal)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Print the explanation, save the pictures, and return 0."""
    for path in options.picture:
        picture_path(path)  # none is written if one cannot be
    element("float32" if options.dtype is None else options.dtype)
    text = options.layout
    if isinstance(text, str) and not text.endswith(".json"):
        if len(options.shape or ()) == 2:
            return _explain_frame(options)
        try:
            options.layout = words.layout(text)  # BGR is a tag, too
        except (argparse.ArgumentTypeError, NpuLayoutError):
            raise NpuLayoutError(f"{text}: expected width and height of a frame, as in {text} 640x480") from None
    if options.pitch is not None:
        raise NpuLayoutError("--pitch: goes with a pixel format; of a tensor, write a spec's .json with its strides")
    layout: Layout | TensorSpec
    if isinstance(options.layout, str):
        layout, *others = files.specs_in(options.layout).values()
        if others:
            raise NpuLayoutError(f"{options.layout}: expected one TensorSpec, got {len(others) + 1}")
    else:
        if options.shape is not None:
            words.check_order(options.layout, options.shape, options.axes)
        layout = options.layout if options.axes is None else Layout(options.layout.tag, options.axes)
    try:
        found = explain(
            layout,
            options.shape,
            options.dtype,
            at=options.at,
            window=options.window,
            gray=options.gray,
            compare=options.compare,
            part=options.part,
            cache_line=options.cache_line,
        )
    except IndexError as error:
        raise NpuLayoutError(str(error)) from None
    for path in options.picture:
        found.save(path, _WIDTH if options.width is None else options.width)
    console.show(found.terminal(*colour_depth(sys.stdout, options.color)))
    return 0


def _explain_frame(options: argparse.Namespace) -> int:
    """Print where a camera's frame has its samples, save the pictures, and return 0."""
    others = ("dtype", "axes", "at", "window", "gray", "compare", "part", "width")
    given = [f"--{name}" for name in others if getattr(options, name)]
    if given or options.cache_line != CACHE_LINE:
        raise NpuLayoutError(f"{options.layout}: a frame is explained without {', '.join(given) or '--cache-line'}")
    found = explain(FrameSpec(options.layout, options.shape, strides=options.pitch))
    for path in options.picture:
        found.save(path)
    console.show(str(found))
    return 0
