"""An engine to record, what it records, and whether two recordings are the same, for tests alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import npu_layout as nl

SPECS = {
    "heat": nl.TensorSpec((1, 17, 4, 5), "NCHW16c", "int8", quantization=nl.Quantization(0.1, 3), name="heat"),
    "boxes": nl.TensorSpec((1, 6, 4), "NCW", "float32", name="boxes"),
}


class Engine:
    """Answers with buffers that it uses again, as runtimes do."""

    def __init__(self) -> None:
        self.output_specs = SPECS
        self.input_specs = {"image": nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8", name="image")}
        self.buffers = {name: np.zeros(spec.size, spec.stored) for name, spec in SPECS.items()}

    def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        for k, buffer in enumerate(self.buffers.values()):
            buffer[:] = (np.asarray(inputs["image"]).ravel()[: buffer.size].sum() + np.arange(buffer.size) + k) % 100
        return self.buffers


def image(i: int) -> np.ndarray:
    return np.random.default_rng(i).integers(0, 256, (1, 8, 8, 3), np.uint8)


def recorded(folder: Path, frames: int = 3, **more: object) -> list[dict[str, np.ndarray]]:
    engine = Engine()
    answers = []
    with nl.Recorder(engine, folder, **more) as recorder:  # type: ignore[arg-type]
        for i in range(frames):
            given = recorder.infer({"image": image(i)}, frame=image(i)[0])
            answers.append({name: array.copy() for name, array in given.items()})
            given["heat"][:] = -1  # a later write changes nothing
    return answers


def same(a: nl.Recording, b: nl.Recording) -> bool:
    return (a.specs, a.meta, len(a)) == (b.specs, b.meta, len(b)) and all(
        one.keys() == two.keys()
        and all(one[k].dtype == two[k].dtype and one[k].tobytes() == two[k].tobytes() for k in one)
        and all(one[k].shape == two[k].shape for k in one)
        for f, g in zip(a, b)
        for one, two in zip(f, g)
    )
