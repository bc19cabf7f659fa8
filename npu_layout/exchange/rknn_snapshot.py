"""Read snapshots of RKNN-Toolkit2's ``accuracy_analysis``: every layer's values for one set of inputs.

::

    map_name_to_file.txt     a table: layer_name, file_name (NAME.txt); two columns of fixed width, below a ruler
    error_analysis.txt       a table: [operator] layer_name and errors; [Input] marks the inputs
    golden/npy/NAME.npy      the float model's values; of the inputs too, normalised, as the ONNX model needs them
    simulator/npy/NAME.npy   the quantised model's on the PC, as real values
    runtime/npy/NAME.npy     the board's, if accuracy_analysis was given a target

Source: snapshots written by rknn-toolkit2 2.5.0 on a PC (golden and simulator; tests/data/rknn_snapshot is one). Values
there are logical tensors: the network's own shape (NCHW), float32 or an integer type the network itself has; layouts,
scales and zero points are not recorded. NAME is the layer's name with / and : replaced, so two layers can share a file;
one that does is refused, because only the last written is there. That the board's values are in runtime/npy is known
from a traceback of version 2.1.0 (github.com/airockchip/rknn-toolkit2/issues/118); nobody looked inside, so the files
are expected to have names as the others have, and golden's shapes. The text dumps beside npy are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..buffers import TensorSpec
from ..errors import RecordingError
from ..recordings import Arrays, Frame, Recording
from ..support import PathLike, argument, errors_named, parse_npy
from .foreign_files import existing, imported, read_bytes
from .onnx_graph import model_names

_MAP, _ERRORS = "map_name_to_file.txt", "error_analysis.txt"
SIDES = ("runtime", "simulator", "golden")


def recognises(path: Path) -> bool:
    """Whether a folder has a map_name_to_file.txt."""
    return (path / _MAP).is_file()


def load_rknn(
    path: PathLike,
    *,
    specs: Mapping[str, TensorSpec] | None = None,
    model: PathLike | None = None,
    outputs: Sequence[str] | None = None,
    side: str | None = None,
) -> Recording:
    """Read a snapshot as a recording of one run: golden's inputs, and the accelerator's outputs.

    path: the folder. It does not record which layers are outputs, so give one of: model, the ONNX model (read with the
    onnx package); outputs, their names. side: runtime, simulator or golden; None: the first of them that exists. specs:
    as for the other forms. RecordingError names file and field.
    """
    folder = existing(path)
    files = _files(folder)
    inputs = _inputs(folder)
    if outputs is None and model is not None:
        listed, outputs = model_names(model)
        if set(inputs) != set(listed):
            raise RecordingError(f"{folder / _ERRORS}: inputs {', '.join(inputs)}; the model has {', '.join(listed)}")
    if not outputs or isinstance(outputs, str):
        ways = f"{argument('model')} or {argument('outputs')}"
        raise RecordingError(f"{folder}: which layers are outputs? Give {ways}, some of {', '.join(files)}")
    if side is None:
        side = next((one for one in SIDES if (folder / one / "npy").is_dir()), SIDES[0])
    if side not in SIDES:
        raise RecordingError(f"side: expected one of {', '.join(SIDES)}, got {side!r}")

    def read(_: int) -> Frame:
        given = {name: _layer(folder, "golden", files, name) for name in inputs}
        return Frame(given, _outputs(folder, side, files, outputs))

    with errors_named(folder):
        return imported(1, read, lambda _: str(folder), specs, {"source": {"form": "rknn", "side": side}})


def layer_files(path: Path) -> dict[str, Path] | None:
    """Return {layer: its .npy file} of one side of a snapshot; None if `path` is none.

    path: a snapshot's folder, for the first of SIDES that exists; the folder of a side; or the npy folder in that.
    Layers that share a file are left out, because only the last written is there.
    """
    for folder, side in ((path, None), (path.parent, path.name), (path.parent.parent, path.parent.name)):
        if recognises(folder) and side in (None, *SIDES):
            break
    else:
        return None
    if side is None:
        side = next((one for one in SIDES if (folder / one / "npy").is_dir()), SIDES[0])
    names = _files(folder)
    own = {name: file for name, file in names.items() if list(names.values()).count(file) == 1}
    found = {name: folder / side / "npy" / f"{file}.npy" for name, file in own.items()}
    return {name: file for name, file in found.items() if file.is_file()}


def _outputs(folder: Path, side: str, files: Mapping[str, str], names: Sequence[str]) -> Arrays:
    found = {}
    for name in names:
        array, golden = _layer(folder, side, files, name), _layer(folder, "golden", files, name)
        if (array.shape, array.dtype) != (golden.shape, golden.dtype):
            raise RecordingError(
                f"{folder / side}: layer {name!r} is {array.dtype} of {array.shape}; golden's is {golden.dtype} of "
                f"{golden.shape}"
            )
        found[name] = array
    return found


def _layer(folder: Path, side: str, files: Mapping[str, str], name: str) -> np.ndarray:
    if name not in files:
        raise RecordingError(f"{folder / _MAP}: no layer {name!r}; there are {', '.join(files)}")
    sharing = [other for other, file in files.items() if file == files[name]]
    if len(sharing) > 1:
        raise RecordingError(f"{folder / _MAP}: {files[name]} is the file of {', '.join(map(repr, sharing))}")
    file = folder / side / "npy" / f"{files[name]}.npy"
    return parse_npy(read_bytes(file, folder), file)


def _lines(file: Path, folder: Path) -> list[str]:
    content = read_bytes(file, folder)
    with errors_named(file):
        return content.decode("utf-8").split("\n")


def _files(folder: Path) -> dict[str, str]:
    """Return {layer: its file's name without .txt}."""
    file = folder / _MAP
    head, ruler, *rows = [line for line in _lines(file, folder) if line.strip()] + [""] * 2
    at = head.find("file_name")
    if not re.fullmatch(r"layer_name +file_name *", head) or not re.fullmatch(r"-+", ruler):
        raise RecordingError(f"{file}: expected a table of layer_name and file_name below a ruler")
    found: dict[str, str] = {}
    for row in filter(None, rows):
        name, base = row[:at].rstrip(" "), row[at:].rstrip(" ")
        if not name or row[at - 1 : at] != " " or not re.fullmatch(r"[^/\\\0]+\.txt", base) or base.startswith("."):
            raise RecordingError(f"{file}: expected a layer and its .txt file, got {row.strip()!r}")
        if name in found:
            raise RecordingError(f"{file}: layer {name!r} is there twice")
        found[name] = base[: -len(".txt")]
    return found


def _inputs(folder: Path) -> list[str]:
    """Return the layers that error_analysis.txt marks as inputs; two spaces or more end a name."""
    file = folder / _ERRORS
    rows = [re.match(r"\[Input\] (.+?)(?:  |$)", line) for line in _lines(file, folder)]
    names = [row[1].rstrip() for row in rows if row]
    if not names or len(set(names)) < len(names):
        raise RecordingError(f"{file}: expected rows '[Input] name', each once; got {', '.join(names) or 'none'}")
    return names
