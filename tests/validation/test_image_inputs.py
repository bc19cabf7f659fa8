"""Images of a model that are made in other ways than declared: each alone, and all at once in the same way."""

from __future__ import annotations

from typing import Any

import numpy as np

import npu_layout as nl
from npu_layout.validation.comparing import KeptRun, compare
from npu_layout.validation.image_inputs import Images, images
from tests.support import two_inputs
from tests.support.boards import PRE, Board


def _pair(blank: bool = False) -> tuple[nl.Recording, list[KeptRun]]:
    engine = nl.OnnxRuntimeEngine(two_inputs.matcher())
    inputs = [dict(zip(("left", "right"), two_inputs.pictures(2, 2 * i))) for i in range(3)]
    if blank:
        inputs = [{**given, "right": np.zeros_like(given["right"])} for given in inputs]
    recording = two_inputs.recording(engine, inputs, preprocess=PRE)
    return recording, list(compare(recording, engine, False)[1])


def _ways(group: Images, recording: nl.Recording, k: KeptRun) -> dict[Any, Any]:
    return {way.id: way for way in group.made(recording, k, lambda id: True)}


def _groups(names: str) -> list[Images]:
    engine = nl.OnnxRuntimeEngine(two_inputs.matcher(names))
    recording = two_inputs.recording(engine, [dict(zip(names, two_inputs.pictures(len(names))))], preprocess=PRE)
    return images(recording, compare(recording, engine, False)[1])


def _sets(names: str) -> list[str]:
    return ["".join(group.names) for group in _groups(names)]


def test_each_image_alone_and_all_at_once() -> None:
    recording, kept = _pair()
    groups = images(recording, kept)
    assert [g.names for g in groups] == [("left",), ("right",), ("left", "right")]
    assert [g.words for g in groups] == ["input 'left'", "input 'right'", "inputs 'left' and 'right'"]
    assert _sets("abc") == ["a", "b", "c", "ab", "ac", "bc", "abc"] and len(_sets("abcd")) == 4 + 4 + 1
    assert _sets("abcde") == ["a", "b", "c", "d", "e", "abcde"], "of many, a search for each set takes long"
    assert _groups("abc")[-1].words == "inputs 'a', 'b' and 'c'"
    board = Board()
    (one,) = images(board.recording(), compare(board.recording(), board.engine, False)[1])
    assert one.words == "the input"


def test_ways_that_change_no_image_are_told() -> None:
    """Of gray pixels BGR makes the same, if the model has one mean and std for all colours."""
    recording, kept = _pair()
    gray = {name: np.repeat(x[:, :1], 3, 1) for name, x in kept[0].inputs.items()}
    left = {**kept[0].inputs, "left": gray["left"]}
    after = "color", "after"
    for inputs, of in ((kept[0].inputs, []), (left, ["left"]), (gray, ["left", "right", "left right"])):
        for group in images(recording, kept):
            unchanged: set[Any] = set()
            ways = group.made(recording, kept[0]._replace(inputs=inputs), lambda id: True, unchanged=unchanged)
            made = {way.id for way in ways}
            assert (after in unchanged) == (" ".join(group.names) in of) and not made & unchanged, group.names
            assert (after in made) == all(name not in " ".join(of) for name in group.names)


def test_all_images_are_changed_in_the_same_way() -> None:
    recording, kept = _pair()
    left, right, both = (_ways(group, recording, kept[0]) for group in images(recording, kept))
    assert both.keys() == left.keys() & right.keys() and len(both) > 10
    for id, way in both.items():
        np.testing.assert_array_equal(way.arrays["left"], left[id].arrays["left"])
        np.testing.assert_array_equal(way.arrays["right"], right[id].arrays["right"])
        assert way.fix == left[id].fix == right[id].fix
    after = both["color", "after"]
    assert after.text == "inputs 'left' and 'right': BGR instead of RGB, swapped after mean and std"
    np.testing.assert_array_equal(after.arrays["right"], kept[0].inputs["right"][:, ::-1])


def test_what_one_image_is_already_like_is_no_change_of_all() -> None:
    """A picture of one value is the same mirrored."""
    recording, kept = _pair(blank=True)
    left, right, both = (_ways(group, recording, kept[0]) for group in images(recording, kept))
    mirrored = {id for id, way in left.items() if "left to right" in way.text}
    assert mirrored and not mirrored & right.keys() and not mirrored & both.keys()


def test_what_makes_each_image_the_other_one_is_no_change() -> None:
    """The right picture is the left one mirrored: mirrored, the two are in each other's place."""
    engine = nl.OnnxRuntimeEngine(two_inputs.matcher())
    inputs = [{"left": x, "right": np.ascontiguousarray(x[..., ::-1])} for x in two_inputs.pictures(3)]
    recording = two_inputs.recording(engine, inputs, preprocess=PRE)
    kept = compare(recording, engine, False)[1]
    left, right, both = (_ways(group, recording, kept[0]) for group in images(recording, kept))
    mirrored = {id for id, way in left.items() if "mirrored from left to right" in way.text}
    assert mirrored and mirrored <= right.keys() and not mirrored & both.keys() and len(both) > 10
