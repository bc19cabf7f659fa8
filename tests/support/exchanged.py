"""A recording to import and export, what the ONNX model has of it, and small helpers, for tests alone."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

import npu_layout as nl
from tests.support.paths import DATA

SNAPSHOT = DATA / "rknn_snapshot"
HEAT = nl.TensorSpec((1, 17, 4, 5), "NCHW16c", "int8", quantization=nl.Quantization(0.1, 3), name="heat")
SPECS = {
    "heat": HEAT,
    "boxes/xyxy:0": nl.TensorSpec((1, 6, 4), "NCW", "float16", name="boxes/xyxy:0"),
    "classes": nl.TensorSpec((1, 6), "NC", "int64", name="classes"),
    "image": nl.TensorSpec((1, 3, 4, 5), "NHWC", "uint8", name="image"),
}
PREPROCESS = {"color": "RGB", "mean": [10.0, 20.0, 30.0], "std": 2.0}


def recording(frames: int = 3) -> nl.Recording:
    def frame(i: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        rng = np.random.default_rng(i)
        inputs = {
            "image": rng.integers(0, 256, 60).astype(np.uint8),
            "threshold": np.float32(0.5),
            "mask": rng.random((1, 4, 5)) < 0.5,
        }
        outputs = {
            "heat": rng.integers(-128, 128, HEAT.size).astype(np.int8),
            "boxes/xyxy:0": rng.standard_normal((1, 6, 4)).astype(np.float16),
            "classes": rng.integers(0, 9, (1, 6)),
        }
        return inputs, outputs

    return nl.Recording(SPECS, [frame(i) for i in range(frames)], {"preprocess": PREPROCESS, "note": "lab"})


def equal(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> None:
    assert list(one) == list(two)
    for name, array in one.items():
        assert (array.dtype, array.tobytes()) == (two[name].dtype, two[name].tobytes()), name


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def dumps(folder: Path, words: dict[str, Any] | None = None, **files: bytes) -> Path:
    """A folder of raw dumps; a file's name has __ for the dot and the folders' slashes."""
    for name, content in files.items():
        *homes, last, kind = name.split("__")
        file = folder.joinpath(*homes, f"{last}.{kind}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if words is not None:
        (folder / "spec.json").write_text(json.dumps(words))
    return folder


def npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def unpacked(original: nl.Recording) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """What the ONNX model would have had, computed here in another way."""
    frames = []
    for inputs, outputs in original:
        pixels = inputs["image"].reshape(4, 5, 3).astype(np.float32)
        image = ((pixels - np.float32([10, 20, 30])) / np.float32(2)).transpose(2, 0, 1)[None]
        codes = np.concatenate([*outputs["heat"].reshape(2, 4, 5, 16).transpose(0, 3, 1, 2)])[:17]
        heat = ((codes.astype(np.float32) - np.float32(3)) * np.float32(0.1))[None]
        frames.append(({**inputs, "image": image}, {**outputs, "heat": heat}))
    return frames
