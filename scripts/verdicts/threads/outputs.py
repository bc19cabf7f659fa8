"""Threads on how an output was stored, and on what its numbers are."""

from __future__ import annotations

from functools import partial

import npu_layout as nl

from ..rebuild import Thread
from . import planted

LAYOUTS = (
    Thread(
        "airockchip/rknn_model_zoo/issues/156",
        "RK3568, zero copy: no valid detection once the output is declared as NCHW int8",
        "the buffer stays NC1HWC2 with blocks of 8",
        "maps",
        planted.short("block16_as_nchw", readings=planted.block_of("NCHW8c", "NCHW")),
        noise="qdq",
    ),
    Thread(
        "airockchip/rknn_model_zoo/issues/448",
        "RV1106, zero copy: the attributes of the ordinary output are used for the native one",
        "the native output is NHWC with a padded pixel",
        "maps",
        planted.short("pixel_pitch_ignored"),
    ),
    Thread(
        "alibaba/MNN/issues/415",
        "the order of an output's values is another one after it was read from the host tensor",
        "MNN's blocks of four channels are read as planes",
        "maps",
        planted.short("block4_as_nchw"),
        "float32",
        "40",
    ),
    Thread(
        "Tencent/ncnn/issues/1014",
        "a convolution seems wrong, only where width times height is no multiple of four",
        "channels of an ncnn Mat are padded (cstep)",
        "gray",
        planted.short("plane_pitch_ignored"),
        "float32",
        "40",
    ),
    Thread(
        "onnx/tensorflow-onnx/issues/1986",
        "TensorRT's engine takes NCHW, and returns NHWC",
        "the converter turned the input alone",
        "segmentation",
        planted.short("nhwc_as_nchw"),
        "float16",
        "40",
    ),
    Thread(
        "airockchip/rknn-toolkit2/issues/530",
        "a TFLite model with NHWC on both ends returns NCHW on the board",
        "the runtime's usual output layout",
        "segmentation",
        planted.short("nchw_as_nhwc"),
    ),
    Thread(
        "aftershootco/mnn-rs/issues/13",
        "the output agrees only if every dimension type is TENSORFLOW",
        "NHWC is read as NCHW",
        "regions",
        planted.short("nhwc_as_nchw", frames=(2, 2)),
        "float32",
        "40",
    ),
    Thread(
        "ultralytics/ultralytics/issues/17462",
        "C++: far too many boxes, confidences in the hundreds",
        "(1, 5, 8400) is read as rows of one box each",
        "yolo8",
        planted.short("nchw_as_nhwc"),
        "float32",
        "40",
    ),
)


INTEGERS = (
    Thread(
        "ultralytics/ultralytics/issues/1683",
        "Edge TPU: boxes are right, scores are -128 or -127 and nothing else",
        "one scale for boxes in pixels and scores of 0 to 1",
        "yolo8",
        planted.short("dead_scores", accept=frozenset(), dtypes=("int8",)),
        noise="40",
        words="a scale of their own",
    ),
    Thread(
        "tensorflow/tensorflow/issues/53278",
        "an int8 TFLite model returns values that have nothing to do with the model's",
        "the integers were compared without scale and zero point",
        "maps",
        planted.short("zero_point_ignored", readings=partial(planted.raw_integers, nl.Quantization(1.0, 0))),
        noise="qdq",
    ),
    Thread(
        "https://community.hailo.ai/t/inference-output-dtype-leads-to-different-results/6719",
        "Hailo-8: float output agrees to 45 dB, uint8 output to 28 dB",
        "the bytes were divided by 255 in place of scale and zero point",
        "segmentation",
        planted.short(
            "zero_point_ignored", readings=partial(planted.raw_integers, nl.Quantization(1 / 255, 0)), dtypes=("uint8",)
        ),
        "uint8",
    ),
    Thread(
        "tensorflow/tensorflow/pull/34537",
        "label_image has no sensible scores for an int8 model",
        "int8 codes were read like uint8 ones",
        "classifier",
        planted.short("int8_as_uint8", frames=(16, 16)),
    ),
    Thread(
        "hailo-ai/Hailo-Application-Code-Examples/issues/359",
        "x and y are exchanged in boxes that the code calls x1, y1, x2, y2",
        "the device returns y1, x1, y2, x2",
        "yolo8",
        planted.short("channels_shuffled", channels=planted.y_before_x),
        "float32",
    ),
    Thread(
        "rockchip-linux/rknn-toolkit/issues/402",
        "RV1126, 8 bits: the sigmoid's input is right, its output is zero everywhere",
        "not settled in the thread; here, the output is zero",
        "gray",
        planted.short("dead_outputs", accept=frozenset()),
        noise="40",
    ),
    Thread(
        "snowzach/doods2/issues/108",
        "Edge TPU: every label is the one of the class before",
        "the classes are moved by one",
        "classifier",
        planted.short("channels_rolled", frames=(16, 16)),
    ),
)


