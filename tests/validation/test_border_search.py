"""The search for an unusual border: which one, how near, with how many runs of the model, and where none is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Evidence
from npu_layout.validation.border_search import declared_pad, searched

SHAPE = (1, 4, 16, 16)
USUAL = (0, 114, 127, 255)
Answers = dict[str, np.ndarray]


def bent(pad: float) -> Answers:
    """A model whose output is no line of the border."""
    rng = np.random.default_rng(0)
    fixed, slope, curve = (rng.standard_normal(SHAPE) for _ in range(3))
    x = pad / 255
    return {"maps": (fixed + 2 * x * slope + 3 * np.maximum(x - 0.3, 0) ** 2 * curve).astype(np.float32)}


def saturated(pad: float, gain: float = 9, spread: float = 1) -> Answers:
    """A model most of whose values change in a small part of the range of borders, each in another one."""
    rng = np.random.default_rng(0)
    fixed, slope = (rng.standard_normal(SHAPE) for _ in range(2))
    return {"maps": np.tanh(spread * fixed + gain * pad / 255 * slope).astype(np.float32)}


def unlike(pad: float) -> Answers:
    """A model whose outputs for the two ends of a gap between borders are unlike each other, as embeddings are."""
    rng = np.random.default_rng(0)
    phase, dark, bright = rng.uniform(0, 2 * np.pi, SHAPE), *rng.normal(0, 6, (2, *SHAPE))
    turned = phase + dark * np.exp(-pad / 30) + bright * np.exp((pad - 255) / 30)
    return {"maps": np.cos(turned).astype(np.float32)}


def found(
    device: Callable[[], Answers],
    noise: float,
    recorded: int = 114,
    known: tuple[int, ...] = USUAL,
    model: Callable[[float], Answers] = bent,
) -> tuple[tuple[int, str] | None, list[int]]:
    """What is found, and for which borders the model ran."""
    rng, runs = np.random.default_rng(1), []
    stored = (device()["maps"] + noise * rng.standard_normal(SHAPE)).astype(np.float32)
    evidence = {"maps": Evidence(nl.TensorSpec(SHAPE), [stored.ravel()], [model(recorded)["maps"]], (), 1)}

    def run(pad: int, row: int) -> Answers:
        assert row == 0
        runs.append(pad)
        return model(pad)

    return searched(evidence, [0], {pad: {0: model(pad)} for pad in known}, run), runs


@pytest.mark.parametrize("pad", [20, 77, 140, 180, 220])
def test_an_unusual_border_in_a_few_runs(pad: int) -> None:
    best, runs = found(lambda: bent(pad), 0.002)
    assert best == (pad, "") and runs[-1] == pad and len(runs) <= 4


def bounds(words: str) -> tuple[int, int]:
    """The lowest and the highest border that explain as much."""
    low, high = map(int, words.removeprefix(" (").split(" explain")[0].split(" to "))
    return low, high


@pytest.mark.parametrize("pad", [9, 23, 37, 60, 170, 200])
def test_a_border_of_a_model_that_bends_much(pad: int) -> None:
    """The lines between 0, 114 and 255 are far from it; what was not reached is in the bounds."""
    best, runs = found(lambda: saturated(pad), 0.05, model=saturated)
    assert best is not None and len(runs) <= 6, best
    near, words = best
    low, high = bounds(words) if words else (near, near)
    assert abs(near - pad) <= 3 and low <= pad <= high, (best, runs)


@pytest.mark.parametrize(("pad", "gain"), [(9, 160), (15, 160)])
def test_a_border_that_the_runs_did_not_reach_is_in_the_bounds(pad: int, gain: float) -> None:
    best, runs = found(lambda: saturated(pad, gain, 3), 0.02, model=lambda border: saturated(border, gain, 3))
    assert best is not None and len(runs) == 6
    near, words = best
    low, high = bounds(words)
    assert words.endswith(" explain as much or more)") and low <= pad < near == runs[-1] <= high, (best, runs)


def test_what_explains_as_much_is_said() -> None:
    best, _ = found(lambda: bent(60), 0.15)
    assert best is not None
    pad, words = best
    low, high = bounds(words)
    assert low <= 60 <= high and low < pad < high and 6 < high - low < 30
    best, _ = found(lambda: bent(253), 0.1, known=(0, 114, 127, 240))
    assert best is None  # it is beyond all known ones: the highest of these is the nearest


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("pad", USUAL)
def test_a_usual_border_is_none_of_these(pad: int, noise: float) -> None:
    best, runs = found(lambda: bent(pad), noise)
    recorded = 20 * np.log10(bent(114)["maps"].std() / noise)
    assert best is None and len(runs) <= (0 if pad == 114 and recorded >= 15 else 2)


@pytest.mark.parametrize("pad", [52, 60, 190, 200])
def test_a_border_of_outputs_that_are_far_from_any_proportion(pad: int) -> None:
    """No usual border promises anything: two in the middle of the gaps between them are tried."""
    best, runs = found(lambda: unlike(pad), 0.02, model=unlike)
    assert best is not None and runs[:2] == [191, 57] and len(runs) <= 8, (best, runs)
    near, words = best
    low, high = bounds(words) if words else (near, near)
    assert abs(near - pad) <= 3 and low <= pad <= high, (best, runs)


@pytest.mark.parametrize("noise", [0.05, 1.0])
def test_nothing_is_found_between_usual_borders_where_there_is_none(noise: float) -> None:
    """The model runs twice if the recorded input leaves more than a sound device, and else not."""
    assert found(lambda: unlike(114), noise, model=unlike) == (None, [191, 57] if noise == 1 else [])
    other = np.random.default_rng(4).standard_normal(SHAPE).astype(np.float32)
    best, runs = found(lambda: {"maps": other}, noise, model=unlike)
    assert best is None and runs[:2] == [191, 57]


@pytest.mark.parametrize(("pad", "noise"), [(132, 0.08), (138, 0.16), (145, 0.2), (122, 0.05)])
def test_a_usual_border_near_it_explains_nearly_as_much(pad: int, noise: float) -> None:
    """127 explains 1 to 3 dB less, the recorded one more than 3; the numbers of values tell them apart."""
    best, _ = found(lambda: bent(pad), noise)
    assert best is not None
    low, high = bounds(best[1])
    assert abs(best[0] - pad) <= 1 and low <= pad <= high and not low <= 127 <= high, best


def test_a_border_that_explains_little_more_than_the_recorded_one_is_none() -> None:
    best, runs = found(lambda: bent(105), 0.1)
    assert best is None and 105 in runs  # it explains 1 to 3 dB more


def test_noise_hides_a_border_that_hardly_differs() -> None:
    assert found(lambda: bent(110), 0.15) == (None, [])
    assert found(lambda: bent(110), 0.3) == (None, [191, 57])


def test_another_change_of_which_a_border_has_a_part_is_none() -> None:
    """What is left is more than a sound device leaves."""
    other = np.random.default_rng(5).standard_normal(SHAPE)
    best, runs = found(lambda: {"maps": bent(60)["maps"] + (0.25 * other).astype(np.float32)}, 0.0)
    assert best is None and runs


def of_frames(
    noises: list[float], shares: tuple[float, ...] = (), pad: int = 60
) -> tuple[dict[str, Evidence], Callable[[float, int], Answers]]:
    """A device with a border in frames of other pictures, each with its noise, and the model.

    shares: of each frame, how much of it the border is.
    """
    rng = np.random.default_rng(1)
    offsets = rng.standard_normal((len(noises), *SHAPE))

    def model(border: float, row: int) -> Answers:
        share = shares[row] if shares else 1
        return {"maps": (share * bent(border)["maps"] + offsets[row]).astype(np.float32)}

    stored = [model(pad, row)["maps"] + noise * rng.standard_normal(SHAPE) for row, noise in enumerate(noises)]
    buffers = [x.astype(np.float32).ravel() for x in stored]
    told = [model(114, row)["maps"] for row in range(len(noises))]
    return {"maps": Evidence(nl.TensorSpec(SHAPE), buffers, told, (), 1)}, model


def test_all_frames_decide_what_the_first_promises() -> None:
    """Noise of the first frame leaves it open which border it is: the others narrow it down."""
    evidence, model = of_frames([0.25, 0.02, 0.02, 0.02])
    first = {pad: {0: model(pad, 0)} for pad in USUAL}
    runs = []

    def run(pad: int, row: int) -> Answers:
        runs.append((pad, row))
        return model(pad, row)

    alone, best = searched(evidence, [0], first, model), searched(evidence, range(4), first, run)
    assert alone is not None and best is not None and abs(best[0] - 60) <= 1
    (low, high), (narrow, wide) = bounds(alone[1]), bounds(best[1])
    assert narrow <= 60 <= wide and wide - narrow < 0.6 * (high - low), (alone, best)
    assert {(pad, row) for pad in USUAL for row in (1, 2, 3)} < {*runs}, "the usual ones too, in the frames that follow"
    assert len(runs) == len({*runs}) and not {(pad, 0) for pad in USUAL} & {*runs}


def test_frames_in_which_the_usual_borders_were_tried_promise_one_together() -> None:
    """The first frame fills nearly all of the input, and shows no border."""
    evidence, model = of_frames([0.02] * 3, (0.01, 1, 1))
    known = {pad: {row: model(pad, row) for row in range(3)} for pad in USUAL}
    first = {pad: {0: of_pad[0]} for pad, of_pad in known.items()}
    assert searched(evidence, range(3), first, model) is None
    best = searched(evidence, range(3), known, model, between=False)
    assert best is not None and abs(best[0] - 60) <= 1


def test_a_frame_without_a_border_does_not_count() -> None:
    evidence, model = of_frames([0.02, 0.02, 5])
    known = {pad: {0: model(pad, 0)} for pad in USUAL}
    best = searched(evidence, range(3), known, lambda pad, row: None if row == 2 else model(pad, row))
    assert best is not None and abs(best[0] - 60) <= 1


def test_a_border_that_makes_no_other_input() -> None:
    evidence = {"maps": Evidence(nl.TensorSpec(SHAPE), [bent(77)["maps"].ravel()], [bent(114)["maps"]], (), 1)}
    assert searched(evidence, [0], {pad: {0: bent(pad)} for pad in USUAL}, lambda pad, row: None) is None
    assert searched(evidence, [0], {114: {0: bent(114)}}, lambda pad, row: bent(pad)) is None


def test_the_declared_border() -> None:
    assert declared_pad({}) == declared_pad({"preprocess": {}}) == 114
    assert declared_pad({"preprocess": {"pad_value": [5.0, 5, 5]}}) == 5
    assert declared_pad({"preprocess": {"pad_value": [1, 2, 3]}}) is declared_pad({"preprocess": {"pad_value": 0.5}})
    assert declared_pad({"preprocess": {"pad_value": [1, 2, 3]}}) is None
