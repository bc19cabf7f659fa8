"""Run an RKNN model on a Rockchip board by the C interface: buffers as the NPU stores them, without a copy."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_rknn
from ..support import checked_call, one_of, path_of, whole_number
from .runtime import RuntimeEngine, distinct, model_file, refused

# rknn_api.h of airockchip/rknn-toolkit2 2.3.2, rknpu2/runtime/Linux/librknn_api/include
_QUERY_COUNTS, _QUERY_INPUT, _QUERY_OUTPUT, _QUERY_NATIVE_INPUT = 0, 1, 2, 8
_QUERY_STORED = {"native": 9, "nhwc": 11}
_UINT8, _NHWC, _NO_QUANTIZATION = 3, 1, 0
_STATUSES = {
    -1: "FAIL",
    -2: "TIMEOUT",
    -3: "DEVICE_UNAVAILABLE",
    -4: "MALLOC_FAIL",
    -5: "PARAM_INVALID",
    -6: "MODEL_INVALID",
    -7: "CTX_INVALID",
    -8: "INPUT_INVALID",
    -9: "OUTPUT_INVALID",
    -10: "DEVICE_UNMATCH",
    -11: "INCOMPATILE_PRE_COMPILE_MODEL",  # the header's spelling
    -12: "INCOMPATILE_OPTIMIZATION_LEVEL_VERSION",
    -13: "TARGET_PLATFORM_UNMATCH",
}
_IMAGE_CHANNELS, _ALL_CORES = (1, 3, 4), 0xFFFF
_CONTEXT = ctypes.c_uint32 if ctypes.sizeof(ctypes.c_void_p) == 4 else ctypes.c_uint64  # of __arm__, and of others


class _TensorCounts(ctypes.Structure):
    _fields_ = (("n_input", ctypes.c_uint32), ("n_output", ctypes.c_uint32))


class _Attr(ctypes.Structure):
    _fields_ = (
        ("index", ctypes.c_uint32),
        ("n_dims", ctypes.c_uint32),
        ("dims", ctypes.c_uint32 * 16),
        ("name", ctypes.c_char * 256),
        ("n_elems", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("fmt", ctypes.c_int),
        ("type", ctypes.c_int),
        ("qnt_type", ctypes.c_int),
        ("fl", ctypes.c_int8),
        ("zp", ctypes.c_int32),
        ("scale", ctypes.c_float),
        ("w_stride", ctypes.c_uint32),
        ("size_with_stride", ctypes.c_uint32),
        ("pass_through", ctypes.c_uint8),
        ("h_stride", ctypes.c_uint32),
    )


class _TensorMemory(ctypes.Structure):
    _fields_ = (
        ("virt_addr", ctypes.c_void_p),
        ("phys_addr", ctypes.c_uint64),
        ("fd", ctypes.c_int32),
        ("offset", ctypes.c_int32),
        ("size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("priv_data", ctypes.c_void_p),
    )


_SIGNATURES = {
    "rknn_init": (ctypes.POINTER(_CONTEXT), ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p),
    "rknn_destroy": (_CONTEXT,),
    "rknn_query": (_CONTEXT, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32),
    "rknn_set_core_mask": (_CONTEXT, ctypes.c_int),
    "rknn_set_io_mem": (_CONTEXT, ctypes.POINTER(_TensorMemory), ctypes.POINTER(_Attr)),
    "rknn_run": (_CONTEXT, ctypes.c_void_p),
    "rknn_create_mem": (_CONTEXT, ctypes.c_uint32),
    "rknn_destroy_mem": (_CONTEXT, ctypes.POINTER(_TensorMemory)),
}


class _Model:
    """A loaded model. It is unloaded when nothing refers to it, nor to its memory, any more."""

    def __init__(self, path: str, library: str) -> None:
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise NpuLayoutError(
                f"{library} cannot be loaded ({error}); it comes with the board's system, or from "
                "github.com/airockchip/rknn-toolkit2, rknpu2/runtime"
            ) from error
        self._name, self._context = library, _CONTEXT()
        start, end = self.function("rknn_init"), self.function("rknn_destroy")
        self.destroy_memory = self.function("rknn_destroy_mem")
        _check("rknn_init", start(ctypes.byref(self._context), os.fsencode(path), 0, 0, None))
        weakref.finalize(self, end, self._context)

    def function(self, name: str) -> Any:
        """Return a function of the library; NpuLayoutError if it has none of that name."""
        try:
            found = getattr(self._library, name)
        except AttributeError as error:
            raise NpuLayoutError(f"{self._name} has no function {name}; another version may have it") from error
        found.argtypes = _SIGNATURES[name]
        found.restype = ctypes.POINTER(_TensorMemory) if name == "rknn_create_mem" else ctypes.c_int
        return found

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of a context; NpuLayoutError if it returns an error."""
        _check(name, self.function(name)(self._context, *arguments))

    def attr(self, query: int, index: int) -> _Attr:
        """Return an attribute of the input or output of that number."""
        found = _Attr(index=index)
        self.call("rknn_query", query, ctypes.byref(found), ctypes.sizeof(found))
        return found

    def bind(self, spec: TensorSpec, attr: _Attr) -> np.ndarray:
        """Return new memory that the NPU reads an input from, or writes an output to: 1-D, as `spec` says, of zeros."""
        dtype = spec.stored
        nbytes = max(spec.size * dtype.itemsize, attr.size_with_stride)
        memory = self.function("rknn_create_mem")(self._context, nbytes)
        if not memory or not memory.contents.virt_addr:
            raise NpuLayoutError(f"rknn_create_mem: no memory of {nbytes} bytes for {spec.describe()}")
        raw = (ctypes.c_uint8 * nbytes).from_address(memory.contents.virt_addr)
        weakref.finalize(raw, _destroy_memory, self, memory)
        self.call("rknn_set_io_mem", memory, ctypes.byref(attr))
        flat = np.frombuffer(raw, np.uint8)
        flat[:] = 0
        return flat[: spec.size * dtype.itemsize].view(dtype)


