"""The pytest plugin, in projects of its own: what it reads, what it writes and when, and how it fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import cv2  # noqa: F401  what the inner runs import stays imported: compiled modules load once
import numpy as np
import onnx  # noqa: F401
import onnxruntime  # noqa: F401
import pytest

import npu_layout as nl
from npu_layout import pytest_plugin
from npu_layout.pytest_plugin import assert_matches
from tests.support.boards import Board, network
from tests.support.paths import SAMPLES

SAMPLE = SAMPLES / "pytest_project"

pytestmark = pytest.mark.once  # the plugin asks no kernels

INI = """
[pytest]
npu_engine = board:engine
filterwarnings = error
"""
BOARD = """
import os
import npu_layout as nl

SPEC = nl.TensorSpec((1, 19, 12, 12), "NHWC", "float16", name="maps")
made = []

def engine():
    made.append(1)
    return nl.SimulatedNpu("model.onnx", [SPEC])

def absent():
    raise nl.NoDeviceError("no driver")

def none():
    return None

def fails():
    raise OSError("bus error")

class Fails:
    output_specs = [SPEC]
    def infer(self, inputs):
        raise OSError("bus error")
"""
TEST = """
import numpy as np
from npu_layout.pytest_plugin import assert_matches

def inputs():
    rng = np.random.default_rng({seed})
    return [rng.standard_normal((1, 3, 48, 48)).astype(np.float32) for _ in range({count})]

def test_it(npu_recording):
    recording = npu_recording({name!r}, inputs, note="by {seed}")
    assert_matches(recording, "model.onnx", min_snr_db=40)
    assert len(recording) == {count}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # A module of the same size that is written anew within the same second would be read from its bytecode.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    pytester.makeini(INI)
    pytester.makepyfile(board=BOARD)
    (pytester.path / "model.onnx").write_bytes(network())
    return pytester


def wrote(project: pytest.Pytester, name: str = "heat", seed: int = 0, count: int = 4) -> None:
    project.makepyfile(test_it=TEST.format(name=name, seed=seed, count=count))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_recorded_once_and_read_ever_after(project: pytest.Pytester) -> None:
    wrote(project)
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["there is no recording *recordings/heat; --npu-record makes it *"])
    assert not (project.path / "recordings").exists() and "Traceback" not in result.stdout.str()
    result = project.runpytest("--npu-record")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*recorded on this machine's accelerator*", "*recordings/heat: 4 frames"])
    first = contents(project.path / "recordings")
    assert len(first) == 5
    for arguments in ([], ["--npu-record"]):  # what is there is not recorded again
        project.runpytest(*arguments).assert_outcomes(passed=1)
        assert contents(project.path / "recordings") == first
    wrote(project, seed=1)
    project.runpytest("--npu-update").assert_outcomes(passed=1)
    updated = nl.Recording.load(project.path / "recordings" / "heat")
    assert updated.meta["note"] == "by 1" and contents(project.path / "recordings").keys() == first.keys()
    assert [p.name for p in (project.path / "recordings").iterdir()] == ["heat"]


@pytest.mark.parametrize("name", [".", "boards"])
def test_what_is_no_recording_is_not_written_over(project: pytest.Pytester, board: Board, name: str) -> None:
    """A folder of recordings would go with everything in it."""
    board.recording().save(project.path / "recordings" / "boards" / "heat")
    before = contents(project.path / "recordings")
    wrote(project, name)
    result = project.runpytest("--npu-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*is no recording; nothing is written over it"])
    assert contents(project.path / "recordings") == before


def test_a_plain_run_writes_nothing(project: pytest.Pytester, board: Board) -> None:
    board.recording().save(project.path / "recordings" / "heat")
    before = contents(project.path / "recordings")
    project.makepyfile(
        test_it="""
        from npu_layout.pytest_plugin import assert_matches
        import board

        def test_it(npu_recording):
            def never():
                raise AssertionError("inputs are not needed")
            assert assert_matches(npu_recording("heat", never), "model.onnx").outputs["maps"].verdict == "match"
            assert not board.made
        """
    )
    project.runpytest().assert_outcomes(passed=1)
    assert contents(project.path / "recordings") == before


