"""What the engines of runtimes have in common, by an engine of a few lines whose runtime is numpy."""

from __future__ import annotations

import re
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines.runtime import (
    RuntimeEngine,
    declared_inputs,
    layout_of,
    model_file,
    names_of,
    opening,
    refused,
    runtime,
    seen,
)
from npu_layout.testing import check_engine

X = nl.TensorSpec((1, 3, 2, 2), "NCHW4c", "int8", name="x")
Y = nl.TensorSpec((2, 3), "NC", "int16", name="y")
TOTAL = nl.TensorSpec((1, 3, 2, 2), "NCHW4c", "int16", name="total")
SUM = nl.TensorSpec((1,), nl.Layout.of_rank(1), "int32", name="sum")


class Sums(RuntimeEngine):
    """sum = that of y, total = x + sum. Its outputs are memory that the next run overwrites."""

    def __init__(self) -> None:
        super().__init__("sums.model", [X, Y], [TOTAL, SUM])
        self.total, self.sum = np.zeros(TOTAL.size or 0, np.int16), np.zeros(1, np.int32)
        self.released = self.runs = self.at_work = self.together = 0

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        self.at_work += 1
        self.together = max(self.together, self.at_work)
        x, y = inputs
        assert x.ndim == y.ndim == 1
        if y[0] == 99:
            self.at_work -= 1
            raise KeyError("no kernel")
        if y[0] == 98:
            self.at_work -= 1
            raise nl.NpuLayoutError("y: out of range")
        time.sleep(0.0005)
        self.total[:] = x.astype(np.int16) + y.sum()
        self.sum[:] = y.sum()
        self.runs += 1
        self.at_work -= 1
        return [self.total, self.sum]

    def _release(self) -> None:
        self.released += 1


def inputs(k: int = 1) -> dict[str, Any]:
    return {"x": np.full(X.size, k, np.int8), "y": np.arange(6, dtype=np.int16).reshape(2, 3)}


def test_it_keeps_the_rules_of_engines() -> None:
    assert len(check_engine(Sums)) == 8  # that of one buffer without a name needs one input
    assert repr(Sums()) == "<Sums sums.model: x(1, 3, 2, 2), y(2, 3), total(1, 3, 2, 2), sum(1,)>"


def test_named_buffers_in_and_copies_out() -> None:
    """In any order, flat or of the storage shape, as bytes too; what comes out stays what it was."""
    engine = Sums()
    first = engine.infer(inputs())
    assert list(first) == ["total", "sum"] and first["total"].tolist() == [1 + 15] * 16
    assert first["total"].ndim == first["sum"].ndim == 1
    shaped = {"y": inputs()["y"].tobytes(), "x": np.full(X.storage_shape, 2, np.int8)}
    second = engine.infer(shaped)
    assert second["total"].tolist() == [17] * 16 and first["total"].tolist() == [16] * 16
    assert first["sum"].tolist() == [15] == second["sum"].tolist()
    assert not np.shares_memory(second["total"], engine.total) and engine.owns_outputs is False


def test_outputs_into_given_memory() -> None:
    engine = Sums()
    out = {"total": np.zeros(TOTAL.storage_shape, np.int16), "sum": np.zeros(1, np.int32)}
    found = engine.infer(inputs(), out=out)
    assert all(np.shares_memory(found[name], out[name]) for name in out)
    assert (out["total"] == 16).all() and out["sum"][0] == 15
    fixed = np.zeros(16, np.int16)
    fixed.flags.writeable = False
    for wrong, words in (
        ({"total": out["total"]}, "out: expected arrays for total, sum, got total"),
        ({**out, "sums": out["sum"]}, "out: expected arrays for total, sum, got total, sum, sums"),
        ({**out, "sum": bytearray(4)}, "out: sum: expected a contiguous array that can be written"),
        ({**out, "total": np.zeros(15, np.int16)}, "has 30 bytes"),
        ({**out, "total": np.zeros(16, np.int8)}, "int16"),
        ({**out, "total": np.zeros(32, np.int16)[::2]}, "contiguous"),
        ({**out, "total": fixed}, "out: total: expected a contiguous array that can be written"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            engine.infer(inputs(), out=wrong)
    memory = np.zeros(40, np.uint8)
    parts = {"total": memory[2:34].view(np.int16), "sum": memory[32:36].view(np.int32)}
    with pytest.raises(nl.NpuLayoutError, match=r"sums\.model: out: total and sum overlap"):
        engine.infer(inputs(), out=parts)
    assert not memory.any()
    parts["total"] = memory[:32].view(np.int16)  # side by side
    assert engine.infer(inputs(2), out=parts)["total"].tolist() == [17] * 16 and parts["sum"][0] == 15


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": None}, "sums.model has the inputs x, y; got x"),
        ({"z": np.zeros(1)}, "sums.model has the inputs x, y; got x, y, z"),
        ({"x": np.zeros(15, np.int8)}, "sums.model: input x: buffer has 15 bytes"),
        ({"x": np.zeros(16, np.float32)}, "sums.model: input x: "),
        ({"y": np.full(6, 99, np.int16)}, "sums.model: Sums failed: 'no kernel'"),
        ({"y": np.full(6, 98, np.int16)}, "^y: out of range$"),
    ],
)
def test_what_is_refused_or_fails(change: dict[str, Any], words: str) -> None:
    engine = Sums()
    given = {name: value for name, value in {**inputs(), **change}.items() if value is not None}
    with pytest.raises(nl.NpuLayoutError, match=words):
        engine.infer(given)
    assert engine.infer(inputs())["total"][0] == 16  # it goes on


