"""Recordings: what went into an accelerator and what came out, kept whole so that it can be judged later."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError, RecordingError
from ..frames import ARGUMENTS, Preprocessor
from ..support import __version__
from .folder import (
    PathLike,
    count_frames,
    frame_path,
    new_folder,
    read_about,
    read_frame,
    sha256_of,
    write_about,
    write_frame,
)
from .frames import (
    FRAME,
    Frame,
    FramesOnDisk,
    check_frame,
    check_names,
    checked_frames,
    checked_meta,
    checked_specs,
    frame_of,
    named_specs,
)


class Recording:
    """Frames of an accelerator, with what is needed to read them.

    Parameters
    ----------
    specs
        ``{name: TensorSpec}`` of every output, and of those inputs that the accelerator took in another form than the
        ONNX model does.
    frames
        Sequence of ``(inputs, outputs)``, each ``{name: array}``. Outputs are buffers that their spec takes; inputs
        without a spec are ready for the ONNX model. Held as they are, without a copy.
    meta
        JSON-ready, free but for ``"preprocess"``: how the inputs were made, in the Preprocessor's terms.

    Raises
    ------
    RecordingError
        Where a frame lacks an array that the others have, an output has no spec, or a buffer does not fit its spec; it
        names frame and array.

    Examples
    --------
    >>> specs = {"heat": TensorSpec((1, 2, 1, 3), "NHWC", "int8")}
    >>> recording = Recording(specs, [({"image": np.zeros((1, 3, 2, 2))}, {"heat": np.arange(6, dtype=np.int8)})])
    >>> len(recording), recording.specs["heat"].unpack(recording.frames[0].outputs["heat"]).tolist()
    (1, [[[[0, 2, 4]], [[1, 3, 5]]]])
    """

    specs: dict[str, TensorSpec]
    frames: Sequence[Frame]
    meta: dict[str, Any]

    def __init__(
        self, specs: Mapping[str, TensorSpec], frames: Iterable[Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        self.specs = checked_specs(specs)
        self.meta = checked_meta(meta)
        self.frames = checked_frames(frames, self.specs)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def __repr__(self) -> str:
        return f"Recording({len(self)} frames, outputs {', '.join(self.outputs) or 'none'})"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(self.frames[0].outputs) if len(self.frames) else ()

    def save(self, path: PathLike) -> None:
        """Write a new folder, which appears whole or not at all. RecordingError where `path` exists already."""
        with new_folder(path) as folder:
            name = uuid.uuid4().hex
            for i, frame in enumerate(self.frames):
                write_frame(folder, name, i, frame)
            write_about(folder, name, self.specs, self.meta, len(self.frames))

    @classmethod
    def load(cls, path: PathLike) -> Recording:
        """The recording in the folder `path`: every frame is read once and checked, and read again from disk whenever
        it is asked for, so that memory holds one frame. The folder is never written to.

        Raises RecordingError, naming file and field, on anything that is missing, damaged, renamed, swapped, not of
        this format, larger than it says, or a link that leaves the folder.
        """
        folder = Path(path)
        about = read_about(folder)
        specs, name = about["specs"], about["id"]
        count = count_frames(folder, about["frames"])
        frames = FramesOnDisk(count, partial(read_frame, folder, name), partial(frame_path, folder), specs)
        return cls(specs, frames, about["meta"])


class Recorder:
    """An engine that also records what passes through it.

    Parameters
    ----------
    engine
        Anything with ``infer({name: array})`` and ``output_specs``, {name: TensorSpec} or TensorSpecs with names. It
        answers with {name: array}, or with a list of arrays in the order of output_specs; bytes and other buffers will
        do for arrays.
    folder
        Where to record: a new or empty folder. RecordingError where it holds anything, or is none.
    input_specs
        TensorSpecs, each with its name, of those inputs that the engine takes in another form than the ONNX model.
    preprocess
        How the inputs were made: the Preprocessor, or a mapping of its arguments.
    model
        Path of the model; its SHA-256 is noted.
    note, versions
        Free text; ``{"runtime": ..., "driver": ...}``.

    Every frame is on disk when `infer` returns, whole even if the process is killed while it writes the next. Arrays
    are copied by being written. Memory does not grow. Use it in a with statement, or call close(): the number of frames
    is then noted too, so that a lost last one is missed.

    Attributes
    ----------
    engine, folder
        As given, the folder as a Path.
    count
        Frames recorded so far.
    """

    engine: Any
    folder: Path
    count: int

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
        self.engine, self.folder = engine, Path(folder)
        if not hasattr(engine, "infer") or not hasattr(engine, "output_specs"):
            raise RecordingError(f"engine: expected an object with infer and output_specs, got {engine!r}")
        self._outputs = named_specs("output_specs", engine.output_specs)
        self._inputs = named_specs("input_specs", input_specs)
        self._specs, self._name, self.count = {**self._outputs, **self._inputs}, uuid.uuid4().hex, 0
        self._first: Frame | None = None
        self._meta = checked_meta(
            {
                **({} if preprocess is None else {"preprocess": _arguments(preprocess)}),
                **({} if model is None else {"model": os.path.basename(model), "model_sha256": sha256_of(Path(model))}),
                "note": note,
                "versions": {
                    "npu_layout": __version__,
                    "python": platform.python_version(),
                    "numpy": np.__version__,
                    **(versions or {}),
                },
            }
        )
        if self.folder.exists() and not self.folder.is_dir():
            raise RecordingError(f"{self.folder} is no folder; expected a new or empty one")
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise RecordingError(f"{self.folder} is not empty; a recording is never written over another")
        write_about(self.folder, self._name, self._specs, self._meta, None)

    @property
    def input_specs(self) -> Any:
        """The engine's."""
        return self.engine.input_specs

    @property
    def output_specs(self) -> Any:
        """The engine's."""
        return self.engine.output_specs

    def infer(self, inputs: Any, *, frame: np.ndarray | None = None) -> Any:
        """The engine's answer to `inputs` (an array, or {name: array}), after both were recorded, with the camera's
        `frame`, numbers of any shape and dtype (recorded as input "frame") where one is given: `validate` can then tell
        whether it was letterboxed, stretched or cropped. Raises RecordingError, and records nothing, where an output
        has no spec, where an array does not fit its spec, in size, dtype or by the order that its shape says, and where
        inputs or outputs are not those of the first frame."""
        where = f"frame {self.count}"
        given = inputs if isinstance(inputs, Mapping) else {next(self._input_names(), "input"): inputs}
        if frame is not None and FRAME in given:
            raise RecordingError(
                f"{where}: the engine's input {FRAME!r} has the name of the camera's frame; give one of them alone "
                f"(npu-layout record --without-frames), or rename the input"
            )
        seen = given if frame is None else {**given, FRAME: frame}
        # A copy: an engine may work in place.
        went_in = {name: x.copy() for name, x in frame_of(seen, {}, self._specs, where).inputs.items()}
        outputs = self.engine.infer(inputs)
        recorded = Frame(went_in, frame_of({}, self._named(outputs, where), self._specs, where).outputs)
        recorded = check_frame(recorded, self._specs, where, shaped=True)
        self._first = self._first or Frame(*(dict.fromkeys(side, np.empty(0)) for side in recorded))
        check_names(recorded, self._first, where)
        write_frame(self.folder, self._name, self.count, recorded)
        self.count += 1
        return outputs

    def _named(self, outputs: Any, where: str) -> Mapping[str, Any]:
        if isinstance(outputs, Mapping):
            return outputs
        given = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        if len(given) != len(self._outputs):
            wanted = f"{len(self._outputs)}, as its output_specs: {', '.join(self._outputs) or 'none'}"
            raise RecordingError(f"{where}: the engine gave {len(given)} outputs, expected {wanted}")
        return dict(zip(self._outputs, given))

    def _input_names(self) -> Iterator[str]:
        specs = getattr(self.engine, "input_specs", None) or self._inputs
        return iter(specs) if isinstance(specs, Mapping) else (spec.name for spec in specs)

    def close(self) -> None:
        """Note how many frames there are."""
        write_about(self.folder, self._name, self._specs, self._meta, self.count)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _arguments(preprocess: Any) -> dict[str, Any]:
    """The Preprocessor's arguments. RecordingError where no Preprocessor takes them: who looks at the recording later
    cannot ask again."""
    if isinstance(preprocess, Preprocessor):
        return preprocess.arguments
    if not isinstance(preprocess, Mapping):
        raise RecordingError(f"preprocess: expected a Preprocessor or its arguments, got {preprocess!r}")
    for key in preprocess:
        if key not in ARGUMENTS:
            raise RecordingError(f"preprocess: {key!r} is no argument of Preprocessor; it takes {', '.join(ARGUMENTS)}")
    channels = 1 if preprocess.get("color") == "GRAY" else 3
    try:
        Preprocessor(TensorSpec((1, channels, 8, 8)), **preprocess)
    except NpuLayoutError as error:
        raise RecordingError(f"preprocess: {error}") from None
    return {k: v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in preprocess.items()}
