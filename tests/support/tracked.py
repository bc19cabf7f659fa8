"""Calls that lose a Tensor's format, with the bytes that they copy and the fix, and calls that move elements."""

from __future__ import annotations

import inspect
import operator
import re
import sys
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

import npu_layout as nl
from npu_layout.arrays import formats
from npu_layout.arrays import tensor as array_tensor
from npu_layout.arrays import tracker as track
from npu_layout.arrays.track_report import Call, LayoutReport
from tests.support.tensors import DROPS

BYPASS = ("asarray", "array", "ascontiguousarray", "asfortranarray", "require")


def only(report: LayoutReport) -> Call:
    (call,) = report.calls
    return call


def tracked(function: Callable[[Any], Any], x: Any) -> LayoutReport:
    with nl.track_layout() as report:
        function(x)
    return report


SHAPE = (2, 3, 4, 5)


NBYTES = 2 * 3 * 4 * 5 * 4


LOST: dict[str, tuple[Callable[[Any], Any], int, str]] = {  # of float32 SHAPE in NHWC: bytes, fix
    "ascontiguousarray": (lambda x: np.ascontiguousarray(x), NBYTES, "nl.asformat(x, 'NHWC')"),
    "asfortranarray": (lambda x: np.asfortranarray(x), NBYTES, "nl.asformat(x, 'NHWC')"),
    "require": (lambda x: np.require(x, requirements="C"), NBYTES, "nl.asformat(x, 'NHWC')"),
    "asarray C": (lambda x: np.asarray(x, order="C"), NBYTES, "nl.asformat(x, 'NHWC')"),
    "array C": (lambda x: np.array(x, order="C"), NBYTES, "x.copy()"),
    "another dtype": (lambda x: np.ascontiguousarray(x, "f8"), 2 * NBYTES, "x.astype(dtype)"),
    "array C of another dtype": (lambda x: np.array(x, "f8", order="C"), 2 * NBYTES, "x.astype(dtype)"),
    "copy C": (lambda x: x.copy("C"), NBYTES, "x.copy()"),
    "astype C": (lambda x: x.astype("f8", order="C"), 2 * NBYTES, "x.astype(dtype), without order= or subok="),
    "pad": (lambda x: np.pad(x, 1), 4 * 5 * 6 * 7 * 4, "nl.Tensor(np.pad(x, ...), 'NHWC')"),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), 2 * NBYTES, "nl.Tensor(np.repeat(x, ...), 'NHWC')"),
    "take": (lambda x: x.take([0, 1], axis=1), NBYTES * 2 // 3, "nl.Tensor(x.take(...), 'NHWC')"),
    "matmul": (lambda x: x @ np.ones((5, 4), "f4"), 0, "nl.Tensor(np.matmul(x, ...), 'NHWC')"),
    "add in C order": (lambda x: np.add(x, 1, order="C"), 0, "the same without order="),
    "reshape": (
        lambda x: x.reshape(2, -1),
        NBYTES,
        "x.transpose(0, 2, 3, 1).reshape(...), a view whose elements run as NHWC",
    ),
    "ravel": (lambda x: x.ravel(), NBYTES, "x.transpose(0, 2, 3, 1).ravel(), a view whose elements run as NHWC"),
    "flatten": (lambda x: x.flatten(), NBYTES, "x.transpose(0, 2, 3, 1).ravel(), a view whose elements run as NHWC"),
    "ravel of a slice": (
        lambda x: x[:, :, 1:, 1:].ravel(),
        2 * 3 * 3 * 4 * 4,
        "x.transpose(0, 2, 3, 1).ravel(), whose elements run as NHWC",
    ),
    "resize": (
        lambda x: np.resize(x, (2, 3)),
        6 * 4,
        "np.resize(x.transpose(0, 2, 3, 1), ...), whose elements run as NHWC",
    ),
    "tobytes": (lambda x: x.tobytes(), NBYTES, "x.transpose(0, 2, 3, 1).tobytes()"),
    "out=": (lambda x: np.add(x, 1, out=np.empty(SHAPE, "f4")), 0, "out=nl.empty_like(x), made once"),
    "copyto": (lambda x: np.copyto(np.empty(SHAPE, "f4"), x), NBYTES, "out=nl.empty_like(x), made once"),
    "cv2": (
        lambda x: cv2.exp(x),
        NBYTES,
        "cv2.exp(x.transpose(0, 2, 3, 1), ...), a view that OpenCV accepts as it is",
    ),
    "cv2, a slice": (lambda x: cv2.exp(x[:, :2]), NBYTES * 2 // 3, "nl.Tensor(cv2.exp(x, ...), 'NHWC')"),
}


MOVES: dict[str, Callable[[Any], Any]] = {
    **{
        name: f
        for name, f in DROPS.items()
        if not re.search("sum|max|reduce|matmul|outer|more|einsum|ufunc|like|quantile", name)
    },
    "slice": lambda x: x[:1, ..., ::2],
    "copy": lambda x: x.copy(),
    "np.copy": lambda x: np.copy(x),
    "array": lambda x: np.array(x),
    "array of two": lambda x: np.array([x, x]),
    "astype": lambda x: x.astype(np.float64),
    "no copy": lambda x: x.astype(x.dtype, copy=False),
    "flip": lambda x: np.flip(x, 1),
    "asfortranarray": lambda x: np.asfortranarray(x),
    "require": lambda x: np.require(x, requirements=["C", "W"]),
    "split": lambda x: np.split(x, 2, axis=3)[0],
    "broadcast_to": lambda x: np.broadcast_to(x, (3, *x.shape)),
    "merge": lambda x: x.reshape(x.shape[0], -1),
    "real": lambda x: x.real,
}


def patchable() -> list[Any]:
    """Whatever could be patched."""
    cv2_modules = [m for name, m in sys.modules.items() if name.split(".")[0] == "cv2"]
    owners = [np, np.ndarray, np.linalg, np.ma, nl.Tensor, array_tensor, formats, *cv2_modules]
    return owners + [m for name, m in sys.modules.items() if name.startswith("npu_layout") and m is not track]


def touched() -> dict[tuple[int, str], Any]:
    """Every attribute of whatever could be patched."""
    return {
        (id(owner), name): value
        for owner in patchable()
        for name, value in list(vars(owner).items())
        if name not in ("__warningregistry__", "__builtins__")
    }


def same(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Whether every attribute is the one it was; modules that were imported meanwhile may have come."""
    owners = {owner for owner, _ in before}
    new = [value for key, value in after.items() if key not in before and key[0] in owners]
    return all(after.get(key) is value for key, value in before.items()) and all(map(inspect.ismodule, new))


class Untouched:
    """What could be patched, as it is when this is made."""

    def __init__(self) -> None:
        self.attributes = touched()
        self.values = [(vars(owner), [*vars(owner)], [*vars(owner).values()]) for owner in patchable()]

    def is_as_before(self) -> bool:
        """Whether no tracker is open, and every attribute is the one that it was."""
        closed = not track._patches and not track._reports and not track._lost
        return closed and (self._is_identical() or same(self.attributes, touched()))

    def _is_identical(self) -> bool:
        """Whether no attribute came or went either, as nearly always: `same` takes ten times as long."""
        return all(
            [*now] == names and all(map(operator.is_, now.values(), values)) for now, names, values in self.values
        )
