"""Find the frames that are in one stage for too long."""

from __future__ import annotations

import time
from typing import Any

from .pool import EnginePool, answers_none, give_up
from .stages import Job


class Watchdog:
    """Gives up frames that are in one stage for more than `seconds`; none if that is None.

    Time in the queue of a pool, which other streams may share, does not count, unless no engine of it answers.
    """

    def __init__(self, seconds: float | None, engine: Any) -> None:
        self.seconds, self._pool = seconds, engine if isinstance(engine, EnginePool) else None

    def late(self, job: Job) -> bool:
        """Return whether a frame that is in a stage has been there for too long."""
        if self.seconds is None or job.state is not None:
            return False
        queued = job.queued  # before `since`, which is set first when the engine begins
        if time.monotonic() - job.since <= self.seconds:
            return False
        return not queued or (self._pool is not None and answers_none(self._pool, self.seconds))

    def give_up(self, job: Job) -> None:
        """Leave a frame to the stage that it is in, which may end at any time or never."""
        job.hung = True
        if self._pool is not None and job.stage == "infer":
            give_up(self._pool, job.future)
