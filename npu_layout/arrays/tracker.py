"""Track which calls of numpy and OpenCV lose the memory format of a Tensor, or copy it without need."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Callable, NamedTuple

import numpy as np

from ..layouts import overlap
from ..support import ProcessLock
from .call_sites import call_site
from .format_keeping import KEEPING_METHODS, PLAIN_METHODS
from .format_loss import Effect, effect
from .orders import watch_repacks
from .tensor import Tensor
from .track_report import CallPlace, LayoutReport, add, bring_back, close
from .watched_call import Function, has_tensor


@contextmanager
def track_layout() -> Iterator[LayoutReport]:
    """Record, while the block runs, every call of numpy or OpenCV that is given a Tensor.

    Watched are numpy's functions and ufuncs, the Tensor's own methods, indexing and ``tobytes``; ``np.asarray``,
    ``array``, ``ascontiguousarray``, ``asfortranarray`` and ``require``; and every function of cv2, which is imported
    for that if it is installed. A call *lost* the format if its result has the Tensor's axes, but neither carries the
    format nor shows it in its strides, or if it copied elements in another order than they are stored in (a ``reshape``
    that copies, ``tobytes``). It *copied without need* if another call returns the same without a copy. Views with
    other axes (``transpose``, ``x[0]``) are no fault. The copied bytes are those of results that only move elements and
    share no memory with the arguments, and those of arguments that cv2 copies because no cv::Mat has their strides.

    Calls in all threads count, for every tracker whose block runs. The last block to end restores numpy and cv2, after
    an exception too. If other code has replaced a wrapper meanwhile, its replacement stays and still works.

    Not seen: np.asarray and the four others, and cv2's functions, if they were imported by name before the block
    (``from numpy import asarray``, in other libraries too); methods of cv2's classes; ``plain[...] = x``; C code that
    reads a Tensor's memory (onnxruntime, torch, memoryview); calls on plain arrays; other processes; calls that fail.
    npu_layout's own functions are not judged. A result that `nl.Tensor` or `nl.asformat` brings back is not lost.

    Yields
    ------
    A LayoutReport, whose `calls` begin with the calls to fix.

    Examples
    --------
    >>> import npu_layout as nl
    >>> x = nl.Tensor(np.zeros((1, 3, 4, 5), np.float32), "NHWC")
    >>> with nl.track_layout() as report:
    ...     y = np.ascontiguousarray(x * 2)
    >>> [(call.output, call.copied_nbytes, call.fix) for call in report.faults]
    [('plain NCHW', 240, "np.ascontiguousarray(x) -> nl.asformat(x, 'NHWC')")]
    >>> bool(report)
    False
    """
    report = LayoutReport()
    try:
        _open(report)
        yield report
    finally:
        try:
            _close(report)
        finally:
            _close(report)  # what an interrupt left; else it does nothing


class _Patch(NamedTuple):
    owner: Any
    name: str
    original: Any  # None: inherited
    wrapper: Any


_lock = ProcessLock()
_reports: tuple[LayoutReport, ...] = ()
_patches: list[_Patch] = []
_lost: dict[int, tuple[_KeptResult, _Lost]] = {}  # by the id of a result that existed at the last one
_gone: deque[_KeptResult] = (
    deque()
)  # noted in C: code of Python that is called for them would lose the exception of a Ctrl-C
_here = threading.local()  # .busy: a call is being watched or judged in this thread


def _open(report: LayoutReport) -> None:
    global _reports
    with suppress(ImportError):
        import cv2  # noqa: F401  (so that the block imports the wrappers from it)
    with _lock.own:
        if not _reports:
            try:
                for owner, name, wrapper in _wrappers():
                    _patches.append(_Patch(owner, name, vars(owner).get(name), wrapper))
                    setattr(owner, name, wrapper)
                watch_repacks(_repacked)
            except BaseException:
                _restore()
                raise
        _reports = (*_reports, report)


def _close(report: LayoutReport) -> None:
    global _reports
    with _lock.own:
        close(report)
        _reports = tuple(other for other in _reports if other is not report)
        if not _reports:
            _restore()
            _lost.clear()
            _gone.clear()


def _restore() -> None:
    watch_repacks(None)
    while _patches:
        owner, name, original, wrapper = _patches[-1]
        if vars(owner).get(name) is wrapper:
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        _patches.pop()  # last: an interrupt leaves what is not restored


def _wrappers() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, its replacement while a tracker is open)."""
    for name in _BYPASS:
        spelled = f"np.{name}({'x' if name not in ('array', 'require') else 'x, ...'})"
        yield np, name, _Builtin(_watching(getattr(np, name), Function(spelled, name)))
    for module in [m for n, m in list(sys.modules.items()) if n.partition(".")[0] == "cv2" and inspect.ismodule(m)]:
        for name, member in list(vars(module).items()):
            if isinstance(member, types.BuiltinFunctionType):
                full = f"{module.__name__}.{name}"
                yield module, name, _Builtin(_watching(member, Function(f"{full}(x, ...)", full, True)))
    for name in _METHODS:
        if hasattr(Tensor, name):
            known = Function(_SPELLED.get(name, f"x.{name}(...)"), name)
            yield Tensor, name, _watching(getattr(Tensor, name), known)
    for name in ("T", "mT", "real", "imag"):
        attribute = vars(Tensor).get(name)
        if isinstance(attribute, property) and attribute.fget is not None:
            get = _watching(attribute.fget, Function(f"x.{name}", name))
            yield Tensor, name, property(get, attribute.fset, attribute.fdel, attribute.__doc__)
    yield Tensor, "__array_ufunc__", _watching_protocol(Tensor.__array_ufunc__, _of_ufunc)
    yield Tensor, "__array_function__", _watching_protocol(Tensor.__array_function__, _of_function)


