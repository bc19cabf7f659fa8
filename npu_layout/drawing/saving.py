"""Write a picture to a file whose name says which kind it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import NpuLayoutError
from ..support import path_of, whole


def write_picture(path: str | os.PathLike[str], writers: Mapping[str, Callable[[], bytes]]) -> None:
    """Write what the writer of the file's ending returns; NpuLayoutError on another ending."""
    target = Path(path_of("path", path))
    if target.suffix.lower() not in writers:
        raise NpuLayoutError(f"picture {str(target)!r}: expected a name that ends in {' or '.join(writers)}")
    content = writers[target.suffix.lower()]()
    with whole(target) as file:
        file.write(content)
