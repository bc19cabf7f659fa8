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

AMBIGUOUS = ((4, 1, 4, 4), (4, 3, 1, 1), (4, 1, 1, 1), (1, 1, 1, 1))
SHAPES = (*AMBIGUOUS, (2, 3, 4, 5), (1, 4, 2, 3))
LAYOUTS = ("NCHW", "NHWC", "CHWN", "NHCW")


def tensor(shape: tuple[int, ...], layout: str, dtype: Any = "float32") -> nl.Tensor:
    return nl.Tensor(filled(shape, dtype), layout)


def lies(x: Any, layout: str) -> bool:
    """Whether `x` is a Tensor that says `layout` and has its strides."""
    strides = tuple(s * x.itemsize for s in nl.strides(x.shape, layout))
    return isinstance(x, nl.Tensor) and str(x.layout) == layout and x.strides == strides


def flexible(x: Any, layout: str) -> bool:
    return isinstance(x, nl.Tensor) and str(x.layout) == layout and layout in map(str, nl.fitting_formats(x))


def test_a_view_where_it_lies_so_else_a_copy() -> None:
    x = filled((4, 1, 4, 4), "float32")
    for layout in LAYOUTS:
        t = nl.Tensor(x, layout)
        assert lies(t, layout) and np.shares_memory(t, x) == (layout in ("NCHW", "NHWC", "NHCW"))
        np.testing.assert_array_equal(np.asarray(t), x)
    assert nl.memory_format(nl.Tensor(x, "NHWC")) == nl.Layout("NHWC") and nl.memory_format(x) is None
    t = nl.Tensor(np.ones((2, 3)).tolist(), "CN")
    assert lies(t, "CN") and nl.asformat(t, "CN") is t and nl.Tensor(t, "NC").layout == nl.Layout("NC")


KEEPS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[:1, ..., ::2],
    "flipped slice": lambda x: x[..., ::-1],
    "all": lambda x: x[()],
    "add": lambda x: x + 1,
    "radd": lambda x: 1.5 - x,
    "list": lambda x: x * [2.0],
    "negative": lambda x: -x,
    "compare": lambda x: x > 2,
    "plain": lambda x: np.ones(x.shape, np.int64) + x,
    "plain fortran": lambda x: np.maximum(np.asfortranarray(np.ones(x.shape)), x),
    "broadcast": lambda x: x * np.arange(x.shape[1]).reshape(-1, 1, 1),
    "larger": lambda x: x[:1] + np.ones((3, *x.shape[1:])),
    "where=": lambda x: np.add(x, 1, where=np.ones(x.shape[1:], bool), out=None),
    "float16": lambda x: x.astype(np.float16),
    "no copy": lambda x: x.astype(x.dtype, copy=False),
    "sum": lambda x: x.sum(axis=2, keepdims=True),
    "reduce": lambda x: np.add.reduce(x, (1, 2), keepdims=True),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True),
    "std": lambda x: x.std((2, 3), None, None, 0, keepdims=True),
    "median": lambda x: np.median(x, axis=1, keepdims=True),
    "norm": lambda x: np.linalg.norm(x, axis=1, keepdims=True),
    "quantile": lambda x: np.quantile(x, 0.5, axis=(1, 2), keepdims=True),
    "argmax": lambda x: x.argmax(axis=1, keepdims=True),
    "np.argmax": lambda x: np.argmax(x, axis=1, keepdims=True),
    "max of all": lambda x: x.max(keepdims=True),
    "cumsum": lambda x: x.cumsum(axis=3),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "copy": lambda x: x.copy(),
    "np.copy": lambda x: np.copy(x),
    "np.copy K": lambda x: np.copy(x, "K"),
    "np.sort": lambda x: np.sort(x, 1, order=None),
    "copy.copy": lambda x: copy.copy(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "view": lambda x: x.view(),
    "view dtype": lambda x: x.view(np.int32),
    "clip": lambda x: np.clip(x, 1, np.full(x.shape, 5)),
    "round": lambda x: x.round(1),
    "np.where": lambda x: np.where(np.ones(x.shape, bool), x, 0),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "flip": lambda x: np.flip(x, 1),
    "zeros_like": lambda x: np.zeros_like(x, np.int8),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "subok": lambda x: np.array(x, subok=True),
    "subok and dtype": lambda x: np.asanyarray(x, np.float64),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "pickle 2": lambda x: pickle.loads(pickle.dumps(x, 2)),
    "frexp": lambda x: np.frexp(x)[1],
    "divmod": lambda x: divmod(x, 2)[0],
}
SHARES = {"slice", "flipped slice", "all", "no copy", "view", "view dtype", "flip", "real"}

