"""Find the compiled pass of a Preprocessor for a frame, and keep it for later frames of the same form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..layouts import overlap
from .buffer_writing import Wanted, unblocked_stride
from .fitting import Copied, Pass, Run, pass_of
from .frame_forms import Places, arrays_of, form_of, places_of
from .geometry import Geometry, Pair
from .kept import BoundedDict
from .pictures import FramePlanes


class Passes:
    """What writes frames without their being resized or copied first, made at most once.

    Frames of a form that was read before, whole ones or parts, need no reading and no checks. wanted: what is written
    of all frames of a buffer; batch: how many there are; copied: as for Pass.run.
    """

    def __init__(self, wanted: Wanted, batch: int, copied: Copied) -> None:
        self._wanted, self._batch, self._copied = wanted, batch, copied
        self.known: BoundedDict[Any, tuple[Run, Geometry]] = (
            BoundedDict()
        )  # of the forms of whole frames that fill the buffer
        self._known_of_batch: BoundedDict[Any, tuple[Run, Geometry]] = BoundedDict()
        self._passes: BoundedDict[Any, Pass | None] = BoundedDict()
        self._fits: BoundedDict[Any, Any] = BoundedDict()
        self._places: BoundedDict[Any, tuple[FramePlanes | None, Places | None]] = BoundedDict()

    def write(
        self,
        frames: Sequence[FramePlanes],
        geometries: Sequence[Geometry],
        buffer: np.ndarray,
        given: Sequence[Any],
        whole: Sequence[bool],
    ) -> bool:
        """Write frames that were read; False if one of them has no pass: then nothing was written.

        given: the frames as they were given; whole: which of them are used as a whole.
        """
        wanted = self._wanted if self._batch == 1 else self._wanted_of_one
        if wanted is None:
            return False
        passes = [self._pass(wanted, frame, geometry) for frame, geometry in zip(frames, geometries)]
        if not all(passes):
            return False
        rows = [buffer] if self._batch == 1 else buffer.reshape(self._batch, -1)
        for one, row, frame in zip(passes, rows, frames):
            if one is None or not one.run(row, frame.planes, self._copied):
                return False
        for i, one in enumerate(passes):
            if one is not None and whole[i]:
                self._keep(one, frames[i], geometries[i], given[i])
        if self._batch == 1:
            self._keep_places(frames[0], given[0])
        return True

    def write_part(self, frame: Any, buffer: np.ndarray, fitted: Callable[[Pair], Geometry]) -> Geometry | None:
        """Write a part of a frame, and return its Geometry; None if its form is not known.

        fitted: the Geometry of the part, of the frame's width and height.
        """
        read, places = self._places.get(form_of(frame), (None, None))
        if read is None or places is None:
            return None
        geometry = fitted(read.size_wh)
        made = self._pass(self._wanted, read, geometry)
        return geometry if made is not None and made.run_in(buffer, frame, places) else None

    def write_batch(self, frames: Sequence[Any], buffer: np.ndarray, new: bool) -> list[Geometry] | None:
        """Write whole frames, and return their Geometry; None if the form of one is not known.

        new: whether nobody else has the buffer.
        """
        known = [self._known_of_batch.get(form_of(frame)) for frame in frames]
        if not all(known) or not buffer.flags.carray:
            return None
        if not new and any(overlap(buffer, array) for frame in frames for array in arrays_of(frame)):
            return None
        size, geometries = buffer.nbytes // self._batch, []
        for i, (run, geometry) in enumerate(one for one in known if one):
            if not run(buffer, frames[i], size * i):
                return None
            geometries.append(geometry)
        return geometries

    def _pass(self, wanted: Wanted, frame: FramePlanes, geometry: Geometry) -> Pass | None:
        """Return the pass for frames like this one; None if there is none."""
        key = frame.format, frame.color, geometry
        known = self._passes.get(key, ...)
        if known is ...:
            known = self._passes.keep(key, pass_of(wanted, frame, geometry, kept=self._fits))
        return known

    def _keep(self, made: Pass, frame: FramePlanes, geometry: Geometry, given: Any) -> None:
        known, form = self.known if self._batch == 1 else self._known_of_batch, form_of(given)
        if form is None or form in known:
            return
        run = made.within(given, frame.planes)
        if run is not None:
            known.keep(form, (run, geometry))

    def _keep_places(self, frame: FramePlanes, given: Any) -> None:
        form = form_of(given)
        if form is not None and form not in self._places:
            self._places.keep(form, (frame._replace(planes=()), places_of(given, frame.planes)))

    @cached_property
    def _wanted_of_one(self) -> Wanted | None:
        """What is written of one frame of a batch; None if the frames of the buffer are not one after the other."""
        target = self._wanted.target
        if (
            target.layout.letters[:1] != "N"
            or not target.storage.is_dense
            or unblocked_stride(target.storage, "N") is None
        ):
            return None
        shape = tuple(1 if letter == "N" else extent for letter, extent in zip(target.axes, target.shape))
        one = target.replace(shape=shape, storage_shape=None, storage_strides=None, storage_offset=0, size=None)
        same = one.storage_shape[1:] == target.storage_shape[1:]
        return self._wanted._replace(target=one, alongside=target.nbytes - one.nbytes) if same else None
