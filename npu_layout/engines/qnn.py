"""Run an ONNX model by onnxruntime's QNN provider: on Qualcomm's HTP, or on its emulator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import NpuLayoutError
from ..support import checked_call, text_keys
from .onnxruntime import OnnxRuntimeEngine
from .runtime import runtime


class QnnEngine(OnnxRuntimeEngine):
    """Runs a quantised (QDQ) ONNX model on Qualcomm's NPU with onnxruntime-qnn, whose x86-64 wheel has an emulator.

    Operators that the NPU does not have run on the CPU provider, as on a phone. Inputs and outputs are those that the
    model declares: floats, unless its outermost QuantizeLinear and DequantizeLinear were removed.

    Parameters
    ----------
    model, threads, dimensions
        As for OnnxRuntimeEngine.
    options
        Options of the provider, beside backend_path: ``{"htp_performance_mode": "burst"}``. "htp_arch" is the processor
        of the emulator; the default is ``{"htp_arch": "73"}``.

    Raises
    ------
    NpuLayoutError
        If onnxruntime-qnn is missing or finds no device, and as for OnnxRuntimeEngine.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        *,
        threads: int | None = None,
        dimensions: Mapping[str, int] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        if options is not None and not isinstance(options, Mapping):
            raise NpuLayoutError(f"options: expected {{name: text}}, got {options!r}")
        self._options = {"htp_arch": "73", **{k: str(v) for k, v in text_keys("options", options or {}).items()}}
        super().__init__(model, threads=threads, dimensions=dimensions)

    def _provided(self, onnxruntime: Any, options: Any) -> dict[str, Any]:
        qnn = runtime("onnxruntime_qnn", "onnxruntime-qnn")
        found = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "qnn"]
        if not found:
            onnxruntime.register_execution_provider_library("qnn", qnn.get_library_path())
            found = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "qnn"]
        if not found:
            raise NpuLayoutError(f"{self.model}: the QNN provider finds no device")
        given = {"backend_path": qnn.get_qnn_htp_path(), **self._options}
        options.add_provider_for_devices(found[:1], given)
        return {}

    @property
    def accelerators(self) -> list[str]:
        """The name of the execution provider, QNNExecutionProvider."""
        return ["QNNExecutionProvider"]
