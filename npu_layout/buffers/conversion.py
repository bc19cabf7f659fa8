"""Convert buffers of one TensorSpec into buffers of another, planned once for a hot loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import Affine, Plan, check_out, plan_move
from ..support import instance, shown
from .access import check_out_order, record_of
from .spec import TensorSpec
from .stored import StoredTensor


class Conversion:
    """A conversion from one stored tensor to another, made by `plan`. It may be shared by threads, and pickled.

    Attributes
    ----------
    source, target
        The TensorSpecs of the buffers that it reads and writes.
    move
        The loops that it runs.
    """

    __slots__ = ("_run", "_usual", "move", "source", "target")
    source: TensorSpec
    target: TensorSpec
    move: Plan

    def __init__(self, source: TensorSpec, target: TensorSpec, move: Plan) -> None:
        self.source, self.target = instance("source", source, TensorSpec), instance("target", target, TensorSpec)
        self.move = instance("move", move, Plan)
        self._run = move.run
        # Runs it for arrays like the last ones that passed every check: their types, dtypes and shapes.
        self._usual: Callable[[Any, Any], bool] | None = None

    def __call__(self, buffer: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Convert the buffer of `source` to one of `target`: a copy, whose pad elements and gaps are zero.

        buffer: whatever ``source.flat`` accepts. out: C-contiguous array of the target's stored dtype, of a shape that
        ``target.flat`` accepts, which does not overlap `buffer`. Returns `out`, or a new 1-D array.

        Raises BufferSizeError, LayoutError or NpuLayoutError on a buffer or an `out` that does not fit; nothing was
        written then. Ctrl-C leaves `out` half written.
        """
        # The usual case of a hot loop; if it fails, the checks below find out why.
        if out is not None and self._usual is not None and self._usual(buffer, out):
            return out
        target = self.target
        flat = self.source.flat(buffer)
        if out is None:
            out = np.empty(target.size, target.stored)
            self._run(flat, out)
            return out
        if not isinstance(out, np.ndarray) or out.size != target.size or not out.flags.c_contiguous:
            got = f"{out.shape} of strides {out.strides}" if isinstance(out, np.ndarray) else type(out).__name__
            raise NpuLayoutError(f"out for {target.describe()}: expected {target.size} contiguous elements, got {got}")
        check_out(out, out.shape, target.stored, flat, target.describe)
        check_out_order(target, out.shape)
        self._run(flat, out.reshape(-1))
        if type(out) is np.ndarray and type(buffer) is np.ndarray:
            self._usual = self.move.usual(buffer, out)
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return plan, (self.source, self.target)

    def __repr__(self) -> str:
        return f"plan({self.source!r}, {self.target!r})"


def plan(source: TensorSpec, target: TensorSpec) -> Conversion:
    """Return the conversion of `source`'s buffer into `target`'s: another order, dtype and quantization.

    Parameters
    ----------
    source, target
        TensorSpecs with the same axes, matched by letter, and the same extents. A quantised source becomes real
        values in a float target, and is quantised again for a target with another quantization. A target of integers
        without a quantization receives the stored values. If the source has integers without a quantization, these
        are the stored values of a quantised target.

    Returns
    -------
    A Conversion, which may be the same object for equal arguments.

    Raises
    ------
    LayoutError, NpuLayoutError
        If shapes, axes or channels differ; if values could be lost (floats to integers without a quantization, integers
        to a narrower dtype); on elements of half a byte; and on quantizations along two different axes.

    Examples
    --------
    >>> from npu_layout import Quantization
    >>> head = TensorSpec((1, 3, 1, 2), "NCHW4c", "int8", quantization=Quantization(0.5))
    >>> unpack = plan(head, TensorSpec((1, 3, 1, 2), "NHWC"))
    >>> unpack(np.arange(8, dtype=np.int8)).tolist()
    [0.0, 0.5, 1.0, 2.0, 2.5, 3.0]
    """
    if not isinstance(source, TensorSpec) or not isinstance(target, TensorSpec):
        what, given = ("target", target) if isinstance(source, TensorSpec) else ("source", source)
        raise NpuLayoutError(f"plan: {what}: expected a TensorSpec, got {shown(given)}")
    return _planned(source, target)


@lru_cache(maxsize=512)
def _planned(source: TensorSpec, target: TensorSpec) -> Conversion:
    for spec in (source, target):
        if spec.element.nibbles:
            raise NpuLayoutError(f"plan: {spec.describe()} stores half bytes; use its pack and unpack")
    shapes = [dict(zip(spec.axes, spec.shape)) for spec in (source, target)]
    if shapes[0] != shapes[1]:
        raise LayoutError(
            f"plan: {source.describe()} and {target.describe()} differ in their axes or extents; expected the same "
            f"logical shape, got {shapes[0]} and {shapes[1]}"
        )
    if None not in (source.channels, target.channels) and source.channels != target.channels:
        raise LayoutError(
            f"plan: {source.describe()} and {target.describe()} differ in their colours, which a plan does not "
            f"reorder; expected equal channels=, or none"
        )
    affine = _arithmetic(record_of(source), record_of(target))
    names = source.element.kernel, target.element.kernel
    return Conversion(source, target, plan_move(source.storage, target.storage, *names, affine))


def _arithmetic(source: StoredTensor, target: StoredTensor) -> Affine | None:
    given, wanted = source.quantization, target.quantization
    from_kind, to_kind = source.element.unpacked.kind, target.element.unpacked.kind
    same = source.element.name == target.element.name and _means(source) == _means(target)
    if wanted is None or (given is None and from_kind != "f") or same:
        if to_kind != "f" and not np.can_cast(source.element.unpacked, target.element.unpacked, "safe"):
            raise NpuLayoutError(
                f"plan: {source.describe()} does not fit {target.describe()} without losing values; "
                f"expected a quantization, or a dtype that represents {source.element.name}"
            )
        return None if given is None or to_kind != "f" else given.affine(source.quantized_axis, to_stored=False)
    stored = wanted.affine(target.quantized_axis, to_stored=True)
    if given is None:
        return stored
    if given.axis is not None and wanted.axis is not None and source.quantized_axis != target.quantized_axis:
        raise LayoutError(
            f"plan: {source.describe()} is quantised along {source.quantized_axis} and {target.describe()} along "
            f"{target.quantized_axis}; expected one axis"
        )
    real = given.affine(source.quantized_axis, to_stored=False)
    axis = real.axis if wanted.axis is None else stored.axis
    return stored._replace(axis=axis, shift=real.shift, scale=real.scale)


def _means(spec: StoredTensor) -> Affine | None:
    """Return what defines the real values: scales and zero points, and the letter of the axis they belong to."""
    q = spec.quantization
    return None if q is None else q.affine(spec.quantized_axis, to_stored=False)
