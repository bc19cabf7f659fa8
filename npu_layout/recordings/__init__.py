"""What went into an accelerator and what came out, kept so that it can be judged later.

Imports engines, frames, buffers, layouts and support.
"""

from .capturing import Feed, capture, simulated
from .folder import new_folder
from .frames import FRAME, Arrays, Frame, FramesOnDisk, checked_specs
from .model_side import Feeds, Model, as_model, completed, normalisation, paired, sides
from .recorder import Recorder
from .recording import Recording
from .sources import Frames

__all__ = [
    "FRAME",
    "Arrays",
    "Feed",
    "Feeds",
    "Frame",
    "Frames",
    "FramesOnDisk",
    "Model",
    "Recorder",
    "Recording",
    "as_model",
    "capture",
    "checked_specs",
    "completed",
    "new_folder",
    "normalisation",
    "paired",
    "sides",
    "simulated",
]
