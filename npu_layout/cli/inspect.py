"""npu-layout inspect: print what a recording, a model or a TensorSpec contains."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import OnnxRuntimeEngine, ports
from ..errors import NpuLayoutError
from ..recordings import Frame, Recording
from ..support import many
from . import console, files, words

_ONNX = frozenset({"", ".onnx", ".ort"})
_NO_MODELS = frozenset({".avi", ".bin", ".bmp", ".jpeg", ".jpg", ".mkv", ".mp4", ".npy", ".npz", ".png", ".raw"})
_SPEC = ("name", "shape", "axes", "layout", "dtype", "scale", "zero point", "stored as", "padding", "bytes")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("path", nargs="?", metavar="PATH",
                      help="a recording, an ONNX model, TensorSpecs (.json), or a compiled model as open_engine opens "
                           "it: model.tflite, rknnrt:model.rknn")  # fmt: skip
    what.add_argument("--spec", metavar="JSON", help="TensorSpecs as JSON text")
    parser.add_argument("--engine-option", type=words.option, action="append", metavar="NAME=VALUE",
                        help="for a compiled model: an option for its engine, as JSON or text")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print tables or JSON, and return 0."""
    path = options.path
    chosen = words.options("--engine-option", options.engine_option)
    if path is None:
        return _inspect_specs(files.specs_in(options.spec), options.json)
    if not path:
        raise NpuLayoutError("PATH: expected the path of a recording, a model or TensorSpecs (.json), got ''")
    if os.path.isdir(path):
        return _inspect_recording(Recording.load(path), options.json)
    if not os.path.exists(path) and ":" not in path:
        raise NpuLayoutError(f"{path}: no such file or folder")
    if path.endswith(".json"):
        return _inspect_specs(files.specs_in(path), options.json)
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _NO_MODELS:
        raise NpuLayoutError(f"{path}: expected a recording, a model or TensorSpecs (.json), got a file {suffix}")
    if suffix in _ONNX and os.path.exists(path):
        return _inspect_model(OnnxRuntimeEngine(path, **chosen), options.json)
    engine = words.engine(path, chosen)
    try:
        return _inspect_engine(engine, options.json)
    finally:
        getattr(engine, "close", tuple)()


def _inspect_specs(specs: dict[str, TensorSpec], as_json: bool) -> int:
    if as_json:
        console.show_json({"specs": _described(specs)})
    else:
        _show_specs(specs)
    return 0


def _inspect_recording(recording: Recording, as_json: bool) -> int:
    first = recording.frames[0] if len(recording) else Frame({}, {})
    arrays = [
        (kind, name, list(array.shape), str(array.dtype), array.nbytes)
        for kind, side in zip(("input", "output"), first)
        for name, array in side.items()
    ]
    if as_json:
        keys = ("kind", "name", "shape", "dtype", "nbytes")
        console.show_json(
            {
                "frames": len(recording),
                "arrays": [dict(zip(keys, array)) for array in arrays],
                "specs": _described(recording.specs),
                "meta": recording.meta,
            }
        )
        return 0
    console.show(f"{many(len(recording), 'frame')} of {sum(nbytes for *_, nbytes in arrays)} bytes")
    console.table(("in each", "name", "array", "dtype", "bytes"), ((k, n, _x(s), d, b) for k, n, s, d, b in arrays))
    _show_specs(recording.specs)
    if recording.meta:
        console.table(("meta", "value"), recording.meta.items())
    return 0


def _inspect_model(engine: OnnxRuntimeEngine, as_json: bool) -> int:
    rows = [
        (kind, port.name, ["?" if n is None else n for n in port.shape], str(port.dtype or port.type))
        for kind, side in ports(engine).items()
        for port in side
    ]
    if as_json:
        console.show_json({"tensors": [dict(zip(("kind", "name", "shape", "dtype"), row)) for row in rows]})
    else:
        console.table(("in the model", "name", "shape", "dtype"), ((k, n, _x(s), d) for k, n, s, d in rows))
    return 0


def _inspect_engine(engine: Any, as_json: bool) -> int:
    """Show the specs of a compiled model's inputs and outputs, as its runtime describes them."""
    given = {side: getattr(engine, f"{side}_specs", ()) for side in ("input", "output")}
    listed = {side: specs.values() if isinstance(specs, Mapping) else specs for side, specs in given.items()}
    sides = {side: {spec.name: spec for spec in specs} for side, specs in listed.items()}
    if as_json:
        console.show_json({f"{side}_specs": _described(specs) for side, specs in sides.items()})
        return 0
    for side, specs in sides.items():
        console.show(f"{many(len(specs), side)}:")
        _show_specs(specs)
    return 0


def _described(specs: dict[str, TensorSpec]) -> dict[str, Any]:
    return {
        name: {**spec.to_dict(), "nbytes": spec.nbytes, "padding": spec.storage.padding} for name, spec in specs.items()
    }


def _show_specs(specs: dict[str, TensorSpec]) -> None:
    """Print a table of the specs; of their channels too, if one of them states any."""
    if any(spec.channels for spec in specs.values()):
        stated = ((spec.channels or "",) for spec in specs.values())
        console.table((*_SPEC, "channels"), (row + more for row, more in zip(_spec_rows(specs), stated)))
    else:
        console.table(_SPEC, _spec_rows(specs))


def _spec_rows(specs: dict[str, TensorSpec]) -> Iterable[tuple[Any, ...]]:
    for name, spec in specs.items():
        q = spec.quantization
        scale, zero_point = ("", "") if q is None else (_range(q.scale), _range(q.zero_point))
        padding = f"{spec.storage.padding} of {spec.size}" if spec.storage.padding else "none"
        yield (
            name, _x(spec.shape), spec.axes, spec.layout, spec.dtype, scale, zero_point, _x(spec.storage_shape),
            padding, spec.nbytes,
        )  # fmt: skip


def _x(extents: Iterable[Any]) -> str:
    return "x".join(map(str, extents))


def _range(values: Any) -> str:
    every = np.atleast_1d(values)
    return f"{every[0]:g}" if every.size == 1 else f"{every.min():g}..{every.max():g} ({every.size})"
