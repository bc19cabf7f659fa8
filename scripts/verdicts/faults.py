"""The faults, each planted alone: what differs between what was declared and what was done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from . import cameras, changes, planting
from .ports import DTYPES, QUANTISED, Port, Rng, Specs, read_as

REFUSALS = frozenset({"ambiguous", "mismatch"})


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
    camera
        From a picture, the camera's frame that is recorded and the one that the input is made of.
    recorded
        What the report should say of a recorded input, if the camera's frame is recorded.
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
    camera: cameras.Camera | None = None
    recorded: cameras.Recorded = cameras.Recorded()


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
    *(
        FAULTLESS._replace(name=name, camera=camera, recorded=recorded, accept=REFUSALS)
        for name, (camera, recorded) in cameras.FAULTLESS.items()
    ),
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
    "reversed": planting.in_reverse,
    "rolled": planting.rolled,
    "shuffled": planting.shuffled,
    "swapped": planting.swapped,
    "reversed_but_two": planting.reversed_but_two,
}
_LOUD = ("not_divided", "raw_pixels", "raw_bgr", "multiplied", "doubled_unit", "std_forgotten")
_FLOATS = ("float32", "int8", "float16", "int8")
_OF_FLOATS = ("factors_each", "boxes_of_one", "relu_added")  # of integers, another scale or range
OF_EACH_CHANNEL = ("each_channel_as_tensor", "factors_each")  # a number for each channel has to be found
_TIMES = {"late_one": -1, "early_one": 1, "late_two": -2}

FAULTS: tuple[Fault, ...] = (
    *(Fault(name, "layout", readings=partial(read_as, *pair)) for name, pair in _LAYOUTS.items()),
    *(
        Fault(name, "quantization", readings=partial(planting.scaled, factor), dtypes=QUANTISED)
        for name, factor in (("scale_x2", 2.0), ("scale_half", 0.5), ("scale_x1.3", 1.3), ("scale_x1.7", 1.7))
    ),
    Fault("zero_point_ignored", "quantization", readings=partial(planting.zero_point, "ignored"), dtypes=QUANTISED),
    Fault("zero_point_off_20", "quantization", readings=partial(planting.zero_point, "off"), dtypes=QUANTISED),
    Fault("int8_as_uint8", "quantization", readings=partial(planting.other_dtype, "uint8"), dtypes=("int8",)),
    Fault("uint8_as_int8", "quantization", readings=partial(planting.other_dtype, "int8"), dtypes=("uint8",)),
    Fault("int16_as_uint16", "quantization", readings=partial(planting.other_dtype, "uint16"), dtypes=("int16",)),
    Fault("fp16_as_bf16", "quantization", readings=partial(planting.other_dtype, "bfloat16"), dtypes=("float16",)),
    Fault("bf16_as_fp16", "quantization", readings=partial(planting.other_dtype, "float16"), dtypes=("bfloat16",)),
    Fault("each_channel_as_tensor", "quantization", readings=planting.each_as_one, dtypes=QUANTISED),
    Fault("tensor_as_each_channel", "quantization", readings=planting.one_as_each, dtypes=QUANTISED),
    *(Fault(f"channels_{name}", "channel_order", channels=order) for name, order in _ORDERS.items()),
    *(
        Fault(name, "preprocessing", done=done, dtypes=_FLOATS if name in _LOUD else DTYPES, overflows=name in _LOUD)
        for name, done in planting.ARITHMETIC.items()
    ),
    Fault("input_nhwc_as_nchw", "preprocessing", done=partial(planting.bytes_as, layout="NHWC")),
    Fault(
        "input_nchw_as_nhwc",
        "preprocessing",
        done=partial(planting.bytes_as, layout="NCHW"),
        models=("folded",),
        weight=8,
    ),
    Fault("input_whole", "input_layout", done=planting.whole),
    Fault("stretched", "preprocessing", done=partial(planting.resized, "stretch"), odd_frames=True),
    Fault("top_left", "preprocessing", done=partial(planting.resized, "letterbox_top_left"), odd_frames=True),
    Fault("border_black", "preprocessing", done=partial(planting.bordered, 0), odd_frames=True),
    Fault("cropped", "preprocessing", done=partial(planting.resized, "crop"), odd_frames=True),
    Fault(
        "letterboxed",
        "preprocessing",
        done=partial(planting.resized, "letterbox"),
        declared={"resize": "stretch"},
        odd_frames=True,
    ),
    Fault("exchanged_equal", "output_order", names=partial(planting.exchanged, True), weight=8),
    Fault("exchanged_unequal", "output_order", names=partial(planting.exchanged, False), weight=4),
    Fault("inputs_exchanged", "input_order", done=planting.inputs_exchanged, models=("pair",), weight=12),
    Fault("rotated", "output_order", names=planting.rotated, weight=4),
    *(
        Fault(name, "wrong_input", times=partial(planting.shifted, by), shift=by, frames=(6, 24))
        for name, by in _TIMES.items()
    ),
    Fault("frames_shuffled", "wrong_input", times=planting.mixed, accept=frozenset({"ambiguous"}), frames=(6, 24)),
    Fault("stuck", "wrong_input", times=planting.stuck, accept=REFUSALS, frames=(6, 24)),
    Fault("unrelated", "wrong_input", device="unrelated", accept=REFUSALS),
    Fault("other_weights", "mismatch", device="other", accept=REFUSALS),
    Fault("random_codes", "mismatch", device="random", accept=REFUSALS),
    Fault("noisy_3db", "mismatch", device="noisy", accept=REFUSALS),
    Fault(
        "dead_scores",
        "mismatch",
        readings=planting.shared_scale,
        dtypes=("int8", "uint8"),
        models=("yolo8",),
        accept=REFUSALS | {"match"},
        weight=4,
    ),
    Fault("dead_outputs", "mismatch", device="dead", accept=REFUSALS),
    *(
        Fault(name, _CAUSES.get(name, "mismatch"), device=name, accept=REFUSALS, frames=(8, 24))
        for name in planting.SPOILED
    ),
    *(
        Fault(name, "geometry", device=name, models=("segmentation",) if "resized" in name else None)
        for name in changes.GEOMETRY
    ),
    *(
        Fault(name, "activation", device=name, dtypes=("float32", "float16") if name in _OF_FLOATS else DTYPES)
        for name in changes.ACTIVATIONS
    ),
    *(
        Fault(name, cause, done=partial(planting.seen, name), dtypes=_FLOATS, overflows="int8" in name)
        for name, (cause, _) in changes.SEEN.items()
    ),
    *(
        Fault(name, "match", camera=camera, recorded=recorded, accept=REFUSALS)
        for name, (camera, recorded) in cameras.FAULTS.items()
    ),
    *(
        Fault(
            f"bgr_and_{name}",
            cause,
            readings=readings,
            done=planting.ARITHMETIC["bgr"],
            dtypes=QUANTISED,
            models=("maps", "segmentation", "yolo8", "folded"),
            accept=REFUSALS | {"preprocessing"},
        )
        for name, cause, readings in (
            ("scale_x2", "quantization", partial(planting.scaled, 2.0)),
            ("zero_point", "quantization", partial(planting.zero_point, "off")),
            ("zero_point_ignored", "quantization", partial(planting.zero_point, "ignored")),
            ("nhwc_as_nchw", "layout", partial(read_as, "NHWC", "NCHW")),
        )
    ),
    *(
        Fault(
            f"late_and_{name}",
            "quantization",
            readings=partial(planting.zero_point, how),
            times=partial(planting.shifted, -1),
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
        done=planting.ARITHMETIC["bgr"],
        models=("maps", "segmentation", "yolo8", "classifier", "folded"),
        accept=REFUSALS | {"preprocessing"},
    ),
    Fault(
        "mirrored_and_nhwc_as_nchw",
        "layout",
        readings=partial(read_as, "NHWC", "NCHW"),
        done=partial(planting.seen, "input_mirrored"),
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
        times=partial(planting.shifted, -1),
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
FAULTS += (
    *(
        Fault(f"border_{pad}", "preprocessing", done=partial(planting.bordered, pad), odd_frames=True)
        for pad in (60, 180)
    ),
    *(
        Fault(
            f"border_{pad}_and_{name}",
            changes.SEEN[f"input_{name}"][0],
            done=partial(planting.seen_with_border, f"input_{name}", pad),
            odd_frames=True,
            dtypes=_FLOATS,
            overflows=name == "sign",
            accept=REFUSALS,
        )
        for name, pad in (("gray", 0), ("gamma", 255), ("sign", 0))
    ),
)
BY_NAME = {f.name: f for f in (FAULTLESS, *HARD, *FAULTS)}
