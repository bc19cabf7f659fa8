"""Convert between stored integers and real values by ONNX's rule, which can be stated in the vendors' terms too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import Affine, Layout, affine_copy
from ..support import checked_call, flag, plain_array, shown, whole_number
from .elements import element, kernel_name

Values = tuple[float, ...]
_CHANNELS = "; give axis= for one value per channel"
#: What to do with a list in the place of a number, by its length: TFLite and Hailo list a scale, or both in a pair.
_INSTEAD = {
    0: "",
    1: "; give its item",
    2: f"{_CHANNELS}, or Quantization(*pair) if these are a scale and a zero point",
}


def _values(what: str, given: Any, axis: int | None) -> Values:
    try:
        array = plain_array(what, given)
    except NpuLayoutError:
        array = np.empty(0, object)
    if array.dtype.kind not in "iuf" or array.ndim > (0 if axis is None else 1) or array.size == 0:
        expected = "one number" if axis is None else "a number or a 1-D array of numbers"
        raise LayoutError(
            f"quantization {what}: expected {expected}, got {shown(given)}"
            + (_INSTEAD.get(array.size, _CHANNELS) if axis is None and array.ndim == 1 else "")
        )
    if array.dtype.kind == "f":
        array = array.astype(np.float64)  # a long double is no number of JSON
    values: Values = tuple(array.reshape(-1).tolist())
    if not np.isfinite(np.asarray(values, np.float64)).all():
        raise LayoutError(f"quantization {what}: expected finite numbers, got {shown(given)}")
    return values if isinstance(given, np.ndarray) or max(map(abs, values)) < 1 << 53 else _exact(what, given, values)


def _exact(what: str, given: Any, values: Values) -> Values:
    """Return the numbers of a list, of which numpy may have made floats that are not its integers."""
    items = [one.item() if isinstance(one, np.generic) else one for one in np.asarray(given, object).reshape(-1)]
    if all(item == value for item, value in zip(items, values)):
        return values
    whole: tuple[int, ...] = tuple(int(item) for item in items)
    if any(item != number for item, number in zip(items, whole)):
        raise LayoutError(
            f"quantization {what}: expected whole numbers, or floats of less than 2**53 beside them, got {shown(given)}"
        )
    return whole


class Quantization:
    """``real = (q - zero_point) * scale``, in float32. Frozen, hashable.

    Parameters
    ----------
    scale
        A positive number; with `axis`, one for each index of that axis.
    zero_point
        Any integer, or a float (Hailo's are floats); with `axis`, one for each index or one for all.
    axis
        Index of the logical axis along which scales and zero points vary; None: one pair for the whole tensor.

    Raises
    ------
    LayoutError
        If a scale is not a positive number in the range of float32, if there are neither one zero point nor as many as
        scales, or if no dtype of numpy can represent all zero points exactly.

    Examples
    --------
    >>> q = Quantization(0.5, 3)
    >>> q.quantize([0.0, 0.25, 0.75, 100.0], "int8").tolist()
    [3, 3, 5, 127]
    >>> q.dequantize(np.array([3, 5], np.int8)).tolist()
    [0.0, 1.0]
    """

    __slots__ = ("_fractional", "_scales", "_zero_points", "axis")
    _scales: Values
    _zero_points: Values
    _fractional: bool
    axis: int | None

    @checked_call
    def __init__(self, scale: Any, zero_point: Any = 0, axis: int | None = None) -> None:
        set_ = object.__setattr__
        if axis is not None:
            axis = whole_number("quantization axis", axis, "an axis index or None", LayoutError)
        set_(self, "axis", axis)
        scales = _values("scale", scale, axis)
        zero_points = _values("zero_point", zero_point, axis)
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.asarray(scales, np.float32)
        if not ((rounded > 0) & np.isfinite(rounded)).all():
            raise LayoutError(
                f"quantization scale: expected positive numbers in the range of float32, got {shown(scale)}; "
                f"a tensor without scale is not quantised: leave quantization out"
            )
        if len(zero_points) not in (1, len(scales)):
            raise LayoutError(
                f"quantization zero_point: expected 1 or {len(scales)} values, as scale has, got {len(zero_points)}"
            )
        if min(zero_points) < 0 and max(zero_points) >= 1 << 63:
            raise LayoutError(
                f"quantization zero_point: expected values of one dtype, got {min(zero_points)} (int64) and "
                f"{max(zero_points)} (uint64)"
            )
        if axis is not None and len(zero_points) == 1:
            zero_points *= len(scales)
        set_(self, "_scales", scales)
        set_(self, "_zero_points", zero_points)
        set_(self, "_fractional", any(z != int(z) for z in zero_points))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Quantization is frozen; make another one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Quantization is frozen; {name} cannot be deleted")

    def _key(self) -> tuple[Any, ...]:
        return self._scales, self._zero_points, self.axis

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key() if self.axis is not None else (self._scales[0], self._zero_points[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantization) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        if self.axis is None:
            return f"Quantization({self._scales[0]!r}, {self._zero_points[0]!r})"
        return f"Quantization({list(self._scales)!r}, {list(self._zero_points)!r}, axis={self.axis})"

    @property
    def scale(self) -> float | np.ndarray:
        """A number, or a float32 array along `axis`."""
        return self._scales[0] if self.axis is None else np.array(self._scales, np.float32)

    @property
    def zero_point(self) -> float | np.ndarray:
        """A number, or an array along `axis`."""
        if self.axis is None:
            return self._zero_points[0]
        wide = max(self._zero_points) >= 1 << 63 and not any(isinstance(z, float) for z in self._zero_points)
        return np.array(self._zero_points, np.uint64 if wide else None)

    @property
    def count(self) -> int:
        """The number of scales."""
        return len(self._scales)

    @classmethod
    @checked_call
    def from_dfp(cls, fl: Any, axis: int | None = None) -> Quantization:
        """Return the quantization of dynamic fixed point, ``real = q * 2**-fl`` for any sign of fl (VeriSilicon).

        Source: vsi_nn_DFPToFp32. fl: a whole number; with `axis`, one for each index of that axis. Raises LayoutError
        if fl is not whole, or 2**-fl is beyond float32.
        """
        bits = np.asarray(_values("fl", fl, axis))
        if (bits != np.rint(bits)).any():
            raise LayoutError(f"quantization fl: expected whole numbers, got {shown(fl)}")
        if ((bits < -127) | (bits > 149)).any():
            raise LayoutError(
                f"quantization fl: expected -127 to 149, so that float32 can represent 2**-fl, got {shown(fl)}"
            )
        scale = np.ldexp(1.0, -bits.astype(np.int64))
        return cls(scale if axis is not None else scale[0], 0, axis)

    @classmethod
    @checked_call
    def from_offset(cls, scale: Any, offset: Any, axis: int | None = None) -> Quantization:
        """Return the quantization of Qualcomm QNN's Qnn_ScaleOffset_t: ``real = (q + offset) * scale``.

        The offset is the negated zero point. scale, axis and errors are as for `Quantization`.
        """
        zero_points = [-v for v in _values("offset", offset, axis)]
        return cls(scale, zero_points if axis is not None else zero_points[0], axis)

    @classmethod
    @checked_call
    def from_multiplier(cls, m: Any, axis: int | None = None) -> Quantization:
        """Return the quantization of Kneron (m = scale * 2**radix) and TI TIDL (m = tensorScale): ``real = q / m``.

        m: a positive number; with `axis`, one for each index of that axis. Raises LayoutError if m is anything else.
        """
        multiplier = np.asarray(_values("m", m, axis), np.float64)
        if not (multiplier > 0).all():
            raise LayoutError(f"quantization m: expected positive numbers, got {shown(m)}")
        return cls(1.0 / (multiplier if axis is not None else multiplier[0]), 0, axis)

    def affine(self, axis: str, *, to_stored: bool) -> Affine:
        """Return the kernels' arithmetic that makes stored integers, or, with `to_stored` False, real values.

        axis: the letter of the axis `self.axis`; any text if that is None. Raises NpuLayoutError if `axis` is no text,
        or `to_stored` no bool.
        """
        if not isinstance(axis, str):
            raise NpuLayoutError(f"axis: expected a letter, got {shown(axis)}")
        if to_stored is not True and to_stored is not False:
            to_stored = flag("to_stored", to_stored)
        if to_stored:
            return Affine(axis, None, None, self._scales, self._zero_points, self._fractional)
        return Affine(axis, self._zero_points, self._scales, None, None)

    def _apply(self, x: np.ndarray, dtype: np.dtype[Any], name: str, to_stored: bool) -> np.ndarray:
        if x.ndim > 26:
            raise NpuLayoutError(f"quantization: expected at most 26 axes, got {x.ndim}")
        shape = x.shape or (1,)
        layout = Layout.of_rank(len(shape))
        letter = layout.axes[0]
        if self.axis is not None:
            if not -x.ndim <= self.axis < x.ndim or x.shape[self.axis] != self.count:
                raise NpuLayoutError(
                    f"quantization has {self.count} scales along axis {self.axis}; got an array of shape {x.shape}"
                )
            letter = layout.axes[self.axis]
        result = np.empty(x.shape, dtype)
        if x.size:
            affine = self.affine(letter, to_stored=to_stored)
            affine_copy(layout, x.reshape(shape), result.reshape(shape), kernel_name(x.dtype), name, affine)
        return result

    def quantize(self, x: Any, dtype: Any) -> np.ndarray:
        """Return ``saturate(rint(float32(x) / scale) + zero_point)``, a copy; rint rounds half to even, as in ONNX.

        x: real numbers of any shape. dtype: an integer dtype, or int4 or uint4, whose values are returned in int8 or
        uint8. Zero points are added before rint if one of them is no whole number. NaN becomes the lowest value. Raises
        NpuLayoutError if `axis` does not fit the shape of x.
        """
        kind = element(dtype)
        array = plain_array("quantize: x", x)
        if kind.unpacked.kind not in "iu":
            raise NpuLayoutError(f"quantize: dtype: expected an integer dtype, got {shown(dtype)}")
        if array.dtype.kind not in "iuf":
            raise NpuLayoutError(f"quantize: x: expected real numbers, got dtype {array.dtype}")
        return self._apply(array, kind.unpacked, kernel_name(kind.unpacked) if not kind.nibbles else kind.kernel, True)

    def dequantize(self, q: Any) -> np.ndarray:
        """Return ``(q - zero_point) * scale`` in float32, of the same shape: a copy.

        q: stored integers of any shape. Raises NpuLayoutError on another dtype, and if `axis` does not fit the shape.
        """
        array = plain_array("dequantize: q", q)
        if array.dtype.kind not in "iu":
            raise NpuLayoutError(f"dequantize: q: expected stored integers, got dtype {array.dtype}")
        return self._apply(array, np.dtype(np.float32), "float32", False)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; ``Quantization(**d)`` makes an equal quantization of it."""
        if self.axis is None:
            return {"scale": self._scales[0], "zero_point": self._zero_points[0], "axis": None}
        return {"scale": list(self._scales), "zero_point": list(self._zero_points), "axis": self.axis}