ORDERS_AND_FRAMES = (
    Thread(
        "tensorflow/tensorflow/issues/20962",
        "TFLite's SSD returns classes where its documentation has scores",
        "outputs of equal shape are exchanged",
        "twins",
        planted.short("exchanged_equal"),
    ),
    Thread(
        "NVIDIA/TensorRT/issues/1042",
        "onnxruntime returns the outputs in another order than TensorRT",
        "the engine lists its outputs in an order of its own",
        "twins",
        planted.short("rotated"),
        "float16",
    ),
    Thread(
        "triton-inference-server/server/issues/3859",
        "Triton's own configuration of a model has its two outputs in the wrong order",
        "outputs of other shape are exchanged",
        "yolo",
        planted.short("exchanged_unequal"),
    ),
    Thread(
        "PINTO0309/OpenVINO-YoloV3/issues/45",
        "boxes lag behind the picture",
        "asynchronous inference: the results are those of the frame before",
        "maps",
        planted.short("late_one", frames=(8, 8)),
    ),
    Thread(
        "blakeblackshear/frigate/pull/17159",
        "a detector with a queue: the results may be those of an earlier frame",
        "results are two frames late",
        "maps",
        planted.short("late_two", frames=(8, 8)),
    ),
    Thread(
        "linghu8812/tensorrt_inference/pull/129",
        "TensorRT runs before the picture is copied",
        "each output is of the picture before",
        "segmentation",
        planted.short("late_one", frames=(8, 8)),
        "float32",
    ),
    Thread(
        "immich-app/immich/issues/31142",
        "RKNN in a pool of threads: a caller gets another one's result",
        "outputs are of other frames, in no order",
        "maps",
        planted.short("frames_shuffled", accept=frozenset(), frames=(8, 8)),
    ),
    Thread(
        "sophgo/sophon-demo/issues/75",
        "BM1684X: sometimes the result of one thread appears in another",
        "launched without waiting for its end: here, one output of eight is another frame's",
        "maps",
        planted.short("frame_again", device="", times=planted.one_of_another, accept=frozenset(), frames=(8, 8)),
        words="Frame 5 has the output of frame 2",
    ),
    Thread(
        "nnstreamer/nnstreamer/pull/4379",
        "ncnn in a pipeline: the first frame's output is never written",
        "its size is computed before there is an output",
        "maps",
        planted.short("frame_again", device="first_frame_unwritten", accept=frozenset(), frames=(8, 8)),
        "float32",
        words="Frame 0",
    ),
)


GEOMETRY = (
    Thread(
        "tucan9389/PoseEstimation-CoreML/issues/22",
        "the left hand is raised, the skeleton's right one moves",
        "the heat maps are mirrored",
        "maps",
        planted.short("mirrored"),
        words="mirrored",
    ),
    Thread(
        "onnx/onnx-tensorrt/issues/457",
        "TensorRT 7: the mask is like PyTorch's, but moved and smaller",
        "Resize is done asymmetrically, not with half pixels",
        "segmentation",
        planted.short("resized_asymmetric"),
        "float32",
        "40",
        words="asymmetric",
    ),
    Thread(
        "onnx/onnx-tensorrt/issues/732",
        "TensorRT 7.2: the enlarged output differs from PyTorch's",
        "Resize has another rule for the corners",
        "segmentation",
        planted.short("resized_align_corners"),
        "float32",
        "40",
        words="align_corners",
    ),
    Thread(
        "onnx/tensorflow-onnx/issues/2366",
        "a segmentation mask of 640 pixels is 15 pixels off in both directions",
        "each of four enlargements moves by a part of a pixel",
        "segmentation",
        planted.short("shifted_2"),
        words="shifted",
    ),
)


ACTIVATIONS = (
    Thread(
        "rockchip-linux/rknn-toolkit2/issues/155",
        "YOLOv5 on RKNN: many boxes, negative numbers",
        "the sigmoid is in the graph, and was computed once more",
        "yolo",
        planted.short("sigmoid_added"),
        noise="40",
        words="sigmoid",
    ),
    Thread(
        "rockchip-linux/rknn-toolkit2/issues/224",
        "RK3566: scores are larger than 1, boxes are in wrong places",
        "the converted model lacks the sigmoid at its end",
        "maps",
        planted.short("sigmoid_added", device="logits"),
        "float32",
        "40",
        words="sigmoid",
    ),
    Thread(
        "yyccR/yolov5-ncnn-android/issues/1",
        "confidences are too low",
        "the objectness alone went through the sigmoid twice",
        "maps",
        planted.short("sigmoid_added", device="sigmoid_of_one"),
        "float32",
        "40",
        words="sigmoid",
    ),
    Thread(
        "open-mmlab/mmaction2/issues/552",
        "TensorRT's scores are not between 0 and 1",
        "one side ends with a softmax, the other does not",
        "classifier",
        planted.short("softmax_added", frames=(16, 16)),
        "float32",
        "40",
        words="softmax",
    ),
    Thread(
        "ultralytics/ultralytics/pull/1695",
        "int8 TFLite: all boxes are in the upper left corner, scores are right",
        "boxes of 0 to 1 are read as pixels",
        "yolo8",
        planted.short("boxes_of_one"),
        "float32",
        "40",
        words="in pixels",
    ),
    Thread(
        "ZhaoJ9014/face.evoLVe/issues/23",
        "faces' vectors of one code path have another length",
        "the L2 normalisation is missing on one side",
        "embedding",
        planted.short("l2_added"),
        "float32",
        "40",
        words="L2",
    ),
    Thread(
        "sophgo/tpu-mlir/issues/165",
        "BM1684X, bf16: the output is nan everywhere",
        "the compiled model computes no numbers",
        "gray",
        planted.short("dead_channel", device="not_numbers", accept=frozenset(), dtypes=("bfloat16",)),
        "bfloat16",
        words="NaN",
    ),
    Thread(
        "NVIDIA/TensorRT/issues/1954",
        "TensorRT 8: the results explode to inf",
        "a normalisation overflows float16",
        "gray",
        planted.short("dead_channel", device="overflowed", accept=frozenset()),
        "float16",
        words="inf",
    ),
)
