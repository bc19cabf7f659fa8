"""Record the inputs and outputs of an accelerator to disk, and read them back for a comparison.

Imports engines, frames, buffers, layouts and support.
"""

from .capturing import Feed, capture, simulated
from .folder import new_folder
from .model_inputs import Feeds, normalisation, of_pixels
from .model_outputs import as_model, completed, paired
from .model_runs import Model, sides
from .recorder import Recorder
from .recording import Recording, rechecked
from .runs import CAMERA, FRAME, ROI, Arrays, Frame, RunsOnDisk, checked_specs, roi_of
from .sources import IMAGES, Frames

__all__ = [
    "CAMERA",
    "FRAME",
    "IMAGES",
    "ROI",
    "Arrays",
    "Feed",
    "Feeds",
    "Frame",
    "Frames",
    "Model",
    "Recorder",
    "Recording",
    "RunsOnDisk",
    "as_model",
    "capture",
    "checked_specs",
    "completed",
    "new_folder",
    "normalisation",
    "of_pixels",
    "paired",
    "rechecked",
    "roi_of",
    "sides",
    "simulated",
]