def _destroy_memory(model: _Model, memory: Any) -> None:
    model.destroy_memory(model._context, memory)


def _check(name: str, status: int) -> None:
    if status != 0:
        raise NpuLayoutError(f"{name} returned {status} ({_STATUSES.get(status, 'an unknown error')})")


class RknnRuntimeEngine(RuntimeEngine):
    """Runs an RKNN model with librknnrt.so (airockchip/rknn-toolkit2, rknn_api.h), in memory that the NPU itself uses.

    The processor dequantises and reorders nothing: outputs are int8 blocks of channels (NC1HWC2), which
    `TensorSpec.unpack` and `npu_layout.decode` read. An image, which is an NHWC input of 1, 3 or 4 channels, is uint8
    pixels: the NPU subtracts the mean, divides by the std and quantises, as the conversion of the model said. Other
    inputs are as the NPU stores them. The runtime keeps the caches of NPU and processor consistent. Models whose shapes
    vary are not supported. Never run on a device: it was tried against a library with the same interface.

    Parameters
    ----------
    model
        Path of the .rknn file.
    core_mask
        The mask for rknn_set_core_mask, on chips of several cores: 1, 2 or 4 for one of three cores; None: the driver's
        choice.
    images
        "pixels", or "stored" for inputs of 1, 3 or 4 channels that are no image of uint8: they are then as the NPU
        stores them, like other inputs.
    outputs
        "native" (as the NPU writes them), or "nhwc" (the runtime's NHWC, as in Rockchip's samples for RV1103 and
        RV1106).
    library
        Path or name of the shared library.

    Attributes
    ----------
    input_buffers, output_buffers
        {name: array} of the memory that the NPU reads and writes: of the storage shape, or 1-D if that has gaps.
        `infer` does not copy an input that is the array of `input_buffers`, nor outputs with
        ``out=engine.output_buffers``. The arrays stay valid after `close`, as long as something refers to them.

    Raises
    ------
    NpuLayoutError
        If the library is missing or returns an error; the message has the function, and the error's number and name.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        core_mask: int | None = None,
        images: str = "pixels",
        outputs: str = "native",
        library: str | os.PathLike[str] = "librknnrt.so",
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        stored = _QUERY_STORED[one_of("outputs", outputs, tuple(_QUERY_STORED))]
        pixels = one_of("images", images, ("pixels", "stored")) == "pixels"
        mask = None if core_mask is None else whole_number("core_mask", core_mask, "a mask of cores")
        if mask is not None and not 0 <= mask <= _ALL_CORES:
            raise NpuLayoutError(f"core_mask: expected 0 to {_ALL_CORES}, got {mask}")
        try:
            loaded = _Model(path, path_of("library", library))
            if mask is not None:
                loaded.call("rknn_set_core_mask", mask)
            counts = _TensorCounts()
            loaded.call("rknn_query", _QUERY_COUNTS, ctypes.byref(counts), ctypes.sizeof(counts))
            inputs = [_input(loaded, i, pixels) for i in range(counts.n_input)]
            answers = [_output(loaded, i, stored) for i in range(counts.n_output)]
            sides = [
                distinct(name, kind, [s for s, _ in side]) for kind, side in (("input", inputs), ("output", answers))
            ]
            self._memories = [loaded.bind(spec, attr) for spec, attr in (*inputs, *answers)]
        except NpuLayoutError as error:
            raise refused(name, error) from error
        self._model: _Model | None = loaded
        super().__init__(name, *sides)

    @property
    def input_buffers(self) -> dict[str, np.ndarray]:
        """The memory of each input: {name: array}; {} after `close`."""
        return {spec.name: _shaped(spec, memory) for spec, memory in zip(self.input_specs, self._memories)}

    @property
    def output_buffers(self) -> dict[str, np.ndarray]:
        """The memory of each output: {name: array}; {} after `close`."""
        memories = self._memories[len(self.input_specs) :]
        return {spec.name: _shaped(spec, memory) for spec, memory in zip(self.output_specs, memories)}

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for memory, flat in zip(self._memories, inputs):
            np.copyto(memory, flat)
        assert self._model is not None
        try:
            self._model.call("rknn_run", None)
        except NpuLayoutError as error:
            raise NpuLayoutError(f"{self.model}: {error}") from None
        return self._memories[len(inputs) :]

    def _release(self) -> None:
        self._memories, self._model = [], None


def _shaped(spec: TensorSpec, memory: np.ndarray) -> np.ndarray:
    return memory.reshape(spec.storage_shape) if spec.storage.is_dense else memory


def _input(model: _Model, index: int, pixels: bool) -> tuple[TensorSpec, _Attr]:
    """Return what is given to the runtime, and the attribute that says so."""
    attr = model.attr(_QUERY_INPUT, index)
    if pixels and attr.fmt == _NHWC and attr.n_dims == 4 and attr.dims[3] in _IMAGE_CHANNELS:
        attr.type, attr.qnt_type, attr.pass_through = _UINT8, _NO_QUANTIZATION, 0
        return from_rknn(attr), attr
    native = model.attr(_QUERY_NATIVE_INPUT, index)
    native.pass_through = 1
    return from_rknn(attr, native), native


def _output(model: _Model, index: int, query: int) -> tuple[TensorSpec, _Attr]:
    native = model.attr(query, index)
    return from_rknn(model.attr(_QUERY_OUTPUT, index), native), native
