"""Stand-ins with the attributes of GStreamer's frames."""

from __future__ import annotations

from types import SimpleNamespace as Twin
from typing import Any


def meta(name: str, size: Any, strides: Any, offsets: Any) -> Twin:
    """A GstVideo.VideoMeta; it always has four strides and offsets."""
    nick = name.lower().replace("_", "-")
    padded = [[*given, *[0] * (4 - len(given))] for given in (strides, offsets)]
    format_ = Twin(value_nick=nick)
    return Twin(
        format=format_, width=size[0], height=size[1], n_planes=len(strides), stride=padded[0], offset=padded[1]
    )