_BYPASS = ("asarray", "array", "ascontiguousarray", "asfortranarray", "require")
_METHODS = f"{KEEPING_METHODS} {PLAIN_METHODS} copy astype view tobytes tofile __getitem__".split()
_SPELLED = {
    "__getitem__": "x[...]",
    **{name: f"x.{name}()" for name in ("flatten", "ravel", "squeeze", "tobytes")},
}


def _watching(original: Callable[..., Any], function: Function) -> Any:
    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not _reports or getattr(_here, "busy", False) or not has_tensor((args, kwargs)):
            return original(*args, **kwargs)
        return _watched(original, args, kwargs, function, args, kwargs)

    return wrapper


class _Builtin:
    """The replacement of a built-in function; like that, it does not become a method as an attribute of a class."""

    def __init__(self, wrapper: Callable[..., Any]) -> None:
        functools.update_wrapper(self, wrapper)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)  # type: ignore[attr-defined]

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[attr-defined, no-any-return]


def _watching_protocol(original: Callable[..., Any], described: Callable[..., tuple[Function, Any, Any]]) -> Any:
    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not _reports or getattr(_here, "busy", False):
            return original(*args, **kwargs)
        function, its_args, its_kwargs = described(*args, **kwargs)
        if not has_tensor((its_args, its_kwargs)):  # it is in a container of another kind
            its_args = args[:1]
        if not has_tensor(its_args) and not has_tensor(its_kwargs):
            return original(*args, **kwargs)
        return _watched(original, args, kwargs, function, its_args, its_kwargs)

    return wrapper


def _of_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> tuple[Function, Any, Any]:
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    whose = "np." if hasattr(np, ufunc.__name__) else ""
    return Function(f"{whose}{name}(x, ...)", name), inputs, dict(kwargs)


def _of_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> tuple[Function, Any, Any]:
    module = (func.__module__ or "numpy").replace("numpy", "np", 1)
    return Function(f"{module}.{func.__name__}(x, ...)", func.__name__), args, kwargs


def _watched(
    original: Callable[..., Any], args: Any, kwargs: Any, function: Function, its_args: Any, its_kwargs: Any
) -> Any:
    """Make the call and add it to every report that is open, unless it fails."""
    reports = _reports
    caller = sys._getframe(2)
    site = call_site(caller.f_back if caller.f_code is _Builtin.__call__.__code__ else caller)
    if site is None:
        return original(*args, **kwargs)
    _here.busy, _here.repacked = True, 0
    try:
        result = original(*args, **kwargs)
        what, lost = effect(function, its_args, its_kwargs, result)
    finally:
        _here.busy = False
    what = what._replace(copied_nbytes=max(what.copied_nbytes, _here.repacked))
    place = CallPlace(*site, function.text)
    for report in reports:
        add(report, place, what)
    if lost:
        _Lost(reports, place, what, lost)
    return result


class _KeptResult(weakref.ref[np.ndarray]):
    """A result, by its id."""

    __slots__ = ("key",)

    def __init__(self, x: np.ndarray, gone: Callable[[_KeptResult], None]) -> None:
        super().__init__(x, gone)  # type: ignore[call-arg]
        self.key = id(x)


class _Lost:
    """Results without their format: not lost if nl.Tensor or nl.asformat brings back each of them."""

    def __init__(
        self, reports: tuple[LayoutReport, ...], place: CallPlace, what: Effect, results: Sequence[np.ndarray]
    ) -> None:
        self.reports, self.place, self.what = reports, place, what
        self.left, self.nbytes = len(results), 0
        with suppress(IndexError):  # when none is left, which another thread may have taken
            while True:
                gone = _gone.popleft()
                if _lost.get(gone.key, (None,))[0] is gone:  # no later one has its id
                    _lost.pop(gone.key, None)
        for x in results:
            _lost[id(x)] = _KeptResult(x, _gone.append), self

    def brought_back(self, nbytes: int) -> None:
        self.left -= 1
        self.nbytes += nbytes
        if not self.left:
            for report in self.reports:
                bring_back(report, self.place, self.what, self.nbytes)


def _repacked(x: np.ndarray, result: np.ndarray) -> None:
    """Note that a plain array was brought into a format: by a Tensor's own methods, nl.Tensor or nl.asformat."""
    nbytes = 0 if overlap(result, x) else int(result.nbytes)
    if getattr(_here, "busy", False):
        _here.repacked += nbytes
        return
    reference, lost = _lost.pop(id(x), (None, None))
    if reference is not None and lost is not None and reference() is x:
        lost.brought_back(nbytes)
