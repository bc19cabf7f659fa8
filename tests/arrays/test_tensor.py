"""nl.Tensor: what keeps the format, what drops it, and that the values are always numpy's."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from tests.support import oracle
from tests.support.arrays import AXES, arrays, bits, filled, tags
from tests.support.tensors import DROPS, KEEPS, LAYOUTS, SHAPES, tensor


def is_stored(x: Any, layout: str) -> bool:
    """Whether `x` is a Tensor that carries `layout` and has its strides."""
    strides = tuple(s * x.itemsize for s in nl.strides(x.shape, layout))
    return isinstance(x, nl.Tensor) and str(x.layout) == layout and x.strides == strides


def flexible(x: Any, layout: str) -> bool:
    return isinstance(x, nl.Tensor) and str(x.layout) == layout and layout in map(str, nl.fitting_formats(x))


def test_a_view_if_it_is_stored_so_else_a_copy() -> None:
    x = filled((4, 1, 4, 4), "float32")
    for layout in LAYOUTS:
        t = nl.Tensor(x, layout)
        assert is_stored(t, layout) and np.shares_memory(t, x) == (layout in ("NCHW", "NHWC", "NHCW"))
        np.testing.assert_array_equal(np.asarray(t), x)
    assert nl.memory_format(nl.Tensor(x, "NHWC")) == nl.Layout("NHWC") and nl.memory_format(x) is None
    t = nl.Tensor(np.ones((2, 3)).tolist(), "CN")
    assert is_stored(t, "CN") and nl.asformat(t, "CN") is t and nl.Tensor(t, "NC").layout == nl.Layout("NC")


SHARES = {"slice", "flipped slice", "all", "no copy", "view", "view dtype", "flip", "real"}


@pytest.mark.parametrize("name", KEEPS)
def test_what_keeps_the_format(name: str) -> None:
    for shape, layout in itertools.product(SHAPES, LAYOUTS):
        x = tensor(shape, layout)
        before = bits(x)
        expected = KEEPS[name](np.asarray(x))
        result = KEEPS[name](x)
        assert flexible(result, layout), (shape, layout)
        np.testing.assert_array_equal(np.asarray(result), expected)
        assert result.dtype == expected.dtype and bits(x) == before
        assert np.shares_memory(result, x) == (name in SHARES)
        if name not in SHARES | {"subok", "subok and dtype"}:  # whose strides are numpy's choice
            assert is_stored(result, layout), (shape, layout, result.strides)


@pytest.mark.parametrize("name", DROPS)
def test_what_drops_to_a_plain_array(name: str) -> None:
    for shape, layout in itertools.product(SHAPES, LAYOUTS):
        x = tensor(shape, layout)
        result, expected = DROPS[name](x), DROPS[name](np.asarray(x))
        assert type(result) is type(expected) and not isinstance(result, nl.Tensor)
        np.testing.assert_array_equal(result, expected)


def test_the_first_tensor_wins() -> None:
    for shape in SHAPES:
        a, b, plain = tensor(shape, "NHWC"), tensor(shape, "CHWN"), filled(shape, "float32")
        for result, layout in (
            (a + b, "NHWC"),
            (b + a, "CHWN"),
            (plain + b, "CHWN"),
            (np.where(plain > 3, b, a), "CHWN"),
        ):
            assert is_stored(result, layout)
        np.testing.assert_array_equal(np.asarray(a + b), np.asarray(a) + np.asarray(b))


def test_tensors_of_other_ranks() -> None:
    batch, image = tensor((2, 3, 4, 5), "NHWC"), tensor((3, 4, 5), "CHW")
    for result in (batch + image, image + batch):  # only one of them has the result's axes
        assert is_stored(result, "NHWC")
    assert type(np.add(image, 1, where=np.ones((2, 3, 4, 5), bool), out=None)) is np.ndarray
    plain = image + np.ones((2, 3, 4, 5))
    assert type(plain) is np.ndarray  # a batch of CHW has no name yet
    with pytest.raises(ValueError, match=r"\(2, ?3, ?4, ?5\).*\(5, ?4, ?3\)"):
        batch + np.ones((5, 4, 3))


def test_out_keeps_what_it_is() -> None:
    x, expected = tensor((2, 3, 4, 5), "NHWC"), np.asarray(tensor((2, 3, 4, 5), "NHWC")) + 1
    for out in (nl.Tensor(np.zeros(x.shape), "CHWN"), np.zeros(x.shape), np.zeros(x.shape, order="F")):
        strides = out.strides
        assert np.add(x, 1, out=out) is out and out.strides == strides
        np.testing.assert_array_equal(np.asarray(out), expected)
        assert (
            x.cumsum(axis=0, out=out) is out and np.clip(x, 0, 9, out=out) is out and np.cumsum(x, 0, None, out) is out
        )
        part = out[:, :, :1]
        assert np.mean(x, axis=2, out=part, keepdims=True) is part
        np.testing.assert_allclose(np.asarray(part), np.asarray(x).mean(axis=2, keepdims=True))
    first, second = np.empty(x.shape), None
    results = np.divmod(x, 3, out=(first, second))
    assert results[0] is first and is_stored(results[1], "NHWC")
    np.add(x, 1, out=first, where=nl.Tensor(np.asarray(x) < 0, "NHWC"))
    assert type(np.add(np.ones(x.shape), 1, where=x > -1, out=None)) is np.ndarray
    t = tensor((2, 3, 4, 5), "CHWN")
    same = t
    t += x
    t[:, :1] = 5
    assert t is same and is_stored(t, "CHWN") and (np.asarray(t)[:, 0] == 5).all()
    np.multiply.at(t, (slice(None), 0), 2)
    assert (np.asarray(t)[:, 0] == 10).all()


def test_narrowed_and_flipped_tensors() -> None:
    x = tensor((2, 8, 6, 6), "NHWC")
    for part in (x[:, 2:5, 1:3, 1:3], x[:, ::-1, :, ::-2]):
        assert flexible(part, "NHWC") and np.shares_memory(part, x) and not nl.is_contiguous(part, "NHWC")
        for result in (part + 1, part.copy(), pickle.loads(pickle.dumps(part)), nl.clone(part), copy.deepcopy(part)):
            assert is_stored(result, "NHWC")
        assert nl.empty_like(part).layout == nl.Layout("NHWC")
        np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(part))), np.asarray(part))


def test_in_place_changes_of_shape_are_refused() -> None:
    x = tensor((2, 3, 4, 5), "NHWC")
    for change in (
        lambda: setattr(x, "shape", (6, 20)),
        lambda: setattr(x, "strides", (4, 4, 4, 4)),
        lambda: x.resize(6, 20),
    ):
        with pytest.raises(nl.NpuLayoutError, match="in place"):
            change()
    x.real = 7
    assert is_stored(x, "NHWC") and (np.asarray(x) == 7).all()


def test_a_tensor_without_a_layout_says_so() -> None:
    bare = np.zeros((4, 1, 4, 4)).view(nl.Tensor)
    with pytest.raises(nl.LayoutError, match="made without a layout"):
        bare.layout  # noqa: B018
    assert nl.memory_format(bare) is None and type(bare + 1) is np.ndarray and type(bare[:2]) is np.ndarray
    assert type(copy.copy(bare)) is np.ndarray and "layout" not in repr(bare)
    assert isinstance(pickle.loads(pickle.dumps(bare)), nl.Tensor)


def test_a_ufunc_on_a_tensor_of_no_axes_returns_a_number_as_numpy_does() -> None:
    one = nl.Tensor(np.float32(3), nl.Layout.of_rank(0))
    assert one.layout == nl.Layout.of_rank(0) and repr(one) == "Tensor(3., dtype=float32, layout=Layout.plain(''))"
    plain = np.array(3, np.float32)
    for found, expected, value in (
        (one + 1, plain + 1, 4.0),  # of float64 before NumPy 2
        (-one, -plain, -3.0),
        (divmod(one, 2)[1], divmod(plain, 2)[1], 1.0),
        (np.add.reduce(one[None]), np.add.reduce(plain[None]), 3.0),
    ):
        assert type(found) is type(expected) and found == value
    assert type(one + np.ones((2, 2))) is np.ndarray


def test_repr() -> None:
    assert repr(tensor((1, 2), "CN", "int8")) == "Tensor([[85, 63]], dtype=int8, layout='CN')"
    assert str(tensor((1, 2), "CN", "int8")) == "[[85 63]]"
    own = nl.Tensor(np.zeros((1, 2), np.int8), nl.Layout("CN", axes="CN"))
    assert repr(own) == "Tensor([[0, 0]], dtype=int8, layout=Layout('CN', axes='CN'))"


def test_subclasses_of_ours() -> None:
    class Mine(nl.Tensor):
        pass

    x = Mine(filled((2, 3, 4, 5), "float32"), "NHWC")
    for result in (x + 1, x[:1], x.copy(), nl.asformat(x, "NHWC", copy=True), np.ones((2, 3, 4, 5)) + x, np.copy(x)):
        assert type(result) is Mine and is_stored(result, "NHWC")
    assert type(tensor((2, 3, 4, 5), "NHWC") + x) is nl.Tensor


def test_masked_arrays_and_those_of_others() -> None:
    x = tensor((2, 3, 4, 5), "NHWC")
    masked = np.ma.masked_array(np.ones(x.shape), np.asarray(x) > 50)
    result = x + masked
    assert isinstance(result, np.ma.MaskedArray)
    np.testing.assert_array_equal(result.mask, masked.mask)
    record = filled(x.shape, "float32").view(np.recarray)
    assert type(x + record) is np.recarray
    spec = nl.TensorSpec(x.shape, "NCHW4c")
    out = tensor(x.shape, "CHWN")
    assert spec.unpack(spec.pack(x) + 1, out=out) is out and is_stored(out, "CHWN")
    np.testing.assert_array_equal(np.asarray(out), np.asarray(x) + 1)
    assert type(nl.repack(x, "NCHW", "NHWC")) is np.ndarray

    class Other:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> str:
            return f"{ufunc.__name__} of {[type(x).__name__ for x in inputs]}"

    assert np.add(x, Other()) == "add of ['ndarray', 'Other']"


def test_python_scalars_stay_weak() -> None:
    x = tensor((4, 1, 4, 4), "NHWC", "uint8")
    assert (x + 1).dtype == np.uint8 and (x * 2.0).dtype == (np.asarray(x) * 2.0).dtype
    assert (x + np.float32(1)).dtype == (np.asarray(x) + np.float32(1)).dtype


def test_objects_and_strange_dtypes() -> None:
    for dtype in ("object", ">i2", "M8[s]", "i4,u1", "complex128"):
        x = tensor((2, 3, 4, 5), "NHWC", dtype)
        for result in (x.copy(), pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x[:1], nl.asformat(x, "NHWC", True)):
            assert flexible(result, "NHWC") and result.dtype in (x.dtype, x.dtype.newbyteorder("="))
        np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(x))), np.asarray(x))
    assert is_stored(tensor((2, 3, 4, 5), "NHWC", "object") + 1, "NHWC")


def functions() -> list[str]:
    files = "save savez savez_compressed savetxt fromfile load"
    helpers = "test show_config info lookfor source who"  # of the prompt, some remember what was asked
    left_out = f"{files} {helpers} fastCopyAndTranspose".split()  # the last is C, deprecated, and does not dispatch
    names = [name for name in dir(np) if not name.startswith("_") and name not in left_out]
    return [n for n in names if callable(getattr(np, n)) and not isinstance(getattr(np, n), type)]


def every_tensor(result: Any) -> list[nl.Tensor]:
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in every_tensor(part)]
    return [result] if isinstance(result, nl.Tensor) else []


@pytest.mark.filterwarnings("ignore")
def test_every_function_and_method_gives_what_numpy_gives() -> None:
    calls: dict[str, Callable[[Any], Any]] = {}
    methods = [n for n in dir(np.ndarray) if not n.startswith("_")]
    for extra in ((), (1,), ((0, 2, 1, 3),)):
        for name in functions():
            calls[f"np.{name}{extra}"] = lambda x, name=name, extra=extra: getattr(np, name)(x, *extra)
        for name in set(methods) - {"dump", "tofile", "resize", "shape", "strides", "data", "ctypes", "base"}:
            calls[f"x.{name}{extra}"] = lambda x, name=name, extra=extra: (
                getattr(x, name)(*extra) if callable(getattr(x, name)) else getattr(x, name)
            )
    asked = 0
    for name, call in calls.items():
        for layout in ("NHWC", "CHWN"):
            plain = nl.asformat(np.arange(16.0).reshape(2, 2, 2, 2), layout, True)
            x = nl.Tensor(plain.copy("K"), layout)
            try:
                expected = call(plain)
            except Exception as error:
                with pytest.raises(type(error)):
                    call(x)
                continue
            result = call(x)
            asked += 1
            if name.split("(")[0] not in ("np.empty_like", "x.flags", "np.nditer", "x.flat", "x.to_device"):
                same_values(result, expected, name)
            for t in every_tensor(result):
                assert flexible(t, layout) and t.ndim == 4, name
    assert asked > 300


def same_values(result: Any, expected: Any, name: str) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected), name
        for a, b in zip(result, expected):
            same_values(a, b, name)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert np.asarray(result).dtype == expected.dtype, name
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected), name)


@given(st.data())
def test_any_array(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axes = AXES[x.ndim][0]
    layout = data.draw(st.sampled_from(tags(axes)))
    kept = bits(x)
    t = nl.Tensor(x, layout)
    assert str(t.layout) == layout and oracle.contiguous(np.asarray(t), layout, axes) and bits(t) == kept
    key = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in x.shape)
    part = t[key]
    assert isinstance(part, nl.Tensor) and str(part.layout) == layout and bits(part) == bits(x[key])
    assert oracle.in_order(np.asarray(part), layout, axes)
    for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part), part.copy(), nl.clone(part)):
        assert str(again.layout) == layout and oracle.contiguous(np.asarray(again), layout, axes)
        assert bits(again.astype(x.dtype)) == bits(part)  # numpy pickles in the native byte order
    assert bits(x) == kept


@given(st.data())
def test_any_two(data: st.DataObject) -> None:
    x, y = (data.draw(arrays(ranks=(1, 4))) for _ in range(2))
    x, y = (a.astype(np.float32) if a.dtype.kind in "iufb" else np.ones(a.shape, np.int16) for a in (x, y))
    layouts = [data.draw(st.sampled_from([None, *tags(AXES[a.ndim][0])])) for a in (x, y)]
    given = [a if layout is None else nl.Tensor(a, layout) for a, layout in zip((x, y), layouts)]
    try:
        expected = np.subtract(x, y)
    except ValueError:
        with pytest.raises(ValueError, match="shape"):
            np.subtract(*given)
        return
    result = np.subtract(*given)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert result.dtype == expected.dtype
    wins = [layout for a, layout in zip((x, y), layouts) if layout is not None and a.ndim == expected.ndim]
    if wins:
        assert is_stored(result, wins[0]) or (not expected.size and str(result.layout) == wins[0])
    else:
        assert type(result) is np.ndarray
