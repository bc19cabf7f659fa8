"""Read and write ONNX test data: folders ``test_data_set_0`` ... of ``input_0.pb``, ``output_0.pb`` ..., a tensor each.

Each file is a TensorProto; the numbers follow the model's inputs and outputs. A tensor's name is the TensorProto's; if
that is empty, it is the model's, which is given or is the only .onnx beside the data sets.
Source: docs/OnnxBackendTest.md and onnx/onnx.proto of the ONNX repository. The onnx package reads the protobufs
(``pip install 'npu-layout[onnx]'``); external data, which names another file, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError, RecordingError
from ..recordings import Arrays, Frame, Model, Recording, sides
from ..support import PathLike, argument, errors_named
from .foreign_files import existing, imported, read_bytes
from .onnx_graph import model_names, onnx_package

_SET = re.compile(r"test_data_set_([0-9]+)")
_KINDS = ("input", "output")
_TYPES = ["BOOL", "FLOAT16", "FLOAT", "DOUBLE", *(f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))]


def recognises(path: Path) -> bool:
    """Whether a folder contains test_data_set_* folders, or is one."""
    return path.is_dir() and (any(_SET.fullmatch(p.name) for p in path.iterdir()) or (path / "output_0.pb").exists())


def load_onnx(
    path: PathLike, *, specs: Mapping[str, TensorSpec] | None = None, model: PathLike | None = None
) -> Recording:
    """Read test data sets, one run each.

    path: the folder of the data sets, or a single one. specs: of outputs that are an accelerator's buffers; the others
    are tensors in C order. model: the ONNX model, for tensors without a name; without it, the only .onnx beside the
    data sets. RecordingError names file and field; NpuLayoutError if the onnx package is missing.
    """
    onnx_package()
    folder = existing(path)
    sets, beside = _data_sets(folder)
    with errors_named(folder):
        models = sorted(beside.glob("*.onnx")) if model is None else [existing(model)]
        names = model_names(models[0]) if len(models) == 1 else None

    def read(i: int) -> Frame:
        given = None, None
        return Frame(*(_side(sets[i], kind, listed) for kind, listed in zip(_KINDS, names or given)))

    with errors_named(folder):
        return imported(len(sets), read, lambda i: str(sets[i]), specs, {"source": {"form": "onnx"}})


def _data_sets(folder: Path) -> tuple[list[Path], Path]:
    """Return the data sets in order, and the folder where a model may be."""
    with errors_named(folder):
        if (folder / "output_0.pb").exists():
            return [folder], folder.resolve().parent
        numbers: dict[int, Path] = {}
        for path in sorted(folder.iterdir()):
            if (match := _SET.fullmatch(path.name)) and path.is_dir():
                other = numbers.setdefault(int(match[1]), path)
                if other is not path:
                    raise RecordingError(f"{folder}: {other.name} and {path.name} are one number; expected one of them")
        for i in range(len(numbers)):
            if i not in numbers:
                raise RecordingError(f"{folder}: test_data_set_{i} is missing, {numbers[max(numbers)].name} is there")
        if not numbers:
            raise RecordingError(f"{folder}: expected test_data_set_0 or output_0.pb in it")
        return [numbers[i] for i in range(len(numbers))], folder


def _side(folder: Path, kind: str, listed: list[str] | None) -> Arrays:
    with errors_named(folder):
        files = [p.name for p in folder.iterdir() if re.fullmatch(rf"{kind}_[0-9]+\.pb", p.name)]
    side: Arrays = {}
    for i in range(len(files)):
        file = folder / f"{kind}_{i}.pb"
        if file.name not in files:
            raise RecordingError(f"{file} is missing; there are {', '.join(sorted(files))}")
        own, array = _tensor(file, folder)
        name = own or (listed[i] if listed is not None and i < len(listed) else "")
        if not name or name in side:
            wrong = f"{name!r} is there twice" if name else f"the tensor has none; give the {argument('model')}"
            raise RecordingError(f"{file}: name: {wrong}")
        if listed is not None and name not in listed:
            raise RecordingError(f"{file}: name: the model has no {kind} {name!r}; it has {', '.join(listed)}")
        side[name] = array
    return side


def _tensor(file: Path, folder: Path) -> tuple[str, np.ndarray]:
    onnx, content = onnx_package(), read_bytes(file, folder)
    with errors_named(file):
        proto = onnx.TensorProto()
        proto.ParseFromString(content)
        if proto.data_location != onnx.TensorProto.DEFAULT or len(proto.external_data):
            raise RecordingError("external_data: the values are stored in another file; expected them here")
        if proto.data_type not in [onnx.TensorProto.DataType.Value(name) for name in _TYPES]:
            raise RecordingError(f"data_type {proto.data_type}: expected numbers ({', '.join(_TYPES)})")
        if proto.HasField("segment"):
            raise RecordingError("segment: a part of a tensor, or a SequenceProto; expected one whole TensorProto")
        if any(n < 0 for n in proto.dims):
            raise RecordingError(f"dims {list(proto.dims)}: expected extents")
        array = np.array(onnx.numpy_helper.to_array(proto))
        typed = array.dtype.kind in "iu" and not proto.HasField("raw_data") and len(proto.int32_data) > 0
        if typed and not np.array_equal(array.reshape(-1), np.array(proto.int32_data, np.int64)):
            raise RecordingError(f"int32_data: a value is beyond {array.dtype}")  # the package cut it to its bits
        return proto.name, array


def save_onnx(recording: Recording, folder: Path, model: Model | None = None) -> None:
    """Fill `folder` with test_data_set_0 and so on.

    Inputs are ready for the ONNX model and outputs unpacked, in the order and with the names of the recording, or of
    the model. NpuLayoutError if the onnx package is missing.
    """
    onnx, as_model = onnx_package(), sides(recording, model)
    for i, run in enumerate(recording.frames):
        home = folder / f"test_data_set_{i}"
        home.mkdir()
        for kind, side in zip(_KINDS, as_model(run, i)):
            for k, (name, array) in enumerate(side.items()):
                native = np.array(array, array.dtype.newbyteorder("="), order="C")
                try:
                    proto = onnx.numpy_helper.from_array(native, name)
                except UnicodeEncodeError as error:
                    raise NpuLayoutError(f"{kind} {name!r}: a TensorProto's name is UTF-8: {error.reason}") from None
                (home / f"{kind}_{k}.pb").write_bytes(proto.SerializeToString(deterministic=True))
