"""Make a TensorSpec from a runtime's own metadata: a mapping, or an object with the runtime's field names.

The readers are entry points of the group npu_layout.specs, of this library and of other installed packages: the entry
point NAME is ``npu_layout.specs.from_NAME``.

Imports buffers, layouts and support.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import NpuLayoutError
from ..support import plugin, plugins

if TYPE_CHECKING:
    from .acl import from_acl
    from .axelera import from_axelera
    from .axera import from_axera
    from .depthai import from_depthai
    from .executorch import from_executorch
    from .hailo import from_hailo
    from .hobot import from_hobot
    from .imx500 import from_imx500
    from .kneron import from_kneron
    from .mnn import from_mnn
    from .ncnn import from_ncnn
    from .nnarchive import from_nnarchive
    from .openvino import from_openvino
    from .ovxlib import from_ovxlib
    from .qnn import from_qnn
    from .rknn import from_rknn
    from .sophgo import from_sophgo
    from .tflite import from_tflite
    from .tidl import from_tidl
    from .viplite import from_viplite

__all__ = [
    "from_acl",
    "from_axelera",
    "from_axera",
    "from_depthai",
    "from_executorch",
    "from_hailo",
    "from_hobot",
    "from_imx500",
    "from_kneron",
    "from_mnn",
    "from_ncnn",
    "from_nnarchive",
    "from_openvino",
    "from_ovxlib",
    "from_qnn",
    "from_rknn",
    "from_sophgo",
    "from_tflite",
    "from_tidl",
    "from_viplite",
]

_GROUP = "npu_layout.specs"
_OWN = {name[len("from_") :]: f"npu_layout.specs.{name[len('from_') :]}:{name}" for name in __all__}


def __getattr__(name: str) -> Any:
    found = plugin(_GROUP, _OWN, name[len("from_") :]) if name.startswith("from_") else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    reader = found.load()
    if not callable(reader):
        raise NpuLayoutError(f"{found.describe()}: expected a function of a tensor's metadata, got {reader!r}")
    globals()[name] = reader
    return reader


def __dir__() -> list[str]:
    names = set(__all__)
    with suppress(NpuLayoutError):  # of another package; it is raised where a reader is asked for
        names |= {f"from_{one}" for one in plugins(_GROUP, _OWN)}
    return sorted({*names, *(name for name in globals() if name.startswith("__"))})
