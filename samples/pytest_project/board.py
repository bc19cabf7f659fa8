"""The accelerator, as recordings need it: something with infer and output_specs.

This one is simulated. A real one loads its runtime in engine() and raises npu_layout.NoDeviceError, with the reason,
where there is none: then nothing is recorded, and its tests are skipped.
"""

from pathlib import Path

import npu_layout as nl

MODEL = Path(__file__).parent / "model.onnx"

# The compiled model takes pixels: (pixel - 128) / 256 is part of it.
INPUT = nl.TensorSpec((1, 3, 32, 32), "NHWC", "uint8", quantization=nl.Quantization(1 / 256, 128), name="image")
OUTPUT = nl.TensorSpec((1, 7, 8, 8), "NCHW8c", "int8", quantization=nl.Quantization(0.0075, -33), name="heat")


def engine() -> nl.SimulatedNpu:
    return nl.SimulatedNpu(MODEL, [OUTPUT], [INPUT])
