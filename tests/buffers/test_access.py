"""What is shared and what is copied, the stored types that numpy has not, and every refused buffer with its words."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

SPEC = nl.TensorSpec((1, 17, 5, 4), "NCHW16c", "uint8")
PLAIN = nl.TensorSpec((1, 3, 4, 5), "NCHW", "float32")


def test_the_designs_own_sentence() -> None:
    with pytest.raises(nl.BufferSizeError) as caught:
        SPEC.unpack(bytes(340))
    assert (
        str(caught.value)
        == "buffer has 340 bytes; layout NCHW16c of (1,17,5,4) uint8 needs 640 (C padded from 17 to 32); "
        "340 bytes would be the tensor without padding"
    )


@pytest.mark.parametrize("change", [-1, 1])
def test_one_byte_short_or_long(change: int) -> None:
    for spec in (SPEC, PLAIN):
        with pytest.raises(nl.BufferSizeError, match=str(spec.nbytes)):
            spec.unpack(bytes(spec.nbytes + change))


def test_every_kind_of_buffer() -> None:
    values = np.arange(60, dtype=np.float32)
    raw = values.tobytes()
    mapped = mmap.mmap(-1, len(raw))
    mapped.write(raw)
    sources: list[Any] = [
        raw,
        bytearray(raw),
        memoryview(raw),
        mapped,
        (ctypes.c_float * 60).from_buffer_copy(raw),
        values,
        values.reshape(3, 4, 5),
        values.reshape(1, 12, 1, 5),
        values.reshape(3, 2, 2, 5),
        memoryview(values.reshape(3, 20)),
        np.frombuffer(b"x" + raw, np.uint8)[1:].view(np.float32),
    ]
    for source in sources:
        np.testing.assert_array_equal(PLAIN.unpack(source), values.reshape(PLAIN.shape))
    for bad, says in (
        (values.astype(np.float64), "float64"),
        (values.astype(">f4"), ">f4"),
        (np.zeros(120, np.float32)[::2], "C-contiguous"),
        (values.reshape(1, 4, 5, 3), r"\(1, 4, 5, 3\), .* order NHWC; layout NCHW of \(1,3,4,5\) .*reshape"),
        (values.reshape(6, 10), r"shape \(6, 10\), which neither divides nor merges"),
        ("text", "str"),
        (None, "NoneType"),
        ([1.0] * 60, "list"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            PLAIN.unpack(bad)


def test_a_shape_that_says_another_order_is_refused() -> None:
    """Of memory with pads, gaps, blocks and half bytes, too; and none that says the same."""
    shape = (2, 3, 5, 7)
    orders = ["".join(order) for order in itertools.permutations("NCHW")]
    for tag in sorted({*orders} - {"WHCN", "CWHN"}):  # no tags
        spec = nl.TensorSpec(shape, tag)
        for other in orders:
            array = np.zeros([shape["NCHW".index(letter)] for letter in other], np.float32)
            if other == tag:
                spec.unpack(array)
            else:
                with pytest.raises(nl.LayoutError, match=f"order {other};"):
                    spec.unpack(array)
    blocked = nl.TensorSpec((1, 57, 46, 46), "NCHW16c", "int8")
    pitched = nl.TensorSpec((1, 3, 4, 5), storage_strides=(96, 32, 8, 1), size=96)
    bordered = nl.TensorSpec((4, 5), "HW", storage_strides=(7, 1), storage_offset=8, size=42)
    halves = nl.TensorSpec((3, 4), "HW", "int4")
    for spec, good, bad in (
        (blocked, (4, 46, 46, 16), (1, 46, 46, 64)),
        (blocked, (4, 46 * 46, 16), (1, 64, 46, 46)),
        (pitched, (3, 4, 8), (3, 8, 4)),
        (bordered, (6, 7), (7, 6)),
        (halves, (3, 2), (2, 3)),
    ):
        buffer = np.zeros(spec.nbytes, np.uint8).view(spec.stored)
        np.testing.assert_array_equal(spec.unpack(buffer.reshape(good)), spec.unpack(buffer))
        for _ in range(2):
            with pytest.raises(nl.LayoutError, match=r"reshape\(-1\)"):
                spec.unpack(buffer.reshape(bad))
            out = np.zeros(spec.shape, spec.unpack(buffer).dtype)
            with pytest.raises(nl.LayoutError, match=r"reshape\(-1\)"):
                spec.unpack(buffer.reshape(bad), out=out)


@pytest.mark.parametrize(
    ("nbytes", "says"),
    [
        (
            46 * 48 * 57,
            "120612; 125856 bytes would be the tensor with H padded from 46 to 48 or with W padded from 46 to 48",
        ),
        (46 * 46 * 64, "needs 120612; 135424 bytes would be the tensor with C padded from 57 to 64"),
        (4 * 46 * 46 * 57, "needs 120612; 482448 bytes would be the tensor in elements of 4 bytes"),
        (120613, "needs 120612"),
    ],
)
def test_a_size_is_recognised(nbytes: int, says: str) -> None:
    with pytest.raises(nl.BufferSizeError) as caught:
        nl.TensorSpec((1, 57, 46, 46), "NHWC", "uint8").unpack(bytes(nbytes))
    assert str(caught.value).endswith(says)


def test_what_is_shared_and_what_is_copied() -> None:
    flat = np.arange(60, dtype=np.float32)
    assert np.shares_memory(PLAIN.unpack(flat), flat)
    assert np.shares_memory(PLAIN.unpack(flat, copy=False), flat)
    assert not np.shares_memory(PLAIN.unpack(flat, copy=True), flat)
    assert not np.shares_memory(PLAIN.unpack(flat, to="NHWC"), flat)
    with pytest.raises(ValueError, match="without a copy"):
        PLAIN.unpack(flat, to="NHWC", copy=False)
    inside = nl.TensorSpec((2, 3), "NC", "float32", storage_offset=4, size=60)
    assert np.shares_memory(inside.unpack(flat, copy=False), flat)
    np.testing.assert_array_equal(inside.unpack(flat), [[4, 5, 6], [7, 8, 9]])
    assert not PLAIN.unpack(flat.tobytes()).flags.writeable
    assert not PLAIN.view(flat.tobytes()).flags.writeable
    assert PLAIN.view(flat).flags.writeable


def test_view() -> None:
    nhwc = nl.TensorSpec((1, 3, 4, 5), "NHWC", "float32")
    flat = np.arange(60, dtype=np.float32)
    view = nhwc.view(flat)
    assert np.shares_memory(view, flat) and view.shape == (1, 3, 4, 5)
    np.testing.assert_array_equal(view, nhwc.unpack(flat))
    padded = nl.TensorSpec((1, 3, 4, 5), "NHWC8c", "int8")
    np.testing.assert_array_equal(
        padded.view(np.arange(160, dtype=np.int8)), padded.unpack(np.arange(160, dtype=np.int8))
    )
    one_block = nl.TensorSpec((1, 9, 4, 5), "NCHW16c", "uint8")
    one = np.arange(one_block.size, dtype=np.uint16).astype(np.uint8)
    np.testing.assert_array_equal(one_block.view(one), one_block.unpack(one))
    with pytest.raises(nl.LayoutError, match="axis C has no single stride"):
        SPEC.view(bytes(SPEC.nbytes))


def test_out_is_checked_before_anything_is_written() -> None:
    flat = np.ones(60, np.float32)
    readonly = np.zeros(PLAIN.shape, np.float32)
    readonly.flags.writeable = False
    for out, says in (
        (np.zeros(PLAIN.shape, np.float64), "float32, got float64"),
        (np.zeros((1, 3, 5, 4), np.float32), r"\(1, 3, 4, 5\), got \(1, 3, 5, 4\)"),
        (readonly, "read-only"),
        (flat.reshape(PLAIN.shape), "shares memory"),
        ([0.0], "numpy array"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            PLAIN.unpack(flat, out=out)  # type: ignore[arg-type]
    strided = np.zeros((1, 3, 4, 10), np.float32)
    PLAIN.unpack(flat, out=strided[..., ::2])
    assert strided[..., ::2].all() and not strided[..., 1::2].any()
    unaligned = np.zeros(241, np.uint8)[1:].view(np.float32).reshape(PLAIN.shape)
    assert PLAIN.unpack(flat, out=unaligned).all()


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int4_high", "uint4_high"])
@pytest.mark.parametrize("channels", [3, 4])
def test_half_bytes(dtype: str, channels: int) -> None:
    spec = nl.TensorSpec((1, channels, 3, 3), "NHWC", dtype)
    lowest, highest = (-8, 8) if dtype.startswith("int") else (0, 16)
    tensor = np.random.default_rng(1).integers(lowest, highest, spec.shape).astype("int8" if lowest else "uint8")
    packed = spec.pack(tensor)
    assert packed.dtype == np.uint8 and packed.nbytes == spec.nbytes == -(-9 * channels // 2)
    for index in np.ndindex(*spec.shape):
        at = spec.offset(*index)
        high = (at % 2 == 1) != dtype.endswith("high")
        nibble = (int(packed[at // 2]) >> (4 if high else 0)) & 15
        assert nibble == int(tensor[index]) & 15
    unpacked = spec.unpack(packed)
    assert unpacked.dtype == tensor.dtype
    np.testing.assert_array_equal(unpacked, tensor)
    with pytest.raises(nl.NpuLayoutError, match="stores"):
        spec.pack(np.full(spec.shape, 99))


def test_half_bytes_and_bfloat16_without_ml_dtypes() -> None:
    """Other tests import onnx, and with it the package that makes numpy know these dtypes."""
    script = """
