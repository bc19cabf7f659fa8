"""nl.track_layout: everything is watched while a block is open, results stay the same, and all is restored."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import sys
import threading
import types
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import asarray as taken_before

import npu_layout as nl
from npu_layout.arrays import tracker as track
from tests.support.arrays import AXES, arrays, bits, filled, tags
from tests.support.tensors import DROPS, KEEPS, LAYOUTS, SHAPES, tensor
from tests.support.tracked import BYPASS, LOST, MOVES, NBYTES, SHAPE, only, same, touched


def test_nothing_is_patched_outside_and_all_within() -> None:
    before = touched()
    with nl.track_layout():
        inside = touched()
    changed = {key for key, value in inside.items() if before.get(key) is not value}
    names = {name for _, name in changed}
    assert {
        *BYPASS,
        "resize",
        "blobFromImage",
        "__array_ufunc__",
        "reshape",
        "tobytes",
        "T",
        "_repack_watcher",
    } <= names
    assert same(before, touched()) and "tobytes" not in vars(nl.Tensor)
    assert all(value is before[key] for key, value in inside.items() if key not in changed)


def test_what_stands_for_a_built_in_function_is_no_method() -> None:
    image = np.zeros((4, 4), np.uint8)
    with nl.track_layout() as report:

        class Steps:
            array, resize = np.asarray, cv2.resize

        assert Steps().array([1, 2]).tolist() == [1, 2] and Steps().resize(image, (2, 2)).shape == (2, 2)
        assert pickle.loads(pickle.dumps(np.asarray)) is np.asarray is copy.deepcopy(np.asarray)
        x = nl.Tensor(np.zeros((1, 2, 3, 4)), "NHWC")
        y, z = Steps.array(x), Steps().array(x)
    assert np.shares_memory(x, y) and np.shares_memory(x, z)
    assert [(call.file, call.call, call.times) for call in report.calls] == [(__file__, "np.asarray(x)", 2)]


def test_after_an_exception_all_is_as_before() -> None:
    before = touched()
    x = tensor(SHAPE, "NHWC")
    with pytest.raises(ZeroDivisionError), nl.track_layout() as report:
        np.ascontiguousarray(x)
        raise ZeroDivisionError
    assert same(before, touched()) and len(report.faults) == 1


def test_errors_are_those_of_the_call_and_not_recorded() -> None:
    x = tensor(SHAPE, "NHWC")
    for wrong in (lambda: x + np.ones(7), lambda: x.reshape(7), lambda: cv2.add(x), lambda: np.pad(x), lambda: x[9]):
        with pytest.raises(Exception) as plain:
            wrong()
        with nl.track_layout() as report, pytest.raises(type(plain.value)) as watched:
            wrong()
        assert str(watched.value) == str(plain.value) and not report.calls
        with nl.track_layout() as report:
            assert np.sum(x) == np.asarray(x).sum()
        assert len(report.calls) == 2


def test_a_tracker_that_cannot_open_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before, original = touched(), track._wrappers

    def broken() -> Any:
        yield from itertools.islice(original(), 900)
        raise MemoryError

    monkeypatch.setattr(track, "_wrappers", broken)
    with pytest.raises(MemoryError), nl.track_layout():
        raise AssertionError("the block must not run")
    assert same(before, touched())


def test_nested_trackers() -> None:
    x = tensor(SHAPE, "NHWC")
    before = touched()
    with nl.track_layout() as outer:
        np.ascontiguousarray(x)
        with nl.track_layout() as inner:
            x.tobytes()
        x.ravel()
    np.asfortranarray(x)
    assert same(before, touched())
    assert [call.call for call in inner.calls] == ["x.tobytes()"]
    assert [call.call for call in outer.calls] == ["np.ascontiguousarray(x)", "x.tobytes()", "x.ravel()"]


def test_trackers_that_do_not_nest() -> None:
    x, before = tensor(SHAPE, "NHWC"), touched()
    first, second = nl.track_layout(), nl.track_layout()
    a = first.__enter__()
    b = second.__enter__()
    np.ascontiguousarray(x)
    first.__exit__(None, None, None)
    x.tobytes()
    second.__exit__(None, None, None)
    assert same(before, touched()) and len(a.calls) == 1 and len(b.calls) == 2


def test_calls_of_all_threads_count() -> None:
    x = tensor(SHAPE, "NHWC")
    with nl.track_layout() as report, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [np.ascontiguousarray(x) for _ in range(50)], range(8)))
    call = only(report)
    assert call.times == 400 and call.copied_nbytes == 400 * NBYTES and call.file == __file__


def test_trackers_in_several_threads() -> None:
    before, x, barrier = touched(), tensor(SHAPE, "NHWC"), threading.Barrier(6)
    problems: list[Any] = []

    def work() -> None:
        barrier.wait()
        for _ in range(30):
            with nl.track_layout() as report:
                x.tobytes()
                if not any(call.call == "x.tobytes()" for call in report.faults):
                    problems.append(report)
            x.tobytes()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and same(before, touched())


def test_references_taken_before_and_within() -> None:
    x = tensor((4, 1, 4, 4), "NHWC")
    with nl.track_layout() as report:
        taken_before(x)
        within = np.asarray
        resize = cv2.resize
    assert not report.calls and within is not np.asarray
    assert type(within(x)) is np.ndarray and resize(np.zeros((4, 4), "u1"), (2, 2)).shape == (2, 2)


def test_what_somebody_else_put_there_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    original = np.asarray
    try:
        with nl.track_layout():
            below = np.asarray
            theirs = lambda *a, **k: below(*a, **k)  # noqa: E731
            np.asarray = theirs
        assert np.asarray is theirs and np.asarray([1]).shape == (1,)
    finally:
        np.asarray = original


def test_plain_arrays_and_our_own_functions_are_not_recorded() -> None:
    plain, x = filled(SHAPE, "float32"), tensor(SHAPE, "NHWC")
    with nl.track_layout() as report:
        np.ascontiguousarray(plain.transpose(0, 2, 3, 1))
        cv2.exp(plain)
        np.array([[1, 2], [3, 4]])
        nl.asformat(x, "NCHW")
        nl.Tensor(x, "NCHW")
        nl.memory_format(x)
        nl.why_copy(x, (-1,))
        nl.ops.resize(x, (8, 8))
        nl.ops.pad(x, (1, 1, 1, 1))
        repr(x)
    assert not report.calls and report


def test_other_tensors_and_arguments() -> None:
    x = tensor(SHAPE, "NHWC")

    class Mine(nl.Tensor):
        pass

    with nl.track_layout() as report:
        np.stack([x, np.zeros(SHAPE, "f4")])
        np.array(((x,),))
        np.ascontiguousarray(Mine(x, "NHWC"))
        np.add(1, x, where=x > 0, out=x)
        x.view(nl.Tensor)
        np.asarray(np.zeros((2, 2)).view(nl.Tensor))
        x[x > 3] = 0
        bytes(x)
        np.sum(a=x, axis=(0, 1))
        np.squeeze(x[:0])
    calls = {call.call: call for call in report.calls}
    assert calls["np.stack(x, ...)"].inputs == "NHWC, plain NCHW"
    assert calls["np.ascontiguousarray(x)"].fault == "lost" and "np.asarray(x)" not in calls
    assert calls["np.array(x, ...)"].output == "plain 6-D" and calls["np.add(x, ...)"].output == "NHWC"


@pytest.mark.parametrize("name", [*KEEPS, *DROPS])
def test_results_are_the_same_under_a_tracker(name: str) -> None:
    function = {**KEEPS, **DROPS}[name]
    cases = list(itertools.product(SHAPES, LAYOUTS))
    wanted = [function(tensor(shape, layout)) for shape, layout in cases]
    with nl.track_layout():
        results = [function(tensor(shape, layout)) for shape, layout in cases]
    for result, expected in zip(results, wanted):
        assert type(result) is type(expected) and result.strides == expected.strides
        assert getattr(result, "_layout", None) == getattr(expected, "_layout", None)
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))


def outcome(function: Callable[[Any], Any], x: Any) -> Any:
    """What came out, to compare: type, bits, format and strides; or the error in its words."""
    try:
        y = function(x)
    except Exception as error:
        return type(error), str(error)
    if not isinstance(y, np.ndarray):
        return type(y), str(y)
    return type(y), y.dtype, y.strides, getattr(y, "_layout", None), None if y.dtype.hasobject else y.tobytes()


@given(st.data())
def test_any_array_through_any_call(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axes = AXES[x.ndim][0]
    t = nl.Tensor(x, data.draw(st.sampled_from(tags(axes))))
    if data.draw(st.booleans()):
        t = t[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in x.shape)]
    functions = {**KEEPS, **DROPS, **MOVES, **{name: function for name, (function, *_) in LOST.items()}}
    functions = {
        name: function
        for name, function in functions.items()
        if name not in ("out=", "copyto", "ones_like in C order") and (t.size or not name.startswith("cv2"))
    }  # nor what older OpenCVs make of no elements, which is not initialised
    kept = bits(t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of complex numbers cast to real ones
        expected = {name: outcome(function, t) for name, function in functions.items()}
        with nl.track_layout() as report:
            results = {name: outcome(function, t) for name, function in functions.items()}
    assert {name for name in functions if results[name] != expected[name]} == set() and bits(t) == kept
    assert report.calls and str(report)


def test_arrays_are_not_kept_alive() -> None:
    import weakref

    with nl.track_layout() as report:
        x = nl.Tensor(np.zeros(SHAPE, np.float32), "NHWC")
        y = np.ascontiguousarray(x)
        references = [weakref.ref(x), weakref.ref(y)]
        del x, y
        assert [reference() for reference in references] == [None, None]
        for _ in range(3):
            np.ascontiguousarray(nl.Tensor(np.zeros(SHAPE, np.float32), "NHWC"))
        assert len(track._lost) == 1
    assert report.faults and not track._lost


def test_no_code_of_python_runs_when_a_result_is_gone() -> None:
    """Python prints the exception that a signal's handler raises there, and goes on: a Ctrl-C was lost."""
    called: list[str] = []
    with nl.track_layout() as report:
        y = np.ascontiguousarray(nl.Tensor(np.zeros(SHAPE, np.float32), "NHWC"))
        sys.setprofile(lambda frame, event, argument: called.append(event))
        del y
        sys.setprofile(None)
    assert report.faults and "call" not in called


