"""Check every channel, row, column and frame of an output, and not only the output as a whole.

A part is unexplained if its error is as large as its variance, and larger than rounding and the noise of the explained
parts. Rows and frames have the same noise. Channels, which may be the last axis, are quantities of
different units, and their noise grows with their values; still, a faint one is not reported if its error is as large as
the others', or less than two steps, which layers of 8 bits make, unless the device's values there are constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .sums import FrameSums, Sums, in_channels, sums_of

_ALL = 0.8  # of the variance, as error: of a constant it is 1, of random values and another frame's it is more
_OFF = 0.5  # distance from 1 of the slope of the device's values over the model's, if there is more than noise
_STEP = 1 / 3  # of a step, squared: rounding leaves a quarter at most
_LAYERS = 4.0  # steps, squared: rounding in each layer leaves less
_DIGITS = 1e-3  # of the largest value: smaller variation may be the precision of floats
_MANY = 8  # times the usual error is far larger
_ENOUGH = 16  # values whose largest shows how much they vary
_EVENTS = 2.0  # times the square of the largest value: a sum of less is of one value, which noise may have moved
_ALIKE = 8  # neighbouring values have similar errors: so many count as one
_SURE = 5.0  # deviations
_NEAR = 4.0  # times: an error within this factor of the other parts' is noise
_FAR = 32.0  # times: channels of so different ranges do not share a scale of 8 bits
_CHANCE = 100  # times as many as few values leave by chance are lost
TELLING = 0.1  # a range worth reporting beside larger ones: what networks return is of the order of one


class OutputPart(NamedTuple):
    """A channel, row, column or other index of the model's output, or a frame.

    It is index `at` of the `among` along `axis`, or of the frames, if axis is None. `span`: the difference of the
    model's largest and smallest value there. `why`: what the device's values are, if they are constant or repeated.
    `steps`: the span in quantisation steps, for a part that is lost.
    """

    axis: int | None
    at: int
    among: int
    span: float
    why: str = ""
    steps: float = 0.0


def _part(sums: Sums, axis: int | None, i: int) -> OutputPart:
    """Return the part at an index."""
    constant = sums.device_low[i] == sums.device_high[i]
    why = f"the device's values there are always {sums.device_low[i]:g}" if constant else ""
    return OutputPart(axis, i, len(sums.values), float(sums.high[i] - sums.low[i]), why)


def _least(sums: Sums, steps: Any) -> np.ndarray:
    """Return the variance above which a part varies by more than rounding."""
    return np.asarray(np.maximum(_STEP * np.square(steps), (_DIGITS * sums.peak) ** 2))


def _unexplained(sums: Sums, steps: Any, alike: bool = False, about: float = 1.0) -> np.ndarray:
    """Return the indices of parts that nothing explains.

    steps: of each part or of all; alike: whether all parts have the same noise, and not one by their largest value;
    about: 0 if the mean counts too.
    """
    mean = about * sums.model / sums.values
    power = sums.squares / sums.values - mean**2
    error = sums.error / sums.values
    rising = sums.products / sums.values - mean * sums.device / sums.values
    least = _least(sums, steps)
    good = (error < _ALL * power) & (power > least) & (sums.peak > 0)
    if not good.any():
        return np.zeros(0, int)
    noise, usual = np.median(error[good] / sums.peak[good] ** 2) * sums.peak**2, np.median(error[good])
    if alike:
        noise = np.maximum(noise, usual)
    clear = power > np.maximum(least, noise * _most(sums.values))
    if not alike:
        other = (error * _NEAR < usual) | (error > usual * _NEAR)
        clear &= (error > _LAYERS * np.square(steps)) | (sums.device_low == sums.device_high)
        clear &= (
            (sums.values >= _ENOUGH)
            & (sums.squares >= _EVENTS * sums.peak**2)
            & ((power > usual) | (other & (sums.high - sums.low >= TELLING)))
        )
    return np.flatnonzero(clear & (error >= _ALL * power) & (np.abs(rising - power) >= _OFF * power))


def _most(values: np.ndarray) -> Any:
    """Return how many times its expectation a mean square of noise may be (Wilson and Hilferty)."""
    spread = 2 / (9 * np.maximum(values / _ALIKE, 1))
    return (1 - spread + _SURE * np.sqrt(spread)) ** 3


def _copied(x: np.ndarray, over: np.ndarray | None) -> np.ndarray:
    """Return a copy, in the memory of an earlier one if that is alike: new pages cost as much as the copy."""
    if over is None or (over.shape, over.dtype) != (x.shape, x.dtype):
        over = np.empty_like(x)
    np.copyto(over, x)
    return over


class Parts:
    """The parts of one output, gathered frame by frame; memory grows by some numbers a frame.

    Parameters
    ----------
    channel_axis, steps
        Of the output in the model's order, as OutputComparison has them; steps 0 for floats.
    ends
        Lowest and highest value that the device can store: numbers, or arrays along the channels.
    """

    def __init__(self, channel_axis: int | None, steps: Any, ends: Any = (-np.inf, np.inf)) -> None:
        self._channel_axis, self._steps, self._ends = channel_axis, steps, ends
        self._step = float(np.sqrt(np.mean(np.square(steps))))
        self._axes: dict[int, Sums] = {}
        self._frames: list[tuple[int, np.ndarray, bool]] = []  # number, its sums and of what changed, whether again
        self._clamped_again: set[int] = set()
        self._last_axis = -1
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._copies: tuple[np.ndarray | None, np.ndarray | None] = None, None  # the last frame, if it was copied
        self._device_squares: np.ndarray | None = None  # of the last frame's channels

    def add(self, frame: int, device: np.ndarray, model: np.ndarray, fixed: bool = False) -> FrameSums:
        """Add a frame, finite floats of one shape in the model's axes order, and return its sums.

        fixed: whether nobody changes these arrays until the next frame is added, so that they need not be copied.
        """
        before, basis = self._last or (device, model)
        sums = sums_of(device, model, self._channel_axis, basis)
        self._last_axis = model.ndim - 1
        for axis, count in enumerate(model.shape):
            if count > 1 or axis == self._channel_axis:
                along = sums.along(axis)
                self._axes[axis] = self._axes[axis].plus(along) if axis in self._axes else along
        itself = sums.channels.over((0,))
        squares, products = sums.change[:, None]
        changed = itself._replace(squares=squares, products=products)  # the rest is of no change, and not read
        alike = self._device_squares is not None and np.array_equal(sums.device_squares, self._device_squares)
        again = alike and np.array_equal(device, before)  # equal values have equal sums
        self._device_squares = sums.device_squares
        if again and self._clamped_alike(model, basis):
            self._clamped_again.add(frame)
        if fixed:
            self._last, self._copies = (device, model), (None, None)
        else:  # a caller may reuse its arrays
            self._last = self._copies = _copied(device, self._copies[0]), _copied(model, self._copies[1])
        self._frames.append((frame, np.concatenate([*itself, *changed]), again))
        return sums

    def _clamped_alike(self, model: np.ndarray, before: np.ndarray) -> bool:
        """Whether the model's values differ by no more than a step, once they are clamped as the device clamps them."""
        low, high, steps = (np.reshape(x, (-1, 1)) for x in (*self._ends, self._steps))
        now, then = (np.clip(in_channels(x, self._channel_axis), low, high) for x in (model, before))
        return bool((np.abs(now - then) <= steps).all())

    @property
    def frozen(self) -> bool:
        """Whether the device's values are the same for every frame, while the model's change."""
        later = self._frames[1:]
        if not later or not all(again for *_, again in later):
            return False
        sums = self._frame_sums(1)
        return bool((sums.squares / sums.values > _least(sums, self._step)).any())

    def _frame_sums(self, which: int) -> Sums:
        columns = np.stack([sums for _, sums, _ in self._frames], axis=1)
        count = len(Sums._fields)
        return Sums(*columns[which * count : (which + 1) * count])

    def unexplained(self) -> list[OutputPart]:
        """Return the parts that nothing explains: channels, then other axes, then frames by their number."""
        found: list[OutputPart] = []
        for axis in sorted(self._axes, key=lambda a: (a != self._channel_axis, a)):
            sums = self._axes[axis]
            steps = self._steps if axis == self._channel_axis else self._step
            channels = axis in (self._channel_axis, self._last_axis)
            found += [_part(sums, axis, int(i)) for i in _unexplained(sums, steps, not channels)]
        if not self._frames:
            return found
        itself, later = self._frame_sums(0), self._frame_sums(1)
        for k in sorted({*_unexplained(itself, self._step, True), *_unexplained(later, self._step, True, about=0.0)}):
            number, *_, again = self._frames[k]
            if number in self._clamped_again:
                continue
            part = _part(itself, None, k)._replace(at=number)
            found.append(part._replace(why=f"it repeats frame {self._frames[k - 1][0]}") if again else part)
        return found

    def lost(self) -> list[OutputPart]:
        """Return the parts whose values vary by less than half a step, which the device cannot show.

        Along other axes than the channels', only if the values are less than a step, too. Channels that share one scale
        with far larger ones, by less than a step, if they are at least half of all. None if so few values have such
        spans by chance.
        """
        found: list[OutputPart] = []
        for axis, sums in self._axes.items():
            channels = axis == self._channel_axis
            steps = self._steps if channels else np.where(sums.peak < self._step, self._step, 0.0)
            span = sums.high - sums.low
            lost = span < steps / 2
            variance = sums.squares / sums.values - (sums.model / sums.values) ** 2
            hardly = (span < steps) & (variance < _least(sums, steps))
            if channels and np.ndim(steps) == 0 and self._beside_larger(span, hardly):
                lost = hardly
            step = np.broadcast_to(steps, span.shape)
            lost = lost & (span > 0)
            size = span / np.where(step > 0, step, 1.0) if channels else sums.peak
            if self._by_chance(size, lost, max(len(self._frames), sums.values.max() / _ALIKE) - channels):
                continue
            lost = np.flatnonzero(lost)
            found += [_part(sums, axis, int(i))._replace(steps=float(span[i] / step[i])) for i in lost]
        return found

    @staticmethod
    def _by_chance(size: np.ndarray, lost: np.ndarray, values: float) -> bool:
        """Whether so many parts may be so small by chance, as classes are in a few frames, if all vary alike.

        That all of n independent values are below a share of the usual size has about the share's power n as its
        probability; of n values within a span, its power n - 1.
        """
        others = size[~lost & (size > 0)]
        if not lost.any() or not others.size:
            return False
        share = min(1.0, float(size[lost].max() / np.median(others)))
        return bool(_CHANCE * len(size) * share**values >= np.count_nonzero(lost))

    @staticmethod
    def _beside_larger(span: np.ndarray, small: np.ndarray) -> bool:
        """Whether at least half of the channels are small, and another one is far larger than all of them."""
        return bool(2 * small.sum() >= len(span) and span.max() > _FAR * span[small].max())

    def worst_frames(self) -> list[OutputPart]:
        """Return the frames whose error is far larger than the usual one."""
        if not self._frames:
            return []
        itself = self._frame_sums(0)
        worst = np.flatnonzero(itself.error > _MANY * np.median(itself.error))
        return [_part(itself, None, int(k))._replace(at=self._frames[k][0]) for k in worst]
