"""People from maps and fields, against the decoder in plain Python loops that the sample had."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import LayoutError, NpuLayoutError, TensorSpec, decode, kernels
from tests.support import scenes
from tests.support.poses import drawn_people, plain_people, scripted_people


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_people_are_those_of_loops(count, backend, activate):
    activate(backend)
    for seed in range(3):
        maps, _ = drawn_people(np.random.default_rng(seed), count)
        found, expected = decode.people(maps[None]), scripted_people(maps)
        assert len(found) == len(expected)
        wanted = np.array(expected, np.float32).reshape(-1, 18, 3)
        assert np.array_equal(found[..., 2], wanted[..., 2])
        assert np.allclose(found, wanted, rtol=0, atol=1e-3, equal_nan=True)  # its parabolas are of float32


def assert_people(maps, skeleton, count):
    """The same joints of the same people as loops in float64 find, `count` or more."""
    found, wanted = decode.people(maps, skeleton), plain_people(maps, skeleton)
    assert len(found) == len(wanted) >= count
    for person, joints in zip(found, wanted):
        assert set(np.flatnonzero(person[:, 2]).tolist()) == set(joints)
        for joint, (x, y, heat) in joints.items():
            pixels = [skeleton.cell * place + (skeleton.cell - 1) / 2 for place in (x, y)]
            np.testing.assert_allclose(person[joint], [*pixels, heat], rtol=1e-6, atol=1e-5)
        assert np.isnan(np.delete(person[:, :2], list(joints), 0)).all()


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("count", [1, 3, 20])
def test_people_are_those_of_the_formula(count, backend, activate):
    activate(backend)
    maps, _ = drawn_people(np.random.default_rng(40 + count), count)
    assert_people(maps, decode.OPENPOSE, count)


@pytest.mark.parametrize("backend", kernels.backends())
def test_other_skeletons_among_noise(backend, activate):
    """Peaks and fields at random: joints that several limbs want, people that limbs join, and some that stay apart."""
    activate(backend)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        joints = int(rng.integers(2, 6))
        pairs = [(int(a), int(b)) for a, b in rng.integers(0, joints, (int(rng.integers(1, 7)), 2)) if a != b]
        skeleton = decode.Skeleton(
            joints, pairs, joints + 1, cell=int(rng.integers(1, 9)), peak=0.8, field=-0.5, aligned=0.5,
            total=float(rng.uniform(0, 0.6)), samples=int(rng.integers(2, 12)),
        )  # fmt: skip
        height, width = rng.integers(6, 20, 2)
        maps = rng.random((joints + 1 + 2 * len(pairs), height, width)).astype(np.float32)
        maps[joints + 1 :] = maps[joints + 1 :] * 2 - 0.8
        if seed % 3 == 0:
            maps = (np.round(maps * 8) / 8).astype(np.float32)  # plateaus, and scores that tie
        assert_people(maps, skeleton, 0)


def test_people_are_found_where_they_were_drawn():
    maps, truth = drawn_people(np.random.default_rng(7), 3)
    found = decode.people(maps)
    assert len(found) == 3
    for person in truth:
        pixels = 8 * person + 3.5
        nearest = min(np.abs(other[:, :2] - pixels).max() for other in found)
        assert nearest < 2


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NCHW4c", "NHWC8c", "CHWN", "NHCW"])
def test_people_of_stored_outputs_are_those_of_their_values(layout, dtype):
    maps, _ = drawn_people(np.random.default_rng(4), 3)
    heat, fields = maps[None, :19], maps[None, 19:]
    specs, buffers, values = [], [], []
    for name, real in (("all", maps[None]), ("heat", heat), ("fields", fields)):
        made = scenes.output(np.random.default_rng(1), real.shape, real, layout, dtype, 0.01, 3, name=name)
        specs.append(made.spec)
        buffers.append(made.buffer)
        values.append(made.values)
    found = decode.people(specs[0], buffers[0])
    assert len(found) == 3 and np.array_equal(found, decode.people(values[0]), equal_nan=True)
    assert np.array_equal(decode.people(specs[0], {"all": buffers[0]}), found, equal_nan=True)
    by_name = {spec.name: spec for spec in specs[1:]}
    assert np.array_equal(decode.people(by_name, buffers[1:]), found, equal_nan=True)
    for given in (buffers[1:], {"fields": buffers[2], "heat": buffers[1].tobytes()}):
        assert np.array_equal(decode.people(specs[1:], given), found, equal_nan=True)


def test_axes_in_another_order():
    maps, _ = drawn_people(np.random.default_rng(4), 1)
    spec = TensorSpec.of_storage((46, 46, 57), "HWC", "float32")
    found = decode.people(spec, np.ascontiguousarray(maps.transpose(1, 2, 0)))
    assert len(found) == 1 and np.array_equal(found, decode.people(maps), equal_nan=True)


def test_outputs_that_do_not_fit():
    spec, flat = TensorSpec((1, 57, 4, 4)), np.zeros(57 * 16, np.float32)
    for given, words in (
        ((TensorSpec((57, 4, 4), "DHW"), flat), "maps: expected one image"),
        (([TensorSpec((1, 19, 4, 4)), TensorSpec((1, 38, 8, 4))], [flat, flat]), "of one height and width"),
        ((TensorSpec((1, 56, 4, 4)), flat[:-16]), r"maps: expected \(57, H, W\), got \(56, 4, 4\)"),
        ((spec, flat[:-1]), "^buffer has"),
        (([spec, spec], [flat]), "^buffer: expected 2"),
        (([spec], [flat[:-1]]), "^buffer: buffer has"),
        ((spec.replace(name="maps"), {"other": flat}), "^buffer: no output 'maps'; got other"),
        ((spec, decode.OPENPOSE), r"^buffer: expected the output of .*\(1,57,4,4\) float32, got none"),
        (([spec, spec],), r"^buffer: expected the output of .*; .*, got none"),
        (([], None), r"^maps: expected a TensorSpec, a list of TensorSpecs or real values, got \[\]"),
        (({}, {}), r"^maps: expected a TensorSpec, a list of TensorSpecs or real values, got \[\]"),
        ((iter([spec]), [flat]), "^maps: expected a TensorSpec, a list of TensorSpecs or real values, got <list_it"),
        ((np.zeros((57, 4, 4)), flat), "buffer: expected none beside real values"),
    ):
        with pytest.raises(NpuLayoutError, match=words):
            decode.people(*given)
    with pytest.raises(NpuLayoutError, match=r"^Skeleton: aligned: expected 0 \.\. 1, got 70; 70 percent are 0\.7$"):
        decode.Skeleton(1, (), 1, aligned=70)
    few = decode.Skeleton(1, (), 1)
    assert decode.people(np.zeros((1, 4, 4)), few).shape == decode.people(np.zeros((1, 4, 4)), None, few).shape


def test_maps_that_are_none():
    with pytest.raises(LayoutError, match=r"expected \(57, H, W\), got \(56, 46, 46\)"):
        decode.people(np.zeros((56, 46, 46), np.float32))
    assert decode.people(np.full((57, 4, 4), np.nan)).shape == (0, 18, 3)
