"""A call that was given a Tensor: its arguments and results, as the rules about memory formats need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..layouts import overlap
from .tensor import Tensor, carried_layout

_DEPTH = 4  # arguments, each of them, a list, a list in it


class Function(NamedTuple):
    """The called function: as one would write it with `x` for the Tensor, its bare name, and whether it is cv2's."""

    text: str
    name: str
    is_cv2: bool = False


class WatchedCall(NamedTuple):
    """One call, and the arrays with axes among its arguments and results."""

    function: Function
    kwargs: dict[str, Any]
    result: Any
    given: Sequence[np.ndarray]
    tensors: Sequence[Tensor]  # the given ones that carry a format, one or more
    results: Sequence[np.ndarray]
    outs: Sequence[np.ndarray]  # results that are arguments
    fresh: Sequence[np.ndarray]  # results that share no memory with an argument
    entering: Sequence[np.ndarray]  # arguments that cv2 copies

    @classmethod
    def of(cls, function: Function, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> WatchedCall:
        """Return the call of `function` with these arguments, among them a Tensor with a format, and this result."""
        given = list(arrays_in((args, kwargs)))
        results = list(arrays_in((result,)))
        if function.name == "copyto":
            results = [x for x in args[:1] if isinstance(x, np.ndarray)]
        outs = [x for x in results if among(x, given)]
        return cls(
            function,
            kwargs,
            result,
            given,
            [x for x in given if isinstance(x, Tensor) and carried_layout(x) is not None],
            results,
            outs,
            [x for x in results if not shares_memory(x, given) and not among(x, outs)],
            [x for x in given if function.is_cv2 and cv2_copies(x)],
        )

    @property
    def first(self) -> Tensor:
        """The first Tensor with a format."""
        return self.tensors[0]

    @property
    def sources(self) -> list[np.ndarray]:
        """The arrays given that are not results too."""
        return [x for x in self.given if not among(x, self.outs)]


def arrays_in(x: Any, depth: int = _DEPTH) -> Iterator[np.ndarray]:
    """Yield the arrays with axes among arguments, in lists, tuples and dicts too."""
    if isinstance(x, np.ndarray):
        if x.ndim:
            yield x
    elif depth and isinstance(x, (list, tuple)):
        for part in x:
            yield from arrays_in(part, depth - 1)
    elif depth and isinstance(x, dict):
        for part in x.values():
            yield from arrays_in(part, depth - 1)


def has_tensor(x: Any, depth: int = _DEPTH) -> bool:
    """Return whether there is a Tensor that carries a format among arguments."""
    if isinstance(x, Tensor):
        return carried_layout(x) is not None
    if depth and isinstance(x, (list, tuple)):
        return any(has_tensor(part, depth - 1) for part in x)
    return bool(depth) and isinstance(x, dict) and any(has_tensor(part, depth - 1) for part in x.values())


def among(x: Any, others: Sequence[Any]) -> bool:
    """Return whether `x` is one of these objects."""
    return any(x is y for y in others)


def shares_memory(x: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    """Return whether an array, Tensor or not, overlaps one of these."""
    plain = np.asarray(x)
    return any(overlap(plain, np.asarray(y)) for y in others)


def cv2_copies(x: np.ndarray) -> bool:
    """Return whether cv2 copies an array that it is given, because no cv::Mat has such strides.

    The rule of OpenCV's modules/python/src2/cv2_convert.cpp: neighbours along the last axis, no stride longer than the
    one before it, and the channels of (H,W,C) without gaps.
    """
    if any(n > 1 and s < t for n, s, t in zip(x.shape, x.strides, x.strides[1:])):
        return True
    if x.shape[-1] > 1 and x.strides[-1] != x.itemsize:
        return True
    return x.ndim == 3 and x.shape[2] <= _most_channels() and x.strides[1] != x.itemsize * x.shape[2]


@lru_cache(maxsize=1)
def _most_channels() -> int:
    """Return CV_CN_MAX: an array with more along its last axis has three axes and no channels."""
    import cv2

    return 128 if int(cv2.__version__.partition(".")[0]) >= 5 else 512
