"""Find the recordings in trees of folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from ..errors import RecordingError
from ..support import PathLike, items_of, path_of


def find_recordings(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """Return the recordings at and below `paths`, each once.

    The recordings below a folder are in the order of their names; links to folders and hidden folders are left out.
    RecordingError if there is no recording at or below a path, or a folder cannot be listed.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else items_of("paths", paths, object, "paths")
    given = [path_of("paths", path) for path in several]
    found: dict[str, None] = {}
    for path in given:
        below = list(_below(path))
        if not below:
            there = os.path.isdir(path)
            what = "no recording in this folder; " if there else "expected a recording, or a folder of them; "
            elsewhere = "other tools' dumps become one by npu-layout import" if there else "there is neither"
            if os.path.isfile(path):
                elsewhere = "got a file; recordings are named before the model"
            raise RecordingError(f"{path or repr(path)}: {what}{elsewhere}")
        found.update(dict.fromkeys(below))
    return list(found)


def _below(root: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise RecordingError(f"{error.filename}: {error.strerror}")

    for folder, folders, files in os.walk(root, onerror=refuse) if os.path.isdir(root) else ():
        if "recording.json" in files:
            yield folder
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
