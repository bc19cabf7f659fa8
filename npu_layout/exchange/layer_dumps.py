"""Read the tensors that a tool dumped layer by layer, by their names.

A tensor is read when it is asked for. What a file does not record (shape, dtype or layout of raw bytes) is left open.

Qualcomm: ``qnn-net-run --debug`` and ``snpe-net-run --debug`` write ``Result_N/NAME.raw``, N being the input: float32
whatever the tensor is, or the tensor's own type in ``NAME_native.raw`` if that is asked for. Shapes, layouts and scales
are not in the files. Source: IOTensor::writeOutputTensors of the QNN SDK's SampleApp, SaveOutputTensor.cpp of the SNPE
SDK's SampleCode. In names, every run of characters other than letters, digits and _ becomes one _, and one _ is put
before what begins with a digit: ``santize_node_name`` of qti/aisw/accuracy_debugger/lib/utils/nd_path_utility.py in
the QAIRT SDK. SNPE keeps the slashes of a name as folders (``sanitize_output_tensor_files`` there).

AIMET: ``LayerOutputUtil`` writes ``outputs/layer_outputs_N/NAME.raw`` and the order of names in
``layer_output_name_order.json``; older ones write {name: the file's name} to ``LayerOutputNameMapper.json``. Older
ones store (N,C,H,W) as NHWC, an input of the batch a file; newer ones as the framework has it. aimet_torch replaces
every run of other characters than letters, digits and _ by one _. Source: layer_output_utils.py in
TrainingExtensions/common/src/python/aimet_common, and in torch and onnx there, of github.com/quic/aimet.

RKNN-Toolkit2: see :mod:`npu_layout.exchange.rknn_snapshot`. Polygraphy: see :mod:`npu_layout.exchange.polygraphy`.
"""

from __future__ import annotations

import functools
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable, NamedTuple, Union

import numpy as np

from ..errors import RecordingError
from ..recordings import CAMERA, Recording
from ..support import NPY_HEADER, PathLike, check_npy_size, errors_named, parse_npy, plain_array, text_keys
from . import rknn_snapshot
from .foreign_files import existing, home_of, natural, read_bytes, read_json
from .forms import FORMS, load

# What a file contains: an array, or the bytes of a tensor of unknown shape and dtype.
Stored = Union[np.ndarray, bytes]
LayersLike = Union[PathLike, Mapping[str, Any]]

_KINDS = (".npy", ".raw", ".bin")  # the first is read if a tensor has several
_NATIVE = "_native"
_ORDER, _MAPPER = "layer_output_name_order.json", "LayerOutputNameMapper.json"


class LayerDump(NamedTuple):
    """The tensors of one run: where they come from, the tool's form, and {name: a function that reads the tensor}.

    `numbered`: whether the dump can have several runs, of which the one that was asked for is there.
    """

    where: str
    form: str
    readers: Mapping[str, Callable[[], Stored]]
    numbered: bool = False


def open_layers(layers: LayersLike, frame: int = 0, what: str = "layers") -> LayerDump:
    """Return the tensors of a dump; RecordingError if there are none.

    layers: {name: array or bytes}; an .npz; a file or folder of Polygraphy's; a folder of RKNN-Toolkit2, AIMET or
    Qualcomm; a folder of .npy, .raw or .bin files, of which folders are parts of names; a recording, or dumps with a
    spec.json. frame: the number of the input, if there are several.
    """
    if isinstance(layers, Mapping):
        named = text_keys(what, layers, RecordingError)
        readers = {name: functools.partial(_stored_of, name, value) for name, value in named.items()}
        return _checked(LayerDump(what, "arrays", readers))
    path = existing(layers)
    with errors_named(path):
        return _checked(_opened(path, frame))


def _checked(dump: LayerDump) -> LayerDump:
    if not dump.readers:
        raise RecordingError(f"{dump.where}: expected tensors (.npz, or a folder of .npy or .raw files), found none")
    return dump


