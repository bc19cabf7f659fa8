"""What one call did to the memory format of the Tensors given to it: kept or lost, and how many bytes it moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..layouts import Layout, overlap
from .orders import axis_order, fitting_groups, follows, is_contiguous
from .tensor import Tensor

_DEPTH = 4  # arguments, each of them, a list, a list within


class Function(NamedTuple):
    """What was called: as one would write it with `x` for the Tensor, its bare name, and whose it is."""

    text: str
    name: str
    is_cv2: bool = False


class Effect(NamedTuple):
    """What a call did: formats in words, bytes copied, "lost", "copied" (without need) or "", and what mends it."""

    inputs: str
    output: str
    copied_nbytes: int
    fault: str
    fix: str


class Finding(NamedTuple):
    """A fault, the Tensor that it is about, the template of what mends it, and the results that lost the format."""

    fault: str
    subject: Tensor
    fix: str = ""
    results: Sequence[np.ndarray] = ()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These move elements as they are (astype: converted), so that memory of its own is a copy; all else computes.
_MOVE = _names(
    """array asarray ascontiguousarray asfortranarray require copy astype copyto concatenate concat stack vstack hstack
    dstack column_stack row_stack block append insert delete split array_split vsplit hsplit dsplit unstack reshape
    ravel flatten resize transpose permute_dims matrix_transpose T mT moveaxis swapaxes rollaxis squeeze expand_dims
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays flip fliplr flipud rot90 roll pad repeat tile take
    take_along_axis compress extract diagonal diag byteswap getfield view real imag __getitem__ tobytes tofile
    cv2.copyMakeBorder cv2.copyTo cv2.extractChannel cv2.flip cv2.flipND cv2.hconcat cv2.merge cv2.repeat cv2.rotate
    cv2.split cv2.transpose cv2.transposeND cv2.vconcat"""
)
# Axes of the result are not those of the input, even where there are as many: views of these are what was asked for.
_OTHER_AXES = _names(
    """transpose permute_dims matrix_transpose T mT moveaxis swapaxes rollaxis squeeze expand_dims atleast_1d atleast_2d
    atleast_3d reshape ravel flatten resize broadcast_to broadcast_arrays rot90 einsum tensordot dot vdot inner outer
    kron as_strided sliding_window_view meshgrid nonzero argwhere diag diagflat cov corrcoef histogram2d"""
)
_IN_C_ORDER = _names("reshape ravel flatten resize tobytes tofile")  # walk the elements in logical order
_BYTES = _names("tobytes tofile")

_CARRIED = "nl.Tensor({text}, {layout})"
_TAKING = ("asarray", "ascontiguousarray", "asfortranarray", "require")
_CONVERTING = dict.fromkeys((*_TAKING, "array"), "x.astype(dtype)")  # where a dtype is asked for too
_FIXES = {
    **dict.fromkeys(_TAKING, "nl.asformat(x, {layout})"),
    **dict.fromkeys(("array", "copy"), "x.copy()"),
    **dict.fromkeys(("split", "array_split", "vsplit", "hsplit", "dsplit"), "slices such as x[:, a:b]"),
    "reshape": "{storage}.reshape(...), {run}",
    "resize": "np.resize({storage}, ...), whose elements run as {tag}",
    **dict.fromkeys(("ravel", "flatten"), "{storage}.ravel(), {run}"),
    "astype": "x.astype(dtype), without order= or subok=",
    "tobytes": "{storage}.tobytes()",
    "tofile": "{storage}.tofile(...)",
}
_COPY_FIXES = {"astype": "x.astype(dtype, copy=False)", "flatten": "x.ravel(), a view"}
_OUT_FIX = "out=nl.empty_like(x), made once"
_ORDER_FIX = "the same without order="
_CV2_FIX = "{function}({storage}, ...), a view that OpenCV takes as it is"
_CV2_IMAGE_FIX = "x = nl.asformat(x, {plain}) once, before"


def arrays_in(x: Any, depth: int = _DEPTH) -> Iterator[np.ndarray]:
    """The arrays with axes among arguments, in lists, tuples and dicts too."""
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
    """Whether there is a Tensor that carries a format among arguments."""
    if isinstance(x, Tensor):
        return x._layout is not None
    if depth and isinstance(x, (list, tuple)):
        return any(has_tensor(part, depth - 1) for part in x)
    return bool(depth) and isinstance(x, dict) and any(has_tensor(part, depth - 1) for part in x.values())


def effect(
    function: Function, args: Sequence[Any], kwargs: dict[str, Any], result: Any
) -> tuple[Effect, Sequence[np.ndarray]]:
    """What `function` did, called with these arguments, among them a Tensor with a format, and with this result; and
    the results that would be right if they were brought back into the format."""
    given = list(arrays_in((args, kwargs)))
    tensors = [x for x in given if isinstance(x, Tensor) and x._layout is not None]
    results = list(arrays_in((result,)))
    if function.name == "copyto":
        results = [x for x in args[:1] if isinstance(x, np.ndarray)]
    outs = [x for x in results if _among(x, given)]
    fresh = [x for x in results if not any(overlap(_plain(x), _plain(y)) for y in given) and not _among(x, outs)]
    entering = [x for x in given if function.is_cv2 and cv2_copies(x)]
    found = _finding(function, kwargs, tensors, results, outs, fresh, entering)
    letters = "" if function.name in _OTHER_AXES else tensors[0].layout.axes
    inputs = [_words(x, tensors[0].layout.axes) for x in given if not _among(x, outs)]
    what = Effect(
        _listed(inputs or [str(tensors[0].layout)]),
        _listed([_words(x, letters) for x in results]) or _kind(function, result, letters),
        _moved(function, given, fresh, outs, result) + sum(x.nbytes for x in entering),
        found.fault,
        f"{function.text} -> {_spelled(found.fix, function, found.subject)}" if found.fault else "",
    )
    return what, found.results


def cv2_copies(x: np.ndarray) -> bool:
    """Whether cv2 copies an array where it comes in, because no cv::Mat has such strides.

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
    """CV_CN_MAX: an array with more along its last axis has three axes and no channels."""
    import cv2

    return 128 if int(cv2.__version__.partition(".")[0]) >= 5 else 512


