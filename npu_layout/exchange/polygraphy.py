"""Read and write Polygraphy's JSON: saved inputs and RunResults.

``polygraphy run`` writes them with ``--save-inputs`` and ``--save-outputs``.
An array is ``{"array": base64 of an .npy, "polygraphy_class": "ndarray"}``. Saved inputs are a list of
``{name: array}``, one an iteration. RunResults are ``{"lst": [[runner, [iteration, ...]], ...], "polygraphy_class":
"RunResults"}``, an iteration is ``{"outputs": {name: {"values": array, "polygraphy_class": "LazyArray"}}, "runtime":
seconds or null, "runner_name": runner, "polygraphy_class": "IterationResult"}``. If the path has no extension, newer
versions write a folder with a file for each iteration instead, 0000000000.json and so on.
Source: polygraphy/json/serde.py and polygraphy/comparator/struct.py of Polygraphy 0.53.6; LazyArray was LazyNumpyArray
before. The JSON is read here, because Polygraphy itself is not needed for that and would unpickle torch tensors.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, NamedTuple, TextIO

import numpy as np

from ..buffers import TensorSpec
from ..errors import RecordingError
from ..recordings import Arrays, Frame, Model, Recording, sides
from ..support import PathLike, argument, errors_named, npy_bytes, parse_npy
from .foreign_files import existing, home_of, imported, read_json
from .raw import SPEC

RUNNER = "npu_layout"
_KIND = "polygraphy_class"
_NOT_HERE = {SPEC, "recording.json"}


class _Iterations(NamedTuple):
    """Content of a file or a folder of files: RunResults or inputs, and {name: encoded array} of each iteration."""

    results: bool
    length: int
    encoded: Callable[[int], Any]
    where: Callable[[int], str]


def recognises(path: Path) -> bool:
    """Whether `path` is a JSON file that ends as Polygraphy's do, or a folder with such, or with folders of them."""
    if path.is_file():
        return path.suffix == ".json" and _ends_as_theirs(path)
    return path.is_dir() and any(map(_ends_as_theirs, [*path.glob("*.json"), *path.glob("*/*.json")]))


def _ends_as_theirs(file: Path) -> bool:
    with file.open("rb") as content:
        content.seek(-min(256, file.stat().st_size), os.SEEK_END)
        return _KIND.encode() in content.read()


def load_polygraphy(
    path: PathLike,
    *,
    specs: Mapping[str, TensorSpec] | None = None,
    inputs: PathLike | None = None,
    runner: str | None = None,
) -> Recording:
    """Read saved inputs and RunResults.

    path: a file of RunResults, or a folder that contains one and perhaps the inputs, as files or as folders of numbered
    files, which are recognised by their content. specs: of outputs that are an accelerator's buffers; the others are
    tensors in C order. inputs: the saved inputs if they are elsewhere. runner: the name of the runner, if there are
    several. RecordingError names file and field. A numbered file is read at each access to its run; one file's content
    is in memory.
    """
    folder = existing(path)
    single = folder.is_file() or _numbered(folder)
    parts = [_open(part, home_of(folder), runner) for part in ([folder] if single else _parts(folder))]
    results, feeds = ([part for part in parts if part.results is kind] for kind in (True, False))
    if inputs is not None:
        feeds = [_open(existing(inputs), home_of(Path(inputs)), runner)]
    if len(results) != 1 or len(feeds) > 1 or any(feed.results for feed in feeds):
        raise RecordingError(
            f"{folder}: {len(results)} RunResults (--save-outputs) and {len(feeds)} saved inputs (--save-inputs); "
            f"expected one of each, or only RunResults"
        )
    outputs, feed = results[0], feeds[0] if feeds else None
    if feed is not None and feed.length != outputs.length:
        raise RecordingError(
            f"{folder}: expected as many iterations of inputs as of outputs, {outputs.length}, got {feed.length}"
        )

    def read(i: int) -> Frame:
        given = {} if feed is None else _arrays(feed.encoded(i), f"{feed.where(i)}: input")
        return Frame(given, _arrays(outputs.encoded(i), f"{outputs.where(i)}: output"))

    with errors_named(folder):
        return imported(outputs.length, read, outputs.where, specs, {"source": {"form": "polygraphy"}})


def _numbered(folder: Path) -> bool:
    return any(file.stem.isdigit() for file in folder.glob("*.json"))


def _parts(folder: Path) -> list[Path]:
    """Return the files and folders in it that can contain iterations."""
    with errors_named(folder):
        found = [p for p in folder.iterdir() if p.suffix == ".json" or (p.is_dir() and _numbered(p))]
        return sorted(path for path in found if path.name not in _NOT_HERE)


def _open(path: Path, home: Path, runner: str | None) -> _Iterations:
    if path.is_file():
        results, found = _iterations(read_json(path, home), path, runner)
        return _Iterations(results, len(found), found.__getitem__, lambda i: f"{path}: iteration {i}")
    files = _in_order(path)

    def single(i: int) -> tuple[bool, Any]:
        kind, found = _iterations(read_json(files[i], home), files[i], runner)
        if len(found) != 1:
            raise RecordingError(f"{files[i]}: {len(found)} iterations, expected one in a numbered file")
        return kind, found[0]

    def encoded(i: int) -> Any:
        kind, found = single(i)
        if kind is not results:
            raise RecordingError(f"{files[i]}: RunResults and inputs are in one folder")
        return found

    results, _ = single(0)
    return _Iterations(results, len(files), encoded, lambda i: str(files[i]))


