"""nl.track_layout: what is found, with its bytes and fix; nothing else is; and everything is put back."""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import asarray as taken_before

import npu_layout as nl
from npu_layout import cli
from npu_layout.arrays import formats
from npu_layout.arrays import tensor as array_tensor
from npu_layout.arrays import tracker as track
from npu_layout.arrays.call_sites import call_site
from npu_layout.arrays.track_report import Call, LayoutReport
from npu_layout.arrays.watched_call import cv2_copies
from npu_layout.cli import track as cli_track
from tests.arrays.test_tensor import AMBIGUOUS, DROPS, KEEPS, LAYOUTS, SHAPES, tensor
from tests.support.arrays import AXES, arrays, bits, filled, tags
from tests.support.paths import SAMPLES

SAMPLE = SAMPLES / "lost_layout.py"
BYPASS = ("asarray", "array", "ascontiguousarray", "asfortranarray", "require")


def only(report: LayoutReport) -> Call:
    (call,) = report.calls
    return call


def tracked(function: Callable[[Any], Any], x: Any) -> LayoutReport:
    with nl.track_layout() as report:
        function(x)
    return report


def touched() -> dict[tuple[str, str], Any]:
    """Every attribute of whatever could be patched."""
    cv2_modules = [m for name, m in sys.modules.items() if name.split(".")[0] == "cv2"]
    owners = [np, np.ndarray, np.linalg, np.ma, nl.Tensor, array_tensor, formats, *cv2_modules]
    owners += [m for name, m in sys.modules.items() if name.startswith("npu_layout") and m is not track]
    return {
        (id(owner), name): value
        for owner in owners
        for name, value in list(vars(owner).items())
        if name not in ("__warningregistry__", "__builtins__")
    }


