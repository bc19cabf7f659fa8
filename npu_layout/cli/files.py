"""Read and write the files that the command line names: arrays, raw bytes, specs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import isolated, npy_bytes, parse_npy, path_of, whole


def checked_file(what: str, path: str) -> str:
    """Return the path of a file; NpuLayoutError if it is not there."""
    if not Path(path).is_file():
        raise NpuLayoutError(f"{what}: {path}: expected a file, got {'a folder' if Path(path).is_dir() else 'nothing'}")
    return path


def array_in(path: str) -> np.ndarray:
    """Read the array of a .npy file; NpuLayoutError if it is another file. Nothing is unpickled."""
    content = Path(path).read_bytes()
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        archive = "an archive (.npz?); save one of its arrays by itself" if content.startswith(b"PK") else None
        got = archive or (f"a file that begins with {content[:8]!r}" if content else "an empty file")
        raise NpuLayoutError(f"{path}: expected one array (.npy), got {got}")
    return parse_npy(content, path)


def buffer_in(path: str, dtype: str | None = None) -> np.ndarray:
    """Read the elements of a .npy file, in its shape, or of a file of raw bytes, 1-D: of `dtype`, by default uint8.

    The shape of a .npy file tells the order of axes, which the library then checks; a flat copy would fit any order. A
    .npy file of bytes that stand for elements of another dtype is read as 1-D too.
    """
    if path.endswith(".npz"):
        raise NpuLayoutError(
            f"{path}: expected a file of raw bytes, or one array (.npy), got an archive of several (.npz); `npu-layout "
            f"export RECORDING FOLDER --form raw` writes those of a recording to files of their own"
        )
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
    """Raise NpuLayoutError if `path` is too long, or exists, unless `force` allows to overwrite it."""
    if os.path.exists(path_of("path", path)) and not force:
        raise NpuLayoutError(f"{path} exists; --force overwrites it")


def write_array(path: str, array: np.ndarray) -> None:
    """Write a .npy file, or raw bytes if the name ends otherwise; it appears whole or not at all."""
    content = npy_bytes(array) if path.endswith(".npy") else np.ascontiguousarray(array).data
    with whole(path) as file:
        file.write(content)
