"""Make a TensorSpec from a runtime's own metadata: a mapping, or an object with the runtime's field names.

Imports buffers, layouts and support.
"""

from __future__ import annotations

from .acl import from_acl
from .axera import from_axera
from .depthai import from_depthai
from .executorch import from_executorch
from .hailo import from_hailo
from .hobot import from_hobot
from .imx500 import from_imx500
from .mnn import from_mnn
from .ncnn import from_ncnn
from .nnarchive import from_nnarchive
from .openvino import from_openvino
from .qnn import from_qnn
from .rknn import from_rknn
from .tflite import from_tflite

__all__ = [
    "from_acl",
    "from_axera",
    "from_depthai",
    "from_executorch",
    "from_hailo",
    "from_hobot",
    "from_imx500",
    "from_mnn",
    "from_ncnn",
    "from_nnarchive",
    "from_openvino",
    "from_qnn",
    "from_rknn",
    "from_tflite",
]
