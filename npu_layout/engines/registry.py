"""Open an engine by its kind and its model: the library's own, those of other packages, and a project's factories."""

from __future__ import annotations

import os
from typing import Any

from ..errors import NpuLayoutError
from ..support import path_text, plugin, plugins, shown
from .factories import engine_named

GROUP = "npu_layout.engines"
#: The library's own kinds, as a package would declare them in the group of entry points.
OWN = {
    "acl": "npu_layout.engines.acl:AclEngine",
    "appbuilder": "npu_layout.engines.appbuilder:AppBuilderEngine",
    "axelera": "npu_layout.engines.axelera:AxeleraEngine",
    "axera": "npu_layout.engines.axera:AxeraEngine",
    "deepx": "npu_layout.engines.deepx:DeepxEngine",
    "depthai": "npu_layout.engines.depthai:DepthAiEngine",
    "executorch": "npu_layout.engines.executorch:ExecuTorchEngine",
    "hailo": "npu_layout.engines.hailo:HailoEngine",
    "hobot": "npu_layout.engines.hobot:HobotEngine",
    "imx500": "npu_layout.engines.imx500:Imx500Engine",
    "kneron": "npu_layout.engines.kneron:KneronEngine",
    "litert": "npu_layout.engines.litert:LiteRtEngine",
    "mnn": "npu_layout.engines.mnn:MnnEngine",
    "ncnn": "npu_layout.engines.ncnn:NcnnEngine",
    "nncase": "npu_layout.engines.nncase:NncaseSimulator",
    "onnx": "npu_layout.engines.onnxruntime:OnnxRuntimeEngine",
    "openvino": "npu_layout.engines.openvino:OpenVinoEngine",
    "qnn": "npu_layout.engines.qnn:QnnEngine",
    "rknn": "npu_layout.engines.rknn:RknnEngine",
    "rknn-simulator": "npu_layout.engines.rknn_simulator:RknnSimulator",
    "rknnrt": "npu_layout.engines.rknnrt:RknnRuntimeEngine",
    "sophgo": "npu_layout.engines.sophgo:SophgoEngine",
    "tvm": "npu_layout.engines.tvm:TvmEngine",
}
SUFFIXES = {
    ".axmodel": "axera",
    ".blob": "depthai",
    ".bmodel": "sophgo",
    ".dlc": "appbuilder",
    ".dxnn": "deepx",
    ".hbm": "hobot",
    ".hef": "hailo",
    ".kmodel": "nncase",
    ".mnn": "mnn",
    ".nef": "kneron",
    ".om": "acl",
    ".onnx": "onnx",
    ".param": "ncnn",
    ".pte": "executorch",
    ".rpk": "imx500",
    ".rknn": "rknn",
    ".superblob": "depthai",
    ".tflite": "litert",
    ".xml": "openvino",
}
_EXPORT = "expected a model that a runtime runs; export this one to ONNX first"
_YOURS = "no engine here runs such models; an object of yours with infer and output_specs is one"
#: What to do with other models, by suffix.
_OTHERS = {
    ".bin": "expected the runtime's kind before it: hobot: (D-Robotics), appbuilder: (a context of Qualcomm's QNN)",
    ".pt": _EXPORT,
    ".pth": _EXPORT,
    ".keras": _EXPORT,
    ".dfp": _YOURS,
    ".engine": _YOURS,
    ".plan": _YOURS,
    ".trt": _YOURS,
}


def open_engine(name: str | os.PathLike[str], **options: Any) -> Any:
    """Return the engine that runs a model, or the one that a project's own factory makes.

    Parameters
    ----------
    name
        ``"litert:model.tflite"``: a kind of engine and the path of a model. The kinds are acl, appbuilder, axelera,
        axera, deepx, depthai, executorch, hailo, hobot, imx500, kneron, litert, mnn, ncnn, nncase, onnx, openvino, qnn,
        rknn, rknn-simulator, rknnrt, sophgo, tvm and those of other packages (entry points of the group
        npu_layout.engines). Or the path alone, if its suffix is .axmodel, .blob, .bmodel, .dlc, .dxnn, .hbm, .hef,
        .kmodel, .mnn, .nef, .om, .onnx, .param, .pte, .rknn, .rpk, .superblob, .tflite or .xml. Or
        ``"package.module:factory"``, a callable without arguments that returns an engine.
    options
        The engine's own arguments: ``open_engine("model.param", input_shapes={"in0": (3, 192, 256)})``. A factory
        accepts none.

    Returns
    -------
    An Engine, which is closed by ``close()`` or ``with``.

    Raises
    ------
    NoDeviceError
        If a factory raises it, or returns None.
    NpuLayoutError
        If there is no such kind, model or factory, the runtime is not installed, or it refuses the model.

    Examples
    --------
    >>> open_engine("onnx:nowhere.onnx")
    Traceback (most recent call last):
    npu_layout.errors.NpuLayoutError: model nowhere.onnx: no such file
    """
    text = path_text("name", name)
    kind, colon, model = text.partition(":")
    suffix = os.path.splitext(text)[1].lower()
    entry = plugin(GROUP, OWN, kind) if colon else None
    is_word = len(kind) > 1 and kind.replace("-", "").isalnum()  # else the colon belongs to a path
    if entry is None and colon and suffix in SUFFIXES and is_word and not os.path.exists(text):
        known = ", ".join(plugins(GROUP, OWN))
        raise NpuLayoutError(
            f"engine {text!r}: expected a kind before the colon, one of {known}, got {kind!r}; for models {suffix} it "
            f"is {SUFFIXES[suffix]}"
        )
    if entry is None and suffix in SUFFIXES:
        entry, model = plugin(GROUP, OWN, SUFFIXES[suffix]), text
    if entry is None and colon:
        if options:
            raise NpuLayoutError(f"engine {text!r}: a factory accepts no options, got {', '.join(options)}")
        return engine_named(text)
    if entry is None and suffix in _OTHERS:
        raise NpuLayoutError(f"engine {text!r}: {_OTHERS[suffix]}")
    if entry is None:
        kinds, suffixes = ", ".join(plugins(GROUP, OWN)), ", ".join(SUFFIXES)
        raise NpuLayoutError(
            f"engine {text!r}: no KIND:MODEL ({kinds}), and no model with the suffix {suffixes}; "
            f"else expected package.module:factory"
        )
    make = entry.load()
    try:
        return make(model, **options)
    except TypeError as error:
        raise NpuLayoutError(f"engine {entry.name!r}: options {shown(options)}: {error}") from error
