"""Frames as a network's input, for the calibration of a toolchain: made by the Preprocessor that runs on the board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..frames import Preprocessor
from ..layouts import Layout
from ..support import (
    PathLike,
    checked_call,
    instance,
    not_copied,
    one_of,
    path_of,
    text_of,
    warn_caller,
    whole_folder,
    write_text,
)
from .toolchains import TOOLCHAINS, Sample


class CalibrationSet(Iterable[dict[str, np.ndarray]]):
    """The float inputs of a network for some frames, {input: float32 array} each, made while you iterate.

    Quantisation on a computer needs the very inputs that the board will see. They are made with the board's
    Preprocessor: the same resize, border, colour, mean and std, but in float32, also if the board's input is quantised.
    The set can be iterated as often as `frames` can; an iterator, such as a generator, can be read once, and later an
    error says so.

    Parameters
    ----------
    frames
        An iterable of frames, as `preprocess` reads them: `Frames` of files, a list of arrays.
    preprocess
        The board's Preprocessor. The float model's input has the shape and order of its target. If the target's layout
        has blocks, the order is that of its axes. If the board's runtime normalises pixels by itself, its Preprocessor
        has no mean and std, while the float model needs them: a UserWarning says so. Give the float model's then.
    name
        The name of the model's input.

    Raises
    ------
    NpuLayoutError
        If `preprocess` is no Preprocessor, makes more than one image, or `frames` cannot be iterated.

    Examples
    --------
    >>> spec = TensorSpec((1, 3, 4, 4))
    >>> frames = [np.full((8, 8, 3), 51, np.uint8)]
    >>> samples = CalibrationSet(frames, Preprocessor(spec, std=255), "image")
    >>> [{name: (array.shape, round(float(array.max()), 3)) for name, array in sample.items()} for sample in samples]
    [{'image': ((1, 3, 4, 4), 0.2)}]
    """

    @checked_call
    def __init__(self, frames: Iterable[Any], preprocess: Preprocessor, name: str = "image") -> None:
        target = instance("preprocess", preprocess, Preprocessor).target
        if not isinstance(target, TensorSpec):
            raise NpuLayoutError(
                f"preprocess: its target is a frame, {target.describe()}; expected the TensorSpec of the float model's "
                "input, with its mean and std"
            )
        if isinstance(frames, (str, bytes)) or not isinstance(frames, Iterable):
            raise NpuLayoutError(f"frames: expected an iterable of frames, got {type(frames).__name__}")
        if _is_pixels(target):
            warn_caller(
                f"preprocess: it writes pixels, {target.dtype} without mean and std, which the board's runtime "
                "normalises; the float model's is "
                f"Preprocessor(TensorSpec({tuple(target.shape)}, axes={target.axes!r}), "
                "**{**preprocess.arguments, 'mean': ..., 'std': ...}), with 0 and 1 if it reads pixels too"
            )
        extents = dict(zip(target.axes, target.shape))
        if extents.get("N", 1) != 1:
            raise NpuLayoutError(f"preprocess: expected a target of one image, got {target.describe()}")
        self.frames, self.name = frames, text_of("name", name)
        self._was_read = False
        self.preprocess = preprocess
        self._order = target.axes if target.layout.is_blocked else target.layout.tag
        arguments = preprocess.arguments
        made = TensorSpec(target.shape, Layout(self._order, target.axes), "float32")
        self._float = Preprocessor(made, **arguments)
        last = TensorSpec((1, *(extents[letter] for letter in "CHW")), Layout("NHWC", "NCHW"), "float32")
        self._image = Preprocessor(last, **arguments)
        plain = {**arguments, "mean": 0, "std": 1}
        shape = tuple(extents[letter] for letter in "CHW")
        pixels = TensorSpec(shape, Layout("HWC", "CHW"), "uint8")
        self._pixels = Preprocessor(pixels, **plain)
        self._shapes = made.storage_shape, pixels.storage_shape
        self.color: str = preprocess.color

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield {name: float32 array of the model's shape} of each frame; each array is new. Raises NpuLayoutError."""
        for sample in self.samples():
            yield {self.name: sample.array}

    def samples(self) -> Iterator[Sample]:
        """Yield a Sample for each frame: it makes its input, float32, and its pixels, uint8, when they are asked for.

        NpuLayoutError, when they are asked for, if the frame does not fit, or if `frames` is an iterator that was read
        already.
        """
        if self._was_read and isinstance(self.frames, Iterator):
            raise NpuLayoutError(
                f"frames: {type(self.frames).__name__} was read already, and ends after one reading; give a list of "
                "frames, or nl.recordings.Frames of files, to read them again"
            )
        self._was_read = True
        for frame in self.frames:
            yield Sample(*(partial(_made, maker, frame) for maker in (self._float, self._image, self._pixels)))

    def reader(self) -> CalibrationReader:
        """Return what onnxruntime.quantization.quantize_static reads: a CalibrationDataReader. Raises nothing."""
        return CalibrationReader(self)

    def save(self, folder: PathLike, toolchain: str) -> int:
        """Write the files that a toolchain reads, and how.txt, which says how to use them; return the number of frames.

        Parameters
        ----------
        folder
            A new or empty folder; it appears when it is complete.
        toolchain
            A name of `TOOLCHAINS`: onnxruntime, openvino, tflite, tpu-mlir, rknn, hailo or mnn.

        Raises
        ------
        NpuLayoutError
            If `toolchain` is unknown, a frame does not fit, there is no frame, the toolchain cannot read what the
            Preprocessor makes, or the folder has files.
        OSError
            If the folder cannot be written.
        """
        if not Path(path_of("folder", folder)).name:
            raise NpuLayoutError(f"folder: expected the path of a new folder, got {str(folder)!r}")
        if Path(folder).is_file() or (Path(folder).is_dir() and any(Path(folder).iterdir())):
            raise NpuLayoutError(f"folder: {folder} is there already; expected a new or an empty one")
        row = TOOLCHAINS[one_of("toolchain", toolchain, tuple(TOOLCHAINS))]
        shape, pixels = self._shapes
        how = {**self.preprocess.arguments, "name": self.name, "order": self._order}
        how.update(shape=shape, pixels=pixels)
        row.check(toolchain, how)
        with whole_folder(folder) as unfinished:
            count = row.write(unfinished, self.samples(), how)
            if not count:
                raise NpuLayoutError("frames: expected one at least, got none")
            write_text(unfinished / "how.txt", f"{row.use(how, count)}\n{_made_with(how)}")
        return count


