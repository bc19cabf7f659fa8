"""What is done beside boxes: rules that have no effect, and numbers that are none, are refused."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout import decode


@pytest.mark.parametrize("kind", ["greedy", "probiou", "polygons", "none", "peaks"])
def test_options_of_suppression_that_have_no_effect_are_refused(kind: str) -> None:
    used = {"greedy": 4, "probiou": 2, "polygons": 2}.get(kind, 0)
    options = {"per_class": False, "inclusive": True, "extra": 1, "epsilon": 1e-6}
    for i, (name, value) in enumerate(options.items()):
        if i < used:
            assert getattr(decode.Suppression(kind, **{name: value}), name) == value  # type: ignore[arg-type]
            continue
        with pytest.raises(nl.NpuLayoutError, match=f"Suppression: {name}: no effect on kind '{kind}'"):
            decode.Suppression(kind, **{name: value})  # type: ignore[arg-type]


def test_keypoints_and_prototypes_are_counted() -> None:
    assert decode.Keypoints(5, 2, "priors") == decode.Keypoints.from_dict(
        {"count": 5, "values": 2, "encoding": "priors"}
    )
    for make, says in (
        (lambda: decode.Keypoints(0), "Keypoints: count"),
        (lambda: decode.Keypoints(5, 4), "Keypoints: values: expected 2 or 3, got 4"),
        (
            lambda: decode.Keypoints(5, encoding="polar"),
            "encoding: expected one of cells, shifted, pixels, priors, dist",
        ),
        (lambda: decode.Keypoints(5, activation="softmax"), "activation: expected none or sigmoid"),
        (lambda: decode.Prototypes(32, 0), "Prototypes: stride"),
        (lambda: decode.Prototypes(rule="soft"), "rule: expected one of logits, probabilities, cells"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            make()
