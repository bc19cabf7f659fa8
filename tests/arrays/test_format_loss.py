"""What track_layout calls a fault, with its bytes and its fix, and what it does not."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.support.arrays import filled
from tests.support.tensors import AMBIGUOUS, KEEPS, LAYOUTS, SHAPES, tensor
from tests.support.tracked import LOST, MOVES, NBYTES, SHAPE, only, tracked


@pytest.mark.parametrize("name", KEEPS)
def test_what_keeps_the_format_is_no_fault(name: str) -> None:
    with nl.track_layout() as report:
        for shape, layout in itertools.product(SHAPES, LAYOUTS):
            KEEPS[name](tensor(shape, layout))
            assert not report.faults, (shape, layout)


@pytest.mark.parametrize("name", LOST)
def test_what_loses_the_format(name: str) -> None:
    function, nbytes, fix = LOST[name]
    report = tracked(function, nl.Tensor(filled(SHAPE, "float32"), "NHWC"))
    (call,) = report.faults
    assert not report and call.fault == "lost" and call.inputs.startswith("NHWC"), call
    assert call.copied_nbytes == nbytes and call.fix.split(" -> ") == [call.call, fix]
    assert call.file == function.__code__.co_filename
    assert report.calls[0] == call and f"fix: {call.fix}" in str(report) and "1 lost the format" in report.summary


@pytest.mark.parametrize("name", [name for name in LOST if name not in ("out=", "copyto", "add in C order")])
def test_the_fix_is_python_that_keeps_the_format(name: str) -> None:
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
        fixed = eval(code, {"np": np, "nl": nl, "cv2": cv2, "x": x})
    assert report and not report.faults, (code, report.faults)
    if name in ("reshape", "ravel"):
        assert np.shares_memory(fixed, x)


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
