"""Write a picture to a file whose name says which kind it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..errors import NpuLayoutError
from ..support import path_of, whole

ENDINGS = (".svg", ".png")


def picture_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a picture's file; NpuLayoutError if it does not end in one of `ENDINGS`."""
    target = Path(path_of("path", path))
    if target.suffix.lower() not in ENDINGS:
        raise NpuLayoutError(f"picture {str(target)!r}: expected a name that ends in {' or '.join(ENDINGS)}")
    return target


def write_picture(path: str | os.PathLike[str], svg: Callable[[], bytes], png: Callable[[], bytes]) -> None:
    """Write what the writer of the file's ending returns; NpuLayoutError on another ending."""
    target = picture_path(path)
    content = dict(zip(ENDINGS, (svg, png)))[target.suffix.lower()]()
    with whole(target) as file:
        file.write(content)
