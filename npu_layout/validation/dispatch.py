"""Send jobs to executors and processes, some at a time, and run once more those that a dead worker lost."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import chain
from typing import Callable

from ..reports import Report
from .jobs import ValidationJob, judge
from .processes import ProcessDied, Processes

Judged = Generator["tuple[str, Report | str]", None, None]


def sent(
    executor: Executor, run: Callable[[ValidationJob], Report | str], jobs: Iterator[ValidationJob], at_once: int
) -> Judged:
    """Yield (path, result) of every job, as they come.

    Lost jobs run once more, one at a time: an executor may report a worker's death for all jobs that waited for it.
    """
    lost: list[ValidationJob] = []
    for job, result in _under_way(executor, run, jobs, at_once):
        if isinstance(result, Exception):
            lost.append(job._replace(call=f"{job.call} again"))
        else:
            yield job.path, result
    for job, result in _under_way(executor, run, iter(lost), 1):
        died = f"no verdict: {type(result).__name__}: {result}"
        yield job.path, died if isinstance(result, Exception) else result


def _under_way(
    executor: Executor, run: Callable[[ValidationJob], Report | str], jobs: Iterator[ValidationJob], at_once: int
) -> Generator[tuple[ValidationJob, Report | str | Exception], None, None]:
    """Yield (job, result) of every job, as they come; at most `at_once` at a time."""
    running: dict[Future[Report | str], ValidationJob] = {}
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


def in_processes(jobs: Iterator[ValidationJob], workers: int) -> Judged:
    """Yield (path, result) of every job, as they come, from so many processes: one that dies loses only its job."""
    threads = ThreadPoolExecutor(workers, thread_name_prefix="npu_layout")
    processes = Processes(judge)
    try:
        processes.check()
        yield from sent(threads, partial(_alone, processes), jobs, 2 * workers)
    finally:
        processes.kill()
        threads.shutdown(wait=True)


def _alone(processes: Processes, job: ValidationJob) -> Report | str:
    try:
        result: Report | str = processes(job)
        return result
    except ProcessDied as death:
        return f"no verdict: the process that judged it died ({death})"
