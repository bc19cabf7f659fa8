"""Recordings: what went into an accelerator and what came out, kept whole so that it can be judged later.

A folder holds ``recording.json`` and one ``frame-000000.npz`` for each frame. A frame appears under its name whole or
not at all; every array, and everything said about it, carries a SHA-256, so that nothing damaged loads as something
else. Nothing is ever unpickled, and no name in a recording is used as a path.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import re
import shutil
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

import numpy as np

from .errors import NpuLayoutError, RecordingError
from .tensor import TensorSpec

FORMAT = 1
FRAME = "frame"  # the camera's frame, beside the model's inputs
_ABOUT, _FRAME = "recording.json", re.compile(r"frame-(\d{6,})\.npz\Z")
_MOST_WORDS = 1 << 24  # bytes of recording.json and of a frame's manifest
_HEADER = 1 << 14  # bytes that an array's own header may take
_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same frame

Arrays = dict[str, np.ndarray]
PathLike = Union[str, "os.PathLike[str]"]


class Frame(NamedTuple):
    """One run of the accelerator: ``{name: array}`` of what went in and of what came out."""

    inputs: Arrays
    outputs: Arrays


class Recording:
    """Frames of an accelerator, with what is needed to read them.

    Parameters
    ----------
    specs
        ``{name: TensorSpec}`` of every output, and of those inputs that the accelerator took in another form than the
        ONNX model does.
    frames
        Sequence of ``(inputs, outputs)``, each ``{name: array}``. Outputs are buffers that their spec takes; inputs
        without a spec are ready for the ONNX model. Held as they are, without a copy.
    meta
        JSON-ready, free but for ``"preprocess"``: how the inputs were made, in the Preprocessor's terms.

    Raises
    ------
    RecordingError
        Where a frame lacks an array that the others have, an output has no spec, or a buffer does not fit its spec; it
        names frame and array.

    Examples
    --------
    >>> specs = {"heat": TensorSpec((1, 2, 1, 3), "NHWC", "int8")}
    >>> recording = Recording(specs, [({"image": np.zeros((1, 3, 2, 2))}, {"heat": np.arange(6, dtype=np.int8)})])
    >>> len(recording), recording.specs["heat"].unpack(recording.frames[0].outputs["heat"]).tolist()
    (1, [[[[0, 2, 4]], [[1, 3, 5]]]])
    """

    specs: dict[str, TensorSpec]
    frames: Sequence[Frame]
    meta: dict[str, Any]

    def __init__(
        self, specs: Mapping[str, TensorSpec], frames: Iterable[Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        self.specs = _checked_specs(specs)
        self.meta = _checked_meta(meta)
        self.frames = _checked_frames(frames, self.specs)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def __repr__(self) -> str:
        return f"Recording({len(self)} frames, outputs {', '.join(self.outputs) or 'none'})"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(self.frames[0].outputs) if len(self.frames) else ()

    def save(self, path: PathLike) -> None:
        """Write a new folder, which appears whole or not at all. RecordingError where `path` exists already."""
        folder = Path(path)
        if folder.exists():
            raise RecordingError(f"{folder} exists; a recording is never written over another")
        partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            name = uuid.uuid4().hex
            for i, frame in enumerate(self.frames):
                _write_frame(partial, name, i, frame)
            _write_about(partial, name, self.specs, self.meta, len(self.frames))
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise

    @classmethod
    def load(cls, path: PathLike) -> Recording:
        """The recording in a folder: every frame is read once and checked, and read again from disk whenever it is
        asked for, so that memory holds one frame. The folder is never written to.

        Raises RecordingError, naming file and field, on anything that is missing, damaged, renamed, swapped, not of
        this format, larger than it says, or a link that leaves the folder.
        """
        folder = Path(path)
        about = _read_about(folder)
        specs, meta = about["specs"], about["meta"]
        found = _frame_files(folder, about["frames"])
        recording = cls.__new__(cls)
        recording.specs, recording.meta = _checked_specs(specs), _checked_meta(meta)
        recording.frames = _Files(folder, about["id"], found, recording.specs)
        first: tuple[Any, Any] | None = None
        for i, frame in enumerate(recording.frames):
            names = set(frame.inputs), set(frame.outputs)
            first = first or names
            if names != first:
                raise RecordingError(f"{folder / _file(i)}: has {_names(*names)}; the first frame has {_names(*first)}")
        return recording


class _Files(Sequence[Frame]):
    """The frames of a folder, each read and checked when it is asked for."""

    def __init__(self, folder: Path, recording: str, count: int, specs: Mapping[str, TensorSpec]) -> None:
        self._folder, self._recording, self._count, self._specs = folder, recording, count, specs

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        i = index + self._count if index < 0 else index
        if not 0 <= i < self._count:
            raise IndexError(f"frame {index} of {self._count}")
        file = self._folder / _file(i)
        frame = _read_frame(file, self._recording, i)
        _check_frame(frame, self._specs, str(file))
        return frame


class Recorder:
    """An engine that also records what passes through it.

    Parameters
    ----------
    engine
        Anything with ``infer({name: array}) -> {name: array}`` and ``output_specs``, {name: TensorSpec} or TensorSpecs
        with names.
    folder
        Where to record: a new or empty folder. RecordingError where it holds anything.
    preprocess
        How the inputs were made, in the Preprocessor's terms.
    model
        Path of the model; its SHA-256 is noted.
    note, versions
        Free text; ``{"runtime": ..., "driver": ...}``.

    Every frame is on disk when `infer` returns, whole even if the process is killed while it writes the next. Arrays
    are copied by being written. Memory does not grow. Use it in a with statement, or call close(): the number of frames
    is then noted too, so that a lost last one is missed.
    """

    def __init__(
        self,
        engine: Any,
        folder: PathLike,
        *,
        preprocess: Mapping[str, Any] | None = None,
        model: PathLike | None = None,
        note: str = "",
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self.engine, self.folder = engine, Path(folder)
        specs = engine.output_specs
        named = specs if isinstance(specs, Mapping) else {spec.name: spec for spec in specs}
        self._specs, self._name, self.count = _checked_specs(named), uuid.uuid4().hex, 0
        self._meta = _checked_meta(
            {
                **({} if preprocess is None else {"preprocess": dict(preprocess)}),
                **(
                    {} if model is None else {"model": os.path.basename(model), "model_sha256": _sha256_of(Path(model))}
                ),
                "note": note,
                "versions": {"python": platform.python_version(), "numpy": np.__version__, **(versions or {})},
            }
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise RecordingError(f"{self.folder} is not empty; a recording is never written over another")
        _write_about(self.folder, self._name, self._specs, self._meta, None)

    @property
    def input_specs(self) -> Any:
        """The engine's."""
        return self.engine.input_specs

    @property
    def output_specs(self) -> Any:
        """The engine's."""
        return self.engine.output_specs

    def infer(self, inputs: Any, *, frame: np.ndarray | None = None) -> Any:
        """The engine's answer, after it was recorded, with the camera's `frame` (recorded as input "frame") where one
        is given: `validate` can then tell whether it was letterboxed, stretched or cropped. Raises RecordingError, and
        records nothing, where an output has no spec or does not fit it."""
        outputs = self.engine.infer(inputs)
        given = inputs if isinstance(inputs, Mapping) else {next(iter(self._input_names()), "input"): inputs}
        seen = given if frame is None else {**given, FRAME: frame}
        recorded = Frame(*({str(k): np.asarray(v) for k, v in side.items()} for side in (seen, outputs)))
        _check_frame(recorded, self._specs, f"frame {self.count}")
        _write_frame(self.folder, self._name, self.count, recorded)
        self.count += 1
        return outputs

    def _input_names(self) -> Iterator[str]:
        specs = getattr(self.engine, "input_specs", ())
        return iter(specs) if isinstance(specs, Mapping) else (spec.name for spec in specs)

    def close(self) -> None:
        """Note how many frames there are."""
        _write_about(self.folder, self._name, self._specs, self._meta, self.count)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked_specs(specs: Any) -> dict[str, TensorSpec]:
    if not isinstance(specs, Mapping) or not all(
        isinstance(k, str) and isinstance(v, TensorSpec) for k, v in specs.items()
    ):
        raise RecordingError(f"specs: expected {{name: TensorSpec}}, got {specs!r}")
    return dict(specs)


