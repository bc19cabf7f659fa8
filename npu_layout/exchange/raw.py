"""Read and write raw dumps: a file for each tensor and run, and ``spec.json``, which describes them.

spec.json can be written by hand.

For example::

    {
      "outputs": {
        "heat": {"file": "heat_*.bin", "shape": [1, 57, 46, 46], "layout": "NCHW16c", "dtype": "int8",
                 "scale": 0.008, "zero_point": -20}
      },
      "inputs": {"image": {"file": "image_*.npy"}},
      "meta": {"preprocess": {"color": "RGB"}}
    }

``*`` in a file's path stands for the run, in a file's name or a folder's (``frame*/heat.bin``); without it there is one
run. Runs are sorted by its text, numbers by value. Without ``file``, the one of NAME.bin, NAME_*.bin, */NAME.bin and
the same with .raw and .npy that matches a file is used. The input ``frame`` is the camera's; its files may be images.

A tensor's other keys are TensorSpec's (shape, layout, dtype, axes, quantization, storage_shape, storage_strides,
storage_offset, size, channels), with the shorter scale, zero_point and axis for quantization, and a vendor's name with
block (``"layout": "NC1HWC2", "block": 16``) for layout; without one it is NCHW, or the default of its rank. A .bin
file contains only the buffer's bytes. Of an .npy the bytes are used; its dtype must be the stored one or bytes, and its
shape must not say another order than the layout. An input with a layout is a buffer of the accelerator; one without is
ready for the ONNX model, with its shape and dtype, or those of its .npy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, RecordingError
from ..layouts import Layout
from ..recordings import FRAME, IMAGES, Frame, Recording, RunsOnDisk, checked_specs
from ..support import PathLike, errors_named, many, npy_bytes, parse_npy
from .foreign_files import existing, home_of, natural, read_bytes, read_json

SPEC = "spec.json"
_DEFAULTS = tuple(f"{pattern}.{kind}" for kind in ("bin", "raw", "npy") for pattern in ("{}", "{}_*", "*/{}"))
_SUFFIXES = frozenset({".bin", ".npy", ".raw"})
_DRAFTED = 8  # tensors in a draft of a spec file
_PLAIN = {"file", "shape", "dtype"}  # keys of an input that is ready for the model


class _Dump(NamedTuple):
    """One tensor of every run: {run: file}, the spec of its bytes, and whether the recording keeps the spec."""

    what: str
    files: dict[str, Path]
    spec: TensorSpec | None
    buffer: bool


def recognises(path: Path) -> bool:
    """Whether a folder has a spec.json, or `path` is one."""
    return (path.name == SPEC and path.is_file()) or (path / SPEC).is_file()


def load_raw(
    path: PathLike,
    *,
    specs: Mapping[str, TensorSpec] | None = None,
    description: PathLike | Mapping[str, Any] | None = None,
) -> Recording:
    """Read a folder of raw dumps.

    path: the folder, or its spec file. specs: specs that replace spec.json's, by name. description: the spec file if it
    is elsewhere, or its content. RecordingError names file and field; a run is read and checked at each access.
    """
    folder = existing(path)
    if folder.is_file():
        folder, description = folder.parent, folder if description is None else description
    given = checked_specs(specs or {})
    where, words = _description(folder, description, given)
    dumps = {kind: _dumps(folder, where, kind, words.get(f"{kind}s", {}), given) for kind in ("input", "output")}
    for name in given.keys() - dumps["input"].keys() - dumps["output"].keys():
        raise RecordingError(f"specs: {where} has no tensor {name!r}")
    frames = _runs(folder, [*dumps["input"].values(), *dumps["output"].values()])
    known = {
        name: dump.spec
        for side in dumps.values()
        for name, dump in side.items()
        if dump.spec is not None and dump.buffer
    }

    def read(i: int) -> Frame:
        sides = ({n: _read(folder, d, frames[i]) for n, d in dumps[k].items()} for k in ("input", "output"))
        return Frame(*sides)

    def called(i: int) -> str:
        return f"{folder}: frame {frames[i]!r}" if frames[i] else str(folder)

    meta = words.get("meta", {})
    if not isinstance(meta, dict):
        raise RecordingError(f"{where}: meta: expected an object, got {meta!r}")
    with errors_named(where):
        return Recording(known, RunsOnDisk(len(frames), read, called, known), meta)


def _runs(folder: Path, tensors: list[_Dump]) -> list[str]:
    """Return the runs in order; RecordingError if a tensor has no file for one."""
    frames = sorted({run for dump in tensors for run in dump.files}, key=natural)
    for dump in tensors:
        lacking = [run for run in frames if run not in dump.files]
        if lacking:
            raise RecordingError(
                f"{folder}: {dump.what}: no file for frame {lacking[0]!r}; it has {many(len(dump.files), 'file')} for "
                f"{many(len(frames), 'frame')}"
            )
    return frames


def _description(folder: Path, given: Any, specs: Mapping[str, TensorSpec]) -> tuple[str, dict[str, Any]]:
    """Return the name of the description in messages, and its content."""
    if given is None and specs and not (folder / SPEC).exists():
        given = {"outputs": {name: {} for name in specs}}
    if isinstance(given, Mapping):
        where, words = "description", dict(given)
    else:
        if given is None and not (folder / SPEC).exists():
            raise RecordingError(
                f"{folder / SPEC}: expected a file that describes the dumps, got nothing{_drafted_spec_file(folder)}"
            )
        file = folder / SPEC if given is None else existing(given)
        where, words = str(file), read_json(file, folder if given is None else home_of(file))
    if not isinstance(words, dict) or not set(words) <= {"outputs", "inputs", "meta"} or not words.get("outputs"):
        got = ", ".join(map(str, words)) or "nothing" if isinstance(words, dict) else type(words).__name__
        raise RecordingError(f"{where}: expected outputs, and perhaps inputs and meta; got {got}")
    return where, words


def _drafted_spec_file(folder: Path) -> str:
    """Return what could be in the missing spec file, with words in capitals to be replaced, or nothing."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.rglob("*"), key=lambda path: natural(path.as_posix())):
        if file.suffix not in _SUFFIXES or not file.is_file() or len(found) == _DRAFTED:
            continue
        *above, stem = file.relative_to(folder).with_suffix("").parts
        runs = [part for part in above if part[-1].isdigit()]  # Result_0/pose.raw; else pose_0.raw
        starred = [re.sub(r"[0-9]+$", "*", part) if part in runs[:1] or not runs else part for part in (*above, stem)]
        name = starred[-1].rstrip("*_-. ") or stem
        entry: dict[str, Any] = {"file": "/".join(starred) + file.suffix, "shape": "SHAPE", "dtype": "DTYPE"}
        if file.suffix == ".npy" and name not in found:
            with errors_named(file):
                array = parse_npy(file.read_bytes(), str(file))
            entry.update(shape=list(array.shape), dtype=str(array.dtype))
        found.setdefault(name, {**entry, "layout": "LAYOUT", "scale": "SCALE", "zero_point": "ZERO"})
    if not found:
        return ""
    return f". With your runtime's words it is {json.dumps({'outputs': found})}; the model's inputs go below \"inputs\""


