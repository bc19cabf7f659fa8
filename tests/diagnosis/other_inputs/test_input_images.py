"""What is known of an input before it is made is true of it, and inputs that are alike are found without that."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from npu_layout.diagnosis.other_inputs.input_images import Image, MadeInput, MadeInputs, some_of

SHAPES = [(1, 3, 9, 11), (1, 7, 5, 3), (2, 1, 6, 6), (1, 3, 130, 140)]


def _of(shape: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, int]:
    """Return pixels, and the axis of their channels."""
    axis = 1 if shape[1] in (1, 3) else 3
    return np.random.default_rng(seed).uniform(0, 255, shape), axis


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("flipped", [False, True])
def test_figures_of_another_mean_and_std(shape: tuple[int, ...], flipped: bool) -> None:
    pixels, axis = _of(shape)
    count = shape[axis]
    declared, other = (
        (
            np.array([120.0, 110.0, 90.0])[:count],
            np.array([50.0, 60.0, 70.0])[:count],
        ),
        (np.array([5.0, -3.0, 200.0])[:count], np.array([0.4, 255.0, 3.0])[:count]),
    )
    per_channel = [[n if i == axis else 1 for i, n in enumerate(shape)]] * 2
    mean, std = (v.reshape(s) for v, s in zip(declared, per_channel))
    how = {"preprocess": {"color": "RGB", "mean": declared[0].tolist(), "std": declared[1].tolist()}}
    image = Image(((pixels - mean) / std).astype(np.float32), axis, how, None)
    np.testing.assert_allclose(image.pixels, pixels, atol=1e-3)
    made, least, largest = image.scaled(*other, flipped=flipped)
    known = made.mean, made.deviation, made.some.copy()
    wanted = np.flip(pixels, axis) if flipped else pixels
    mean, std = (v.reshape(s) for v, s in zip(other, per_channel))
    wanted = (wanted - mean) / std
    np.testing.assert_allclose(made.x, wanted, atol=1e-2)
    found = made.x.astype(np.float64)
    np.testing.assert_allclose(known[:2], (found.mean(), found.std()), rtol=1e-6)
    np.testing.assert_allclose(known[2], some_of(found), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((least, largest), (found.min(), found.max()), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (-7e3, 0.5), (1e-6, 1e-8), (3.0, 0.0)])
@pytest.mark.parametrize("size", [1, 7, 1 << 15, 100_000])
def test_mean_and_deviation_of_what_was_made(dtype: type, mean: float, deviation: float, size: int) -> None:
    """Of pictures that hardly vary, too, and of rows that differ: no digits are lost far from zero."""
    drift = np.linspace(-1, 1, size) if size > 1 else np.zeros(1)
    x = (mean + deviation * (np.random.default_rng(size).standard_normal(size) + drift)).astype(dtype)
    made, exact = MadeInput(lambda: x.reshape(1, 1, 1, -1)), x.astype(np.longdouble)
    np.testing.assert_allclose(made.mean, float(exact.mean()), rtol=1e-7, atol=1e-6 * deviation)
    np.testing.assert_allclose(made.deviation, float(exact.std()), rtol=1e-6, atol=1e-12 * abs(mean))


@pytest.mark.parametrize("shape", SHAPES)
def test_alike_by_their_difference(shape: tuple[int, ...]) -> None:
    """As the root mean square says, of differences in one place, in all, and of none."""
    x, _ = _of(shape)
    rng = np.random.default_rng(1)
    one = np.zeros(shape)
    one[(0,) * len(shape)] = 1.0
    for off in (one, np.ones(shape), rng.standard_normal(shape)):
        unit = off / np.sqrt(np.square(off).mean())
        for share in (0.3, 0.02):
            for times, alike in ((0.9, True), (1.1, False)):
                other = MadeInput(partial(np.add, x, times * share * x.std() * unit))
                assert other.is_like(MadeInput(lambda: x), share) == alike, (times, share)
    assert MadeInput(lambda: x.copy()).is_like(MadeInput(lambda: x), 1e-12)


def test_the_first_that_an_input_is_like() -> None:
    """Of many whose means and deviations are nearly the same or not, by the root mean square of all values."""
    rng, share = np.random.default_rng(2), 0.05
    pictures = [rng.normal(mean, deviation, (1, 3, 20, 20)) for mean in (0, 0.01, 5) for deviation in (1, 1.01, 3)]
    pictures += [pictures[4] + rng.normal(0, 0.02, pictures[4].shape), np.full((1, 3, 20, 20), 5.0)]
    kept: list[np.ndarray] = []
    known = MadeInputs(share)
    added: list[MadeInput] = []
    for x in [*pictures, *(p + rng.normal(0, 0.01, p.shape) for p in pictures), pictures[-1]]:
        of_kept = [np.sqrt(np.square(x - other).mean()) <= share * other.std() + 1e-9 for other in kept]
        made = MadeInput(partial(np.copy, x))
        found = known.first_like(made)
        if not any(of_kept):
            assert found is made
            kept.append(x)
            added.append(made)
            assert known.first_like(made) is made
        else:
            assert found is added[of_kept.index(True)]
    assert len(kept) == len(pictures), "one is another with noise, and what is flat is like itself alone, not its noise"


def test_flat_inputs_are_alike_if_equal() -> None:
    """Their deviation is 0, and what is known of them is rounded."""
    flat = np.full((1, 3, 8, 8), 77.0, np.float32)
    image = Image(flat, 1, {"preprocess": {"mean": 0, "std": 1}}, None)
    mean, std = np.array([0.1, 0.2, 0.3]), np.array([3.0, 7.0, 11.0])
    one, other = image.scaled(mean, std, flipped=False)[0], image.scaled(mean, std, flipped=False)[0]
    assert one.is_like(other, 0.02) and one.is_like(MadeInput(lambda: other.x.copy()), 0.02)
    assert not one.is_like(image.scaled(mean + 1, std, flipped=False)[0], 0.002)


def test_what_is_not_needed_is_not_made() -> None:
    """Of inputs whose mean, or some values, differ much, none is made."""

    def never() -> np.ndarray:
        raise AssertionError("made")

    def some() -> np.ndarray:
        return np.zeros(8)

    assert not MadeInput(never, 0.0, 1.0, some).is_like(MadeInput(never, 5.0, 1.0, some), 0.02)
    with pytest.raises(AssertionError, match="made"):
        MadeInput(never, 0.0, 1.0, some).is_like(MadeInput(never, 0.0, 1.0, some), 0.02)


@pytest.mark.parametrize(
    ("given", "made"), [(np.float32, np.float32), (np.float64, np.float64), (np.uint8, np.float64)]
)
def test_inputs_are_made_in_float32_where_that_is_enough(given: type, made: type) -> None:
    """A blank picture of float32 is not: what it varies by is little beside what rounding leaves."""
    pixels, axis = _of((1, 3, 9, 11))
    how = {"preprocess": {"mean": 0, "std": 1}}
    assert Image(pixels.astype(given), axis, how, None).normalised(pixels).dtype == made
    for blank in (np.full_like(pixels, 200.0), 200 + 0.001 * pixels, np.where(pixels < 9, np.inf, pixels)):
        assert Image(blank.astype(np.float32), axis, how, None).x.dtype == np.float64
