"""Recordings: what went into an accelerator and what came out, kept whole so that it can be judged later."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  (for the doctest)

from ..buffers import TensorSpec
from .folder import (
    PathLike,
    count_frames,
    frame_path,
    new_folder,
    read_about,
    read_frame,
    write_about,
    write_frame,
)
from .frames import (
    Frame,
    FramesOnDisk,
    checked_frames,
    checked_meta,
    checked_specs,
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
        """Load the recording in the folder `path`.

        Every frame is read once and checked, and read again from disk whenever it is asked for, so that one frame is in
        memory. The folder is never written to.

        Raises RecordingError, naming file and field, on anything that is missing, damaged, renamed, swapped, not of
        this format, larger than it says, or a link that leaves the folder.
        """
        folder = Path(path)
        about = read_about(folder)
        specs, name = about["specs"], about["id"]
        count = count_frames(folder, about["frames"])
        frames = FramesOnDisk(count, partial(read_frame, folder, name), partial(frame_path, folder), specs)
        return cls(specs, frames, about["meta"])
