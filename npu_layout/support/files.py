"""Files and folders that appear under their name complete, or not at all.

What it imports of the standard library is imported by its functions: it would be a fifth of `import npu_layout`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Union

from .arguments import path_of

if TYPE_CHECKING:
    from pathlib import Path

# What is accepted as the path of a file or folder.
PathLike = Union[str, "os.PathLike[str]"]


_POINTER = b"version https://git-lfs.github.com/spec/"
_LEGIBLE = 40  # characters of a name that its partial file's has too: a file system's limit is 255 bytes


def _hidden_name(target: Path, kind: str) -> Path:
    """Return a hidden name beside `target` that no other process, thread or call has."""
    return target.with_name(f".{target.name[:_LEGIBLE]}.{os.getpid()}-{os.urandom(6).hex()}.{kind}")


@contextmanager
def whole(path: PathLike) -> Iterator[BinaryIO]:
    """Open a new file for writing, which replaces `path` when the block ends, but not if the block raises.

    Links are followed and the mode is kept. A device or a pipe, which nothing may replace, is written to directly. An
    OSError that has a number names `path`. NpuLayoutError if `path` is no path.
    """
    from pathlib import Path

    path_of("path", path)
    straight = os.path.exists(path) and not os.path.isfile(path)
    target = Path(path) if straight else Path(os.path.realpath(path))
    partial = target if straight else _hidden_name(target, "partial")
    try:
        try:
            with partial.open("wb" if straight else "xb") as file:
                yield file
            if not straight:
                if target.exists():
                    import shutil

                    shutil.copymode(target, partial)
                os.replace(partial, target)
        finally:
            if not straight:
                partial.unlink(missing_ok=True)
    except OSError as error:
        if error.errno is None:  # of the block: it has words alone
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def no_file(path: PathLike, missing: str = "no such file") -> str:
    """Return the end of a message on a path that is no file: what is there instead, or `missing` if nothing is."""
    if os.path.isdir(path):
        return "is a directory"
    return "is a device, a pipe or a socket; expected a file" if os.path.exists(path) else missing


def lfs_pointer(path: PathLike) -> str:
    """Return the end of a message on a file: that Git LFS has left a pointer in its place; "" if it has not."""
    try:
        with open(path, "rb") as file:
            is_one = file.read(len(_POINTER)) == _POINTER
    except OSError:
        return ""
    return "; it is a pointer of Git LFS in the file's place: git lfs pull" if is_one else ""


def write_text(path: PathLike, text: str) -> None:
    """Write a file in UTF-8 that appears under its name complete, or not at all; errors as `whole`."""
    content = text.encode()
    with whole(path) as file:
        file.write(content)


def json_text(value: Any, path: PathLike | None = None) -> str:
    """Return `value` as JSON text, and write it to `path`, if given, as `write_text` does; ValueError on NaN."""
    import json

    text = json.dumps(value, indent=1, allow_nan=False)
    if path is not None:
        write_text(path, text + "\n")
    return text


@contextmanager
def whole_folder(path: PathLike, replace: bool = False) -> Iterator[Path]:
    """Make a new folder to fill, which appears as `path` when the block ends, but not if the block raises.

    With `replace`, a folder that is already there stays until then. An OSError about the partial folder names `path`.
    """
    import shutil
    from pathlib import Path

    target = Path(path_of("path", path))
    partial, before = _hidden_name(target, "partial"), _hidden_name(target, "before")
    try:
        partial.mkdir(parents=True)
        yield partial
        try:
            if replace and target.exists():
                target.rename(before)
            partial.rename(target)
        except BaseException:
            if before.exists() and not target.exists():
                before.rename(target)
            raise
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        if error.filename is not None:
            error.filename = str(error.filename).replace(str(partial), str(target))
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