def _in_order(folder: Path) -> list[Path]:
    """Return a folder's files by the number that is their name; RecordingError unless these are 0, 1, 2 and so on.

    Inputs and outputs are paired by their places, so that a file that is missing would shift all behind it.
    """
    with errors_named(folder):
        found = [file for file in folder.glob("*.json") if file.name not in _NOT_HERE]
    other = sorted(file.name for file in found if not re.fullmatch("[0-9]+", file.stem))
    if other or not found:
        raise RecordingError(
            f"{folder}: expected files 0000000000.json and so on, one an iteration, got {', '.join(other) or 'none'}"
        )
    files = sorted(found, key=lambda file: int(file.stem))
    for i, file in enumerate(files):
        if int(file.stem) != i:
            wrong = "is there twice" if int(file.stem) < i else f"is missing, {file.name} is there"
            raise RecordingError(f"{folder}: iteration {min(i, int(file.stem))} {wrong}")
    return files


def _iterations(content: Any, file: Path, runner: str | None) -> tuple[bool, list[Any]]:
    """Return whether these are RunResults, and {name: encoded array} of each iteration."""
    if not isinstance(content, dict) or _KIND not in content:
        found = content if isinstance(content, list) else [content]
        if not all(isinstance(feed, dict) for feed in found):
            raise RecordingError(f"{file}: expected RunResults or a list of {{name: array}}")
        return False, found
    with errors_named(file):
        if content[_KIND] != "RunResults":
            raise RecordingError(f"{file}: {_KIND} is {content[_KIND]!r}, expected RunResults")
        runs = [(name, iterations) for name, iterations in content["lst"]]
        chosen = [iterations for name, iterations in runs if runner in (None, name)]
        if len(chosen) != 1:
            asked = "expected one runner" if runner is None else f"no runner is called {runner!r}"
            if not runs:
                raise RecordingError(f"{file}: {asked}, and it has none")
            names = ", ".join(repr(name) for name, _ in runs)
            raise RecordingError(f"{file}: {asked}, and it has {names}; import one of them with {argument('runner')}")
        found = chosen[0]
        for k, iteration in enumerate(found):
            if iteration[_KIND] != "IterationResult":
                raise RecordingError(
                    f"{file}: iteration {k}: {_KIND} is {iteration[_KIND]!r}, expected IterationResult"
                )
        return True, [iteration["outputs"] for iteration in found]


def _arrays(encoded: Any, where: str) -> Arrays:
    with errors_named(where):
        return {name: _array(value, f"{where} {name!r}") for name, value in encoded.items()}


def _array(encoded: Any, where: str) -> np.ndarray:
    with errors_named(where):
        if not isinstance(encoded, dict) or _KIND not in encoded:
            raise RecordingError(f"{where}: expected an array with a field {_KIND}, as newer versions write it")
        if encoded[_KIND] in ("LazyArray", "LazyNumpyArray"):
            encoded = encoded["values"]
        if encoded[_KIND] != "ndarray":
            raise RecordingError(
                f"{where}: {_KIND} is {encoded[_KIND]!r}, expected ndarray (torch tensors are pickled)"
            )
        return parse_npy(base64.b64decode(encoded["array"], validate=True), where)


def save_polygraphy(recording: Recording, folder: Path, model: Model | None = None) -> None:
    """Fill `folder` with inputs.json and outputs.json for ``polygraphy run --load-inputs`` and ``--load-outputs``.

    Inputs are ready for the ONNX model, outputs are unpacked, and the runner is npu_layout. One run at a time is in
    memory.
    """
    as_model = sides(recording, model)
    tail = f']]], "{_KIND}": "RunResults"}}'
    with (
        (folder / "inputs.json").open("w", encoding="utf-8") as inputs,
        (folder / "outputs.json").open("w", encoding="utf-8") as outputs,
    ):
        inputs.write("[")
        outputs.write(f'{{"lst": [["{RUNNER}", [')
        for i, run in enumerate(recording.frames):
            fed, returned = as_model(run, i)
            _write_item(inputs, i, {name: _encoded(array) for name, array in fed.items()})
            lazy = {name: {"values": _encoded(array), _KIND: "LazyArray"} for name, array in returned.items()}
            _write_item(outputs, i, {"outputs": lazy, "runtime": None, "runner_name": RUNNER, _KIND: "IterationResult"})
        inputs.write("]")
        outputs.write(tail)


def _write_item(file: TextIO, i: int, iteration: Any) -> None:
    """Write the i-th item of a JSON list."""
    file.write((",\n" if i else "\n") + json.dumps(iteration))


def _encoded(array: np.ndarray) -> dict[str, str]:
    return {"array": base64.b64encode(npy_bytes(array)).decode(), _KIND: "ndarray"}
