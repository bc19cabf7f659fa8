"""What good calls of everything public are given: arrays, specs, a model of one node, a recording, dumps of it."""

from __future__ import annotations

import copy
import itertools
from functools import cache, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import npu_layout as nl
from npu_layout import exchange, pytest_plugin
from tests.support.small_models import FLOAT, build, helper

SPEC = nl.TensorSpec((1, 4, 2, 3), "NCHW4c", "int8", quantization=nl.Quantization(0.5, 1), name="y")
TARGET = nl.TensorSpec((1, 4, 2, 3), "NHWC")
GEOMETRY = nl.Geometry.letterbox((8, 6), (4, 4))
SHAPE = (1, 4, 2, 3)
NIBBLES = nl.TensorSpec(SHAPE, "NCHW", "int4")
_numbers = itertools.count()


def image(dtype: Any = "uint8", channels: int = 3) -> np.ndarray:
    return np.arange(1 * channels * 4 * 5, dtype=dtype).reshape(1, channels, 4, 5)


def stored() -> np.ndarray:
    return np.arange(SPEC.size, dtype=np.int8)


@lru_cache(maxsize=1)
def model() -> bytes:
    """y = -x, both (1,4,2,3), for an input that is an accelerator's buffer, or not."""
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    return bytes(build(nodes, [("x", FLOAT, SHAPE)], [("y", FLOAT, SHAPE)]))


@lru_cache(maxsize=1)
def engine() -> nl.OnnxRuntimeEngine:
    return nl.OnnxRuntimeEngine(model(), threads=1)


def own_engine() -> nl.OnnxRuntimeEngine:
    """One that a call may close."""
    return nl.OnnxRuntimeEngine(model(), threads=1)


@lru_cache(maxsize=1)
def npu() -> nl.SimulatedNpu:
    return nl.SimulatedNpu(engine(), [SPEC])


def tensor() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def run() -> tuple[dict[str, Any], dict[str, Any]]:
    return {"x": tensor()}, {"y": npu().infer(tensor())["y"]}


@lru_cache(maxsize=1)
def recording() -> nl.Recording:
    return nl.Recording({"y": SPEC}, [run()], {"note": "lab"})


@lru_cache(maxsize=1)
def report() -> nl.Report:
    return nl.validate(recording(), engine(), progress=False)


def new(name: str) -> str:
    """A path in the working directory at which nothing is."""
    return f"{next(_numbers)}{name}"


def on_disk() -> str:
    if not Path("saved").exists():
        recording().save("saved")
    return "saved"


def model_file() -> str:
    Path("model.onnx").write_bytes(model())
    return "model.onnx"


def dumps(form: str = "raw") -> str:
    name = new("dumps")
    exchange.save(recording(), name, form=form)
    return name


def layers() -> dict[str, np.ndarray]:
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    return {"x": x, "y": -x}


@cache
def _compared() -> exchange.LayerComparison:
    return exchange.compare_layers(layers(), layers(), model_file())


def compared() -> exchange.LayerComparison:
    return copy.deepcopy(_compared())


def recorder() -> nl.Recorder:
    return nl.Recorder(npu(), new("recorded"))


def explanation() -> nl.Explanation:
    return nl.explain("NHWC", (1, 4, 2, 3), at=(0, 1, 0, 1))


def preprocessor() -> nl.Preprocessor:
    return nl.Preprocessor(nl.TensorSpec((1, 3, 4, 4), "NHWC", "uint8"))


def frame() -> np.ndarray:
    return np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def calibration_set() -> exchange.CalibrationSet:
    return exchange.CalibrationSet([frame()], nl.Preprocessor(nl.TensorSpec((1, 3, 4, 4))), "image")


def fixture() -> pytest_plugin.Recordings:
    """The fixture of a test beside which there is a recording called saved."""
    config = SimpleNamespace(
        inipath=None,
        rootpath=Path.cwd(),
        getini=lambda name: "." if name == "npu_recordings" else "",
        getoption=lambda name: False,
    )
    on_disk()
    return pytest_plugin.Recordings(config, Path("test_it.py"), {}, {})
