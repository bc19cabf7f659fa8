"""The part of a tensor that a picture shows has what was asked for, and is small enough to be read."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.drawing.shown_part import BUDGET, MOST, Roles, choose_part, roles
from tests.support.specs import EACH_SPEC


def test_roles_of_axes() -> None:
    assert roles("NCHW") == Roles("C", "H", "W", "N")
    assert roles("NCDHW") == Roles("C", "H", "W", "ND") and roles("NCDHW").planes == "NDC"
    assert roles("OIHW") == Roles("I", "H", "W", "O")
    assert roles("C") == Roles("C", "", "C", "") and roles("C").planes == ""


@EACH_SPEC
def test_the_part_contains_the_focus_and_its_reach(spec: nl.TensorSpec) -> None:
    """Whatever is asked for is shown, within the tensor; a small tensor is shown whole."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        focus = {a: int(rng.integers(n)) for a, n in zip(spec.axes, spec.shape)}
        most = {a: min(1 if a in roles(spec.axes).others else 3, n - focus[a]) for a, n in zip(spec.axes, spec.shape)}
        reach = {a: int(rng.integers(1, n + 1)) for a, n in most.items()}
        part = choose_part([spec.storage], focus, reach)
        for a, n in zip(spec.axes, spec.shape):
            assert part[a].start <= focus[a] and focus[a] + reach[a] <= part[a].stop <= n
        if spec.size <= 150 and max(spec.shape) <= 12:
            assert all(len(part[a]) == n for a, n in zip(spec.axes, spec.shape))


def test_a_part_of_a_large_tensor_is_a_readable_one() -> None:
    spec = nl.TensorSpec((8, 640, 480, 640), "NCHW")
    part = choose_part([spec.storage], {"C": 100}, {})
    cells = np.prod([len(span) for span in part.values()])
    assert cells <= BUDGET and part["C"].start == 100
    wanted = choose_part([spec.storage], {}, {}, (1, 2, 3, 999))
    assert wanted == {"N": range(1), "C": range(2), "H": range(3), "W": range(640)}


def test_the_most_that_a_picture_shows() -> None:
    storage = nl.TensorSpec((1, 3, 100, 100)).storage
    assert {a: len(r) for a, r in choose_part([storage], {}, {}, (1, 1, 64, 64)).items()} == dict(
        zip("NCHW", (1, 1, 64, 64))
    )
    for wanted in ((1, 1, 64, 65), (1, 3, 100, 100), (5, 3, 10**9, 10**9)):
        with pytest.raises(nl.LayoutError, match=f"part .*: a picture shows at most {MOST} elements, this part has "):
            choose_part([storage], {}, {}, wanted)
    small = nl.TensorSpec((1, 3, 4, 4)).storage
    assert sum(len(r) for r in choose_part([small], {}, {}, (9, 9, 10**9, 10**9)).values()) == 12


def test_a_window_larger_than_a_picture_is_shown_in_part() -> None:
    storage = nl.TensorSpec((1, 3, 5000, 5000)).storage
    for side in (5, 50, 500, 5000):
        part = choose_part([storage], {"H": 0, "W": 0}, {"H": side, "W": side})
        count = math.prod(map(len, part.values()))
        assert count <= MOST and all(r.start == 0 and len(r) for r in part.values())
        assert side > 30 or len(part["H"]) >= side
    blocked = nl.TensorSpec((1, 10**6, 2, 2), "NCHW100000c").storage
    assert math.prod(map(len, choose_part([blocked], {}, {}).values())) <= MOST