def _dumps(folder: Path, where: str, kind: str, words: Any, specs: Mapping[str, TensorSpec]) -> dict[str, _Dump]:
    if not isinstance(words, dict):
        raise RecordingError(f"{where}: {kind}s: expected {{name: {{...}}}}, got {words!r}")
    dumps = {}
    for name, entry in words.items():
        what = f"{kind} {name!r}"
        with errors_named(f"{where}: {what}"):
            if not isinstance(entry, dict):
                raise RecordingError(f"{where}: {what}: expected {{...}}, got {entry!r}")
            buffer = kind == "output" or name in specs or not set(entry) <= _PLAIN
            given = {key: value for key, value in entry.items() if key != "file"}
            spec = specs.get(name) or (_spec(name, given) if buffer or "shape" in given else None)
            files = _files(folder, name, entry.get("file"))
            images = name == FRAME and not buffer
            raw = [f for f in files.values() if f.suffix != ".npy" and not (images and f.suffix.lower() in IMAGES)]
            if raw and spec is None:
                raise RecordingError(f"{where}: {what}: {raw[0].name} contains only bytes; give its shape and dtype")
            dumps[name] = _Dump(what, files, spec, buffer)
    return dumps


def _spec(name: str, given: dict[str, Any]) -> TensorSpec:
    """Return TensorSpec.from_dict of `given`, which may have the shorter forms of quantization and layout."""
    if "shape" not in given:
        raise LayoutError("give its shape, and its layout, dtype and scale if it has any of its own")
    short = {key: given.pop(key) for key in ("scale", "zero_point", "axis") if key in given}
    if short:
        if given.get("quantization") is not None or "scale" not in short:
            raise LayoutError(f"expected scale with {', '.join(short)}, and no quantization beside it")
        given["quantization"] = short
    if not {"layout", "axes"} & set(given) and isinstance(given.get("shape"), list):
        given["layout"] = Layout.of_rank(len(given["shape"]))
    block, layout = given.pop("block", None), given.get("layout")
    if isinstance(layout, str) and "axes" not in given:
        try:
            if block is None:
                Layout(layout)  # it stays a text, whose shape is warned of if it looks like one in storage order
            else:
                given["layout"] = Layout.named(layout, block)
        except LayoutError:
            given["layout"] = Layout.named(layout, block)
    elif block is not None:
        raise LayoutError("block goes with a vendor's name as layout, and without axes")
    return TensorSpec.from_dict({"name": name, **given})


