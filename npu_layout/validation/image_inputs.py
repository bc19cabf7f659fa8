"""Make the images among a model's inputs in other ways than declared: one of them, or several in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..diagnosis import PreparedImage, Variant, image_channels, variants
from ..recordings import Recording
from ..support import quoted
from .comparing import KeptRun

_FEW = 4  # images, of which all but one are changed alike: each set is a search as long as that for one
Id = tuple[Any, ...]  # of a variant: what is tried, by its first word, and how
Wanted = Callable[[Id], bool]


class _ImageInput(NamedTuple):
    """An input that is an image: its spec, and the least and the largest number in it."""

    name: str
    spec: TensorSpec | None
    limits: tuple[float, float]

    def prepared(self, recording: Recording, k: KeptRun, frame: np.ndarray | None) -> PreparedImage:
        """Return the image of a run; `frame`: if it was made of the camera's."""
        return PreparedImage(k.inputs[self.name], self.limits, recording.meta, frame, self.spec, k.roi_xywh)


class Images(NamedTuple):
    """Images that are made in the same other way; `alone`: whether the model has no other one."""

    each: tuple[_ImageInput, ...]
    alone: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(image.name for image in self.each)

    @property
    def words(self) -> str:
        """What messages call the inputs."""
        if self.alone:
            return "the input"
        *others, last = map(quoted, self.names)
        return f"inputs {', '.join(others)} and {last}" if others else f"input {last}"

    def made(
        self,
        recording: Recording,
        k: KeptRun,
        wanted: Wanted,
        pads: Sequence[int] = (),
        unchanged: set[Id] | None = None,
    ) -> Iterator[MadeImages]:
        """Yield each other way to make them of a frame, which none of the images is already like.

        What makes each of several images one of the others is none: these are inputs in each other's place. `pads`:
        yield borders of these pixel values alone; `unchanged`: where the ids go of ways that change none of the images,
        once all others were yielded.
        """
        frame = k.frame if len(self.each) == 1 else None  # it is of one picture alone
        alike: list[set[Id]] = [set() for _ in self.each]
        first, *others = (
            variants(one.prepared(recording, k, frame), wanted, pads, ids) for one, ids in zip(self.each, alike)
        )
        same = [{variant.id: variant for variant in of} for of in others]
        for variant in first:
            if all(variant.id in of for of in same):
                way = self._together([variant, *(of[variant.id] for of in same)])
                if not self._exchanges(way, k):
                    yield way
        if unchanged is not None:
            unchanged |= set.intersection(*alike)

    def _exchanges(self, way: MadeImages, k: KeptRun) -> bool:
        others = {name: [k.inputs[other] for other in self.names if other != name] for name in self.names}
        return all(any(np.array_equal(x, other) for other in others[name]) for name, x in way.arrays.items())

    def _together(self, of: Sequence[Variant]) -> MadeImages:
        first = of[0]
        text = first.text if self.alone else f"{self.words}: {first.text}"
        fixes = [_stored_as(image.spec, one.fix) for image, one in zip(self.each, of)]
        fix = fixes[0] if all(other == fixes[0] for other in fixes) else None
        arrays = {name: one.x for name, one in zip(self.names, of)}
        return MadeImages(first.id, text, fix, arrays, first.cause, first.combines)


class MadeImages(NamedTuple):
    """Another way to make some images, as a `Variant` is of one; `arrays`: by the input's name.

    The fix is None, too, if no arguments do for all of these.
    """

    id: Id
    text: str
    fix: dict[str, Any] | None
    arrays: dict[str, np.ndarray]
    cause: str
    combines: bool


def images(recording: Recording, kept: Sequence[KeptRun]) -> list[Images]:
    """Return the images to make in other ways: each alone, all but one of a few, then all, if there are several."""
    names = [name for name, x in kept[0].inputs.items() if image_channels(x.shape) is not None]
    each = [_ImageInput(name, recording.specs.get(name), _limits([k.inputs[name] for k in kept])) for name in names]
    alone = len(each) == 1
    found = [Images((image,), alone) for image in each]
    if 2 < len(each) <= _FEW:
        found += [Images(some, False) for some in combinations(each, len(each) - 1)]
    return [*found, Images(tuple(each), False)] if len(each) > 1 else found


def _limits(inputs: Sequence[np.ndarray]) -> tuple[float, float]:
    return min(float(x.min()) for x in inputs), max(float(x.max()) for x in inputs)


def _stored_as(spec: TensorSpec | None, fix: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the fix; its target, if there is one, has the dtype of the recorded input."""
    if spec is None or fix is None or "target" not in fix:
        return fix
    target = fix["target"]
    like = TensorSpec(target.shape, target.layout, spec.dtype, axes=target.axes, channels=target.channels)
    return {**fix, "target": like}
