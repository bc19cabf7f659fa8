"""Validate trees of recordings: in this process, in others, or wherever an executor sends the work."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import closing

from ..decode import Head
from ..errors import NpuLayoutError
from ..reports import Reports
from ..support import PathLike, checked_call, counted, flag, shown, track
from .detecting import least_score
from .dispatch import Judged, in_processes, sent
from .finding import find_recordings
from .jobs import Model, ValidationJob, forget, judge, loaded
from .tolerances import Tolerance, check_numbers

_AT_ONCE = 256  # jobs given to an executor: enough for a cluster, few enough for constant memory


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
        Path or bytes of the ONNX model. If an executor works on other machines, the paths of recordings and model have
        to exist there too; bytes are sent with every job.
    executor
        Any concurrent.futures.Executor; also Dask's ``Client.get_executor()``. It is not shut down. A recording that is
        lost with a worker is judged once more at the end, alone.
    workers
        The number of processes that this call starts; None: the work is done here, one recording after the other. A
        script that uses them needs ``if __name__ == "__main__":``, as for multiprocessing.
    pictures
        Whether the reports keep what to_html draws, some megabytes each.
    min_snr_db, min_cosine, max_abs, max_steps, head, confidence, progress
        As for `validate`.

    Returns
    -------
    Reports, {path: Report}. If a recording cannot be judged, because it is damaged or does not fit the model, its value
    is the error's text. So it is if the worker died. Each of `workers` loses only its current recording; an executor
    that breaks as a whole (ProcessPoolExecutor) loses everything that was running.

    Raises
    ------
    RecordingError
        If a path has no recording.
    NpuLayoutError
        If the model cannot be loaded here, or a confidence is given without a head.

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
            f"model: expected a path or bytes, which other processes can read; got {type(model).__name__}"
        )
    asked = {"min_snr_db": min_snr_db, "min_cosine": min_cosine, "max_abs": max_abs, "max_steps": max_steps}
    check_numbers(asked)
    confidence = least_score(head, confidence)
    found = find_recordings(paths)
    source: Model = model if isinstance(model, bytes) else os.fspath(model)
    loaded(source)
    call, threads = uuid.uuid4().hex, None if workers is None else max(1, (os.cpu_count() or 1) // workers)
    options = {**asked, "head": head, "confidence": confidence}
    jobs = (ValidationJob(path, source, threads, options, pictures, call) for path in found)
    judged: Judged
    if executor is not None:
        judged = sent(executor, judge, jobs, _AT_ONCE)
    elif workers is not None:
        judged = in_processes(jobs, workers)
    else:
        judged = ((job.path, judge(job)) for job in jobs)
    try:
        with closing(judged):
            results = dict(track(judged, len(found), "validating", progress))
    finally:
        forget()
    return Reports({path: results[path] for path in found})
