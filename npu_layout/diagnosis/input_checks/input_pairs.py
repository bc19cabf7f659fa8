"""A camera's frame beside the input recorded for it: what else it can be made into, and how far off that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...frames import Preprocessor
from ...layouts import Layout
from ...recordings import normalisation
from ..other_inputs.input_images import How
from ..scoring.samples import ends
from .camera_frames import Cut, OtherParts, Part

_NOT_OF_PLACES = ("color", "mean", "std", "pad_value")  # arguments that leave the picture where it is
_PLAIN = frozenset((str, int, float))
_WAYS = 64  # Preprocessors that a fitter has at once: each has tables as large as the input's sides


class FrameInput:
    """An input that was made of a frame.

    Attributes
    ----------
    values
        The real values, in the shape of the input.
    saturated
        The share of them that saturate beyond the range that it stores.
    """

    def __init__(self, values: np.ndarray, saturated: float = 0.0) -> None:
        self.values, self.saturated = values, saturated

    def at(self, where: Any) -> np.ndarray:
        """Return the values at some places, an index of slices."""
        return np.asarray(self.values[where])

    def changed(self, values: np.ndarray) -> FrameInput:
        """Return other values, of which as many saturate."""
        return FrameInput(values, self.saturated)


class _OfPixels(FrameInput):
    """What mean and std make of fitted pixels, once it is needed: where a few values say enough, only these."""

    def __init__(self, pair: InputPair, pixels: np.ndarray, how: How) -> None:
        self._pair, self._pixels, self._arithmetic = pair, pixels, pair.arithmetic(how)

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        return self._pair.as_stored(self._real)

    @cached_property
    def saturated(self) -> float:  # type: ignore[override]
        return self._pair.saturated(self._real)

    def at(self, where: Any) -> np.ndarray:
        """Return the values at some places, which are computed alone unless all are known."""
        if "values" in self.__dict__ or not self._pair.is_divisible:
            return super().at(where)
        return self._pair.as_stored(self._of(self._pixels[where]))

    @cached_property
    def _real(self) -> np.ndarray:
        return self._of(self._pixels)

    def _of(self, pixels: np.ndarray) -> np.ndarray:
        mean, std = self._arithmetic
        return _as_float32(np.divide, pixels - mean, std)


class Fitter:
    """Fit frames into one input; frames that are fitted in the same way share a Preprocessor.

    For one check at a time: Preprocessors are not shared by threads.
    """

    def __init__(self, spec: TensorSpec) -> None:
        self.target = TensorSpec(spec.shape, Layout.plain(spec.axes), "float32")
        self._made: dict[Any, Preprocessor] = {}

    def __call__(self, frame: np.ndarray, fitting: How, roi: Part | None = None) -> np.ndarray:
        """Return the frame, or its part `roi`, as float32 pixels in the shape of the input; a new array."""
        made, _ = self._preprocessor(fitting)(np.ascontiguousarray(frame), roi_xywh=roi)
        return made.reshape(self.target.shape)

    def _preprocessor(self, fitting: How) -> Preprocessor:
        try:
            key = _hashable(fitting)
            known = self._made.get(key)
        except TypeError:  # a Preprocessor says what it refuses
            return Preprocessor(self.target, **fitting)
        if known is None:
            if len(self._made) >= _WAYS:
                self._made.clear()
            known = self._made[key] = Preprocessor(self.target, **fitting)
        return known


def _hashable(value: Any) -> Any:
    """Return lists, arrays and mappings as tuples."""
    if isinstance(value, (str, int, float)):  # most are
        return value
    if isinstance(value, Mapping):
        return tuple((name, _hashable(item)) for name, item in sorted(value.items()))
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(listed, (list, tuple)):
        return listed
    if {*map(type, listed)} <= _PLAIN:
        return tuple(listed)
    return tuple(map(_hashable, listed))


def _as_float32(operation: np.ufunc, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what an operation makes of two arrays in their own precision, rounded to float32 without a copy."""
    made: np.ndarray = operation(x, y, out=np.empty(x.shape, np.float32), casting="same_kind")
    return made


