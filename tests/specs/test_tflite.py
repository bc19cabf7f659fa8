"""TFLite's tensor details as the interpreter hands them out, old and new, and what is missing or wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl


def test_tflite_details_of_all_outputs_at_once() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"^TFLite details has no field 'shape'; got a list of 1: give one of"):
        nl.specs.from_tflite([coral()])


def coral(**change: Any) -> dict[str, Any]:
    """As ``interpreter.get_output_details()[0]`` of LiteRT gives it."""
    return {
        "name": "StatefulPartitionedCall:0",
        "index": 3,
        "shape": np.array([1, 20, 20, 17], np.int32),
        "shape_signature": np.array([1, 20, 20, 17], np.int32),
        "dtype": np.uint8,
        "quantization": (0.5, 128),
        "quantization_parameters": {
            "scales": np.array([0.5], np.float32),
            "zero_points": np.array([128], np.int32),
            "quantized_dimension": 0,
        },
        "sparsity_parameters": {},
        **change,
    }


def test_tflite() -> None:
    spec = nl.specs.from_tflite(coral())
    assert (spec.shape, spec.axes, spec.dtype, spec.name) == (
        (1, 20, 20, 17),
        "NHWC",
        "uint8",
        "StatefulPartitionedCall:0",
    )
    assert spec.quantization == nl.Quantization(0.5, 128)
    assert spec.unpack(np.full(20 * 20 * 17, 130, np.uint8)).max() == 1.0
    assert spec.unpack(bytes(20 * 20 * 17), to="NCHW").shape == (1, 17, 20, 20)


def test_tflite_per_axis_old_and_not_quantised() -> None:
    many = {"scales": np.arange(1, 18) / 16, "zero_points": np.zeros(17, int), "quantized_dimension": 3}
    spec = nl.specs.from_tflite(coral(dtype=np.int8, quantization=(0.0, 0), quantization_parameters=many))
    assert spec.quantization is not None and spec.quantization.axis == 3
    assert spec.unpack(np.ones(20 * 20 * 17, np.int8))[0, 0, 0].tolist() == (np.arange(1, 18) / 16).tolist()
    old = coral(quantization=(0.25, 3))
    del old["quantization_parameters"]
    assert nl.specs.from_tflite(old).quantization == nl.Quantization(0.25, 3)
    nothing = {"scales": np.array([]), "zero_points": np.array([]), "quantized_dimension": 0}
    for details in (
        coral(quantization=(0.0, 0), quantization_parameters=nothing),
        coral(dtype=np.float32),
        coral(quantization=(0.0, 0), quantization_parameters={**nothing, "scales": np.zeros(1), "zero_points": [0]}),
    ):
        assert nl.specs.from_tflite(details).quantization is None


def test_tflite_scalars() -> None:
    spec = nl.specs.from_tflite(coral(shape=np.array([], np.int32)))
    assert spec.shape == (1,) and spec.unpack(np.array(130, np.uint8)).tolist() == [1.0]


@pytest.mark.parametrize("shape", [(5,), (5, 4), (5, 4, 3), (2, 2, 2, 2, 2), (2,) * 8])
def test_tflite_ranks(shape: tuple[int, ...]) -> None:
    spec = nl.specs.from_tflite(coral(shape=shape, dtype=np.float32))
    x = np.arange(np.prod(shape), dtype=np.float32)
    np.testing.assert_array_equal(spec.unpack(x), x.reshape(shape))


@pytest.mark.parametrize(
    ("change", "says"),
    [({"shape": (1,) * 9}, "0 to 8 dimensions"), ({"shape": (1, -1, 3)}, "1 or more"),
     ({"dtype": np.int8, "quantization_parameters": {}, "quantization": (0.5, 200)},
      "TFLite tensor 'StatefulPartitionedCall:0': zero point 200 is outside int8 .-128 to 127., .* "
      "int8 and uint8 may be"),
     ({"quantization_parameters": {"scales": [1, 1], "zero_points": [0, -1], "quantized_dimension": 1}}, "point -1"),
     ({"dtype": None}, "'dtype'"), ({"dtype": np.complex64}, "complex64"), ({"quantization_parameters": 5}, "got 5")],
)  # fmt: skip
def test_tflite_refusals(change: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_tflite(coral(**change))


@pytest.mark.parametrize("rank", range(1, 9))
def test_axes_of_each_rank(rank: int) -> None:
    """The channels are last where TFLite has them; other ranks have letters without a meaning."""
    shape = tuple(range(2, 2 + rank))
    spec = nl.specs.from_tflite(coral(shape=shape, dtype=np.float32))
    assert spec.axes == {2: "NC", 3: "NWC", 4: "NHWC", 5: "NDHWC"}.get(rank, "ABCDEFGH"[:rank])
    assert (spec.shape, str(spec.layout)) == (shape, spec.axes)


def test_zero_points_that_are_not_given_are_0() -> None:
    one = {"scales": [0.5], "zero_points": [], "quantized_dimension": 0}
    assert nl.specs.from_tflite(coral(quantization_parameters=one)).quantization == nl.Quantization(0.5, 0)
    many = {"scales": np.arange(1.0, 18), "quantized_dimension": 3}
    quantization = nl.specs.from_tflite(coral(quantization_parameters=many)).quantization
    assert quantization == nl.Quantization(np.arange(1.0, 18), 0, 3)
    last = nl.specs.from_tflite(coral(quantization_parameters={"scales": np.arange(1.0, 18)})).quantization
    assert last == quantization  # the last axis, if none is given, and it is not the first one
    first = {"shape": [5, 5], "dtype": np.int8, "quantization_parameters": {"scales": np.arange(1.0, 6)}}
    assert nl.specs.from_tflite(first).quantization == nl.Quantization(np.arange(1.0, 6), 0, 0)
    signed = {"scales": np.full(17, 0.5), "zero_points": np.arange(17) - 8, "quantized_dimension": 3}
    spec = nl.specs.from_tflite(coral(dtype=np.int8, quantization_parameters=signed))
    assert spec.quantization == nl.Quantization([0.5] * 17, list(range(-8, 9)), 3)


def test_details_without_a_quantization() -> None:
    bare = {"shape": [2, 3], "dtype": np.int8}
    assert nl.specs.from_tflite(bare) == nl.TensorSpec((2, 3), "NC", "int8")
    halves = {"scales": [0.0, 0.5], "zero_points": [1, 2], "quantized_dimension": 0}
    with pytest.raises(nl.NpuLayoutError, match="expected positive"):
        nl.specs.from_tflite({**bare, "quantization_parameters": halves})