def _files(folder: Path, name: str, pattern: Any) -> dict[str, Path]:
    """Return {run: file}; a run is named by the text in place of the star."""
    if pattern is not None:
        found = _matches(folder, pattern)
        if not found:
            raise RecordingError(f"file: nothing in {folder} is called {pattern!r}")
        return found
    simple = not re.search(r"[/\\*\0]", name)
    tried = {p: _matches(folder, p) for p in (default.format(name) for default in _DEFAULTS) if simple}
    hits = [pattern for pattern, found in tried.items() if found]
    if len(hits) != 1:
        raise RecordingError(f"give its file; {' and '.join(hits) or 'nothing'} in {folder} could be it")
    return tried[hits[0]]


def _matches(folder: Path, pattern: Any) -> dict[str, Path]:
    parts = pattern.split("/") if isinstance(pattern, str) else []
    if not parts or any(part in ("", ".", "..") or re.search(r"[\\\0]", part) for part in parts):
        raise RecordingError(f"file: expected a path below the folder, such as 'heat_*.bin', got {pattern!r}")
    if pattern.count("*") > 1:
        raise RecordingError(f"file: expected one * at most, got {pattern!r}")
    found = {"": folder}
    for part in parts:
        if "*" not in part:
            found = {run: path / part for run, path in found.items()}
            continue
        before, after = (re.escape(text) for text in part.split("*"))
        names = {path.name: path for path in found[""].iterdir()} if found[""].is_dir() else {}
        matches = {name: re.fullmatch(f"{before}(.+){after}", name, re.DOTALL) for name in names}
        found = {match[1]: names[name] for name, match in matches.items() if match}
    return {run: path for run, path in found.items() if path.exists()}


def _read(folder: Path, dump: _Dump, run: str) -> np.ndarray:
    file, spec = dump.files[run], dump.spec
    npy, where = file.suffix == ".npy", f"{file}: {dump.what}"
    if file.suffix.lower() in IMAGES and spec is None:
        return _image(read_bytes(file, folder, where), where)
    size = None if npy or spec is None else (spec.nbytes, f"{spec.describe()}{spec.storage.padding_words()}")
    content: Any = read_bytes(file, folder, where, size)
    with errors_named(where):
        if npy:
            content = parse_npy(content, where)
            if spec is None:
                return content  # type: ignore[no-any-return]
            content = _bytes_of(content, spec)
        assert spec is not None
        flat = np.array(spec.flat(content))
        return flat if dump.buffer else spec.unpack(flat)


def _image(content: bytes, where: str) -> np.ndarray:
    """Return the pixels of an image file, (H, W, 3) uint8 BGR."""
    import cv2

    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if content else None
    if pixels is None:
        raise RecordingError(f"{where}: cannot be read as an image (damaged, or another format)")
    return pixels


def _bytes_of(array: np.ndarray, spec: TensorSpec) -> bytes:
    bits = array.dtype.kind == "u" and array.dtype.itemsize == spec.stored.itemsize and spec.stored.kind == "f"
    if array.dtype != spec.stored and array.dtype.name not in ("int8", "uint8") and not bits:
        raise RecordingError(f".npy of {array.dtype}; expected {spec.stored} or its bytes for {spec.describe()}")
    if not array.flags.c_contiguous:
        raise RecordingError(".npy in column order; expected the bytes as the accelerator wrote them")
    if array.dtype == spec.stored and array.size == spec.size:
        spec.flat(array)  # an array whose shape says another order is refused
    return array.tobytes()


def save_raw(recording: Recording, folder: Path) -> None:
    """Fill `folder` with raw dumps: buffers as .bin, inputs that are ready for the model as .npy, and spec.json."""
    words: dict[str, Any] = {"outputs": {}, "inputs": {}, "meta": recording.meta}
    for i, run in enumerate(recording.frames):
        home = folder / f"frame-{i:06d}"
        home.mkdir()
        for kind, side in zip(("input", "output"), run):
            entries = words[f"{kind}s"]
            for name, array in side.items():
                spec = recording.specs.get(name)
                file = f"frame-*/{kind}-{len(entries)}.{'bin' if spec else 'npy'}"
                file = entries.setdefault(name, {"file": file, **(spec.to_dict() if spec else {})})["file"]
                if spec is None:
                    (home / Path(file).name).write_bytes(npy_bytes(array))
                else:
                    (home / Path(file).name).write_bytes(spec.flat(array).tobytes())
    (folder / SPEC).write_text(json.dumps(words, indent=1), "utf-8")
