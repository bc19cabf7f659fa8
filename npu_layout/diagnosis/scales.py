"""Scales: the scale and the zero point that fit an output's stored values best, for all channels or for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..engines import axes_in_model
from .case import ENOUGH, MARGIN, ROUNDING, Case, Found, Matrix, arithmetic, ends

_APART = 0.15  # how far channels' scales have to lie apart (rms of their logarithms) to be scales of their own
_EDGE = 0.02  # of the range: values that near to its ends are cut off by it, noise and all
_AS_GOOD = 0.5  # dB that a simpler fit may explain less


def called(spec: TensorSpec) -> str:
    return f"{spec.storage.describe()} {spec.dtype}"


def words(spec: TensorSpec | None) -> str:
    q = None if spec is None else spec.quantization
    if q is None:
        return "not quantised"
    if q.axis is None:
        return f"scale {float(q.scale):.6g}, zero point {float(q.zero_point):g}"
    return f"a scale for each of {q.count} channels"


def requantised(spec: TensorSpec, quantization: Quantization | None, name: str) -> TensorSpec:
    return TensorSpec.from_dict({**spec.to_dict(), "quantization": quantization, "name": name})


def line(x: Matrix, y: Matrix, inner: np.ndarray) -> tuple[float, float]:
    """Slope and offset of y over x; slope 0 where there is none."""
    if inner.sum() < 2:
        return 0.0, 0.0
    x, y = x[inner], y[inner]
    mean_x, mean_y = x.mean(), y.mean()
    power = ((x - mean_x) ** 2).mean()
    slope = float(((x - mean_x) * (y - mean_y)).mean() / power) if power > 0 else 0.0
    return slope, float(mean_y - slope * mean_x)


def _uncut(case: Case, spec: TensorSpec, codes: Matrix) -> np.ndarray:
    """Which samples the range does not cut off: by what they should be, since noise is cut off too."""
    low, high = ends(spec)
    inner = (codes > low) & (codes < high)
    edge = _EDGE * (high - low)
    for _ in range(2):
        slope, offset = line(case.wanted, codes, inner)
        predicted = slope * case.wanted + offset
        uncut = (predicted > low + edge) & (predicted < high - edge)
        if slope <= 0 or uncut.sum() < ENOUGH:
            break
        inner = uncut
    return inner


def _through(x: np.ndarray, off: np.ndarray) -> float | None:
    """Scale of the line through a zero point: x over off, off regressed on x."""
    along = float((x * off).sum())
    return float((x * x).sum()) / along if along > 0 else None


def fitted(case: Case, spec: TensorSpec, codes: Matrix, cause: str) -> Iterator[Found]:
    """`spec` with the scale and zero point that fit best: the declared ones where they do as well."""
    inner = _uncut(case, spec, codes)
    slope, offset = line(case.wanted, codes, inner)
    if slope <= 0:
        return
    q = case.spec.quantization
    declared = np.unique(0 if q is None else q.zero_point)
    whole = bool((declared == np.rint(declared)).all())

    def rounded(zero_point: Any) -> Any:
        return int(np.rint(zero_point)) if whole else float(zero_point)

    pairs: list[tuple[Any, Any]] = []
    if q is not None and q.axis is None:
        pairs.append((float(q.scale), rounded((codes - case.wanted / q.scale)[inner].mean())))
    if q is not None and len(declared) == 1:
        scale = _through(case.wanted[inner], codes[inner] - declared[0])
        pairs += [] if scale is None else [(scale, rounded(declared[0]))]
    pairs.append((1 / slope, rounded(offset)))
    one = _simplest(case, [_with(case, spec, codes, cause, float(f"{s:.6g}"), z, None) for s, z in pairs])
    each = _each(case, spec, codes, inner, cause, declared, 1 / slope)
    if each is None:
        yield one
        return
    best, apart = each
    yield best if case.score(best) > case.score(one) + (MARGIN if apart >= _APART else 3 * MARGIN) else one


def _simplest(case: Case, options: list[Found]) -> Found:
    """The first that explains as much as the best."""
    scores = [case.score(o) for o in options]
    return next(o for o, score in zip(options, scores) if score > max(scores) - _AS_GOOD)


def _with(
    case: Case, spec: TensorSpec, codes: Matrix, cause: str, scale: Any, zero_point: Any, axis: int | None
) -> Found:
    with_it = requantised(spec, Quantization(scale, zero_point, axis), case.spec.name)
    scales, zero_points = arithmetic(with_it, case.samples)
    left = codes - np.clip(case.wanted / scales + zero_points, *ends(spec))
    return Found(cause, f"{called(with_it)}, {words(with_it)}", with_it, codes, left, True, with_it)


def _each(
    case: Case, spec: TensorSpec, codes: Matrix, inner: np.ndarray, cause: str, declared: np.ndarray, whole: float
) -> tuple[Found, float] | None:
    """A scale for each channel, with the declared zero point for all or one for each; and how far the scales lie apart.
    None without channels or samples enough. It always explains a little more than one scale for all, because a
    network's rounding errors are biased."""
    if case.channel_axis is None or not case.enough:
        return None
    x, y, within = (case.by_channel(a) for a in (case.wanted, codes, inner))
    if len(x) == 1:
        return None
    lines = [line(*channel) for channel in zip(x, y, within)]
    told = [
        slope > 0 and w.sum() >= ENOUGH // 2 and slope * slope * xc[w].var() >= 4 * ROUNDING
        for (slope, _), xc, w in zip(lines, x, within)
    ]
    if not any(told):
        return None
    usual = float(np.median([slope for (slope, _), good in zip(lines, told) if good]))
    scales, zero_points, through = [], [], []
    for (slope, offset), xc, yc, w, good in zip(lines, x, y, within, told):
        if not good:  # the usual slope through its own mean
            w = w if w.any() else np.ones_like(w)
            slope, offset = usual, float(yc[w].mean() - usual * xc[w].mean())
        scales.append(1 / slope)
        zero_points.append(round(offset))
        through.append((good and _through(xc[w], yc[w] - declared[0])) or 1 / slope)
    axis = axes_in_model(spec.axes)[case.channel_axis]
    options = [_with(case, spec, codes, cause, np.asarray(scales, np.float32), zero_points, axis)]
    if len(declared) == 1:
        zero = [declared[0].item()] * len(through)
        options.insert(0, _with(case, spec, codes, cause, np.asarray(through, np.float32), zero, axis))
    apart = float(np.sqrt((np.log(np.asarray(scales) / whole) ** 2).mean()))
    return _simplest(case, options), apart
