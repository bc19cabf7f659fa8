"""What the kernels write to is not shared with a child process, in which who used it at the fork is not."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.decoders.workspace import Workspace
from tests.support.scenes import NO_PROBABILITIES

SIZE = (64, 64)
SPECS = [nl.TensorSpec((1, 4 * 4 + 2, 64 // s, 64 // s), dtype="float16", name=str(s)) for s in (8, 16, 32)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@NO_PROBABILITIES
def test_a_child_of_a_process_that_decodes() -> None:
    """It waited forever for the lock that another thread had."""
    head = decode.yolov8(classes=2, bins=4)
    decoder = decode.Decoder(head, SPECS, SIZE)
    rng = np.random.default_rng(0)
    buffers = [rng.standard_normal(spec.size).astype(np.float16) for spec in SPECS]
    alone = decoder(buffers, 0.5)
    assert len(alone) > 5
    with decoder._work.lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python 3.12, about threads and forks
        child = os.fork()
        if not child:
            try:
                signal.alarm(20)
                os._exit(0 if np.array_equal(decoder(buffers, 0.5).xyxy, alone.xyxy) else 1)
            finally:
                os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(decoder(buffers, 0.5).xyxy, alone.xyxy)


def test_room() -> None:
    work = Workspace(None, True, True)
    assert work.here() is work and work.detector is None and work.edges is not None
    before = len(work.room.xyxy)
    work.make_room(2 * before)
    assert len(work.room.xyxy) == len(work.edges) == 2 * before
    assert len(Workspace(None, False, False).room.xyxy) == 0
