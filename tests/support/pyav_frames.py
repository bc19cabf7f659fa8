"""Frames with what the library reads of PyAV's."""

from __future__ import annotations

from types import SimpleNamespace as Twin
from typing import Any


class Plane(bytes):
    """A plane of PyAV."""

    line_size = 0


def of_pyav(planes: list[bytes], pitch: int, size_wh: tuple[int, int], **more: Any) -> Twin:
    made = tuple(map(Plane, planes))
    for plane in made:
        plane.line_size = pitch
    return Twin(format=Twin(name="nv12"), width=size_wh[0], height=size_wh[1], planes=made, **more)
