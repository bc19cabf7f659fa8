"""Read and write a recording's folder: ``recording.json`` and one ``frame-000000.npz`` for each run.

Each ``frame-*.npz`` is one run: the arrays that went in and came out. It appears under its name complete or not at all.
Every array and its description have a SHA-256, so that damage is found. Nothing is unpickled, and no name in a
recording is used as a path.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError, RecordingError
from ..support import PathLike, lfs_pointer, npy_bytes, parsed, path_of, shown, whole, whole_folder
from .runs import Arrays, Frame

FORMAT = 1
_FIELDS = ("format", "frames", "id", "meta", "specs")  # beside the sha256
_ABOUT, _FRAME = "recording.json", re.compile(r"frame-(\d{6,})\.npz\Z")
_MOST_WORDS = 1 << 24  # bytes of recording.json and of a run's manifest
_HEADER = 1 << 14  # bytes that an array's own header may have
_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same run


@contextmanager
def new_folder(path: PathLike) -> Iterator[Path]:
    """Make a folder to fill, which appears as `path` when the block ends, and not at all if it raises.

    RecordingError if `path` exists already. An OSError names `path`.
    """
    folder = Path(path_of("path", path))
    refusal = RecordingError(f"{folder} exists; a recording is never written over another")
    if os.path.lexists(folder):  # a link that leads nowhere too
        raise refusal
    try:
        with whole_folder(folder) as partial:
            yield partial
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and os.path.lexists(folder):  # another writer was faster
            raise refusal from None
        error.filename = error.filename or str(folder)
        raise


def run_file(i: int) -> str:
    """Return the name of the file of run `i`."""
    return f"frame-{i:06d}.npz"


def run_path(folder: Path, i: int) -> str:
    """Return the path of run `i`, as messages name it."""
    return str(folder / run_file(i))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _array_digest(array: np.ndarray) -> str:
    digest = hashlib.sha256(_canonical([array.dtype.str, list(array.shape)]))
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def begin(folder: Path, name: str, specs: Mapping[str, TensorSpec], meta: Mapping[str, Any]) -> None:
    """Write recording.json of a growing recording into an empty folder.

    RecordingError if the folder is not empty, or another thread or process begins a recording there at the same time.
    """
    refusal = RecordingError(f"{folder} is not empty; a recording is never written over another")
    if any(folder.iterdir()):
        raise refusal
    try:
        (folder / _ABOUT).touch(exist_ok=False)  # of all who found the folder empty, one can make it
    except FileExistsError:
        raise refusal from None
    try:
        write_about(folder, name, specs, meta, None)
    except BaseException:
        (folder / _ABOUT).unlink(missing_ok=True)
        raise


def write_about(
    folder: Path, name: str, specs: Mapping[str, TensorSpec], meta: Mapping[str, Any], frames: int | None
) -> None:
    """Write recording.json; `frames` is None while the recording is still growing."""
    about = {
        "format": FORMAT,
        "id": name,
        "specs": {k: spec.to_dict() for k, spec in specs.items()},
        "meta": dict(meta),
        "frames": frames,
    }
    digest = hashlib.sha256(_canonical(about)).hexdigest()
    with whole(folder / _ABOUT) as file:
        file.write(json.dumps({**about, "sha256": digest}, indent=1).encode())


def write_run(folder: Path, recording: str, i: int, run: Frame) -> None:
    """Write run `i`: members ``0.npy``, ``1.npy`` ... and a manifest that describes them.

    The manifest's SHA-256 is the archive's comment.
    """
    entries, arrays = [], []
    for kind, side in zip(("input", "output"), run):
        for name, array in side.items():
            plain = np.ascontiguousarray(array).reshape(array.shape)
            arrays.append(plain)
            entries.append(
                {
                    "kind": kind,
                    "name": name,
                    "dtype": plain.dtype.str,
                    "shape": list(plain.shape),
                    "sha256": _array_digest(plain),
                }
            )
    manifest = _canonical({"format": FORMAT, "recording": recording, "frame": i, "arrays": entries})
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = hashlib.sha256(manifest).hexdigest().encode()
        archive.writestr(zipfile.ZipInfo("manifest.json", _DATE), manifest)
        for k, plain in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"{k}.npy", _DATE), npy_bytes(plain))
    with whole(folder / run_file(i)) as file:
        file.write(content.getbuffer())


def _check_own(file: Path) -> None:
    """Raise RecordingError if a name in the folder is a link, which may leave it, or no file."""
    try:
        its_own = stat.S_ISREG(os.lstat(file).st_mode)
    except OSError:
        its_own = False
    if not its_own:
        raise RecordingError(f"{file}: expected a file of its own, got {_kind_of(file)}")


def _kind_of(file: Path) -> str:
    # os.path, and not Path, which raises on names that the system refuses
    kinds = {"a link": os.path.islink(file), "a folder": os.path.isdir(file), "a file": os.path.exists(file)}
    return next((kind for kind, is_it in kinds.items() if is_it), "nothing")


def read_about(folder: Path) -> dict[str, Any]:
    """Read and check recording.json; RecordingError if it contains anything unexpected."""
    file = folder / _ABOUT
    if not os.path.isdir(folder):
        raise RecordingError(f"{folder}: expected a recording's folder, got {_kind_of(folder)}")
    if _kind_of(file) == "nothing":
        raise RecordingError(
            f"{folder}: expected a recording, got a folder without {_ABOUT}; npu-layout import makes a recording from "
            "other tools' files"
        )
    _check_own(file)
    if file.stat().st_size > _MOST_WORDS:
        raise RecordingError(f"{file}: {file.stat().st_size} bytes, more than a recording's description can have")
    try:
        about = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise RecordingError(f"{file}: not JSON ({error}){lfs_pointer(file)}") from None
    if not isinstance(about, dict) or "format" not in about:
        raise RecordingError(f"{file}: expected a recording's description, with a field format")
    if about["format"] != FORMAT:
        raise RecordingError(f"{file}: format {about['format']!r}; this version reads {FORMAT}{_written_by(about)}")
    digest = about.pop("sha256", None)
    try:
        if digest != hashlib.sha256(_canonical(about)).hexdigest():
            raise RecordingError(
                f"{file}: sha256 does not fit the rest; the file was changed: correct the specs and the meta of a "
                "Recording that was loaded, and save it in a new folder"
            )
        frames = about["frames"]
        if set(about) != set(_FIELDS) or not isinstance(about["id"], str):
            words = f"the fields {', '.join(_FIELDS)}, and a text as id"
            raise RecordingError(f"{file}: expected {words}; got {', '.join(sorted(about))}")
        if frames is not None and (type(frames) is not int or frames < 0):
            raise RecordingError(f"{file}: frames: expected a number or null, got {frames!r}")
        about["specs"] = {k: TensorSpec.from_dict(d) for k, d in about["specs"].items()}
    except RecordingError:
        raise
    except (NpuLayoutError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise RecordingError(f"{file}: {error}") from None
    return about


def count_runs(folder: Path, noted: int | None) -> int:
    """Return the number of runs; RecordingError if one is missing, or if it is not the number that was noted."""
    matches = (_FRAME.match(name) for name in os.listdir(folder))
    numbers = sorted(int(m.group(1)) for m in matches if m and m.group(0) == run_file(int(m.group(1))))
    complete = next((i for i, number in enumerate(numbers) if number != i), len(numbers))
    if complete < len(numbers):
        raise RecordingError(f"{folder}: {run_file(complete)} is missing, {run_file(numbers[-1])} is there")
    if noted is not None and complete != noted:
        raise RecordingError(f"{folder}: there are {complete} frames; {_ABOUT} notes {noted}")
    return complete


def read_run(folder: Path, recording: str, i: int) -> Frame:
    """Read and check run `i` of the recording of that name; RecordingError if it was damaged or exchanged."""
    file = folder / run_file(i)
    _check_own(file)
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _read_manifest(archive, file, recording, i)
            sides: tuple[Arrays, Arrays] = ({}, {})
            for k, entry in enumerate(manifest):
                side = sides[("input", "output").index(entry["kind"])]
                if entry["name"] in side:
                    raise RecordingError(f"{file}: {entry['kind']} {entry['name']!r} is there twice")
                side[entry["name"]] = _read_array(
                    archive, f"{k}.npy", entry, f"{file}: {entry['kind']} {entry['name']!r}"
                )
            if len(archive.infolist()) != len(manifest) + 1:
                raise RecordingError(f"{file}: {len(archive.infolist())} members, expected {len(manifest) + 1}")
    except RecordingError:
        raise
    except Exception as error:  # whatever a damaged archive makes zipfile, zlib or numpy raise
        raise RecordingError(f"{file}: {type(error).__name__}: {error}{lfs_pointer(file)}") from None
    return Frame(*sides)


def _written_by(about: dict[str, Any]) -> str:
    """Return the end of a message: which version of this package wrote a recording, if it says so."""
    meta = about.get("meta")
    versions = meta.get("versions") if isinstance(meta, dict) else None
    version = versions.get("npu_layout") if isinstance(versions, dict) else None
    return "" if version is None else f"; npu_layout {shown(version)} wrote it: read it with that version"


def _read_manifest(archive: zipfile.ZipFile, file: Path, recording: str, i: int) -> list[dict[str, Any]]:
    info = archive.getinfo("manifest.json")
    if info.file_size > _MOST_WORDS or info.compress_type != zipfile.ZIP_STORED:
        raise RecordingError(f"{file}: manifest of {info.file_size} bytes, or compressed; expected neither")
    content = archive.read(info)
    if archive.comment != hashlib.sha256(content).hexdigest().encode():
        raise RecordingError(f"{file}: the manifest's sha256 does not fit; the file was changed")
    manifest = json.loads(content)
    for field, expected in (("format", FORMAT), ("recording", recording), ("frame", i)):
        if manifest[field] != expected:
            raise RecordingError(
                f"{file}: {field} {manifest[field]!r}, expected {expected!r}; is the file in its place?"
            )
    return list(manifest["arrays"])


def _read_array(archive: zipfile.ZipFile, member: str, entry: Mapping[str, Any], what: str) -> np.ndarray:
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    if dtype.hasobject or dtype.kind not in "biuf":
        raise RecordingError(f"{what}: dtype {entry['dtype']}; expected numbers")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise RecordingError(f"{what}: shape {entry['shape']!r}; expected extents")
    nbytes, info = math.prod(shape) * dtype.itemsize, archive.getinfo(member)
    if not nbytes <= info.file_size <= nbytes + _HEADER or info.compress_type != zipfile.ZIP_STORED:
        raise RecordingError(
            f"{what}: {info.file_size} bytes are stored, expected {nbytes} and a header, not compressed"
        )
    array: np.ndarray = parsed(archive.read(info), lambda file: np.lib.format.read_array(file, allow_pickle=False))
    if array.dtype != dtype or array.shape != shape:
        raise RecordingError(f"{what}: {array.dtype} of {array.shape}, expected {dtype} of {shape}")
    if _array_digest(array) != entry["sha256"]:
        raise RecordingError(f"{what}: sha256 does not fit; its values were changed")
    return array
