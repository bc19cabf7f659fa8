"""Try what the device may have left to the host: sigmoid, softmax, normalisation, ReLU or argmax, or an own argmax."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...engines import shape_in_model, transposed
from ...support import finite
from ..scoring.channel_lines import several
from ..scoring.evidence import Evidence
from ..scoring.moments import line
from ..scoring.samples import Matrix, arithmetic
from ..scoring.thresholds import MARGIN
from ..scoring.trials import Trial
from .activations import normalised, sigmoid, softmax
from .changed import Changed

_ROWS = 6  # frames that are tried
_ONE = 2e-3  # off 1: rounding of sums and lengths is less
_FAR = 0.1  # of the logarithm: what is normalised on the device is nearer to 1
_SURER = 0.5  # of the vectors: noise makes fewer of them sure
_SIZES = 8.0  # times the smallest value
_ZEROS = 0.02  # of the model's values are 0 after a ReLU, at least
_SOME = 4  # places along each axis
_MOST = 1 << 16  # labels of a frame that are compared

Change = Callable[[np.ndarray], np.ndarray]


def endings(evidence: Evidence) -> Iterator[Trial]:
    """Yield what the device's values are after a function that the model ends in, and the device does not."""
    if evidence.settled:
        return
    if not evidence.fits:
        yield from _labels(evidence)
        return
    rows, device = _rows(evidence), _Device(evidence)
    step, _ = arithmetic(evidence.spec, evidence.samples)  # channels have the weights that they have as declared

    def changed(text: str, change: Change) -> Trial:
        codes = np.stack([evidence.samples.of(change(x)) for x in device]) / step
        left = codes - evidence.wanted[rows] / step
        return _of_rows(text, evidence, rows, codes, left, False, map(change, device))

    for text, change in _missing(evidence, device):
        yield changed(text, change)
    if _may_lack_a_sigmoid(evidence, device):
        trial = changed("a missing sigmoid", sigmoid)
        cut = changed("", _cut_line([evidence.references[k] for k in rows], device))
        if evidence.score(trial) >= evidence.score(cut) + MARGIN:
            yield trial
    if _ends_at_zero(evidence.references[0]):
        yield from _relu(evidence, rows, device)


class _Device(Sequence[np.ndarray]):
    """What the device returned for the frames that are tried, read when the first one is asked for: seldom."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence, self._rows = evidence, _rows(evidence)

    @cached_property
    def _all(self) -> list[np.ndarray]:
        return [_device(self._evidence, k) for k in self._rows]

    def __getitem__(self, index: Any) -> Any:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._rows)


def _of_rows(
    text: str,
    evidence: Evidence,
    rows: list[int],
    codes: Matrix,
    left: Matrix,
    steps: bool,
    answers: Iterable[np.ndarray],
) -> Trial:
    """Return the trial of a function that the device lacks, of these frames."""
    known = dict(zip(rows, answers))
    return Trial(
        "activation", text, None, codes, left, steps, evidence.spec, rows=rows, comparable=False, answers=known
    )


def _ends_at_zero(reference: np.ndarray) -> bool:
    """Whether the model's values may be those of a ReLU: probabilities that are 0 by rounding are none."""
    x = finite(reference)
    return bool((x >= 0).all() and (x == 0).mean() >= _ZEROS and x.any() and not _are_probabilities(x))


def _are_probabilities(x: np.ndarray) -> bool:
    """Whether values, none below zero, add up to 1 along an axis."""
    return any(_is_one(x.sum(axis)) for axis, count in enumerate(x.shape) if count > 1)


def _relu(evidence: Evidence, rows: list[int], device: Sequence[np.ndarray]) -> Iterator[Trial]:
    """Yield what is left if values below zero are zero, if that is far less.

    It is counted in stored steps, as the declared reading is: in real values, channels with scales of their own would
    have other weights, and a device without a value below zero would gain by these alone.
    """
    wanted = evidence.predicted(evidence.wanted[rows])
    codes = np.maximum(evidence.codes[rows], evidence.predicted(np.zeros_like(evidence.wanted[rows])))
    answers = (np.maximum(x, 0) for x in device)
    trial = _of_rows("a missing ReLU", evidence, rows, codes, codes - wanted, evidence.steps, answers)
    if evidence.score(trial) > evidence.score(evidence.as_declared(rows)) + 2 * MARGIN:
        yield trial


