"""Very many random layouts, shapes, dtypes, strides and offsets against the scalar oracle, which shares no code with
the library. ``python -m tests.buffers.test_volume COUNT SEED`` runs as many as one likes and prints how many there
were."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from tests.support import oracle
from tests.support.paths import ROOT

DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64", ">i2", ">u4", ">f4", ">f8"]
LETTERS = ["N", "C", "NC", "NM", "MK", "HWC", "CHW", "NCW", "NCHW", "NCHW", "NCHW", "OIHW", "NCDHW", "GOIHW", "ABCDEF"]
BLOCKS = [1, 2, 2, 3, 4, 4, 5, 8, 16]
MOST = 30  # elements of a tensor


def random_tag(rng: random.Random, letters: str) -> str:
    parts = list(letters)
    rng.shuffle(parts)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3))):  # a block stands anywhere
        parts.insert(rng.randint(0, len(parts)), f"{rng.choice(BLOCKS)}{rng.choice(letters).lower()}")
    tag = "".join(parts)
    return tag if tag not in ("WHCN", "CWHN") else letters


def random_shape(rng: random.Random, rank: int) -> tuple[int, ...]:
    shape, left = [1] * rank, MOST
    for axis in rng.sample(range(rank), rank):
        shape[axis] = rng.randint(1, max(1, min(rng.choice((3, 5, 19, 40)), left)))
        left //= shape[axis]
    return tuple(shape)


def random_storage(rng: random.Random, layout: nl.Layout, stored: list[int]) -> dict[str, Any]:
    """Pitches with gaps, dimensions in any order of memory, some of them backwards, and the place of the first one."""
    found: dict[str, Any] = {}
    if rng.random() < 0.3:
        stored = [n if dim.block else n + rng.randint(0, 2) for n, dim in zip(stored, layout.dims)]
        found["storage_shape"] = stored
    if rng.random() < 0.5:
        order, strides, pitch = list(range(len(stored))), [0] * len(stored), 1
        if rng.random() < 0.5:
            rng.shuffle(order)
        for i in reversed(order):
            pitch += rng.choice((0, 0, 1, 2))
            strides[i] = pitch if rng.random() < 0.8 else -pitch
            pitch *= stored[i]
        before = sum((n - 1) * -stride for n, stride in zip(stored, strides) if stride < 0)
        found.update(storage_strides=strides, storage_offset=before + rng.choice((0, 0, 1, 7)))
    return found


def laid_out(rng: random.Random, tensor: np.ndarray) -> np.ndarray:
    """The same values, sliced out of something larger, flipped or with its axes in another order of memory."""
    order = rng.sample(range(tensor.ndim), tensor.ndim)
    steps = [rng.choice((1, 1, 2, -1, -2)) for _ in order]
    whole = np.full([abs(steps[i]) * tensor.shape[i] for i in order], 99).astype(tensor.dtype)
    view = whole.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    view[...] = tensor
    return view


def one_case(rng: random.Random) -> None:
    letters = rng.choice(LETTERS)
    tag, axes = random_tag(rng, letters), "".join(rng.sample(letters, len(letters)))
    shape, dtype = random_shape(rng, len(axes)), np.dtype(rng.choice(DTYPES))
    layout = nl.Layout(tag, axes)
    extents = dict(zip(axes, shape))
    stored = oracle.stored_shape(tag, extents)
    assert list(layout.storage_shape(shape)) == stored, (tag, axes, shape)
    storage = random_storage(rng, layout, list(stored))
    if rng.random() < 0.3:
        plain = nl.TensorSpec(shape, layout, dtype, **storage)
        storage["size"] = plain.size + rng.randint(0, 5)
    spec = nl.TensorSpec(shape, layout, dtype, **storage)
    what = repr(spec)
    values = np.array([rng.randint(1, 120) for _ in range(int(np.prod(shape)))]).reshape(shape)
    tensor = values.astype(dtype)
    stored = list(storage.get("storage_shape", stored))
    strides, start = storage.get("storage_strides"), storage.get("storage_offset", 0)
    expected = np.array(oracle.scatter(tensor, tag, axes, stored, strides, start, spec.size)).astype(dtype)

    packed = spec.pack(laid_out(rng, tensor))
    assert packed.dtype == dtype and packed.tobytes() == expected.tobytes(), what
    junk = np.frombuffer(rng.randbytes(expected.nbytes) if dtype.kind != "b" else bytes(expected.nbytes), dtype).copy()
    places = [start + oracle.place(tag, stored, dict(zip(axes, index)), strides) for index in oracle.indices(shape)]
    junk[places] = tensor.reshape(-1)  # what pads and gaps hold is never read
    unpacked = spec.unpack(junk)
    assert unpacked.shape == shape and unpacked.dtype == dtype.newbyteorder("="), what
    assert unpacked.tobytes() == tensor.astype(unpacked.dtype).tobytes(), what
    index = tuple(rng.randrange(n) for n in shape)
    place = start + oracle.place(tag, stored, dict(zip(axes, index)), strides)
    assert spec.offset(*index) == place, what
    if rng.random() < 0.3:
        other = random_tag(rng, letters)
        room = oracle.stored_shape(other, extents)
        wanted = oracle.scatter(tensor, other, axes, room, None, 0, int(np.prod(room)))
        got = spec.unpack(junk, to=nl.Layout(other, axes), copy=True)
        assert got.reshape(-1).tolist() == wanted, (what, other)


def run(seed: int, count: int, progress: Callable[[int], None] = lambda _: None) -> int:
    rng = random.Random(seed)
    for i in range(count):
        one_case(rng)
        progress(i + 1)
    return count


def test_random_cases_against_the_oracle(ran: Callable[[int, str], None]) -> None:
    ran(run(1, 1500), "random layouts, shapes, dtypes, strides and offsets against the scalar oracle")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_hundred_thousand_cases_against_the_oracle(seed: int, ran: Callable[[int, str], None]) -> None:
    ran(run(seed, 10_000), "random layouts, shapes, dtypes, strides and offsets against the scalar oracle")


@pytest.mark.slow
def test_memory_stays_as_it_is(ran: Callable[[int, str], None]) -> None:
    """tests/support/leaks.py: each public function for 2 seconds, or a million times."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.leaks", "1000000", "2"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ran(int(done.stdout.splitlines()[-1].split()[0].replace(",", "")), "calls of public functions in flat memory")


if __name__ == "__main__":
    wanted, first, began = int(sys.argv[1]), int(sys.argv[2]), time.monotonic()

    def show(done: int) -> None:
        if done % 50_000 == 0 or done == wanted:
            print(f"{done} cases, seed {first}, {time.monotonic() - began:.0f} s, {nl.kernels.active()}", flush=True)

    run(first, wanted, show)
