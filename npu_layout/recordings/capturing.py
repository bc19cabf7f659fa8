"""Run camera frames through a Preprocessor and an engine, and record every run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import OnnxRuntimeEngine, SimulatedNpu, calibrate
from ..errors import LayoutError, NpuLayoutError
from ..frames import Preprocessor, as_pixels
from ..layouts import Layout
from ..support import PathLike, isolated, track
from .recorder import Recorder
from .sources import Frames

_CALIBRATION = 16  # frames whose outputs set a simulated accelerator's scales
_CHANNELS = (1, 3, 4)  # of a picture


class Feed:
    """Turns a camera frame into the input of an engine, and describes it for the recording.

    Parameters
    ----------
    model
        The ONNX model, which has one input.
    engine
        Its ``input_specs`` describe its input. Without them, or with None, the input is the model's.
    axes
        Letters of the input's axes, if they are not NCHW.
    resize, color, mean, std
        Arguments of the Preprocessor. An integer input that is not quantised contains the pixels unchanged; the
        compiled model applies mean and std then, and the recording only notes them.
    others
        Other arguments of the Preprocessor: interpolation, pad_value.

    Attributes
    ----------
    preprocess
        The arguments, for the recording's meta.
    specs
        The input's TensorSpec, if the engine's input has another form than the model's; else empty.
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
        **others: Any,
    ) -> None:
        given = getattr(engine, "input_specs", None) or model.input_specs
        specs = [*given.values()] if isinstance(given, Mapping) else [*given]
        if len(specs) != 1 or len(model.input_specs) != 1:
            raise NpuLayoutError(f"{model.model} has {len(specs)} inputs; frames can be recorded for one, use Recorder")
        fed, own = specs[0], model.input_specs[0]
        if axes is not None:
            fed = TensorSpec.from_dict({**_plain(fed), "layout": axes, "axes": axes})
        elif _seems_turned(fed):
            raise NpuLayoutError(
                f"axes: expected 'NHWC' of an input whose channels are last, as {fed.describe()} seems to be; a model "
                "does not name its axes, and without axes they are NCHW"
            )
        self.preprocess = {"resize": resize, "color": color, "mean": mean, "std": std, **others}
        how = dict(self.preprocess)
        if fed.element.unpacked.kind != "f" and as_pixels(fed).quantization is None:
            how.update(mean=0, std=1)
        self._preprocessor = Preprocessor(fed, **how)
        same = fed.dtype == own.dtype and fed.storage_shape == own.storage_shape and fed.channels is None
        self.specs = () if same else (TensorSpec.from_dict({**fed.to_dict(), "name": own.name}),)
        self._name = own.name

    def __call__(self, frame: np.ndarray) -> dict[str, np.ndarray]:
        """Return {input: buffer} of one frame; the buffer is a copy."""
        return {self._name: self._preprocessor(frame)[0]}


def _seems_turned(spec: TensorSpec) -> bool:
    """Whether the last of four axes has the extent of a picture's channels, which the axis called C has not."""
    channels, last = dict(zip(spec.axes, spec.shape)).get("C"), spec.shape[-1]
    return len(spec.shape) == 4 and channels not in _CHANNELS and last in _CHANNELS


def _plain(spec: TensorSpec) -> dict[str, Any]:
    return {key: value for key, value in spec.to_dict().items() if not key.startswith("storage") and key != "size"}


def simulated(model: OnnxRuntimeEngine, feed: Feed, frames: Frames, layout: Layout, dtype: str) -> SimulatedNpu:
    """Return a simulated accelerator for the model.

    Outputs with the axes of `layout` are stored in that layout, the others in the model's. All have the `dtype`, with
    the scale that the outputs of the first frames need.

    Raises LayoutError if no output has the axes of `layout`.
    """
    _check_axes(model, layout)
    answers = [model.infer(feed(frame)) for frame in itertools.islice(frames, _CALIBRATION)]
    specs = []
    for spec in model.output_specs:
        order = layout if layout.axes == spec.axes else spec.layout
        quantization = calibrate([answer[spec.name] for answer in answers], dtype)
        specs.append(TensorSpec(spec.shape, order, dtype, quantization=quantization, name=spec.name))
    return SimulatedNpu(model, specs)


def _check_axes(model: OnnxRuntimeEngine, layout: Layout) -> None:
    own = {spec.axes: spec.name for spec in model.output_specs}
    if layout.axes not in own:
        fitting = " or ".join(f"{axes} (output {isolated(name)})" for axes, name in own.items())
        raise LayoutError(
            f"layout {layout}: no output of {model.model} has the axes {layout.axes}; expected a layout of the axes "
            f"{fitting}"
        )


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
    """Record a run of `engine` on every frame, and return the number of runs.

    keep_frames: whether the recording contains the camera's frames too. If a frame cannot be read or run, the runs
    before it stay recorded; if there are none, the folder is removed.

    Raises NpuLayoutError if a frame cannot be read, does not fit, or the engine fails on it, and RecordingError if the
    folder is not empty.
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
        if not isinstance(error, (Exception, SystemExit)):
            raise
        what = str(error) if isinstance(error, NpuLayoutError) else f"{type(error).__name__}: {error}"
        if isinstance(error, OSError) and error.strerror and error.filename:
            what = f"{error.filename}: {error.strerror}"
        before = "frame before it is" if recorder.count == 1 else f"{recorder.count} frames before it are"
        kept = f"; the {before} in {folder}" if recorder.count else ""
        raise NpuLayoutError(f"frame {recorder.count}: {what}{kept}") from error
    recorder.close()
    return recorder.count
