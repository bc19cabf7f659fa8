"""npu_layout: exactly the buffer that an accelerator wants, and a tensor that can be trusted back."""

from typing import TYPE_CHECKING, Any

from . import host, kernels, specs  # noqa: F401  (host first: it refuses where nothing else would load)
from .array_tensor import Tensor
from .conversion import Conversion, plan
from .engines import OnnxRuntimeEngine, SimulatedNpu
from .errors import BufferSizeError, LayoutError, NoDeviceError, NpuLayoutError, RecordingError
from .formats import asformat, clone, empty_like, memory_format
from .frames import Preprocessor
from .geometry import Geometry
from .gray import to_gray
from .identify import Hypothesis, Identification, identify
from .kernels import set_num_threads
from .layout import Layout
from .quantization import Quantization
from .repack import repack
from .reshaping import why_copy
from .strided import empty, fitting_formats, is_contiguous, strides
from .tensor import TensorSpec

if TYPE_CHECKING:
    from . import exchange, ops
    from .explanation import Explanation, explain
    from .many import Reports, find_recordings, validate_many
    from .recorded_inputs import InputReport
    from .recording import Recorder, Recording
    from .report import OutputReport, Report
    from .track import track_layout
    from .validation import validate

__version__ = "0.1.0"

__all__ = [
    "BufferSizeError",
    "Conversion",
    "Explanation",
    "Geometry",
    "Hypothesis",
    "Identification",
    "InputReport",
    "Layout",
    "LayoutError",
    "NoDeviceError",
    "NpuLayoutError",
    "OnnxRuntimeEngine",
    "OutputReport",
    "Preprocessor",
    "Quantization",
    "Recorder",
    "Recording",
    "RecordingError",
    "Report",
    "Reports",
    "SimulatedNpu",
    "Tensor",
    "TensorSpec",
    "asformat",
    "clone",
    "empty",
    "empty_like",
    "exchange",
    "explain",
    "find_recordings",
    "fitting_formats",
    "identify",
    "is_contiguous",
    "kernels",
    "memory_format",
    "ops",
    "plan",
    "repack",
    "set_num_threads",
    "specs",
    "strides",
    "to_gray",
    "track_layout",
    "validate",
    "validate_many",
    "why_copy",
]

_LATE = {  # what they need takes longer to import than all the rest
    "Explanation": "explanation",
    "InputReport": "recorded_inputs",
    "OutputReport": "report",
    "Recorder": "recording",
    "Recording": "recording",
    "Report": "report",
    "exchange": "exchange",
    "explain": "explanation",
    "Reports": "many",
    "find_recordings": "many",
    "ops": "ops",
    "track_layout": "track",
    "validate": "validation",
    "validate_many": "many",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f".{_LATE[name]}", __name__)
    return module if name == _LATE[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
