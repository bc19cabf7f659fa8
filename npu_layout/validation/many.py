"""Validate trees of recordings: in this process, in others, or wherever an executor sends the work."""

from __future__ import annotations

import os
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Callable, NamedTuple, Union

from ..decode import Head
from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError, RecordingError
from ..recordings import Recording
from ..reports import Report, Reports
from ..support import PathLike, checked_call, counted, flag, instance, items_of, path_of, real_number, shown, track
from .conductor import validate
from .processes import ProcessDied, Processes
from .tolerances import Tolerance, check_numbers

Model = Union[str, bytes]

_AT_ONCE = 256  # jobs given to an executor: enough for a cluster, few enough for constant memory


def find_recordings(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """Return the recordings at and below `paths`, each once.

    Those of a tree by name; links to folders and hidden folders are not followed. RecordingError if a path has none, or
    a folder cannot be listed.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else items_of("paths", paths, object, "paths")
    given = [path_of("paths", path) for path in several]
    found: dict[str, None] = {}
    for path in given:
        below = list(_below(path))
        if not below:
            there = os.path.isdir(path)
            what = "no recording in this folder; " if there else "expected a recording, or a folder of them; "
            elsewhere = "other tools' dumps become one by npu-layout import" if there else "there is neither"
            raise RecordingError(f"{path or repr(path)}: {what}{elsewhere}")
        found.update(dict.fromkeys(below))
    return list(found)


def _below(root: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise RecordingError(f"{error.filename}: {error.strerror}")

    for folder, folders, files in os.walk(root, onerror=refuse) if os.path.isdir(root) else ():
        if "recording.json" in files:
            yield folder
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))


@checked_call
def validate_many(
    paths: PathLike | Iterable[PathLike],
    model: PathLike | bytes,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    pictures: bool = False,
    min_snr_db: Tolerance = 10,
    min_cosine: Tolerance = None,
    max_abs: Tolerance = None,
    max_steps: Tolerance = None,
    head: Head | None = None,
    confidence: float = 0.25,
    progress: bool | None = None,
) -> Reports:
    """Validate every recording at and below `paths` against one model.

    Parameters
    ----------
    paths
        Folders of recordings, and folders in which there are some at any depth (see find_recordings).
    model
        Path or bytes of the ONNX model. If the work is done elsewhere, the paths of recordings and model have to
        exist there too; bytes are sent with every job.
    executor
        Any concurrent.futures.Executor; also Dask's ``Client.get_executor()``. It is left running. What it loses with
        a worker runs once more at the end, by itself.
    workers
        Processes of our own; None: the work is done here, one recording after the other. A script that uses them needs
        ``if __name__ == "__main__":``, as for multiprocessing.
    pictures
        Whether the reports keep what to_html draws: some megabytes each.
    progress, others
        As for `validate`.

    Returns
    -------
    Reports. A recording that cannot be judged, because it is damaged or does not fit the model, has the error's text.
    So has one whose worker died: each of `workers` is a pool of its own, and only its current recording is lost. An
    executor that breaks as a whole (ProcessPoolExecutor) loses everything that was running; the texts report it.

    Raises
    ------
    RecordingError
        If a path has no recording.
    NpuLayoutError
        If the model cannot be loaded here.

    Examples
    --------
    See "Many recordings" in docs/proving.md, which is run as a test.
    """
    if executor is not None and workers is not None:
        raise NpuLayoutError("validate_many: expected an executor or workers, got both")
    if workers is not None:
        workers = counted("workers", workers)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise NpuLayoutError(f"executor: expected an Executor of concurrent.futures, got {shown(executor)}")
    pictures, progress = flag("pictures", pictures), None if progress is None else flag("progress", progress)
    if not isinstance(model, (str, bytes, os.PathLike)):
        raise NpuLayoutError(
            f"model: expected a path or bytes, which can be sent to others; got {type(model).__name__}"
        )
    asked = {"min_snr_db": min_snr_db, "min_cosine": min_cosine, "max_abs": max_abs, "max_steps": max_steps}
    check_numbers(asked)
    if head is not None:
        instance("head", head, Head, "a Head, such as npu_layout.decode.yolov8()")
    confidence = real_number("confidence", confidence)
    found = find_recordings(paths)
    source: Model = model if isinstance(model, bytes) else os.fspath(model)
    _engine(source, _stamp(source), None)
    call, threads = uuid.uuid4().hex, None if workers is None else max(1, (os.cpu_count() or 1) // workers)
    options = {**asked, "head": head, "confidence": confidence}
    jobs = (Job(path, source, threads, options, pictures, call) for path in found)
    judged: Judged
    if executor is not None:
        judged = _sent(executor, judge, jobs, _AT_ONCE)
    elif workers is not None:
        judged = _in_processes(jobs, workers)
    else:
        judged = ((job.path, judge(job)) for job in jobs)
    try:
        with closing(judged):
            results = dict(track(judged, len(found), "validating", progress))
    finally:
        _engine.cache_clear()
    return Reports({path: results[path] for path in found})


class Job(NamedTuple):
    """One recording to judge. `call` differs between calls, for executors that remember the results of equal jobs."""

    path: str
    model: Model
    threads: int | None
    options: Mapping[str, Any]
    pictures: bool
    call: str


def judge(job: Job) -> Report | str:
    """Return the Report of one recording, or why there is none; workers call this."""
    try:
        engine = _engine(job.model, _stamp(job.model), job.threads)
        report = validate(Recording.load(job.path), engine, progress=False, **job.options)
    except NpuLayoutError as error:
        return str(error)
    except Exception as error:  # a defect of the library must not cost other recordings their verdicts
        return f"{type(error).__name__}: {error}"
    if job.pictures:
        return report
    return replace(report, outputs={name: replace(o, exhibit=None) for name, o in report.outputs.items()})


@lru_cache(maxsize=1)
def _engine(model: Model, stamp: object, threads: int | None) -> OnnxRuntimeEngine:
    return OnnxRuntimeEngine(model, threads=threads)


def _stamp(model: Model) -> object:
    """Return what changes when the file does."""
    if isinstance(model, bytes) or not os.path.exists(model):
        return None
    about = os.stat(model)
    return about.st_mtime_ns, about.st_size


Judged = Generator["tuple[str, Report | str]", None, None]


def _sent(executor: Executor, run: Callable[[Job], Report | str], jobs: Iterator[Job], at_once: int) -> Judged:
    """Yield (path, result) of every job, as they come.

    Lost jobs run once more, one at a time: an executor may report a worker's death for all jobs that waited for it.
    """
    lost: list[Job] = []
    for job, result in _under_way(executor, run, jobs, at_once):
        if isinstance(result, Exception):
            lost.append(job._replace(call=f"{job.call} again"))
        else:
            yield job.path, result
    for job, result in _under_way(executor, run, iter(lost), 1):
        died = f"no verdict: {type(result).__name__}: {result}"
        yield job.path, died if isinstance(result, Exception) else result


def _under_way(
    executor: Executor, run: Callable[[Job], Report | str], jobs: Iterator[Job], at_once: int
) -> Generator[tuple[Job, Report | str | Exception], None, None]:
    """Yield (job, result) of every job, as they come; at most `at_once` at a time."""
    running: dict[Future[Report | str], Job] = {}
    try:
        for job in chain(jobs, (None,)):
            while len(running) >= at_once or (running and job is None):
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), _result(future)
            if job is None:
                return
            try:
                running[executor.submit(run, job)] = job
            except (BrokenExecutor, RuntimeError) as error:
                yield job, f"no verdict: the executor accepts no more work ({error})"
    finally:
        for future in running:
            future.cancel()


def _result(future: Future[Report | str]) -> Report | str | Exception:
    try:
        return future.result()
    except BrokenExecutor as error:
        return (
            f"no verdict: a worker of the executor died, and all running jobs were lost ({error}). "
            f"Fix: validate_many(workers=...) finds the recording that causes it."
        )
    except Exception as error:  # whatever the executor raises for a worker that died
        return error


def _in_processes(jobs: Iterator[Job], workers: int) -> Judged:
    threads = ThreadPoolExecutor(workers, thread_name_prefix="npu_layout")
    processes = Processes(judge)
    try:
        processes.check()
        yield from _sent(threads, partial(_alone, processes), jobs, 2 * workers)
    finally:
        processes.kill()
        threads.shutdown(wait=True)


def _alone(processes: Processes, job: Job) -> Report | str:
    try:
        result: Report | str = processes(job)
        return result
    except ProcessDied as death:
        return f"no verdict: the process that judged it died ({death})"
