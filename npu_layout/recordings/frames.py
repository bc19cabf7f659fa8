"""Frames of a recording: what each holds, and what they, their specs and their meta must be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError, RecordingError

FRAME = "frame"  # the camera's frame, beside the model's inputs

Arrays = dict[str, np.ndarray]


class Frame(NamedTuple):
    """One run of the accelerator: ``{name: array}`` of what went in and of what came out."""

    inputs: Arrays
    outputs: Arrays


class FramesOnDisk(Sequence[Frame]):
    """Frames that are read, and checked against `specs`, whenever one is asked for, so that memory holds one.

    read(i) gives frame i of `count`; where(i) is what messages call it.
    """

    def __init__(
        self, count: int, read: Callable[[int], Frame], where: Callable[[int], str], specs: Mapping[str, TensorSpec]
    ) -> None:
        self._count, self._read, self.where, self._specs = count, read, where, specs

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        i = index + self._count if index < 0 else index
        if not 0 <= i < self._count:
            raise IndexError(f"frame {index} of {self._count}")
        return check_frame(self._read(i), self._specs, self.where(i))


def checked_specs(specs: Any) -> dict[str, TensorSpec]:
    """Return `specs` as a dict; RecordingError if it is not {name: TensorSpec}."""
    if not isinstance(specs, Mapping) or not all(
        isinstance(k, str) and isinstance(v, TensorSpec) for k, v in specs.items()
    ):
        raise RecordingError(f"specs: expected {{name: TensorSpec}}, got {specs!r}")
    return dict(specs)


def named_specs(what: str, specs: Any) -> dict[str, TensorSpec]:
    """Specs by the names that they carry, or as they are where they come by name."""
    if isinstance(specs, Mapping):
        return checked_specs(specs)
    named: dict[str, TensorSpec] = {}
    for i, spec in enumerate(specs if isinstance(specs, Iterable) else [specs]):
        if not isinstance(spec, TensorSpec):
            raise RecordingError(f"{what}: expected TensorSpecs, got {spec!r}")
        if not spec.name or spec.name in named:
            wrong = f"both it and another are called {spec.name!r}" if spec.name else "it has none"
            raise RecordingError(
                f"{what}: spec {i}, {spec.describe()}, needs a name of its own, and {wrong}: give TensorSpec(..., "
                f"name=...), or {{name: TensorSpec}}"
            )
        named[spec.name] = spec
    return named


def checked_meta(meta: Any) -> dict[str, Any]:
    """Return `meta` as a dict; RecordingError if it is not a mapping that JSON can hold."""
    if meta is not None and not isinstance(meta, Mapping):
        raise RecordingError(f"meta: expected a mapping, got {type(meta).__name__}")
    try:
        copied = json.loads(json.dumps(dict(meta or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise RecordingError(f"meta: expected what JSON can hold ({error})") from None
    return dict(copied)


def checked_frames(frames: Iterable[Any], specs: Mapping[str, TensorSpec]) -> Sequence[Frame]:
    """Check each frame once and return them: those on disk stay there, others become a list."""
    first: Frame | None = None
    held: list[Frame] = []
    for i, given in enumerate(frames):
        if isinstance(frames, FramesOnDisk):
            where, frame = frames.where(i), given
        else:
            where = f"frame {i}"
            frame = check_frame(_frame(given, specs, where), specs, where)
            held.append(frame)
        first = first or frame
        check_names(frame, first, where)
    return frames if isinstance(frames, FramesOnDisk) else held


def check_names(frame: Frame, first: Frame, where: str) -> None:
    """RecordingError where a frame has other inputs or outputs than the first one."""
    if any(one.keys() != other.keys() for one, other in zip(frame, first)):
        raise RecordingError(f"{where}: has {_names(*frame)}; the first frame has {_names(*first)}")


def _frame(given: Any, specs: Mapping[str, TensorSpec], where: str) -> Frame:
    try:
        inputs, outputs = given
        return frame_of(inputs, outputs, specs, where)
    except RecordingError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{where}: expected (inputs, outputs), each {{name: array}} ({error})") from None


def frame_of(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], specs: Mapping[str, TensorSpec], where: str
) -> Frame:
    """Both sides as arrays; bytes and other buffers as their spec says what they are."""
    sides = (("input", inputs), ("output", outputs))
    return Frame(
        *(
            {str(k): _array(v, specs.get(str(k)), f"{where}: {kind} {k!r}") for k, v in side.items()}
            for kind, side in sides
        )
    )


def _array(given: Any, spec: TensorSpec | None, what: str) -> np.ndarray:
    if isinstance(given, bytes) and spec is None:
        raise RecordingError(f"{what}: expected numbers, got {len(given)} bytes and no spec that says what they are")
    try:
        return np.asarray(given) if spec is None or not _is_buffer(given) else spec.flat(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordingError(f"{what}: {error}") from None


def _is_buffer(given: Any) -> bool:
    """Whether it is memory, and no array that says by itself what lies in it."""
    if isinstance(given, (np.ndarray, np.generic)):
        return False
    try:
        memoryview(given)
    except TypeError:
        return False
    return True


def _names(inputs: Iterable[str], outputs: Iterable[str]) -> str:
    return f"inputs {', '.join(sorted(inputs)) or 'none'} and outputs {', '.join(sorted(outputs)) or 'none'}"


def check_frame(frame: Frame, specs: Mapping[str, TensorSpec], where: str, shaped: bool = False) -> Frame:
    """Return the frame; RecordingError if its arrays do not fit their specs.

    shaped: whether their shapes must fit too, as for what a runtime just returned. What was recorded before may have
    another order than was thought, and is 1-D then.
    """
    return Frame(*(_side(kind, arrays, specs, where, shaped) for kind, arrays in zip(("input", "output"), frame)))


def _side(
    kind: str, arrays: Mapping[str, np.ndarray], specs: Mapping[str, TensorSpec], where: str, shaped: bool
) -> dict[str, np.ndarray]:
    checked = {}
    for name, array in arrays.items():
        what, spec = f"{where}: {kind} {name!r}", specs.get(name)
        if array.dtype.kind not in "biuf":
            raise RecordingError(f"{what}: expected numbers, got dtype {array.dtype}")
        if spec is None:
            if kind == "output":
                raise RecordingError(f"{what} has no spec; there are specs of {', '.join(specs) or 'nothing'}")
            checked[name] = array
            continue
        try:
            checked[name] = _fitting(spec, array, shaped)
        except NpuLayoutError as error:
            raise RecordingError(f"{what}: {error}") from None
    return checked


def _fitting(spec: TensorSpec, array: np.ndarray, shaped: bool) -> np.ndarray:
    try:
        spec.flat(array)
    except LayoutError:
        if shaped:
            raise
        return spec.flat(array.reshape(-1))
    return array
