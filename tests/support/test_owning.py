"""What owns threads, a runtime, a camera or a folder has no copies, which would share and end them."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import OnnxRuntimeEngine
from npu_layout.engines.runtime import RuntimeEngine
from npu_layout.streams import EnginePool, Stream, open_source
from tests.support.streaming import INPUT, OUTPUT, PREPROCESS, Reader, drawn

COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, pickle.dumps]


def _onnxruntime(folder: Path) -> Any:
    return OnnxRuntimeEngine("samples/models/pose.onnx")


OWNERS: dict[str, Callable[[Path], Any]] = {
    "EnginePool": lambda folder: EnginePool([Reader()]),
    "Stream": lambda folder: Stream([drawn(1)], PREPROCESS, Reader()),
    "Source": lambda folder: open_source([drawn(1)]),
    "OnnxRuntimeEngine": _onnxruntime,
    "RuntimeEngine": lambda folder: RuntimeEngine("model m", [INPUT], [OUTPUT]),
    "SimulatedNpu": lambda folder: nl.SimulatedNpu(_onnxruntime(folder), [nl.TensorSpec((1, 57, 46, 46), "NHWC")]),
    "Recorder": lambda folder: nl.Recorder(Reader(), folder / "recorded"),
}


@pytest.mark.parametrize("name", list(OWNERS))
@pytest.mark.parametrize("copied", COPIES)
def test_owners_refuse_to_be_copied(name: str, copied: Callable[[Any], Any], tmp_path: Path) -> None:
    owner = OWNERS[name](tmp_path)
    try:
        with pytest.raises(nl.NpuLayoutError, match=rf"^{name}: it owns .*, and cannot be copied or pickled; make"):
            copied(owner)
    finally:
        getattr(owner, "close", lambda: None)()


def test_a_pool_answers_after_a_copy_was_refused() -> None:
    """Before, the copy shared the pool's threads, which ended with the first of the two: the other one waited."""
    pool = EnginePool([Reader()])
    with pytest.raises(nl.NpuLayoutError, match="EnginePool: it owns threads and engines"):
        copy.copy(pool)
    gc.collect()
    answer = pool.infer(drawn(7, (8, 8)).reshape(INPUT.storage_shape))
    assert np.asarray(answer["number"])[0] == 7
    pool.close()
