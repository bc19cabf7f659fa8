"""Read files of other tools without trust: nothing is unpickled or decompressed, and no path leaves its folder.

Every error is a RecordingError that names file and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import numpy as np

from ..buffers import TensorSpec
from ..errors import RecordingError
from ..layouts import Layout
from ..recordings import Frame, Recording, RunsOnDisk, checked_specs
from ..support import errors_named


def existing(path: Any) -> Path:
    """Return `path`; RecordingError if there is neither a file nor a folder."""
    with errors_named(path):
        found = Path(path)
        if not found.is_file() and not found.is_dir():
            raise RecordingError(f"{found}: expected a file or a folder, got {_other(found)}")
    return found


def _other(path: Path) -> str:
    """Return in words what a path is that is no such file."""
    return "another kind" if path.exists() else "nothing"


def home_of(path: Path) -> Path:
    """Return the folder that no file may leave: `path`, or that of the file that it is or links to."""
    return path if path.is_dir() else path.resolve().parent


def read_bytes(file: Path, folder: Path, where: str = "", expected: tuple[int, str] | None = None) -> bytes:
    """Read a file in `folder`; links are followed.

    where: how messages begin, if not with the file; expected: the only size accepted, and what has that size.
    """
    with errors_named(where or file):
        if not file.is_file():
            raise RecordingError(f"expected a file, got {_other(file)}")
        if folder.resolve() not in file.resolve().parents:
            raise RecordingError(f"leaves the folder {folder}; expected a file within it")
        size = file.stat().st_size
        if expected is not None and size != expected[0]:
            raise RecordingError(f"{size} bytes; expected {expected[0]} for {expected[1]}")
        return file.read_bytes()


def read_json(file: Path, folder: Path) -> Any:
    """Read a JSON file; RecordingError if it is damaged or a key appears twice."""
    content = read_bytes(file, folder)
    try:
        return json.loads(content, object_pairs_hook=_unique_keys)
    except RecordingError as error:
        raise RecordingError(f"{file}: {error}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RecordingError(f"{file}: not JSON ({error})") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict; RecordingError if a key is there twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RecordingError(f"a key is there twice among {', '.join(sorted(key for key, _ in pairs))}")
    return found


def plain_spec(array: np.ndarray, name: str) -> TensorSpec:
    """Return the spec of a tensor that is stored in C order."""
    shape = array.shape or (1,)
    return TensorSpec(shape, Layout.of_rank(len(shape)), array.dtype, name=name)


def imported(
    count: int,
    read: Callable[[int], Frame],
    where: Callable[[int], str],
    specs: Mapping[str, TensorSpec] | None,
    meta: Mapping[str, Any],
) -> Recording:
    """Return a recording whose runs are read at each access.

    Outputs without a spec in `specs` are tensors in C order, and have the first run's shape and dtype in every run.
    """
    if not count:
        raise RecordingError("there are no frames; expected one or more")
    given, first = checked_specs(specs or {}), _contiguous(read(0))
    for name in given.keys() - first.inputs.keys() - first.outputs.keys():
        raise RecordingError(f"specs: {where(0)} has no {name!r}; it has {', '.join([*first.inputs, *first.outputs])}")
    known = dict(given)
    for name, array in first.outputs.items():
        if name not in given:
            with errors_named(f"{where(0)}: output {name!r}"):
                known[name] = plain_spec(array, name)

    def same(i: int) -> Frame:
        run = _contiguous(read(i))
        for name, array in run.outputs.items():
            model = first.outputs.get(name, array)
            if name not in given and (array.shape, array.dtype) != (model.shape, model.dtype):
                raise RecordingError(
                    f"{where(i)}: output {name!r} is {array.dtype} of {array.shape}; in the first frame it is "
                    f"{model.dtype} of {model.shape}"
                )
        return run

    return Recording(known, RunsOnDisk(count, same, where, known), meta)


def _contiguous(run: Frame) -> Frame:
    return Frame(*({k: a if a.flags.c_contiguous else a.copy() for k, a in side.items()} for side in run))


def natural(text: str) -> tuple[Any, ...]:
    """Return a sort key that puts frame2 before frame10."""
    parts = re.split(r"([0-9]+)", text)
    return tuple((int(part), part) if i % 2 else part for i, part in enumerate(parts))
