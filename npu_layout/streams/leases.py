"""Memory that frames lease: a result is valid until its memory is returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..frames import Geometry
from ..support import instance
from .copies import FrameMemory

POISON = 0xA5


class Slot:
    """Memory of one frame on its way: the frame, the network's inputs and its outputs. All of it is used again."""

    def __init__(self) -> None:
        self._memory = FrameMemory()
        self.keep = self._memory.keep
        self.keep_inputs = FrameMemory().keep
        self.inputs: dict[str, np.ndarray] = {}
        self.outputs: dict[str, np.ndarray] = {}
        self.borrowed = False  # whether the inputs are memory of others
        self.lease = 0  # counts the frames that had it

    def arrays(self) -> list[np.ndarray]:
        """Return what is used again after the lease."""
        given = (*self.inputs.values(), *self.outputs.values())
        return [*self._memory.arrays(), *(array for array in given if isinstance(array, np.ndarray))]

    def returned(self, poison: bool) -> None:
        """End the lease; with `poison`, what still uses the memory sees bytes of 0xA5."""
        self.lease += 1
        if poison:
            self._memory.fill(POISON)
            inputs = () if self.borrowed else self.inputs.values()
            for array in (*inputs, *self.outputs.values()):
                if isinstance(array, np.ndarray) and array.flags.writeable and array.flags.c_contiguous:
                    array.reshape(-1).view(np.uint8).fill(POISON)


class Result:
    """What became of one frame.

    `frame`, `inputs` and `outputs` are the stream's memory, and valid until the next result is asked for or the stream
    is closed; afterwards they raise NpuLayoutError. `copy` returns a result that stays valid.

    Attributes
    ----------
    number
        The frame's number: 0 is the first frame that was captured; dropped frames count.
    value
        What the stream's function returned; None without a function. It stays valid: arrays in it that are the
        stream's memory are copies, also in tuples, lists, deques, dicts, dataclasses and arrays of objects, up to eight
        levels deep.
    geometry
        The Geometry of how the frame became the network's input; for a batch a list of them.
    dropped
        How many frames were dropped between the result before and this one; inside the function, since the frame
        before, which may have failed.
    captured
        When the frame was captured, in seconds of time.monotonic.
    seconds
        {stage: seconds}: "preprocess", "infer", "function", and "total" from capture to the end of the function.

    Streams make these objects, each with the `slot` whose memory it leases; NpuLayoutError on any other slot.
    """

    def __init__(
        self, number: int, captured: float, slot: Slot, frame: Any, geometry: Geometry | None = None, dropped: int = 0
    ) -> None:
        self.number, self.captured, self.geometry, self.dropped = number, captured, geometry, dropped
        self.value: Any = None
        self.seconds: dict[str, float] = {}
        self._slot, self._frame = instance("slot", slot, Slot), frame
        self._lease = slot.lease

    def __repr__(self) -> str:
        total = self.seconds.get("total", 0.0)
        return f"<Result of frame {self.number}: {1000 * total:.1f} ms, {self.dropped} dropped before>"

    def _leased_slot(self) -> Slot:
        if self._slot.lease != self._lease:
            raise NpuLayoutError(
                f"stream: the memory of frame {self.number} was returned; use it before the next result, or copy() it"
            )
        return self._slot

    @property
    def frame(self) -> Any:
        """The frame as the source returned it, but memory and arrays of any library are numpy arrays of equal strides.

        Frames of PyAV, ROS and Pillow, which describe themselves, stay what they are.
        """
        self._leased_slot()
        return self._frame

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The network's inputs, {name: buffer}."""
        return self._leased_slot().inputs

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """The network's outputs, {name: buffer}."""
        return self._leased_slot().outputs

    def copy(self) -> Result:
        """Return the result with memory of its own, which stays valid; NpuLayoutError if it is no longer valid."""
        leased, own = self._leased_slot(), Slot()
        frame = own.keep(self._frame)
        own.inputs = {name: _copied(buffer) for name, buffer in leased.inputs.items()}
        own.outputs = {name: array.copy() for name, array in leased.outputs.items()}
        other = Result(self.number, self.captured, own, frame, self.geometry, self.dropped)
        other.value, other.seconds = self.value, dict(self.seconds)
        return other


def slot_of(result: Result) -> Slot:
    """Return the memory that a result leases or has leased."""
    return result._slot


def _copied(buffer: Any) -> Any:
    """Return a copy of an input, which a function that preprocesses may have made as bytes or other memory."""
    return buffer.copy() if isinstance(buffer, np.ndarray) else FrameMemory().keep(buffer)
