"""Colours that can be distinguished, with and without hue."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.drawing.figure import Figure
from npu_layout.drawing.palette import DISTINCT, INK, RAMPS, WHITE, PlaneColours, hexadecimal, ink_on, luminance, mix


def test_colours_can_be_distinguished() -> None:
    assert len(set(DISTINCT)) == 8
    for light, dark in RAMPS:
        shades = [luminance(mix(light, dark, i / 15)) for i in range(16)]
        assert all(a > b for a, b in zip(shades, shades[1:])) and shades[0] - shades[-1] > 0.5
    figure = Figure((e := nl.explain("NCHW16c", (1, 64, 4, 4))).views(), e.part)
    assert len({figure.colours[(0, c, 0, 0)] for c in e.part["C"]}) == len(e.part["C"]) > 16


def test_ink_is_the_one_with_more_contrast() -> None:
    def contrast(a: tuple[int, int, int], b: tuple[int, int, int]) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    for colour in (*DISTINCT, *(shade for ramp in RAMPS for shade in ramp)):
        best = max((WHITE, INK), key=lambda ink: contrast(colour, ink))
        assert ink_on(colour) == best and contrast(colour, best) > 3
    assert (luminance((0, 0, 0)), round(luminance(WHITE), 6)) == (0, 1)  # as WCAG 2.2 defines it
    assert luminance((255, 0, 0)) == pytest.approx(0.2126)


def test_mixtures_and_their_names() -> None:
    assert mix((0, 0, 0), (255, 255, 255), 0) == (0, 0, 0) and mix((0, 0, 0), (255, 255, 255), 1) == WHITE
    assert mix((0, 100, 200), (10, 200, 0), 0.5) == (5, 150, 100)
    assert hexadecimal((0, 171, 255)) == "#00abff"


@pytest.mark.parametrize("shape, count", [((1, 3, 4, 4), 3), ((2, 4, 4, 4), 8), ((1, 8, 2, 2), 8)])
def test_a_small_number_of_planes_has_a_colour_each(shape: tuple[int, ...], count: int) -> None:
    spec = nl.TensorSpec(shape, "NHWC")
    part = {a: range(n) for a, n in zip("NCHW", shape)}
    planes = PlaneColours([spec.storage], part)
    found = {planes[(n, c, h, w)] for n, c, h, w in np.ndindex(*shape)}
    assert found == set(DISTINCT[:count])
    for n, c, h, w in np.ndindex(*shape):
        assert planes[(n, c, h, w)] == planes[(n, c, 0, 0)]
