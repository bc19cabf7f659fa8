"""For pytest: recordings as fixtures, and an assertion whose failure is a verdict instead of two dumped arrays.

pytest itself loads ``_npu_layout_pytest``, which imports this module when a test asks for a recording.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Union

import numpy as np

from .decode import Head
from .engines import OnnxRuntimeEngine, open_engine
from .errors import NoDeviceError, NpuLayoutError, RecordingError
from .recordings import FRAME, ROI, Recorder, Recording
from .reports import Report
from .support import (
    PathLike,
    checked_call,
    instance,
    iterates,
    nearest,
    path_of,
    path_text,
    shown,
    text_of,
    whole_folder,
    whole_number,
)
from .validation import Tolerance, validate

__all__ = ["Recordings", "assert_matches"]

Inputs = Union[np.ndarray, Mapping[str, np.ndarray]]


@checked_call
def assert_matches(
    recording: Recording | PathLike,
    model: PathLike | bytes | OnnxRuntimeEngine,
    *,
    min_snr_db: Tolerance = 10,
    min_cosine: Tolerance = None,
    max_abs: Tolerance = None,
    max_steps: Tolerance = None,
    head: Head | None = None,
    confidence: float = 0.25,
) -> Report:
    """Assert that a recording, or the one in a folder, matches the model.

    The AssertionError's text is `Report.failures`. Relative paths are searched beside the calling file, then in the
    working directory. Arguments and other errors are those of `validate`; returns the Report.
    """
    __tracebackhide__ = True
    folder = Path(sys._getframe(2).f_code.co_filename).absolute().parent
    try:
        loaded = (
            recording
            if isinstance(recording, Recording)
            else Recording.load(_path_from(folder, path_of("recording", recording)))
        )
        report = validate(
            loaded,
            model if not isinstance(model, (str, os.PathLike)) else _path_from(folder, path_of("model", model)),
            min_snr_db=min_snr_db,
            min_cosine=min_cosine,
            max_abs=max_abs,
            max_steps=max_steps,
            head=head,
            confidence=confidence,
            progress=False,
        )
    except NpuLayoutError as error:
        raise error.with_traceback(None) from None
    if not report:
        raise AssertionError(report.failures())
    return report


def _path_from(folder: Path, path: PathLike) -> PathLike:
    """Return where `path` is, relative to the working directory if it was relative; below `folder` if it is nowhere."""
    near = folder / path
    if near.exists():
        return near if os.path.isabs(path) else os.path.relpath(near)
    return path if os.path.exists(path) else near


class Recordings:
    """The fixture ``npu_recording``.

    Recordings are in the folder that the ini file names in ``npu_recordings``, or in ``recordings`` beside the test's
    file. A plain run of pytest reads them and writes nothing. ``--npu-record`` records those that are missing,
    ``--npu-update`` all that the tests request, with the engine that the ini file names in ``npu_engine``, as for
    npu_layout.open_engine. If the engine's factory raises NoDeviceError, the test is skipped. Any other NpuLayoutError
    fails the test with its message; if the factory's own code raised another error, its lines are shown. If several
    workers of pytest-xdist need a recording, the first one records it, and the others read that.

    pytest makes the fixture: `config` is its configuration, `test` the path of the test's file, `recorded` and
    `engines` say what was recorded and opened before in this run, and `started` is when this worker began, in
    nanoseconds.

    Attributes
    ----------
    folder
        The folder of the recordings.
    """

    folder: Path

    def __init__(
        self, config: Any, test: Path, recorded: dict[str, int], engines: dict[str, Any], started: int | None = None
    ) -> None:
        if not hasattr(config, "getini") or not hasattr(config, "getoption"):
            raise NpuLayoutError(f"config: expected pytest's configuration, got {shown(config)}")
        self._config, self._recorded, self._engines = config, recorded, engines
        self._started = None if started is None else whole_number("started", started)
        for what, given in (("recorded", recorded), ("engines", engines)):
            instance(what, given, dict)
        test = Path(path_of("test", test))
        self._root = Path(config.inipath.parent if config.inipath else config.rootpath)
        named = config.getini("npu_recordings")
        self.folder = self._root / named if named else test.parent / "recordings"

    def __call__(
        self,
        name: str,
        inputs: Iterable[Inputs] | Callable[[], Iterable[Inputs]] | None = None,
        *,
        engine: str | None = None,
        **about: Any,
    ) -> Recording:
        """Return the recording `name`.

        inputs: an item for each run, an array or {name: array} ("frame" is the camera's frame, "frame.roi_xywh" the
        part of it that was used); or a function without arguments that returns these items, which is called only if
        they are needed. None: an update runs the recorded inputs again. engine: the engine to use instead of
        npu_engine. about: the arguments of `Recorder` after engine and folder (preprocess, model, note, ...). The test
        fails with the errors of `Recorder` and `Recording.load`, and if a folder cannot be written.
        """
        __tracebackhide__ = True
        import pytest

        try:
            _check_about(about)
            folder = self._place(name)
            engine = None if engine is None else text_of("engine", engine)
            if self._is_to_be_recorded(folder):
                self._record(folder, inputs, engine, about)
            return Recording.load(folder)
        except NpuLayoutError as error:
            refused = error
        except OSError as error:
            if not _is_about(folder, error):
                raise
            refused = RecordingError(f"{folder} cannot be recorded: {error.filename}: {error.strerror}")
        if isinstance(refused, NoDeviceError):
            pytest.skip(f"{name} cannot be recorded here: {refused}")
        pytest.fail(str(refused), pytrace=False)

    def _place(self, name: str) -> Path:
        folder = self.folder / path_of(f"recording {path_text('name', name)!r}", name)
        if os.path.isabs(name) or not name or ".." in Path(name).parts:
            raise NpuLayoutError(f"recording {name!r}: expected a name below {self.folder}")
        return folder

    def _is_to_be_recorded(self, folder: Path) -> bool:
        option = self._config.getoption
        if str(folder) in self._recorded or self._is_of_another_worker(folder):
            return False
        if folder.exists():
            return bool(option("npu_update"))
        if option("npu_record") or option("npu_update"):
            return True
        there = [path.name for path in folder.parent.glob("*") if _is_recording(path)]
        how = f"--npu-record makes it where the accelerator is{nearest(folder.name, there)}"
        raise NpuLayoutError(f"there is no recording {folder}; {how}")

    def _is_of_another_worker(self, folder: Path) -> bool:
        """Whether another worker of pytest-xdist has recorded it in this run: its test is reading it already."""
        about = folder / "recording.json"
        return self._started is not None and about.exists() and about.stat().st_mtime_ns >= self._started

    def _record(self, folder: Path, inputs: Any, engine: str | None, about: Mapping[str, Any]) -> None:
        """Record it; a recording that is there is replaced when the new one is complete."""
        __tracebackhide__ = True
        if folder.exists() and not _is_recording(folder):
            raise NpuLayoutError(f"{folder} is no recording; nothing is written over it")
        old = Recording.load(folder) if folder.exists() and inputs is None else None
        if inputs is None and old is None:
            raise NpuLayoutError(f"{folder}: npu_recording was given no inputs to record")
        runs = self._engine(engine)
        frames = (f.inputs for f in old) if old is not None else _each_run(inputs() if callable(inputs) else inputs)
        if old is not None:
            about = {**_about(old), **about}
        replace = folder.exists()
        try:
            with whole_folder(folder, replace=replace) as partial:
                with Recorder(runs, partial, **about) as recorder:
                    for frame in frames:
                        given = dict(frame) if isinstance(frame, Mapping) else frame
                        seen, roi = (given.pop(k, None) if isinstance(given, dict) else None for k in (FRAME, ROI))
                        recorder.infer(given, frame=seen, roi_xywh=roi)
                if not recorder.count:
                    raise NpuLayoutError(f"{folder}: there were no inputs to record")
                if self._is_of_another_worker(folder):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
        except (OSError, RecordingError) as error:
            taken = isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST)
            faster = self._is_of_another_worker(folder) or (taken and not replace and _is_recording(folder))
            if not faster:
                raise
            return  # another worker of pytest-xdist was faster, and its test reads its recording already
        self._recorded[str(folder)] = recorder.count

    def _engine(self, name: str | None) -> Any:
        wanted = name or self._config.getini("npu_engine")
        if not wanted:
            ini = self._config.inipath or "pytest.ini, which is not there"
            raise NpuLayoutError(f"no npu_engine to record with: expected npu_engine = package.module:factory in {ini}")
        if wanted not in self._engines:
            try:
                with _importable(self._root):
                    self._engines[wanted] = open_engine(wanted)
            except NpuLayoutError as error:
                raise type(error)(f"{error}{_project_traceback(error.__cause__)}") from error
        return self._engines[wanted]


def _project_traceback(error: BaseException | None) -> str:
    """Return where the project's own code raised an error, behind an empty line; "" if the library's or import did."""
    called = traceback.extract_tb(error.__traceback__) if error is not None else []
    beside = (str(Path(__file__).parent), os.path.dirname(importlib.__file__), "<frozen ")
    frames = [frame for frame in called if not frame.filename.startswith(beside)]
    if error is None or not frames:
        return ""
    lines = (*traceback.format_list(frames), *traceback.format_exception_only(type(error), error))
    return "\n\n" + "".join(lines).rstrip()


def _each_run(given: Any) -> Iterable[Any]:
    """Return the inputs of all runs; NpuLayoutError if they are those of one, or none."""
    if isinstance(given, (str, bytes, bytearray, memoryview, Mapping)) or not iterates(given) or _is_flat(given):
        raise NpuLayoutError(
            f"inputs: expected an item for each run, as [array, ...] or [{{name: array}}, ...], or a function that "
            f"returns these, got {shown(given)}"
        )
    return given  # type: ignore[no-any-return]


def _is_flat(given: Any) -> bool:
    """Whether it is one array of numbers, which has no input for each run."""
    return isinstance(given, np.ndarray) and given.ndim < 2


def _is_about(folder: Path, error: OSError) -> bool:
    """Whether an error is about files in `folder`, or about a folder around it: not the engine's own."""
    path = error.filename
    return isinstance(path, str) and (path.startswith(str(folder)) or Path(path) in folder.parents)


def _is_recording(folder: Path) -> bool:
    return (folder / "recording.json").exists()


def _check_about(about: Mapping[str, Any]) -> None:
    """Raise NpuLayoutError on what Recorder does not accept: a plain run would not notice it."""
    known = [name for name, given in inspect.signature(Recorder).parameters.items() if given.kind is given.KEYWORD_ONLY]
    for name in about:
        if name not in known:
            raise NpuLayoutError(
                f"npu_recording: no argument {name!r}; expected engine, {', '.join(known)}{nearest(name, known)}"
            )


def _about(old: Recording) -> dict[str, Any]:
    inputs = old.frames[0].inputs if len(old) else {}
    noted: dict[str, Any] = {key: old.meta[key] for key in ("preprocess", "note") if key in old.meta}
    return {**noted, "input_specs": [old.specs[name] for name in inputs if name in old.specs]}


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Make modules of the project's own folder importable, as python -m pytest does."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
