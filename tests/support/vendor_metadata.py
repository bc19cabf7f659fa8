"""One good description of a tensor for each reader of `npu_layout.specs`, as the runtime reports it, JSON-ready."""

from __future__ import annotations

import copy
from typing import Any

EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rknn": (
        dict(name="heat", dims=[1, 5, 3, 3], fmt="NCHW", type="INT8", qnt_type="AFFINE", zp=-3, scale=0.1),
        dict(target="rk3588"),
    ),
    "tflite": (dict(name="y", shape=[1, 2, 2, 3], dtype="uint8", quantization=[0.5, 128]), {}),
    "openvino": (dict(names=["x"], shape=[1, 4, 3, 3], element_type="u8", layout="[N,H,W,C]"), {}),
    "ncnn": (dict(dims=3, w=3, h=3, d=1, c=2, elemsize=16, elempack=4, cstep=12), {}),
    "mnn": (dict(shape=[2, 5, 3, 3], dimension_type="CAFFE_C4", dtype="float"), {}),
    "depthai": (
        dict(
            name="y", order=0x4321, dataType="U8F", numDimensions=4, dims=[1, 5, 3, 3], strides=[0, 12, 4, 1],
            quantization=True, qpScale=0.5, qpZp=3.0,
        ),
        {},
    ),
    "hailo": (
        dict(
            name="heat", shape=dict(height=3, width=4, features=5), format=dict(type=1, order=3, flags=0),
            quant_info=dict(qp_scale=0.5, qp_zp=3.25),
        ),
        {},
    ),
    "executorch": (dict(sizes=[1, 5, 3, 3], dtype=6, nbytes=180, dim_order=[0, 2, 3, 1]), {}),
    "qnn": (
        dict(
            name="y", dimensions=[1, 3, 3, 5], rank=4, dataType=0x0408, dataFormat="QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER",
            quantizeParams=dict(
                definition="QNN_DEFINITION_DEFINED", quantizationEncoding="QNN_QUANTIZATION_ENCODING_SCALE_OFFSET",
                scaleOffset=dict(scale=0.5, offset=-41),
            ),
        ),
        {},
    ),
    "imx500": (
        dict(
            num_tensors=2,
            info=[
                dict(tensor_data_num=12, num_dimensions=2, size=[4, 3]),
                dict(tensor_data_num=3, num_dimensions=1, size=[3]),
            ],
        ),
        dict(index=1),
    ),
    "nnarchive": (
        dict(
            name="image", dtype="uint8", input_type="image", shape=[1, 3, 8, 6], layout="NCHW",
            preprocessing=dict(mean=[0, 0, 0], scale=[255, 255, 255], dai_type="RGB888p"),
        ),
        {},
    ),
    "hobot": (
        dict(
            validShape=dict(dimensionSize=[1, 4, 6, 5, 0, 0], numDimensions=4), tensorType="HB_DNN_TENSOR_TYPE_S8",
            quantiType=1, scale=dict(scaleLen=1, scaleData=[0.5], zeroPointLen=1, zeroPointData=[3]), quantizeAxis=-1,
            stride=[256, 64, 8, 1, 0, 0], alignedByteSize=256,
        ),
        dict(layout="NHWC"),
    ),
    "acl": (dict(name="heat", dims=[1, 2, 3, 3, 16], format=3, data_type=2, size=288), dict(shape=(1, 20, 3, 3))),
    "sophgo": (
        dict(
            name="net", is_dynamic=False, input_num=1, input_names=["x"], input_dtypes=[3], input_scales=[1.0],
            output_num=2, output_names=["y", "z"], output_dtypes=[2, "BM_FLOAT32"], output_scales=[0.5, 1.0],
            output_zero_point=[3, 0], max_output_bytes=[180, 12], stage_num=1,
            stages=[
                dict(
                    input_shapes=[[1, 3, 8, 6]],
                    output_shapes=[dict(num_dims=4, dims=[1, 5, 6, 6, 0, 0, 0, 0]), dict(num_dims=2, dims=[1, 3])],
                )
            ],
        ),
        dict(index=0),
    ),
    "axelera": (
        dict(
            name="x", shape=[1, 10, 12, 4], dtype="int8", padding=[[0, 0], [2, 3], [1, 5], [0, 1]], scale=0.5,
            zero_point=-14,
        ),
        {},
    ),
    "axera": (
        dict(
            pName="x", pShape=[1, 8, 6, 3], nShapeSize=4, eLayout=1, eDataType=1, nSize=144, pStride=None,
            pExtraMeta=dict(eColorSpace=7),
        ),
        {},
    ),
    "kneron": (
        dict(
            name="y", data_layout="ModelTensorDataLayout.KP_MODEL_TENSOR_DATA_LAYOUT_1W16C8B",
            tensor_shape_info=dict(version=1, v1=dict(shape_npu=[1, 20, 3, 5], shape_onnx=[1, 20, 3, 5])),
            quantization_parameters=dict(
                version=1,
                v1=dict(
                    quantized_axis=1, quantized_fixed_point_descriptor_list=[dict(radix=5, scale=dict(value=0.75))]
                ),
            ),
        ),
        dict(chip="KL720"),
    ),
    "viplite": (
        dict(
            num_of_dims=4, sizes=[5, 3, 4, 1, 0, 0], data_format=3, quant_format=2,
            quant_data=dict(affine=dict(scale=0.5, zeroPoint=-3), dfp=dict(fixed_point_pos=7)), memory_type=0,
        ),
        {},
    ),
    "ovxlib": (
        dict(
            size=[5, 3, 4, 1, 0, 0, 0, 0], dim_num=4, vtl=0, is_const=0,
            dtype=dict(fmt=0, vx_type=2, qnt_type=2, scale=0.5, zero_point=-3, fl=7),
        ),
        {},
    ),
    "tidl": (
        dict(
            numOutputBuf=2, outWidth=[5, 4], outHeight=[3, 1], outNumChannels=[4, 2], outDIM1=[1, 1], outDIM2=[1, 1],
            outNumBatches=[1, 1], outPadL=[1, 0], outPadT=[2, 0], outPadR=[0, 0], outPadB=[1, 0], outPadCh=[1, 0],
            outChannelPitch=[40, 4], outElementType=[1, 6], outTensorScale=[32.0, 1.0], outZeroPoint=[0, 0],
            outLayout=[0, 0], outBufSize=[200, 8], outDataName=["y", "z"],
        ),
        dict(index=0),
    ),
}  # fmt: skip

METADATA = {name: metadata for name, (metadata, _) in EXAMPLES.items()}


def example(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A copy of the metadata and of the keywords of a reader, to be changed."""
    return copy.deepcopy(EXAMPLES[name])
