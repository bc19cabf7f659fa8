"""Values that do not belong there, in the place of each argument of everything public, and what errors are right."""

from __future__ import annotations

import inspect
import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from tests.public_face import Item, items
from tests.support.good_calls import CALLS

_folders = itertools.count()
_left_empty: dict[Path, Path] = {}


def bad_values(descriptor: int) -> dict[str, Any]:
    """What callers pass by mistake, by its name in a test's output; `descriptor` is an open file's number."""
    return {
        "None": None,
        "1.5": 1.5,
        "nan": float("nan"),
        "inf": float("inf"),
        "text": "text",
        "empty text": "",
        "surrogate": "\udce9",
        "lone surrogate": "\ud800",
        "zero byte": "a\0b",
        "bytes": b"x",
        "[]": [],
        "[None]": [None],
        "ragged": [[1], [2, 3]],
        "object": object(),
        "{}": {},
        "{None: None}": {None: None},
        "set": {1},
        "iterator": iter(()),
        "-1": -1,
        "2**70": 2**70,
        "True": True,
        "descriptor": descriptor,
        "1j": 1j,
        "class": int,
        "array": np.array(["a", "b"]),
        "objects": np.array([None, {}], object),
        "array of no axes": np.array(1.5),
        "date": np.datetime64("NaT", "s"),
    }


@cache
def public_functions() -> dict[str, Item]:
    """Everything public that is called, by its name below npu_layout."""
    return {item.name.partition(".")[2]: item for item in items() if item.function is not None}


# Legitimate; the first two start processes.
LEFT_OUT = {("validate_many", "workers", value) for value in ("True", "descriptor")}
LEFT_OUT.add(("testing.check_engine", "make", "class"))  # a class is called, and its objects are no engines


# Arguments that accept anything: fields of tuples, which check nothing; what fixes differ in; what nobody reads unless
# something has to be recorded.
UNCHECKED = {
    "Hypothesis": {"spec", "score"},
    "OutputReport": {"fix"},
    "decode.Detections": {
        *("xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "masks", "xywha", "listed"),
    },
    "decode.Masks": {"offsets", "input_shape"},
    "decode.Comparison": {
        *("matched", "missing", "extra", "moved", "relabelled", "rescored", "keypoints", "masks", "tied", "marginal"),
        *("pixels", "score", "undefined"),
    },
    "decode.Guess": {"head", "why", "others"},
    "decode.Classes": {"class_id", "confidence"},
    "decode.Regions": {"corners", "confidence"},
    "decode.Text": {"text", "confidence", "scores", "steps"},
    "decode.OrientedDetections": {"xywha", "confidence", "class_id", "level", "cell"},
    "streams.Counts": {"captured", "shown", "dropped", "failed", "pending"},
    "streams.EnginePool.map": {"inputs"},
    "streams.EnginePool.submit": {"inputs"},
    "streams.Result": {"number", "captured", "frame", "geometry", "dropped"},
    "streams.Source": {"live", "close"},
    "streams.StreamError": {"stage", "number", "words"},
    "exchange.ComparedLayer": {
        *("name", "op", "node", "verdict", "snr_db", "inputs_db", "why", "shape", "layout_a", "layout_b", "inputs"),
        "skipped",
    },
    "exchange.Toolchain": {"help", "write", "use", "check"},
    "exchange.Form": {"importer", "exporter", "recognises", "help"},
    "pytest_plugin.Recordings.__call__": {"inputs"},
}


class Outcome(NamedTuple):
    """A call with a bad value: the error that it raised, or None, and whether that is right."""

    function: str
    argument: str
    value: str
    error: BaseException | None
    right: bool = True

    def __str__(self) -> str:
        return f"{self.function}({self.argument}={self.value}): {type(self.error).__name__}: {self.error}"


# What messages call an argument, where it is not its name: the thing that it is.
ALSO = {
    "Layout.tag": "layout",
    "TensorSpec.axes": "storage_shape",  # of another order of axes
    "TensorSpec.of_storage.axes": "storage_shape",
    "TensorSpec.from_dict.d": "a dict",
    **{
        f"decode.{name}.from_dict.d": name
        for name in ("Boxes", "Form", "Head", "Keypoints", "Part", "Prototypes", "Suppression")
    },
    "flat": "buffer",
    "inputs": "input",
    "outputs": "output",
    "frames": "frame",
    "TensorSpec.unpack.to": "out",  # for another order
    "ops.top_k.k": "out",  # for another k
    "ops.top_k.quantization": "out",  # for stored values
    "specs.from_tflite.details": "dtype",  # an array's own
}


def is_right(name: str, argument: str, value: Any, error: BaseException, documentation: str) -> bool:
    """Whether an error is the library's, or one of those that the docstring lists, and names the argument."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind not in (Exception, BaseException, object)]
    ours = isinstance(error, (nl.NpuLayoutError, pytest.fail.Exception))
    if not ours and not any(re.search(rf"\b{kind}\b", documentation) for kind in kinds):
        return False
    paths = [value] if isinstance(value, str) else list(value.flat) if isinstance(value, np.ndarray) else []
    if isinstance(error, OSError) or any(
        str(Path(p)) in str(error) or repr(p) in str(error) for p in paths if isinstance(p, str)
    ):
        return True  # it names the path, or quotes the text
    words = [argument.lstrip("*"), ALSO.get(f"{name}.{argument}", ""), ALSO.get(argument, "")]
    return any(word and re.search(rf"(?<![a-z_]){word}(?![a-z_])", str(error), re.I) for word in words)


@contextmanager
def fresh_folder(parent: Path) -> Iterator[None]:
    """Work in a new folder, or one that was left empty, so that no call finds what another one wrote."""
    before, folder = os.getcwd(), _left_empty.pop(parent, None)
    if folder is None:
        folder = parent / str(next(_folders))
        folder.mkdir()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        if folder.is_dir() and not os.listdir(folder):
            _left_empty[parent] = folder


def outcomes(called: str, descriptor: int, parent: Path) -> Iterator[Outcome]:
    """Call it with every bad value in the place of every argument, each time in a new folder below `parent`."""
    name = called.partition("@")[0]
    item = public_functions()[name]
    documentation = " ".join(filter(None, (item.owner and item.owner.__doc__, inspect.getdoc(item.held))))
    with fresh_folder(parent):
        arguments = CALLS[called]().parameters()
    for argument, value in itertools.product(arguments, bad_values(descriptor)):
        if (name, argument, value) in LEFT_OUT:
            continue
        given = bad_values(descriptor)[value]
        try:
            with fresh_folder(parent):
                CALLS[called]()(**{argument: given})
        except (Exception, SystemExit, pytest.fail.Exception) as error:
            right = is_right(name, argument, given, error, documentation)
            yield Outcome(called, argument, value, error, right)
        else:
            yield Outcome(called, argument, value, None)
