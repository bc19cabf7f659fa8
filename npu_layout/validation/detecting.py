"""Compare what a head reads from the device's outputs with what it reads from the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import decode
from ..buffers import TensorSpec
from ..decode import Comparison, Head, same
from ..diagnosis import image_size
from ..errors import NpuLayoutError
from ..layouts import Layout
from ..support import check_used, instance, naming, real_number
from .comparing import KeptRun
from .pairing import Output

CONFIDENCE = 0.25  # the least score of a detection, unless the caller says another


def least_score(head: Any, confidence: Any) -> float:
    """Return the least score of a detection; NpuLayoutError on what is no head, and if there is none to use it."""
    least = real_number("confidence", confidence)
    if head is None:
        check_used("confidence", least, CONFIDENCE, "without head=, which says what the outputs mean")
    else:
        instance("head", head, Head, "a Head, such as npu_layout.decode.yolov8()")
    return least


def compare_detections(
    head: Head, outputs: Sequence[Output], kept: Sequence[KeptRun], confidence: float
) -> dict[int, Comparison]:
    """Return, for each kept frame by its number, how the device's detections differ from the model's.

    NpuLayoutError if the outputs do not fit the head, or no input of the model is an image.
    """
    size = _input_shape(kept[0].inputs)
    with naming("head"):
        device = decode.Decoder(head, [o.spec.replace(name=o.model.name) for o in outputs], size)
        model = decode.Decoder(head, [_plain(o) for o in outputs], size)
    found = {}
    for k in kept:
        reference = {o.model.name: np.asarray(k.references[o.model.name], np.float32).reshape(-1) for o in outputs}
        wanted = model(reference, confidence)
        seen = wanted[:0]  # as declared, no score of the device reaches the threshold: a wrong scale, perhaps
        if confidence <= device.largest_score:
            seen = device({o.model.name: k.outputs[o.name] for o in outputs}, confidence)
        found[k.number] = same(seen, wanted, confidence=confidence)
    return found


def _plain(output: Output) -> TensorSpec:
    """Return how the model returns an output: float32, contiguous, in its own order."""
    shape = output.model.shape
    return TensorSpec(shape, Layout.of_rank(len(shape)), name=output.model.name)


def _input_shape(inputs: Mapping[str, np.ndarray]) -> tuple[int, int]:
    for x in inputs.values():
        size = image_size(x.shape)
        if size is not None:
            return size
    shapes = ", ".join(f"{name} {x.shape}" for name, x in inputs.items())
    raise NpuLayoutError(f"head: expected a model with an image as input, got {shapes}")
