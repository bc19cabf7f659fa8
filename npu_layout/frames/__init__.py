"""Convert camera frames to accelerator buffers, and map points, boxes and masks back into the frame.

Imports buffers, layouts, kernels and support.
"""

from .camera_stacks import own_copy
from .frame_spec import FrameSpec
from .geometry import MODES, Geometry
from .gray import gray_views, to_gray
from .pixel_formats import Plane, format_hint, pixel_format
from .pixel_units import IMAGENET, as_pixels, said, usual
from .preprocess_arguments import ARGUMENTS, INTERPOLATIONS
from .preprocessor import Preprocessor, compiled_pass
from .recorded_frames import as_channels, frame_array, frame_part, frame_spec_of, with_bytes_exchanged

__all__ = [
    "ARGUMENTS",
    "IMAGENET",
    "INTERPOLATIONS",
    "MODES",
    "FrameSpec",
    "Geometry",
    "Plane",
    "Preprocessor",
    "as_channels",
    "as_pixels",
    "compiled_pass",
    "format_hint",
    "frame_array",
    "frame_part",
    "frame_spec_of",
    "gray_views",
    "own_copy",
    "pixel_format",
    "said",
    "to_gray",
    "usual",
    "with_bytes_exchanged",
]
