"""Read the command line's words: shapes, layouts, dtypes, numbers for outputs, options."""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..buffers import in_storage_order
from ..engines import open_engine
from ..errors import LayoutError, NpuLayoutError
from ..frames import INTERPOLATIONS, MODES
from ..layouts import Layout, is_vendor_name
from ..support import path_of

T = TypeVar("T")
#: Short names of dtypes: what numpy means by them, in bytes, and what runtimes mean, in bits.
_TWO_MEANINGS = {
    "i8": ("int64", "int8"),
    "u8": ("uint64", "uint8"),
    "i4": ("int32", "int4"),
    "u4": ("uint32", "uint4"),
    "f16": ("float128", "float16"),
}


def _argument(read: Callable[[str], T]) -> Callable[[str], T]:
    """Make a reader for argparse's ``type=`` that shows the text of a ValueError, which argparse hides."""

    @functools.wraps(read)
    def reader(text: str) -> T:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return reader


@_argument
def shape(text: str) -> tuple[int, ...]:
    """Read extents: ``1x57x46x46``."""
    parts = text.lower().replace(",", "x").split("x")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise NpuLayoutError(f"{text!r}: expected a shape such as 1x57x46x46")
    return tuple(map(int, parts))


@_argument
def count(text: str) -> int:
    """Read a whole number of 1 or more: ``1400``."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise NpuLayoutError(f"{text!r}: expected a whole number of 1 or more")
    return int(text)


@_argument
def layout(text: str) -> Layout:
    """Read a tag, or a vendor's name with its block behind a colon: ``NCHW16c``, ``NC1HWC2:16``."""
    name, _, block = text.partition(":")
    if block and not (block.isascii() and block.isdigit()):
        raise NpuLayoutError(f"{text!r}: expected a block's size behind the colon, as in NC1HWC2:16")
    try:
        found = Layout(name)
    except LayoutError:
        if not is_vendor_name(name):
            raise
    else:
        if not block:
            return found
        raise NpuLayoutError(f"{text!r}: a tag has its blocks inside, as NCHW16c; {name} takes none behind a colon")
    try:
        return Layout.named(name, int(block) if block else None)
    except LayoutError as error:
        if block:
            raise
        raise LayoutError(f"{error}; write it behind a colon, as in {name}:16") from None


@_argument
def dtype(text: str) -> str:
    """Read a dtype's name; ``i8``, which is int64 in numpy and int8 elsewhere, is refused."""
    if text in _TWO_MEANINGS:
        numpys, others = _TWO_MEANINGS[text]
        raise NpuLayoutError(f"dtype {text!r}: numpy means {numpys} by it, others {others}; write one of these")
    return text


@_argument
def layout_and_dtype(text: str) -> tuple[Layout, str]:
    """Read ``NCHW16c``, ``NCHW16c:uint8`` or ``NC1HWC2:16:int8``; the dtype is int8 if none is given."""
    head, _, last = text.rpartition(":")
    return (layout(head), dtype(last)) if head and not last.isdigit() else (layout(text), "int8")


@_argument
def numbers(text: str) -> list[float]:
    """Read one number or several: ``128``, ``123.7,116.3,103.5``."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise NpuLayoutError(f"{text!r}: expected a number, or one for each channel with commas between") from None


@_argument
def tolerance(text: str) -> tuple[str, float]:
    """Read an output's name and a number: ``heat:0.99`` is ("heat", 0.99), ``0.99`` is ("", 0.99)."""
    name, _, number = text.rpartition(":")
    try:
        return name, float(number)
    except ValueError:
        raise NpuLayoutError(f"{text!r}: expected a number, or OUTPUT:NUMBER") from None


@_argument
def option(text: str) -> tuple[str, Any]:
    """Read a name and a value, which is JSON or text: ``input_shapes={"in0": [3, 192, 256]}``, ``accelerator=npu``."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise NpuLayoutError(f"{text!r}: expected NAME=VALUE, with a value that is JSON or text")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


@_argument
def target(text: str) -> str:
    """Read the path of what is written; ``-``, the standard output of other programs, is refused: it has the report."""
    if text == "-":
        raise NpuLayoutError("'-': expected a path, since the report goes to the standard output; ./- is a file")
    return path_of("path", text)


def add_preprocessing(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a camera's frame becomes the model's input."""
    add = parser.add_argument
    add("--resize", default="letterbox", help=f"{', '.join(MODES)} (default: letterbox)")
    add("--interpolation", default="linear", help=f"{', '.join(INTERPOLATIONS)} (default: linear)")
    add("--color", default="RGB", help="the model's channels: RGB, BGR or GRAY (default: RGB)")
    add("--mean", type=numbers, default=[0.0], help="mean in pixel units: 128, or 124,116,104 (default: 0)")
    add("--std", type=numbers, default=[1.0], help="std in pixel units; 255 brings pixels to 0..1 (default: 1)")
    add("--pad-value", type=numbers, default=[114.0], help="the letterbox's border, in pixel units (default: 114)")
    add("--no-scaleup", dest="scaleup", action="store_false", help="a letterbox does not enlarge smaller frames")
    add("--axes", help="letters of the axes of the model's input, if they are not NCHW")


def preprocessing(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a Preprocessor that these options say; those with their default are left out."""
    how: dict[str, Any] = {"resize": options.resize, "color": options.color}
    for key in ("mean", "std", "pad_value"):
        value = getattr(options, key)
        how[key] = value[0] if len(value) == 1 else value
    how.update(interpolation=options.interpolation, scaleup=options.scaleup)
    usual = {"pad_value": 114.0, "interpolation": "linear", "scaleup": True}
    return {key: value for key, value in how.items() if value != usual.get(key)}


def options(what: str, given: Sequence[tuple[str, Any]] | None) -> dict[str, Any]:
    """Return the options as {name: value}; NpuLayoutError if a name is given twice."""
    named = dict(given or ())
    if len(named) < len(given or ()):
        raise NpuLayoutError(f"{what}: expected each name once, got {', '.join(name for name, _ in given or ())}")
    return named


def engine(name: str, chosen: Mapping[str, Any]) -> Any:
    """Open an engine as `open_engine` does; a project's own modules are looked for in the working directory first."""
    sys.path.insert(0, os.getcwd())  # as for python -m
    return open_engine(name, **chosen)


def tolerances(what: str, given: Sequence[tuple[str, float]] | None) -> Any:
    """Return what `validate` accepts: a number for all outputs, or {output: number}; NpuLayoutError for both."""
    named = dict(given or ())
    if len(named) < len(given or ()) or ("" in named and len(named) > 1):
        raise NpuLayoutError(f"{what}: expected one number for all outputs, or OUTPUT:NUMBER once for each")
    return named.get("", named)


def check_order(layout: Layout, shape: tuple[int, ...], axes: str | None) -> None:
    """Refuse a shape that is in storage order as it seems, such as 1x80x80x255 of NHWC, if no axes say its order."""
    if axes is None and in_storage_order(layout, shape):
        text = "x".join(map(str, shape))
        read = ", ".join(f"{letter}={extent}" for letter, extent in zip(layout.axes, shape))
        raise NpuLayoutError(
            f"shape {text} would mean {read}. If it is in storage order, add --axes {layout.tag}; if these extents are "
            f"meant, add --axes {layout.axes}"
        )