def _rows(evidence: Evidence) -> list[int]:
    count = len(evidence.references)
    return sorted({int(i) for i in np.linspace(0, count - 1, min(count, _ROWS)).round()})


def _device(evidence: Evidence, row: int) -> np.ndarray:
    """Return what the device returned for a kept frame, in the model's order of axes."""
    spec = evidence.spec
    return finite(np.asarray(transposed(spec.unpack(evidence.buffers[row]), spec.axes, False))).astype(np.float64)


def _missing(evidence: Evidence, device: Sequence[np.ndarray]) -> Iterator[tuple[str, Change]]:
    """Yield the functions that the model's values are the results of, and the device's are not."""
    model = [finite(r).astype(np.float64) for r in evidence.references[:1]]
    if not evidence.steps and all(x.min() > 0 for x in device) and _are_scaled(device):
        yield "an extra exp, or a missing log", np.log
    if evidence.steps and evidence.spec.quantization is None:
        return  # integers that have no scale are no values: what is normalised is as long, whatever it was
    shape = model[0].shape
    axes = sorted({evidence.channel_axis or 0, len(shape) - 1}, key=lambda a: a != evidence.channel_axis)
    for axis in axes:
        if not shape or shape[axis] < 3:
            continue
        along = "" if axis == evidence.channel_axis else f", along axis {axis}"
        of_sum = all((m >= 0).all() and _are_one(m, partial(np.sum, axis=axis), axis) for m in model)
        if of_sum and _far(device, partial(np.sum, axis=axis)):
            change = partial(softmax, axis=axis)
            if _sure(map(change, device), axis) <= _sure(map(finite, evidence.references), axis) + _SURER:
                yield f"a missing softmax{along}", change
        length = partial(_length, axis=axis)
        normal = all(_are_one(m, length, axis) and _of_several(m, axis) for m in model)
        if normal and _far(device, length) and _unequal(device, length):
            yield f"a missing L2 normalisation{along}", partial(normalised, axis=axis)


def _may_lack_a_sigmoid(evidence: Evidence, device: Sequence[np.ndarray]) -> bool:
    """Whether the model's values may be the sigmoids of the device's: integers without a scale are no values."""
    if evidence.steps and evidence.spec.quantization is None:
        return False
    model = [finite(r) for r in evidence.references]
    if not (_are_between(model) and _are_beyond(device)):
        return False
    return _saturated(map(sigmoid, device)) <= _saturated(model) + _SURER


def _cut_line(model: list[np.ndarray], device: Sequence[np.ndarray]) -> Change:
    """Return the line from the device's values to the model's, cut at 0 and 1 as a sigmoid cuts.

    Of values that are all near 0 or 1, noise is cut so.
    """
    slope, offset = line(np.stack(list(map(finite, model))).astype(np.float64), np.stack(device))
    return lambda x: np.clip((x - offset) / slope, 0, 1) if slope > 0 else np.zeros_like(x)


def _are_between(values: Iterable[np.ndarray]) -> bool:
    """Whether all values are from 0 to 1, as those of a sigmoid are."""
    return all(bool((x >= 0).all() and (x <= 1).all()) for x in values)


def _are_beyond(device: Sequence[np.ndarray]) -> bool:
    """Whether several of the device's values are clearly not from 0 to 1."""
    return float(np.mean([(abs(x - 0.5) > 0.5 + _FAR).mean() for x in device])) > _FAR


def _saturated(values: Iterable[np.ndarray]) -> float:
    """Return the share of the values that are 0 or 1: of any values that are far apart a sigmoid makes those."""
    return float(np.mean([(abs(x - 0.5) >= 0.5 - _ONE).mean() for x in values]))