def _checked_meta(meta: Any) -> dict[str, Any]:
    if meta is not None and not isinstance(meta, Mapping):
        raise RecordingError(f"meta: expected a mapping, got {type(meta).__name__}")
    try:
        copied = json.loads(json.dumps(dict(meta or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise RecordingError(f"meta: expected what JSON can hold ({error})") from None
    return dict(copied)


def _checked_frames(frames: Iterable[Any], specs: Mapping[str, TensorSpec]) -> list[Frame]:
    checked: list[Frame] = []
    for i, given in enumerate(frames):
        try:
            inputs, outputs = given
            frame = Frame(*({str(k): np.asarray(v) for k, v in side.items()} for side in (inputs, outputs)))
        except (TypeError, ValueError, AttributeError) as error:
            raise RecordingError(f"frame {i}: expected (inputs, outputs), each {{name: array}} ({error})") from None
        _check_frame(frame, specs, f"frame {i}")
        if checked and (set(frame.inputs), set(frame.outputs)) != (set(checked[0].inputs), set(checked[0].outputs)):
            raise RecordingError(
                f"frame {i}: has {_names(frame.inputs, frame.outputs)}; the first frame has "
                f"{_names(checked[0].inputs, checked[0].outputs)}"
            )
        checked.append(frame)
    return checked


def _names(inputs: Iterable[str], outputs: Iterable[str]) -> str:
    return f"inputs {', '.join(sorted(inputs)) or 'none'} and outputs {', '.join(sorted(outputs)) or 'none'}"


def _check_frame(frame: Frame, specs: Mapping[str, TensorSpec], where: str) -> None:
    for kind, arrays in zip(("input", "output"), frame):
        for name, array in arrays.items():
            what = f"{where}: {kind} {name!r}"
            if array.dtype.kind not in "biuf":
                raise RecordingError(f"{what}: expected numbers, got dtype {array.dtype}")
            spec = specs.get(name)
            if spec is None:
                if kind == "output":
                    raise RecordingError(f"{what} has no spec; there are specs of {', '.join(specs) or 'nothing'}")
                continue
            try:
                spec.flat(array)
            except NpuLayoutError as error:
                raise RecordingError(f"{what}: {error}") from None


def _file(i: int) -> str:
    return f"frame-{i:06d}.npz"


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _array_digest(array: np.ndarray) -> str:
    digest = hashlib.sha256(_canonical([array.dtype.str, list(array.shape)]))
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _put(folder: Path, name: str, content: bytes) -> None:
    """A file that appears whole or not at all."""
    partial = folder / f".{name}.{os.getpid()}.partial"
    partial.write_bytes(content)
    os.replace(partial, folder / name)


def _write_about(
    folder: Path, name: str, specs: Mapping[str, TensorSpec], meta: Mapping[str, Any], frames: int | None
) -> None:
    about = {
        "format": FORMAT,
        "id": name,
        "specs": {k: spec.to_dict() for k, spec in specs.items()},
        "meta": dict(meta),
        "frames": frames,
    }
    digest = hashlib.sha256(_canonical(about)).hexdigest()
    _put(folder, _ABOUT, json.dumps({**about, "sha256": digest}, indent=1).encode())


def _write_frame(folder: Path, recording: str, i: int, frame: Frame) -> None:
    """Members ``0.npy``, ``1.npy`` ... and a manifest that says what they are; its digest is the archive's comment."""
    entries, arrays = [], []
    for kind, side in zip(("input", "output"), frame):
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
            member = io.BytesIO()
            np.lib.format.write_array(member, plain, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{k}.npy", _DATE), member.getvalue())
    _put(folder, _file(i), content.getvalue())


def _inside(folder: Path, file: Path) -> None:
    if file.is_symlink() or not file.is_file():
        raise RecordingError(f"{file}: expected a file of its own, got {_kind_of(file)}")
    if file.resolve().parent != folder.resolve():
        raise RecordingError(f"{file}: leaves the recording's folder")


def _kind_of(file: Path) -> str:
    return "a link" if file.is_symlink() else "a folder" if file.is_dir() else "nothing"


def _read_about(folder: Path) -> dict[str, Any]:
    file = folder / _ABOUT
    if not folder.is_dir():
        raise RecordingError(f"{folder}: expected a recording's folder, got {_kind_of(folder)}")
    _inside(folder, file)
    if file.stat().st_size > _MOST_WORDS:
        raise RecordingError(f"{file}: {file.stat().st_size} bytes, more than a recording's description takes")
    try:
        about = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise RecordingError(f"{file}: not JSON ({error})") from None
    if not isinstance(about, dict) or "format" not in about:
        raise RecordingError(f"{file}: expected a recording's description, with a field format")
    if about["format"] != FORMAT:
        raise RecordingError(f"{file}: format {about['format']!r}; this version reads {FORMAT}")
    digest = about.pop("sha256", None)
    try:
        if digest != hashlib.sha256(_canonical(about)).hexdigest():
            raise RecordingError(f"{file}: sha256 does not fit the rest; the file was changed")
        frames = about["frames"]
        if set(about) != {"format", "id", "specs", "meta", "frames"} or not isinstance(about["id"], str):
            raise RecordingError(f"{file}: fields {', '.join(sorted(about))}; expected another set")
        if frames is not None and (type(frames) is not int or frames < 0):
            raise RecordingError(f"{file}: frames: expected a number or null, got {frames!r}")
        about["specs"] = {k: TensorSpec.from_dict(d) for k, d in about["specs"].items()}
    except RecordingError:
        raise
    except (NpuLayoutError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise RecordingError(f"{file}: {error}") from None
    return about


def _frame_files(folder: Path, noted: int | None) -> int:
    """How many frames there are: all from 0 on, and as many as were noted."""
    matches = (_FRAME.match(name) for name in os.listdir(folder))
    numbers = sorted(int(m.group(1)) for m in matches if m and m.group(0) == _file(int(m.group(1))))
    whole = next((i for i, number in enumerate(numbers) if number != i), len(numbers))
    if whole < len(numbers):
        raise RecordingError(f"{folder}: {_file(whole)} is missing, {_file(numbers[-1])} is there")
    if noted is not None and whole != noted:
        raise RecordingError(f"{folder}: there are {whole} frames; {_ABOUT} notes {noted}")
    return whole


def _read_frame(file: Path, recording: str, i: int) -> Frame:
    _inside(file.parent, file)
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
        raise RecordingError(f"{file}: {type(error).__name__}: {error}") from None
    return Frame(*sides)


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
    array: np.ndarray = np.lib.format.read_array(io.BytesIO(archive.read(info)), allow_pickle=False)
    if array.dtype != dtype or array.shape != shape:
        raise RecordingError(f"{what}: {array.dtype} of {array.shape}, expected {dtype} of {shape}")
    if _array_digest(array) != entry["sha256"]:
        raise RecordingError(f"{what}: sha256 does not fit; its values were changed")
    return array
