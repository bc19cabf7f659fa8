"""Native buffers of RKNN: blocks, planes and rows, by the attribute's dims and size or by the rule of a chip."""

from __future__ import annotations

from typing import Any

import pytest

import npu_layout as nl
from tests.specs.test_rknn import HEAT


def test_planes_padded_to_four_pixels_and_a_spare_block() -> None:
    """C=5 on rk3588 is stored as two blocks of 16, planes of 13 x 13 = 169 pixels as 172 (layouts of rknn-toolkit2)."""
    attr = {**HEAT, "dims": [1, 5, 13, 13]}
    spec = nl.specs.from_rknn(attr, target="rk3588")
    assert spec.storage_shape == (1, 2, 13, 13, 16) and spec.nbytes == 2 * 172 * 16
    native = {**attr, "fmt": "NC1HWC2", "dims": [1, 2, 13, 13, 16], "size_with_stride": 2 * 172 * 16}
    assert nl.specs.from_rknn(attr, native) == spec
    one_pixel = nl.specs.from_rknn({**HEAT, "dims": [1, 1000, 1, 1]}, target="rk3588")
    assert one_pixel.storage_shape == (1, 64, 1, 1, 16) and one_pixel.nbytes == 1024
    two_images = nl.specs.from_rknn({**HEAT, "dims": [2, 20, 3, 3]}, target="rk3566")
    assert two_images.offset(1, 19, 2, 2) == ((1 * 4 + 2) * 12 + 2 * 3 + 2) * 8 + 3  # C1 = 32 / 8, planes of 12


# The first five are what an rk3588, an rk3568 (rknn_model_zoo, issue 156) and the RKNN SDK's User Guide (5.7.3.4)
# print, 3 and 5 axes too; the others are planes of odd length, rows with a pitch, pixels with spare channels.
@pytest.mark.parametrize(
    ("dims", "fmt", "native", "kind", "size", "storage", "strides"),
    [
        ([1, 1000, 1, 1], 2, [1, 125, 1, 1, 8], "FP16", 2000, (1, 125, 1, 1, 8), (1000, 8, 8, 8, 1)),
        ([1, 1, 80, 80], 2, [1, 2, 80, 80, 16], "INT8", 204800, (1, 2, 80, 80, 16), (204800, 102400, 1280, 16, 1)),
        ([1, 255, 40, 40], 2, [1, 34, 40, 40, 8], "INT8", 435200, (1, 34, 40, 40, 8), (435200, 12800, 320, 8, 1)),
        ([1, 1000, 1, 1], 2, [1, 64, 1, 1, 16], "INT8", 1024, (1, 64, 1, 1, 16), (1024, 16, 16, 16, 1)),
        ([1, 512, 7, 7], 2, [1, 33, 7, 7, 16], "INT8", 26624, (1, 32, 7, 7, 16), (26624, 832, 112, 16, 1)),
        ([1, 100, 1, 1], 2, [1, 8, 1, 1, 16], "INT8", 128, (1, 8, 1, 1, 16), (128, 16, 16, 16, 1)),
        ([1, 1, 28, 28], 2, [1, 1, 28, 28, 1], "INT8", 28 * 32, (1, 28, 32, 1), (28 * 32, 32, 1, 1)),
        ([1, 1001], 2, [1, 64, 1, 1, 16], "INT8", 1024, (1, 64, 16), (1024, 16, 1)),
        ([2, 48, 1, 3], 2, [2, 4, 1, 3, 16], "INT8", 384, (2, 3, 1, 3, 16), (192, 64, 48, 16, 1)),
        ([2, 48, 1, 3], 2, [2, 4, 1, 3, 16], "INT8", 512, (2, 4, 1, 3, 16), (256, 64, 48, 16, 1)),
        ([1, 48, 2, 13], 2, [1, 4, 2, 16, 16], "INT8", 2048, (1, 4, 2, 16, 16), (2048, 512, 256, 16, 1)),
        ([1, 48, 2, 3], 2, [1, 3, 4, 3, 16], "INT8", 576, (1, 3, 4, 3, 16), (576, 192, 48, 16, 1)),
        ([1, 84, 6, 8], 2, [1, 6, 6, 8, 16], "INT8", 0, (1, 6, 6, 8, 16), (4608, 768, 128, 16, 1)),
        ([1, 1001], 3, [1, 1001], "FP16", 2002, (1, 1001), (1001, 1)),
        ([1, 84, 8400], 3, [1, 84, 8400], "INT8", 705600, (1, 84, 8400), (705600, 8400, 1)),
        ([1, 3, 80, 80, 16], 3, [1, 3, 80, 80, 16], "INT8", 307200, (1, 3, 80, 80, 16), (307200, 102400, 1280, 16, 1)),
        ([1, 84, 6, 7], 0, [1, 84, 6, 7], "INT8", 84 * 42, (1, 84, 6, 7), (84 * 42, 42, 7, 1)),
        ([1, 84, 6, 7], 3, [1, 84, 6, 7], "INT8", 84 * 42, (1, 84, 6, 7), (84 * 42, 42, 7, 1)),
        ([1, 84, 6, 7], 1, [1, 6, 7, 84], "INT8", 84 * 42, (1, 6, 7, 84), (84 * 42, 588, 84, 1)),
        ([1, 17, 13, 13], 1, [1, 13, 13, 32], "INT8", 32 * 169, (1, 13, 13, 32), (32 * 169, 416, 32, 1)),
        ([1, 17, 20, 20], 1, [1, 20, 20, 17], "INT8", 12800, (1, 20, 20, 17), (6800, 340, 17, 1)),
    ],
)
def test_native_attributes(
    dims: list[int], fmt: int, native: list[int], kind: str, size: int, storage: Any, strides: Any
) -> None:
    attr = {"name": "y", "dims": dims, "fmt": "NCHW" if len(dims) == 4 else "UNDEFINED", "type": kind}
    spec = nl.specs.from_rknn(attr, {**attr, "dims": native, "fmt": fmt, "size_with_stride": size})
    assert (spec.shape, spec.storage_shape, spec.storage_strides) == (tuple(dims), storage, strides)
    assert spec.nbytes == size or not size


