"""Check the names of the arguments of public functions: the error says which argument is meant."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

from ..errors import ArgumentError
from .arguments import nearest

_BOUND = ("self", "cls")
_Call = TypeVar("_Call", bound=Callable[..., Any])

#: Argument, remark, and what other libraries and vendors call it; the first row whose argument a function has is meant.
#: Where functions mean unlike things by an argument, those that are meant have the ones behind it, too.
MEANT = (
    (
        "strides size_wh",
        "in bytes from one row to the next",
        "pitch pitches stride step bytesperline linesize line_size line_stride row_stride",
    ),
    ("storage_strides", "in elements", "pitch pitches stride strides step row_stride"),
    ("offsets", "in bytes, of the planes", "offset plane_offsets"),
    ("storage_offset", "in elements", "offset start begin"),
    ("confidence", "", "conf conf_thres conf_threshold score score_threshold threshold"),
    ("threshold", "", "thr thres confidence conf min_score"),
    ("iou", "", "iou_thres iou_threshold nms nms_thres nms_threshold overlap"),
    ("limit", "", "max_det max_detections max_num top_k topk keep_top_k"),
    ("k", "", "top top_k topk n count limit"),
    ("class_id", "of each box", "idxs labels classes category_idxs cls category"),
    ("labels", "of which 'all' counts every class that passes", "multi_label multilabel"),
    ("background", "its stored number", "background_label_id background_label background_id"),
    ("classes", "their number", "nc num_classes n_classes nclasses num_class names"),
    ("bins", "", "reg_max dfl dfl_len"),
    ("keypoints", "their number", "nk kpt kpt_shape num_keypoints"),
    ("coefficients", "their number", "nm masks num_masks"),
    ("input_shape", "height and width", "imgsz img_size input_size input_hw input_wh size shape"),
    ("input_wh", "width and height", "imgsz img_size input_size input_hw input_shape size"),
    ("size_wh", "width and height", "width height size resolution shape wh hw dsize"),
    ("format", "", "fmt pix_fmt pixel_format encoding fourcc"),
    ("source yuv", "a format's name or a FrameSpec", "fmt format pix_fmt input_format encoding"),
    (
        "source yuv",
        "a FrameSpec, which has strides, matrix and range",
        "strides stride pitch bytesperline offsets range full_range color_range matrix colorspace color_space",
    ),
    ("matrix", "'bt601', 'bt709' or 'bt2020'", "colorspace color_space colorimetry color_matrix"),
    ("range", "'limited' or 'full'", "color_range full_range limited"),
    ("std", "which divides: for a scale of 1/255, std=255", "scale scalefactor norm normalize std_values rescale"),
    ("mean", "in pixel values", "mean_values means bias subtract"),
    ("zero_point", "", "zp zero zeropoint zero_points qp_zp"),
    ("zero_point", "of the other sign in QNN: see from_offset", "offset"),
    ("scale", "", "scales qp_scale step"),
    ("quantization", "Quantization(scale, zero_point)", "scale zero_point zp quant quant_info quantisation qparams"),
    ("pad_value", "", "pad padding fill border border_value value letterbox_color"),
    ("resize", "'letterbox', 'stretch' or 'crop'", "letterbox keep_aspect keep_ratio resize_mode mode"),
    ("color", "the model's order; source is the frame's", "swapRB swap_rb rgb bgr color_format channels order"),
    ("channels", "'RGB' or 'BGR'", "color swapRB color_format channel_order"),
    ("interpolation", "", "resample interp filter mode"),
    ("scaleup", "", "scale_up upscale allow_upscale enlarge"),
    ("roi_xywh", "x, y, width, height", "roi rect box crop bbox"),
    ("rois_xywh", "x, y, width, height of each", "rois roi roi_xywh rects boxes crops"),
    ("xywh", "x, y, width, height", "xyxy roi rect box"),
    ("shape", "whose letters are axes", "dims extents sizes"),
    ("axes", "the letters of the shape", "order dims dim_order axis"),
    ("layout", "", "tag order memory_format data_format data_layout fmt format"),
    ("block", "the channels of one block", "c0 c2 C0 C2 block_size"),
    ("src", "", "from_ source source_layout layout"),
    ("dst", "", "to target target_layout"),
    ("to", "", "dst layout target target_layout"),
    ("dtype", "an integer dtype returns stored values", "dequantize dequant raw astype"),
    ("dtype", "", "type data_type format_type"),
    ("out", "", "dst output result"),
    ("flat", "", "buffer data x"),
    ("buffer", "", "flat data tensor output"),
    ("frame", "", "image img picture"),
    ("function", "", "callback fn func on_result decoder postprocess"),
    ("policy", "'latest' or 'every'", "drop latest drop_frames mode strategy"),
    ("engine", "EnginePool([...]) for several cores", "workers engines num_workers threads"),
    ("watchdog", "in seconds", "timeout deadline"),
    ("max_abs", "", "atol tolerance tol max_error abs_tol"),
    ("max_steps", "in quantisation steps", "rtol lsb max_ulp steps"),
    ("min_cosine", "", "cosine cos cosine_similarity"),
    ("min_snr_db", "", "snr snr_db min_snr psnr sqnr"),
    ("names", "of the classes", "labels class_names classes label_names"),
    ("core_mask", "", "core cores core_id npu_core mask"),
    ("folder", "", "path out directory output"),
    ("threads", "", "num_threads n_threads nthreads workers"),
    ("delegates", "a list", "delegate experimental_delegates"),
    ("native_attr", "", "native native_dims"),
    ("target", "", "chip soc platform target_platform"),
    (
        "target resize",
        "a TensorSpec, whose shape is the size",
        "size imgsz img_size input_size size_wh width height dsize",
    ),
)

_AGNOSTIC = "agnostic agnostic_nms class_agnostic per_class"
_SUPPRESSION = "The head says it: replace(head, suppression=replace(head.suppression, per_class=False)), of dataclasses"
_OF_THE_CALL = "confidence iou limit conf conf_thres iou_thres max_det"
#: Arguments that a function has, names that it has not, and what says that instead.
ELSEWHERE = (
    ("buffers confidence iou", _AGNOSTIC, _SUPPRESSION),
    ("strides activation", _AGNOSTIC, _SUPPRESSION),
    ("buffers confidence iou", "multi_label multilabel labels activation", "It is an argument of the head"),
    (
        "buffers confidence iou",
        "classes class_id class_ids",
        "A Decoder finds every class; found[np.isin(found.class_id, [0, 2])] are those of two",
    ),
    ("head specs input_shape", _OF_THE_CALL, "It is an argument of the Decoder's call"),
    ("strides activation", _OF_THE_CALL, "It is an argument of the Decoder's call"),
    ("strides activation", "input_shape imgsz img_size input_size", "Decoder(head, specs, (640, 640)) takes it"),
)


def checked_call(call: _Call) -> _Call:
    """Decorate a public function, or a class for its constructor: what does not fit its parameters is an ArgumentError.

    `inspect.signature`, the docstring, the names and the types stay those of `call`; `__defaults__`, `__kwdefaults__`
    and `__code__` are the wrapper's. Errors from inside it pass.
    """
    if isinstance(call, type):
        call.__init__.__qualname__ = f"{call.__qualname__}.__init__"  # type: ignore[misc]  # of dataclasses, Python 3.9
        call.__init__ = checked_call(call.__init__)  # type: ignore[misc]
        return call

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # in pytest
        try:
            return call(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:  # the call had begun
                raise
            raise ArgumentError(_why_unfit(call, args, kwargs) or str(error)) from None

    return checked  # type: ignore[return-value]


def _why_unfit(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return which argument does not fit; nothing if the parameters do not say it."""
    parameters = inspect.signature(call).parameters
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters.values()):
        return ""
    where = _name(call, args)
    known = [name for name in parameters if name not in _BOUND]
    unknown = next((name for name in kwargs if name not in parameters), None)
    if unknown is not None:
        return f"{where}: no argument {unknown!r}; expected {', '.join(known)}{meant(unknown, known)}"
    first = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
    bound = len(parameters) - len(known)
    if len(args) > len(first):
        rest = ", ".join(f"{name}=" for name in known if name not in first)
        others = f"; give {rest} by name" if rest else ""
        return (
            f"{where}: expected only {', '.join(first[bound:])} by position, got {len(args) - bound} arguments{others}"
        )
    twice = next((name for name in first[: len(args)] if name in kwargs), None)
    if twice is not None:
        return f"{where}: argument {twice!r} is given by position and by name; give it once"
    there = {*first[: len(args)], *kwargs}
    missing = next((name for name, one in parameters.items() if one.default is one.empty and name not in there), None)
    return "" if missing is None else f"{where}: argument {missing!r} is missing; expected {', '.join(known)}"


def _name(call: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return what is called: of a method that a subclass inherits, the subclass's name."""
    where = call.__qualname__
    owner = args[0] if args and isinstance(args[0], type) else type(args[0]) if args else None
    if getattr(getattr(owner, call.__name__, None), "__wrapped__", None) is call:
        where = f"{getattr(owner, '__name__', '')}.{call.__name__}"
    return where.replace(".__init__", "").replace(".__call__", " call")


def meant(given: str, known: list[str]) -> str:
    """Return the end of a message: which of the `known` arguments is meant by the name `given`, or nothing."""
    for arguments, remark, names in MEANT:
        name = arguments.split()[0]
        if given in names.split() and set(arguments.split()) <= set(known):
            return f". Is it {name}{', ' if remark else ''}{remark}?"
    for arguments, names, where in ELSEWHERE:
        if given in names.split() and set(arguments.split()) <= set(known):
            return f". {where}"
    return nearest(given, known)
