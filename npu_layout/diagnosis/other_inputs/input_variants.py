"""Make a model's input in other ways than declared: other colours, scales, layouts and fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...errors import NpuLayoutError, RecordingError
from ...frames import as_channels
from ...layouts import Layout
from ...recordings import FRAME
from .device_inputs import SeenInput, diagonal_shifts, of_integers, seen
from .frame_fits import bordered, changed_pictures, fitted, padded, sheared, turned
from .frame_readings import SOURCE, FrameReadings
from .input_images import FLIPPED, How, Id, Image, Integers, MadeInput, MadeInputs, Wanted, Way, plain
from .preprocessor_fixes import of_colours
from .two_at_once import BOTH, beside_borders, beside_readings
from .usual_mistakes import Mistake, mistakes

_NEARLY_BLANK = " (nearly a blank picture, as floats of 0 to 1 that are cast to integers are)"
_AS_GIVEN, _AS_ANOTHER = 0.02, 0.002  # of the deviation: inputs that differ by less are the same
_CASTS: tuple[tuple[str, str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("rounded", "rounded to whole numbers (floats given as integers)", np.rint),
    ("cut off", "cut off to whole numbers (floats given as integers)", np.trunc),
)


class Variant(NamedTuple):
    """Another way to make an input.

    id: the same for every frame. text: the way in words. fix: the Preprocessor's arguments; None if none make it. x:
    the input of the model. cause: the verdict to which it leads. combines: whether it is two changes at once; there are
    many of these, and they come after all others.
    """

    id: Id
    text: str
    fix: How | None
    x: np.ndarray
    cause: str = "preprocessing"
    combines: bool = False


def _every_one(id: Id) -> bool:
    return True


def image_channels(shape: tuple[int, ...]) -> int | None:
    """Return the axis of an image input's channels; None if the shape is not an image's."""
    if len(shape) != 4 or min(shape) < 1:
        return None
    return next((axis for axis in (1, 3) if shape[axis] in (1, 3)), None)


def image_size(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return height and width of an image input; None if the shape is not an image's."""
    axis = image_channels(shape)
    return None if axis is None else (shape[2 if axis == 1 else 1], shape[3 if axis == 1 else 2])


class PreparedImage(NamedTuple):
    """An image as the model reads it, and what was recorded of it.

    x: 4-D with 1 or 3 channels in axis 1 or 3; limits: lowest and highest value of all recorded inputs; meta: the
    recording's, with "preprocess"; frame: the camera's frame, as recorded of its "source", or None; spec: of the
    recorded buffer, if it has one; roi_xywh: the part of the frame that `x` was made of.
    """

    x: np.ndarray
    limits: tuple[float, float]
    meta: Mapping[str, Any]
    frame: np.ndarray | None = None
    spec: TensorSpec | None = None
    roi_xywh: Sequence[int] | None = None


def variants(
    given: PreparedImage,
    wanted: Wanted = _every_one,
    pads: Sequence[int] = (),
    unchanged: set[Id] | None = None,
) -> Iterator[Variant]:
    """Yield every other way to make an image, as the model reads it: none like the given one.

    Ways that make nearly the same of this frame share one array: another frame may distinguish them, if less of it is
    clamped.

    wanted: whether to make the way of an id; pads: yield borders of these pixel values alone; unchanged: where the ids
    go of wanted ways that make the given image again of this frame, as BGR is made of gray pixels. Yields nothing for
    inputs that are not images.
    """
    x, frame, meta, roi_xywh = given.x, given.frame, given.meta, given.roi_xywh
    axis = image_channels(x.shape)
    if axis is None:
        return
    own = meta.get("preprocess") or {}
    if frame is not None:
        try:
            frame, how = as_channels(frame, own, roi_xywh)
        except NpuLayoutError as error:
            raise RecordingError(f"input {FRAME!r} and meta's preprocess do not fit: {error}") from None
        meta = {**meta, "preprocess": how} if own else meta
    readings = FrameReadings(given.frame, own, roi_xywh)
    image = Image(x, axis, meta, given.spec)
    known = MadeInputs(_AS_ANOTHER)
    arrays: dict[MadeInput, np.ndarray] = {}
    every = _every(image, frame, given.limits, wanted, readings)
    for way in _of_the_frame(padded(image, frame, pads) if pads else every, readings, own):
        if not wanted(way.id):
            continue
        array = arrays.get(way.made)
        if array is None:
            if way.made.is_like(image.given, _AS_GIVEN):
                if unchanged is not None:
                    unchanged.add(way.id)
                continue
            first = known.first_like(way.made)
            if first is way.made:
                arrays[first] = first.x.astype(x.dtype, copy=False)
            array = arrays[first]
        yield Variant(way.id, way.text, way.fix, array, way.cause, way.combines)


