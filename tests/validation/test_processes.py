"""Worker processes: what they return, how they end, and what is lost with them."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest

from npu_layout.validation import processes


def test_a_worker_whose_owner_is_gone_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)
    ours, theirs = multiprocessing.Pipe()
    ours.send((abs, -1))
    ours.close()
    processes._serve(theirs)  # which has its question, and nobody for the answer
    theirs.close()


def test_one_that_dies_loses_only_its_call() -> None:
    workers = processes.Processes(os._exit)
    try:
        with pytest.raises(processes.ProcessDied, match="exit status 7"):
            workers(7)
        with pytest.raises(processes.ProcessDied, match="exit status 3"):
            workers(3)
    finally:
        workers.kill()


def test_a_thread_keeps_its_process() -> None:
    workers = processes.Processes(eval)
    try:
        workers.check()
        first, second = workers("__import__('os').getpid()"), workers("__import__('os').getpid()")
        assert first == second != os.getpid()
    finally:
        workers.kill()
    with pytest.raises(processes.ProcessDied, match="signal 9"):
        workers("1")


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no masks of signals")
def test_a_process_that_starts_is_not_interrupted() -> None:
    """A Ctrl-C while it imports the library would print its traceback; the owner hears the next one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    workers = processes.Processes(eval)
    try:
        assert workers("__import__('signal').SIGINT in __import__('signal').pthread_sigmask(0, [])") is True
    finally:
        workers.kill()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