def same(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Whether every attribute is the one it was; submodules that were imported meanwhile may have come."""
    new = [value for key, value in after.items() if key not in before]
    return all(after.get(key) is value for key, value in before.items()) and all(map(inspect.ismodule, new))


@pytest.fixture(scope="module")
def untouched() -> Any:
    return touched()


@pytest.fixture(autouse=True)
def all_is_put_back(untouched: Any) -> Any:
    yield
    assert same(untouched, touched()) and not track._patches and not track._reports and not track._lost


# What is found


def test_the_sample_loses_three_times_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    source = SAMPLE.read_text().splitlines()
    planted = {number for number, line in enumerate(source, 1) if "# lost:" in line}
    assert len(planted) == 3
    assert cli.main(["track", "--json", str(SAMPLE)]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert {call["line"] for call in found["calls"] if call["fault"]} == planted and not found["kept"]
    faults = [call for call in found["calls"] if call["fault"]]
    assert (
        len(faults) == 3 and found["calls"][:3] == faults and all(os.path.samefile(c["file"], SAMPLE) for c in faults)
    )
    assert [call["copied_nbytes"] for call in faults] == [2 * 4 * 3 * 48 * 64 * 4, 4 * 3 * 48 * 64 * 4, 4 * 48 * 64]
    assert err.count("lies as NCHW") == 2
    assert cli.main(["track", "--json", str(SAMPLE), "--kept"]) == 0
    out, err = capsys.readouterr()
    assert not [call for call in json.loads(out)["calls"] if call["fault"]] and err.count("lies as NHWC") == 2


def test_both_ways_of_the_sample_give_the_same() -> None:
    done = [subprocess.run([sys.executable, SAMPLE, *o], capture_output=True, text=True) for o in ([], ["--kept"])]
    assert done[0].stdout.replace("NCHW", "NHWC") == done[1].stdout and done[1].stdout.count("mean") == 2, done


@pytest.mark.parametrize("name", KEEPS)
def test_what_keeps_the_format_is_no_fault(name: str) -> None:
    with nl.track_layout() as report:
        for shape, layout in itertools.product(SHAPES, LAYOUTS):
            KEEPS[name](tensor(shape, layout))
            assert not report.faults, (shape, layout)


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


@pytest.mark.parametrize("name", LOST)
def test_what_loses_the_format(name: str) -> None:
    function, nbytes, fix = LOST[name]
    report = tracked(function, nl.Tensor(filled(SHAPE, "float32"), "NHWC"))
    (call,) = report.faults
    assert not report and call.fault == "lost" and call.inputs.startswith("NHWC"), call
    assert call.copied_nbytes == nbytes and call.fix.split(" -> ") == [call.call, fix] and call.file == __file__
    assert report.calls[0] == call and f"fix: {call.fix}" in str(report) and "1 lost the format" in report.summary


@pytest.mark.parametrize("name", [name for name in LOST if name not in ("out=", "copyto", "add in C order")])
def test_the_fix_is_python_and_mends_it(name: str) -> None:
    function, *_ = LOST[name]
    x = nl.Tensor(filled(SHAPE, "float32"), "NHWC")
    first = tracked(function, x).faults[0].fix.split(" -> ")[1]
    code = re.sub(r", (a view|whose|without) .*", "", first)
    arguments = {"reshape(...)": "reshape(2, -1)", "dtype": "'f8'", "take(...)": "take([0, 1], axis=1)"}
    arguments |= {"1), ...)": "1), (2, 3))"} if name == "resize" else {}
    arguments |= {"np.pad(x, ...)": "np.pad(x, 1)", "repeat(x, ...)": "repeat(x, 2, axis=0)"}
    arguments |= {"matmul(x, ...)": "matmul(x, np.ones((5, 4), 'f4'))", ", ...)": ")"}
    for dots, written in arguments.items():
        code = code.replace(dots, written)
    with nl.track_layout() as report:
        mended = eval(code, {"np": np, "nl": nl, "cv2": cv2, "x": x})
    assert report and not report.faults, (code, report.faults)
    if name in ("reshape", "ravel"):
        assert np.shares_memory(mended, x)


def test_nothing_is_lost_in_channels_first_memory() -> None:
    x = nl.Tensor(filled(SHAPE, "float32"), "NCHW")
    for name, (function, *_) in LOST.items():
        if name not in ("asfortranarray", "flatten"):
            assert not tracked(function, x).faults, name
    call = only(tracked(lambda x: x.flatten(), x))
    assert (call.fault, call.fix) == ("copied", "x.flatten() -> x.ravel(), a view")


@pytest.mark.parametrize("shape", AMBIGUOUS[:3])
def test_where_strides_do_not_tell_a_plain_array_has_lost_it(shape: tuple[int, ...]) -> None:
    x = nl.Tensor(filled(shape, "float32"), "NHWC")
    call = only(tracked(lambda x: np.asarray(x), x))
    assert (call.fault, call.copied_nbytes, call.fix) == ("lost", 0, "np.asarray(x) -> nl.asformat(x, 'NHWC')")
    assert not tracked(lambda x: nl.asformat(x, "NHWC"), x).calls
    assert not tracked(lambda x: np.asarray(x), tensor(SHAPE, "NHWC")).faults


def test_needless_copies() -> None:
    x = nl.Tensor(filled(SHAPE, "float32"), "NHWC")
    report = tracked(lambda x: x.astype(np.float32), x)
    call = only(report)
    assert report and (call.fault, call.copied_nbytes) == ("copied", NBYTES) and report.faults == report.calls
    assert call.fix == "x.astype(...) -> x.astype(dtype, copy=False)"
    for asked in (
        lambda x: x.astype(np.float32, copy=True),
        lambda x: x.astype(np.float64),
        lambda x: x[:, :2].astype(np.float32),
        lambda x: x.copy(),
        lambda x: x.astype(np.float32, copy=False),
    ):
        assert not tracked(asked, x).faults


def test_one_that_is_brought_back_has_lost_nothing() -> None:
    x = nl.Tensor(filled(SHAPE, "float32"), "NHWC")
    for back in (lambda y: nl.Tensor(y, "NHWC"), lambda y: nl.asformat(y, "NHWC"), lambda y: nl.clone(y, "NHWC")):
        call = only(tracked(lambda x, back=back: back(np.repeat(x, 2, axis=0)), x))
        assert not call.fault and call.copied_nbytes == 2 * 2 * NBYTES and call.output.endswith("then brought back")
    mask = nl.Tensor(filled((2, 2, 4, 4), "float32"), "NHWC")

    def halves(x: Any, count: int) -> None:
        for half in np.split(x, 2, axis=1)[:count]:
            nl.Tensor(half, "NHWC")

    assert tracked(lambda x: halves(x, 2), mask) and not tracked(lambda x: halves(x, 1), mask)
    assert not tracked(lambda x: nl.Tensor(np.repeat(x, 2, axis=0) * 2, "NHWC"), x)


# Views, copies and their bytes

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


@pytest.mark.parametrize("name", MOVES)
def test_bytes_are_those_of_what_shares_no_memory(name: str) -> None:
    for shape, layout in itertools.product([(2, 3, 4, 6), (4, 1, 4, 4), (1, 4, 2, 2)], LAYOUTS[:2]):
        x = nl.Tensor(filled(shape, "float32"), layout)
        results = []
        report = tracked(lambda x, results=results: results.append(MOVES[name](x)), x)
        expected = 0 if np.shares_memory(results[0], x) else results[0].nbytes
        calls = [call for call in report.calls if "greater" not in call.call]
        assert sum(call.copied_nbytes for call in calls) in (expected, 0 if name == "mask" else expected), (
            layout,
            calls,
        )
        assert len(calls) == 1 or name == "iteration"


def test_a_repack_of_the_tensors_own_counts() -> None:
    x = nl.Tensor(filled(SHAPE, "float32"), "NHWC")
    call = only(tracked(lambda x: x.argsort(axis=1), x))  # numpy gives it in C order
    assert (call.copied_nbytes, call.output, call.fault) == (2 * NBYTES, "NHWC", "")
    first = nl.Tensor(filled(SHAPE, "float32"), "NCHW")
    assert only(tracked(lambda x: cv2.flipND(x, 0), first)).copied_nbytes == NBYTES
    assert only(tracked(lambda x: x + 1, x)).copied_nbytes == 0


def test_in_place_and_out_are_no_copies() -> None:
    x, y = (nl.Tensor(filled(SHAPE, "float32"), layout) for layout in ("NHWC", "NCHW"))
    with nl.track_layout() as report:
        x += 1
        np.multiply(x, 2, out=y)
        np.copyto(y, x)
    assert [(call.output, call.copied_nbytes) for call in report.calls] == [("NHWC", 0), ("NCHW", 0), ("NCHW", NBYTES)]
    assert report


# OpenCV


def strided(seed: int) -> np.ndarray:
    """A float32 array whose strides are anybody's guess."""
    rng = np.random.default_rng(seed)
    x = np.zeros(rng.integers(1, 5, rng.integers(1, 5)), np.float32)
    x = x.transpose(rng.permutation(x.ndim)) if rng.integers(2) else x
    steps = rng.choice([1, 1, 1, 2, -1], x.ndim)
    return x[tuple(slice(None, None, step) for step in steps)] if rng.integers(2) else x


def test_what_opencv_copies_is_what_it_refuses_as_an_output() -> None:
    seen = set()
    many = [np.zeros((2, 3, n), np.float32)[:, :, :-1] for n in (100, 128, 129, 130, 300, 512, 513, 514)]
    for x in (*many, *map(strided, range(600))):
        dense = np.ascontiguousarray(x)
        try:
            cv2.add(dense, dense, dst=x)
            refused = False
        except cv2.error as error:
            assert "is incompatible with cv::Mat" in str(error)
            refused = True
        assert cv2_copies(x) == refused, (x.shape, x.strides)
        seen.add((x.ndim, refused))
    assert len(seen) == 8


def image(tag: str) -> nl.Tensor:
    """(8,6,3) uint8 whose axes are H, W and C."""
    return nl.Tensor(filled((8, 6, 3), "uint8"), nl.Layout(tag, axes="HWC"))


def test_cv2_on_images() -> None:
    good, bad = image("HWC"), image("CHW")
    with nl.track_layout() as report:
        cv2.resize(good, (4, 4))
        cv2.split(good)
        cv2.minMaxLoc(good[:, :, 0])
        mean = cv2.meanStdDev(good)
        cv2.rectangle(good, (0, 0), (2, 2), 7)
        cv2.setRNGSeed(1)
        assert cv2.imencode(".png", good)[0]
    assert isinstance(mean, tuple) and report and not report.faults
    outputs = {call.call: (call.output, call.copied_nbytes) for call in report.calls}
    assert outputs["cv2.resize(x, ...)"] == ("plain HWC", 0)
    assert outputs["cv2.split(x, ...)"] == ("3 x plain 2-D", 8 * 6 * 3)
    assert outputs["cv2.rectangle(x, ...)"] == ("HWC", 0) and "cv2.minMaxLoc(x, ...)" not in outputs
    with nl.track_layout() as report:
        cv2.resize(bad, (4, 4))
        cv2.imencode(".png", bad)
        cv2.accumulate(bad, np.zeros((8, 6, 3), np.float32))
    assert [call.fault for call in report.calls] == ["lost", "lost", "copied"], report
    assert {call.copied_nbytes for call in report.calls} == {8 * 6 * 3}
    fixes = {call.fix.split(" -> ")[1] for call in report.calls}
    assert "x = nl.asformat(x, nl.Layout('HWC', axes='HWC')) once, before" in fixes


def test_cv2_functions_that_return_no_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(cv2, "imshow", kept.append)  # as it does where there is a display: None
    x = image("HWC")
    with nl.track_layout() as report:
        assert cv2.imwrite(str(tmp_path / "x.png"), x)
        assert cv2.imshow(x) is None and kept[0] is x  # type: ignore[call-arg, arg-type, func-returns-value]
    assert [(c.call, c.output, c.fault) for c in report.calls] == [
        ("cv2.imwrite(x, ...)", "bool", ""),
        ("cv2.imshow(x, ...)", "none", ""),
    ]


# The block


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


def test_a_report_does_not_change_after_its_block() -> None:
    x = tensor(SHAPE, "NHWC")
    with nl.track_layout():
        with nl.track_layout() as inner:
            kept = np.repeat(x, 2, axis=0)
        nl.Tensor(kept, "NHWC")
        x.tobytes()
    assert [call.fault for call in inner.calls] == ["lost"]


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


def test_the_users_line_is_told_even_through_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "some_library.py").write_text("import numpy as np\n\ndef load(x):\n    return np.ascontiguousarray(x)\n")
    monkeypatch.syspath_prepend(str(folder))
    library = importlib.import_module("some_library")
    x = tensor(SHAPE, "NHWC")
    with nl.track_layout() as report:
        library.load(x)
        np.testing.assert_array_equal(x, x)
        np.apply_along_axis(lambda row: row + 1, 0, x)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(np.ascontiguousarray, x).result()
    del sys.modules["some_library"]
    calls = [call for call in report.calls if call.call == "np.ascontiguousarray(x)"]
    assert calls[0].file == __file__ and calls[0].within == f"{folder / 'some_library.py'}:4"
    assert calls[1].file.endswith("thread.py") and not calls[1].within
    assert all(call.file == __file__ for call in report.calls if call != calls[1])


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
        assert [reference() for reference in references] == [None, None] and not track._lost
    assert report.faults


