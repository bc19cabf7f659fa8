"""The faults, each planted alone: what differs between what was declared and what was done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout.engines import calibrate

from . import changes

Rng = np.random.Generator
REFUSALS = frozenset({"ambiguous", "mismatch"})
QUANTISED = ("int8", "uint8", "int16")
DTYPES = ("int8", "int16", "float16", "float32")


class NotApplicable(Exception):
    """This fault changes nothing here, or cannot be planted."""


def anchors_first(shape: tuple[int, ...]) -> bool:
    """Whether axis 1 has no channels, but the places of a detector."""
    return len(shape) == 3 and shape[1] > shape[2]


class Port(NamedTuple):
    """An output, and lowest and highest value of each of its channels."""

    name: str
    shape: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray

    @property
    def uneven(self) -> bool:
        """Whether one scale of 8 bits for all would leave nothing of some channels."""
        ranges = self.high - self.low
        return bool((ranges * 32 < ranges.max()).any())

    def quantization(self, dtype: str, each: bool = False) -> nl.Quantization | None:
        """As a converter would choose it, for the tensor or `each` channel, where axis 1 has some; None for floats."""
        whole = calibrate([self.low, self.high], dtype)
        if whole is None or anchors_first(self.shape) or not (each or (self.uneven and dtype in ("int8", "uint8"))):
            return whole
        parts = [calibrate([low, high], dtype) for low, high in zip(self.low, self.high)]
        return nl.Quantization([p.scale for p in parts], [p.zero_point for p in parts], axis=1)  # type: ignore[union-attr]

    def spec(self, layout: str, dtype: str, **more: Any) -> nl.TensorSpec:
        more.setdefault("quantization", self.quantization(dtype))
        return nl.TensorSpec(self.shape, nl.Layout(layout), dtype, name=self.name, **more)


Specs = tuple[nl.TensorSpec, nl.TensorSpec]  # the true one, the declared one


class Fault(NamedTuple):
    """One fault. `cause` is the verdict that it should get; what is None is done as declared.

    readings
        Of one output: the true and the declared spec.
    channels
        Of one output: channel k of the device is channel result[k] of the model.
    done
        From the declared preprocessing, what was done in truth ("target": the layout that the bytes were given in;
        "exchanged": of two inputs, each was fed in the other's place; "seen": what the device did to the pixels).
    declared
        The preprocessing to declare, where it is not the model's.
    names
        {recorded name: the output that it holds}.
    times
        For each recorded frame the frame that the outputs are of, frame 0 being that of the first inputs.
    shift
        What wrong_input's fix should be.
    everywhere
        Of two faults, the verdict of the outputs that are read rightly.
    device
        "other" weights, "random" codes, "noisy", "dead", frames that are "unrelated", or one of `SPOILED` or `CHANGED`.
    accept
        Verdicts that are right as well.
    brightness, clipped
        Factor of the frames' pixel values; the share of the calibrated range that the stored integers cover.
    noises
        Noises of faultless cases, where these are not the usual ones.
    """

    name: str
    cause: str
    readings: Callable[[Rng, Port, str], Specs] | None = None
    channels: Callable[[Rng, int], Sequence[int]] | None = None
    done: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    declared: dict[str, Any] | None = None
    names: Callable[[dict[str, tuple[int, ...]]], dict[str, str]] | None = None
    times: Callable[[Rng, int], Sequence[int]] | None = None
    shift: int | None = None
    everywhere: str = "preprocessing"
    device: str = ""
    accept: frozenset[str] = frozenset()
    dtypes: Sequence[str] = DTYPES
    models: Sequence[str] | None = None
    frames: tuple[int, int] | None = None
    identical: bool = False
    odd_frames: bool = False  # of another aspect than the input, and recorded
    untellable: bool = False
    overflows: bool = False  # most of what a quantised network can hold
    weight: int = 1
    brightness: float = 1.0
    clipped: float = 1.0
    noises: Sequence[str] = ()


# Layouts. Letters go by rank, so one row of the table does for maps and for (1, channels, anchors).
LAYOUTS = {
    4: ("NCHW", "NHWC", "NCHW16c", "NCHW8c", "NCHW4c", "NHWC8c", "NHCW", "rows", "planes"),
    3: ("NCW", "NWC", "NCW16c", "NCW8c"),
    2: ("NC",),
}


def place(port: Port, layout: str, dtype: str, **more: Any) -> nl.TensorSpec:
    """A spec of a layout, or of NCHW with padded "rows" or "planes"."""
    if layout in ("rows", "planes"):
        _, c, h, w = port.shape
        row = -(-(w + 1) // 8) * 8 if layout == "rows" else w
        plane = h * row if layout == "rows" else -(-(h * w + 1) // 16) * 16 + 16
        return port.spec("NCHW", dtype, storage_strides=(c * plane, plane, row, 1), size=c * plane, **more)
    return port.spec(layout, dtype, **more)


def read_as(true: str, declared: str, rng: Rng, port: Port, dtype: str) -> Specs:
    rank = len(port.shape)
    if rank == 3:
        true, declared = (name.replace("H", "") for name in (true, declared))
    if rank < 3 or (rank == 3 and true in ("rows", "planes")):
        raise NotApplicable("too few axes")
    specs = [place(port, layout, dtype) for layout in (true, declared)]
    size = max(s.size for s in specs)
    if size > 2 * specs[0].size:
        raise NotApplicable("the declared layout needs far more bytes")
    index = np.indices(port.shape)
    if np.array_equal(*(s.offset(*index) for s in specs)):
        raise NotApplicable("both layouts read the same elements")
    first, second = (nl.TensorSpec.from_dict({**s.to_dict(), "size": size}) for s in specs)
    return first, second


def _changed(spec: nl.TensorSpec, **fields: Any) -> nl.TensorSpec:
    return nl.TensorSpec.from_dict({**spec.to_dict(), **fields})


def _true(rng: Rng, port: Port, dtype: str, **more: Any) -> nl.TensorSpec:
    layouts = LAYOUTS[len(port.shape)]
    return place(port, str(rng.choice(layouts)), dtype, **more)


def _scaled(factor: float, rng: Rng, port: Port, dtype: str) -> Specs:
    true = _true(rng, port, dtype)
    q = true.quantization
    assert q is not None
    return true, _changed(true, quantization=nl.Quantization(np.multiply(q.scale, factor), q.zero_point, q.axis))


def _zero_point(change: str, rng: Rng, port: Port, dtype: str) -> Specs:
    true = _true(rng, port, dtype)
    q = true.quantization
    assert q is not None
    zero, step = np.asarray(q.zero_point), 256 if dtype == "int16" else 1
    wrong = 0 * zero if change == "ignored" else zero + 20 * step
    if np.abs(zero - wrong).mean() < 5 * step:
        raise NotApplicable("the zero point is 0")
    return true, _changed(true, quantization=nl.Quantization(q.scale, wrong.astype(int), q.axis))


def _read_as(declared: str, rng: Rng, port: Port, dtype: str) -> Specs:
    true = _true(rng, port, dtype)
    return true, _changed(true, dtype=declared)


def _each_as_one(rng: Rng, port: Port, dtype: str) -> Specs:
    each = port.quantization(dtype, each=True)
    assert each is not None
    if each.count == 1:
        raise NotApplicable("one channel")
    scales = np.asarray(each.scale) * rng.uniform(1, 3, each.count)  # converters do not fit all of them tightly
    true = _true(rng, port, dtype, quantization=nl.Quantization(scales, each.zero_point, axis=1))
    k = int(np.argmax(scales))
    one = nl.Quantization(float(scales[k]), float(np.asarray(each.zero_point)[k]))
    return true, _changed(true, quantization=one)


def _one_as_each(rng: Rng, port: Port, dtype: str) -> Specs:
    true = _true(rng, port, dtype)
    q = true.quantization
    assert q is not None
    if port.shape[1] == 1 or anchors_first(port.shape) or q.axis is not None:
        raise NotApplicable("one channel, or a scale for each in truth")
    scales = float(q.scale) * rng.uniform(0.4, 1.6, port.shape[1])
    return true, _changed(true, quantization=nl.Quantization(scales, q.zero_point, axis=1))


def _shared_scale(rng: Rng, port: Port, dtype: str) -> Specs:
    """One scale for channels of very different ranges, as is declared: of some nothing is left."""
    true = _true(rng, port, dtype, quantization=calibrate([port.low, port.high], dtype))
    return true, true


# Channels: a device whose channel k is the model's channel result[k].


def _reversed(rng: Rng, count: int) -> Sequence[int]:
    return list(range(count))[::-1]


def _rolled(rng: Rng, count: int) -> Sequence[int]:
    return [(k + 1) % count for k in range(count)]


def _shuffled(rng: Rng, count: int) -> Sequence[int]:
    return [int(k) for k in rng.permutation(count)]


def _swapped(rng: Rng, count: int) -> Sequence[int]:
    order = list(range(count))
    a, b = rng.permutation(count)[:2]
    order[a], order[b] = order[b], order[a]
    return order


def _reversed_but_two(rng: Rng, count: int) -> Sequence[int]:
    return _swapped(rng, count)[::-1]


# Preprocessing: Preprocessor arguments -> those of what was done. Units are pixels, 0..255.


def _mean(m: np.ndarray, s: np.ndarray) -> np.ndarray:
    return m


def _std(m: np.ndarray, s: np.ndarray) -> np.ndarray:
    return s


def _arithmetic(mean: Callable[..., Any], std: Callable[..., Any], flip: bool, p: dict[str, Any]) -> dict[str, Any]:
    m, s = np.asarray(p["mean"], np.float64), np.asarray(p["std"], np.float64)
    done = {**p, "mean": mean(m, s).tolist(), "std": std(m, s).tolist()}
    if flip:
        if p["color"] == "GRAY":
            raise NotApplicable("one channel")
        done["color"] = p["color"][::-1]
    return done


def _divides(p: dict[str, Any]) -> None:
    if set(p["std"]) == {1}:
        raise NotApplicable("nothing is divided by 255")


def _twice(p: dict[str, Any]) -> dict[str, Any]:
    """(p / 255 / 255 - mean / 255) / (std / 255)"""
    _divides(p)
    return _arithmetic(lambda m, s: 255 * m, lambda m, s: 255 * s, False, p)


def _divided_after(p: dict[str, Any]) -> dict[str, Any]:
    """(p - mean) / std / 255"""
    _divides(p)
    return _arithmetic(_mean, lambda m, s: 255 * s, False, p)


def _undivided(p: dict[str, Any]) -> dict[str, Any]:
    """(p - mean / 255) / (std / 255)"""
    _divides(p)
    return _arithmetic(lambda m, s: m / 255, lambda m, s: s / 255, False, p)


def _unit_only(p: dict[str, Any]) -> dict[str, Any]:
    """p / 255"""
    _divides(p)
    return _arithmetic(lambda m, s: 0 * m, lambda m, s: 0 * s + 255, False, p)


def _doubled_unit(p: dict[str, Any]) -> dict[str, Any]:
    """x = (p / 255 - m) / s, then (x - m) / s, m = mean / 255, s = std / 255"""
    _divides(p)
    return _arithmetic(lambda m, s: m + m * s / 255, lambda m, s: s * s / 255, False, p)


def _bytes_as(p: dict[str, Any], layout: str) -> dict[str, Any]:
    return {**p, "target": layout}


def _famous(mean: Sequence[float], std: Sequence[float], p: dict[str, Any]) -> dict[str, Any]:
    if p["color"] == "GRAY" or np.allclose(p["std"], std, rtol=0.02):
        raise NotApplicable("one channel, or nearly the same")
    return _arithmetic(lambda m, s: np.array(mean), lambda m, s: np.array(std), False, p)


def _opposite(p: dict[str, Any]) -> dict[str, Any]:
    return _arithmetic(lambda m, s: m[::-1], lambda m, s: s[::-1], False, p)


ARITHMETIC: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "bgr": partial(_arithmetic, _mean, _std, True),
    "bgr_after": partial(_arithmetic, lambda m, s: m[::-1], lambda m, s: s[::-1], True),
    "divided_twice": _twice,
    "divided_after": _divided_after,
    "not_divided": _undivided,
    "raw_pixels": partial(_arithmetic, lambda m, s: 0 * m, lambda m, s: 0 * s + 1, False),
    "raw_bgr": partial(_arithmetic, lambda m, s: 0 * m, lambda m, s: 0 * s + 1, True),
    "multiplied": partial(_arithmetic, _mean, lambda m, s: 1 / s, False),
    "unit_only": _unit_only,
    "doubled": partial(_arithmetic, lambda m, s: m + m * s, lambda m, s: s * s, False),
    "doubled_unit": _doubled_unit,
    "mean_forgotten": partial(_arithmetic, lambda m, s: 0 * m, _std, False),
    "std_forgotten": partial(_arithmetic, _mean, lambda m, s: 0 * s + 1, False),
    "clips_mean_and_std": partial(_famous, (122.771, 116.746, 104.094), (68.501, 66.632, 70.323)),
    "mean_std_opposite": _opposite,
    "less_a_half": partial(_arithmetic, lambda m, s: 0 * m + 63.75, lambda m, s: 0 * s + 127.5, False),
    "video_range": partial(_arithmetic, lambda m, s: (m - 16) * 255 / 219, lambda m, s: s * 255 / 219, False),
}


def _whole(p: dict[str, Any]) -> dict[str, Any]:
    """Floats that are given as integers."""
    _divides(p)
    return {**p, "whole": True}


# Means and deviations that are near to those of a fault: what a recording may not tell from it.
FAMOUS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "imagenet": partial(_famous, (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "of_one": partial(_famous, (127.5, 127.5, 127.5), (127.5, 127.5, 127.5)),
}


def _resized(how: str, p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "resize": how}


def _bordered(pad_value: float, p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "pad_value": pad_value}


# Names: {recorded name: the output that it really holds}.


def _exchanged(equal: bool, shapes: dict[str, tuple[int, ...]]) -> dict[str, str]:
    names = list(shapes)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if (shapes[a] == shapes[b]) == equal:
                return {a: b, b: a}
    raise NotApplicable("no such two outputs")


def _rotated(shapes: dict[str, tuple[int, ...]]) -> dict[str, str]:
    names = list(shapes)
    if len(names) < 3:
        raise NotApplicable("fewer than three outputs")
    return {name: names[(i + 1) % 3] for i, name in enumerate(names[:3])}


# Frames: of which frame are the outputs that stand beside frame t?


def _shifted(by: int, rng: Rng, count: int) -> Sequence[int]:
    return [t + by for t in range(count)]


def _mixed(rng: Rng, count: int) -> Sequence[int]:
    """An order in which no frame keeps its place and no shift explains more than a third."""
    while True:
        order = rng.permutation(count)
        shifts = np.bincount(order - np.arange(count) + count, minlength=2 * count)
        if shifts[count] == 0 and shifts.max() <= max(1, count // 3):
            return [int(t) for t in order]


def _stuck(rng: Rng, count: int) -> Sequence[int]:
    return [-1] * count


# Of (frames, N, channels, ...) one part spoiled, which is a small share of the whole.


def _dead_channel(rng: Rng, values: np.ndarray) -> np.ndarray:
    values[:, :, _widest(values, 2)] = 0
    return values


def _random_channel(rng: Rng, values: np.ndarray) -> np.ndarray:
    part = values[:, :, _widest(values, 2)]
    part[...] = rng.permutation(part.ravel()).reshape(part.shape)
    return values


def _again(rng: Rng, values: np.ndarray) -> np.ndarray:
    if len(values) < 6:
        raise NotApplicable("a frame is much of the whole")
    values[3] = values[2]
    return values


def _cut_rows(rng: Rng, values: np.ndarray) -> np.ndarray:
    if values.ndim < 5 or values.shape[-2] < 8:
        raise NotApplicable("no rows")
    values[..., -2:, :] = 0
    return values


def _sigmoid(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-values)), np.float32)


def _inputs_exchanged(declared: dict[str, Any]) -> dict[str, Any]:
    return {**declared, "exchanged": True}


def _seen(name: str, declared: dict[str, Any]) -> dict[str, Any]:
    return {**declared, "seen": name}


def _widest(values: np.ndarray, axis: int) -> int:
    if values.shape[axis] < 2:
        raise NotApplicable("one channel")
    return int(np.argmax(np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1).var(1)))


SPOILED: dict[str, Callable[[Rng, np.ndarray], np.ndarray]] = {
    "dead_channel": _dead_channel,
    "random_channel": _random_channel,
    "frame_again": _again,
    "rows_cut": _cut_rows,
    "sigmoid_more": _sigmoid,
}
_CAUSES = {"sigmoid_more": "activation"}

CHANGED: dict[str, changes.Change] = {**changes.GEOMETRY, **changes.ACTIVATIONS}  # as the truth knows

FAULTLESS = Fault("faultless", "match", dtypes=(*DTYPES, "uint8", "bfloat16"))
# Boards without a fault, on which a search finds one easily: nothing may be named.
HARD = (
    FAULTLESS._replace(name="faultless_dim", brightness=0.12, accept=REFUSALS),
    FAULTLESS._replace(name="faultless_clipped", clipped=0.7, dtypes=QUANTISED, accept=REFUSALS),
    FAULTLESS._replace(name="faultless_noisy", noises=("10", "8"), accept=REFUSALS),
    FAULTLESS._replace(name="faultless_short", frames=(1, 3), accept=REFUSALS),
    FAULTLESS._replace(name="faultless_dim_short", brightness=0.12, frames=(2, 4), accept=REFUSALS),
    FAULTLESS._replace(name="faultless_box", models=("box",), accept=REFUSALS),
    FAULTLESS._replace(name="faultless_pair", models=("pair",), accept=REFUSALS),
)
_LAYOUTS = {
    "nhwc_as_nchw": ("NHWC", "NCHW"),
    "nchw_as_nhwc": ("NCHW", "NHWC"),
    "block16_as_8": ("NCHW16c", "NCHW8c"),
    "block8_as_16": ("NCHW8c", "NCHW16c"),
    "block4_as_nchw": ("NCHW4c", "NCHW"),
    "block16_as_nchw": ("NCHW16c", "NCHW"),
    "nchw_as_block16": ("NCHW", "NCHW16c"),
    "block16_as_nhwc": ("NCHW16c", "NHWC"),
    "nhwc_as_block8": ("NHWC", "NCHW8c"),
    "row_pitch_ignored": ("rows", "NCHW"),
    "plane_pitch_ignored": ("planes", "NCHW"),
    "pixel_pitch_ignored": ("NHWC8c", "NHWC"),
    "nchw_as_nwhc": ("NCHW", "NWHC"),
    "ncwh_as_nchw": ("NCWH", "NCHW"),
    "nhcw_as_nchw": ("NHCW", "NCHW"),
}
_ORDERS = {
    "reversed": _reversed,
    "rolled": _rolled,
    "shuffled": _shuffled,
    "swapped": _swapped,
    "reversed_but_two": _reversed_but_two,
}
_LOUD = ("not_divided", "raw_pixels", "raw_bgr", "multiplied", "doubled_unit", "std_forgotten")
_FLOATS = ("float32", "int8", "float16", "int8")
_OF_FLOATS = ("factors_each", "boxes_of_one", "relu_added")  # of integers, another scale or range
OF_EACH_CHANNEL = ("each_channel_as_tensor", "factors_each")  # a number for each channel has to be found
_TIMES = {"late_one": -1, "early_one": 1, "late_two": -2}

FAULTS: tuple[Fault, ...] = (
    *(Fault(name, "layout", readings=partial(read_as, *pair)) for name, pair in _LAYOUTS.items()),
    *(
        Fault(name, "quantization", readings=partial(_scaled, factor), dtypes=QUANTISED)
        for name, factor in (("scale_x2", 2.0), ("scale_half", 0.5), ("scale_x1.3", 1.3), ("scale_x1.7", 1.7))
    ),
    Fault("zero_point_ignored", "quantization", readings=partial(_zero_point, "ignored"), dtypes=QUANTISED),
    Fault("zero_point_off_20", "quantization", readings=partial(_zero_point, "off"), dtypes=QUANTISED),
    Fault("int8_as_uint8", "quantization", readings=partial(_read_as, "uint8"), dtypes=("int8",)),
    Fault("uint8_as_int8", "quantization", readings=partial(_read_as, "int8"), dtypes=("uint8",)),
    Fault("int16_as_uint16", "quantization", readings=partial(_read_as, "uint16"), dtypes=("int16",)),
    Fault("fp16_as_bf16", "quantization", readings=partial(_read_as, "bfloat16"), dtypes=("float16",)),
    Fault("bf16_as_fp16", "quantization", readings=partial(_read_as, "float16"), dtypes=("bfloat16",)),
    Fault("each_channel_as_tensor", "quantization", readings=_each_as_one, dtypes=QUANTISED),
    Fault("tensor_as_each_channel", "quantization", readings=_one_as_each, dtypes=QUANTISED),
    *(Fault(f"channels_{name}", "channel_order", channels=order) for name, order in _ORDERS.items()),
    *(
        Fault(name, "preprocessing", done=done, dtypes=_FLOATS if name in _LOUD else DTYPES, overflows=name in _LOUD)
        for name, done in ARITHMETIC.items()
    ),
    Fault("input_nhwc_as_nchw", "preprocessing", done=partial(_bytes_as, layout="NHWC")),
    Fault("input_nchw_as_nhwc", "preprocessing", done=partial(_bytes_as, layout="NCHW"), models=("folded",), weight=8),
    Fault("input_whole", "input_layout", done=_whole),
    Fault("stretched", "preprocessing", done=partial(_resized, "stretch"), odd_frames=True),
    Fault("top_left", "preprocessing", done=partial(_resized, "letterbox_top_left"), odd_frames=True),
    Fault("border_black", "preprocessing", done=partial(_bordered, 0), odd_frames=True),
    Fault("cropped", "preprocessing", done=partial(_resized, "crop"), odd_frames=True),
    Fault(
        "letterboxed",
        "preprocessing",
        done=partial(_resized, "letterbox"),
        declared={"resize": "stretch"},
        odd_frames=True,
    ),
    Fault("exchanged_equal", "output_order", names=partial(_exchanged, True), weight=8),
    Fault("exchanged_unequal", "output_order", names=partial(_exchanged, False), weight=4),
    Fault("inputs_exchanged", "input_order", done=_inputs_exchanged, models=("pair",), weight=12),
    Fault("rotated", "output_order", names=_rotated, weight=4),
    *(Fault(name, "wrong_input", times=partial(_shifted, by), shift=by, frames=(6, 24)) for name, by in _TIMES.items()),
    Fault("frames_shuffled", "wrong_input", times=_mixed, accept=frozenset({"ambiguous"}), frames=(6, 24)),
    Fault("stuck", "wrong_input", times=_stuck, accept=REFUSALS, frames=(6, 24)),
    Fault("unrelated", "wrong_input", device="unrelated", accept=REFUSALS),
    Fault("other_weights", "mismatch", device="other", accept=REFUSALS),
    Fault("random_codes", "mismatch", device="random", accept=REFUSALS),
    Fault("noisy_3db", "mismatch", device="noisy", accept=REFUSALS),
    Fault(
        "dead_scores",
        "mismatch",
        readings=_shared_scale,
        dtypes=("int8", "uint8"),
        models=("yolo8",),
        accept=REFUSALS | {"match"},
        weight=4,
    ),
    Fault("dead_outputs", "mismatch", device="dead", accept=REFUSALS),
    *(Fault(name, _CAUSES.get(name, "mismatch"), device=name, accept=REFUSALS, frames=(8, 24)) for name in SPOILED),
    *(
        Fault(name, "geometry", device=name, models=("segmentation",) if "resized" in name else None)
        for name in changes.GEOMETRY
    ),
    *(
        Fault(name, "activation", device=name, dtypes=("float32", "float16") if name in _OF_FLOATS else DTYPES)
        for name in changes.ACTIVATIONS
    ),
    *(
        Fault(name, cause, done=partial(_seen, name), dtypes=_FLOATS, overflows="int8" in name)
        for name, (cause, _) in changes.SEEN.items()
    ),
    *(
        Fault(
            f"bgr_and_{name}",
            cause,
            readings=readings,
            done=ARITHMETIC["bgr"],
            dtypes=QUANTISED,
            models=("maps", "segmentation", "yolo8", "folded"),
            accept=REFUSALS | {"preprocessing"},
        )
        for name, cause, readings in (
            ("scale_x2", "quantization", partial(_scaled, 2.0)),
            ("zero_point", "quantization", partial(_zero_point, "off")),
            ("zero_point_ignored", "quantization", partial(_zero_point, "ignored")),
            ("nhwc_as_nchw", "layout", partial(read_as, "NHWC", "NCHW")),
        )
    ),
    *(
        Fault(
            f"late_and_{name}",
            "quantization",
            readings=partial(_zero_point, how),
            times=partial(_shifted, -1),
            shift=-1,
            everywhere="wrong_input",
            dtypes=QUANTISED,
            frames=(6, 24),
            accept=REFUSALS | {"wrong_input"},
        )
        for name, how in (("zero_point", "off"), ("zero_point_ignored", "ignored"))
    ),
    Fault(
        "bgr_and_sigmoid",
        "activation",
        device="sigmoid_added",
        done=ARITHMETIC["bgr"],
        models=("maps", "segmentation", "yolo8", "classifier", "folded"),
        accept=REFUSALS | {"preprocessing"},
    ),
    Fault(
        "mirrored_and_nhwc_as_nchw",
        "layout",
        readings=partial(read_as, "NHWC", "NCHW"),
        done=partial(_seen, "input_mirrored"),
        everywhere="geometry",
        accept=REFUSALS | {"geometry"},
    ),
    Fault(
        "constant_maps",
        "match",
        readings=partial(read_as, "NHWC", "NCHW"),
        models=("constant",),
        weight=4,
        accept=frozenset({"ambiguous"}),
        untellable=True,
    ),
    Fault(
        "symmetric_maps",
        "ambiguous",
        readings=partial(read_as, "NHWC", "NCHW"),
        models=("symmetric",),
        weight=4,
        accept=frozenset({"layout"}),
        untellable=True,
    ),
    Fault(
        "identical_frames_late",
        "match",
        times=partial(_shifted, -1),
        identical=True,
        accept=frozenset({"ambiguous"}),
        frames=(4, 12),
        untellable=True,
    ),
)
_ONE_FRAME = ("nhwc_as_nchw", "scale_x2", "channels_reversed", "bgr", "exchanged_equal", "late_one", "other_weights")
FAULTS += tuple(
    f._replace(
        name=f"one_frame_{f.name}",
        frames=(1, 1),
        accept=REFUSALS,
        shift=None,
        untellable=True,
    )
    for f in FAULTS
    if f.name in _ONE_FRAME
)
BY_NAME = {f.name: f for f in (FAULTLESS, *HARD, *FAULTS)}