def _of_the_frame(ways: Iterator[Way], readings: FrameReadings, own: Mapping[str, Any]) -> Iterator[Way]:
    """Yield the ways that no other reading of the frame replaces. The fixes of all but these read it as declared."""
    read = {name: own[name] for name in ("source", "yuv") if name in own}
    for way in ways:
        if way.id[0] == SOURCE or (way.id[0] == BOTH and way.id[-1][0] == SOURCE):
            yield way
        elif not readings.replace(way):
            yield way if way.fix is None else way._replace(fix=of_colours({**way.fix, **read}, own))


def _every(
    image: Image, frame: np.ndarray | None, limits: tuple[float, float], wanted: Wanted, readings: FrameReadings
) -> Iterator[Way]:
    """Yield all ways, those of one change first."""
    read = list(readings.ways(image))
    read_alone = [way for way in read if not way.combines]
    yield from _recolored(image)
    yield from _rescaled(image, limits, wanted)
    yield from _misread(image)
    yield from bordered(image) if frame is None else fitted(image, frame, wanted)
    yield from _seen(image)
    if frame is not None:
        yield from turned(image, frame)
        yield from sheared(image, frame)
    yield from _cast(image, wanted)
    yield from read_alone
    yield from changed_pictures(image, wanted)
    if image.known and image.channels == 3 and image.color in FLIPPED:
        yield from _rescaled(image, limits, wanted, FLIPPED[image.color])
    yield from (way for way in read if way.combines)
    yield from beside_borders(image, bordered(image), _of_pixels(image), wanted)
    yield from beside_readings(image, read_alone)
    yield from _shifted_along_both(image)


def _of_pixels(image: Image) -> Iterator[SeenInput]:
    """Yield what a device may do to pixel values, if they are known."""
    for way in seen(np.moveaxis(image.x, image.axis, 3).shape, image.color):
        if image.known and way.of_pixels and not (way.of_bytes and image.integers):
            yield way


def _recolored(image: Image) -> Iterator[Way]:
    """Yield red and blue exchanged, before or after mean and std."""
    if image.channels != 3 or image.color not in FLIPPED:
        return
    other = FLIPPED[image.color]
    text = f"{other} instead of {image.color}"
    if image.known:
        flipped, _, _ = image.scaled(image.mean, image.std, flipped=True)
        yield Way(("color", "before"), text, {**image.how, "color": other}, flipped)
    fix = {**image.base, "color": other, **image.declared(image.mean[::-1], image.std[::-1])}
    swapped = MadeInput(partial(np.flip, image.x, image.axis))
    yield Way(("color", "after"), f"{text}, swapped after mean and std", fix, swapped)


def _rescaled(image: Image, limits: tuple[float, float], wanted: Wanted, color: str = "") -> Iterator[Way]:
    """Yield another mean and std; also clamped to the range on which an integer accelerator was calibrated.

    color: the other order of the colours, if these are exchanged, too. Integers are clamped at the ends of their dtype.

    Those that make nearly the same of this frame, or of all pixel values, share one array: a dim picture has few of
    these, far from the mean. What is clamped may differ where the pixels hardly do: half a pixel value is half of a
    range that is as wide as one.
    """
    ranges: dict[str, tuple[float, float]] = {"": (-np.inf, np.inf)}
    if not color:  # of two changes, the range of all pixels has to do
        ranges["the recorded inputs"] = limits
    if image.known:
        ends = np.stack([(0 - image.mean) / image.std, (255 - image.mean) / image.std])
        ranges["all pixels"] = (float(ends.min()), float(ends.max()))
    words = {what: what for what in ranges}
    if image.known and image.integers is not None:
        ranges["all pixels"], words["all pixels"] = image.integers.ends, str(image.integers.dtype)
    known = {what: MadeInputs(_AS_GIVEN) for what in ranges}
    unclamped: list[tuple[Mistake, MadeInput]] = []
    also, base = "", image.base
    if color:
        also, base = f", and {color} instead of {image.color}", {**base, "color": color}
    for mistake in mistakes(image.mean, image.std, image.color, image.known):
        ids = {what: ("scale", mistake.id, what, *([color] if color else [])) for what in ranges}
        ids = {what: id for what, id in ids.items() if wanted(id)}
        if not ids:
            continue
        made, least, largest = image.scaled(mistake.mean, mistake.std, flipped=bool(color))
        same = next((of for other, of in unclamped if mistake.is_like(other)), None)
        fix = {**base, "mean": plain(mistake.mean), "std": plain(mistake.std)}
        for what, id in ids.items():
            low, high = ranges[what]
            one = made if low <= least and largest <= high else MadeInput(partial(_clamped, made, low, high))
            first = same if same is not None and one is made else known[what].first_like(one)
            unclamped += [(mistake, first)] if one is made else []
            text = f"{mistake.text}, clamped to the range of {words[what]}" if what else mistake.text
            text += _NEARLY_BLANK if image.is_blank(first) else ""
            yield Way(id, f"{text}{also}", fix, first, combines=bool(color))


