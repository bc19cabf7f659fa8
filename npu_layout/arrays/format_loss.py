"""What one call did to the memory format of the Tensors given to it: kept or lost, and how many bytes it copied."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ..layouts import Layout, as_argument
from .orders import axis_order, fitting_groups, follows, is_contiguous
from .tensor import Tensor, carried_layout
from .watched_call import Function, WatchedCall, among, shares_memory


class Effect(NamedTuple):
    """What a call did: formats in words, bytes copied, "lost", "copied" (without need) or "", and what fixes it."""

    inputs: str
    output: str
    copied_nbytes: int
    fault: str
    fix: str


class Fault(NamedTuple):
    """What is wrong ("lost", "copied"), with which Tensor, the template of its fix, and results without the format."""

    kind: str
    subject: Tensor
    fix: str
    results: Sequence[np.ndarray] = ()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These only move elements (astype: converted ones), so that a result in new memory is a copy; all others compute.
_MOVE = _names(
    """array asarray ascontiguousarray asfortranarray require copy astype copyto concatenate concat stack vstack hstack
    dstack column_stack row_stack block append insert delete split array_split vsplit hsplit dsplit unstack reshape
    ravel flatten resize transpose permute_dims matrix_transpose T mT moveaxis swapaxes rollaxis squeeze expand_dims
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays flip fliplr flipud rot90 roll pad repeat tile take
    take_along_axis compress extract diagonal diag byteswap getfield view real imag __getitem__ tobytes tofile
    cv2.copyMakeBorder cv2.copyTo cv2.extractChannel cv2.flip cv2.flipND cv2.hconcat cv2.merge cv2.repeat cv2.rotate
    cv2.split cv2.transpose cv2.transposeND cv2.vconcat"""
)
# The axes of the result are not those of the input, even if there are as many: such a view is what was wanted.
_OTHER_AXES = _names(
    """transpose permute_dims matrix_transpose T mT moveaxis swapaxes rollaxis squeeze expand_dims atleast_1d atleast_2d
    atleast_3d reshape ravel flatten resize broadcast_to broadcast_arrays rot90 einsum tensordot dot vdot inner outer
    kron as_strided sliding_window_view meshgrid nonzero argwhere diag diagflat cov corrcoef histogram2d"""
)
_IN_C_ORDER = _names("reshape ravel flatten resize tobytes tofile")  # walk the elements in logical order
_BYTES = _names("tobytes tofile")

_CARRIED = "nl.Tensor({text}, {layout})"
_ACCEPTING = ("asarray", "ascontiguousarray", "asfortranarray", "require")
_CONVERTING = dict.fromkeys((*_ACCEPTING, "array"), "x.astype(dtype)")  # if a dtype is given too
_FIXES = {
    **dict.fromkeys(_ACCEPTING, "nl.asformat(x, {layout})"),
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
_CV2_FIX = "{function}({storage}, ...), a view that OpenCV accepts as it is"
_CV2_IMAGE_FIX = "x = nl.asformat(x, {plain}) once, before"


def effect(
    function: Function, args: Sequence[Any], kwargs: dict[str, Any], result: Any
) -> tuple[Effect, Sequence[np.ndarray]]:
    """Judge a call of `function` with these arguments, among them a Tensor with a format, and this result.

    Returns what the call did, and the results that would be right if they were brought back into the format.
    """
    call = WatchedCall.of(function, args, kwargs, result)
    found = next(filter(None, (rule(call) for rule in _RULES)), None)
    letters = "" if function.name in _OTHER_AXES else call.first.layout.axes
    inputs = [_words(x, call.first.layout.axes) for x in call.sources]
    what = Effect(
        _listed(inputs or [str(call.first.layout)]),
        _listed([_words(x, letters) for x in call.results]) or _kind(function, result, letters),
        _moved(call) + sum(x.nbytes for x in call.entering),
        found.kind if found else "",
        f"{function.text} -> {_spelled(found.fix, function, found.subject)}" if found else "",
    )
    return what, found.results if found else ()


def _moved(call: WatchedCall) -> int:
    """Return the bytes of the results that only moved elements, as far as they share no memory with the arguments."""
    name = call.function.name
    if name in _BYTES:
        return len(call.result) if isinstance(call.result, bytes) else call.given[0].nbytes
    if name not in _MOVE:
        return 0
    sources = call.sources
    written = [x for x in call.outs if sources and not shares_memory(x, sources)]
    return sum(x.nbytes for x in (*call.fresh, *written))


def _walked_in_another_order(call: WatchedCall) -> Fault | None:
    """Find elements that were copied in logical order, but are stored in another."""
    name = call.function.name
    if name not in _IN_C_ORDER or _in_c_order(call.first) or not (call.fresh or name in _BYTES):
        return None
    return Fault("lost", call.first, _FIXES[name])


def _results_without_the_format(call: WatchedCall) -> Fault | None:
    """Find results with the axes of a Tensor, but not in its format; the fix is that of the first."""
    if call.function.name in _OTHER_AXES:
        return None
    losses = []
    for x in call.results:
        like = next((t for t in call.tensors if t.ndim == x.ndim), None)
        if like is None or getattr(x, "_layout", None) or x.size < 2:
            continue
        fix = _fix_for(call, x, like)
        if fix:
            losses.append((x, like, fix))
    return Fault("lost", losses[0][1], losses[0][2], [x for x, _, _ in losses]) if losses else None


def _fix_for(call: WatchedCall, x: np.ndarray, like: Tensor) -> str:
    """Return the fix for a result without the format of `like`; empty if its strides show that format."""
    if among(x, call.outs):
        return "" if follows(_plain(x), axis_order(like.layout)) else _OUT_FIX
    if call.function.is_cv2:
        needless = _needless(call)
        other = _CARRIED if needless is None else _cv2_fix(needless)
        return "" if follows(x, axis_order(like.layout)) else other
    if _shows_format(x, like):
        return ""
    fixes = _FIXES if x.dtype == like.dtype else {**_FIXES, **_CONVERTING}
    return fixes.get(call.function.name, _ORDER_FIX if call.kwargs.get("order", "K") != "K" else _CARRIED)


def _copied_by_cv2(call: WatchedCall) -> Fault | None:
    """Find a Tensor that cv2 copied, although a view of it could have been given."""
    needless = _needless(call)
    return None if needless is None else Fault("copied", needless, _cv2_fix(needless))


def _needless(call: WatchedCall) -> Tensor | None:
    return next((x for x in call.tensors if among(x, call.entering) and _dense(x) and not _in_c_order(x)), None)


def _copied_in_its_own_format(call: WatchedCall) -> Fault | None:
    """Find a copy of a Tensor with its own dtype and order, which the function could have returned as it is."""
    same = any(x.dtype == call.first.dtype for x in call.fresh) and not call.kwargs.get("copy")
    if call.function.name not in _COPY_FIXES or not same or not _dense(call.first):
        return None
    return Fault("copied", call.first, _COPY_FIXES[call.function.name])


# The first that finds a fault decides.
_RULES = (_walked_in_another_order, _results_without_the_format, _copied_by_cv2, _copied_in_its_own_format)


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
    """Return a layout as one would write it as an argument: only its tag if that suffices."""
    text = as_argument(layout)
    return f"nl.{text}" if text.startswith("Layout") else text


def _plain(x: np.ndarray) -> np.ndarray:
    return np.asarray(x)


def _dense(x: Tensor) -> bool:
    return is_contiguous(x, x.layout)


def _in_c_order(x: Tensor) -> bool:
    return x.size < 2 or follows(_plain(x), axis_order(Layout.plain(x.layout.axes)))


def _shows_format(x: np.ndarray, like: Tensor) -> bool:
    """Return whether the strides of a plain array fit only the format of `like`."""
    groups = fitting_groups(_plain(x), like.layout.axes)
    return bool(groups) and len(groups[0]) == 1 and groups[0][0].tag == like.layout.tag


def _words(x: np.ndarray, letters: str) -> str:
    """Return the format of an array in words: a Tensor's own; for a plain array all that fit axes of these letters."""
    carried = carried_layout(x)
    if carried is not None:
        return str(carried)
    if x.ndim != len(letters):
        return f"plain {x.ndim}-D"
    groups = fitting_groups(_plain(x), letters)
    return "plain " + ("/".join(map(str, groups[0])) if groups else "without order")


def _kind(function: Function, result: Any, letters: str) -> str:
    """Return the words for a result that is no array."""
    if function.name in _BYTES:
        return f"bytes {letters}"
    return "none" if result is None else type(result).__name__


def _listed(words: Sequence[str]) -> str:
    counted = [(word, len(list(same))) for word, same in groupby(words)]
    return ", ".join(word if n == 1 else f"{n} x {word}" for word, n in counted)
