"""Make a case of each row of the benchmark: its specs, random contents, and the same as another library sees it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..frames import IMAGENET
from .case_rows import ROWS

MEAN, STD = IMAGENET
REDUCTIONS = ("argmax", "top_k", "softmax", "sigmoid", "peaks")
TOP = 5  # values that top_k finds


class ContenderMemory:
    """Memory for what one contender writes, for a case and for the same case with other sources.

    Scratch buffers are the same for all of them, and results too if they are `shared`: as in a loop over frames.
    """

    def __init__(self, shared: bool = False) -> None:
        self.shared, self.at = shared, 0
        self.arrays: list[np.ndarray] = []
        self.found: dict[Any, Any] = {}  # results of other types, by who returned them

    def zeros(self, shape: Any, dtype: Any, scratch: bool) -> np.ndarray:
        """Return the next array of the contender that is being made."""
        at, self.at = self.at, self.at + 1
        if at < len(self.arrays) and (self.shared or scratch):
            return self.arrays[at]
        made = np.zeros(shape, dtype)
        if at == len(self.arrays):
            self.arrays.append(made)
        return made


_OUTPUT, _INPUT, _NEXT = Quantization(0.05, 3), Quantization(0.02, -3), Quantization(0.033, -3)
_EACH = Quantization(np.linspace(0.03, 0.07, 64), 0, axis=1)
_QUANTISED = {
    "dequantize": (_OUTPUT, None),
    "quantize": (None, _OUTPUT),
    "input": (None, _INPUT),
    "requantize": (_OUTPUT, _NEXT),
    "requantize-each": (_EACH, _NEXT),
    "quantize-each": (None, _EACH),
}


class Case:
    """One row of the benchmark, with random contents.

    Attributes
    ----------
    source, target
        TensorSpecs.
    mean, std
        For pictures: float32, in the order of the model's channels, RGB.
    """

    def __init__(
        self,
        key: str,
        kind: str,
        shape: str,
        source: str,
        target: str,
        view: tuple[int, ...],
        order: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        kept: Any = (),
    ) -> None:
        self.row: tuple[Any, ...] = (key, kind, shape, source, target, view, order, strides, kept)
        axes, *numbers = shape.split()
        extents = dict(zip(axes, map(int, numbers)))
        (from_dtype, from_layout), (to_dtype, to_layout) = source.split(), target.split()
        given, wanted = _QUANTISED.get(kind, (None, None))
        self.kind, self.key, self.order = kind, key, order
        what = f"{kind} {source}" if kind in REDUCTIONS else f"{source} -> {target}"
        back = sum((extents[axis] - 1) * -s for axis, s in zip(from_layout, strides or ()) if s < 0)
        self.title = f"{what} {'x'.join(numbers)}" + (" reversed" if back else " strided" if strides else "")
        self.mean, self.std = np.array(MEAN, np.float32), np.array(STD, np.float32)
        self.source = TensorSpec(
            list(extents.values()),
            from_layout,
            from_dtype,
            axes=axes,
            quantization=given,
            storage_strides=strides,
            storage_offset=back,
        )
        if kind in ("gray", "argmax", "top_k"):
            extents["C"] = TOP if kind == "top_k" else 1
        self.target = TensorSpec(list(extents.values()), to_layout, to_dtype, axes=axes, quantization=wanted)
        self.outputs: ContenderMemory | None = None

    @cached_property
    def memory(self) -> np.ndarray:
        """All of the source's memory, also what a peer does not use; made when it is first asked for."""
        rng = np.random.default_rng(0)
        stored, size = self.source.stored, int(np.prod(self.row[5]))
        if stored.kind == "f":
            return rng.standard_normal(size).astype(stored)
        return rng.integers(np.iinfo(stored).min, np.iinfo(stored).max, size, stored, endpoint=True)

    @cached_property
    def flat(self) -> np.ndarray:
        """What is converted: 1-D, as an accelerator returns it."""
        return self.memory[: self.source.size]

    @cached_property
    def x(self) -> np.ndarray:
        """The same as a peer sees it: transposed by `order` it is what the target stores, without pad channels."""
        view, kept = self.row[5], self.row[8]
        seen: np.ndarray = self.memory.reshape(view)[kept]
        return seen

    def _use(self, memory: np.ndarray) -> None:
        """Take other memory: `flat` and `x` are views of it."""
        self.memory = memory
        for view in ("flat", "x"):
            self.__dict__.pop(view, None)

    def elsewhere(self) -> Case:
        """Return the same case with a copy of its source."""
        other = copy.copy(self)
        other._use(self.memory.copy())
        return other

    def zeros(self, shape: Any, dtype: Any, scratch: bool = False) -> np.ndarray:
        """Return zeros for a contender's result, or for a buffer that it only needs in between."""
        return np.zeros(shape, dtype) if self.outputs is None else self.outputs.zeros(shape, dtype, scratch)

    @property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Scale and zero point of the side that is quantised: float32; 0-d, or 1-D if each channel has its own."""
        quantization = self.source.quantization or self.target.quantization
        assert quantization is not None
        return np.asarray(quantization.scale, np.float32), np.asarray(quantization.zero_point, np.float32)

    @property
    def logical(self) -> np.ndarray:
        """The source with its axes in logical order, a view; a copy of blocks, which have none."""
        return self.source.unpack(self.flat) if self.source.layout.is_blocked else self.source.view(self.flat)

    @property
    def channels_last(self) -> np.ndarray:
        """The source as it is stored, the storage dimensions of the channel behind all others, a view."""
        dims, channel = self.source.layout.dims, self.source.axes.index("C")
        order = sorted(range(len(dims)), key=lambda i: dims[i].axis == channel)
        return self.flat.reshape(self.source.storage_shape).transpose(order)

    @property
    def threshold(self) -> float:
        """The value that a peak must exceed; one or two in a hundred elements do."""
        return 2.25 if self.source.stored.kind == "f" else 125.0

    @property
    def nbytes(self) -> int:
        """The bytes that a copy moves for comparison: those of the result; for gray: half of those read and written."""
        return (self.flat.nbytes + self.target.nbytes) // 2 if self.kind == "gray" else self.target.nbytes

    @property
    def is_exact(self) -> bool:
        """Whether elements are only moved, so that every result has the same bits."""
        return self.kind in ("move", "pad")

    def cropped(self, result: np.ndarray) -> np.ndarray:
        """Return what the target stores of a result with whole blocks of channels: 1-D; all of it for peaks."""
        if self.kind == "peaks":
            return result.reshape(-1)
        shape, channels = list(self.target.storage_shape), self.target.layout.tag.index("C")
        whole = result.reshape([-1 if i == channels else n for i, n in enumerate(shape)])
        return whole.take(range(shape[channels]), channels).reshape(-1)

    def permuted(self) -> np.ndarray:
        """Return `x` in the target's order, a view."""
        return self.x.transpose(self.order)

    def out(self) -> np.ndarray:
        """Return zeros of the shape of `permuted`, with pad channels, in the target's dtype."""
        shape = [self.x.shape[i] for i in self.order]
        if self.kind in ("pad", "input"):
            shape[-1] = self.target.storage_shape[-1]
        return self.zeros(shape, self.target.stored)


def cases() -> Iterator[Case]:
    """Yield the case of every row; each is made when it is needed."""
    return (Case(*row) for row in ROWS)
