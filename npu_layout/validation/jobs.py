"""A recording to judge, as a job for any process that has its files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, Union

from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..recordings import Recording
from ..reports import Report
from .conductor import validate

Model = Union[str, bytes]


class ValidationJob(NamedTuple):
    """One recording to judge. `call` differs between calls, for executors that remember the results of equal jobs."""

    path: str
    model: Model
    threads: int | None
    options: Mapping[str, Any]
    pictures: bool
    call: str


def judge(job: ValidationJob) -> Report | str:
    """Return the Report of one recording, or why there is none; workers call this."""
    try:
        engine = loaded(job.model, job.threads)
        report = validate(Recording.load(job.path), engine, progress=False, **job.options)
    except NpuLayoutError as error:
        return str(error)
    except Exception as error:  # a defect of the library must not cost other recordings their verdicts
        return f"{type(error).__name__}: {error}"
    if job.pictures:
        return report
    return replace(report, outputs={name: replace(o, exhibit=None) for name, o in report.outputs.items()})


def loaded(model: Model, threads: int | None = None) -> OnnxRuntimeEngine:
    """Return the model's engine, the same as long as its file does not change; NpuLayoutError if it has none."""
    return _engine(model, _stamp(model), threads)


def forget() -> None:
    """Let the engine go that `loaded` keeps."""
    _engine.cache_clear()


@lru_cache(maxsize=1)
def _engine(model: Model, stamp: object, threads: int | None) -> OnnxRuntimeEngine:
    return OnnxRuntimeEngine(model, threads=threads)


def _stamp(model: Model) -> object:
    """Return what changes when the file does."""
    if isinstance(model, bytes) or not os.path.exists(model):
        return None
    about = os.stat(model)
    return about.st_mtime_ns, about.st_size