def _moved(
    function: Function,
    given: Sequence[np.ndarray],
    fresh: Sequence[np.ndarray],
    outs: Sequence[np.ndarray],
    result: Any,
) -> int:
    if function.name in _BYTES:
        return len(result) if isinstance(result, bytes) else given[0].nbytes
    if function.name not in _MOVE:
        return 0
    sources = [x for x in given if not _among(x, outs)]
    written = [x for x in outs if sources and not any(overlap(_plain(x), _plain(y)) for y in sources)]
    return sum(x.nbytes for x in (*fresh, *written))


def _finding(
    function: Function,
    kwargs: dict[str, Any],
    tensors: Sequence[Tensor],
    results: Sequence[np.ndarray],
    outs: Sequence[np.ndarray],
    fresh: Sequence[np.ndarray],
    entering: Sequence[np.ndarray],
) -> Finding:
    first = tensors[0]
    needless = next((x for x in tensors if _among(x, entering) and _dense(x) and not _in_c_order(x)), None)
    if function.name in _IN_C_ORDER and not _in_c_order(first) and (fresh or function.name in _BYTES):
        return Finding("lost", first, _FIXES[function.name])
    lost: list[np.ndarray] = []
    fix = subject = None
    for x in results:
        like = next((t for t in tensors if t.ndim == x.ndim), None)
        if like is None or getattr(x, "_layout", None) or x.size < 2 or function.name in _OTHER_AXES:
            continue
        if _among(x, outs):
            kept, mend = follows(_plain(x), axis_order(like.layout)), _OUT_FIX
        elif function.is_cv2:
            kept, mend = follows(x, axis_order(like.layout)), _CARRIED if needless is None else _cv2_fix(needless)
        else:
            asked = _ORDER_FIX if kwargs.get("order", "K") != "K" else _CARRIED
            fixes = _FIXES if x.dtype == like.dtype else {**_FIXES, **_CONVERTING}
            kept, mend = _tells(x, like), fixes.get(function.name, asked)
        if not kept:
            lost.append(x)
            fix, subject = fix or mend, like if subject is None else subject
    if subject is not None and fix is not None:
        return Finding("lost", subject, fix, lost)
    if needless is not None:
        return Finding("copied", needless, _cv2_fix(needless))
    same = any(x.dtype == first.dtype for x in fresh) and not kwargs.get("copy")
    if function.name in _COPY_FIXES and same and _dense(first):
        return Finding("copied", first, _COPY_FIXES[function.name])
    return Finding("", first)


def _cv2_fix(x: Tensor) -> str:
    return _CV2_FIX if x.ndim > 3 else _CV2_IMAGE_FIX


def _spelled(fix: str, function: Function, x: Tensor) -> str:
    order = axis_order(x.layout)
    storage = "x" if order.stored == tuple(range(x.ndim)) else f"x.transpose({', '.join(map(str, order.stored))})"
    return fix.format(
        text=function.text,
        function=function.text.split("(")[0],
        layout=_argument(x.layout),
        plain=_argument(Layout.plain(x.layout.axes)),
        storage=storage,
        run=f"{'a view ' if _dense(x) else ''}whose elements run as {x.layout}",
        tag=x.layout,
    )


def _argument(layout: Layout) -> str:
    """A layout as one would write it where a function takes one: its tag alone where that says it all."""
    written = repr(layout)
    return repr(layout.tag) if written == f"Layout({layout.tag!r})" else f"nl.{written}"


def _plain(x: np.ndarray) -> np.ndarray:
    return np.asarray(x)


def _among(x: Any, others: Sequence[Any]) -> bool:
    return any(x is y for y in others)


def _dense(x: Tensor) -> bool:
    return is_contiguous(x, x.layout)


def _in_c_order(x: Tensor) -> bool:
    return x.size < 2 or follows(_plain(x), axis_order(Layout.plain(x.layout.axes)))


def _tells(x: np.ndarray, like: Tensor) -> bool:
    """Whether a plain array's strides alone say that it lies as `like`."""
    groups = fitting_groups(_plain(x), like.layout.axes)
    return bool(groups) and len(groups[0]) == 1 and groups[0][0].tag == like.layout.tag


def _words(x: np.ndarray, letters: str) -> str:
    """The format of an array: a Tensor's own; of a plain one with axes of these letters all that fit."""
    if isinstance(x, Tensor) and x._layout is not None:
        return str(x.layout)
    if x.ndim != len(letters):
        return f"plain {x.ndim}-D"
    groups = fitting_groups(_plain(x), letters)
    return "plain " + ("/".join(map(str, groups[0])) if groups else "without order")


def _kind(function: Function, result: Any, letters: str) -> str:
    """A result that is no array."""
    if function.name in _BYTES:
        return f"bytes {letters}"
    return "none" if result is None else type(result).__name__


def _listed(words: Sequence[str]) -> str:
    counted = [(word, len(list(same))) for word, same in groupby(words)]
    return ", ".join(word if n == 1 else f"{n} x {word}" for word, n in counted)