def _clamped(made: MadeInput, low: float, high: float) -> np.ndarray:
    return np.asarray(np.clip(made.x, low, high))


def _misread(image: Image) -> Iterator[Way]:
    """Yield the bytes of one layout read as those of the other, before or after mean and std."""
    shape, letters = image.x.shape, image.letters
    for wrong, meant in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        written, misread = (TensorSpec(shape, Layout(tag), str(image.x.dtype), axes=letters) for tag in (wrong, meant))
        target = TensorSpec(shape, Layout(wrong), image.dtype, axes=letters, channels=image.stored)
        fix = {**image.how, "target": target}
        text = f"{wrong} bytes read as {meant}"
        before, after = (MadeInput(partial(_shuffled, image, written, misread, made)) for made in (True, False))
        yield Way(("layout", wrong, "before"), text, fix, before)
        yield Way(("layout", wrong, "after"), f"{text}, after mean and std", fix, after)


def _shuffled(image: Image, written: TensorSpec, misread: TensorSpec, before: bool) -> np.ndarray:
    """Return the input whose bytes are written as one spec, and read as another one, before or after mean and std."""
    given = image.pixels if before else image.x
    read = np.asarray(image.as_stored(misread.unpack(written.pack(image.as_stored(given)))))
    return image.normalised(read) if before else read


def _seen(image: Image) -> Iterator[Way]:
    """Yield what a device may see of an input that is as declared."""
    integers = image.integers
    for way in seen(np.moveaxis(image.x, image.axis, 3).shape, image.color):
        if not (way.of_bytes and integers) and (image.known or not way.of_pixels):
            yield Way(("device", way.id), way.text, None, MadeInput(partial(_changed, image, way)), way.cause)
    if integers is not None:
        for way in of_integers(integers.dtype):
            made = MadeInput(partial(_of_integers, image, integers, way))
            yield Way(("device", way.id), way.text, None, made, way.cause)


def _shifted_along_both(image: Image) -> Iterator[Way]:
    """Yield what a device sees of an input that is shifted along both axes: two changes."""
    for ids, way in diagonal_shifts():
        made = MadeInput(partial(_changed, image, way))
        yield Way((BOTH, *(("device", id) for id in ids)), way.text, None, made, way.cause, combines=True)


def _of_integers(image: Image, integers: Integers, way: SeenInput) -> np.ndarray:
    """Return the input of stored integers that the device changes."""
    return integers.values(way.change(integers.stored(image.x)))


def _cast(image: Image, wanted: Wanted) -> Iterator[Way]:
    """Yield floats that became integers, as where an accelerator's input was declared to hold integers; wanted ones."""
    for name, words, cast in _CASTS:
        id = "device", name
        if not wanted(id):
            continue
        made = MadeInput(partial(cast, image.x))
        text = f"its values are {words}{_NEARLY_BLANK if image.is_blank(made) else ''}"
        yield Way(id, text, None, made, "input_layout")


def _changed(image: Image, way: SeenInput) -> np.ndarray:
    """Return the input of pixels that the device changes; of some that it moves without arithmetic, which rounds."""
    given = np.moveaxis(image.x if way.moves else image.pixels, image.axis, 3)
    changed = np.moveaxis(way.change(given), 3, image.axis)
    return changed if way.moves else image.normalised(changed)
