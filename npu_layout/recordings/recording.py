"""Recordings: the inputs and outputs of an accelerator for some frames, in memory or in a folder."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  (for the doctest)

from ..buffers import TensorSpec
from ..support import PathLike, checked_call, isolated, many, path_text
from .folder import (
    count_runs,
    new_folder,
    read_about,
    read_run,
    run_path,
    write_about,
    write_run,
)
from .runs import (
    Frame,
    RunsOnDisk,
    checked_meta,
    checked_runs,
    checked_specs,
)


class Recording:
    """Inputs and outputs of an accelerator, with the specs that are needed to read them.

    Parameters
    ----------
    specs
        ``{name: TensorSpec}`` of every output, and of those inputs that are not stored as the ONNX model reads them.
    frames
        Sequence of runs ``(inputs, outputs)``, each ``{name: array}``. Outputs are buffers that fit their spec. Inputs
        without a spec go to the ONNX model as they are. Arrays are not copied.
    meta
        A dict that JSON can store. ``"preprocess"`` has the arguments of the Preprocessor that made the inputs; other
        keys are yours.

    Raises
    ------
    RecordingError
        If a run lacks an array that the others have, an output has no spec, or a buffer does not fit its spec; it
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

    @checked_call
    def __init__(
        self, specs: Mapping[str, TensorSpec], frames: Iterable[Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        self.specs = checked_specs(specs)
        self.meta = checked_meta(meta)
        self.frames = checked_runs(frames, self.specs)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def __repr__(self) -> str:
        return f"Recording({many(len(self), 'frame')}, outputs {', '.join(map(isolated, self.outputs)) or 'none'})"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        if isinstance(self.frames, RunsOnDisk):
            return self.frames.outputs
        return tuple(self.frames[0].outputs) if len(self.frames) else ()

    def save(self, path: PathLike) -> None:
        """Write a new folder, which appears complete or not at all.

        RecordingError if `path` exists, or if specs, frames or meta were edited so that `Recording` refuses them.
        """
        checked = rechecked(self)
        with new_folder(path) as folder:
            name = uuid.uuid4().hex
            for i, frame in enumerate(checked.frames):
                write_run(folder, name, i, frame)
            write_about(folder, name, checked.specs, checked.meta, len(checked.frames))

    @classmethod
    def load(cls, path: PathLike) -> Recording:
        """Load the recording in the folder `path`.

        Every run is read and checked once, and read again from disk whenever it is accessed, so that only one run is in
        memory. The folder is never written to.

        Raises RecordingError, which names file and field, if anything is missing, damaged, renamed, exchanged, of
        another format or size, or a link out of the folder.
        """
        folder = Path(path_text("path", path))
        about = read_about(folder)
        specs, name = about["specs"], about["id"]
        count = count_runs(folder, about["frames"])
        frames = RunsOnDisk(count, partial(read_run, folder, name), partial(run_path, folder), specs)
        return cls(specs, frames, about["meta"])


def rechecked(recording: Recording) -> Recording:
    """Return a recording that is about to be written, checked again; RecordingError if it has an edit that is refused.

    Runs on disk are read for this only if specs were edited.
    """
    if isinstance(recording.frames, RunsOnDisk) and recording.frames.specs == recording.specs:
        checked_meta(recording.meta)
        return recording
    return Recording(recording.specs, recording.frames, recording.meta)
