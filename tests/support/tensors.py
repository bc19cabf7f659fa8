"""Tensors of every format, calls that keep it, and calls that return plain arrays."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import npu_layout as nl
from tests.support.arrays import filled

AMBIGUOUS = ((4, 1, 4, 4), (4, 3, 1, 1), (4, 1, 1, 1), (1, 1, 1, 1))


SHAPES = (*AMBIGUOUS, (2, 3, 4, 5), (1, 4, 2, 3))


LAYOUTS = ("NCHW", "NHWC", "CHWN", "NHCW")


def tensor(shape: tuple[int, ...], layout: str, dtype: Any = "float32") -> nl.Tensor:
    return nl.Tensor(filled(shape, dtype), layout)


KEEPS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[:1, ..., ::2],
    "flipped slice": lambda x: x[..., ::-1],
    "all": lambda x: x[()],
    "add": lambda x: x + 1,
    "radd": lambda x: 1.5 - x,
    "list": lambda x: x * [2.0],
    "negative": lambda x: -x,
    "compare": lambda x: x > 2,
    "plain": lambda x: np.ones(x.shape, np.int64) + x,
    "plain fortran": lambda x: np.maximum(np.asfortranarray(np.ones(x.shape)), x),
    "broadcast": lambda x: x * np.arange(x.shape[1]).reshape(-1, 1, 1),
    "larger": lambda x: x[:1] + np.ones((3, *x.shape[1:])),
    "where=": lambda x: np.add(x, 1, where=np.ones(x.shape[1:], bool), out=None),
    "float16": lambda x: x.astype(np.float16),
    "no copy": lambda x: x.astype(x.dtype, copy=False),
    "sum": lambda x: x.sum(axis=2, keepdims=True),
    "reduce": lambda x: np.add.reduce(x, (1, 2), keepdims=True),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True),
    "std": lambda x: x.std((2, 3), None, None, 0, keepdims=True),
    "median": lambda x: np.median(x, axis=1, keepdims=True),
    "norm": lambda x: np.linalg.norm(x, axis=1, keepdims=True),
    "quantile": lambda x: np.quantile(x, 0.5, axis=(1, 2), keepdims=True),
    "argmax": lambda x: x.argmax(axis=1, keepdims=True),
    "np.argmax": lambda x: np.argmax(x, axis=1, keepdims=True),
    "max of all": lambda x: x.max(keepdims=True),
    "cumsum": lambda x: x.cumsum(axis=3),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "copy": lambda x: x.copy(),
    "np.copy": lambda x: np.copy(x),
    "np.copy K": lambda x: np.copy(x, "K"),
    "np.sort": lambda x: np.sort(x, 1, order=None),
    "copy.copy": lambda x: copy.copy(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "view": lambda x: x.view(),
    "view dtype": lambda x: x.view(np.int32),
    "clip": lambda x: np.clip(x, 1, np.full(x.shape, 5)),
    "round": lambda x: x.round(1),
    "np.where": lambda x: np.where(np.ones(x.shape, bool), x, 0),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "flip": lambda x: np.flip(x, 1),
    "zeros_like": lambda x: np.zeros_like(x, np.int8),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "subok": lambda x: np.array(x, subok=True),
    "subok and dtype": lambda x: np.asanyarray(x, np.float64),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "pickle 2": lambda x: pickle.loads(pickle.dumps(x, 2)),
    "frexp": lambda x: np.frexp(x)[1],
    "divmod": lambda x: divmod(x, 2)[0],
}


DROPS: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: x.transpose(0, 2, 3, 1),
    "T": lambda x: x.T,
    "np.transpose": lambda x: np.transpose(x),
    "swapaxes": lambda x: x.swapaxes(1, 2),
    "moveaxis": lambda x: np.moveaxis(x, 1, 3),
    "reshape": lambda x: x.reshape(x.shape),
    "np.reshape": lambda x: np.reshape(x, (-1, 1, 1, 1)),
    "ravel": lambda x: x.ravel(),
    "squeeze": lambda x: x.squeeze(),
    "integer": lambda x: x[0],
    "integer and newaxis": lambda x: x[None, 0],
    "array": lambda x: x[np.array([0, 0])],
    "list": lambda x: x[[0]],
    "mask": lambda x: x[x > 1],
    "slice and integer": lambda x: x[:, 0],
    "sum": lambda x: x.sum(axis=1),
    "np.max": lambda x: np.max(x, axis=(1, 2)),
    "reduce": lambda x: np.add.reduce(x),
    "matmul": lambda x: x @ np.ones((x.shape[3], 4)),
    "outer": lambda x: np.multiply.outer(x, [1, 2]),
    "more axes": lambda x: x + np.ones((2, *x.shape)),
    "concatenate": lambda x: np.concatenate([x, x]),
    "stack": lambda x: np.stack([x, x]),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "copy C": lambda x: x.copy("C"),
    "astype F": lambda x: x.astype(int, order="F"),
    "no subok": lambda x: x.astype(int, subok=False),
    "asarray": lambda x: np.asarray(x),
    "ascontiguous": lambda x: np.ascontiguousarray(x),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "take": lambda x: x.take([0], axis=1),
    "pad": lambda x: np.pad(x, 1),
    "einsum": lambda x: np.einsum("nchw->nhwc", x),
    "iteration": lambda x: next(iter(x)),
    "ufunc in C order": lambda x: np.add(x, 1, order="C"),
    "ones_like in C order": lambda x: np.ones_like(x, order="C"),
    "zeros_like by position": lambda x: np.zeros_like(x, np.int8, "C"),
    "np.copy C": lambda x: np.copy(x, "C"),
    "zeros_like without subok": lambda x: np.zeros_like(x, subok=False),
    "full_like without subok": lambda x: np.full_like(x, 1, None, "K", False),
    "several quantiles": lambda x: np.quantile(x, [0.2, 0.5], axis=1),
    "several quantiles and keepdims": lambda x: np.percentile(x, [20, 50], axis=1, keepdims=True),
    "hidden": lambda x: np.concatenate(__import__("collections").deque([x, x])),
}


def spanning(dtype: str, real: np.ndarray) -> nl.Quantization | None:
    """A scale and a zero point by which integers of a dtype span real values and 0; None of floats."""
    if "int" not in dtype:
        return None
    info = np.iinfo(dtype)
    low, high = min(0.0, float(real.min())), max(0.0, float(real.max()))
    scale = (high - low) / (float(info.max) - info.min)
    return nl.Quantization(scale, int(info.min - round(low / scale)))
