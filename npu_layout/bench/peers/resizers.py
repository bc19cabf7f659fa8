"""Letterbox camera frames with libraries that resize by a rule of their own; numpy adds the border and the rest.

Their pixels differ from OpenCV's at most sizes: such a row names the library as not equal, and has no time for it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..frame_cases import FrameCase
from . import libraries
from .frames import canvas_of, finished
from .registry import Call, peer

Resize = Callable[[], np.ndarray]


def _letterbox(case: FrameCase, resize: Resize) -> Call:
    """Return a call that writes the RGB pixels that `resize` returns between the borders, and stores the target."""
    left, top = case.geometry.pad_ltrb[:2]
    width, height = case.geometry.resized_wh
    canvas = canvas_of(case)
    inner, finish = canvas[top : top + height, left : left + width], finished(case, canvas)

    def run() -> np.ndarray:
        inner[...] = resize()
        return finish()

    return run


@peer("frame", "PIL", "Image.resize(BILINEAR), then numpy")
def PIL_frame(case: FrameCase) -> Call | None:
    """Resize with a filter for shrinking; it knows no NV12."""
    from PIL import Image

    if case.format != "BGR":
        return None
    wh, how = case.geometry.resized_wh, Image.Resampling.BILINEAR
    return _letterbox(case, lambda: np.asarray(Image.fromarray(case.x).resize(wh, how))[..., ::-1])


@peer("frame", "torch", "interpolate(mode='bilinear'), then numpy")
def torch_frame(case: FrameCase) -> Call | None:
    """Interpolate pixels whose channels are last, which rounds otherwise; it knows no NV12."""
    import torch

    if case.format != "BGR":
        return None
    width, height = case.geometry.resized_wh
    pixels = torch.from_numpy(case.x).permute(2, 0, 1)[None]

    def resize() -> np.ndarray:
        made = torch.nn.functional.interpolate(pixels, size=(height, width), mode="bilinear")
        return made[0].permute(1, 2, 0).numpy()[..., ::-1]

    return _letterbox(case, resize)


@peer("frame", "kornia_rs", "rgb_from_nv12, resize, then numpy")
def kornia_rs_frame(case: FrameCase) -> Call:
    """Convert NV12, which rounds otherwise, and resize."""
    from kornia_rs import imgproc

    width, height = case.geometry.resized_wh
    frame_w, frame_h = case.geometry.frame_wh
    if case.format == "BGR":
        return _letterbox(case, lambda: imgproc.resize(case.x, (height, width), "bilinear")[..., ::-1])
    data = case.x.reshape(-1)
    return _letterbox(
        case, lambda: imgproc.resize(imgproc.rgb_from_nv12(data, frame_w, frame_h), (height, width), "bilinear")
    )


@peer("frame", "openvino", "PrePostProcessor: convert_color, resize, then numpy")
def openvino_frame(case: FrameCase) -> Call:
    """Compile a model that is its own preprocessing and nothing else; the plug-in for CPUs runs it."""
    import openvino as ov
    from openvino import opset13 as ops
    from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

    width, height = case.geometry.resized_wh
    pixels = ops.parameter([1, height, width, 3], ov.Type.u8, name="pixels")
    steps = PrePostProcessor(ov.Model([ops.result(pixels)], [pixels]))
    tensor = steps.input().tensor()
    tensor.set_element_type(ov.Type.u8).set_spatial_static_shape(*case.geometry.frame_wh[::-1])
    tensor.set_color_format({"BGR": ColorFormat.BGR, "NV12": ColorFormat.NV12_SINGLE_PLANE}[case.format])
    frame = case.x[None] if case.format == "BGR" else case.x[None, :, :, None]
    if case.format == "BGR":
        tensor.set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NHWC"))
    steps.input().preprocess().convert_color(ColorFormat.RGB).resize(ResizeAlgorithm.RESIZE_LINEAR)
    settings = {"INFERENCE_NUM_THREADS": libraries.threads()}
    request = ov.Core().compile_model(steps.build(), "CPU", settings).create_infer_request()
    request.set_input_tensor(ov.Tensor(frame, shared_memory=True))

    def resize() -> np.ndarray:
        request.infer()
        made: np.ndarray = request.get_output_tensor().data[0]
        return made

    return _letterbox(case, resize)


@peer("frame", "av", "VideoFrame.reformat(interpolation='BILINEAR'), then numpy")
def av_frame(case: FrameCase) -> Call:
    """Scale and convert with FFmpeg's swscale, whose filter for shrinking has more taps."""
    import av

    width, height = case.geometry.resized_wh
    frame = av.VideoFrame.from_ndarray(case.x, format={"BGR": "bgr24", "NV12": "nv12"}[case.format])
    how = {"width": width, "height": height, "format": "rgb24", "interpolation": "BILINEAR"}
    return _letterbox(case, lambda: frame.reformat(**how).to_ndarray())
