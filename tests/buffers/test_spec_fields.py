"""TensorSpec.of_storage and .replace."""

from __future__ import annotations

import itertools
import random
import warnings
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.buffers.test_random_conversions import random_spec


def test_a_shape_in_storage_order() -> None:
    spec = nl.TensorSpec.of_storage((1, 80, 80, 255), "NHWC", "uint8", quantization=nl.Quantization(0.5, 3), name="y")
    quantization = nl.Quantization(0.5, 3)
    assert spec == nl.TensorSpec((1, 80, 80, 255), "NHWC", "uint8", axes="NHWC", quantization=quantization, name="y")
    flat = np.arange(2 * 3 * 4 * 5, dtype=np.uint8)
    for order in map("".join, itertools.permutations("NCHW")):
        if order in ("CWHN", "WHCN"):  # refused as tags: vendors list these axes fastest first
            continue
        stored = nl.TensorSpec.of_storage((2, 3, 4, 5), order, "uint8")
        assert np.array_equal(stored.unpack(flat), flat.reshape(2, 3, 4, 5)), order
        logical = nl.TensorSpec.of_storage((2, 3, 4, 5), order, "uint8", axes="NCHW")
        turned = flat.reshape(2, 3, 4, 5).transpose([order.index(letter) for letter in "NCHW"])
        assert np.array_equal(logical.unpack(flat), turned), order


def test_a_padded_shape_in_storage_order() -> None:
    stored = np.arange(6 * 8 * 8, dtype=np.uint8).reshape(1, 6, 8, 8)
    spec = nl.TensorSpec.of_storage((1, 6, 8, 8), "NHWC", "uint8", shape=(1, 6, 7, 6))  # rows, columns, channels
    assert np.array_equal(spec.unpack(stored.reshape(-1)), stored[:, :, :7, :6])
    turned = nl.TensorSpec.of_storage((1, 6, 8, 8), "NHWC", "uint8", shape=(1, 6, 6, 7), axes="NCHW")
    assert np.array_equal(turned.unpack(stored.reshape(-1)), stored[:, :, :7, :6].transpose(0, 3, 1, 2))


def test_blocks_need_the_logical_shape() -> None:
    spec = nl.TensorSpec.of_storage((1, 16, 80, 80, 16), "NCHW16c", "int8", shape=(1, 255, 80, 80))
    assert spec == nl.TensorSpec((1, 255, 80, 80), "NCHW16c", "int8")
    padded = nl.TensorSpec.of_storage((1, 17, 80, 80, 16), "NCHW16c", "int8", shape=(1, 255, 80, 80))
    assert padded.storage_shape == (1, 17, 80, 80, 16)
    with pytest.raises(nl.LayoutError, match=r"stored: layout NCHW16c has blocks, .* give shape=, in the order NCHW"):
        nl.TensorSpec.of_storage((1, 16, 80, 80, 16), "NCHW16c")
    with pytest.raises(nl.LayoutError, match=r"stored: layout NHWC has 4 storage dimensions; the shape .* has 3"):
        nl.TensorSpec.of_storage((80, 80, 255), "NHWC")
    with pytest.raises(nl.LayoutError, match=r"storage_shape \(1, 15, 80, 80, 16\) does not fit"):
        nl.TensorSpec.of_storage((1, 15, 80, 80, 16), "NCHW16c", shape=(1, 255, 80, 80))


def test_the_warning_names_both_spellings() -> None:
    with pytest.warns(
        UserWarning, match=r"C=80, H=80, W=255.*of_storage\(\(1, 80, 80, 255\), 'NHWC'\).*axes='NCHW'"
    ) as all:
        nl.TensorSpec((1, 80, 80, 255), "NHWC")
    assert [w.filename for w in all] == [__file__]