DROPS: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: x.transpose(0, 2, 3, 1),
    "T": lambda x: x.T,
    "np.transpose": lambda x: np.transpose(x),
    "swapaxes": lambda x: x.swapaxes(1, 2),
    "moveaxis": lambda x: np.moveaxis(x, 1, 3),
    "reshape": lambda x: x.reshape(x.shape),
    "np.reshape": lambda x: np.reshape(x, (-1, 1, 1, 1)),
    "ravel": lambda x: x.ravel(),
    "squeeze": lambda x: x.squeeze(),
    "integer": lambda x: x[0],
    "integer and newaxis": lambda x: x[None, 0],
    "array": lambda x: x[np.array([0, 0])],
    "list": lambda x: x[[0]],
    "mask": lambda x: x[x > 1],
    "slice and integer": lambda x: x[:, 0],
    "sum": lambda x: x.sum(axis=1),
    "np.max": lambda x: np.max(x, axis=(1, 2)),
    "reduce": lambda x: np.add.reduce(x),
    "matmul": lambda x: x @ np.ones((x.shape[3], 4)),
    "outer": lambda x: np.multiply.outer(x, [1, 2]),
    "more axes": lambda x: x + np.ones((2, *x.shape)),
    "concatenate": lambda x: np.concatenate([x, x]),
    "stack": lambda x: np.stack([x, x]),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "copy C": lambda x: x.copy("C"),
    "astype F": lambda x: x.astype(int, order="F"),
    "no subok": lambda x: x.astype(int, subok=False),
    "asarray": lambda x: np.asarray(x),
    "ascontiguous": lambda x: np.ascontiguousarray(x),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "take": lambda x: x.take([0], axis=1),
    "pad": lambda x: np.pad(x, 1),
    "einsum": lambda x: np.einsum("nchw->nhwc", x),
    "iteration": lambda x: next(iter(x)),
    "ufunc in C order": lambda x: np.add(x, 1, order="C"),
    "ones_like in C order": lambda x: np.ones_like(x, order="C"),
    "zeros_like by position": lambda x: np.zeros_like(x, np.int8, "C"),
    "np.copy C": lambda x: np.copy(x, "C"),
    "zeros_like without subok": lambda x: np.zeros_like(x, subok=False),
    "full_like without subok": lambda x: np.full_like(x, 1, None, "K", False),
    "several quantiles": lambda x: np.quantile(x, [0.2, 0.5], axis=1),
    "several quantiles and keepdims": lambda x: np.percentile(x, [20, 50], axis=1, keepdims=True),
    "hidden": lambda x: np.concatenate(__import__("collections").deque([x, x])),
}


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
            assert lies(result, layout), (shape, layout, result.strides)


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
            assert lies(result, layout)
        np.testing.assert_array_equal(np.asarray(a + b), np.asarray(a) + np.asarray(b))


def test_tensors_of_other_ranks() -> None:
    batch, image = tensor((2, 3, 4, 5), "NHWC"), tensor((3, 4, 5), "CHW")
    for result in (batch + image, image + batch):  # only one of them has the result's axes
        assert lies(result, "NHWC")
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
    assert results[0] is first and lies(results[1], "NHWC")
    np.add(x, 1, out=first, where=nl.Tensor(np.asarray(x) < 0, "NHWC"))
    assert type(np.add(np.ones(x.shape), 1, where=x > -1, out=None)) is np.ndarray
    t = tensor((2, 3, 4, 5), "CHWN")
    same = t
    t += x
    t[:, :1] = 5
    assert t is same and lies(t, "CHWN") and (np.asarray(t)[:, 0] == 5).all()
    np.multiply.at(t, (slice(None), 0), 2)
    assert (np.asarray(t)[:, 0] == 10).all()


def test_narrowed_and_flipped_tensors() -> None:
    x = tensor((2, 8, 6, 6), "NHWC")
    for part in (x[:, 2:5, 1:3, 1:3], x[:, ::-1, :, ::-2]):
        assert flexible(part, "NHWC") and np.shares_memory(part, x) and not nl.is_contiguous(part, "NHWC")
        for result in (part + 1, part.copy(), pickle.loads(pickle.dumps(part)), nl.clone(part), copy.deepcopy(part)):
            assert lies(result, "NHWC")
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
    assert lies(x, "NHWC") and (np.asarray(x) == 7).all()


def test_a_tensor_without_a_layout_says_so() -> None:
    bare = np.zeros((4, 1, 4, 4)).view(nl.Tensor)
    with pytest.raises(nl.LayoutError, match="made without a layout"):
        bare.layout  # noqa: B018
    assert nl.memory_format(bare) is None and type(bare + 1) is np.ndarray and type(bare[:2]) is np.ndarray
    assert type(copy.copy(bare)) is np.ndarray and "layout" not in repr(bare)
    assert isinstance(pickle.loads(pickle.dumps(bare)), nl.Tensor)


def test_repr() -> None:
    assert repr(tensor((1, 2), "CN", "int8")) == "Tensor([[85, 63]], dtype=int8, layout='CN')"
    assert str(tensor((1, 2), "CN", "int8")) == "[[85 63]]"


def test_subclasses_of_ours() -> None:
    class Mine(nl.Tensor):
        pass

    x = Mine(filled((2, 3, 4, 5), "float32"), "NHWC")
    for result in (x + 1, x[:1], x.copy(), nl.asformat(x, "NHWC", copy=True), np.ones((2, 3, 4, 5)) + x, np.copy(x)):
        assert type(result) is Mine and lies(result, "NHWC")
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
    assert spec.unpack(spec.pack(x) + 1, out=out) is out and lies(out, "CHWN")
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
    assert lies(tensor((2, 3, 4, 5), "NHWC", "object") + 1, "NHWC")


# numpy's whole face: nothing may come out as a Tensor that says what is not so.


def functions() -> list[str]:
    files = "save savez savez_compressed savetxt fromfile load"
    helpers = "test show_config info lookfor source who"  # of the prompt, some remember what was asked
    left_out = f"{files} {helpers} fastCopyAndTranspose".split()  # the last is C, deprecated, and tells nobody
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
        assert lies(result, wins[0]) or (not expected.size and str(result.layout) == wins[0])
    else:
        assert type(result) is np.ndarray