@pytest.mark.parametrize("ci", [None, "true"], ids=["a person's", "CI"])
def test_the_failure_is_the_verdict(
    project: pytest.Pytester, board: Board, monkeypatch: pytest.MonkeyPatch, ci: str | None
) -> None:
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)  # pytest's summary repeats messages whole there
    nhwc = nl.TensorSpec(board.spec.shape, "NHWC", "int8", quantization=board.spec.quantization)
    nchw = nl.TensorSpec(board.spec.shape, "NCHW", "int8", quantization=board.spec.quantization)
    board.recording(nchw, board.packed(nhwc)).save(project.path / "recordings" / "heat")
    project.makepyfile(
        test_it="""
        from npu_layout.pytest_plugin import assert_matches

        def test_it(npu_recording):
            assert_matches(npu_recording("heat"), "model.onnx")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>       assert_matches(npu_recording("heat"), "model.onnx")',
            "E       AssertionError: layout: 1 output, * frames, model model.onnx",
            "E       maps: layout",
            "E         The buffer is stored in another way than declared: layout NHWC of (1,19,12,12) int8. *",
            "E         fix: TensorSpec((1, 19, 12, 12), 'NHWC', 'int8', *",
            "test_it.py:4: AssertionError",
        ]
    )
    shown = result.stdout.str()
    assert "array(" not in shown and "pytest_plugin.py" not in shown
    failure, summary = shown.split("= FAILURES =")[1].split("= short test summary info =")
    assert len(failure.splitlines()) < 25, failure
    assert len(summary.splitlines()) < (5 if ci is None else 20), summary


def test_other_errors_are_short_too(project: pytest.Pytester, board: Board) -> None:
    board.recording().save(project.path / "recordings" / "heat")
    board.recording().save(project.path / "recordings" / "damaged")
    (project.path / "recordings" / "damaged" / "frame-000001.npz").write_bytes(b"")
    project.makepyfile(
        test_it="""
        import pytest
        from npu_layout.pytest_plugin import assert_matches

        def test_model(npu_recording):
            assert_matches(npu_recording("heat"), "nowhere.onnx")

        def test_tolerance(npu_recording):
            assert_matches(npu_recording("heat"), "model.onnx", min_cosine={"none": 1})

        @pytest.mark.parametrize("name", ["damaged", "../heat", "/heat", ""])
        def test_name(npu_recording, name):
            npu_recording(name)

        def test_argument(npu_recording):
            npu_recording("heat", input_spec=[])
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=7)
    result.stdout.fnmatch_lines(["npu_recording: no argument 'input_spec'; * Is it input_specs[?]"])
    result.stdout.fnmatch_lines(
        [
            f"E       npu_layout.errors.NpuLayoutError: model {project.path / 'nowhere.onnx'}: no such file",
            "E       npu_layout.errors.NpuLayoutError: min_cosine: the recording has no output 'none'*",
            "*frame-000001.npz*",
            "*'../heat': expected a name below *",
        ]
    )
    assert "validation.py" not in result.stdout.str()


@pytest.mark.parametrize(
    "factory, says",
    [("absent", "no driver"), ("none", "*the factory returned None*")],
)
def test_skipped_where_the_board_is_absent(project: pytest.Pytester, factory: str, says: str) -> None:
    wrote(project)
    result = project.runpytest("--npu-record", "-rs", "-o", f"npu_engine=board:{factory}")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"*heat cannot be recorded here: {says}"])
    project.runpytest("--npu-record").assert_outcomes(passed=1)
    before = contents(project.path / "recordings")
    project.runpytest("--npu-update", "-o", f"npu_engine=board:{factory}").assert_outcomes(skipped=1)
    project.runpytest("-o", f"npu_engine=board:{factory}").assert_outcomes(passed=1)
    assert contents(project.path / "recordings") == before


