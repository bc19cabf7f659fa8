"""TensorInfo of Axelera's runtime: its padding is in front too, and its zero point is the usual one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.vendor_metadata import example


def test_the_vendors_own_arithmetic() -> None:
    """What docs/reference/apis/axruntime-py.md does to an output: cut the padding off, subtract, multiply."""
    rng = np.random.default_rng(0)
    padding, scale, zero_point = [(0, 0), (2, 3), (1, 5), (0, 27)], 0.125, -9
    info = SimpleNamespace(
        name="y", shape=(2, 9, 12, 32), dtype=np.dtype(np.int8), padding=padding, scale=scale, zero_point=zero_point
    )
    spec = nl.specs.from_axelera(info)
    assert (spec.shape, spec.axes, spec.name) == ((2, 4, 6, 5), "NHWC", "y") and spec.nbytes == 2 * 9 * 12 * 32
    stored = rng.integers(-128, 128, info.shape, np.int8)
    cut = stored[tuple(slice(b, -e if e else None) for b, e in padding)]
    wanted = (cut.astype(np.float32) - zero_point) * scale
    assert np.array_equal(spec.unpack(stored.reshape(-1)), wanted)
    assert np.array_equal(spec.unpack(stored.reshape(-1), to="NCHW"), wanted.transpose(0, 3, 1, 2))
    assert np.array_equal(spec.view(stored.reshape(-1)), cut)


def test_an_input_whose_padding_is_the_zero_point() -> None:
    """The vendor's np.pad of the quantised picture is the view of a buffer that was filled with the zero point."""
    info = example("axelera")[0]
    spec = nl.specs.from_axelera(info)
    frame = np.random.default_rng(1).integers(0, 256, (5, 6, 3), np.uint8)
    preprocess = nl.Preprocessor(spec, color="BGR", mean=128, std=4, resize="stretch")
    buffer = np.full(info["shape"], info["zero_point"], np.int8).reshape(-1)
    spec.view(buffer)[:] = spec.view(preprocess(frame)[0])
    real = (frame[None].astype(np.float64) - 128) / 4
    quantised = np.clip(np.rint(real / info["scale"]) + info["zero_point"], -128, 127).astype(np.int8)
    wanted = np.pad(quantised, info["padding"], constant_values=info["zero_point"])
    assert np.array_equal(buffer.reshape(info["shape"]), wanted)


def test_without_a_manifest_there_is_no_padding_and_no_scale() -> None:
    spec = nl.specs.from_axelera(dict(shape=(1, 3, 4, 5), padding=[], scale=1.0, zero_point=0))
    assert spec == nl.TensorSpec.of_storage((1, 3, 4, 5), "NHWC", "int8")
    assert nl.specs.from_axelera(dict(shape=(1, 8), padding=[], dtype=np.float32, scale=0.5)).quantization is None
    assert nl.specs.from_axelera(dict(shape=(1, 8, 4), padding=()), axes="NCW", name="z") == nl.TensorSpec(
        (1, 8, 4), "NCW", "int8", name="z"
    )


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"shape": None}, {}, "no field 'shape'"),
        ({"shape": [], "padding": []}, {}, "expected every extent"),
        ({"shape": [1, 5, 12, 4]}, {}, r"shape \[1, 5, 12, 4\] with padding .*1 or more without it"),
        ({"padding": [[0, 0]]}, {}, "expected two numbers from 0 for each extent"),
        ({"padding": [[0, 0], [2, -3], [1, 5], [0, 1]]}, {}, "expected two numbers from 0"),
        ({"padding": [[0, 0], [2], [1, 5], [0, 1]]}, {}, "expected two numbers from 0"),
        ({"padding": None}, {}, "no field 'padding'"),
        ({"padding": 3}, {}, "field 'padding': got 3"),
        ({"dtype": "int7"}, {}, "field 'dtype'"),
        ({"zero_point": 200}, {}, "zero point 200 is outside int8"),
        ({"scale": -1.0}, {}, "expected positive numbers"),
        ({}, {"axes": "NHW"}, "axes 'NHW' has 3 axes, but .* has 4"),
    ],
)
def test_refusals(change: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_axelera({**example("axelera")[0], **change}, **options)
