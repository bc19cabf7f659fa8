"""Which inputs made in other ways are worth another run of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import BOTH, PICTURE, SOURCE, Evidence, Remade
from npu_layout.validation.tried_ways import Key, TriedWays, TwoChanges, parts

SHAPE, FRAMES = (1, 4, 8, 8), 4
NAMES = ("image",)
RIGHT, WRONG, NEAR = ((NAMES, ("color", word)) for word in ("right", "wrong", "near"))
PAIR = NAMES, (BOTH, RIGHT[1], NEAR[1])


class Device:
    """What the model returned for the recorded input, and for the input that the device really had, with noise."""

    def __init__(self, shape: tuple[int, ...] = SHAPE, noise: float = 0.05) -> None:
        self._rng, self._shape = np.random.default_rng(7), shape
        self.references, self.true, self.other = (self.random() for _ in range(3))
        spec = nl.TensorSpec(shape, "NCHW" if len(shape) == 4 else "NC", "float32")
        returned = [(x + noise * n).astype(np.float32) for x, n in zip(self.true, self.random())]
        self.evidence = Evidence(spec, [spec.pack(x) for x in returned], self.references, (), 1)

    def random(self) -> list[np.ndarray]:
        return [self._rng.standard_normal(self._shape).astype(np.float32) for _ in range(FRAMES)]

    def blend(self, share: float) -> list[np.ndarray]:
        """The true answers, and this share of others."""
        return [x + np.float32(share) * y for x, y in zip(self.true, self.other)]


def tried(ways: dict[str, dict[Key, list[np.ndarray]]], evidence: dict[str, Evidence]) -> TriedWays:
    found = TriedWays(evidence, {}, ways)
    for output, of in ways.items():
        for key, tensors in of.items():
            for row, tensor in enumerate(tensors):
                found.add(key, row, {output: tensor}, Remade(str(key), None, {}, way=key))
    return found


def test_answers_of_each_way_and_frame() -> None:
    device = Device()
    ways = {"a": {RIGHT: device.true, WRONG: device.other[:2]}, "b": {RIGHT: device.other}}
    found = tried(ways, {"a": device.evidence})
    assert found.in_every_output(0) == {RIGHT}, "the other way has no tensor of 'b'"
    answer = found.answer(RIGHT, 2)
    assert answer["a"] is device.true[2] and answer["b"] is device.other[2]
    assert [*found.of["a"][WRONG].answers] == [0, 1] and found.of["a"][RIGHT].way == RIGHT


def test_what_explains_a_frame_and_what_is_far_off() -> None:
    device = Device()
    found = tried({"a": {RIGHT: device.true, NEAR: device.blend(0.03), WRONG: device.other}}, {"a": device.evidence})
    db = found.explained("a", 1)
    assert db.pop(((), ())) < 3, "the recorded input explains nothing"
    assert db[RIGHT] == pytest.approx(-20 * np.log10(0.05), abs=1.5) and db[RIGHT] > db[NEAR] > 15 > 3 > db[WRONG]
    assert found.far(1) == {WRONG}
    assert found.gains(RIGHT) and found.gains(NEAR) and not found.gains(WRONG)
    found.forget(found.far(1))
    assert not found.of["a"][WRONG].answers and len(found.of["a"][RIGHT].answers) == FRAMES


def test_a_way_is_far_off_only_if_it_is_for_every_output() -> None:
    first, second = Device(), Device(noise=0.1)
    ways = {"a": {RIGHT: first.true, WRONG: first.other}, "b": {RIGHT: second.other, WRONG: second.true}}
    assert tried(ways, {"a": first.evidence, "b": second.evidence}).far(0) == set()


@pytest.mark.parametrize("shape", [(1, 64), (1, 4, 32, 32)])
def test_leading_ways_are_those_of_few_values(shape: tuple[int, ...]) -> None:
    device = Device(shape)
    ways = {RIGHT: device.true, NEAR: device.blend(0.2), PAIR: device.blend(0.1), WRONG: device.other}
    leading = tried({"a": ways}, {"a": device.evidence}).leading(range(FRAMES))
    assert leading == ({RIGHT, PAIR} if len(shape) == 2 else set()), "the best two"


def test_a_way_is_known_if_it_was_tried_where_it_changes_the_input() -> None:
    device = Device()
    found = tried({"a": {RIGHT: device.true[:1], WRONG: device.other[:2]}}, {"a": device.evidence})
    right, wrong = (found.of["a"][key] for key in (RIGHT, WRONG))
    assert found.is_known(WRONG, wrong, range(FRAMES)) and not found.is_known(RIGHT, right, range(FRAMES))
    found.unchanged |= {(RIGHT, 2), (RIGHT, 3)}
    assert found.is_known(RIGHT, right, range(FRAMES)), "in one of the two frames that it changes"
    found.unchanged |= {(NEAR, row) for row in range(FRAMES)}
    assert not found.is_known(NEAR, Remade("", None, {}), range(FRAMES)), "it was never another input"


@pytest.mark.parametrize(("alone", "needless"), [(0.0, True), (0.6, False)])
def test_two_changes_are_needless_where_one_explains_as_much(alone: float, needless: bool) -> None:
    device = Device()
    found = tried({"a": {RIGHT: device.blend(alone), PAIR: device.blend(0.01)}}, {"a": device.evidence})
    assert found.merge() == {"a": {PAIR} if needless else set()}


def test_ways_with_the_same_tensors_are_one() -> None:
    device = Device()
    found = tried({"a": {RIGHT: device.true, NEAR: device.true, WRONG: device.other}}, {"a": device.evidence})
    assert found.merge() == {"a": set()} and [*found.of["a"]] == [RIGHT, WRONG]


def test_the_images_that_were_changed() -> None:
    """Of 'a', which sees the left image alone, both keys explain as much; 'b' sees both."""
    left, both = (("left",), RIGHT[1]), (("left", "right"), RIGHT[1])
    a, b = Device(), Device()
    seen = {"a": a.evidence, "b": b.evidence}
    of_both = tried({"a": {left: a.true, both: a.true}, "b": {left: b.blend(0.5), both: b.true}}, seen)
    assert of_both.merge() == {"a": {left}, "b": set()}
    of_left = tried({"a": {left: a.true, both: a.true}, "b": {left: b.true, both: b.blend(0.5)}}, seen)
    assert of_left.merge() == {"a": {both}, "b": {both}}


@pytest.mark.parametrize(("best", "wanted"), [(0.0, False), (0.4, True)])
def test_two_changes_are_tried_where_one_leaves_much(best: float, wanted: bool) -> None:
    device = Device(noise=0.001)
    found = tried({"a": {RIGHT: device.blend(best), WRONG: device.other}}, {"a": device.evidence})
    both = TwoChanges(found, 0)
    assert both.wanted(RIGHT) and both.wanted(WRONG), "single changes are always tried"
    assert both.wanted(PAIR) == wanted
    without = NAMES, (BOTH, NEAR[1], WRONG[1])  # neither is the one that explains most
    assert not both.wanted(without) and both.left == ({without} if wanted else {PAIR, without})


@pytest.mark.parametrize(
    ("id", "of"),
    [
        (("color", "after"), []),
        ((BOTH, ("color", "after"), ("fit", "crop")), [("color", "after"), ("fit", "crop")]),
        ((SOURCE, "NV21"), []),
        ((SOURCE, "NV21", "bt709"), [(SOURCE, "NV21"), (SOURCE, "bt709")]),
        (("scale", "forgotten", ""), []),
        (("scale", "forgotten", "", "BGR"), [("scale", "forgotten", ""), ("color", "before")]),
        (
            ("scale", "forgotten", PICTURE),
            [("scale", "forgotten"), ("scale", "forgotten", ""), ("scale", "forgotten", "all pixels")],
        ),
    ],
)
def test_parts_of_a_way(id: Any, of: list[Any]) -> None:
    assert parts((NAMES, id)) == [(NAMES, part) for part in of]


@pytest.mark.parametrize("shape", [SHAPE, (1, 300)])
@pytest.mark.parametrize("recorded", [False, True])
def test_what_is_given_up_early_is_what_is_far_in_the_end(shape: tuple[int, ...], recorded: bool) -> None:
    """In any order, and all that depends on the frame stays the same; of ways with the same inputs, too."""
    device = Device(shape)
    evidence = device.evidence
    if recorded:  # the recorded input is as the device had it
        evidence = Evidence(evidence.spec, evidence.buffers, device.true, (), 1)
    shares = {(NAMES, ("scale", f"{share}")): share for share in (0.0, 0.02, 0.3, 0.6, 1.5, 2.0)}
    rng = np.random.default_rng(3)
    given_up = set()
    for _ in range(6):
        keys = [[*shares][i] for i in rng.permutation(len(shares))]
        found, plain = (TriedWays({"a": evidence}, {}, ["a"]) for _ in range(2))
        for key in keys:
            way, answer = Remade(str(key), None, {}, way=key), {"a": device.blend(shares[key])[1]}
            found.add(key, 1, answer, way)
            plain.add(key, 1, answer, way)
            again = (NAMES, ("again", *key[1]))
            plain.add(again, 1, answer, way)
            if found.give_up(key, 1):
                given_up.add(key)
                assert 1 not in found.of["a"][key].answers, "its tensor is dropped"
                found.add_given_up(again, key, way)
            else:
                found.add(again, 1, answer, way)
        assert found.explained("a", 1) == plain.explained("a", 1)
        far = plain.far(1)
        assert found.far(1) == far and given_up <= far
        for ways in (found, plain):
            ways.forget(far)
        left = {key: [*one.answers] for key, one in plain.of["a"].items()}
        assert {key: [*one.answers] for key, one in found.of["a"].items()} == left
        assert found.explained("a", 1) == plain.explained("a", 1), "what is forgotten explains nothing"
    assert {key for key, share in shares.items() if share > 1} <= given_up <= {k for k, v in shares.items() if v > 0.1}


def test_what_is_given_up_is_far_of_every_output() -> None:
    device = Device()
    other = Evidence(device.evidence.spec, device.evidence.buffers, device.true, (), 1)
    wrong = Remade("wrong", None, {}, way=WRONG)
    found = TriedWays({"a": other, "b": other}, {}, ["a", "b"])
    found.add(WRONG, 0, {"a": device.other[0], "b": device.true[0]}, wrong)
    assert not found.give_up(WRONG, 0), "it explains one of them"
    found.add(RIGHT, 0, {"a": device.other[0]}, wrong)
    assert not found.give_up(RIGHT, 0), "one of them has another shape"
    border = NAMES, ("fit", ("pad_value", 3))
    found.add(border, 0, {"a": device.other[0], "b": device.other[0]}, wrong)
    assert not found.give_up(border, 0), "other borders are compared with it"
    found.add(NEAR, 0, {"a": device.other[0], "b": device.other[0]}, wrong)
    assert found.give_up(NEAR, 0)
    assert found.far(0) == {NEAR, border}
