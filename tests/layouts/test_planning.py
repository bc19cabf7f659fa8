"""Plans against the scalar oracle: every element moved once, pads zero, gaps left alone or zero, affine in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.kernels import Box
from npu_layout.layouts import Affine, Plan, Storage, affine_copy, plan_move, planning
from tests.support import oracle

TAGS = ["NCHW", "NHWC", "CHWN", "NCHW4c", "NHWC3c", "NHCW4w2c", "NHWC2h3w", "CHWN4c2n"]


@given(st.sampled_from(TAGS), st.sampled_from(TAGS), st.tuples(*[st.integers(1, 7)] * 4))
def test_a_plan_moves_every_element_and_zeroes_pads(src: str, dst: str, shape: tuple[int, ...]) -> None:
    source, target = Storage.bind(nl.Layout(src), shape), Storage.bind(nl.Layout(dst), shape)
    tensor = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    given_ = oracle.scatter(tensor, src, "NCHW", source.storage_shape, None, 0, source.size)
    expected = oracle.scatter(tensor, dst, "NCHW", target.storage_shape, None, 0, target.size)
    buffer = np.where(np.equal(given_, 0), -7, given_).astype(np.int32)  # pad lanes are never read
    out = np.full(target.size, -9, np.int32)
    move = plan_move(source, target, "int32", "int32")
    move.run(buffer, out)
    assert out.tolist() == expected
    assert move is plan_move(source, target, "int32", "int32")


@pytest.mark.parametrize("owns", [False, True])
def test_gaps(owns: bool) -> None:
    source = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3))
    target = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3), None, (40, 20, 8, 2), 1, 50)
    tensor = np.arange(1, 13, dtype=np.int16).reshape(1, 2, 2, 3)
    expected = oracle.scatter(tensor, "NCHW", "NCHW", (1, 2, 2, 3), (40, 20, 8, 2), 1, 50)
    out = np.full(50, -9, np.int16)
    plan_move(source, target, "int16", "int16", None, owns).run(tensor.reshape(-1), out)
    assert out.tolist() == [n or (0 if owns else -9) for n in expected]


def test_affine_per_channel_in_float32() -> None:
    """Channels differ in shift and scale, also across a block that they do not fill."""
    shape = (1, 5, 2, 2)
    source, target = Storage.bind(nl.Layout("NCHW4c"), shape), Storage.bind(nl.Layout("NHWC"), shape)
    tensor = np.arange(-10, 10, dtype=np.int8).reshape(shape)
    buffer = np.array(oracle.scatter(tensor, "NCHW4c", "NCHW", source.storage_shape, None, 0, source.size), np.int8)
    shift, scale = (0.0, 1.0, -2.0, 3.0, 4.0), (0.1, 0.2, 0.3, 0.4, 0.7)
    out = np.empty(target.size, np.float32)
    plan_move(source, target, "int8", "float32", Affine("C", shift, scale)).run(buffer, out)
    for at, (_, h, w, c) in enumerate(oracle.indices((1, 2, 2, 5))):
        assert out[at] == (np.float32(tensor[0, c, h, w]) - np.float32(shift[c])) * np.float32(scale[c])


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x[::-1, :, ::2], lambda x: x.transpose(2, 0, 1)])
def test_affine_copy_between_arrays_of_any_strides(turn: Any) -> None:
    x = turn(np.arange(4 * 6 * 6, dtype=np.uint8).reshape(4, 6, 6))
    out = turn(np.full((4, 6, 6), -1, np.float32))
    affine_copy(nl.Layout.of_rank(3), x, out, "uint8", "float32", Affine(nl.Layout.of_rank(3).axes[0], (3.0,), (0.5,)))
    np.testing.assert_array_equal(out, (x.astype(np.float32) - 3) * np.float32(0.5))


def test_other_axes_are_refused() -> None:
    source, target = Storage.bind(nl.Layout("NCHW"), (1, 1, 1, 1)), Storage.bind(nl.Layout("OIHW"), (1, 1, 1, 1))
    with pytest.raises(nl.LayoutError, match="have different axes: NCHW and OIHW"):
        plan_move(source, target, "int8", "int8")


def visits(box: Box) -> list[tuple[int, int, int]]:
    """Source, destination and parameter of every step of a box."""
    steps = [tuple(box[1:])]
    for extent, *strides in box.loops:
        steps = [tuple(at + i * s for at, s in zip(step, strides)) for step in steps for i in range(extent)]
    return steps


@given(st.sampled_from(TAGS), st.sampled_from(TAGS), st.tuples(*[st.integers(1, 7)] * 4))
def test_boxes_and_fills_meet_every_place_once(src: str, dst: str, shape: tuple[int, ...]) -> None:
    source, target = Storage.bind(nl.Layout(src), shape), Storage.bind(nl.Layout(dst), shape)
    channels = tuple(range(1, 1 + shape[1]))
    move = plan_move(source, target, "int8", "float32", Affine("C", channels, channels))
    moved = [visit for box in move.boxes for visit in visits(box)]
    several = shape[1] > 1  # one value needs no parameter
    expected = []
    for index in oracle.indices(shape):
        at = dict(zip("NCHW", index))
        places = (oracle.place(tag, bound.storage_shape, at) for tag, bound in ((src, source), (dst, target)))
        expected.append((*places, index[1] if several else 0))
    assert sorted(moved) == sorted(expected)
    filled = [to for box in move.fills for _, to, _ in visits(box)]
    assert sorted(filled + [to for _, to, _ in moved]) == list(range(target.size))
    for box in (*move.boxes, *move.fills):
        for outer, inner in zip(box.loops, box.loops[1:]):  # no loop that the one around it could do as well
            assert any(o != inner[0] * i for o, i in zip(outer[1:], inner[1:])), box
        assert all(extent > 1 for extent, *_ in box.loops)


def test_what_is_one_run_is_one_loop() -> None:
    bound = Storage.bind(nl.Layout("NHWC4c"), (2, 8, 3, 5))
    move = plan_move(bound, bound, "int8", "int8")
    assert [box.loops for box in move.boxes] == [((240, 1, 1, 0),)] and move.fills == ()
    once = Storage.bind(nl.Layout("NCHW"), (1, 1, 1, 1))
    assert [box.loops for box in plan_move(once, once, "int8", "int8").boxes] == [()]


def test_gaps_that_are_owned_are_one_run() -> None:
    pitched = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3), None, (40, 20, 8, 2), 1, 50)
    move = plan_move(pitched, pitched, "int16", "int16", None, True)
    assert [to for box in move.fills for _, to, _ in visits(box)] == list(range(50))
    assert plan_move(pitched, pitched, "int16", "int16", None, False).fills == ()
    assert plan_move(pitched, pitched, "int16", "int16").fills == move.fills  # by default


def test_attempt_refuses_what_does_not_fit_and_writes_nothing() -> None:
    bound, other = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3)), Storage.bind(nl.Layout("NHWC"), (1, 2, 2, 3))
    move = plan_move(bound, other, "int16", "int16")
    x, out = np.arange(12, dtype=np.int16).reshape(1, 2, 2, 3), np.full((1, 2, 3, 2), -1, np.int16)
    assert not move.attempt(x, out[..., :1]) and not move.attempt(x[:, :1], out) and (out == -1).all()
    if move.attempt(x, out):  # the kernels in numpy never try
        assert out.tolist() == x.transpose(0, 2, 3, 1).tolist()
    else:
        assert nl.kernels.active() == "numpy" and (out == -1).all()


def test_steps_that_do_not_divide_each_other() -> None:
    """Blocks of 3 to blocks of 4: every cut of either is a box of its own, and each element arrives."""
    shape = (1, 11, 1, 2)
    source, target = Storage.bind(nl.Layout("NCHW3c"), shape), Storage.bind(nl.Layout("NCHW4c"), shape)
    move = plan_move(source, target, "int16", "int16")
    tensor = np.arange(1, 23, dtype=np.int16).reshape(shape)
    out = np.full(target.size, -9, np.int16)
    move.run(np.array(oracle.scatter(tensor, "NCHW3c", "NCHW", source.storage_shape, None, 0, source.size), "i2"), out)
    assert out.tolist() == oracle.scatter(tensor, "NCHW4c", "NCHW", target.storage_shape, None, 0, target.size)


@pytest.mark.parametrize(("src", "dst"), [("NC3c", "NC5c"), ("C4cN", "NC6c"), ("NC3c2c", "CN4c"), ("NC2c", "NC7c3c")])
@pytest.mark.parametrize("channels", [1, 11, 29, 30, 31, 60, 61, 1000])
def test_blocks_that_do_not_divide_each_other(src: str, dst: str, channels: int) -> None:
    """What repeats is a loop: the boxes do not grow with the axis. Scales differ from channel to channel."""
    shape = (2, channels)
    source, target = Storage.bind(nl.Layout(src), shape), Storage.bind(nl.Layout(dst), shape)
    tensor = np.arange(1, 1 + 2 * channels, dtype=np.int32).reshape(shape)
    buffer = np.array(oracle.scatter(tensor, src, "NC", source.storage_shape, None, 0, source.size), np.int32)
    out = np.full(target.size, -9, np.int32)
    move = plan_move(source, target, "int32", "int32")
    move.run(buffer, out)
    assert out.tolist() == oracle.scatter(tensor, dst, "NC", target.storage_shape, None, 0, target.size)
    assert len(move.boxes) <= 80
    shift = tuple(float(c) for c in range(channels))
    real = np.empty(target.size, np.float32)
    plan_move(source, target, "int32", "float32", Affine("C", shift, None)).run(buffer, real)
    shifted = (tensor - np.arange(channels)).astype(np.float32)
    assert real.tolist() == oracle.scatter(shifted, dst, "NC", target.storage_shape, None, 0, target.size)


@pytest.mark.parametrize(
    ("src", "dst", "extent", "most"),
    [("N2n", "N99999999n", 2 * 10**8, 20), ("N3n", "N1000n", 1000, 4), ("N1009n", "N1013n", 2 * 10**6, 6000)],
)
def test_boxes_are_as_many_as_blocks_of_the_longer_kind(src: str, dst: str, extent: int, most: int) -> None:
    """Short blocks within a long one are a loop: nothing counts elements, or compares a box with all before it."""
    source, target = Storage.bind(nl.Layout(src), (extent,)), Storage.bind(nl.Layout(dst), (extent,))
    move = plan_move(source, target, "uint8", "uint8")
    assert len(move.boxes) <= most
    covered = sum(int(np.prod([loop[0] for loop in box.loops])) for box in move.boxes)
    assert covered == extent
    if extent <= 2 * 10**6:
        tensor = (np.arange(extent) * 31 % 251).astype(np.uint8)
        buffer, out = np.zeros(source.size, np.uint8), np.full(target.size, 9, np.uint8)
        buffer[:extent] = tensor
        move.run(buffer, out)
        assert (out[:extent] == tensor).all() and not out[extent:].any()


@pytest.mark.parametrize("expand", [False, True])
def test_affine_copy_into_elements_between_others(expand: bool) -> None:
    """Destinations that no flat array describes are written through a copy; sources may be expanded."""
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    x = np.broadcast_to(x[:1], (2, 3)) if expand else x
    out = np.zeros((2, 3), "f4,u1")["f0"]  # steps of 5 bytes between floats
    affine_copy(nl.Layout("NC"), x, out, "int8", "float32", Affine("C", (1.0, 2.0, 3.0), (0.5, 1.0, 2.0)))
    assert out.tolist() == [[(x[n, c] - (1, 2, 3)[c]) * (0.5, 1.0, 2.0)[c] for c in range(3)] for n in range(2)]


@given(st.sampled_from(TAGS), st.tuples(*[st.integers(1, 7)] * 4), st.tuples(*[st.integers(0, 2)] * 4))
def test_what_is_stored_beyond_the_blocks_is_filled(tag: str, shape: tuple[int, ...], spare: tuple[int, ...]) -> None:
    """A storage shape that is longer than needed: zeros wherever there is no element, each written once."""
    layout = nl.Layout(tag)
    further = dict(zip("NCHW", spare))
    stored = tuple(
        n if dim.block else n + further[layout.axes[dim.axis]]
        for n, dim in zip(layout.storage_shape(shape), layout.dims)
    )
    source, target = Storage.bind(nl.Layout("NCHW"), shape), Storage.bind(layout, shape, stored)
    tensor = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    move, out = plan_move(source, target, "int32", "int32"), np.full(target.size, -9, np.int32)
    move.run(tensor.reshape(-1), out)
    assert out.tolist() == oracle.scatter(tensor, tag, "NCHW", stored, None, 0, target.size)
    written = [to for box in (*move.boxes, *move.fills) for _, to, _ in visits(box)]
    assert sorted(written) == list(range(target.size))


def test_without_compiled_kernels_nothing_is_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    numpys = nl.kernels.program
    monkeypatch.setattr(planning.kernels, "program", lambda *given: numpys(*given[:5], "numpy"))
    bound = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3))
    move = Plan(bound, bound, "int16", "int16", None, True)
    x, out = np.arange(12, dtype=np.int16), np.full(12, -1, np.int16)
    assert move.attempt(x, out) is False and (out == -1).all()
    move.run(x, out)
    assert out.tolist() == x.tolist()
