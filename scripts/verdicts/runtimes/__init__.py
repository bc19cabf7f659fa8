"""Real runtimes on this machine: networks of the zoo, compiled and run by the arithmetic that boards have.

A module of this package is the glue for one runtime. Its RUNTIMES names what it offers, such as "openvino-int8"; the
zoo's name for a network on a runtime is "yolo8@openvino-int8". Glue is two functions:

``compiled(model, inputs, folder)``
    Write into `folder` what the runtime loads, made of a `models.Model` and float inputs to calibrate with.
``opened(folder)``
    A `Device`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl

Arrays = dict[str, np.ndarray]
PREFIX = "runtime:"
WORST = 8.0  # dB; below that, nobody could find a fault
MODULES = ("on_openvino", "on_qnn", "on_ncnn", "on_mnn", "on_tvm", "on_litert", "on_rknn", "on_executorch")


class Device(NamedTuple):
    """A compiled network. `infer`: a float input in the model's layout -> {output: real values in the model's shape}.

    `codes`: {output: its spec}, where the runtime hands out integers; what `infer` returns is on their grid. `fed`: the
    spec of the input, where it is one of integers; `infer` rounds to its grid.
    """

    infer: Callable[[np.ndarray], Arrays]
    codes: Mapping[str, nl.TensorSpec] = {}
    fed: nl.TensorSpec | None = None


class Runtime(NamedTuple):
    """`packages`: what it needs, {name to import: name to install}. `without`: {network: why it is not run}."""

    packages: Mapping[str, str]
    compiled: Callable[[Any, Sequence[np.ndarray], Path], None]
    opened: Callable[[Path], Device]
    without: Mapping[str, str] = {}

    @property
    def missing(self) -> list[str]:
        """The packages to install."""
        return [package for module, package in self.packages.items() if importlib.util.find_spec(module) is None]


@cache
def known() -> dict[str, Runtime]:
    """All runtimes that there is glue for."""
    found: dict[str, Runtime] = {}
    for module in MODULES:
        found.update(importlib.import_module(f"{__name__}.{module}").RUNTIMES)
    return found


def compile_(model: Any, name: str, inputs: Sequence[np.ndarray]) -> Path:
    """The folder of a network on a runtime, beside the network's files; compiled if it is not there yet."""
    module = importlib.import_module(getattr(known()[name].compiled, "func", known()[name].compiled).__module__)
    key = hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:8]
    folder = Path(model.path).parent / f"{name}-{key}"
    if not (folder / "about.json").exists():
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as parent:
            partial = Path(parent) / folder.name
            partial.mkdir()
            known()[name].compiled(model, inputs, partial)
            device = known()[name].opened(partial)
            answers = [device.infer(x) for x in inputs]
            ranges = {output: _range(device, output, [a[output] for a in answers]) for output in model.outputs}
            about = {"ranges": ranges, "fed": device.fed and device.fed.to_dict()}
            about["db"] = _explained(model, inputs, answers)
            about["codes"] = {output: str(spec.dtype) for output, spec in device.codes.items()}
            (partial / "about.json").write_text(json.dumps(about))
            with suppress(OSError):  # another process was first
                partial.rename(folder)
    return folder


def _range(device: Device, output: str, answers: Sequence[np.ndarray]) -> list[list[float]]:
    """Lowest and highest value of each channel: of what the codes can stand for, or of the answers."""
    from ..models import by_channel

    flat = by_channel(answers)
    if output not in device.codes:
        return [flat.min(1).tolist(), flat.max(1).tolist()]
    spec = device.codes[output]
    info = np.iinfo(spec.dtype)
    ends = reals(np.array([info.min, info.max]), spec.quantization)
    return [[float(end)] * len(flat) for end in ends]


def _explained(model: Any, inputs: Sequence[np.ndarray], answers: Sequence[Arrays]) -> float:
    """How much of the float network's outputs the answers explain, in dB; of the worst output."""
    from .. import models, proof

    wanted = [models.engine(model.path).infer(x) for x in inputs]
    return min(proof.score([a[o] for a in answers], [w[o] for w in wanted]) for o in model.outputs)


def on(model: Any, name: str, inputs: Callable[[], Sequence[np.ndarray]]) -> Any:
    """The zoo's model, its quantised version that of a runtime."""
    folder = compile_(model, name, inputs())
    about = json.loads((folder / "about.json").read_text())
    if about["db"] < WORST:
        raise ValueError(f"its arithmetic explains {about['db']:.1f} dB of the network's outputs")
    return model._replace(
        quantised=f"{PREFIX}{folder}",
        ranges={output: (np.array(low), np.array(high)) for output, (low, high) in about["ranges"].items()},
        fed=about["fed"] and nl.TensorSpec.from_dict(about["fed"]),
        codes=about["codes"],
    )


@cache
def opened(path: str) -> Device:
    """One device for each compiled network and process."""
    folder = Path(path[len(PREFIX) :])
    return known()[folder.name.rpartition("-")[0]].opened(folder)


def integers(values: np.ndarray, spec: nl.TensorSpec) -> np.ndarray:
    """The codes of a float input, saturated as runtimes do."""
    info, q = np.iinfo(spec.dtype), spec.quantization
    return np.clip(np.rint(values / q.scale) + q.zero_point, info.min, info.max).astype(spec.dtype)


def reals(codes: np.ndarray, q: nl.Quantization) -> np.ndarray:
    """What codes stand for."""
    return ((codes.astype(np.int64) - q.zero_point) * q.scale).astype(np.float32)
