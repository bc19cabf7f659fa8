"""Find the line that made a call: in the user's own code, and in the library below it, if there is one."""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
from pathlib import Path

import numpy as np


def _folder(package: str) -> tuple[str, ...]:
    """Return the folder of an imported package, wherever in it this module is."""
    return Path(sys.modules[package].__file__ or "").parent.parts


_ROOTS = [
    (_folder(__name__.partition(".")[0]), "ours"),
    (_folder(np.__name__), "numpy"),
    *((Path(sysconfig.get_path(name)).parts, "library") for name in ("stdlib", "platstdlib", "purelib", "platlib")),
]


def call_site(level: types.FrameType | None) -> tuple[str, int, str] | None:
    """Return the file and line of the code that called, and the library's file and line, if one is in between.

    None if npu_layout itself called.
    """
    nearest = ""
    while level is not None:
        file = level.f_code.co_filename
        owner = owner_of(file)
        if owner == "ours":
            break
        if owner == "user":
            return file, level.f_lineno, nearest
        if owner == "library" and not nearest:
            nearest = f"{file}:{level.f_lineno}"
        level = level.f_back
    file, _, line = nearest.rpartition(":")
    return (file, int(line), "") if level is None and file else None


@functools.lru_cache(maxsize=4096)
def owner_of(file: str) -> str:
    """Return whether code is "ours", of "numpy" and cv2, of another "library", or the "user"'s."""
    if file.startswith(("<frozen", "<__array_function__")):
        return "numpy"
    folders = Path(file).parts
    for root, owner in _ROOTS:
        if folders[: len(root)] == root:
            return owner
    return "library" if {"site-packages", "dist-packages"} & set(folders) else "user"
