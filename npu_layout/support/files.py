"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Union

# What is accepted as the path of a file or folder.
PathLike = Union[str, "os.PathLike[str]"]


@contextmanager
def whole(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file to fill, which replaces `path` when the block ends, and nothing if it raises.

    Links are followed and the mode is kept. A device or a pipe, which nothing may replace, is written to directly. An
    OSError names `path`.
    """
    straight = os.path.exists(path) and not os.path.isfile(path)
    target = Path(path) if straight else Path(os.path.realpath(path))
    partial = target if straight else target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        try:
            with partial.open("wb") as file:
                yield file
            if not straight:
                if target.exists():
                    shutil.copymode(target, partial)
                os.replace(partial, target)
        finally:
            if not straight:
                partial.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
