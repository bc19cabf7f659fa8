"""npu_layout: exactly the buffer that an accelerator wants, and a tensor that can be trusted back."""

from . import kernels, specs
from .conversion import Conversion, plan
from .engines import OnnxRuntimeEngine, SimulatedNpu
from .errors import BufferSizeError, LayoutError, NpuLayoutError, RecordingError
from .frames import Preprocessor
from .geometry import Geometry
from .gray import to_gray
from .kernels import set_num_threads
from .layout import Layout
from .quantization import Quantization
from .recording import Recorder, Recording
from .repack import repack
from .tensor import TensorSpec

__version__ = "0.1.0"

__all__ = [
    "BufferSizeError",
    "Conversion",
    "Geometry",
    "Layout",
    "LayoutError",
    "NpuLayoutError",
    "OnnxRuntimeEngine",
    "Preprocessor",
    "Quantization",
    "Recorder",
    "Recording",
    "RecordingError",
    "SimulatedNpu",
    "TensorSpec",
    "kernels",
    "plan",
    "repack",
    "set_num_threads",
    "specs",
    "to_gray",
]
