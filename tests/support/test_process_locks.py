"""A child process has a lock of its own, whoever had it at the fork."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import pytest

from npu_layout.support import ProcessLock


def test_threads_share_it() -> None:
    lock, found = ProcessLock(), []  # type: ProcessLock, list[bool]

    def take() -> None:
        with lock.own:
            found.append(True)

    with lock.own, lock.own:  # its owner may take it again
        other = threading.Thread(target=take)
        other.start()
        other.join(0.1)
        assert other.is_alive() and not found
    other.join(20)
    assert found == [True] and lock.own is lock.own


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_has_another() -> None:
    lock, held, left = ProcessLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock.own:
            held.set()
            left.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python 3.12, about threads and forks
        child = os.fork()
    if not child:
        try:
            signal.alarm(20)
            with lock.own:
                os._exit(0 if lock.own is lock.own else 1)
        finally:
            os._exit(2)
    left.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