# Chip, bytes of an element, channels of a block, multiple of channels, multiple of pixels in an image's row.
CHIPS = [
    *[
        (chip, size, *atom)
        for chip in ("rk3588", "rk3576", "rv1126b")
        for size, atom in ((1, (16, 32, 16)), (2, (8, 16, 8)))
    ],
    ("rk3562", 1, 16, 16, 16),
    ("rk3562", 2, 8, 8, 8),
    *[(chip, size, *atom) for chip in ("rk3566", "rk3568") for size, atom in ((1, (8, 16, 8)), (2, (4, 8, 8)))],
    ("rv1106", 1, 16, 16, 16),
    ("rv1103", 1, 16, 16, 16),
]


@pytest.mark.parametrize(("target", "size", "c2", "align", "row"), CHIPS)
@pytest.mark.parametrize("channels", [1, 5, 8, 16, 17, 33])
def test_blocks_and_planes_by_the_rule_of_each_chip(
    target: str, size: int, c2: int, align: int, row: int, channels: int
) -> None:
    kind = {1: "INT8", 2: "FP16"}[size]
    blocks = next(n for n in range(0, 99, align) if n >= channels) // c2
    spec = nl.specs.from_rknn({"dims": [2, channels, 5, 3], "fmt": "NCHW", "type": kind}, target=target)
    assert spec.storage_shape == (2, blocks, 5, 3, c2)
    assert (
        spec.storage_strides == (blocks * 16 * c2, 16 * c2, 3 * c2, c2, 1)
        and spec.nbytes == 2 * blocks * 16 * c2 * size
    )
    image = {"dims": [1, 7, 97, channels], "fmt": "NHWC", "type": kind}
    got = nl.specs.from_rknn(image, target=target)
    if channels == 1:
        width = {16: 112, 8: 104}[row]
        assert got.storage_shape == (1, 7, width, channels) and got.nbytes == 7 * width * channels * size
        assert nl.specs.from_rknn({**image, "w_stride": 99}, target=target).storage_shape == (1, 7, 99, channels)
    else:
        assert got.storage_shape == (1, blocks, 7, 97, c2)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_which_inputs_are_images(channels: int) -> None:
    spec = nl.specs.from_rknn({"dims": [1, 2, 16, channels], "fmt": "NHWC", "type": "UINT8"}, target="rv1106")
    assert spec.storage_shape == ((1, 2, 16, channels) if channels in (1, 3, 4) else (1, 1, 2, 16, 16))
    native = {"dims": [1, 1, 2, 16, channels], "fmt": "NC1HWC2", "type": "UINT8", "size_with_stride": 40 * channels}
    got = nl.specs.from_rknn({"dims": [1, 2, 16, channels], "fmt": "NHWC", "type": "UINT8"}, native)
    rows = (1, 2, 20, channels)  # what size_with_stride allows
    assert got.storage_shape == (rows if channels in (1, 3) else (1, 1, 2, 16, channels)), got
    assert channels in (1, 3) or got.storage_strides[1] == 20 * 2 // 2 * 2 * channels


