"""Record the inputs and outputs of an engine to disk, a run at a time."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import specs_of
from ..errors import NpuLayoutError, RecordingError
from ..frames import ARGUMENTS, FrameSpec, Geometry, Preprocessor, frame_array, frame_part
from ..layouts import CHANNEL_ORDERS, Layout
from ..support import (
    PathLike,
    __version__,
    checked_call,
    isolated,
    many,
    not_copied,
    path_of,
    safe_lock,
    text_of,
    whole_numbers,
)
from .folder import begin, sha256_of, write_about, write_run
from .runs import (
    CAMERA,
    FRAME,
    ROI,
    Frame,
    check_names,
    check_run,
    checked_meta,
    named_specs,
    run_of,
)


class Recorder:
    """An engine that also records its inputs and outputs.

    Parameters
    ----------
    engine
        Anything with ``infer({name: array})`` and ``output_specs``, {name: TensorSpec} or TensorSpecs with names.
        ``infer`` returns {name: array}, or a list of arrays in the order of output_specs; bytes and other buffers are
        accepted as arrays.
    folder
        A new or empty folder. RecordingError if it is not empty, or no folder.
    input_specs
        TensorSpecs, each with its name, of those inputs that are not stored as the ONNX model reads them. None: those
        of the engine.
    preprocess
        How the inputs were made: the Preprocessor, or a mapping of its arguments. If its target has `channels`, the
        input's spec in `input_specs` must have them too, because the recording takes them from there.
    model
        Path of the ONNX model; the recording notes its name and SHA-256.
    note
        Any text, which the recording keeps.
    versions
        What the recording keeps of versions, such as ``{"runtime": "2.3", "driver": "0.9"}``.

    Every run is on disk when `infer` returns, and stays complete if the process is killed while it writes the next one.
    No arrays are kept in memory. Use the Recorder in a with statement, or call close(): it notes the number of runs, so
    that `Recording.load` finds out if the last one is lost. A run after close() removes that note.

    Threads may share a Recorder: one run at a time is in the engine, and is recorded before the next one starts. A
    forked process must make its own, with its own folder, because both would write the same files.

    Attributes
    ----------
    engine, folder
        As given, the folder as a Path.
    count
        The number of runs recorded so far.
    """

    engine: Any
    folder: Path
    count: int

    __reduce__ = not_copied("the folder that it writes")

    @checked_call
    def __init__(
        self,
        engine: Any,
        folder: PathLike,
        *,
        input_specs: Iterable[TensorSpec] = (),
        preprocess: Preprocessor | Mapping[str, Any] | None = None,
        model: PathLike | None = None,
        note: str = "",
        versions: Mapping[str, str] | None = None,
    ) -> None:
        self.engine, self.folder = engine, Path(path_of("folder", folder))
        if not hasattr(engine, "infer") or not hasattr(engine, "output_specs"):
            raise RecordingError(f"engine: expected an object with infer and output_specs, got {engine!r}")
        known = specs_of(engine, "input_specs")
        self._outputs = named_specs("output_specs", engine.output_specs)
        given = named_specs("input_specs", input_specs)
        for name, spec in {**known, **given}.items():
            if self._outputs.get(name, spec) != spec:
                raise RecordingError(
                    f"engine {type(engine).__name__}: an input and an output are both called {name!r}, and a "
                    f"recording has one TensorSpec for a name: got {spec} and {self._outputs[name]}; rename one of them"
                )
        self._inputs = {**{n: s for n, s in known.items() if _says_more_than_model(s)}, **given}
        self._specs, self._name, self.count = {**self._outputs, **self._inputs}, uuid.uuid4().hex, 0
        _check_target(preprocess, self._inputs)
        self._first: Frame | None = None
        self._noted: int | None = None
        self._one_at_a_time, self._process = safe_lock(reentrant=True), os.getpid()
        self._meta = _description(preprocess, model, note, {} if versions is None else versions)
        if self.folder.exists() and not self.folder.is_dir():
            raise RecordingError(f"{self.folder} is no folder; expected a new or empty one")
        self.folder.mkdir(parents=True, exist_ok=True)
        begin(self.folder, self._name, self._specs, self._meta)

    @property
    def input_specs(self) -> Any:
        """The engine's input_specs, as the engine has them."""
        return self.engine.input_specs

    @property
    def output_specs(self) -> Any:
        """The engine's output_specs, as the engine has them."""
        return self.engine.output_specs

    @checked_call
    def infer(self, inputs: Any, *, frame: Any = None, roi_xywh: Sequence[int] | None = None) -> Any:
        """Run the engine on `inputs` (an array, or {name: array}), record both, and return the engine's answer.

        frame: the camera's frame, which is recorded as the camera input "frame". With it, `validate` can find whether
        the frame was letterboxed, stretched or cropped. It is an array of numbers of any shape and dtype, or planes,
        bytes or a memory map that a Preprocessor with the arguments `preprocess` accepts; it is recorded as one array
        that such a Preprocessor accepts too. roi_xywh: the part of the frame of which the input was made, x, y, width
        and height in pixels, as the Preprocessor was given it; if one run has a part, every run must. Raises
        RecordingError, and records nothing, if an output has no spec, if an array does not fit its spec in size, dtype
        or the order that its shape implies, if the names of inputs or outputs are not those of the first run, or if
        roi_xywh is not inside the frame (whose size `preprocess` says).
        """
        with self._exclusive():
            return self._recorded(inputs, frame, roi_xywh)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other threads out; RecordingError in another process than the one that made the Recorder."""
        if os.getpid() != self._process:
            raise RecordingError(
                f"{self.folder}: this Recorder belongs to process {self._process}, which writes the same files; "
                f"make one in each process, with a folder of its own"
            )
        with self._one_at_a_time:
            yield

    def _recorded(self, inputs: Any, frame: Any, roi: Any) -> Any:
        where = f"frame {self.count}"
        if isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[1], Geometry):
            raise RecordingError(
                f"{where}: expected an input, got a Preprocessor's (buffer, geometry); give its first item"
            )
        given = inputs if isinstance(inputs, Mapping) else {next(self._input_names(), "input"): inputs}
        if frame is not None:
            taken = [name for name in CAMERA if name in given]
            if taken:
                raise RecordingError(
                    f"{where}: the engine's input {taken[0]!r} has the name of the camera's frame, or of its part; "
                    f"give only one of them (npu-layout record --without-frames), or rename the input"
                )
        seen = {**given, **self._camera(frame, roi, where)}
        # A copy: an engine may work in place.
        went_in = {name: x.copy() for name, x in run_of(seen, {}, self._specs, where).inputs.items()}
        outputs = self.engine.infer(inputs)
        recorded = Frame(went_in, run_of({}, self._named(outputs, where), self._specs, where).outputs)
        recorded = check_run(recorded, self._specs, where, shaped=True)
        if not self._first and not set(self._outputs) <= set(recorded.outputs):
            kind, got = type(self.engine).__name__, ", ".join(map(isolated, recorded.outputs)) or "none"
            wanted = f"its output_specs: {', '.join(map(isolated, self._outputs))}"
            raise RecordingError(f"{where}: engine {kind}: returned the outputs {got}, expected {wanted}")
        self._first = self._first or Frame(*(dict.fromkeys(side, np.empty(0)) for side in recorded))
        check_names(recorded, self._first, where)
        if self._noted is not None:  # the number of runs, which is about to change
            self._note(None)
        write_run(self.folder, self._name, self.count, recorded)
        self.count += 1
        return outputs

    def _camera(self, frame: Any, roi: Any, where: str) -> dict[str, Any]:
        """Return what is recorded beside the inputs: the frame as one array, and the part of it that was used."""
        if frame is None and roi is None:
            return {}
        if frame is None:
            raise RecordingError(f"{where}: roi_xywh={roi!r} is the part of a frame; give frame= too")
        single = self._single(frame, where)
        if roi is None:
            return {FRAME: single}
        how = self._meta.get("preprocess")
        try:
            part = np.array(whole_numbers("roi_xywh", roi, 4, 0), np.int64)
            if how is not None:
                frame_part(single, how, part.tolist())
        except (NpuLayoutError, OverflowError) as error:
            raise RecordingError(f"{where}: {error}") from None
        return {FRAME: single, ROI: part}

    def _single(self, frame: Any, where: str) -> Any:
        """Return a frame as one array, which fits the source that preprocess states."""
        how = self._meta.get("preprocess")
        if how is None:
            return frame
        try:
            return frame_array(frame, how)
        except NpuLayoutError as error:
            raise RecordingError(f"{where}: input {FRAME!r}: {error}") from None

    def _named(self, outputs: Any, where: str) -> Mapping[str, Any]:
        if isinstance(outputs, Mapping):
            return outputs
        given = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        if len(given) != len(self._outputs):
            wanted = f"{len(self._outputs)}, as its output_specs: {', '.join(map(isolated, self._outputs)) or 'none'}"
            got = "None" if outputs is None else many(len(given), "output")
            raise RecordingError(f"{where}: the engine returned {got}, expected {wanted}")
        return dict(zip(self._outputs, given))

    def _input_names(self) -> Iterator[str]:
        specs = getattr(self.engine, "input_specs", None) or self._inputs
        return iter(specs) if isinstance(specs, Mapping) else (spec.name for spec in specs)

    def close(self) -> None:
        """Note the number of runs in recording.json."""
        with self._exclusive():
            self._note(self.count)

    def _note(self, count: int | None) -> None:
        write_about(self.folder, self._name, self._specs, self._meta, count)
        self._noted = count

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _says_more_than_model(spec: TensorSpec) -> bool:
    """Whether a spec says more of an input than an array of the model's shape and dtype does."""
    model = Layout.of_rank(len(spec.shape)).axes
    dense = spec.layout.letters == spec.axes == model and spec.size == int(np.prod(spec.shape))
    return not dense or spec.quantization is not None or spec.channels is not None or spec.dtype == "bfloat16"


