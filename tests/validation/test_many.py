"""validate_many: a verdict for each recording, wherever the work is done, and whatever dies."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import Board, network

# In every process that is started with it: whoever opens a file of a recording called "killer" dies.
DEADLY = """
import os, signal, sys

def hook(event, arguments):
    if event == "open" and "killer" in str(arguments[0]) and str(arguments[0]).endswith("recording.json"):
        os.kill(os.getpid(), signal.SIGKILL) if "signal" in str(arguments[0]) else os._exit(7)

sys.addaudithook(hook)
"""
FOUND = ["a", "b/c/deep", "b/wrong", "z"]


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(frames=4)


@pytest.fixture
def tree(tmp_path: Path, board: Board) -> Path:
    """Three recordings that match, one in another layout, one damaged, and what is no recording."""
    root = tmp_path / "tree"
    good = board.recording()
    nhwc = nl.TensorSpec(board.spec.shape, "NHWC", "int8", quantization=board.spec.quantization)
    wrong = board.recording(
        nl.TensorSpec(nhwc.shape, "NCHW", "int8", quantization=nhwc.quantization), board.packed(nhwc)
    )
    for name in FOUND:
        (wrong if name.endswith("wrong") else good).save(root / name)
    (root / "link").symlink_to(root / "b")
    (root / ".hidden").mkdir()
    good.save(root / ".hidden" / "unseen")
    (root / "a" / "inner").mkdir()  # inside a recording nothing is looked for
    (root / "notes.txt").write_text("recording.json")
    (root / "z" / "frame-000001.npz").write_bytes(b"damaged")
    (tmp_path / "model.onnx").write_bytes(network())
    return root


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))


def checked(reports: nl.Reports, tree: Path) -> None:
    assert list(reports) == [str(tree / name) for name in FOUND] and not reports
    a, deep, wrong, damaged = reports.values()
    assert isinstance(a, nl.Report) and a and isinstance(deep, nl.Report) and deep
    assert isinstance(wrong, nl.Report) and wrong.verdict == "layout", str(wrong)
    assert isinstance(damaged, str) and "frame-000001.npz" in damaged
    assert reports.counts == {"match": 2, "layout": 1, "error": 1}


def test_a_tree(tree: Path, board: Board) -> None:
    reports = nl.validate_many([tree], tree.parent / "model.onnx")
    checked(reports, tree)
    one = nl.validate(nl.Recording.load(tree / "b" / "wrong"), network())
    found = reports[str(tree / "b" / "wrong")]
    assert isinstance(found, nl.Report) and found.outputs["maps"].fix == one.outputs["maps"].fix
    assert found.outputs["maps"].exhibit is None and one.outputs["maps"].exhibit is not None
    words = str(reports).splitlines()
    assert words[0] == "4 recordings: 2 match, 1 layout, 1 error" and "layout (maps layout)" in words[3]
    said = json.loads(reports.to_json(tree.parent / "reports.json"))
    assert said == json.loads((tree.parent / "reports.json").read_text()) and said["match"] is False
    assert "frame-000001" in said["recordings"][str(tree / "z")]["error"]
    assert nl.validate_many(tree / "a", network(), pictures=True)[str(tree / "a")].outputs["maps"].exhibit is not None  # type: ignore[union-attr]


def test_true_is_every_one(tree: Path) -> None:
    assert nl.validate_many([tree / "a", tree / "b" / "c", tree / "a"], network())
    assert not nl.validate_many([tree / "a"], network(), max_abs={"maps": 1e-9})
    assert not nl.Reports({})


@pytest.mark.parametrize("kind", ["threads", "processes", "own"])
def test_elsewhere(tree: Path, kind: str) -> None:
    model = tree.parent / "model.onnx"
    if kind == "own":
        checked(nl.validate_many(tree, model, workers=2), tree)
        return
    spawn = multiprocessing.get_context("spawn")
    with ThreadPoolExecutor(2) if kind == "threads" else ProcessPoolExecutor(2, mp_context=spawn) as executor:
        checked(nl.validate_many(tree, model, executor=executor), tree)
        assert executor.submit(abs, -1).result() == 1  # left running


@pytest.mark.usefixtures("deadly")
@pytest.mark.parametrize("how", ["exit", "signal"])
def test_a_worker_that_dies_loses_its_own_recording(tree: Path, board: Board, how: str) -> None:
    for i in range(2):
        board.recording().save(tree / "b" / f"killer-{how}-{i}")
    reports = nl.validate_many(tree, tree.parent / "model.onnx", workers=2)
    died = {path: result for path, result in reports.items() if "killer" in path}
    assert len(died) == 2 and len(reports) == 6
    for text in died.values():
        assert isinstance(text, str) and ("exit status 7" if how == "exit" else "signal 9") in text
    checked(nl.Reports({path: result for path, result in reports.items() if path not in died}), tree)


@pytest.mark.usefixtures("deadly")
def test_an_executor_that_breaks_says_so(tree: Path, board: Board) -> None:
    board.recording().save(tree / "b" / "killer")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        reports = nl.validate_many(tree, tree.parent / "model.onnx", executor=executor)
    assert len(reports) == 5 and not reports
    text = reports[str(tree / "b" / "killer")]
    assert isinstance(text, str) and "worker of the executor died" in text and "workers=" in text


def test_an_executor_that_was_shut_down(tree: Path) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    reports = nl.validate_many(tree, network(), executor=executor)
    assert len(reports) == 4 and all("accepts no more work" in str(text) for text in reports.values())


def test_bad_input(tree: Path, tmp_path: Path, board: Board) -> None:
    model = tmp_path / "model.onnx"
    (tmp_path / "empty").mkdir()
    for paths in (tmp_path / "nothing", tmp_path / "empty", model, [tree, tmp_path / "empty"]):
        with pytest.raises(nl.RecordingError, match="recording"):
            nl.validate_many(paths, model)
    for arguments, says in (
        ({"model": tmp_path / "none.onnx"}, "no such file"),
        ({"model": b"no model"}, "cannot load"),
        ({"model": board.engine}, "path or bytes"),
        ({"workers": 0}, "1 or more"),
        ({"workers": 1, "executor": ThreadPoolExecutor(1)}, "both"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.validate_many(tree, **{"model": model, **arguments})
    unknown = nl.validate_many(tree / "a", model, min_cosine={"heat": 0.9})
    assert "no output 'heat'" in str(unknown[str(tree / "a")])


def test_reports_travel(tree: Path) -> None:
    report = nl.validate(nl.Recording.load(tree / "b" / "wrong"), network())
    again = pickle.loads(pickle.dumps(report))
    assert str(again) == str(report) and again.to_dict() == report.to_dict()
    np.testing.assert_array_equal(again.outputs["maps"].exhibit.buffer, report.outputs["maps"].exhibit.buffer)


SCRIPT = """
import npu_layout as nl
try:
    nl.validate_many({tree!r}, {model!r}, workers=2)