def test_one_buffer_needs_one_input() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"sums.model has 2 inputs: expected \{name: array\} for x, y"):
        Sums().infer(np.zeros(16, np.int8))


def test_the_end() -> None:
    with Sums() as engine:
        engine.infer(inputs())
    engine.close()
    assert engine.released == 1
    with pytest.raises(nl.NpuLayoutError, match=r"sums\.model: the engine is closed"):
        engine.infer(inputs())


def test_the_end_of_a_device_that_is_gone() -> None:
    """What its runtime raises took the place of the answer at the end of `with`."""

    class Unplugged(Sums):
        def _release(self) -> None:
            self.released += 1
            raise OSError("no such device")

    with Unplugged() as engine:
        assert engine.infer(inputs())["sum"][0] == 15
    engine.close()
    assert engine.released == 1


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("raised", "expected", "words"),
    [
        (OSError("no device"), nl.NpuLayoutError, "^m: cannot be loaded: no device$"),
        (nl.NpuLayoutError("x: a list"), nl.NpuLayoutError, "^x: a list$"),
        (KeyboardInterrupt(), KeyboardInterrupt, "^$"),
        (SystemExit(3), SystemExit, "^3$"),
    ],
)
def test_what_cannot_be_opened_is_released(
    raised: BaseException, expected: type[BaseException], words: str, fails: bool
) -> None:
    """Ctrl-C while a model is loaded left the device taken; an error of the release hid the first one."""
    released: list[bool] = []

    def release() -> None:
        released.append(True)
        if fails:
            raise ValueError("released too early")

    with pytest.raises(expected, match=words), opening("m", release):
        raise raised
    assert released == [True]
    with pytest.raises(expected, match=words), opening("m"):
        raise raised
    with opening("m", release):
        pass
    assert released == [True]


def test_a_warning_that_is_an_error_is_raised_as_it_is() -> None:
    """Of a program under ``python -W error``: the model can be loaded."""
    released: list[str] = []
    with pytest.raises(UserWarning, match=r"^the order"), opening("a model", lambda: released.append("it")):
        raise UserWarning("the order")
    assert released == ["it"]


@pytest.mark.parametrize("shape", [(4,), (1, 10), (1, 84, 8400), (1, 3, 8, 8), (1, 8, 8, 3)])
def test_the_letters_of_a_tensor(shape: tuple[int, ...]) -> None:
    by_rank = {1: "N", 2: "NC", 3: "NCW", 4: "NCHW"}[len(shape)]
    said = by_rank[::-1]
    assert layout_of("a model", "x", shape, {"x": said}) == nl.Layout.plain(said)
    warned = [] if shape[-1] != 3 else [UserWarning]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert layout_of("a model", "x", shape, {"y": said}).axes == by_rank
    assert [one.category for one in found] == warned
    assert all(
        "a model: x: the order" in str(one.message) and "layouts={'x': 'NHWC'}" in str(one.message) for one in found
    )


@pytest.mark.parametrize("letters", [5, None, "NHW", "NHWCD", "", ["N", "H", "W", "C"]])
def test_letters_that_are_not_those_of_the_shape_are_refused(letters: Any) -> None:
    words = re.escape("layouts: output0: expected a letter for each axis of shape (1, 6, 6, 4), such as 'NCHW', got ")
    with pytest.raises(nl.LayoutError, match=f"^{words}{re.escape(repr(letters))}$"):
        layout_of("a model", "output0", (1, 6, 6, 4), {"output0": letters})
    with pytest.raises(nl.LayoutError, match="got 'nhwc'"):
        layout_of("a model", "output0", (1, 6, 6, 4), {"output0": "nhwc"})