@pytest.mark.parametrize(
    ("channels", "c1", "size", "planes", "pitch"),
    [
        (20, 2, 2 * 172 * 16, 2, 172),  # planes of 169 pixels, padded
        (20, 2, 3 * 172 * 16, 3, 172),  # and a spare one, whatever the dims say
        (20, 8, 2 * 172 * 16, 2, 172),  # C1 four times, as for 16-bit types
        (20, 2, 2 * 169 * 16, 2, 169),  # not padded
        (20, 2, 2 * 180 * 16, 2, 180),  # longer
        (20, 3, 3 * 175 * 16, 3, 175),
        (20, 8, 2 * 175 * 16, 2, 175),  # C1 of the dims does not divide: the fewest planes do
        (33, 3, 3 * 172 * 16, 3, 172),
        (16, 1, 172 * 16, 1, 172),
        (20, 2, 0, None, None),
        (20, 2, 172 * 16, None, None),  # one plane of the two
        (20, 2, 2 * 168 * 16, None, None),  # planes too short
        (20, 8, 2 * 168 * 16, None, None),
        (20, 2, 2 * 172 * 16 + 16, None, None),  # no whole planes: 345 do not divide
        (20, 2, 2 * 172 * 16 + 8, None, None),  # no whole pixels
    ],
)
def test_how_many_planes_a_size_has(channels: int, c1: int, size: int, planes: int | None, pitch: int | None) -> None:
    attr = {**HEAT, "dims": [1, channels, 13, 13]}
    native = {**attr, "fmt": "NC1HWC2", "dims": [1, c1, 13, 13, 16], "size_with_stride": size}
    if planes is None:
        says = (
            "no size_with_stride" if not size else f"size_with_stride is {size} elements, but NC1HWC2 of .* needs 1.C1"
        )
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.specs.from_rknn(attr, native)
        return
    assert pitch is not None
    spec = nl.specs.from_rknn(attr, native)
    assert spec.storage_shape == (1, planes, 13, 13, 16) and spec.nbytes == size
    assert spec.storage_strides == (planes * pitch * 16, pitch * 16, 13 * 16, 16, 1)
    twice = {**native, "dims": [2, c1, 13, 13, 16], "size_with_stride": 2 * size}
    both = nl.specs.from_rknn({**attr, "dims": [2, channels, 13, 13]}, twice)
    assert both.storage_strides == spec.storage_strides and both.nbytes == 2 * size


