"""Run an offline model on an Ascend NPU by pyACL."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_acl
from ..support import checked_call, naming, safe_lock, whole_number
from .runtime import RuntimeEngine, distinct, model_file, names_of, opening, per_tensor, runtime

# acl/acl_base.h, acl/acl_rt.h
_INITIALISED = 100002  # ACL_ERROR_REPEAT_INITIALIZE
_HUGE_FIRST = 0  # ACL_MEM_MALLOC_HUGE_FIRST
_TO_DEVICE, _TO_HOST = 1, 2  # ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST

_started: Any = None
_starting = safe_lock()


class AclEngine(RuntimeEngine):
    """Runs an offline model with pyACL, the package acl of Huawei's CANN, in memory and a context of its own.

    The functions that it calls are those of the CANN documentation, "pyACL API Reference" (hiascend.com,
    canncommercial/800, apiref/appdevgapi: acl.mdl.get_input_dims_v2 is aclpythondevg_01_0211, get_output_dims 0212,
    unload 0157, acl.rt.create_context 0075, set_context 0077, malloc 0114, acl.get_recent_err_msg 0009). A model is
    loaded, run and unloaded in one context, whatever thread calls; the thread then gets its own context back. The
    device is neither set nor reset, which would release what others have there. acl.init is called once in a process,
    acl.finalize at its end. Inputs have the shapes that AIPP reads. Never run on a device: it was tried against a
    stand-in for acl.

    Parameters
    ----------
    model
        Path of the .om file.
    device
        Number of the device.
    shapes
        {name: logical shape} of the tensors in NC1HWC0, (N, C, H, W), and in FRACTAL_NZ, (M, K), whose dims are padded.
    layouts
        {name: letters of its axes}, such as ``{"heat": "NHWC"}``, of inputs and outputs in ND, which says no order; the
        letters of others follow from their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of
        the shape.
    output_names
        Names of the outputs in the model's order; None: the model's own, such as "Conv_12:0:heat".

    Raises
    ------
    NpuLayoutError
        If acl is missing, there is no device, CANN refuses the model, it has dynamic dims, or there are not as many
        names as outputs. For pyACL's errors the message has the function, the code, and acl.get_recent_err_msg.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        device: int = 0,
        shapes: Mapping[str, Sequence[int]] | None = None,
        layouts: Mapping[str, str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> None:
        path = model_file(model)
        self.model = name = f"model {path}"
        number = whole_number("device", device)
        self._acl = acl = runtime("acl", "acl", "install Huawei's CANN, which has it, and source its set_env.sh")
        self._open, self._context = ExitStack(), None
        self._end = weakref.finalize(self, _destroy, acl, self._open, own := [])
        self._end.atexit = False  # acl.finalize may have been called by then
        with opening(name, self._end):
            self._start()
            with _own_context_restored(acl):
                self._context = self._took("rt.create_context", acl.rt.destroy_context, number)
                own.append(self._context)
                self._id = self._took("mdl.load_from_file", acl.mdl.unload, path)
                desc = self._made("mdl.create_desc", acl.mdl.destroy_desc)
                self._checked("mdl.get_desc", acl.mdl.get_desc(desc, self._id))
                inputs, outputs = self._specs(desc, shapes, layouts, output_names)
                self._inputs, self._outputs = self._memory(inputs), self._memory(outputs)
                self._fed, self._found = self._dataset(self._inputs, inputs), self._dataset(self._outputs, outputs)
        self._host = [np.empty(spec.size, spec.stored) for spec in outputs]
        super().__init__(name, inputs, outputs)

    def _start(self) -> None:
        """Initialise AscendCL, once in a process."""
        global _started
        with _starting:
            if _started is not self._acl:
                code = self._acl.init()
                if code != _INITIALISED:  # by others, who end it too
                    self._checked("init", code)
                    atexit.register(self._acl.finalize)
                _started = self._acl

    def _checked(self, function: str, code: Any) -> None:
        if code != 0:
            words = self._acl.get_recent_err_msg() if hasattr(self._acl, "get_recent_err_msg") else None
            why = f": {' '.join(str(words).split())}" if words else ""
            raise NpuLayoutError(f"{self.model}: acl.{function} returned {code}{why}")

    def _called(self, function: str) -> Any:
        group, _, name = function.rpartition(".")
        return getattr(getattr(self._acl, group) if group else self._acl, name)

    def _took(self, function: str, undo: Any, *arguments: Any) -> Any:
        """Return what a function gives beside its code; `undo` is called with it at the end."""
        found, code = self._called(function)(*arguments)
        self._checked(function, code)
        self._open.callback(undo, found)
        return found

    def _made(self, function: str, undo: Any, *arguments: Any) -> Any:
        """Return the address that a function creates, which is 0 if it cannot; `undo` is called with it at the end."""
        found = self._called(function)(*arguments)
        if not found:
            self._checked(function, "no address")
        self._open.callback(undo, found)
        return found

    def _specs(
        self, desc: Any, shapes: Any, layouts: Any, output_names: Any
    ) -> tuple[list[TensorSpec], list[TensorSpec]]:
        found = {"input": self._described(desc, "input"), "output": self._described(desc, "output")}
        if output_names is not None:
            names = names_of(self.model, "output", len(found["output"]), output_names)
            taken = {fields["name"] for fields in found["input"]}.intersection(names)
            if taken:
                raise NpuLayoutError(f"output_names: expected names that no input has, got {sorted(taken)}")
            for fields, name in zip(found["output"], names):
                fields["name"] = name
        known = [fields["name"] for side in found.values() for fields in side]
        given, letters = per_tensor("shapes", shapes, known), per_tensor("layouts", layouts, known)
        inputs, outputs = (
            distinct(self.model, kind, [self._spec(fields, given, letters) for fields in side])
            for kind, side in found.items()
        )
        return inputs, outputs

    def _described(self, desc: Any, side: str) -> list[dict[str, Any]]:
        """Return what pyACL's queries say of all inputs or outputs."""
        mdl = self._acl.mdl
        listed = []
        for i in range(getattr(mdl, f"get_num_{side}s")(desc)):
            query = "get_input_dims_v2" if side == "input" else "get_output_dims"
            dims, code = getattr(mdl, query)(desc, i)
            self._checked(f"mdl.{query}", code)
            listed.append(
                {
                    "name": getattr(mdl, f"get_{side}_name_by_index")(desc, i),
                    "dims": dims["dims"],
                    "format": getattr(mdl, f"get_{side}_format")(desc, i),
                    "data_type": getattr(mdl, f"get_{side}_data_type")(desc, i),
                    "size": getattr(mdl, f"get_{side}_size_by_index")(desc, i),
                }
            )
        return listed

    def _spec(self, fields: dict[str, Any], shapes: Mapping[str, Any], letters: Mapping[str, Any]) -> TensorSpec:
        name = fields["name"]
        with naming(self.model):
            return from_acl(fields, shape=shapes.get(name), layout=letters.get(name))

    def _memory(self, specs: list[TensorSpec]) -> list[int]:
        return [self._took("rt.malloc", self._acl.rt.free, spec.nbytes, _HUGE_FIRST) for spec in specs]

    def _dataset(self, addresses: list[int], specs: list[TensorSpec]) -> Any:
        acl = self._acl
        dataset = self._made("mdl.create_dataset", acl.mdl.destroy_dataset)
        for address, spec in zip(addresses, specs):
            buffer = self._made("create_data_buffer", acl.destroy_data_buffer, address, spec.nbytes)
            _, code = acl.mdl.add_dataset_buffer(dataset, buffer)
            self._checked("mdl.add_dataset_buffer", code)
        return dataset

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        copy = self._acl.rt.memcpy
        with _own_context_restored(self._acl):
            self._checked("rt.set_context", self._acl.rt.set_context(self._context))
            for address, flat in zip(self._inputs, inputs):
                code = copy(address, flat.nbytes, flat.ctypes.data, flat.nbytes, _TO_DEVICE)
                self._checked("rt.memcpy", code)
            self._checked("mdl.execute", self._acl.mdl.execute(self._id, self._fed, self._found))
            for address, host in zip(self._outputs, self._host):
                self._checked("rt.memcpy", copy(host.ctypes.data, host.nbytes, address, host.nbytes, _TO_HOST))
        return self._host

    def _release(self) -> None:
        self._end()


@contextmanager
def _own_context_restored(acl: Any) -> Iterator[None]:
    """Give the calling thread its own context back."""
    before, code = acl.rt.get_context()
    try:
        yield
    finally:
        if code == 0:
            acl.rt.set_context(before)


def _destroy(acl: Any, done: ExitStack, context: list[Any]) -> None:
    """Destroy all, the last first, in the engine's context; what fails is left, since nothing helps."""
    if not context:
        return
    with suppress(Exception), _own_context_restored(acl):
        acl.rt.set_context(context[0])
        done.close()
