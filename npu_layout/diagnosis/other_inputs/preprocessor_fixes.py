"""Whether a Preprocessor takes the arguments of a fix, and where those belong that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...buffers import TensorSpec
from ...errors import NpuLayoutError
from ...frames import Preprocessor

_CHANNELS, _SIDE = (3, 1, 4), 16  # of images


def of_colours(fix: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fix that was made of a frame's colours, without `yuv` beside another interpolation than declared.

    ``yuv="planes"`` has not all interpolations, and colours were resized by this one.
    """
    same = fix.get("interpolation", "linear") == declared.get("interpolation", "linear")
    return {name: value for name, value in fix.items() if same or name != "yuv"}


def is_refused(fix: Mapping[str, Any]) -> bool:
    """Whether a Preprocessor refuses arguments for any image, such as a mean and std in units of 0 to 1."""
    images = (TensorSpec((1, channels, _SIDE, _SIDE)) for channels in _CHANNELS)
    return not any(_is_accepted({"target": image, **fix}) for image in images)


def _is_accepted(how: Mapping[str, Any]) -> bool:
    try:
        Preprocessor(**how)
    except NpuLayoutError:
        return False
    return True


def of_pixels(fix: Mapping[str, Any]) -> str:
    """Return where mean and std of a fix belong whose target stores pixels; "" if a Preprocessor takes all of it."""
    if fix["target"].quantization is not None or not is_refused(fix):
        return ""
    return (
        " Mean and std of the fix are what the accelerator's model does to the pixels: they belong in the recording's "
        "preprocess=, and not in the Preprocessor that writes the buffer."
    )
