"""The description of an arithmetic that the compiled core reads, and what its binding refuses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from tests.support.kernel_walks import BYTES, DTYPES, NATIVE, computing

if NATIVE:
    from npu_layout.kernels import _native
    from npu_layout.kernels.description import Description, describe

pytestmark = pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")


def described(*fields: Any, channels: int = 3) -> Description:
    source, target, *rest = fields
    found = describe(computing(source, target, *rest, channels=channels))
    assert found is not None
    return found


def test_every_array_has_a_value_for_each_channel() -> None:
    kinds = {"after": np.int32, "factor": np.uint16, "summand": np.int16}
    for source, target in itertools.product(DTYPES, DTYPES):
        zero = None if "float" in target else (3.0,)
        found = described(source, target, (1.0,), (0.5, 0.25, 2.0), None, zero, False)
        for name, value in found._asdict().items():
            if isinstance(value, np.ndarray):
                assert (
                    value.shape == (3,) and value.flags.c_contiguous and value.dtype == kinds.get(name, np.float32)
                ), name
        assert found.steps and not found.divides and (found.src_dtype, found.dst_dtype) == (source, target)
        assert not found.one_step or {source, target} <= set(BYTES)


def test_missing_steps_are_neutral() -> None:
    found = described("int16", "float32", None, None, None, None, False)
    assert not found.steps and found.shift.tolist() == [0] and found.scale.tolist() == found.divisor.tolist() == [1]
    assert describe(computing("float32", "float32", None, None, np.full(2, 3, np.float32))).divides  # type: ignore[union-attr]


@pytest.mark.parametrize("target, lowest, highest", [("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767)])
def test_bounds_and_zero_points(target: str, lowest: int, highest: int) -> None:
    whole = described("float32", target, None, None, None, (5.0,), False)
    assert whole.after.tolist() == [5] * 3 and not whole.before.any()
    assert whole.low.tolist() == [lowest - 5] * 3 and whole.high.tolist() == [highest - 5] * 3
    fractional = described("float32", target, None, None, None, (5.5,), True)
    assert fractional.before.tolist() == [5.5] * 3 and not fractional.after.any()
    assert fractional.low.tolist() == [lowest] * 3 and fractional.high.tolist() == [highest] * 3


def test_what_has_no_loops() -> None:
    one = np.ones(1, np.float32)
    for made in (
        Arithmetic("float64", "float32"),
        computing("float32", "int64", zero_point=np.zeros(1)),
        Arithmetic("float32", "int8"),  # no rule for rounding is defined
        computing("int16", "int8", one),
        computing("float32", "int32", zero_point=np.full(1, 2.0**31)),
        computing("float32", "uint16", zero_point=np.full(1, 2.0**23)),
    ):
        assert describe(made) is None, made
        assert isinstance(kernels.program(1, 1, (), (Box((), 0, 0, 0),), made), kernels.FallbackProgram)
    assert describe(Arithmetic("int16", "int8")) is not None


def refusal(error: type[Exception], **changed: Any) -> str:
    record = described("uint8", "int8", (128.0,), (0.5,), None, (0.0,), False)._replace(**changed)
    with pytest.raises(error) as raised:
        _native.Program("base", 6, 1, 6, 1, (), (Box(((6, 1, 1, 0),), 0, 0, 0),), record)
    return str(raised.value)


def test_the_binding_names_the_field_that_it_refuses() -> None:
    for name, value, error, reason in (
        ("src_dtype", "int64", ValueError, "'int64'"),
        ("dst_dtype", 7, ValueError, "7"),
        ("steps", 2, ValueError, "expected 0 to 1, got 2"),
        ("divides", "yes", ValueError, "got 'yes'"),
        ("bits", 9, ValueError, "expected 0 to 8, got 9"),
        ("bits", -1, ValueError, "expected 0 to 8, got -1"),
        ("bits", 1 << 80, ValueError, "expected 0 to 8"),
        ("shift", None, TypeError, "array"),
        ("shift", np.zeros(0, np.float32), ValueError, "of 0 channels"),
        ("scale", np.zeros(2, np.float32), ValueError, "expected 12 bytes, of 3 channels, got 8"),
        ("after", np.zeros(6, np.int32)[::2], TypeError, "contiguous"),
        ("factor", np.zeros(3, np.int32), ValueError, "expected 6 bytes"),
        ("summand", np.zeros(4, np.int16), ValueError, "expected 6 bytes"),
    ):
        text = refusal(error, **{name: value})
        assert text.startswith(f"arithmetic.{name}: ") and reason in text, text
    assert "arithmetic.bits: only if arithmetic.one_step" in refusal(ValueError, one_step=False, bits=3)
    assert "arithmetic.one_step: only from bytes" in refusal(ValueError, dst_dtype="float32", one_step=True)
    assert "src_item and dst_item: expected 1 and 4" in refusal(ValueError, dst_dtype="float32", one_step=False, bits=0)


def test_a_record_of_any_type_will_do_and_one_without_a_field_will_not() -> None:
    class Other:
        pass

    other = Other()
    box = Box(((6, 1, 1, 0),), 0, 0, 0)
    for name, value in described("uint8", "int8", (128.0,), (0.5,), None, (0.0,), False)._asdict().items():
        with pytest.raises(AttributeError, match=name):
            _native.Program("base", 6, 1, 6, 1, (), (box,), other)  # type: ignore[arg-type]
        setattr(other, name, value)
    got = np.zeros(6, np.int8)
    _native.Program("base", 6, 1, 6, 1, (), (box,), other).run(np.arange(120, 126, dtype=np.uint8), got)  # type: ignore[arg-type]
    assert got.tolist() == np.rint((np.arange(120, 126) - 128) * 0.5).tolist()