def test_the_report_as_json(tmp_path: Path) -> None:
    report = tracked(lambda x: np.ascontiguousarray(x), tensor(SHAPE, "NHWC"))
    text = report.to_json(tmp_path / "report.json")
    found = json.loads(text)
    assert json.loads((tmp_path / "report.json").read_text()) == found == report.to_dict()
    assert found["calls"][0]["fix"] == "np.ascontiguousarray(x) -> nl.asformat(x, 'NHWC')" and found["kept"] is False


# The command


def command(*arguments: Any, cwd: Any = None) -> subprocess.CompletedProcess[str]:
    code = "import sys; from npu_layout.cli import main; sys.exit(main(sys.argv[1:]))"
    root = str(SAMPLE.parent.parent)
    environment = {**os.environ, "PYTHONPATH": root}
    return subprocess.run(
        [sys.executable, "-c", code, "track", *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_command_shows_a_table() -> None:
    done = command(SAMPLE.name, cwd=SAMPLE.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and done.stderr == ""
    assert [line[:4] for line in lines[3:6]] == ["lost"] * 3 and "lost_layout.py:" in lines[3], done.stdout
    assert "3 lost the format, 0 copied without need" in lines[-1]


SCRIPT = """
import sys, helper
import numpy as np, npu_layout as nl
print("out", sys.argv, __name__, __file__.endswith("script.py"), vars(sys.modules["__main__"]) is globals())
x = nl.Tensor(np.zeros((2, 3, 4, 5)), "NHWC")
{}
"""


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("x + 1", 0, ""),
        ("x.tobytes()", 1, ""),
        ("x.tobytes(); sys.exit(0)", 1, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no camera')", 1, "no camera\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
        ("import os; os._exit(5)", 5, ""),
    ],
)
def test_exit_status(tmp_path: Path, body: str, status: int, words: str) -> None:
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT.format(body))
    done = command("script.py", "--json", "-x", "--help", "3", cwd=tmp_path)
    assert done.returncode == status and done.stderr.endswith(words), done.stderr
    if "_exit" not in body:
        assert done.stdout.startswith("out ['script.py', '--json', '-x', '--help', '3'] __main__ True True\n"), (
            done.stdout
        )


@pytest.mark.parametrize(
    "body",
    [
        "def f():\n    return {}['key']\nf()",
        "try:\n    x.reshape(7)\nexcept ValueError as error:\n    raise RuntimeError('reading') from error",
        "try:\n    np.asarray(x, order='?')\nexcept ValueError:\n    np.ascontiguousarray(x, 7, 8)",
        "sys.excepthook = lambda *what: print('hooked', what[0].__name__, file=sys.stderr)\n1 / 0",
        "raise ValueError",
        "if True:\nx",
    ],
)
def test_exceptions_are_shown_as_python_would(tmp_path: Path, body: str) -> None:
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT.format(body))
    plain = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    done = command("script.py", cwd=tmp_path)
    assert done.returncode == plain.returncode == 1 and plain.stderr

    def told(text: str) -> str:
        return text.replace(str(tmp_path) + os.sep, "")

    assert told(done.stderr) == told(plain.stderr)
    if "if True" not in body:
        assert "kinds of calls" in done.stdout and done.stdout.startswith(plain.stdout)


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for script in (tmp_path / "none.py", tmp_path):
        assert cli.main(["track", str(script)]) == 2
        assert capsys.readouterr().err == f"npu-layout track: {script}: no such file\n"
    with pytest.raises(SystemExit) as end:
        cli.main(["track"])
    assert end.value.code == 2


def test_the_process_is_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nsys.argv = ['other']\nsys.path.append('nowhere')\n1 / 0\n")
    argv, path, main = sys.argv, [*sys.path], sys.modules["__main__"]
    assert cli.main(["track", str(script), "a"]) == 1
    assert sys.argv is argv and sys.path == path and sys.modules["__main__"] is main
    out, err = capsys.readouterr()
    assert "ZeroDivisionError" in err and "0 kinds of calls" in out


def test_tracebacks_that_refer_to_each_other_end() -> None:
    a, b = ValueError("a"), ValueError("b")
    a.__context__, b.__cause__ = b, a
    cli_track._cut(a, set())
    assert isinstance(call_site(sys._getframe()), tuple) and isinstance(types.TracebackType, type)