def _description(preprocess: Any, model: Any, note: Any, versions: Any) -> dict[str, Any]:
    """Return what recording.json notes beside the specs."""
    file = None if model is None else Path(path_of("model", model))
    if file is not None and not file.is_file():
        raise RecordingError(f"model: expected a file, got {file}")
    known = {"npu_layout": __version__, "python": platform.python_version(), "numpy": np.__version__}
    return checked_meta(
        {
            **({} if preprocess is None else {"preprocess": _arguments(preprocess)}),
            **({} if file is None else {"model": file.name, "model_sha256": sha256_of(file)}),
            "note": text_of("note", note),
            "versions": {**known, **checked_meta(versions, "versions")},
        }
    )


def _check_target(preprocess: Any, input_specs: Mapping[str, TensorSpec]) -> None:
    if not isinstance(preprocess, Preprocessor):
        return
    if isinstance(preprocess.target, FrameSpec):
        raise RecordingError(
            f"preprocess: its target is a frame, {preprocess.target.describe()}, which is no input of an ONNX model: "
            "make the model's input of that picture, and give both to "
            "Recording(specs, [({'x': input, 'frame': picture}, outputs), ...], meta), as in docs/proving.md"
        )
    channels = preprocess.target.channels
    if channels is not None and channels not in {spec.channels for spec in input_specs.values()}:
        raise RecordingError(
            f"preprocess: its target has channels={channels!r}, and no spec of input_specs has: give the input's "
            f"TensorSpec(..., channels={channels!r}) there, so that the recording states what the buffer contains"
        )


def _arguments(preprocess: Any) -> dict[str, Any]:
    """Return the Preprocessor's arguments; RecordingError if no Preprocessor accepts them."""
    if isinstance(preprocess, Preprocessor):
        return preprocess.arguments
    if not isinstance(preprocess, Mapping):
        raise RecordingError(f"preprocess: expected a Preprocessor or its arguments, got {preprocess!r}")
    for key in preprocess:
        if key not in ARGUMENTS:
            raise RecordingError(
                f"preprocess: {key!r} is no argument of Preprocessor; it accepts {', '.join(ARGUMENTS)}"
            )
    order = CHANNEL_ORDERS.get(str(preprocess.get("color")), CHANNEL_ORDERS["RGB"])
    try:
        Preprocessor(TensorSpec((1, order.channels, 8, 8)), **preprocess)
    except NpuLayoutError as error:
        raise RecordingError(f"preprocess: {error}") from None
    return {k: _plain(v) for k, v in preprocess.items()}


def _plain(value: Any) -> Any:
    """Return a value of an argument, JSON-ready."""
    if isinstance(value, FrameSpec):
        return value.to_dict()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