import sys, numpy as np, npu_layout as nl
for dtype in ("int4", "uint4", "int4_high", "uint4_high", "bfloat16"):
    spec = nl.TensorSpec((1, 3, 3, 3), "NHWC", dtype)
    tensor = np.arange(27, dtype=np.float32 if dtype == "bfloat16" else np.int8).reshape(spec.shape) % 8
    assert (spec.unpack(spec.pack(tensor)) == tensor).all(), dtype
    assert (spec.unpack(spec.pack(tensor), to="NCHW4c")[0, 0, ..., :3] == tensor.transpose(0, 2, 3, 1)).all(), dtype
assert "ml_dtypes" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bfloat16_rounds_to_even() -> None:
    spec = nl.TensorSpec((6,), "N", "bfloat16")
    values = np.array([1.0, 1.00390625, 1.01171875, -3e38, np.inf, np.nan], np.float32)
    packed = spec.pack(values)
    assert packed.dtype == np.uint16
    assert [hex(v) for v in packed[:5]] == ["0x3f80", "0x3f80", "0x3f82", "0xff62", "0x7f80"]
    back = spec.unpack(packed)
    assert back.dtype == np.float32 and np.isnan(back[5]) and back[1] == 1.0


def test_pack_never_wraps() -> None:
    int8 = nl.TensorSpec((3,), "N", "int8")
    for bad, says in (
        (np.array([1, 2, 300]), "300"),
        (np.array([0.5, 1, 2]), "not quantised"),
        (np.array([1, 2]), r"\(3,\)"),
        (np.array([1j, 2, 3]), "complex"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            int8.pack(bad)
    np.testing.assert_array_equal(int8.pack(np.array([1, -128, 127])), [1, -128, 127])


def test_dtypes_of_unpack() -> None:
    spec = nl.TensorSpec((4,), "N", "int8", quantization=nl.Quantization(0.5, 1))
    flat = np.array([-128, 0, 1, 127], np.int8)
    assert spec.unpack(flat).tolist() == [-64.5, -0.5, 0.0, 63.0]
    assert spec.unpack(flat, dtype="float16").dtype == np.float16
    np.testing.assert_array_equal(spec.unpack(flat, dtype=np.int32), flat)
    assert np.shares_memory(spec.unpack(flat, dtype=np.int8), flat)
    with pytest.raises(nl.NpuLayoutError, match="without losing"):
        spec.unpack(flat, dtype=np.uint8)


def test_pack_into_what_is_interleaved_with_its_elements() -> None:
    memory = np.arange(24, dtype=np.float32).reshape(3, 8)
    tensor, out = memory[::2, :4], memory[1]
    expected = nl.TensorSpec((2, 4), "NC").pack(tensor.copy())
    np.testing.assert_array_equal(nl.TensorSpec((2, 4), "NC").pack(tensor, out=out), expected)


def test_copy_is_a_truth_value_numpys_too() -> None:
    flat = np.arange(60, dtype=np.float32)
    for true in (True, np.True_, np.bool_(1), np.array([True])[0]):
        copied = PLAIN.unpack(flat, copy=true)
        assert not np.shares_memory(copied, flat) and copied.reshape(-1).tolist() == flat.tolist()
    for false in (False, np.False_):
        assert np.shares_memory(PLAIN.unpack(flat, copy=false), flat)
        for more in ({"to": "NHWC"}, {"dtype": "float64"}, {"out": np.empty(PLAIN.shape, np.float32)}):
            with pytest.raises(nl.NpuLayoutError, match="without a copy"):
                PLAIN.unpack(flat, copy=false, **more)
    for neither in (0, 1, "yes", [], np.array([True, False]), np.float32(1)):
        with pytest.raises(nl.NpuLayoutError, match="copy: expected None, True or False"):
            PLAIN.unpack(flat, copy=neither)


def test_the_error_for_a_wrong_buffer() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"expects float32 \(raw bytes: give buffer.view\('float32'\)\)$"):
        PLAIN.flat(np.zeros(240, np.uint8))
    with pytest.raises(nl.NpuLayoutError, match=r"^buffer has dtype float64; .* expects float32$"):
        PLAIN.flat(np.zeros(60, np.float64))
    for dtype in ("int8", "uint8", "int16"):  # as many as the tensor has: a view would be a quarter of it
        with pytest.raises(
            nl.NpuLayoutError, match=r"\(integers that a runtime has not dequantised need a spec of that"
        ):
            PLAIN.flat(np.zeros(60, dtype))
    with pytest.raises(nl.NpuLayoutError, match=r"has dtype uint8; .* expects float32$"):  # raw bytes, one missing
        PLAIN.flat(np.zeros(239, np.uint8))
    with pytest.raises(nl.BufferSizeError, match=r"has 60 bytes; .* needs 240$"):  # which are 15 floats
        PLAIN.flat(np.zeros(15, np.float32))
    with pytest.raises(nl.BufferSizeError, match=r"needs 240; 60 bytes would be the tensor in elements of 1 byte$"):
        PLAIN.flat(bytes(60))
    with pytest.raises(nl.NpuLayoutError, match=r"dtype >f4; .* \(big endian: give buffer.astype\('float32'\)\)$"):
        PLAIN.flat(np.zeros(60, ">f4"))
    other = (
        r"\(if its bytes are in that order: buffer.view\('>f4'\); if its numbers are right: buffer.astype\('>f4'\)\)$"
    )
    with pytest.raises(nl.NpuLayoutError, match=other):
        PLAIN.replace(dtype=">f4").flat(np.zeros(60, np.float32))
    with pytest.raises(nl.NpuLayoutError, match=r"^buffer has dtype int16; .* expects uint8$"):
        SPEC.flat(np.zeros(640, np.int16))
    for empty in (b"", bytearray(), memoryview(b""), np.zeros(0, np.uint8)):
        with pytest.raises(nl.BufferSizeError, match=r"^buffer has 0 bytes; .* needs 640"):
            SPEC.flat(empty)
    for none in ("", [], (), "abc", [1, 2], {1: 2}, object(), 5):
        with pytest.raises(
            nl.NpuLayoutError, match=f"expected bytes, a contiguous buffer .* got {type(none).__name__} "
        ):
            SPEC.flat(none)


def test_several_outputs_are_distinguished_from_one() -> None:
    """What a runtime returns of all outputs is given as one: most return a list, some a mapping."""
    spec = nl.TensorSpec((1, 4, 2, 2), "NCHW", "float16")
    one = np.zeros((1, 4, 2, 2), np.float16)
    for given, says in (
        ([one], r"got list \(.*\); give its item$"),
        ((one, one), r"got tuple \(.*\); give one of its 2 items$"),
        ({"heat": one}, r"got dict \(.*\); give one of its values, 'heat'$"),
        ([1.0, 2.0], r"got list \([^)]*\); if it has the stored numbers, give np\.array\(buffer, 'float16'\)$"),
        ([*one.ravel()], r"got list \(.*\); if it has the stored numbers, give np\.array\(buffer, 'float16'\)$"),
        (one.tolist(), r"got list \(.*\); if it has the stored numbers, give np\.array\(buffer, 'float16'\)$"),
        (one.view(np.uint16), r"expects float16 \(if they are the bits of float16, .*: buffer\.view\('float16'\)\)$"),
        (one.view(np.int16), "expects float16$"),
        (one.astype(np.float32), "expects float16$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            spec.unpack(given)


def test_why_a_copy_is_needed_is_said() -> None:
    buffer, out = np.zeros(640, np.uint8), np.zeros(SPEC.shape, np.uint8)
    with pytest.raises(ValueError, match=r"without a copy: out= is given$"):
        SPEC.unpack(buffer, out=out, copy=False)
    with pytest.raises(ValueError, match=r"without a copy: as NCHW of uint8 it is not what is stored$"):
        SPEC.unpack(buffer, copy=False)
    with pytest.raises(ValueError, match=r"as NCHW16c of float32 it is not what is stored$"):
        SPEC.unpack(buffer, to="NCHW16c", dtype="float32", copy=False)


@pytest.mark.parametrize("quantization", [None, nl.Quantization(0.5, 1)])
def test_a_tensor_of_no_axes_is_one_number(quantization: nl.Quantization | None) -> None:
    spec = nl.TensorSpec((), nl.Layout.of_rank(0), "int8", quantization=quantization)
    real = 3.0 if quantization is not None else 7.0
    assert spec.pack(np.float32(real) if quantization is not None else np.int8(7)).tolist() == [7]
    unpacked = spec.unpack(np.int8([7]))
    assert unpacked.shape == () and unpacked.tolist() == real and spec.view(np.int8([7])).tolist() == 7
    target = nl.TensorSpec((), nl.Layout.of_rank(0), "int8", quantization=quantization)
    assert nl.plan(spec, target)(np.int8([7])).tolist() == [7] and spec.offset() == 0


@pytest.mark.parametrize("dtype", ["uint8", ">i2", "bfloat16", "int4", "uint4_high"])
@pytest.mark.parametrize("quantized", [False, True])
def test_every_way_into_an_out_gives_the_same(dtype: str, quantized: bool) -> None:
    """A new array, contiguous, with gaps, mirrored, and elements that no flat array describes; also from bytes."""
    if dtype == "bfloat16" and quantized:
        return
    spec = nl.TensorSpec((1, 5, 3, 4), "NCHW4c", dtype, quantization=nl.Quantization(0.5, 3) if quantized else None)
    whole = np.arange(60).reshape(spec.shape) % 7
    buffer = spec.pack(whole.astype("float32" if dtype == "bfloat16" else "int8"))
    expected = (whole - 3) * 0.5 if quantized else whole
    plain = spec.unpack(buffer)
    assert plain.tolist() == expected.tolist() and spec.unpack(buffer, copy=True).tolist() == expected.tolist()
    kind = plain.dtype
    field = np.zeros(spec.shape, [("a", kind), ("b", "u1")])["a"]
    outs = [
        np.zeros(spec.shape, kind),
        np.zeros((1, 5, 3, 8), kind)[..., ::2],
        np.zeros(spec.shape, kind)[:, ::-1],
        field,
    ]
    for out in outs:
        for given in (buffer, buffer.tobytes()):
            out[...] = 0
            assert spec.unpack(given, out=out) is out and out.tolist() == expected.tolist()


def test_shapes_that_passed_are_of_that_spec_alone() -> None:
    """A shape that was accepted is accepted again, and none that was refused."""
    buffer = np.arange(60, dtype=np.float32)
    for _ in range(2):
        assert PLAIN.unpack(buffer.reshape(3, 20)).shape == PLAIN.shape
        with pytest.raises(nl.LayoutError, match="axes in the order NHWC"):
            PLAIN.unpack(buffer.reshape(1, 4, 5, 3))
        out = np.zeros(PLAIN.shape, np.float32)
        with pytest.raises(nl.LayoutError, match="axes in the order NHWC"):
            PLAIN.unpack(buffer.reshape(1, 4, 5, 3), out=out)
        assert not out.any()
