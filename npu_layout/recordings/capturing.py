"""Capture: frames through a Preprocessor and an engine into a recording."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Union

import numpy as np

from ..buffers import TensorSpec
from ..engines import OnnxRuntimeEngine, SimulatedNpu, calibrate
from ..errors import NpuLayoutError
from ..frames import Preprocessor
from ..layouts import Layout
from ..support import track
from .recorder import Recorder
from .sources import Frames

PathLike = Union[str, "os.PathLike[str]"]

_CALIBRATION = 16  # frames that a simulated accelerator's scales are taken from


class Feed:
    """From camera frames to what an engine takes, and how the recording describes it.

    Parameters
    ----------
    model
        The ONNX model, of one input.
    engine
        Its ``input_specs`` say what it takes; None, or an engine without them: what the model takes.
    axes
        Letters of the input's axes, where an ONNX model's are not NCHW.
    resize, color, mean, std
        The Preprocessor's. An integer input that is not quantised takes pixels as they are: mean and std then are what
        the compiled model does with them, and are only noted.

    Attributes
    ----------
    preprocess
        For the recording's meta.
    specs
        The input's TensorSpec, where the engine takes it in another form than the model does.
    """

    def __init__(
        self,
        model: OnnxRuntimeEngine,
        engine: Any = None,
        *,
        axes: str | None = None,
        resize: str = "letterbox",
        color: str = "RGB",
        mean: Any = 0,
        std: Any = 1,
    ) -> None:
        given = getattr(engine, "input_specs", None) or model.input_specs
        specs = [*given.values()] if isinstance(given, Mapping) else [*given]
        if len(specs) != 1 or len(model.input_specs) != 1:
            raise NpuLayoutError(f"{model.model} has {len(specs)} inputs; frames can be recorded for one, use Recorder")
        taken, own = specs[0], model.input_specs[0]
        if axes is not None:
            taken = TensorSpec.from_dict({**_plain(taken), "layout": axes, "axes": axes})
        self.preprocess = {"resize": resize, "color": color, "mean": mean, "std": std}
        how = dict(self.preprocess)
        if taken.element.unpacked.kind != "f" and taken.quantization is None:
            how.update(mean=0, std=1)
        self._preprocessor = Preprocessor(taken, **how)
        same = taken.dtype == own.dtype and taken.storage_shape == own.storage_shape
        self.specs = () if same else (TensorSpec.from_dict({**taken.to_dict(), "name": own.name}),)
        self._name = own.name

    def __call__(self, frame: np.ndarray) -> dict[str, np.ndarray]:
        """{input: buffer of its own} of one frame."""
        return {self._name: self._preprocessor(frame)[0]}


def _plain(spec: TensorSpec) -> dict[str, Any]:
    return {key: value for key, value in spec.to_dict().items() if not key.startswith("storage") and key != "size"}


def simulated(model: OnnxRuntimeEngine, feed: Feed, frames: Frames, layout: Layout, dtype: str) -> SimulatedNpu:
    """Return a simulated accelerator for the model.

    Outputs of the layout's axes are in that layout, the others unchanged, in `dtype` with the scale that the first
    frames need.
    """
    answers = [model.infer(feed(frame)) for frame in itertools.islice(frames, _CALIBRATION)]
    specs = []
    for spec in model.output_specs:
        order = layout if layout.axes == spec.axes else spec.layout
        quantization = calibrate([answer[spec.name] for answer in answers], dtype)
        specs.append(TensorSpec(spec.shape, order, dtype, quantization=quantization, name=spec.name))
    return SimulatedNpu(model, specs)


def capture(
    engine: Any,
    feed: Feed,
    frames: Frames,
    folder: PathLike,
    *,
    keep_frames: bool = True,
    model: PathLike | None = None,
    note: str = "",
    progress: bool | None = None,
) -> int:
    """Record what `engine` makes of every frame; returns how many there were.

    keep_frames: whether the recording holds the camera's frames too. Where a frame cannot be read or run, those before
    it stay recorded; where there is none, nothing is left.

    Raises NpuLayoutError on a frame that cannot be read, does not fit, or that the engine fails on, and RecordingError
    where the folder holds anything.
    """
    recorder = Recorder(engine, folder, input_specs=feed.specs, preprocess=feed.preprocess, model=model, note=note)
    try:
        for frame in track(frames, frames.total, "recording", progress):
            recorder.infer(feed(frame), frame=frame if keep_frames else None)
    except BaseException as error:
        with suppress(OSError):  # a full disk; or the folder is a link or the working one, which may stay
            if recorder.count:
                recorder.close()
            else:
                for file in recorder.folder.iterdir():
                    file.unlink()
                recorder.folder.rmdir()
        if not isinstance(error, Exception):
            raise
        what = str(error) if isinstance(error, NpuLayoutError) else f"{type(error).__name__}: {error}"
        kept = f"; the {recorder.count} frames before it are in {folder}" if recorder.count else ""
        raise NpuLayoutError(f"frame {recorder.count}: {what}{kept}") from error
    recorder.close()
    return recorder.count