def _sure(probabilities: Iterable[np.ndarray], axis: int) -> float:
    """Return the share of the vectors that have one value: of any values that are far apart a softmax makes those."""
    return float(np.mean([(x.max(axis) >= 1 - _ONE).mean() for x in probabilities]))


def _are_scaled(device: Sequence[np.ndarray]) -> bool:
    """Whether positive values are of several sizes, as powers are: a logarithm of nearly equal ones is a line."""
    return max(float(x.max()) for x in device) > _SIZES * min(float(x.min()) for x in device)


def _length(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.linalg.norm(x, axis=axis))


def _of_several(x: np.ndarray, axis: int) -> bool:
    """Whether several values make up the length of most vectors: a single one is 1 after it, whatever it was."""
    return bool(several(np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]), 0.0).mean() > 0.5)


def _are_one(x: np.ndarray, measure: Callable[[np.ndarray], np.ndarray], axis: int) -> bool:
    """Whether a measure along an axis is 1 everywhere; some places mostly show that it is not."""
    some = tuple(slice(None if a == axis else _SOME) for a in range(x.ndim))
    return _is_one(measure(x[some])) and _is_one(measure(x))


def _is_one(x: np.ndarray) -> bool:
    return bool(np.abs(x - 1).max() <= _ONE)


def _far(device: Sequence[np.ndarray], measure: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether what is 1 of the model's values is clearly not of the device's."""
    sizes = np.concatenate([np.ravel(measure(x)) for x in device])
    return bool((np.abs(np.log(np.maximum(np.abs(sizes), 1e-12))).mean() > _FAR) or (sizes < 0).mean() > _FAR)


def _unequal(device: Sequence[np.ndarray], measure: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether a measure of the device's values varies: where all vectors are as long, a scale is the plain cause."""
    sizes = np.concatenate([np.ravel(measure(x)) for x in device])
    return bool(sizes.std() > _FAR / 2 * abs(sizes.mean()))


def _labels(evidence: Evidence) -> Iterator[Trial]:
    """Yield class numbers on one side, and scores on the other."""
    model, device = evidence.references[0].shape, shape_in_model(evidence.spec)
    rows = range(len(evidence.references))
    axis = _axis(model, device)
    if axis is not None:
        codes = [_device(evidence, k).ravel() for k in rows]
        labels = [finite(r).argmax(axis).ravel().astype(np.float64) for r in evidence.references]
        answers = Changed(evidence.references, partial(_argmax, axis=axis))
        yield _of_labels(evidence, f"an extra argmax along axis {axis}", codes, labels)._replace(answers=answers)
    axis = _axis(device, model)
    if axis is not None and evidence.references[0].dtype.kind in "iu":
        codes = [_device(evidence, k).argmax(axis).ravel().astype(np.float64) for k in rows]
        labels = [r.ravel().astype(np.float64) for r in evidence.references]
        yield _of_labels(evidence, f"a missing argmax along axis {axis}", codes, labels)


def _argmax(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.expand_dims(finite(x).argmax(axis), axis).astype(np.float32))


def _axis(scores: tuple[int, ...], labels: tuple[int, ...]) -> int | None:
    """Return the axis of `scores` that an argmax to `labels` leaves out, or leaves with length 1; None if none does."""
    for axis, count in enumerate(scores):
        without = scores[:axis] + scores[axis + 1 :]
        if count > 1 and labels in (without, (*scores[:axis], 1, *scores[axis + 1 :])):
            return axis
    return None


def _of_labels(evidence: Evidence, text: str, codes: list[np.ndarray], labels: list[np.ndarray]) -> Trial:
    some = np.random.default_rng(3).permutation(len(codes[0]))[:_MOST]
    device, model = (np.stack([x[some] for x in side]) for side in (codes, labels))
    return Trial(
        "activation", text, None, device, device - model, False, evidence.spec, comparable=False, places=len(some)
    )
