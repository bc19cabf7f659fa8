"""Runs of a recording, each the inputs and outputs of one `infer`, and the checks of them, of specs and of meta."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Callable, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError, RecordingError
from ..support import isolated, iterates, plain_array, shown, text_keys

FRAME = "frame"  # name of the camera input: the camera's frame, recorded beside the model's inputs
ROI = "frame.roi_xywh"  # the part of it that the input was made of: x, y, width, height in pixels
CAMERA = (FRAME, ROI)  # what is recorded beside the model's inputs
_RAGGED = (
    "; arrays of different lengths, such as the boxes of each class, are no tensor: record each as an output of its "
    "own, or the memory that they came in"
)

Arrays = dict[str, np.ndarray]


class Frame(NamedTuple):
    """One run of the engine: ``{name: array}`` of its inputs and of its outputs.

    Its name is that of the files on disk and of `Recording.frames`. A camera image is the input `FRAME`, if any, and
    the part of it that was used, if not all, the input `ROI`.
    """

    inputs: Arrays
    outputs: Arrays


class RunsOnDisk(Sequence[Frame]):
    """Runs that are read, and checked against `specs`, at each access, so that only one is in memory.

    read(i) returns run i of `count`; where(i) is its name in messages.
    """

    def __init__(
        self, count: int, read: Callable[[int], Frame], where: Callable[[int], str], specs: Mapping[str, TensorSpec]
    ) -> None:
        self._count, self._read, self.where, self.specs = count, read, where, specs
        self._outputs: tuple[str, ...] | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, which all runs have in common; none without runs. Read once."""
        if self._outputs is None and self._count:
            self._outputs = tuple(self[0].outputs)
        return self._outputs or ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle how runs are read; where a function of another tool's files does it, pickle the runs."""
        return super().__reduce_ex__(protocol) if isinstance(self._read, partial) else (list, (list(self),))

    def __deepcopy__(self, memo: Any) -> RunsOnDisk:
        return self  # nothing of it changes

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        index = operator.index(index)
        i = index + self._count if index < 0 else index
        if not 0 <= i < self._count:
            raise IndexError(f"frame {index}: the recording has {self._count}")
        run = check_run(self._read(i), self.specs, self.where(i))
        if i == 0:
            self._outputs = tuple(run.outputs)
        return run


def roi_of(inputs: Mapping[str, np.ndarray]) -> tuple[int, ...] | None:
    """Return x, y, width and height of the part of a run's camera frame that was used; None if all of it was."""
    return tuple(int(v) for v in inputs[ROI]) if ROI in inputs else None


def checked_specs(specs: Any, what: str = "specs") -> dict[str, TensorSpec]:
    """Return `specs`, an argument of that name, as a dict; RecordingError if it is not {name: TensorSpec}."""
    if not isinstance(specs, Mapping) or not all(
        isinstance(k, str) and isinstance(v, TensorSpec) for k, v in specs.items()
    ):
        raise RecordingError(f"{what}: expected {{name: TensorSpec}}, got {shown(specs)}")
    return dict(specs)


def named_specs(what: str, specs: Any) -> dict[str, TensorSpec]:
    """Return {name: spec}; a mapping is returned as it is."""
    if isinstance(specs, Mapping):
        return checked_specs(specs, what)
    named: dict[str, TensorSpec] = {}
    for i, spec in enumerate(specs if iterates(specs) and not isinstance(specs, (str, bytes)) else [specs]):
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


