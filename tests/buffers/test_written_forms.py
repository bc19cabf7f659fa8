"""Specs as dicts and as text: each makes an equal spec again, and only what is not default is in the text."""

from __future__ import annotations

import json
from typing import Any

import pytest

import npu_layout as nl
from npu_layout.buffers.written_forms import spec_arguments

SPECS = [
    nl.TensorSpec((1, 3, 4, 5)),
    nl.TensorSpec((1, 17, 5, 4), "NCHW16c", "uint8", quantization=nl.Quantization(0.5, 3), name="heat"),
    nl.TensorSpec((1, 2, 3, 4), "NHWC", "int8", quantization=nl.Quantization([0.5, 0.25], [1, 2.5], axis=1)),
    nl.TensorSpec((2, 3), "NC", "float16", storage_strides=(8, 1), storage_offset=2, size=40),
    nl.TensorSpec((1, 3, 4, 5), "NCHW16c", "int4", storage_shape=(1, 2, 4, 5, 16)),
    nl.TensorSpec((4, 5, 3), "HWC", "uint8", axes="HWC"),
    nl.TensorSpec((2, 3, 4, 5), nl.Layout.plain("WHCN"), "int8"),
    nl.TensorSpec((), nl.Layout.of_rank(0), "int8"),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_text_makes_an_equal_spec(spec: nl.TensorSpec) -> None:
    names = {"TensorSpec": nl.TensorSpec, "Quantization": nl.Quantization, "Layout": nl.Layout}
    assert eval(repr(spec), names) == spec


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_dict_goes_through_json_and_makes_an_equal_spec(spec: nl.TensorSpec) -> None:
    written = json.loads(json.dumps(spec.to_dict()))
    assert nl.TensorSpec.from_dict(written) == spec == nl.TensorSpec(**spec_arguments(written))


def test_the_text_leaves_out_what_is_default() -> None:
    assert repr(SPECS[0]) == "TensorSpec((1, 3, 4, 5), 'NCHW', 'float32')"
    assert repr(SPECS[1]) == (
        "TensorSpec((1, 17, 5, 4), 'NCHW16c', 'uint8', quantization=Quantization(0.5, 3), name='heat')"
    )
    assert repr(SPECS[5]) == "TensorSpec((4, 5, 3), 'HWC', 'uint8', axes='HWC')"
    for field in ("storage_strides=(8, 1)", "storage_offset=2", "size=40"):
        assert field in repr(SPECS[3])


@pytest.mark.parametrize("bad", [None, [], {}, {"layout": "NCHW"}, {"shape": [1], "colour": 3}, {"shape": [1], 7: 1}])
def test_an_unknown_or_a_missing_key_is_refused(bad: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match="expected a dict with shape and any of shape, layout, dtype"):
        spec_arguments(bad)


def test_a_quantization_of_unknown_keys_is_refused() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"TensorSpec quantization: .*offset"):
        spec_arguments({"shape": [1], "quantization": {"scale": 1.0, "offset": 2}})