def _stored_of(name: Any, value: Any) -> Stored:
    """Return a layer as bytes or an array of numbers that can be compared; RecordingError if it is neither."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    array = plain_array(f"layer {name!r}", value)
    is_bfloat16 = array.dtype.name == "bfloat16"  # of ml_dtypes
    if array.dtype.kind not in "biuf" and not is_bfloat16:
        raise RecordingError(f"layer {name!r}: expected numbers or bytes, got {array.dtype}")
    return array.astype(np.float64) if is_bfloat16 or array.dtype.itemsize > 8 else array  # more: a long double


def _opened(path: Path, frame: int) -> LayerDump:
    where = str(path)
    if path.is_file() and path.suffix == ".npz":
        return LayerDump(where, "npz", dict(_archived(path)))
    layers = rknn_snapshot.layer_files(path)
    if layers is not None:
        return LayerDump(where, "rknn", {k: functools.partial(_read, f, f.parent, k) for k, f in layers.items()})
    if path.is_file() and _form(path) is None:
        raise RecordingError(
            f"{path}: expected an .npz, Polygraphy's JSON, or a folder of a tool's dumps, got another file"
        )
    if path.is_file() or (path / "recording.json").exists() or _form(path):
        return _recorded(path, frame)
    folder, form, names = _tool_folder(path, frame)
    files: dict[str, Callable[[], Stored]] = {}
    for stored, file in _files(folder):
        name = names.get(stored, stored)
        if name in files:
            raise RecordingError(f"{folder}: by {_MAPPER}, two files have tensor {name!r}, one of them {file.name}")
        files[name] = functools.partial(_read, file, folder, stored)
    return LayerDump(str(folder), form, files, folder.name != path.name)


def _archived(path: Path) -> Iterator[tuple[str, Callable[[], Stored]]]:
    """Yield the arrays of an .npz."""

    def read(member: str) -> Stored:
        where = f"{path}: {member}"
        with errors_named(path), zipfile.ZipFile(path) as archive:
            with archive.open(member) as content:
                check_npy_size(content.read(NPY_HEADER), archive.getinfo(member).file_size, where)
            return parse_npy(archive.read(member), where)

    with zipfile.ZipFile(path) as archive:
        members = Counter(archive.namelist())
    for member, times in members.items():
        if times > 1:
            raise RecordingError(f"{path}: {member} is there {times} times")
        if member.endswith(".npy"):
            yield member[: -len(".npy")], functools.partial(read, member)


def _form(path: Path) -> str | None:
    """Return the form of `exchange.load` that reads a folder, if one does."""
    found = [name for name, form in FORMS.items() if form.recognises(path)]
    return found[0] if len(found) == 1 else None


def _recorded(path: Path, frame: int) -> LayerDump:
    """Return the inputs and outputs of one frame of a recording, those with a spec as the tensors they encode."""
    own = path.is_dir() and (path / "recording.json").exists()
    recording = Recording.load(path) if own else load(path)
    if not 0 <= frame < len(recording):
        raise RecordingError(f"{path}: frame: expected 0 .. {len(recording) - 1}, got {frame}")
    run = recording.frames[frame]

    def read(name: str, array: np.ndarray) -> Stored:
        return recording.specs[name].unpack(array) if name in recording.specs else array

    tensors = {name: array for side in run for name, array in side.items() if name not in CAMERA}
    form = "recording" if own else str(recording.meta.get("source", {}).get("form", "raw"))
    return LayerDump(str(path), form, {k: functools.partial(read, k, array) for k, array in tensors.items()}, True)


def _tool_folder(path: Path, frame: int) -> tuple[Path, str, dict[str, str]]:
    """Return the folder of the frame's tensors, the tool, and {name in the file system: the tensor's name}."""
    aimet = (path / _ORDER).is_file() or (path / _MAPPER).is_file()
    for home in (path, path / "outputs", path / "output"):  # AIMET's; of the accuracy debugger, net-run's is in output
        for stem, form in (("Result_", "qairt"), ("layer_outputs_", "aimet")):
            numbered = (
                [p.name for p in home.iterdir() if re.fullmatch(rf"{stem}[0-9]+", p.name)] if home.is_dir() else []
            )
            if numbered and f"{stem}{frame}" not in numbered:
                known = ", ".join(sorted(numbered, key=natural))
                raise RecordingError(f"{home}: frame {frame}: there are only {known}")
            if numbered:
                return home / f"{stem}{frame}", form, _renamed(path)
    return path, "aimet" if aimet else "files", _renamed(path)


def _renamed(path: Path) -> dict[str, str]:
    """Return {name in the file system: the tensor's name}, without names of several tensors: the last one is there."""
    file = path / _MAPPER
    if not file.is_file():
        return {}
    names = read_json(file, path)
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise RecordingError(f"{file}: expected {{name: file's name}}, got {json.dumps(names)[:80]}")
    files = Counter(names.values())
    return {stored: name for name, stored in names.items() if files[stored] == 1}


def _files(folder: Path) -> list[tuple[str, Path]]:
    """Return (name, file) of every tensor in a folder and the folders in it, one file for each name."""
    if not folder.is_dir():
        raise RecordingError(f"{folder}: expected a folder, got a file")
    found: dict[str, tuple[tuple[Any, ...], Path]] = {}
    for file in sorted(folder.rglob("*"), key=lambda f: natural(f.as_posix())):
        if file.suffix not in _KINDS or not file.is_file():
            continue
        name = file.relative_to(folder).as_posix()[: -len(file.suffix)]
        native = file.suffix == ".raw" and name.endswith(_NATIVE)
        name = name[: -len(_NATIVE)] if native else name
        rank = (_KINDS.index(file.suffix), native)
        if name not in found or rank < found[name][0]:
            found[name] = rank, file
    return [(name, file) for name, (_, file) in found.items()]


def _read(file: Path, folder: Path, name: str) -> Stored:
    content = read_bytes(file, home_of(folder))
    return parse_npy(content, f"{file}: {name}") if file.suffix == ".npy" else content