def _is_pixels(target: TensorSpec) -> bool:
    """Whether a buffer has pixels as they are: integers, whose scale is none or 1."""
    quantization = target.quantization
    return np.dtype(target.stored).kind in "iu" and (quantization is None or bool(np.all(quantization.scale == 1)))


def _made_with(how: Mapping[str, Any]) -> str:
    """Return a line of what the frames went through, to compare with another set, and with what the board does."""
    numbers = ", ".join(f"{name} {how[name]}" for name in ("color", "resize", "interpolation", "mean", "std"))
    return f"The Preprocessor's arguments: {numbers} (of pixel values 0 to 255).\n"


def _made(preprocess: Preprocessor, frame: Any) -> np.ndarray:
    """Return a frame's buffer in the storage shape of its target, which has no gaps: a new array."""
    return preprocess(frame)[0]


class CalibrationReader:
    """A CalibrationSet as onnxruntime's CalibrationDataReader: `get_next` returns {input: array}, and None at the end.

    samples: the CalibrationSet. Raises NpuLayoutError on anything else.
    """

    __reduce__ = not_copied("its place in the samples")

    def __init__(self, samples: CalibrationSet) -> None:
        self._samples = instance("samples", samples, CalibrationSet)
        self._left = iter(self._samples)

    def get_next(self) -> dict[str, np.ndarray] | None:
        """Return the next frame's {input: float32 array of the model's shape}, or None.

        NpuLayoutError on a frame that does not fit.
        """
        return next(self._left, None)

    def rewind(self) -> None:
        """Begin again with the first frame. Raises nothing."""
        self._left = iter(self._samples)
