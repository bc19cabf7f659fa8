"""Jobs that executors are sent: how many at a time, and what becomes of those that are lost."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from npu_layout.validation import dispatch
from npu_layout.validation.jobs import ValidationJob, judge


class Counting(Executor):
    """Answers late, and counts what it holds."""

    def __init__(self) -> None:
        self.pool, self.held, self.most = ThreadPoolExecutor(1), 0, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.held += 1
        self.most = max(self.most, self.held)
        future = self.pool.submit(lambda: "late")
        future.add_done_callback(self.count)
        return future

    def count(self, _: object) -> None:
        self.held -= 1


def test_the_jobs_under_way_are_bounded() -> None:
    executor = Counting()
    jobs = (ValidationJob(str(i), "", None, {}, False, "") for i in range(3000))
    results = list(dispatch.sent(executor, judge, jobs, 16))
    assert len(results) == 3000 and 1 < executor.most <= 17
    executor.pool.shutdown()


class Blaming(Executor):
    """Says of whatever runs beside "killer" that it died too."""

    def __init__(self) -> None:
        self.pool, self.tried = ThreadPoolExecutor(8), []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tried.append(args[0])
        first = len(self.tried) <= 6
        return self.pool.submit(self.run, args[0], first)

    def run(self, job: ValidationJob, first: bool) -> str:
        if job.path == "killer" or (first and job.path in "abc"):
            raise ZeroDivisionError(job.path)
        return "fine"


def test_what_is_lost_beside_a_killer_runs_again_alone() -> None:
    executor = Blaming()
    jobs = (ValidationJob(path, "", None, {}, False, "1") for path in ("a", "b", "killer", "c", "d", "e"))
    results = dict(dispatch.sent(executor, judge, jobs, 4))
    assert results.pop("killer") == "no verdict: ZeroDivisionError: killer"
    assert results == dict.fromkeys("abcde", "fine")
    assert sorted(job.path for job in executor.tried[6:]) == ["a", "b", "c", "killer"]
    assert {job.call for job in executor.tried[6:]} == {"1 again"}  # no executor takes it for the same job
    executor.pool.shutdown()
