"""Public threads in which a device's output or input differed from the model, each rebuilt with the fault it was about.

What the person saw and what was wrong is described in our own words; the addresses were read in November 2026.
`rebuild.py` makes the recordings, `scripts/threads.py` the page docs/threads.md.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np

import npu_layout as nl

from . import faults
from .faults import BY_NAME, Fault, Port, Rng, Specs
from .models import Model
from .rebuild import Fed, Thread

# What devices did to outputs, beyond what the matrix plants.


def _logits(rng: Rng, values: np.ndarray) -> np.ndarray:
    """The 19 heat maps of "maps" without the sigmoid that its model ends in."""
    heat = np.clip(values[:, :, :19], 2e-3, 1 - 2e-3)
    return np.concatenate([np.log(heat / (1 - heat)), values[:, :, 19:]], 2).astype(np.float32)


def _sigmoid_of_one(rng: Rng, values: np.ndarray) -> np.ndarray:
    changed = values.copy()
    changed[:, :, 4] = 1 / (1 + np.exp(-values[:, :, 4]))
    return changed


def _first_frame_unwritten(rng: Rng, values: np.ndarray) -> np.ndarray:
    values[0] = rng.permutation(values[-1].ravel()).reshape(values[0].shape)
    return values


def _not_numbers(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.full_like(values, np.nan)


def _overflowed(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.where(values > np.quantile(values, 0.97), np.inf, values).astype(np.float32)


faults.CHANGED.update(logits=_logits, sigmoid_of_one=_sigmoid_of_one)
faults.SPOILED.update(first_frame_unwritten=_first_frame_unwritten, not_numbers=_not_numbers, overflowed=_overflowed)


def _raw_integers(declared: nl.Quantization, rng: Rng, port: Port, dtype: str) -> Specs:
    true = faults.place(port, "NHWC", dtype)
    return true, nl.TensorSpec.from_dict({**true.to_dict(), "quantization": declared})


def _block_of(true: str, declared: str) -> Any:
    return partial(faults.read_as, true, declared)


def _short(name: str, **fields: Any) -> Fault:
    """A fault of the matrix on four frames, or as `fields` say."""
    return BY_NAME[name]._replace(**{"frames": (4, 4), **fields})


def _with_std_of_mean(p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "std": p["mean"]}


def _mean_in_units(p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "mean": (np.divide(p["mean"], p["std"])).tolist()}


def _std_of_units_multiplied(p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "mean": np.divide(p["mean"], 255).tolist(), "std": np.divide(255, p["std"]).tolist()}


def _y_before_x(rng: Rng, count: int) -> list[int]:
    return [1, 0, 3, 2, *range(4, count)]


def _one_of_another(rng: Rng, count: int) -> list[int]:
    """Frame 5 has the output of frame 2."""
    return [2 if t == 5 else t for t in range(count)]


# What scripts wrote into the input.


def _other_arguments(image: np.ndarray, spec: nl.TensorSpec, declared: Any, **changes: Any) -> np.ndarray:
    return nl.Preprocessor(spec, **{**declared, **changes})(image)[0]


def _of(change: Any, image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    return nl.Preprocessor(spec, **declared)(np.ascontiguousarray(change(image)))[0]


def _transposed(image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    return np.ascontiguousarray(nl.Preprocessor(spec, **declared)(image)[0].swapaxes(2, 3))


def _exchanged_sides(image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    """The frame resized to height x width, in bytes of width x height."""
    tall, wide = spec.shape[2:]
    turned = nl.TensorSpec((1, 3, wide, tall), spec.layout, spec.dtype)
    made = nl.Preprocessor(turned, **{**declared, "resize": "stretch"})(image)[0]
    return made.reshape(spec.shape)


def _with_alpha(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(image, cv2.COLOR_BGR2BGRA).ravel()[: image.size].reshape(image.shape)


def _gray(image: np.ndarray) -> np.ndarray:
    return np.repeat(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[..., None], 3, 2)


def _u_and_v_exchanged(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2YUV)[..., [0, 2, 1]], cv2.COLOR_YUV2BGR)


def _padded_rows(image: np.ndarray) -> np.ndarray:
    tall, wide, _ = image.shape
    rows = np.zeros((tall, -(-wide * 3 // 64) * 64), np.uint8)
    rows[:, : wide * 3] = image.reshape(tall, -1)
    return rows.reshape(-1)[: image.size].reshape(image.shape)


def _bytes_of_pixels(image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    """The pixels as they are, where int8 with zero point -128 is read."""
    return (nl.Preprocessor(spec, **declared)(image)[0].view(np.uint8) ^ 128).view(np.int8)


def _int8(model: Model) -> nl.TensorSpec:
    return nl.TensorSpec(model.shape, "NHWC", "int8", quantization=nl.Quantization(1 / 255, -128), name="image")


def _blue_border(image: np.ndarray) -> np.ndarray:
    """A square frame whose border is 114 in one of three channels."""
    tall, wide, _ = image.shape
    above = (wide - tall) // 2
    return cv2.copyMakeBorder(image, above, wide - tall - above, 0, 0, cv2.BORDER_CONSTANT, value=(114, 0, 0))


_LAYOUTS = (
    Thread(
        "airockchip/rknn_model_zoo/issues/156",
        "RK3568, zero copy: no valid detection once the output is declared as NCHW int8",
        "the buffer stays NC1HWC2 with blocks of 8",
        "maps",
        _short("block16_as_nchw", readings=_block_of("NCHW8c", "NCHW")),
        noise="qdq",
    ),
    Thread(
        "airockchip/rknn_model_zoo/issues/448",
        "RV1106, zero copy: the attributes of the ordinary output are used for the native one",
        "the native output is NHWC with a padded pixel",
        "maps",
        _short("pixel_pitch_ignored"),
    ),
    Thread(
        "alibaba/MNN/issues/415",
        "the order of an output's values is another one after it was read from the host tensor",
        "MNN's blocks of four channels are read as planes",
        "maps",
        _short("block4_as_nchw"),
        "float32",
        "40",
    ),
    Thread(
        "Tencent/ncnn/issues/1014",
        "a convolution seems wrong, only where width times height is no multiple of four",
        "channels of an ncnn Mat are padded (cstep)",
        "gray",
        _short("plane_pitch_ignored"),
        "float32",
        "40",
    ),
    Thread(
        "onnx/tensorflow-onnx/issues/1986",
        "TensorRT's engine takes NCHW, and returns NHWC",
        "the converter turned the input alone",
        "segmentation",
        _short("nhwc_as_nchw"),
        "float16",
        "40",
    ),
    Thread(
        "airockchip/rknn-toolkit2/issues/530",
        "a TFLite model with NHWC on both ends returns NCHW on the board",
        "the runtime's usual output layout",
        "segmentation",
        _short("nchw_as_nhwc"),
    ),
    Thread(
        "aftershootco/mnn-rs/issues/13",
        "the output agrees only if every dimension type is TENSORFLOW",
        "NHWC is read as NCHW",
        "regions",
        _short("nhwc_as_nchw", frames=(2, 2)),
        "float32",
        "40",
    ),
    Thread(
        "ultralytics/ultralytics/issues/17462",
        "C++: far too many boxes, confidences in the hundreds",
        "(1, 5, 8400) is read as rows of one box each",
        "yolo8",
        _short("nchw_as_nhwc"),
        "float32",
        "40",
    ),
)


_INTEGERS = (
    Thread(
        "ultralytics/ultralytics/issues/1683",
        "Edge TPU: boxes are right, scores are -128 or -127 and nothing else",
        "one scale for boxes in pixels and scores of 0 to 1",
        "yolo8",
        _short("dead_scores", accept=frozenset(), dtypes=("int8",)),
        noise="40",
        words="a scale of their own",
    ),
    Thread(
        "tensorflow/tensorflow/issues/53278",
        "an int8 TFLite model returns values that have nothing to do with the model's",
        "the integers were compared without scale and zero point",
        "maps",
        _short("zero_point_ignored", readings=partial(_raw_integers, nl.Quantization(1.0, 0))),
        noise="qdq",
    ),
    Thread(
        "https://community.hailo.ai/t/inference-output-dtype-leads-to-different-results/6719",
        "Hailo-8: float output agrees to 45 dB, uint8 output to 28 dB",
        "the bytes were divided by 255 in place of scale and zero point",
        "segmentation",
        _short("zero_point_ignored", readings=partial(_raw_integers, nl.Quantization(1 / 255, 0)), dtypes=("uint8",)),
        "uint8",
    ),
    Thread(
        "tensorflow/tensorflow/pull/34537",
        "label_image has no sensible scores for an int8 model",
        "int8 codes were read like uint8 ones",
        "classifier",
        _short("int8_as_uint8", frames=(16, 16)),
    ),
    Thread(
        "hailo-ai/Hailo-Application-Code-Examples/issues/359",
        "x and y are exchanged in boxes that the code calls x1, y1, x2, y2",
        "the device returns y1, x1, y2, x2",
        "yolo8",
        _short("channels_shuffled", channels=_y_before_x),
        "float32",
    ),
    Thread(
        "rockchip-linux/rknn-toolkit/issues/402",
        "RV1126, 8 bits: the sigmoid's input is right, its output is zero everywhere",
        "not settled in the thread; here, the output is zero",
        "gray",
        _short("dead_outputs", accept=frozenset()),
        noise="40",
    ),
    Thread(
        "snowzach/doods2/issues/108",
        "Edge TPU: every label is the one of the class before",
        "the classes are moved by one",
        "classifier",
        _short("channels_rolled", frames=(16, 16)),
    ),
)


_INPUTS_IN_THE_DEVICE = (
    Thread(
        "openvinotoolkit/openvino/issues/1841",
        "YOLO in OpenVINO finds less than in Darknet",
        "RGB model, BGR frames: --reverse_input_channels is missing",
        "segmentation",
        _short("bgr"),
    ),
    Thread(
        "airockchip/rknn_model_zoo/issues/390",
        "RetinaFace: the example gives the NPU RGB, with the mean in that order",
        "the model was trained with BGR",
        "sparse",
        _short("bgr_after"),
    ),
    Thread(
        "opencv/opencv/issues/9625",
        "GoogLeNet is less sure than it should be",
        "Caffe's models read BGR; the sample exchanged red and blue",
        "sparse",
        _short("bgr"),
        "float32",
    ),
    Thread(
        "ailia-ai/ailia-models/issues/737",
        "BGR is normalised by the mean and std of RGB",
        "mean and std are in the opposite order",
        "segmentation",
        _short("mean_std_opposite"),
    ),
    Thread(
        "Tencent/ncnn/issues/4762",
        "results are wrong in ncnn after normalising by 0.485 and 0.229",
        "ncnn multiplies by the second number, and its pixels are of 0 to 255",
        "segmentation",
        _short("multiplied", done=_std_of_units_multiplied),
    ),
    Thread(
        "airockchip/rknn-toolkit2/issues/526",
        "a model with int8 input gets the camera's uint8",
        "pixels above 127 are clamped",
        "segmentation",
        _short("input_clamped"),
        words="127",
    ),
    Thread(
        "NVIDIA/VideoProcessingFramework/pull/278",
        "NV12 becomes BGR whatever its colour space is",
        "BT.709 is read as BT.601",
        "segmentation",
        _short("input_bt709"),
        words="BT.709 read as those of BT.601",
    ),
    Thread(
        "microsoft/onnxruntime/issues/5819",
        "the advice for a model of planes is transpose (0, 3, 2, 1)",
        "that exchanges rows and columns, too",
        "yolo",
        _short("input_transposed"),
        words="transposed",
    ),
    Thread(
        "kendryte/nncase/issues/434",
        "a model is right in the simulator, and returns small values on the K210",
        "the picture was letterboxed for the simulator alone",
        "yolo",
        _short("stretched"),
        noise="30",
    ),
    Thread(
        "4uiiurz1/pytorch-nested-unet/issues/62",
        "UNet in TensorRT differs much from PyTorch",
        "255 is divided by once more after the normalisation",
        "segmentation",
        _short("divided_after"),
    ),
    Thread(
        "ultralytics/yolov5/issues/5408",
        "YOLOv5 in OpenVINO returns nothing usable",
        "the frame was not divided by 255",
        "yolo",
        _short("raw_pixels"),
        "float32",
    ),
    Thread(
        "sophgo/sophon-demo/issues/51",
        "BM1684X: coefficients of conversion script and program do not fit each other",
        "the mean was given in units of the deviation, 2.1 for 123.7",
        "segmentation",
        _short("mean_forgotten", done=_mean_in_units),
    ),
    Thread(
        "linghu8812/tensorrt_inference/issues/27",
        "NanoDet in TensorRT: mean and deviation are the same numbers",
        "the deviation is read from the mean's key",
        "segmentation",
        _short("std_forgotten", done=_with_std_of_mean),
        "float32",
    ),
    Thread(
        "openvinotoolkit/openvino/issues/3909",
        "an ONNX model returns other class numbers in OpenVINO than before",
        "the input was declared NHWC for a model of NCHW",
        "maps",
        _short("input_nhwc_as_nchw"),
    ),
    Thread(
        "airockchip/rknn-toolkit2/issues/344",
        "results are wrong with two of three pairs of shape and data_format",
        "planes were given where the runtime reads pixels",
        "folded",
        _short("input_nchw_as_nhwc"),
    ),
    Thread(
        "opencv/opencv/issues/14414",
        "YOLOv3-tiny finds nothing in OpenCV, and well in Darknet",
        "the frame was stretched, not letterboxed",
        "yolo",
        _short("stretched"),
    ),
    Thread(
        "zyy-cn/darknet_interface/pull/4",
        "detections differ from another Darknet's",
        "the frame was letterboxed, not stretched",
        "yolo",
        _short("letterboxed"),
    ),
    Thread(
        "marcoslucianops/DeepStream-Yolo/pull/262",
        "YOLOv5 in DeepStream is a little worse than in PyTorch",
        "nvinfer puts the picture at the top left",
        "segmentation",
        _short("top_left"),
    ),
    Thread(
        "ultralytics/ultralytics/issues/23166",
        "LiteRT's support library pads with black",
        "the model knows a border of 114",
        "yolo",
        _short("border_black"),
    ),
    Thread(
        "jocover/jetson-ffmpeg/issues/68",
        "Jetson's decoder says full range, the picture is washed out",
        "values of 16 to 235 are read as 0 to 255",
        "segmentation",
        _short("video_range"),
    ),
)


_ORDERS_AND_FRAMES = (
    Thread(
        "tensorflow/tensorflow/issues/20962",
        "TFLite's SSD returns classes where its documentation has scores",
        "outputs of equal shape are exchanged",
        "twins",
        _short("exchanged_equal"),
    ),
    Thread(
        "NVIDIA/TensorRT/issues/1042",
        "onnxruntime returns the outputs in another order than TensorRT",
        "the engine lists its outputs in an order of its own",
        "twins",
        _short("rotated"),
        "float16",
    ),
    Thread(
        "triton-inference-server/server/issues/3859",
        "Triton's own configuration of a model has its two outputs in the wrong order",
        "outputs of other shape are exchanged",
        "yolo",
        _short("exchanged_unequal"),
    ),
    Thread(
        "PINTO0309/OpenVINO-YoloV3/issues/45",
        "boxes lag behind the picture",
        "asynchronous inference: the results are those of the frame before",
        "maps",
        _short("late_one", frames=(8, 8)),
    ),
    Thread(
        "blakeblackshear/frigate/pull/17159",
        "a detector with a queue: the results may be those of an earlier frame",
        "results are two frames late",
        "maps",
        _short("late_two", frames=(8, 8)),
    ),
    Thread(
        "linghu8812/tensorrt_inference/pull/129",
        "TensorRT runs before the picture is copied",
        "each output is of the picture before",
        "segmentation",
        _short("late_one", frames=(8, 8)),
        "float32",
    ),
    Thread(
        "immich-app/immich/issues/31142",
        "RKNN in a pool of threads: a caller gets another one's result",
        "outputs are of other frames, in no order",
        "maps",
        _short("frames_shuffled", accept=frozenset(), frames=(8, 8)),
    ),
    Thread(
        "sophgo/sophon-demo/issues/75",
        "BM1684X: sometimes the result of one thread appears in another",
        "launched without waiting for its end: here, one output of eight is another frame's",
        "maps",
        _short("frame_again", device="", times=_one_of_another, accept=frozenset(), frames=(8, 8)),
        words="Frame 5 has the output of frame 2",
    ),
    Thread(
        "nnstreamer/nnstreamer/pull/4379",
        "ncnn in a pipeline: the first frame's output is never written",
        "its size is computed before there is an output",
        "maps",
        _short("frame_again", device="first_frame_unwritten", accept=frozenset(), frames=(8, 8)),
        "float32",
        words="Frame 0",
    ),
)


_GEOMETRY = (
    Thread(
        "tucan9389/PoseEstimation-CoreML/issues/22",
        "the left hand is raised, the skeleton's right one moves",
        "the heat maps are mirrored",
        "maps",
        _short("mirrored"),
        words="mirrored",
    ),
    Thread(
        "onnx/onnx-tensorrt/issues/457",
        "TensorRT 7: the mask is like PyTorch's, but moved and smaller",
        "Resize is done asymmetrically, not with half pixels",
        "segmentation",
        _short("resized_asymmetric"),
        "float32",
        "40",
        words="asymmetric",
    ),
    Thread(
        "onnx/onnx-tensorrt/issues/732",
        "TensorRT 7.2: the enlarged output differs from PyTorch's",
        "Resize has another rule for the corners",
        "segmentation",
        _short("resized_align_corners"),
        "float32",
        "40",
        words="align_corners",
    ),
    Thread(
        "onnx/tensorflow-onnx/issues/2366",
        "a segmentation mask of 640 pixels is 15 pixels off in both directions",
        "each of four enlargements moves by a part of a pixel",
        "segmentation",
        _short("shifted_2"),
        words="shifted",
    ),
)


_ACTIVATIONS = (
    Thread(
        "rockchip-linux/rknn-toolkit2/issues/155",
        "YOLOv5 on RKNN: many boxes, negative numbers",
        "the sigmoid is in the graph, and was computed once more",
        "yolo",
        _short("sigmoid_added"),
        noise="40",
        words="sigmoid",
    ),
    Thread(
        "rockchip-linux/rknn-toolkit2/issues/224",
        "RK3566: scores are larger than 1, boxes are in wrong places",
        "the converted model lacks the sigmoid at its end",
        "maps",
        _short("sigmoid_added", device="logits"),
        "float32",
        "40",
        words="sigmoid",
    ),
    Thread(
        "yyccR/yolov5-ncnn-android/issues/1",
        "confidences are too low",
        "the objectness alone went through the sigmoid twice",
        "maps",
        _short("sigmoid_added", device="sigmoid_of_one"),
        "float32",
        "40",
        words="sigmoid",
    ),
    Thread(
        "open-mmlab/mmaction2/issues/552",
        "TensorRT's scores are not between 0 and 1",
        "one side ends with a softmax, the other does not",
        "classifier",
        _short("softmax_added", frames=(16, 16)),
        "float32",
        "40",
        words="softmax",
    ),
    Thread(
        "ultralytics/ultralytics/pull/1695",
        "int8 TFLite: all boxes are in the upper left corner, scores are right",
        "boxes of 0 to 1 are read as pixels",
        "yolo8",
        _short("boxes_of_one"),
        "float32",
        "40",
        words="in pixels",
    ),
    Thread(
        "ZhaoJ9014/face.evoLVe/issues/23",
        "faces' vectors of one code path have another length",
        "the L2 normalisation is missing on one side",
        "embedding",
        _short("l2_added"),
        "float32",
        "40",
        words="L2",
    ),
    Thread(
        "sophgo/tpu-mlir/issues/165",
        "BM1684X, bf16: the output is nan everywhere",
        "the compiled model computes no numbers",
        "gray",
        _short("dead_channel", device="not_numbers", accept=frozenset(), dtypes=("bfloat16",)),
        "bfloat16",
        words="NaN",
    ),
    Thread(
        "NVIDIA/TensorRT/issues/1954",
        "TensorRT 8: the results explode to inf",
        "a normalisation overflows float16",
        "gray",
        _short("dead_channel", device="overflowed", accept=frozenset()),
        "float16",
        words="inf",
    ),
)


_INPUTS_OF_THE_SCRIPT = (
    Thread(
        "csharpseattle/tensorflowiOS/issues/10",
        "iOS: better after exchanging red and blue",
        "the script writes BGR, the model reads RGB",
        "segmentation",
        Fed("preprocessing", partial(_other_arguments, color="BGR"), {"color": "BGR"}),
    ),
    Thread(
        "tensorflow/tensorflow/issues/35072",
        "what belongs into an int8 input is hard to find out",
        "128 was not subtracted from the pixels",
        "yolo",
        Fed("input_layout", _bytes_of_pixels, None, _int8),
        words="int8",
    ),
    Thread(
        "Tencent/ncnn/issues/5685",
        "inputs of ones agree with ONNX, pictures do not",
        "the picture's rows are not contiguous",
        "segmentation",
        Fed("input_layout", partial(_of, _padded_rows), size_wh=(150, 240)),
        words="padding",
    ),
    Thread(
        "microsoft/onnxruntime/issues/1204",
        "squeezenet takes a cheetah of four channels for a mosquito net",
        "not settled in the thread; here, bytes of RGBA are read as of RGB",
        "segmentation",
        Fed("input_layout", partial(_of, _with_alpha)),
        words="four bytes",
    ),
    Thread(
        "NVIDIA/retinanet-examples/issues/55",
        "C++: wrong results unless the input is square",
        "width and height are exchanged in resize",
        "segmentation",
        Fed("input_layout", _exchanged_sides),
        words="in place of",
    ),
    Thread(
        "abdelaziz-mahdy/pytorch_lite/issues/80",
        "iOS: detection in the camera's stream fails",
        "frames are rotated by 90 degrees",
        "segmentation",
        Fed("geometry", partial(_of, np.rot90)),
        words="90",
    ),
    Thread(
        "googlesamples/mlkit/issues/396",
        "CameraX, front camera: landmarks are mirrored",
        "frames are mirrored",
        "segmentation",
        Fed("geometry", partial(_of, np.fliplr)),
        words="mirrored",
    ),
    Thread(
        "inaturalist/vision-camera-plugin-inatvision/pull/102",
        "Android classifies worse than iOS does",
        "rows and columns of the input are exchanged",
        "yolo",
        Fed("geometry", _transposed),
        words="exchanged",
    ),
    Thread(
        "tensorflow/tensorflow/issues/62717",
        "Android example: colours seem to have no influence",
        "the Y plane alone reaches the model",
        "segmentation",
        Fed("preprocessing", partial(_of, _gray)),
        words="gray",
    ),
    Thread(
        "facebookarchive/AICamera/issues/21",
        "none of the five best labels is ever right on one device",
        "the camera's YUV is decoded wrongly; here, with U and V exchanged",
        "segmentation",
        Fed("preprocessing", partial(_of, _u_and_v_exchanged)),
        words="U and V",
    ),
    Thread(
        "ultralytics/ultralytics/issues/19894",
        "the C++ example's letterbox has a blue border",
        "114 is given for one of three channels",
        "yolo",
        Fed("preprocessing", partial(_of, _blue_border), {"pad_value": [0.0, 0.0, 114.0]}),
    ),
)


THREADS = (
    *_LAYOUTS,
    *_INTEGERS,
    *_INPUTS_IN_THE_DEVICE,
    *_ORDERS_AND_FRAMES,
    *_GEOMETRY,
    *_ACTIVATIONS,
    *_INPUTS_OF_THE_SCRIPT,
)
