"""plan: what unpack, pack and quantize do one after the other, in one pass, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.buffers.conversion import Conversion

RNG = np.random.default_rng(11)
SHAPE = (2, 17, 5, 6)
Q, OTHER = nl.Quantization(0.05, 3), nl.Quantization(0.125, -7)
PER_CHANNEL = nl.Quantization(np.linspace(0.01, 0.2, 17), 2, axis=1)


def spec(layout: str, dtype: str, quantization: nl.Quantization | None = None, **more: object) -> nl.TensorSpec:
    return nl.TensorSpec(SHAPE, layout, dtype, quantization=quantization, **more)  # type: ignore[arg-type]


def filled(of: nl.TensorSpec) -> np.ndarray:
    if of.stored.kind == "f":
        return (RNG.standard_normal(of.size) * 3).astype(of.stored)
    return RNG.integers(-100 if of.stored.kind == "i" else 0, 100, of.size).astype(of.stored)


def test_as_unpack_and_pack() -> None:
    for source, target in (
        (spec("NCHW16c", "int8", Q), spec("NHWC", "float32")),
        (spec("NHWC", "uint8", PER_CHANNEL), spec("NCHW", "float32")),
        (spec("NCHW", "float32"), spec("NCHW16c", "int8", Q)),
        (spec("CHWN", "float32"), spec("NCHW4c", "uint8", PER_CHANNEL)),
        (spec("NCHW8c", "int16"), spec("NHWC", "int16")),
        (spec("NCHW", "bfloat16"), spec("NHWC", "float32")),
        (spec("NCHW", "float32"), spec("NHWC", "bfloat16")),
        (spec("NCHW", "int8"), spec("NHWC", "int8", Q)),
    ):
        flat = filled(source)
        convert = nl.plan(source, target)
        result = convert(flat)
        assert result.dtype == target.stored and result.shape == (target.size,)
        np.testing.assert_array_equal(result, target.pack(source.unpack(flat)))
        assert nl.plan(source, target) is convert
        out = np.full(target.storage_shape, 9, target.stored)
        assert convert(flat.tobytes(), out) is out
        np.testing.assert_array_equal(out.reshape(-1), result)


def test_it_may_be_pickled() -> None:
    convert = nl.plan(spec("NCHW16c", "int8", PER_CHANNEL), spec("NHWC", "float32"))
    flat = filled(convert.source)
    again = pickle.loads(pickle.dumps(convert))
    assert (again.source, again.target) == (convert.source, convert.target)
    np.testing.assert_array_equal(again(flat), convert(flat))


def test_axes_in_another_order() -> None:
    source = nl.TensorSpec((2, 5, 6, 17), "NHWC", "float32", axes="NHWC")
    flat = filled(source)
    result = nl.plan(source, spec("NCHW", "float32"))(flat)
    np.testing.assert_array_equal(result, flat.reshape(2, 5, 6, 17).transpose(0, 3, 1, 2).ravel())


def test_stored_values_stay_where_the_quantization_does() -> None:
    source, target = spec("NCHW16c", "int8", Q), spec("NHWC", "int8", Q)
    flat = filled(source)
    np.testing.assert_array_equal(nl.plan(source, target)(flat), target.pack(source.unpack(flat, dtype=np.int8)))


def test_another_quantization_is_quantised_anew() -> None:
    for given, wanted in ((Q, OTHER), (PER_CHANNEL, Q), (Q, PER_CHANNEL), (PER_CHANNEL, nl.Quantization(0.1, 4.5))):
        source, target = spec("NHWC", "int8", given), spec("NCHW", "uint8", wanted)
        flat = filled(source)
        real = given.dequantize(flat.reshape(2, 5, 6, 17).transpose(0, 3, 1, 2))
        np.testing.assert_array_equal(nl.plan(source, target)(flat), wanted.quantize(real, "uint8").ravel())


def test_pads_and_gaps_are_zero() -> None:
    target = nl.TensorSpec(SHAPE, "NHWC", "float32", storage_strides=(600, 120, 20, 1), size=1300)
    result = nl.plan(spec("NCHW", "float32"), target)(np.ones(2 * 17 * 30, np.float32), np.full(1300, 5, np.float32))
    assert result.sum() == 2 * 17 * 30 and target.unpack(result).min() == 1


def test_refusals() -> None:
    real = spec("NCHW", "float32")
    for source, target, says in (
        (real, nl.TensorSpec((2, 17, 5, 7)), "axes or extents"),
        (real, nl.TensorSpec((2, 17, 30), "NCW"), "axes or extents"),
        (real, spec("NCHW", "int8"), "losing values"),
        (spec("NCHW", "int16"), spec("NCHW", "int8"), "losing values"),
        (spec("NCHW", "int16"), spec("NCHW", "int8", Q), "losing values"),
        (spec("NCHW", "uint4"), real, "half bytes"),
        (spec("NCHW", "int8", PER_CHANNEL), spec("NCHW", "int8", nl.Quantization([0.1] * 5, 0, axis=2)), "one axis"),
        (real, "NHWC", "expected a TensorSpec"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.plan(source, target)  # type: ignore[arg-type]


def test_buffers_that_do_not_fit() -> None:
    source, target = spec("NCHW16c", "int8", Q), spec("NHWC", "float32")
    convert, flat = nl.plan(source, target), filled(source)
    with pytest.raises(nl.BufferSizeError, match="needs"):
        convert(flat[:-1])
    with pytest.raises(nl.NpuLayoutError, match="dtype"):
        convert(flat.astype(np.int16))
    good = np.zeros(target.size, np.float32)
    read_only = good.copy()
    read_only.flags.writeable = False
    for out, says in (
        (good[:-1], "contiguous elements"),
        (np.zeros((target.size, 2), np.float32)[:, 0], "contiguous elements"),
        (good.astype(np.float64), "float64"),
        (read_only, "read-only"),
        ([0.0], "list"),
        (np.asfortranarray(np.zeros((target.size // 2, 2), np.float32)), "contiguous elements"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            convert(flat, out)  # type: ignore[arg-type]
    both = np.zeros(target.nbytes + source.nbytes, np.uint8)
    with pytest.raises(nl.NpuLayoutError, match="shares memory"):
        convert(both[: source.nbytes].view(np.int8), both[: target.nbytes].view(np.float32))
    assert repr(convert).startswith("plan(TensorSpec(")


def test_a_call_after_a_good_one_is_checked_as_the_first() -> None:
    """Arrays that are like those of the last good call take a shorter way; all others get the same answers."""
    source, target = spec("NCHW16c", "int8", Q), spec("NHWC", "float32")
    flat = filled(source)
    expected = nl.plan(source, target)(flat)
    shaped = flat.reshape(source.storage_shape)
    for first in (flat, shaped):
        convert = Conversion(source, target, nl.plan(source, target).move)
        out = np.zeros(target.size, np.float32)
        assert convert(first, out) is out and (out == expected).all()
        for given, result in (
            (flat, out),
            (shaped, out.reshape(target.storage_shape)),
            (flat.tobytes(), out),
            (first, np.zeros(target.storage_shape, np.float32)),
            (first, out),
        ):
            result[...] = 0
            assert convert(given, result) is result and (result.reshape(-1) == expected).all()
        out[:] = 0
        for given, result, says in (
            (flat.view(np.uint8), out, "dtype uint8"),
            (flat[:-1], out, "needs"),
            (shaped.reshape(source.storage_shape[::-1]), out, "shape"),
            (first, out.view(np.int32), "int32"),
            (first, np.zeros((target.size, 2), np.float32)[:, 0], "contiguous elements"),
            (first, [0.0], "list"),
            (None, out, "NoneType"),
        ):
            with pytest.raises(nl.NpuLayoutError, match=says):
                convert(given, result)  # type: ignore[arg-type]
        assert not out.any()
        assert convert(first, out) is out and (out == expected).all()


def test_float64_is_checked_too() -> None:
    """Whose dtype numpy holds for equal to None."""
    source, target = (nl.TensorSpec((1, 3, 2, 2), tag, "float64", axes="NCHW") for tag in ("NCHW", "NHWC"))
    convert, x = nl.plan(source, target), np.arange(12.0)
    assert convert(x, np.zeros(12)).tolist() == x.reshape(3, 4).T.ravel().tolist()
    for buffer, out in ((x, np.zeros(13)), (np.arange(13.0), np.zeros(12)), (x, x), (x, np.zeros(24)[::2])):
        before = out.copy()
        with pytest.raises(nl.NpuLayoutError):
            convert(buffer, out)
        assert (out == before).all()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int32", "int64"])
def test_every_integer_target_saturates_at_its_lowest(dtype: str) -> None:
    move = nl.plan(nl.TensorSpec((6,), "C"), nl.TensorSpec((6,), "C", dtype, quantization=nl.Quantization(0.5, 1)))
    got = move(np.array([-5, -1, 0, 1, 2, 3], np.float32))
    expected = [max(int(np.iinfo(dtype).min), value) for value in (-9, -1, 1, 3, 5, 7)]
    assert got.dtype == dtype and got.tolist() == expected


def test_an_axis_is_its_letter_not_its_number() -> None:
    """The same numbers along axis 1 mean two things where axis 1 is C here and H there, and one where C is 1 here and 3
    or -3 there: then integers stay what they are."""
    scales = [1.0, 2.0, 4.0]
    by_c = nl.TensorSpec((1, 3, 3, 1), "NCHW", "int8", quantization=nl.Quantization(scales, axis=1))
    by_h = nl.TensorSpec((1, 3, 1, 3), "NHWC", "int8", axes="NHWC", quantization=nl.Quantization(scales, axis=1))
    with pytest.raises(nl.LayoutError, match=r"along C and .* along H"):
        nl.plan(by_c, by_h)
    large = np.array([2**30 + 1, 16777217, 5], np.int32)
    spec = nl.TensorSpec((1, 3, 1, 1), "NCHW", "int32", quantization=nl.Quantization(scales, axis=1))
    for other in (
        nl.TensorSpec((1, 3, 1, 1), "NHWC", "int32", quantization=nl.Quantization(scales, axis=-3)),
        nl.TensorSpec((1, 1, 1, 3), "NHWC", "int32", axes="NHWC", quantization=nl.Quantization(scales, axis=3)),
    ):
        np.testing.assert_array_equal(nl.plan(spec, other)(large), large)


def test_an_out_whose_shape_says_another_order_is_refused() -> None:
    source, target = nl.TensorSpec((1, 3, 4, 4)), nl.TensorSpec((1, 3, 4, 4), "NHWC")
    convert = nl.plan(source, target)
    buffer = np.arange(48, dtype=np.float32)
    good, bad = np.zeros((1, 4, 4, 3), np.float32), np.full((1, 3, 4, 4), 9, np.float32)
    for _ in range(2):  # the first arrays that fit are remembered
        with pytest.raises(nl.LayoutError, match=r"out has shape \(1, 3, 4, 4\), axes in the order NCHW"):
            convert(buffer, bad)
        assert (bad == 9).all()
        np.testing.assert_array_equal(convert(buffer, good).reshape(-1), convert(buffer))
        with pytest.raises(nl.LayoutError, match="buffer has shape"):
            convert(buffer.reshape(1, 4, 4, 3), good)
        np.testing.assert_array_equal(convert(buffer.reshape(3, 16), good[0]).reshape(-1), convert(buffer))


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [(None, None, True), ("RGB", None, True), (None, "BGR", True), ("RGB", "RGB", True), ("BGR", "RGB", False)],
)
def test_colours_that_are_given_have_to_be_the_same(first: str | None, second: str | None, fits: bool) -> None:
    source = nl.TensorSpec((1, 3, 2, 2), "NCHW", "uint8", channels=first)
    target = nl.TensorSpec((1, 3, 2, 2), "NHWC", "uint8", channels=second)
    if not fits:
        with pytest.raises(nl.LayoutError, match="differ in their colours, which a plan does not reorder"):
            nl.plan(source, target)
        return
    x = np.arange(12, dtype=np.uint8)
    assert nl.plan(source, target)(x).tolist() == x.reshape(3, 4).T.reshape(-1).tolist()