def checked_meta(meta: Any, what: str = "meta") -> dict[str, Any]:
    """Return `meta`, an argument of that name, as a dict; RecordingError if JSON cannot represent it."""
    if meta is not None and not isinstance(meta, Mapping):
        raise RecordingError(f"{what}: expected a mapping, got {type(meta).__name__}")
    try:
        copied = json.loads(json.dumps(dict(meta or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise RecordingError(f"{what}: expected what JSON can represent ({error})") from None
    return dict(copied)


def checked_runs(frames: Iterable[Any], specs: Mapping[str, TensorSpec]) -> Sequence[Frame]:
    """Check each run once, and return them: those on disk stay there, others become a list."""
    if not iterates(frames) or isinstance(frames, (str, bytes)):
        raise RecordingError(f"frames: expected a sequence of (inputs, outputs), got {shown(frames)}")
    fit = isinstance(frames, RunsOnDisk) and frames.specs == specs  # which each access checks
    first: Frame | None = None
    checked: list[Frame] = []
    for i, given in enumerate(frames):
        where = frames.where(i) if isinstance(frames, RunsOnDisk) else f"frame {i}"
        run = given if fit else check_run(_run(given, specs, where), specs, where)
        first = first or run
        check_names(run, first, where)
        if not isinstance(frames, RunsOnDisk):
            checked.append(run)
    return frames if isinstance(frames, RunsOnDisk) else checked


def check_names(run: Frame, first: Frame, where: str) -> None:
    """Raise RecordingError if a run has other inputs or outputs than the first one."""
    if any(one.keys() != other.keys() for one, other in zip(run, first)):
        raise RecordingError(f"{where}: has {_names(*run)}; the first frame has {_names(*first)}")


def _run(given: Any, specs: Mapping[str, TensorSpec], where: str) -> Frame:
    try:
        inputs, outputs = given
        return run_of(inputs, outputs, specs, where)
    except RecordingError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{where}: expected (inputs, outputs), each {{name: array}} ({error})") from None


def run_of(inputs: Mapping[str, Any], outputs: Mapping[str, Any], specs: Mapping[str, TensorSpec], where: str) -> Frame:
    """Return inputs and outputs as arrays; bytes and other buffers are read by their spec."""
    sides = (("input", inputs), ("output", outputs))
    return Frame(
        *(
            {
                name: _array(x, specs.get(name), f"{where}: {kind} {name!r}")
                for name, x in text_keys(f"{where}: {kind}s", side, RecordingError).items()
            }
            for kind, side in sides
        )
    )


def _array(given: Any, spec: TensorSpec | None, what: str) -> np.ndarray:
    if isinstance(given, bytes) and spec is None:
        raise RecordingError(f"{what}: expected numbers, got {len(given)} bytes and no spec that describes them")
    try:
        array = plain_array("array", given) if spec is None or not _is_buffer(given) else spec.flat(given)
    except (TypeError, ValueError, OverflowError) as error:
        advice = _RAGGED if isinstance(given, (list, tuple)) and "inhomogeneous" in str(error) else ""
        raise RecordingError(f"{what}: {error}{advice}") from None
    if array.dtype == object and not isinstance(given, np.ndarray):
        raise RecordingError(f"{what}: expected numbers, got {'None' if given is None else type(given).__name__}")
    return array


def _is_buffer(given: Any) -> bool:
    """Whether it is memory without a dtype and shape of its own."""
    if isinstance(given, (np.ndarray, np.generic)):
        return False
    try:
        memoryview(given)
    except TypeError:
        return False
    return True


def _names(inputs: Iterable[str], outputs: Iterable[str]) -> str:
    ins, outs = (", ".join(map(isolated, sorted(side))) or "none" for side in (inputs, outputs))
    return f"inputs {ins} and outputs {outs}"


def check_run(run: Frame, specs: Mapping[str, TensorSpec], where: str, shaped: bool = False) -> Frame:
    """Return the run; RecordingError if its arrays do not fit their specs.

    shaped: whether their shapes must fit too, as for what a runtime just returned. A run that was recorded before may
    have another order than its spec has; its arrays are returned 1-D then.
    """
    if ROI in run.inputs:
        _check_roi(run.inputs, where)
    return Frame(*(_side(kind, arrays, specs, where, shaped) for kind, arrays in zip(("input", "output"), run)))


def _check_roi(inputs: Mapping[str, np.ndarray], where: str) -> None:
    if FRAME not in inputs:
        raise RecordingError(f"{where}: input {ROI!r} is a part of no frame; expected an input {FRAME!r} beside it")
    roi = inputs[ROI]
    if roi.dtype.kind not in "iu" or roi.shape != (4,) or min(roi[:2]) < 0 or min(roi[2:]) < 1:
        raise RecordingError(
            f"{where}: input {ROI!r}: expected four integers x, y, width and height, x and y at least 0, width and "
            f"height at least 1, got {roi.dtype} of shape {roi.shape}: {roi.reshape(-1)[:4].tolist()}"
        )


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
