"""Run an axmodel on an AXERA NPU by pyaxengine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import checked_call, text_of, whole_number
from .runtime import RuntimeEngine, distinct, layout_of, model_file, opening, per_tensor, runtime

_CARD = "AXCLRTExecutionProvider"


class AxeraEngine(RuntimeEngine):
    """Runs an axmodel with pyaxengine's InferenceSession (AXERA-TECH/pyaxengine, axengine/_session.py).

    The session resembles onnxruntime's: it reports the name, shape and dtype of each tensor (axengine/_node.py), but
    not the order of its axes, and returns dense copies. It runs on the board's own NPU (AxEngineExecutionProvider) or
    on an M.2 card (AXCLRTExecutionProvider). Never run on a device: it was tried against a stand-in for axengine.

    Parameters
    ----------
    model
        Path of the .axmodel file.
    provider
        Name of the provider; None: the first that axengine finds.
    device
        Number of the card, for AXCLRTExecutionProvider; None: the first.
    layouts
        {name: letters of its axes}, such as ``{"images": "NHWC"}``, of inputs and outputs; the letters of others follow
        from their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of the shape.

    Raises
    ------
    NpuLayoutError
        If axengine is missing, there is no NPU, the session refuses the model, or reports tensors without names.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        provider: str | None = None,
        device: int | None = None,
        layouts: Mapping[str, str] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        options: dict[str, Any] = {}
        if provider is not None:
            options["providers"] = text_of("provider", provider)
        if device is not None:
            options["provider_options"] = [{"device_id": whole_number("device", device)}]
        library = runtime("axengine", "axengine", "install the wheel of github.com/AXERA-TECH/pyaxengine")
        self._session: Any = None
        with opening(name, self._release):
            self._session = session = library.InferenceSession(path, **options)
            nodes = (session.get_inputs(), session.get_outputs())
            letters = per_tensor("layouts", layouts, [str(node.name) for side in nodes for node in side])
            inputs, outputs = (
                distinct(name, kind, [_spec(name, node, letters) for node in side])
                for kind, side in zip(("input", "output"), nodes)
            )
            self._dtypes = [np.dtype(node.dtype) for node in nodes[0]]
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        # The session copies an array's memory whatever its strides are, and reads bfloat16 as the dtype of ml_dtypes.
        feed = {
            spec.name: flat.view(dtype).reshape(spec.shape)
            for spec, flat, dtype in zip(self.input_specs, inputs, self._dtypes)
        }
        return [_plain(answer) for answer in self._session.run(None, feed)]

    def _release(self) -> None:
        session, self._session = self._session, None  # which unloads the model in its __del__
        # axengine keeps sessions on a card in a list, so that __del__ is not called (_axclrt.py, _all_model_instances).
        if hasattr(session, "__exit__"):
            session.__exit__(None, None, None)
        on_card: Any = getattr(session, "_sess", None)
        # In 0.1.3 that does nothing, because the session on the card has none; one on the board is unloaded by __del__.
        if hasattr(on_card, "_unload") and not hasattr(on_card, "__exit__") and session.get_providers() == _CARD:
            on_card._unload()


def _spec(model: str, node: Any, letters: Mapping[str, str]) -> TensorSpec:
    if not isinstance(node.name, str):  # 0.1.2 reports a pointer of the outputs of a card
        raise NpuLayoutError(f"{model}: axengine reports the name {node.name!r}: expected text; use a later axengine")
    shape = tuple(node.shape)
    return TensorSpec(shape, layout_of(model, node.name, shape, letters), node.dtype, name=node.name)


def _plain(array: Any) -> np.ndarray:
    """Return an array with the bits of bfloat16 as uint16."""
    found = np.asarray(array)
    return found.view(np.uint16) if found.dtype.name == "bfloat16" else found