@pytest.mark.parametrize(
    "engine, says",
    [
        ("", "no npu_engine to record with: expected npu_engine = package.module:factory in *tox.ini*"),
        ("board:fails", "*OSError: bus error*"),
        ("board:Fails", "*OSError: bus error*"),
        ("board:nothing", "*AttributeError*"),
        ("board", "*expected package.module:factory"),
    ],
)
def test_an_engine_that_fails(project: pytest.Pytester, engine: str, says: str) -> None:
    wrote(project)
    project.runpytest("--npu-record").assert_outcomes(passed=1)
    before = contents(project.path)
    result = project.runpytest("--npu-update", "-p", "no:cacheprovider", "-o", f"npu_engine={engine}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([says])
    assert {k: v for k, v in contents(project.path).items() if k in before} == before  # what was there is still there
    assert not list((project.path / "recordings").glob(".*"))


def test_an_exception_of_the_projects_own_code_is_shown_with_its_lines(project: pytest.Pytester) -> None:
    wrote(project)
    (project.path / "broken.py").write_text("def port():\n    return {}['usb0']\n\nport()\n")
    for engine, shown in (("board:fails", 'raise OSError("bus error")'), ("broken:engine", "return {}['usb0']")):
        said = project.runpytest("--npu-record", "-o", f"npu_engine={engine}").stdout.str()
        assert shown in said and "factories.py" not in said and "importlib" not in said, said
    for engine in ("board:nothing", "nowhere:engine"):
        said = project.runpytest("--npu-record", "-o", f"npu_engine={engine}").stdout.str()
        assert "Error: " in said and 'File "' not in said, said


def test_an_update_without_inputs_runs_the_recorded_ones_again(project: pytest.Pytester, board: Board) -> None:
    original = board.recording()
    size_wh = original.frames[0].inputs["frame"].shape[1::-1]
    part = {"frame.roi_xywh": np.array([0, 0, *size_wh])}
    original = nl.Recording(original.specs, [({**i, **part}, o) for i, o in original], original.meta)
    original.save(project.path / "recordings" / "heat")
    project.makepyfile(
        test_it="""
        def test_it(npu_recording):
            assert npu_recording("heat").specs["maps"].dtype == "float16"
            assert npu_recording("heat").meta["note"] == ""

        def test_again(npu_recording):
            npu_recording("heat")

        def test_new(npu_recording):
            npu_recording("new")

        def test_none(npu_recording):
            npu_recording("none", [])
        """
    )
    result = project.runpytest("--npu-update")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*was given no inputs to record", "*there were no inputs to record"])
    again = nl.Recording.load(project.path / "recordings" / "heat")
    for old, new in zip(original, again):
        assert set(old.inputs) == set(new.inputs) == {"image", "frame", "frame.roi_xywh"}
        assert all((old.inputs[name] == new.inputs[name]).all() for name in old.inputs)
    assert again.meta["preprocess"] == board.recording().meta["preprocess"]
    assert [p.name for p in (project.path / "recordings").iterdir()] == ["heat"]


def test_each_engine_is_made_once(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import board
        import numpy as np

        def inputs():
            return [np.zeros((1, 3, 48, 48), np.float32)]

        def test_all(npu_recording):
            for name in ("a", "b", "c/d"):
                npu_recording(name, inputs)
            npu_recording("e", inputs, engine="board:engine")
            assert len(board.made) == 1
        """
    )
    project.runpytest("--npu-record").assert_outcomes(passed=1)
    assert (project.path / "recordings" / "c" / "d" / "recording.json").exists()


def test_a_faster_process_is_not_written_over(project: pytest.Pytester) -> None:
    """Two workers of pytest-xdist record the same: what the first one has, its test is reading already."""
    project.makepyfile(
        test_it="""
        import numpy as np
        import npu_layout as nl

        def inputs():
            yield np.ones((1, 3, 48, 48), np.float32)
            spec = nl.TensorSpec((1, 2), "NC", name="y")
            other = nl.Recording({"y": spec}, [({}, {"y": np.zeros(2, np.float32)})], {"note": "theirs"})
            other.save("recordings/heat")

        def test_it(npu_recording):
            assert npu_recording("heat", inputs).meta == {"note": "theirs"}
        """
    )
    result = project.runpytest("--npu-record")
    result.assert_outcomes(passed=1)
    assert "heat: " not in result.stdout.str()
    assert [p.name for p in (project.path / "recordings").iterdir()] == ["heat"]


def test_an_update_of_another_worker_is_not_written_over(project: pytest.Pytester, board: Board) -> None:
    """Its test reads frame after frame of it, and would find those of another recording."""
    board.recording().save(project.path / "recordings" / "heat")
    board.recording().save(project.path / "recordings" / "done")
    project.makeconftest(
        """
        import time, _npu_layout_pytest

        def pytest_sessionstart(session):  # as in a worker of pytest-xdist
            session.config.stash[_npu_layout_pytest.STARTED] = time.time_ns()
            time.sleep(0.05)
        """
    )
    project.makepyfile(
        test_it="""
        import shutil
        import numpy as np
        import npu_layout as nl

        def theirs(name):
            shutil.rmtree(f"recordings/{name}")
            spec = nl.TensorSpec((1, 2), "NC", name="y")
            other = nl.Recording({"y": spec}, [({}, {"y": np.zeros(2, np.float32)})], {"note": "theirs"})
            other.save(f"recordings/{name}")

        def inputs():
            yield np.ones((1, 3, 48, 48), np.float32)
            theirs("heat")

        def test_while_it_records(npu_recording):
            assert npu_recording("heat", inputs).meta == {"note": "theirs"}

        def test_before(npu_recording):
            theirs("done")
            assert npu_recording("done", None).meta == {"note": "theirs"}
        """
    )
    result = project.runpytest("--npu-update")
    result.assert_outcomes(passed=2)
    assert "recorded on this machine" not in result.stdout.str()
    assert sorted(p.name for p in (project.path / "recordings").iterdir()) == ["done", "heat"]


def test_workers_say_what_they_recorded(project: pytest.Pytester) -> None:
    """Whatever the name: that of a file on Linux may be no text in UTF-8, and one line end would be two lines."""
    pytest.importorskip("xdist")
    names = ("heat", "new\nline", "\udcff")
    project.makepyfile(
        test_it=f"""
        import pytest
        import numpy as np

        @pytest.mark.parametrize("name", {names!r})
        def test_it(npu_recording, name):
            assert npu_recording(name, [np.zeros((1, 3, 48, 48), np.float32)])
        """
    )
    result = project.runpytest_subprocess("--npu-record", "-n", "1", "-p", "xdist")
    result.assert_outcomes(passed=3)
    shown = ("heat", r"new\nline", r"\udcff")
    result.stdout.fnmatch_lines(
        ["*recorded on this machine's accelerator*", *(f"*recordings/{name}: 1 frame" for name in shown)]
    )
    assert "node down" not in result.stdout.str()


def test_a_folder_that_cannot_be_written(project: pytest.Pytester) -> None:
    wrote(project)
    (project.path / "recordings").write_text("a file")
    result = project.runpytest("--npu-record")
    result.assert_outcomes(failed=1)
    assert "mkdir" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*recordings/heat cannot be recorded: *: Not a directory"])


@pytest.mark.parametrize("given", ["{'image': X}", "X.ravel()", "lambda: None", "'image'", "5"])
def test_inputs_that_are_no_runs(project: pytest.Pytester, given: str) -> None:
    """Items of one array, or keys, would be fed to the engine."""
    project.makepyfile(
        f"""
        import numpy as np

        X = np.zeros((1, 3, 48, 48), np.float32)

        def test_it(npu_recording):
            npu_recording("heat", {given})
        """
    )
    result = project.runpytest("--npu-record")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["inputs: expected an item for each run, *, got *"])
    assert not (project.path / "recordings").exists()


def test_an_exception_of_the_tests_own_inputs_is_shown_with_its_lines_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def inputs():
            raise ValueError("no camera")
            yield

        def test_it(npu_recording):
            npu_recording("heat", inputs)
        """
    )
    said = project.runpytest("--npu-record").stdout.str()
    assert 'raise ValueError("no camera")' in said and "pytest_plugin.py" not in said


def test_the_nearest_name_is_said(project: pytest.Pytester, board: Board) -> None:
    board.recording().save(project.path / "recordings" / "heat")
    wrote(project, "heta")
    result = project.runpytest()
    result.stdout.fnmatch_lines(["there is no recording *heta; --npu-record makes it *. Is it heat[?]"])


def test_a_name_that_no_file_can_have(project: pytest.Pytester) -> None:
    for name in ("x" * 300, "a/../../b"):
        wrote(project, name)
        result = project.runpytest("--npu-record")
        result.assert_outcomes(failed=1)
        assert "Traceback" not in result.stdout.str() and "pathlib" not in result.stdout.str()
        result.stdout.fnmatch_lines([f"recording '{name}': *"])


def test_the_folder_is_chosen(project: pytest.Pytester) -> None:
    """Beside the test's file, or where the ini file says."""
    (project.path / "deep" / "er").mkdir(parents=True)
    wrote(project)
    shutil.move(project.path / "test_it.py", project.path / "deep" / "er" / "test_it.py")
    project.runpytest("--npu-record").assert_outcomes(passed=1)
    assert (project.path / "deep" / "er" / "recordings" / "heat").is_dir()
    project.makeini(INI + "npu_recordings = data/npu\n")
    project.runpytest("--npu-record").assert_outcomes(passed=1)
    assert (project.path / "data" / "npu" / "heat").is_dir()


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(frames=4)


def test_assert_matches_outside_pytest(board: Board, tmp_path: Path) -> None:
    board.recording().save(tmp_path / "heat")
    report = assert_matches(tmp_path / "heat", board.engine)
    assert isinstance(report, nl.Report) and report
    with pytest.raises(AssertionError, match="NOT met") as failed:
        assert_matches(str(tmp_path / "heat"), board.engine, max_abs=0)
    assert str(failed.value).startswith("mismatch: 1 output")
    with pytest.raises(nl.RecordingError, match="nowhere"):
        assert_matches(tmp_path / "nowhere", board.engine)
    assert pytest_plugin.assert_matches is assert_matches


def test_paths_are_those_of_the_tests_file(project: pytest.Pytester, board: Board) -> None:
    """pytest is started one folder above; the model beside the test is used, not the one that is there."""
    below = project.mkdir("below")
    board.recording().save(below / "recordings" / "heat")
    (project.path / "model.onnx").rename(below / "model.onnx")
    (project.path / "model.onnx").write_bytes(b"another")
    (project.path / "here.onnx").write_bytes((below / "model.onnx").read_bytes())
    (below / "test_below.py").write_text(
        """
import os
from npu_layout.pytest_plugin import assert_matches

def test_it(npu_recording):
    report = assert_matches(npu_recording("heat"), "model.onnx")
    assert report.model == "model " + os.path.join("below", "model.onnx")
    assert assert_matches("recordings/heat", "here.onnx").model == "model here.onnx"
"""
    )
    project.runpytest(str(below / "test_below.py")).assert_outcomes(passed=1)


def test_a_run_without_recordings_does_not_import_the_library(pytester: pytest.Pytester) -> None:
    """In a process of its own, as every project on this machine would run it."""
    pytester.makepyfile(
        """
        import sys

        def test_it(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("npu_layout")
            assert not {"npu_layout", "numpy", "cv2", "onnxruntime"} & set(sys.modules)
        """
    )
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("--fixtures", "-q")
    result.stdout.fnmatch_lines(["*npu_recording*"])


def test_the_example(tmp_path: Path) -> None:
    """samples/pytest_project, as a person runs it: plain, recorded anew, updated."""
    project = tmp_path / "project"
    shutil.copytree(SAMPLE, project, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-W", "error", *arguments]
        ran = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    before = contents(project / "recordings")
    assert "1 passed" in run() and contents(project / "recordings") == before
    frames = [{**f.inputs, **f.outputs} for f in nl.Recording.load(project / "recordings" / "walk")]
    assert len(frames) == 8
    shutil.rmtree(project / "recordings")
    assert "recordings/walk: 8 frames" in run("--npu-record")
    for old, new in zip(frames, nl.Recording.load(project / "recordings" / "walk")):
        assert (old["image"] == new.inputs["image"]).all()
        assert abs(old["heat"].astype(int) - new.outputs["heat"].astype(int)).max() <= 1
    assert "recordings/walk: 8 frames" in run("--npu-update")