except nl.NpuLayoutError as error:
    print("refused:", error)
"""


def test_a_script_without_a_main_guard_is_refused_with_the_fix(tree: Path) -> None:
    script = tree.parent / "script.py"
    script.write_text(SCRIPT.format(tree=str(tree), model=str(tree.parent / "model.onnx")))
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert "refused: worker processes cannot be started" in ran.stdout and "__main__" in ran.stdout


LONG = """
import time
import npu_layout as nl
if __name__ == "__main__":
    print("ready", flush=True)
    nl.validate_many({tree!r}, {model!r}, workers=2)
"""


@pytest.mark.slow
def test_workers_end_with_their_owner(tree: Path, board: Board) -> None:
    """Also where it is killed: nobody is left who waits for work."""
    import psutil

    for i in range(60):
        board.recording().save(tree / f"more-{i}")
    script = tree.parent / "script.py"
    script.write_text(LONG.format(tree=str(tree), model=str(tree.parent / "model.onnx")))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as owner:
        deadline, workers = time.monotonic() + 60, []
        while len(workers) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
            with contextlib.suppress(psutil.Error):  # one that has just ended
                children = psutil.Process(owner.pid).children()
                workers = [p for p in children if any("spawn_main" in word for word in p.cmdline())]
        time.sleep(1)
        owner.kill()
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


@pytest.mark.slow
@pytest.mark.usefixtures("deadly")
def test_on_a_dask_cluster(tree: Path, board: Board) -> None:
    from distributed import Client, LocalCluster

    model = tree.parent / "model.onnx"
    arguments: dict[str, Any] = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    # Dask leaves settings of malloc in the environment, with which all that starts later takes three times as long.
    with mock.patch.dict(os.environ), LocalCluster(**arguments) as cluster, Client(cluster) as client:
        checked(nl.validate_many(tree, model, executor=client.get_executor()), tree)
        board.recording().save(tree / "b" / "killer")
        reports = nl.validate_many(tree, model, executor=client.get_executor())
        died = reports[str(tree / "b" / "killer")]
        assert isinstance(died, str) and "KilledWorker" in died
        checked(nl.Reports({path: result for path, result in reports.items() if "killer" not in path}), tree)
