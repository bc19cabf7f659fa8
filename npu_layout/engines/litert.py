"""Run a TFLite model in LiteRT on the CPU, or with a delegate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..specs import from_tflite
from ..support import counted
from .runtime import RuntimeEngine, model_file, refused, runtime


class LiteRtEngine(RuntimeEngine):
    """Runs a TFLite model in LiteRT (ai-edge-litert): int8 and float, NHWC as TFLite stores it.

    Parameters
    ----------
    model
        Path of the .tflite file, or its bytes.
    threads
        Of the interpreter.
    delegates
        Delegates that the runtime loaded, such as that of an Edge TPU (``load_delegate("libedgetpu.so.1")``).

    Raises
    ------
    NpuLayoutError
        If ai-edge-litert is missing, or the model is missing or damaged.
    """

    def __init__(
        self, model: str | os.PathLike[str] | bytes, *, threads: int = 1, delegates: Sequence[Any] = ()
    ) -> None:
        content = isinstance(model, (bytes, bytearray))
        source: dict[str, Any] = {"model_content": bytes(model)} if content else {"model_path": model_file(model)}  # type: ignore[arg-type]
        name = "model" if content else f"model {source['model_path']}"
        interpreters = runtime("ai_edge_litert.interpreter", "ai-edge-litert")
        try:
            self._interpreter = interpreters.Interpreter(
                **source, num_threads=counted("threads", threads), experimental_delegates=list(delegates) or None
            )
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise refused(name, error) from error
        self._inputs = self._interpreter.get_input_details()
        self._outputs = self._interpreter.get_output_details()
        super().__init__(name, [from_tflite(d) for d in self._inputs], [from_tflite(d) for d in self._outputs])

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for details, spec, flat in zip(self._inputs, self.input_specs, inputs):
            self._interpreter.set_tensor(details["index"], flat.reshape(spec.storage_shape))
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(details["index"]) for details in self._outputs]

    def _release(self) -> None:
        del self._interpreter