@pytest.mark.parametrize(
    "shape, layout, axes",
    [
        ((1, 80, 80, 255), "NHWC", "NCHW"),
        ((1, 80, 80, 255), "NHWC", "NHWC"),
        ((1, 80, 80, 255), nl.Layout("NHWC"), None),
        ((1, 80, 80, 255), "NCHW", None),
        ((1, 57, 46, 46), "NHWC", None),
        ((1, 80, 80, 80), "NHWC", None),
        ((1, 3, 80, 80), "NHWC", None),
        ((80, 255), "NC", None),
        ((1, 8, 8, 24), "NHWC8c", None),
    ],
)
def test_no_warning_where_it_is_plausible_or_stated(shape: Any, layout: Any, axes: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = nl.TensorSpec(shape, layout, axes=axes)
        assert eval(repr(spec), {"TensorSpec": nl.TensorSpec}) == spec == nl.TensorSpec.from_dict(spec.to_dict())


def test_replace_changes_one_field() -> None:
    spec = nl.TensorSpec((1, 3, 4, 5), "NHWC", "uint8", quantization=nl.Quantization(0.5, 3), name="x", channels="BGR")
    assert spec.replace() == spec
    assert spec.replace(dtype="int8").dtype == "int8" and spec.replace(dtype="int8").channels == "BGR"
    assert spec.replace(quantization=None).quantization is None
    assert spec.replace(name="y").name == "y" and spec.name == "x"
    turned = spec.replace(layout="NCHW16c")
    assert turned == nl.TensorSpec(
        (1, 3, 4, 5), "NCHW16c", "uint8", quantization=nl.Quantization(0.5, 3), name="x", channels="BGR"
    )
    stored = nl.TensorSpec.of_storage((1, 4, 5, 3), "NHWC", "uint8")
    assert stored.replace(layout="NCHW").axes == "NHWC" and stored.replace(layout=nl.Layout("NCHW")).axes == "NCHW"
    assert spec.replace(shape=(1, 3, 8, 8)).size == 192


def test_replace_never_keeps_a_place_of_another_order() -> None:
    pitched = nl.TensorSpec((1, 3, 4, 5), "NCHW", "uint8", storage_strides=(96, 32, 8, 1))
    assert pitched.replace(dtype="int8").storage_strides == (96, 32, 8, 1)
    for fields in ({"layout": "NHWC"}, {"shape": (1, 3, 4, 4)}, {"axes": "NHWC"}):
        with pytest.raises(nl.LayoutError, match=r"replace: .* its own storage_strides, size: give them too"):
            pitched.replace(**fields)
    dense = pitched.replace(layout="NHWC", storage_strides=None, size=None)
    assert dense == nl.TensorSpec((1, 3, 4, 5), "NHWC", "uint8")
    with pytest.raises(nl.NpuLayoutError, match="replace: no field 'colour'; expected shape, layout"):
        pitched.replace(colour="BGR")


def test_replace_of_random_specs() -> None:
    """Every field, replaced by its own value, is the same spec; another name and back too."""
    rng = random.Random(0)
    for _ in range(300):
        spec = random_spec(rng)
        for name in ("dtype", "quantization", "name", "channels", "storage_shape", "storage_strides", "size"):
            assert spec.replace(**{name: getattr(spec, name)}) == spec, (spec, name)
        assert spec.replace(name="other").replace(name=spec.name) == spec


def test_what_elements_mean_is_replaced_as_if_the_spec_were_made_anew() -> None:
    """Where they are is not computed again; what the constructor refuses is refused, and nothing is shared."""
    one, other = nl.Quantization(0.5, 3), nl.Quantization([0.1, 0.2, 0.3], 0, axis=1)
    spec = nl.TensorSpec((1, 3, 4, 5), "NHWC", "int8", quantization=one, storage_strides=(96, 24, 4, 1), size=99)
    flat = spec.pack(np.arange(60, dtype=np.int8).reshape(spec.shape))
    before = spec.unpack(flat)
    for fields in ({"quantization": other}, {"quantization": None, "name": "y"}, {"channels": "BGR"}, {}):
        made = spec.replace(**fields)
        anew = nl.TensorSpec.from_dict({**spec.to_dict(), **fields})
        assert made == anew and repr(made) == repr(anew) and made.axes == spec.axes == "NCHW"
        np.testing.assert_array_equal(made.unpack(flat), anew.unpack(flat))
    np.testing.assert_array_equal(spec.unpack(flat), before)
    for fields, says in (
        ({"quantization": nl.Quantization([1, 2], 0, 1)}, "2 scales"),
        ({"quantization": 0.5}, "expected a Quantization or None"),
        ({"name": 5}, "name: expected a string"),
        ({"channels": "GBR"}, "channels: expected"),
    ):
        with pytest.raises(nl.LayoutError, match=says):
            spec.replace(**fields)
