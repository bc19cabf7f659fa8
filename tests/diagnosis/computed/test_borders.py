"""Borders that are estimated from what a model returns for a few others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import BorderErrors, Evidence

SHAPE = (1, 4, 16, 16)
SPEC = nl.TensorSpec(SHAPE)
Model = Callable[[float], dict[str, np.ndarray]]


def model(bend: float = 0.0) -> Model:
    """A model of two outputs, in proportion to the border but for a bend; the second hardly depends on it."""
    rng = np.random.default_rng(0)
    fixed, slope, curve = (rng.standard_normal((2, *SHAPE)).astype(np.float32) for _ in range(3))

    def answers(pad: float) -> dict[str, np.ndarray]:
        x = pad / 255
        one, two = (fixed[k] + share * (x * slope[k] + bend * x * x * curve[k]) for k, share in ((0, 2.0), (1, 0.01)))
        return {"one": one.astype(np.float32), "two": two.astype(np.float32)}

    return answers


def errors(answers: Model, device: float, recorded: float, noise: float) -> BorderErrors:
    """Two frames of a device with a border and noise; what is estimated is of the second."""
    rng = np.random.default_rng(1)
    evidence = {}
    for name, told in answers(recorded).items():
        stored = [
            (answers(device)[name] + noise * rng.standard_normal(SHAPE)).astype(np.float32).ravel() for _ in range(2)
        ]
        evidence[name] = Evidence(SPEC, stored, [told, told], (), 1)
    return BorderErrors(evidence, [1])


@pytest.mark.parametrize("device", [3, 77, 150, 254])
@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_between_two_borders(device: float, noise: float) -> None:
    answers = model()
    found = errors(answers, device, 114, noise)
    assert found.nearest() is None
    for pad in (255, 0, 114):
        found.add(pad, [answers(pad)])
    border = found.nearest()
    assert found.pads == [0, 114, 255] and border is not None
    assert abs(border.pad - device) <= max(border.sure, 0.1) and border.gain > (3 if noise == 0.01 else 0.2)
    spread = 3 * 255 * noise / 2 * (8 / 1024) ** 0.5  # three deviations of a slope of 2/255, of 1,024 values in eights
    assert border.sure == pytest.approx(spread, rel=0.25)


@pytest.mark.parametrize("device", [10, 60, 100, 180])
def test_on_a_parabola(device: float) -> None:
    """Lines between far borders are off where the model bends."""
    answers = model(3.0)
    found = errors(answers, device, 114, 0.02)
    for pad in (255, 0):
        found.add(pad, [answers(pad)])
    of_two, on_line = found.nearest(bent=True), found.nearest()
    assert of_two == on_line and on_line is not None and abs(on_line.pad - device) > 4  # two are on a line
    found.add(114, [answers(114)])
    border = found.nearest(bent=True)
    assert border is not None and abs(border.pad - device) <= max(border.sure, 1) and border.sure < 4
    one, next_one = (answers(device + by)["one"] for by in (-0.5, 0.5))
    power = float(np.square(next_one - one).sum()) / 0.02**2
    assert border.sure == pytest.approx(max(3 * (8 / power) ** 0.5, float(as_good(answers, border.pad, 0.02))), rel=0.3)


def as_good(answers: Model, pad: float, noise: float) -> int:
    """The pixel values that a border may differ by for what it leaves to be at most 1 dB more than the noise."""
    for by in range(256):
        changes = [
            max(np.square(answers(pad + s * (by + 1))[k] - answers(pad)[k]).mean() for k in ["one", "two"])
            for s in (-1, 1)
        ]
        if min(changes) > (10**0.1 - 1) * noise**2:
            return by
    return 256


def test_what_explains_as_well_to_a_decibel_is_as_likely() -> None:
    """Noise that is the same in all frames, as that of a plain border in 8 bits, does not average out."""
    answers = model()
    found = errors(answers, 77, 114, 0.2)
    for pad in (255, 0, 114):
        found.add(pad, [answers(pad)])
    border, reach = found.nearest(bent=True), as_good(answers, 77, 0.2)
    assert border is not None and 10 < reach == pytest.approx(border.sure, abs=3) and abs(border.pad - 77) < reach
    assert border.sure > 1.2 * 3 * 255 * 0.2 / 2 * (8 / 1024) ** 0.5  # three deviations


def test_the_error_is_three_deviations_of_noise() -> None:
    """Noise that is the same in eight neighbours, which depend on the border alike: two thirds are a third as near."""
    rng, off = np.random.default_rng(3), []
    slope, *noises = (np.repeat(rng.standard_normal(128), 8).reshape(SHAPE) for _ in range(201))
    told = {pad: (pad * slope).astype(np.float32) for pad in (0, 114, 255)}
    for noise in noises:
        stored = (77 * slope + 40 * noise).astype(np.float32).ravel()
        found = BorderErrors({"one": Evidence(SPEC, [stored], [told[114]], (), 1)}, [0])
        for pad, answer in told.items():
            found.add(pad, [{"one": answer}])
        border = found.nearest()
        assert border is not None
        off.append(abs(border.pad - 77) / border.sure)
    assert np.mean(np.array(off) < 1) > 0.98 and 0.25 < np.quantile(off, 0.68) < 0.42


def test_more_frames_bring_an_estimate_nearer() -> None:
    """Frames of other pictures, whose noise is another: a quarter of the noise of one frame in sixteen of them."""
    rng, frames = np.random.default_rng(8), 16
    models = [_other_picture(k) for k in range(frames)]
    stored = [(answers(77)["one"] + 0.3 * rng.standard_normal(SHAPE)).astype(np.float32).ravel() for answers in models]
    evidence = {"one": Evidence(SPEC, stored, [answers(114)["one"] for answers in models], (), 1)}
    off, sure = [], []
    for rows in (*([k] for k in range(frames)), list(range(frames))):
        found = BorderErrors(evidence, rows)
        for pad in (0, 114, 255):
            found.add(pad, [models[row](pad) for row in rows])
        border = found.nearest()
        assert border is not None
        off.append(abs(border.pad - 77))
        sure.append(border.sure)
    assert sure[-1] == pytest.approx(np.mean(sure[:-1]) / 4, rel=0.1)
    assert off[-1] <= sure[-1] and off[-1] < np.mean(off[:-1]) / 2


def _other_picture(seed: int) -> Model:
    rng = np.random.default_rng(seed)
    fixed, slope = rng.standard_normal((2, *SHAPE)).astype(np.float32)
    return lambda pad: {"one": (fixed + 2 * pad / 255 * slope).astype(np.float32)}


def test_the_gain_is_over_the_best_of_the_others() -> None:
    answers = model()
    found = errors(answers, 77, 114, 0.01)
    for pad in (0, 70, 77, 114):
        found.add(pad, [answers(pad)])
    left = {pad: np.square(answers(77)["one"] - answers(pad)["one"]).mean() + 1e-4 for pad in found.pads}
    assert found.gain(77, [0]) == pytest.approx(10 * np.log10(left[114] / left[77]), abs=0.5)  # recorded with 114
    assert found.gain(77, [0, 70]) == pytest.approx(10 * np.log10(left[70] / left[77]), abs=0.5)
    assert found.gain(0, [77]) < 0


def test_an_output_of_which_much_is_left_does_not_count() -> None:
    answers = model()
    for noise, low, high in ((0.05, 20, 30), (0.3, -np.inf, 0)):
        found = errors(answers, 77, 200, noise)
        found.add(77, [answers(77)])
        assert low <= found.gain(77, []) < high


def test_no_border_gains_where_none_differs() -> None:
    answers = model()
    found = errors(answers, 114, 114, 0.05)
    for pad in (0, 114, 127, 255):
        found.add(pad, [answers(pad)])
    border = found.nearest()
    assert border is not None and border.gain < 0.05 and abs(border.pad - 114) <= border.sure


def test_outputs_of_another_shape_do_not_count() -> None:
    answers = model()
    told = answers(114)["one"]
    whole = Evidence(SPEC, [answers(77)["one"].ravel()], [told], (), 1)
    other = Evidence(nl.TensorSpec((1, 2, 16, 16)), [np.zeros(512, np.float32)], [told], (), 1)
    found = BorderErrors({"one": whole, "two": other}, [0])
    for pad in (0, 114):
        found.add(pad, [answers(pad)])
    border = found.nearest()
    assert border is not None and border.pad == pytest.approx(77, abs=0.01)