class Border(NamedTuple):
    """What was recorded in borders, of each channel: the median of the real values, and how far off it they are.

    These are sorted, a row a channel.
    """

    middle: np.ndarray
    off: np.ndarray

    def share(self, most: np.ndarray) -> float:
        """Return the share of the values that are less than `most`, a number for each channel, off the median."""
        return sum(int(np.searchsorted(*each)) for each in zip(self.off, most)) / self.off.size


class InputPair:
    """A camera's frame, and what was recorded as the input made of it.

    Every error is measured in one unit, whatever made the input that is compared: steps of the input as declared. A
    step is a pixel value, or one of the stored integers where these are coarser.

    Parameters
    ----------
    spec
        Of the input.
    frames
        {number: the camera's frame} of this one and its neighbours, uint8.
    number
        Of this frame.
    recorded
        The input's real values, of the shape of `spec`.
    declared
        The Preprocessor's arguments that were declared, mean and std among them.
    roi_xywh
        The part of the frame that was used, if `frames` are whole; None if they are parts, or all of it was.
    others
        {words: a function that returns it} of other parts that may have been used.
    near
        The four numbers that are added to those of the part -> that part, None if it is outside; None if no part was
        noted.
    fitter
        Of the input, which the pairs of one check share; None: one of its own.
    """

    def __init__(
        self,
        spec: TensorSpec,
        frames: Mapping[int, np.ndarray],
        number: int,
        recorded: np.ndarray,
        declared: How,
        *,
        roi_xywh: Part | None = None,
        others: OtherParts | None = None,
        near: Callable[[Part], Cut | None] | None = None,
        fitter: Fitter | None = None,
    ) -> None:
        self.spec, self.frames, self.number = spec, frames, number
        self._roi, self.others, self.near = roi_xywh, others or {}, near
        self.recorded, self.declared = np.asarray(recorded, np.float32), declared
        self.channels = spec.shape[spec.axes.index("C")]
        # Integers that are not quantised are the pixels: mean and std are the compiled model's.
        self.is_pixels = spec.element.unpacked.kind != "f" and spec.quantization is None
        self._arithmetic: dict[Any, tuple[np.ndarray, np.ndarray]] = {}  # of each mean and std that was asked for
        self._mean, std = self.arithmetic(declared)
        self.step, self._unit = self._steps_by(std)
        self._std = std
        self._fit = fitter or Fitter(spec)
        self._fitted: tuple[How, np.ndarray] = ({}, np.empty(0))  # the last one: changes share it
        self._specs = {spec.shape: spec}  # of all values, and of those at some places
        self._insides: dict[Any, np.ndarray] = {}  # of each fit, whatever its colours
        self._borders: dict[Any, Border] = {}
        self._declared: tuple[np.ndarray, float] | None = None  # what was made as declared, and how far off it is
        self._last: dict[str, tuple[Any, np.ndarray]] = {}  # by what it is

    def _steps_by(self, std: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the pixel values of a step where this std made the input, and the steps of a real value of 1."""
        scale = 0.0 if self.spec.quantization is None else float(np.max(self.spec.quantization.scale))
        step = max(1.0, scale * float(abs(std).max()))
        return step, (std / np.float32(step)).astype(np.float32)

    def step_of(self, how: How) -> float:
        """Return the pixel values of a step where the mean and std of `how` made the input."""
        return self._steps_by(self.arithmetic(how)[1])[0]

    def times(self, how: How) -> float:
        """Return how many steps as declared one step is where the mean and std of `how` made the input, 1 at least."""
        std = self.arithmetic(how)[1]
        if std is self._std:  # of most changes
            return 1.0
        return max(1.0, float(np.min(abs(self._unit / self._steps_by(std)[1]))))

    @cached_property
    def measured(self) -> np.ndarray:
        """The recorded input in pixel values, by the mean and std that were declared."""
        return self.in_pixels(self.declared)

    def in_pixels(self, how: How) -> np.ndarray:
        """Return the recorded input in pixel values, by the mean and std of `how`."""
        mean, std = self.arithmetic(how)
        return _as_float32(np.add, self.recorded * std, mean)

    @property
    def target(self) -> TensorSpec:
        """What a Preprocessor makes of a frame before mean and std."""
        return self._fit.target

    @property
    def frame(self) -> np.ndarray:
        """The camera's frame."""
        return self.frames[self.number]

    def along(self, values: Any) -> np.ndarray:
        """Return a value for each channel in a shape that is broadcast over the input."""
        return np.asarray(values).reshape([self.channels if letter == "C" else 1 for letter in self.spec.axes])

    def arithmetic(self, how: How) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and std in a shape that is broadcast over the input."""
        key = None if self.is_pixels else (_hashable(how.get("mean", ...)), _hashable(how.get("std", ...)))
        if key not in self._arithmetic:
            stated = {} if self.is_pixels else {name: how[name] for name in ("mean", "std") if name in how}
            mean, std = normalisation({"preprocess": stated}, self.channels)
            self._arithmetic[key] = self.along(mean), self.along(std)
        return self._arithmetic[key]

    def of_bytes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the mean and std of pixels that were stored as the bytes of a quantised input, without its scale.

        Pixels are 0 to 255, of int8 with the highest bit inverted. Nothing is yielded for other inputs.
        """
        q, element = self.spec.quantization, self.spec.element.unpacked
        if q is None or element.kind not in "iu" or element.itemsize != 1 or self.is_pixels:
            return
        of_channels = q.axis is not None and self.spec.axes[q.axis] == "C"
        if q.axis is None or of_channels:
            scale, zero_point = (np.broadcast_to(v, self.channels).astype(float) for v in (q.scale, q.zero_point))
            yield zero_point - np.iinfo(element).min, 1 / scale

    def once(self, what: str, key: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return what `make` makes, or the last such array if it has the same key: changes in a row share it."""
        if what not in self._last or self._last[what][0] != key:
            self._last[what] = key, make()
        return self._last[what][1]

    def fitting(self, how: How) -> Any:
        """Return a key of the arguments that make pixels of a frame: all but mean and std."""
        return _hashable({k: v for k, v in how.items() if k not in ("mean", "std")})

    def changed_pixels(self, how: How, key: Any, frame: Callable[[], np.ndarray]) -> np.ndarray:
        """Return `pixels` of another frame, which is made if the last one had another key."""
        return self.once("pixels", (key, self.fitting(how)), lambda: self.pixels(how, self.once("frame", key, frame)))

    def pixels(self, how: How, frame: np.ndarray | None = None) -> np.ndarray:
        """Return the frame, or another, or its part, fitted into the input as `how` says, before mean and std."""
        fitting = {k: v for k, v in how.items() if k not in ("mean", "std")}
        if frame is not None:
            return self._fit(frame, fitting, self._roi)
        if self._fitted[0] != fitting or not self._fitted[1].size:
            self._fitted = fitting, self._fit(self.frame, fitting, self._roi)
        return self._fitted[1]

    def inside(self, how: How) -> np.ndarray:
        """Return where the input that `how` makes is of the frame, and not of a border."""
        key = _hashable({k: v for k, v in how.items() if k not in _NOT_OF_PLACES})
        if key not in self._insides:
            white = np.full_like(self.frame, np.iinfo(self.frame.dtype).max)  # of two bytes, 255 is black
            self._insides[key] = self.pixels({**how, "pad_value": 0}, white) > 0
        return self._insides[key]

    def border(self, how: How, others: Sequence[InputPair] = ()) -> Border:
        """Return what was recorded where `how` makes borders, in this and other inputs."""
        places = _hashable({k: v for k, v in how.items() if k not in _NOT_OF_PLACES})
        key, axis = (places, *(pair.number for pair in others)), self.spec.axes.index("C")
        if key not in self._borders:
            around = []
            for pair in (self, *others):
                where = ~np.moveaxis(pair.inside(how), axis, 0)[0]
                around.append(np.moveaxis(pair.recorded, axis, 0)[:, where])
            values = np.concatenate(around, 1)
            middle = np.median(values, axis=1) if values.size else np.zeros(len(values), np.float32)
            self._borders[key] = Border(middle, np.sort(abs(values - middle[:, None]), axis=1))
        return self._borders[key]

    def near_pixels(self, how: How, by: Part) -> np.ndarray:
        """Return the part near the noted one, which is inside the frame, fitted into the input as `how` says."""
        cut = None if self.near is None else self.near(by)
        assert cut is not None
        fitting = {k: v for k, v in how.items() if k not in ("mean", "std")}
        return self._fit(cut.frame, {**fitting, **cut.how}, cut.part)

    def made(self, pixels: np.ndarray, how: How) -> FrameInput:
        """Return the input that `how` makes of fitted pixels, saturated and rounded if it is quantised."""
        return _OfPixels(self, pixels, how)

    @property
    def is_divisible(self) -> bool:
        """Whether some rows and columns of the input are stored as they are among all others."""
        q = self.spec.quantization
        return q is None or q.axis is None or self.spec.axes[q.axis] == "C"

    def as_stored(self, real: np.ndarray) -> np.ndarray:
        """Return real values, of all places or of some rows and columns, saturated and rounded if it is quantised."""
        if self.spec.quantization is None:
            return real
        spec = self._specs.get(real.shape)
        if spec is None:
            layout, q = Layout.plain(self.spec.axes), self.spec.quantization
            spec = self._specs[real.shape] = TensorSpec(real.shape, layout, self.spec.dtype, quantization=q)
        return spec.unpack(spec.pack(real))

    def saturated(self, real: np.ndarray) -> float:
        """Return the share of real values that saturate beyond the range that the input stores; 0 for floats."""
        if self.spec.quantization is None:
            return 0.0
        low, high = ends(self.spec)
        stored = self._stored(real)
        return float(((stored < low - 1) | (stored > high + 1)).mean())

    def _stored(self, real: np.ndarray) -> np.ndarray:
        """Return what real values are in steps of the quantization, neither rounded nor saturated."""
        q, rank = self.spec.quantization, len(self.spec.shape)
        assert q is not None
        along = [-1 if q.axis is not None and i == q.axis % rank else 1 for i in range(rank)]
        scale, zero_point = (np.asarray(v, np.float32).reshape(along) for v in (q.scale, q.zero_point))
        return np.asarray(real / scale + zero_point)

    def off(self, made: np.ndarray, other: np.ndarray | None = None, where: Any = ...) -> float:
        """Return by how many steps, root mean square, the recorded input, or another, differs from `made`.

        `where`: an index of the places that count.
        """
        error = np.subtract(made, self.recorded if other is None else other)
        error *= self._unit
        error = error[where].ravel()
        off = float(np.sqrt(float(error @ error) / error.size))
        return off if np.isfinite(off) else np.inf

    def off_by(self, how: How) -> float:
        """Return by how many steps of its own the recorded input differs from what `how` makes of the frame."""
        error = np.subtract(self.made(self.pixels(how), how).values, self.recorded)
        error *= self._steps_by(self.arithmetic(how)[1])[1]
        error = error.ravel()
        off = float(np.sqrt(float(error @ error) / error.size))
        return off if np.isfinite(off) else np.inf

    def power_at(self, made: FrameInput, where: Any) -> float:
        """Return the sum of the squares of the steps by which the recorded input differs from `made` in some places."""
        error = np.subtract(made.at(where), self.recorded[where])
        error *= self._unit
        error = error.ravel()
        return float(error @ error)

    def off_declared(self, made: np.ndarray) -> float:
        """Return `off` of what is made as declared, which every change is compared with: one array, measured once."""
        if self._declared is None or self._declared[0] is not made:
            self._declared = made, self.off(made)
        return self._declared[1]

    def in_steps(self, values: np.ndarray) -> np.ndarray:
        """Return values of the input in steps."""
        return np.asarray(values * self._unit)

    @property
    def contrast(self) -> float:
        """By how many steps, root mean square, the recorded values differ from the mean of their channel."""
        channels = np.moveaxis(self.recorded * self._unit, self.spec.axes.index("C"), 0).reshape(self.channels, -1)
        deviations = (channels - channels[:, :1]).std(axis=1, dtype=np.float64)  # exactly 0 of what is one colour
        return float(np.sqrt(np.square(deviations).mean()))

    @property
    def at_top(self) -> float:
        """Share of the recorded values at the highest that the input can store; 0 for floats."""
        if self.spec.quantization is None:
            return 0.0
        return float((self._stored(self.recorded) > ends(self.spec)[1] - 0.5).mean())
