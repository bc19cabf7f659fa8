"""Memory of frames: whose it is, until when, and what is seen afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Stream
from npu_layout.streams.leases import POISON, Result, Slot
from tests.support.streaming import PREPROCESS, Reader, checked, frames, read

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def test_memory_is_returned() -> None:
    kept = []
    with Stream(frames(20), PREPROCESS, Reader(), debug=True) as stream:
        for result in stream:
            if result.number == 5:
                frame, kept = result.frame, [result, result.copy()]
            if result.number == 6:
                assert (frame == 0xA5).all() or read(frame) > 6
                with pytest.raises(nl.NpuLayoutError, match="memory of frame 5 was returned"):
                    kept[0].frame  # noqa: B018
                for name in ("inputs", "outputs"):
                    with pytest.raises(nl.NpuLayoutError, match="was returned"):
                        getattr(kept[0], name)
                with pytest.raises(nl.NpuLayoutError, match="was returned"):
                    kept[0].copy()
    assert checked(kept[1]) == 5


def test_the_same_memory_is_used_again() -> None:
    with Stream(frames(200), PREPROCESS, Reader()) as stream:
        addresses = {
            (r.frame.ctypes.data, r.inputs["image"].ctypes.data, r.outputs["number"].ctypes.data) for r in stream
        }
    assert len(addresses) <= 6


def made(slot: Slot, **more: object) -> Result:
    slot.inputs = {"x": np.array([1, 2], np.int16)}
    slot.outputs = {"y": np.array([0.5], np.float32)}
    return Result(4, 1.25, slot, slot.keep(np.ones((2, 2), np.uint8)), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("poison", [False, True])
def test_what_a_lease_ends(poison: bool) -> None:
    slot = Slot()
    result = made(slot, dropped=3)
    result.value, result.seconds = "seen", {"total": 0.002}
    own = result.copy()
    views = [result.frame, result.inputs["x"], result.outputs["y"]]
    before = [view.tobytes() for view in views]
    slot.returned(poison)
    for view, old in zip(views, before):
        assert view.tobytes() == (bytes([POISON]) * len(old) if poison else old)
    for name in ("frame", "inputs", "outputs", "copy"):
        with pytest.raises(nl.NpuLayoutError, match=r"stream: the memory of frame 4 was returned; .* or copy\(\) it"):
            getattr(result, name)() if name == "copy" else getattr(result, name)
    assert [own.frame.tobytes(), own.inputs["x"].tobytes(), own.outputs["y"].tobytes()] == before
    assert (own.number, own.captured, own.dropped, own.value, own.seconds) == (4, 1.25, 3, "seen", {"total": 0.002})
    assert repr(own) == "<Result of frame 4: 2.0 ms, 3 dropped before>" == repr(result)  # which needs no memory


def test_the_next_lease_is_another() -> None:
    slot = Slot()
    first = made(slot)
    slot.returned(False)
    second = made(slot)
    assert second.outputs["y"].tolist() == [0.5]
    with pytest.raises(nl.NpuLayoutError, match="was returned"):
        first.outputs  # noqa: B018


def test_a_copy_of_inputs_that_are_no_arrays() -> None:
    """A function that preprocesses may return bytes, or a view of memory that it uses again."""
    memory = bytearray(8 * 8 * 3)
    for buffer in (bytes(memory), memory, memoryview(memory), [0, 1]):
        slot = Slot()
        slot.inputs, slot.borrowed = {"image": buffer}, True  # type: ignore[dict-item]
        kept = Result(0, 0.0, slot, None).copy()
        memory[0] ^= 1
        assert kept.inputs["image"][0] == 0
        memory[0] = 0


def test_what_cannot_be_overwritten_is_left() -> None:
    """Memory that is read-only, or not contiguous, belongs to somebody else."""
    slot = Slot()
    fixed = np.zeros(3, np.uint8)
    fixed.flags.writeable = False
    slot.inputs = {"fixed": fixed, "strided": np.zeros(6, np.uint8)[::2]}
    slot.returned(True)
    assert not any(array.any() for array in slot.inputs.values())


def test_a_result_needs_a_slot() -> None:
    with pytest.raises(nl.NpuLayoutError, match="slot: expected"):
        Result(0, 0.0, None, None)  # type: ignore[arg-type]
