"""Read the command line's arguments: shapes, layouts, dtypes, numbers for outputs, options, files of arrays."""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import decode
from ..buffers import TensorSpec, in_storage_order
from ..decode import Head
from ..engines import open_engine
from ..errors import LayoutError, NpuLayoutError
from ..frames import INTERPOLATIONS, MODES
from ..layouts import Layout, is_vendor_name
from ..support import isolated, npy_bytes, parse_npy, whole

T = TypeVar("T")
HEAD = "what the outputs mean: 'yolov8(classes=80)', as in npu_layout.decode, or a JSON file of Head.to_dict()"
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
        raise NpuLayoutError(f"{text!r}: expected NAME=VALUE, with a value in JSON or a text")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def add_preprocessing(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a camera's frame becomes the model's input."""
    add = parser.add_argument
    add("--resize", default="letterbox", help=f"{', '.join(MODES)} (default: letterbox)")
    add("--interpolation", default="linear", help=f"{', '.join(INTERPOLATIONS)} (default: linear)")
    add("--color", default="RGB", help="the model's channels: RGB, BGR or GRAY (default: RGB)")
    add("--mean", type=numbers, default=[0.0], help="in pixel units: 128, or 124,116,104 (default: 0)")
    add("--std", type=numbers, default=[1.0], help="in pixel units; 255 makes 0 to 1 (default: 1)")
    add("--pad-value", type=numbers, default=[114.0], help="the letterbox's border, in pixel units (default: 114)")
    add("--no-scaleup", dest="scaleup", action="store_false", help="a letterbox does not enlarge smaller frames")
    add("--axes", help="letters of the model's input, if they are not NCHW")


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


def file(what: str, path: str) -> str:
    """Return the path of a file; NpuLayoutError if it is not there."""
    if not Path(path).is_file():
        raise NpuLayoutError(f"{what}: {path}: expected a file, got {'a folder' if Path(path).is_dir() else 'nothing'}")
    return path


def tolerances(what: str, given: Sequence[tuple[str, float]] | None) -> Any:
    """Return what `validate` accepts: a number for all outputs, or {output: number}; NpuLayoutError for both."""
    named = dict(given or ())
    if len(named) < len(given or ()) or ("" in named and len(named) > 1):
        raise NpuLayoutError(f"{what}: expected one number for all outputs, or OUTPUT:NUMBER once for each")
    return named.get("", named)


def array_in(path: str) -> np.ndarray:
    """Read the array of a .npy file; NpuLayoutError if it is another file. Nothing is unpickled."""
    content = Path(path).read_bytes()
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        archive = "an archive (.npz?); save one of its arrays by itself" if content.startswith(b"PK") else None
        got = archive or (f"a file that begins with {content[:8]!r}" if content else "an empty file")
        raise NpuLayoutError(f"{path}: expected one array (.npy), got {got}")
    return parse_npy(content, path)


def head(text: str) -> Head:
    """Read a head: a JSON file of Head.to_dict(), or a function of npu_layout.decode, as ``yolov8(classes=80)``."""
    name, _, rest = text.partition("(")
    functions = _heads()
    if name in functions and (not rest or rest.endswith(")")) and not os.path.isfile(text):
        return _called(text, functions[name])
    if not text.endswith(".json") and not os.path.exists(text):
        raise NpuLayoutError(
            f"--head {text}: expected a JSON file of Head.to_dict(), or a head with its arguments, as "
            f"'yolov8(classes=80)'; heads are {', '.join(functions)}"
        )
    return _head_in(text)


def _heads() -> dict[str, Callable[..., Head]]:
    """Return the functions of npu_layout.decode that make a head."""
    every = {name: getattr(decode, name) for name in decode.__all__}
    return {name: f for name, f in every.items() if getattr(f, "__annotations__", {}).get("return") == "Head"}


def _called(text: str, function: Callable[..., Head]) -> Head:
    """Return what a call with literal arguments gives: ``yolov8(80, activation='sigmoid')``. Nothing is evaluated."""
    try:
        call = ast.parse(text if text.endswith(")") else f"{text}()", mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        positional = [ast.literal_eval(node) for node in call.args]
        named = {str(node.arg): ast.literal_eval(node.value) for node in call.keywords}
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        raise NpuLayoutError(
            f"--head {text}: expected a head with numbers, texts and lists, as 'yolov8(80, activation=\"sigmoid\")'"
        ) from None
    try:
        return function(*positional, **named)
    except NpuLayoutError as error:
        raise NpuLayoutError(f"--head {text}: {error}") from None


def _head_in(path: str) -> Head:
    """Read a head from a JSON file: what Head.to_dict() returns."""
    try:
        return Head.from_dict(json.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        raise NpuLayoutError(f"{path}: {error.strerror or error}") from None
    except NpuLayoutError as error:
        raise NpuLayoutError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise NpuLayoutError(f"{path}: not JSON ({error})") from None


def buffer_in(path: str, dtype: str | None = None) -> np.ndarray:
    """Read the elements of a .npy file, in its shape, or of a file of raw bytes, 1-D: of `dtype`, by default uint8.

    The shape says an order, which the library checks: a flat copy would be read in any. Bytes that a .npy file has for
    elements of another dtype are 1-D too.
    """
    if path.endswith(".npy"):
        array = np.ascontiguousarray(array_in(path))
        if dtype is not None and array.dtype != np.dtype(dtype) and array.dtype != np.uint8:
            raise NpuLayoutError(f"{path}: contains {array.dtype}, but --dtype is {dtype}")
    else:
        array = np.frombuffer(Path(path).read_bytes(), np.uint8)
    if dtype is None or array.dtype == np.dtype(dtype):
        return array
    if array.nbytes % np.dtype(dtype).itemsize:
        raise NpuLayoutError(f"{path}: {array.nbytes} bytes are not a whole number of {dtype} elements")
    return array.reshape(-1).view(dtype)


def check_order(layout: Layout, shape: tuple[int, ...], axes: str | None) -> None:
    """Refuse a shape that is in storage order as it seems, such as 1x80x80x255 of NHWC, if no axes say its order."""
    if axes is None and in_storage_order(layout, shape):
        text = "x".join(map(str, shape))
        read = ", ".join(f"{letter}={extent}" for letter, extent in zip(layout.axes, shape))
        raise NpuLayoutError(
            f"shape {text} would mean {read}. If it is in storage order, add --axes {layout.tag}; if "
            f"that is meant, --axes {layout.axes}"
        )


def specs_in(text: str) -> dict[str, TensorSpec]:
    """Read {name: TensorSpec} from JSON text or a JSON file: one TensorSpec's to_dict(), or {name: to_dict()}."""
    where = "--spec" if not text or text.lstrip().startswith("{") else text
    try:
        given = json.loads(text if where != text else Path(text).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise NpuLayoutError(f"{where}: not JSON ({error})") from None
    if not isinstance(given, dict) or not given:
        raise NpuLayoutError(f"{where}: expected a TensorSpec's fields, or {{name: fields}}")
    several = given if "shape" not in given else {str(given.get("name") or "tensor"): given}
    if not all(isinstance(fields, dict) for fields in several.values()):
        keys = ", ".join(map(isolated, given))
        raise NpuLayoutError(
            f"{where}: expected a TensorSpec's fields with the key shape, or {{name: fields}}; got the keys {keys}"
        )
    try:
        return {name: TensorSpec.from_dict(fields) for name, fields in several.items()}
    except (NpuLayoutError, TypeError) as error:
        raise NpuLayoutError(f"{where}: {error}") from None


def free(path: str, force: bool) -> None:
    """Raise NpuLayoutError if `path` exists, unless `force` allows to overwrite it."""
    if os.path.exists(path) and not force:
        raise NpuLayoutError(f"{path} exists; --force overwrites it")


def write_array(path: str, array: np.ndarray) -> None:
    """Write a .npy file, or raw bytes if the name ends otherwise; it appears whole or not at all."""
    content = npy_bytes(array) if path.endswith(".npy") else np.ascontiguousarray(array).data
    with whole(path) as file:
        file.write(content)
