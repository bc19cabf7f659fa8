"""What networks return has the shapes that their specs state; the priors tile the input."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.bench.detector_outputs import FAMILIES, PRIORS, SCENES, priors


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_the_specs(family: str) -> None:
    made = FAMILIES[family]
    assert set(made.scenes) <= SCENES.keys()
    values = list(made.values(np.random.default_rng(0), 0.02))
    assert all(value.dtype == np.float32 and np.isfinite(value).all() for value in values)
    for layout in made.layouts:
        specs = list(made.parts(layout))
        assert [spec.shape for spec in specs] == [value.shape for value in values]
        assert len({spec.name for spec in specs}) == len(specs)


def test_priors_tile_the_input() -> None:
    boxes = priors()
    assert boxes.shape == (PRIORS, 4) and (boxes[:, :2] > 0).all() and (boxes[:, :2] < 1).all()
    first = boxes[: 3 * 19 * 19].reshape(19, 19, 3, 4)
    np.testing.assert_allclose(first[:, :, 0, 0], np.tile((np.arange(19) + 0.5) / 19, (19, 1)))
    np.testing.assert_allclose(first[:, :, 0, 1].T, first[:, :, 0, 0])
    np.testing.assert_allclose(boxes[:3, 2] / boxes[:3, 3], [1, 2, 0.5])
