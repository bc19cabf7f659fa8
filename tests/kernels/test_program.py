"""Generated conversions between random storages, on all kernels, against offsets read a second time."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.layouts import Affine, Plan
from npu_layout.layouts.storage import Storage
from tests.buffers.test_random_conversions import random_tag
from tests.support import oracle
from tests.support.conversion_examples import CONVERSIONS
from tests.support.kernel_walks import BACKENDS, DTYPES, NATIVE, arithmetics, converted, numbers, same
from tests.support.move_examples import EXAMPLES


def random_case(rng: random.Random, values: np.random.Generator) -> Counter[str]:
    """One conversion between two random storages: all kinds of kernels against offsets read a second time."""
    letters = rng.choice(["NCHW", "NCDHW", "NM", "HWC", "CHW", "NC"])
    layouts = [nl.Layout(random_tag(rng, letters, (2, 3, 4, 8, 16)))]
    layouts.append(nl.Layout(random_tag(rng, layouts[0].axes, (2, 3, 4, 8, 16)), layouts[0].axes))
    most = rng.choice((3, 9, 24 if len(letters) < 5 else 12))
    extents = [rng.randint(1, most) for _ in letters]
    if most <= 12 and rng.random() < 0.2:
        extents[rng.randrange(len(extents))] = rng.randint(25, 1100 // most)
    shape = tuple(extents)
    storages, places = [], []
    for layout in layouts:
        stored = list(layout.storage_shape(shape))
        strides, start = None, 0
        if rng.random() < 0.3:
            strides, pitch = [0] * len(stored), 1
            for i in reversed(range(len(stored))):
                pitch += rng.randint(0, 2)
                strides[i], pitch = pitch, pitch * stored[i]
            start = rng.randint(0, 3)
            for i in range(len(stored)):
                if rng.random() < 0.3:  # from the end
                    start += (stored[i] - 1) * strides[i]
                    strides[i] = -strides[i]
        storages.append(Storage.bind(layout, shape, stored, strides, start))
        index = dict(zip(layout.axes, np.indices(shape)))
        places.append((start + np.asarray(oracle.place(layout.tag, stored, index, strides))).ravel())
    src, dst = storages
    if rng.random() < 0.6:
        source = target = f"V{rng.choice((1, 2, 3, 4, 8, 12, 16))}"
        affine, raw = None, values.integers(0, 256, src.size * int(source[1:]), np.uint8).view(source)
    else:
        source, target = rng.choice(DTYPES), rng.choice(DTYPES)
        raw, affine = numbers(values, source, src.size), None
        axis = rng.choice(src.layout.axes)
        n = src.extent(axis) if rng.random() < 0.6 else 1
        made = list(arithmetics(source, target, n))
        chosen = rng.choice(made)
        fields = [None if p is None else tuple(p.tolist()) for p in chosen.affine.values]
        affine = Affine(axis, *fields, chosen.affine.float_zero_point)
    plan = Plan(src, dst, source, target, affine, True)
    stored_dtype = "uint16" if target == "bfloat16" else target
    expected = np.zeros(dst.size, stored_dtype)
    if affine is None:
        expected[places[1]] = raw[places[0]]
    else:
        channel = np.indices(shape)[src.layout.axes.index(affine.axis)].ravel() % n
        expected[places[1]] = converted(raw[places[0]], plan.arithmetic, channel)
    used: Counter[str] = Counter()
    for backend in BACKENDS:
        program = plan.program(backend)
        got = np.full(expected.nbytes, 0xAB, np.uint8).view(stored_dtype)
        program.run(raw, got)
        good = same(got, expected, target) if affine else got.tobytes() == expected.tobytes()
        assert good, f"{backend} {src} -> {dst} {source} -> {target} {affine}"
        used.update(getattr(program, "paths", list)())
    return used


def run_cases(seed: int, count: int) -> Counter[str]:
    rng, values, used = random.Random(seed), np.random.default_rng(seed), Counter[str]()
    for _ in range(count):
        used.update(random_case(rng, values))
    return used


@pytest.mark.parametrize("seed", range(17))
def test_generated_conversions(seed: int) -> None:
    """17 x 1000: more than oneDNN's 16,761 reorders."""
    used = run_cases(seed, 1000)
    if NATIVE:
        rare = {"detour", "pixels", "fixed point pixels", "load transposed", "store transposed"}
        assert {"fill"} | (EXAMPLES.keys() | CONVERSIONS.keys()) - rare <= used.keys(), used


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_a_hundred_thousand_generated_conversions(seed: int) -> None:
    run_cases(seed, 5000)