def test_threads_run_it_one_at_a_time() -> None:
    engine, wrong = Sums(), []

    def run(k: int) -> None:
        for _ in range(20):
            if set(engine.infer(inputs(k))["total"].tolist()) != {k + 15}:
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and engine.together == 1 and engine.runs == 80


def test_a_runtime_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    assert runtime("json", "json-package") is json
    with pytest.raises(nl.NpuLayoutError, match=r"no_such_runtime cannot be imported \(.*\); pip install some-package"):
        runtime("no_such_runtime", "some-package")
    (tmp_path / "lacks_a_library.py").write_text("import ctypes\nctypes.CDLL('libnowhere.so.1')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(nl.NpuLayoutError, match=r"lacks_a_library cannot be imported \(libnowhere\.so\.1: "):
        runtime("lacks_a_library", "some-package")


def test_model_files(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"")
    assert model_file(tmp_path / "m.bin") == str(tmp_path / "m.bin")
    with pytest.raises(nl.NpuLayoutError, match=r"n\.bin: no such file"):
        model_file(tmp_path / "n.bin")
    with pytest.raises(nl.NpuLayoutError, match="is a directory"):
        model_file(tmp_path)
    for read in (model_file, nl.OnnxRuntimeEngine):
        with pytest.raises(nl.NpuLayoutError, match="model /dev/null: is a device, a pipe or a socket"):
            read("/dev/null")
    with pytest.raises(nl.NpuLayoutError, match="model: expected"):
        model_file(3)
    error = refused("m.bin", ValueError("line one\n   line two"))
    assert str(error) == "m.bin: cannot be loaded: line one line two"
    (tmp_path / "m.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.bin: is no model; it is a pointer of Git LFS .*: git lfs pull"):
        model_file(tmp_path / "m.bin")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.bin: onnxruntime cannot load it: .*: git lfs pull"):
        nl.OnnxRuntimeEngine(tmp_path / "m.bin")


def test_inputs_that_a_runtime_does_not_report() -> None:
    assert declared_inputs([X, Y]) == declared_inputs([X.to_dict(), Y]) == declared_inputs((X, Y.to_dict())) == [X, Y]
    assert declared_inputs([{"shape": [1, 3, 8, 8], "layout": "NHWC", "name": "x"}]) == [
        nl.TensorSpec((1, 3, 8, 8), "NHWC", name="x")
    ]
    with pytest.raises(nl.NpuLayoutError, match=r"input_specs: .*depth"):
        declared_inputs([{**X.to_dict(), "depth": 3}])
    for wrong in ([], [X, X], [nl.TensorSpec((1, 2), "NC")], [X, "y"], 3, X.to_dict(), [{"shape": [1], "layout": "N"}]):
        with pytest.raises(nl.NpuLayoutError, match="input_specs: expected"):
            declared_inputs(wrong)


def test_names_and_specs_of_outputs() -> None:
    assert (
        names_of("m", "output", 2, None) == ["output0", "output1"] == names_of("m", "output", 2, ["output0", "output1"])
    )
    with pytest.raises(nl.NpuLayoutError, match="input_names: m has 2 inputs, got 1 name"):
        names_of("m", "input", 2, ["x"])
    for wrong in (["x", "x"], ["x", ""]):
        with pytest.raises(nl.NpuLayoutError, match=r"output_names: expected a name of its own for each .*, got \['x'"):
            names_of("m", "output", 2, wrong)
    with pytest.raises(nl.NpuLayoutError, match="output_names: expected"):
        names_of("m", "output", 1, [3])
    answers = [np.zeros((1, 3, 4, 5), np.float32), np.zeros(7, np.int64)]
    assert seen("m", answers, ["maps", "ids"], {"maps": "NHWC"})[0].axes == "NHWC"
    with pytest.raises(nl.NpuLayoutError, match="layouts: no output 'output0'; the model has maps, ids"):
        seen("m", answers, ["maps", "ids"], {"output0": "NHWC"})
    with pytest.raises(nl.NpuLayoutError, match=r"layouts: expected {name of the output: value}, got"):
        seen("m", answers, ["maps", "ids"], "NHWC")
    first, second = seen("m", answers, ["maps", "ids"])
    assert (first.name, first.shape, first.dtype, first.layout.tag) == ("maps", (1, 3, 4, 5), "float32", "NCHW")
    assert (second.name, second.shape, second.dtype, second.nbytes) == ("ids", (7,), "int64", 56)
