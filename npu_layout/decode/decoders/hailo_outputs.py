"""Read what HailoRT returns of a network with NMS: memory by class or by score, or pyhailort's arrays and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import BufferSizeError, LayoutError, NpuLayoutError
from ...support import one_of, plain_array

# hailort.h: hailo_bbox_float32_t and hailo_detection_t, packed; both begin with the edges and the score
_BBOX = 5
_DETECTION = np.dtype([("numbers", "<f4", (_BBOX,)), ("class_id", "<u2")])
_COUNT = np.dtype("<u2")
_FRAMES = 64  # of a batch that a message names
Rows = tuple[np.ndarray, np.ndarray]  #: float32 (n, 5), edges and score, and int64 (n,), classes


def read_hailo(output: Any, classes: int, order: str) -> Rows:
    """Return the edges y_min, x_min, y_max, x_max with the scores of all boxes, and their classes."""
    return _READERS[_kind(output, order)](output, classes)


def _kind(output: Any, order: str) -> str:
    """Return which reader an output has."""
    known = one_of("order", order, ("by_class", "by_score"))
    if isinstance(output, Mapping):
        names = [*map(str, output)]
        which = f"output[{names[0]!r}]" if len(names) == 1 else "one of them"
        raise NpuLayoutError(f"output: expected one output, got those of {', '.join(names) or 'none'}; give {which}")
    if isinstance(output, (list, tuple)):
        return "arrays" if known == "by_class" else "objects"
    axes = 1 if isinstance(output, _MEMORY) else getattr(output, "ndim", 1)  # a released memoryview has no ndim
    return "padded" if known == "by_class" and isinstance(axes, int) and axes >= 3 else known


def _by_class(output: Any, classes: int) -> Rows:
    memory = _bytes(output, "float32").view(np.float32)
    found: dict[int, np.ndarray] = {}
    at, size = 0, len(memory)
    for number in range(classes):
        count = memory.item(at) if at < size else 0.0
        if not (count >= 0 and count.is_integer()):
            raise NpuLayoutError(f"output: expected the number of boxes of class {number} at float {at}, got {count:g}")
        end = at + 1 + _BBOX * int(count)
        if end > size:
            raise BufferSizeError(
                f"output has {memory.nbytes} bytes, which end in class {number} of {classes} (classes): expected for "
                f"each class a number of boxes, 4 bytes, and {4 * _BBOX} bytes for each box"
            )
        if count:
            found[number] = memory[at + 1 : end].reshape(-1, _BBOX)
        at = end
    _check_frame(size, output, classes)
    _check_single(memory, classes, at)
    return _of_classes(found)


def _check_frame(size: int, output: Any, classes: int) -> None:
    """Raise an error unless so many floats are a frame of so many classes: the boxes of others would be lost."""
    shape: Any = getattr(output, "shape", ())
    in_bytes = getattr(output, "dtype", None) == np.uint8
    if not _is_frame(size, classes):
        fitting = [n for n in range(1, size + 1) if not size % n and size // n > 1 and size // n % _BBOX == 1]
        near = sorted(sorted(fitting, key=lambda n: abs(n - classes))[:3])
        frames = _batches(size, classes)[:3]
        fits = [f"classes={_each(size, near)}"] if near else []
        if frames:
            fits.insert(
                0, f"a batch of {_each(size // classes, frames)} frames: give output.reshape(n, -1)[i] of frame i"
            )
        hint = f"; this is the size for {'; or for '.join(fits)}" if fits else "; give the memory of one frame alone"
        if len(shape) == 2 and shape[0] > 1 and _is_frame(shape[1], classes):
            hint = "; its first axis counts inputs: give output[0] for the first"
        if in_bytes and _is_frame(4 * size, classes):  # each float as a byte
            hint = "; it has as many bytes as a frame has floats: make the buffer that HailoRT fills float32"
        raise BufferSizeError(
            f"output has {size} floats; a frame of {classes} classes has {classes} * (1 + {_BBOX} * most){hint}"
        )
    if len(shape) == 2 and 1 < shape[0] != classes:
        raise LayoutError(f"output: expected ({classes}, floats), a row for each class, or one row, got {shape}")


def _check_single(memory: np.ndarray, classes: int, end: int) -> None:
    """Raise an error if a frame, whose boxes end at float `end`, is a batch too: the boxes of all others would be lost.

    Of 6, 11, 16, ... frames the memory has the size of one with more boxes. Nothing says what is behind the last box
    of a frame. It is taken for others only if their counts and boxes are such all through, and some have boxes.
    """
    batches = _batches(len(memory), classes)
    if not batches or not memory[end:].any():
        return
    for n in batches:
        others = [str(i) for i, count in enumerate(_boxes_of(memory.reshape(n, -1), classes)) if i and count]
        if not others:
            continue
        each = len(memory) // classes
        one, several = f"one frame of {classes} classes (of {each // _BBOX} boxes each)", _each(each, [n])
        raise BufferSizeError(
            f"output has {len(memory)} floats: {one}, whose last box ends at float {end}, or a batch of {several} "
            f"frames, of which frame {', '.join(others)} has boxes too; of a batch, give output.reshape({n}, -1)[i] of "
            f"frame i; of one frame, what is behind float {end} is of earlier runs: fill it with zeros"
        )


def _boxes_of(frames: np.ndarray, classes: int) -> list[int]:
    """Return how many boxes each frame of a batch has; [] if one of them is no frame."""
    first = frames[:, 0]
    if not ((first >= 0) & (first == np.floor(first))).all():  # as most memory that nobody wrote to
        return []
    found = []
    for frame in frames:
        count = _boxes_in(frame, classes) if frame.any() else 0
        if count is None:
            return []
        found.append(count)
    return found


def _boxes_in(frame: np.ndarray, classes: int) -> int | None:
    """Return how many boxes a frame has; None if its counts are none, or its boxes have no edges or probabilities."""
    most, at, total = len(frame) // classes // _BBOX, 0, 0
    for _ in range(classes):
        count = frame.item(at)
        if not (0 <= count <= most and count.is_integer()):
            return None
        if not count:
            at += 1
            continue
        end = at + 1 + _BBOX * int(count)
        top, left, bottom, right, score = frame[at + 1 : end].reshape(-1, _BBOX).T
        if not ((top <= bottom) & (left <= right) & (score >= 0) & (score <= 1)).all():
            return None
        at, total = end, total + int(count)
    return total


@lru_cache(maxsize=64)
def _batches(size: int, classes: int) -> list[int]:
    """Return of how many frames so many floats can be."""
    every = (n for n in range(2, _FRAMES + 1) if not size % n)
    return [n for n in every if size // n > classes and _is_frame(size // n, classes)]


def _each(size: int, parts: Sequence[int]) -> str:
    """Return numbers of equal parts of so many floats, with the boxes that each has room for."""
    return " or ".join(f"{n} (of {size // n // _BBOX} boxes each)" for n in parts)


def _is_frame(size: int, classes: int) -> bool:
    """Whether so many floats are a frame: of each class a number, and room for as many boxes."""
    each, rest = divmod(size, classes)
    return not rest and each % _BBOX == 1


def _by_score(output: Any, classes: int) -> Rows:
    memory = _bytes(output, "uint8")
    count = int(memory[: _COUNT.itemsize].view(_COUNT)[0]) if len(memory) >= _COUNT.itemsize else 0
    end = _COUNT.itemsize + count * _DETECTION.itemsize
    if len(memory) < end:
        raise BufferSizeError(f"output has {len(memory)} bytes; a uint16 count and {count} boxes need {end}")
    rows = np.frombuffer(memory[_COUNT.itemsize : end].tobytes(), _DETECTION)
    labels = rows["class_id"].astype(np.int64)
    if len(labels) and labels.max() >= classes:
        raise NpuLayoutError(f"output: expected classes below {classes}, got {labels.max()}")
    return rows["numbers"], labels


def _objects(output: Any, classes: int) -> Rows:
    rows = np.empty((len(output), _BBOX), np.float32)
    labels = np.empty(len(output), np.int64)
    for number, one in enumerate(output):
        try:
            rows[number] = one.y_min, one.x_min, one.y_max, one.x_max, one.score
            labels[number] = one.class_id
        except (AttributeError, TypeError, ValueError, OverflowError):
            words = "expected a Detection of pyhailort, with y_min, x_min, y_max, x_max, score and class_id"
            hint = "; give output[0] for the first input's" if isinstance(one, (list, tuple)) else ""
            hint = '; of arrays, one for each class, give order="by_class"' if isinstance(one, np.ndarray) else hint
            raise NpuLayoutError(f"output[{number}]: {words}, got {type(one).__name__}{hint}") from None
        if not 0 <= labels[number] < classes:
            raise NpuLayoutError(f"output[{number}]: expected a class below {classes}, got {labels[number]}")
    return rows, labels


def _arrays(output: Any, classes: int) -> Rows:
    if len(output) != classes:
        first = output[0] if len(output) else None
        hint = ""
        if hasattr(first, "class_id"):
            hint = '; these are Detection objects: give order="by_score"'
        elif isinstance(first, (list, tuple)):
            hint = "; it has a list of arrays for each input: give output[0] for the first"
        raise LayoutError(f"output: expected {classes} arrays, one for each class, got {len(output)}{hint}")
    found: dict[int, np.ndarray] = {}
    for number, one in enumerate(output):
        array = one if type(one) is np.ndarray else plain_array(f"output[{number}]", one)
        if array.dtype.kind != "f" or (array.shape[1:] != (_BBOX,) and array.size):
            got = f"{array.dtype} {array.shape}"
            raise LayoutError(f"output[{number}]: expected an array (n, {_BBOX}) of one input, got {got}")
        if array.size:
            found[number] = array.astype(np.float32)
    return _of_classes(found)


def _padded(output: Any, classes: int) -> Rows:
    array = plain_array("output", output)
    if array.dtype.kind != "f" or array.shape[:2] != (classes, _BBOX):
        hint = "; its first axis counts inputs: give output[0] for the first" if array.ndim == 4 else ""
        raise LayoutError(f"output: expected ({classes}, {_BBOX}, most) floats, got {array.dtype} {array.shape}{hint}")
    rows = array.astype(np.float32).transpose(0, 2, 1)
    labels, boxes = np.nonzero(rows.any(2))
    return rows[labels, boxes], labels


def _of_classes(found: dict[int, np.ndarray]) -> Rows:
    """Return the rows of the classes that have some, in their order."""
    rows = np.concatenate([*found.values()]) if found else np.empty((0, _BBOX), np.float32)
    return rows, np.repeat(np.array([*found], np.int64), [len(of) for of in found.values()])


def _bytes(output: Any, dtype: str) -> np.ndarray:
    """Return memory, of elements of `dtype` or of bytes, as uint8."""
    expected = f"contiguous memory of {dtype}, or bytes"
    try:
        array = plain_array("output", np.frombuffer(output, np.uint8) if isinstance(output, _MEMORY) else output)
    except (ValueError, BufferError) as error:  # of a memoryview: it was released, or has steps
        raise NpuLayoutError(f"output: expected {expected}, got {type(output).__name__}: {error}") from None
    if array.dtype not in (np.dtype(dtype), np.dtype(np.uint8)) or not array.flags.c_contiguous:
        raise NpuLayoutError(f"output: expected {expected}, got {array.dtype} {array.shape} of strides {array.strides}")
    memory = array.reshape(-1).view(np.uint8)
    if memory.size % np.dtype(dtype).itemsize:
        raise BufferSizeError(f"output has {memory.size} bytes, no whole number of {dtype}")
    return memory


_MEMORY = (bytes, bytearray, memoryview)
_READERS: dict[str, Callable[[Any, int], Rows]] = {
    "by_class": _by_class,
    "by_score": _by_score,
    "arrays": _arrays,
    "objects": _objects,
    "padded": _padded,
}
