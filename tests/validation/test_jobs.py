"""One recording to judge: what a worker returns is a report or a text, and never an error."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.validation import jobs
from tests.support.boards import Board, network


@pytest.fixture
def job(tmp_path: Path) -> jobs.ValidationJob:
    Board(frames=2).recording().save(tmp_path / "a")
    (tmp_path / "model.onnx").write_bytes(network())
    return jobs.ValidationJob(str(tmp_path / "a"), str(tmp_path / "model.onnx"), 1, {}, False, "1")


@pytest.mark.parametrize("pictures", [False, True])
def test_a_report_has_pictures_if_they_are_asked_for(job: jobs.ValidationJob, pictures: bool) -> None:
    report = jobs.judge(pickle.loads(pickle.dumps(job._replace(pictures=pictures))))
    assert isinstance(report, nl.Report) and report
    assert (report.outputs["maps"].exhibit is not None) == pictures


def test_what_cannot_be_judged_has_a_text(job: jobs.ValidationJob, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nowhere" in str(jobs.judge(job._replace(path="nowhere")))
    assert "cannot load" in str(jobs.judge(job._replace(model=b"no model")))
    monkeypatch.setattr(jobs, "validate", lambda *_, **__: 1 / 0)
    assert jobs.judge(job) == "ZeroDivisionError: division by zero"


def test_a_model_is_loaded_once_until_its_file_changes(job: jobs.ValidationJob) -> None:
    first = jobs.loaded(job.model)
    assert jobs.loaded(job.model) is first
    os.utime(job.model, ns=(1, 1))
    changed = jobs.loaded(job.model)
    assert changed is not first
    jobs.forget()
    assert jobs.loaded(job.model) is not changed
    jobs.forget()