def test_native_blocks_without_a_size_follow_the_chip() -> None:
    for batch in (1, 2):
        attr = {**HEAT, "dims": [batch, 20, 13, 13]}
        native = {**attr, "fmt": "NC1HWC2", "dims": [batch, 2, 13, 13, 16]}
        assert nl.specs.from_rknn(attr, native, target="rk3588") == nl.specs.from_rknn(attr, target="rk3588")
        wide = {**attr, "dims": [batch, 33, 13, 13]}
        got = nl.specs.from_rknn(wide, {**native, "dims": [batch, 3, 13, 13, 16]}, target="rk3588")
        assert got.storage_shape == (batch, 4, 13, 13, 16) and got.nbytes == batch * 4 * 172 * 16
    four = {**HEAT, "dims": [2, 20, 2, 2]}  # planes of 4 need no padding: no size is needed
    got = nl.specs.from_rknn(four, {**four, "fmt": "NC1HWC2", "dims": [2, 3, 2, 2, 16]})
    assert got.storage_shape == (2, 3, 2, 2, 16) and got.nbytes == 2 * 3 * 4 * 16


def test_native_blocks_of_three_axes() -> None:
    attr = {**HEAT, "dims": [1, 84, 400], "fmt": "UNDEFINED"}
    native = {**attr, "fmt": 2, "dims": [1, 6, 20, 20, 16], "size_with_stride": 6 * 400 * 16}
    spec = nl.specs.from_rknn(attr, native)
    assert (spec.axes, spec.storage_shape, spec.nbytes) == ("NCW", (1, 6, 400, 16), 6 * 400 * 16)
    for dims in ([1, 6, 20, 19, 16], [1, 6, 21, 20, 16], [2, 6, 20, 20, 16], [1, 5, 20, 20, 16]):
        with pytest.raises(nl.NpuLayoutError, match="are too small for"):
            nl.specs.from_rknn(attr, {**native, "dims": dims})


def test_native_rows_are_those_of_w_stride_then_of_the_size_then_of_the_dims() -> None:
    attr = {"name": "x", "dims": [2, 4, 10, 3], "fmt": "NHWC", "type": "UINT8"}
    native = {**attr, "dims": [2, 4, 12, 3]}
    for change, row, nbytes in (
        ({}, 12, 2 * 4 * 12 * 3),
        ({"w_stride": 11}, 11, 2 * 4 * 11 * 3),
        ({"size_with_stride": 2 * 4 * 16 * 3}, 16, 2 * 4 * 16 * 3),
        ({"size_with_stride": 2 * 4 * 16 * 3 + 1}, 12, 2 * 4 * 16 * 3 + 1),
        ({"w_stride": 11, "size_with_stride": 2 * 4 * 16 * 3}, 11, 2 * 4 * 16 * 3),
    ):
        spec = nl.specs.from_rknn(attr, {**native, **change})
        assert (spec.storage_shape, spec.nbytes) == ((2, 4, row, 3), nbytes), change
    for dims in ([1, 4, 12, 3], [2, 5, 12, 3], [2, 4, 9, 3], [2, 4, 12, 2]):
        with pytest.raises(nl.NpuLayoutError, match=r"\(NHWC\) are too small for"):
            nl.specs.from_rknn(attr, {**native, "dims": dims})
    with pytest.raises(nl.NpuLayoutError, match=r"rows of 9 pixels .* too short for NHWC of width 10"):
        nl.specs.from_rknn(attr, {**native, "w_stride": 9})
    image = {**attr, "dims": [1, 4, 10, 3]}
    for kind, target, row in (("UINT8", None, 16), ("FP16", None, 16), ("UINT8", "rk3566", 16), ("FP32", None, 12)):
        blocks = {**image, "fmt": 2, "type": kind, "dims": [1, 1, 4, 10, 3]}
        assert nl.specs.from_rknn(image, blocks, target=target).storage_shape[2] == row, kind
