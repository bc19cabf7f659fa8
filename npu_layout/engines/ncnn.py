"""Run a model in ncnn on the CPU or with Vulkan."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Layout
from ..specs import from_ncnn
from ..support import checked_call, isolated, shown, thread_count, whole_numbers
from .runtime import RuntimeEngine, model_file, runtime

_FIELDS = ("dims", "w", "h", "d", "c", "elemsize", "elempack", "cstep")  # of a Mat, all that its spec depends on


class NcnnEngine(RuntimeEngine):
    """Runs a model in ncnn. Its outputs have gaps behind their planes, as the cstep of a Mat says.

    The rows of a layer such as DetectionOutput are as many as it finds, which no spec describes: extract such a Mat
    with ncnn itself; `decode.detection_output` reads it with ``layer="ncnn"``.

    Parameters
    ----------
    model
        Path of the .param file.
    input_shapes
        {name: (C, H, W)}: the shapes of the inputs, which an ncnn model does not contain.
    weights
        Path of the .bin file; None: the file beside the model.
    threads
        Threads of the network, 1 to 1024.
    options
        Fields of ncnn's Option, such as {"use_vulkan_compute": True}; by default 16-bit storage is off, so that results
        are float32.

    Raises
    ------
    NpuLayoutError
        If ncnn is missing, a file is missing or damaged, `input_shapes` does not fit the model's inputs, a layer fails,
        or an output has another shape than the one that it had of an input of zeros.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input_shapes: Mapping[str, Sequence[int]] | None = None,
        weights: str | os.PathLike[str] | None = None,
        threads: int = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        beside = model_file(os.path.splitext(path)[0] + ".bin" if weights is None else weights)
        self._ncnn = runtime("ncnn", "ncnn")
        self._net = self._ncnn.Net()
        stored = dict.fromkeys(("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic"), False)
        for field, value in {**stored, "num_threads": thread_count(threads), **(options or {})}.items():
            if not hasattr(self._net.opt, field):
                raise NpuLayoutError(f"options: ncnn's Option has no {field!r}")
            setattr(self._net.opt, field, value)
        if self._net.load_param(path) or self._net.load_model(beside):
            raise NpuLayoutError(f"{name}: ncnn cannot load it with {beside}")
        self._names = [list(self._net.input_names()), list(self._net.output_names())]
        inputs = [_input(name, port, input_shapes, self._names[0]) for port in self._names[0]]
        self._dims = [spec.shape[1:] for spec in inputs]
        mats = self._extracted(name, [np.zeros(spec.size, np.float32) for spec in inputs])
        self._known = [_fields(mat) for mat in mats]
        for port, mat in zip(self._names[1], mats):
            if mat.dims == 0:
                raise NpuLayoutError(f"{name}: output {isolated(port)}: empty for an input of zeros; {_VARYING}")
        outputs = [from_ncnn(mat, name=port) for mat, port in zip(mats, self._names[1])]
        super().__init__(name, inputs, outputs)

    def _extracted(self, name: str, inputs: list[np.ndarray]) -> list[Any]:
        extractor = self._net.create_extractor()
        for port, dims, flat in zip(self._names[0], self._dims, inputs):
            extractor.input(port, self._ncnn.Mat(flat.reshape(dims)).clone())
        mats = []
        for port in self._names[1]:
            status, mat = extractor.extract(port)
            if status:
                raise NpuLayoutError(f"{name}: ncnn returned {status} for the output {port!r}")
            mats.append(mat)
        return mats

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        mats = self._extracted(self.model, inputs)
        for spec, mat, known in zip(self.output_specs, mats, self._known):
            if (fields := _fields(mat)) != known:
                got = ", ".join(f"{field} {value}" for field, value in zip(_FIELDS, fields) if value is not None)
                raise NpuLayoutError(
                    f"{self.model}: output {isolated(spec.name)}: expected {spec.describe()}, got a Mat of {got}; "
                    f"{_VARYING}"
                )
        return [_memory(mat, spec) for mat, spec in zip(mats, self.output_specs)]

    def _release(self) -> None:
        self._net.clear()


def _input(name: str, port: str, shapes: Any, ports: list[str]) -> TensorSpec:
    if not isinstance(shapes, Mapping) or port not in shapes:
        given = "none" if shapes is None else shown(shapes)
        raise NpuLayoutError(
            f'{name}: an ncnn model does not say its inputs\' shapes: give input_shapes={{"{port}": (3, 192, 256)}}, '
            f"one (C, H, W) for each of {', '.join(ports)}; got {given}"
        )
    dims = whole_numbers(f"input_shapes: {port}", shapes[port], None, 1)
    return TensorSpec((1, *dims), Layout.of_rank(1 + len(dims)), name=port)


_VARYING = (
    "an output whose shape depends on the input has no spec: extract its Mat with ncnn itself; of a layer "
    "DetectionOutput, decode.detection_output(..., layer='ncnn') reads it"
)


def _fields(mat: Any) -> tuple[Any, ...]:
    return tuple(getattr(mat, field, None) for field in _FIELDS)


def _memory(mat: Any, spec: TensorSpec) -> np.ndarray:
    """Return a copy of a Mat's memory, gaps included."""
    array = np.array(mat, copy=False)
    flat: np.ndarray = np.frombuffer(ctypes.string_at(array.ctypes.data, spec.nbytes), spec.stored)
    return flat
