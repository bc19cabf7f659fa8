"""Run a model: in onnxruntime, in another runtime, or as a simulated accelerator that returns buffers as a board would.

Imports buffers, layouts, specs and support.
"""

from typing import TYPE_CHECKING

from ..support import late
from .calibration import calibrate
from .factories import engine_named
from .model_axes import axes_in_model, fits, order_in_model, shape_in_model, transposed
from .onnxruntime import OnnxRuntimeEngine, ports, reference
from .protocol import Engine, checked_outputs, checked_targets, specs_of
from .simulated import SimulatedNpu

if TYPE_CHECKING:
    from .acl import AclEngine
    from .appbuilder import AppBuilderEngine
    from .axelera import AxeleraEngine
    from .axera import AxeraEngine
    from .deepx import DeepxEngine
    from .depthai import DepthAiEngine
    from .executorch import ExecuTorchEngine
    from .hailo import HailoEngine
    from .hobot import HobotEngine
    from .imx500 import Imx500Engine
    from .kneron import KneronEngine
    from .litert import LiteRtEngine
    from .mnn import MnnEngine
    from .ncnn import NcnnEngine
    from .nncase import NncaseSimulator
    from .openvino import OpenVinoEngine
    from .qnn import QnnEngine
    from .registry import open_engine
    from .rknn import RknnEngine
    from .rknn_simulator import RknnSimulator
    from .rknnrt import RknnRuntimeEngine
    from .sophgo import SophgoEngine
    from .tvm import TvmEngine

__all__ = [
    "AclEngine",
    "AppBuilderEngine",
    "AxeleraEngine",
    "AxeraEngine",
    "DeepxEngine",
    "DepthAiEngine",
    "Engine",
    "ExecuTorchEngine",
    "HailoEngine",
    "HobotEngine",
    "Imx500Engine",
    "KneronEngine",
    "LiteRtEngine",
    "MnnEngine",
    "NcnnEngine",
    "NncaseSimulator",
    "OnnxRuntimeEngine",
    "OpenVinoEngine",
    "QnnEngine",
    "RknnEngine",
    "RknnRuntimeEngine",
    "RknnSimulator",
    "SimulatedNpu",
    "SophgoEngine",
    "TvmEngine",
    "axes_in_model",
    "calibrate",
    "checked_outputs",
    "checked_targets",
    "engine_named",
    "fits",
    "open_engine",
    "order_in_model",
    "ports",
    "reference",
    "shape_in_model",
    "specs_of",
    "transposed",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "AclEngine": "acl",
        "AppBuilderEngine": "appbuilder",
        "AxeleraEngine": "axelera",
        "AxeraEngine": "axera",
        "DeepxEngine": "deepx",
        "DepthAiEngine": "depthai",
        "ExecuTorchEngine": "executorch",
        "HailoEngine": "hailo",
        "HobotEngine": "hobot",
        "Imx500Engine": "imx500",
        "KneronEngine": "kneron",
        "LiteRtEngine": "litert",
        "MnnEngine": "mnn",
        "NcnnEngine": "ncnn",
        "NncaseSimulator": "nncase",
        "OpenVinoEngine": "openvino",
        "QnnEngine": "qnn",
        "RknnEngine": "rknn",
        "RknnRuntimeEngine": "rknnrt",
        "RknnSimulator": "rknn_simulator",
        "SophgoEngine": "sophgo",
        "TvmEngine": "tvm",
        "open_engine": "registry",
    },
)
