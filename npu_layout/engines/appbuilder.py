"""Run a compiled QNN model on a Qualcomm NPU by QAI AppBuilder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_qnn
from ..support import checked_call, instance, many, one_of, path_of, text_of
from .runtime import RuntimeEngine, distinct, model_file, opening, per_tensor, runtime

# src/QnnSampleApp.cpp: dataTypeToString, and the enum of QnnTypes.h that each word stands for
_WORDS = {
    **{f"{kind}{bits}": f"{kind.upper()}_{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FLOAT_{bits}" for bits in (16, 32, 64)},
    **{f"{sign}fp{bits}": f"{sign.upper()}FIXED_POINT_{bits}" for sign in "su" for bits in (4, 8, 16, 32)},
    "bool_": "BOOL_8",
}
_NUMBER = itertools.count()


class AppBuilderEngine(RuntimeEngine):
    """Runs a context binary or a DLC with qai_appbuilder (quic/ai-engine-direct-helper, docs/guide_en.md, QNNContext).

    AppBuilder reports the name, shape and type of each tensor, but not the order of its axes and no scale. If a file
    has several graphs, the first one runs. AppBuilder does not report that QNN refuses a model: it goes on with a null
    pointer (src/LibAppBuilder.cpp, getInputShapes), which ends the process; its log says why. Never run on a device: it
    was tried against a stand-in for qai_appbuilder.

    Parameters
    ----------
    model
        Path of the .bin or .dlc file.
    data_type
        "float": buffers are float32, and AppBuilder quantises and dequantises them; "native": buffers are the graph's.
    target
        "Htp" or "Cpu", which backend of QNN runs the model.
    libraries
        The folder of QNN's libraries; None: that of the package.
    layouts
        {name: letters of its axes}, such as ``{"image": "NCHW"}``, of inputs and outputs; others have their channels
        last, as QNN's operations have them.
    specs
        {name: TensorSpec} of inputs and outputs; needed for native fixed-point tensors. from_qnn reads them from the
        JSON of qnn-context-binary-utility.

    Raises
    ------
    NpuLayoutError
        If qai_appbuilder or QNN's libraries are missing, a type has no layout here, or a spec is missing or has another
        size or dtype than the tensor.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        data_type: str = "float",
        target: str = "Htp",
        libraries: str | os.PathLike[str] | None = None,
        layouts: Mapping[str, str] | None = None,
        specs: Mapping[str, TensorSpec] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        kind = one_of("data_type", data_type, ("float", "native"))
        backend = one_of("target", target, ("Htp", "Cpu"))
        folder = "None" if libraries is None else path_of("libraries", libraries)  # AppBuilder's word for none
        if folder != "None" and not os.path.isdir(folder):
            raise NpuLayoutError(f"libraries: {folder}: no such folder")
        library = runtime("qai_appbuilder", "qai_appbuilder")
        self._context: Any = None
        with opening(name, self._release):
            library.QNNConfig.Config(qnn_lib_path=folder, runtime=backend)
            self._context = context = library.QNNContext(
                model_name=f"npu_layout {next(_NUMBER)}", model_path=path, input_data_type=kind, output_data_type=kind
            )
            names = (list(context.getInputName()), list(context.getOutputName()))
            known = names[0] + names[1]
            letters, given = per_tensor("layouts", layouts, known), per_tensor("specs", specs, known)
            inputs, outputs = (
                distinct(name, side, _specs(name, kind, list(zip(*said)), letters, given))
                for side, said in (
                    ("input", _same(name, names[0], context.getInputShapes(), context.getInputDataType())),
                    ("output", _same(name, names[1], context.getOutputShapes(), context.getOutputDataType())),
                )
            )
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        found = self._context.Inference(list(inputs))
        if len(found) != len(self.output_specs):  # none, if the graph fails
            raise NpuLayoutError(
                f"{self.model}: AppBuilderEngine: got {many(len(found), 'output')}, expected {len(self.output_specs)}; "
                f"QNN's log may say why"
            )
        return [_bits(array, spec) for array, spec in zip(found, self.output_specs)]

    def _release(self) -> None:
        self._context = None  # it unloads the model in its __del__


def _same(model: str, *lists: Sequence[Any]) -> tuple[Sequence[Any], ...]:
    """Return names, shapes and types; NpuLayoutError if a shape is missing, as of tensors without axes."""
    if len({len(one) for one in lists}) != 1:
        raise NpuLayoutError(f"{model}: the tensors {lists[0]} have the shapes {lists[1]}: expected a shape for each")
    return lists


def _specs(
    model: str, kind: str, said: list[Any], letters: Mapping[str, str], given: Mapping[str, Any]
) -> list[TensorSpec]:
    found = []
    for name, shape, word in said:
        if word not in _WORDS:
            raise NpuLayoutError(f"{model}: {name}: type {word!r}: expected one of {', '.join(_WORDS)}")
        axes = text_of("layouts", letters[name]) if name in letters else None
        type_ = _WORDS["float32" if kind == "float" else word]
        spec = from_qnn({"name": name, "dimensions": list(shape), "dataType": f"QNN_DATATYPE_{type_}"}, axes=axes)
        if name in given:
            spec = _described(model, spec, given[name])
        elif "FIXED" in type_:
            raise NpuLayoutError(
                f"{model}: {name}: AppBuilder reports no scale of {word}: give specs={{{name!r}: TensorSpec}}, "
                f"or data_type='float'"
            )
        found.append(spec)
    return found


def _described(model: str, spec: TensorSpec, given: Any) -> TensorSpec:
    """Return a spec that is given, with the tensor's name; NpuLayoutError if it is another buffer."""
    instance(f"specs[{spec.name!r}]", given, TensorSpec)
    if (given.nbytes, given.dtype) != (spec.nbytes, spec.dtype):
        raise NpuLayoutError(f"{model}: {spec.name} is {spec.describe()}; specs has {given.describe()}")
    named: TensorSpec = given.replace(name=spec.name)
    return named


def _bits(array: Any, spec: TensorSpec) -> np.ndarray:
    """Return an output as the graph stores it: AppBuilder calls all of 2 bytes float16, and of 4 float32."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(spec.stored) if flat.dtype.itemsize == spec.stored.itemsize else flat
