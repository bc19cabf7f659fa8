"""Buffers that real runtimes made (tests/data/README.md) unpack to exactly what they stand for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.paths import DATA

FOLDER = DATA
FILES = sorted(FOLDER.glob("*.npz"))
RKNN = [
    row
    for row in json.loads((FOLDER / "rknn_native_shapes.json").read_text())
    if row["fmt"] == "NC1HWC2" and not row["tensor"].endswith("_exSecondary")
]


def described(path: Path) -> tuple[nl.TensorSpec, np.ndarray, np.ndarray, dict]:
    with np.load(path, allow_pickle=False) as file:
        data = {key: file[key] for key in file.files}
    flat, logical = data["flat"], data["logical"]
    name, block = str(data["layout"]).split(" ")[0], int(data["block"])
    pitches: dict = {}
    if path.name.startswith("ncnn"):
        layout = nl.Layout(f"NCHW{block}c")
        _, channels, _, width = data["shape"]
        plane = int(data["cstep"]) * block
        image = int(data["nstep"]) * block or plane * -(-channels // block)
        pitches = {"storage_strides": (image, plane, width * block, block, 1), "size": flat.size}
    elif name == "channels_last":
        layout = nl.Layout("NHWC")
    elif name == "NC4HW4":
        layout = nl.Layout.named(name, block)
    else:
        try:
            layout = nl.Layout(name)
        except nl.LayoutError:
            layout = nl.Layout.named(name)
    dtype: object = flat.dtype
    if "bfloat16" in path.name:
        dtype = "bfloat16"
        if logical.dtype == np.uint16:
            logical = (logical.astype(np.uint32) << 16).view(np.float32)
    quantization = None
    if "scale" in data:
        quantization = nl.Quantization(float(data["scale"]), int(data["zero_point"]))
    return nl.TensorSpec(data["shape"], layout, dtype, quantization=quantization, **pitches), flat, logical, data


def valid_elements(spec: nl.TensorSpec) -> np.ndarray:
    return np.unique(spec.offset(*np.indices(spec.shape)))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_recorded_buffers(path: Path) -> None:
    spec, flat, logical, data = described(path)
    stored = spec.unpack(flat, dtype=spec.stored if spec.quantization else None)
    np.testing.assert_array_equal(stored, logical)
    if spec.quantization is not None and "real" in data:
        # The float result before the runtime rounded and saturated it.
        real = spec.unpack(flat)
        codes = spec.quantization.dequantize(np.array([-128, 127], np.int8))
        assert np.abs(real - np.clip(data["real"], *codes)).max() <= float(data["scale"]) * 0.5001
    packed, where = spec.pack(logical), valid_elements(spec)
    np.testing.assert_array_equal(packed[where], flat[where])
    assert where.size == logical.size

    padding = np.ones(flat.size, bool)
    padding[where] = False
    assert not packed[padding].any()
    spoiled = flat.copy()
    spoiled[padding] = np.nan if flat.dtype.kind == "f" else np.iinfo(flat.dtype).min or np.iinfo(flat.dtype).max
    np.testing.assert_array_equal(spec.unpack(spoiled, dtype=stored.dtype), stored)


def test_there_are_enough_of_them() -> None:
    assert len(FILES) > 100 and len(RKNN) > 190
    assert any(described(path)[0].storage.padding for path in FILES)


@pytest.mark.parametrize("row", RKNN, ids=lambda row: f"{row['platform']}-{row['q']}-{row['tensor']}-{row['orig'][2:]}")
def test_rknn_sizes(row: dict) -> None:
    attr = {"name": "x", "dims": row["orig"], "fmt": "NCHW", "type": row["dtype"]}
    native = dict(attr, dims=row["native"], fmt="NC1HWC2", size_with_stride=row["size"])
    specs = [nl.specs.from_rknn(attr, native), nl.specs.from_rknn(attr, native, target=row["platform"])]
    image = row["native"][4] == 3
    if image:
        n, c, h, w = row["orig"]
        specs.append(nl.specs.from_rknn(dict(attr, dims=[n, h, w, c], fmt="NHWC"), target=row["platform"]))
    else:
        specs.append(nl.specs.from_rknn(attr, target=row["platform"]))
    for spec in specs:
        assert spec.nbytes == row["size"], spec
        tensor = np.random.default_rng(1).integers(0, 100, spec.shape).astype(spec.stored)
        np.testing.assert_array_equal(spec.unpack(spec.pack(tensor)), tensor)
    c, h, w = (row["orig"][i] for i in (1, 2, 3))
    if not image:
        c2, plane = row["native"][4], -(-h * w // 4) * 4
        assert specs[2].offset(0, c - 1, h - 1, w - 1) == ((c - 1) // c2 * plane + h * w - 1) * c2 + (c - 1) % c2
