"""Write a PyTorch model as one ONNX file that onnxruntime 1.17 reads, with its preprocessing in the metadata."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def export(
    model: Any, size_hw: tuple[int, int], outputs: Sequence[str], preprocess: Mapping[str, object], path: Path
) -> None:
    """`model`: in evaluation mode, of one input (1, 3, H, W), "image"; the file appears when it is complete."""
    import onnx
    import torch

    written = io.BytesIO()
    torch.onnx.export(
        model,
        (torch.zeros(1, 3, *size_hw),),
        written,
        input_names=["image"],
        output_names=list(outputs),
        opset_version=17,
        dynamo=False,
    )
    proto = onnx.load_from_string(written.getvalue())
    proto.ir_version = min(proto.ir_version, 8)
    for key, value in preprocess.items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = key, str(value)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    onnx.save(proto, partial)
    partial.replace(path)