@pytest.mark.parametrize("n", [1, 2, 3, 50, 51, 52, 53, 600])
@pytest.mark.parametrize("opening", [False, True], ids=["end", "begin"])
def test_an_interrupt_while_a_block_begins_or_ends_leaves_nothing_replaced(n: int, opening: bool) -> None:
    """numpy's functions stayed replaced until the end of the program, and a later block replaced them again."""
    functions = (np.asarray, np.array, np.require, nl.Tensor.__dict__["copy"], nl.Tensor.__dict__["__array_ufunc__"])

    def profile(frame: types.FrameType, event: str, argument: Any) -> None:
        nonlocal n
        if frame.f_code.co_flags & inspect.CO_GENERATOR and event == "call":
            return  # before 3.11 what is raised here passes by the generator's `finally`; a signal's handler runs in it
        if frame.f_code.co_filename == track.__file__ and event in ("call", "c_return"):
            n -= 1
            if not n:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        if opening:
            sys.setprofile(profile)
        with nl.track_layout():
            sys.setprofile(profile)
    sys.setprofile(None)
    assert not track._patches and not track._reports
    assert functions == (
        np.asarray, np.array, np.require, nl.Tensor.__dict__["copy"], nl.Tensor.__dict__["__array_ufunc__"],
    )  # fmt: skip
