"""Convert camera frames to buffers of neural network accelerators, and their outputs to tensors and answers."""

from typing import TYPE_CHECKING

from . import support  # isort: skip  (first: it refuses where nothing else would load)
from . import kernels, specs
from .arrays import (
    Tensor,
    asformat,
    clone,
    empty,
    empty_like,
    fitting_formats,
    is_contiguous,
    memory_format,
    strides,
    why_copy,
)
from .buffers import Conversion, Quantization, TensorSpec, plan
from .errors import ArgumentError, BufferSizeError, LayoutError, NoDeviceError, NpuLayoutError, RecordingError
from .kernels import set_num_threads
from .layouts import Layout, repack
from .support import __version__ as __version__

if TYPE_CHECKING:
    from . import decode, exchange, ops, streams, testing
    from . import diagnosis as diagnosis
    from . import engines as engines
    from .arrays import track_layout
    from .diagnosis import Hypothesis, Identification, InputReport, identify
    from .drawing import Explanation, explain
    from .engines import AclEngine as AclEngine
    from .engines import AppBuilderEngine as AppBuilderEngine
    from .engines import AxeleraEngine as AxeleraEngine
    from .engines import AxeraEngine as AxeraEngine
    from .engines import DeepxEngine as DeepxEngine
    from .engines import DepthAiEngine as DepthAiEngine
    from .engines import Engine, OnnxRuntimeEngine, SimulatedNpu, open_engine
    from .engines import ExecuTorchEngine as ExecuTorchEngine
    from .engines import HailoEngine as HailoEngine
    from .engines import HobotEngine as HobotEngine
    from .engines import Imx500Engine as Imx500Engine
    from .engines import KneronEngine as KneronEngine
    from .engines import LiteRtEngine as LiteRtEngine
    from .engines import MnnEngine as MnnEngine
    from .engines import NcnnEngine as NcnnEngine
    from .engines import NncaseSimulator as NncaseSimulator
    from .engines import OpenVinoEngine as OpenVinoEngine
    from .engines import QnnEngine as QnnEngine
    from .engines import RknnEngine as RknnEngine
    from .engines import RknnRuntimeEngine as RknnRuntimeEngine
    from .engines import RknnSimulator as RknnSimulator
    from .engines import SophgoEngine as SophgoEngine
    from .engines import TvmEngine as TvmEngine
    from .frames import FrameSpec, Geometry, Preprocessor, to_gray
    from .recordings import Recorder, Recording
    from .reports import OutputReport, Report, Reports
    from .validation import find_recordings, validate, validate_many

__all__ = [
    "ArgumentError",
    "BufferSizeError",
    "Conversion",
    "Engine",
    "Explanation",
    "FrameSpec",
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
    "decode",
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
    "open_engine",
    "ops",
    "plan",
    "repack",
    "set_num_threads",
    "specs",
    "streams",
    "strides",
    "testing",
    "to_gray",
    "track_layout",
    "validate",
    "validate_many",
    "why_copy",
]

__getattr__, __dir__ = support.late(
    __name__,
    {  # what they need takes longer to import than all the rest
        "Engine": "engines",
        "Explanation": "drawing",
        "FrameSpec": "frames",
        "Geometry": "frames",
        "Hypothesis": "diagnosis",
        "Identification": "diagnosis",
        "InputReport": "diagnosis",
        "AclEngine": "engines",
        "AppBuilderEngine": "engines",
        "AxeleraEngine": "engines",
        "AxeraEngine": "engines",
        "DeepxEngine": "engines",
        "DepthAiEngine": "engines",
        "ExecuTorchEngine": "engines",
        "HailoEngine": "engines",
        "HobotEngine": "engines",
        "Imx500Engine": "engines",
        "KneronEngine": "engines",
        "LiteRtEngine": "engines",
        "MnnEngine": "engines",
        "NcnnEngine": "engines",
        "NncaseSimulator": "engines",
        "OnnxRuntimeEngine": "engines",
        "OpenVinoEngine": "engines",
        "QnnEngine": "engines",
        "RknnEngine": "engines",
        "RknnRuntimeEngine": "engines",
        "RknnSimulator": "engines",
        "SimulatedNpu": "engines",
        "SophgoEngine": "engines",
        "TvmEngine": "engines",
        "OutputReport": "reports",
        "Preprocessor": "frames",
        "Recorder": "recordings",
        "Recording": "recordings",
        "Report": "reports",
        "Reports": "reports",
        "decode": "decode",
        "diagnosis": "diagnosis",
        "engines": "engines",
        "exchange": "exchange",
        "explain": "drawing",
        "find_recordings": "validation",
        "identify": "diagnosis",
        "open_engine": "engines",
        "ops": "ops",
        "streams": "streams",
        "testing": "testing",
        "to_gray": "frames",
        "track_layout": "arrays",
        "validate": "validation",
        "validate_many": "validation",
    },
    {
        **{name: f"specs.{name}" for name in specs.__all__},
        **{name: f"decode.{name}" for name in ("Decoder", "Detections", "Head", "draw", "nms")},
        **{name: f"streams.{name}" for name in ("EnginePool", "Stream")},
        "check_engine": "testing.check_engine",
    },
)
