"""Records: JSON both ways, and errors that name the field."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.heads.records import Record, count_of, height_and_width, items
from tests.support.good_calls import CALLS


@dataclass(frozen=True)
class Wheel(Record):
    spokes: int
    rim: str = "steel"
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"rim": ("steel", "wood")}

    def _check(self) -> None:
        self._set(spokes=count_of("Wheel: spokes", self.spokes))


@dataclass(frozen=True)
class Cart(Record):
    wheels: tuple[Wheel, ...] = field(metadata={"record": Wheel, "many": True})
    spare: Wheel | None = field(default=None, metadata={"record": Wheel})
    names: tuple[str, ...] = ()


def test_json_gives_the_record_back() -> None:
    for cart in (Cart((Wheel(8),)), Cart((Wheel(8, "wood"), Wheel(6)), Wheel(12), ("a", "b"))):
        stored = json.loads(json.dumps(cart.to_dict()))
        again = Cart.from_dict({**stored, "names": tuple(stored.get("names", ()))})
        assert again == cart and isinstance(again.wheels[0], Wheel)
    assert Cart((Wheel(8),)).to_dict() == {"wheels": [{"spokes": 8}]}  # what is as by default is left out


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: Wheel(8, "iron"), "Wheel: rim: expected steel or wood, got 'iron'"),
        (lambda: Wheel(0), "Wheel: spokes"),
        (lambda: Wheel(2.5), "Wheel: spokes"),  # type: ignore[arg-type]
        (lambda: Cart((Wheel(8), "wheel")), "Cart: wheels"),  # type: ignore[arg-type]
        (lambda: Cart((Wheel(8),), "spare"), "Cart: spare"),  # type: ignore[arg-type]
        (lambda: Cart.from_dict({"wheel": []}), "Cart: expected a dict with any of wheels, spare, names; got wheel"),
        (lambda: Cart.from_dict({"\ud800": 1}), r"got '\\ud800'$"),  # which no terminal could print
        (lambda: Cart.from_dict([]), "Cart: expected a dict"),
        (lambda: Cart.from_dict({}), "Cart: wheels missing; got none"),
        (lambda: Cart.from_dict({"wheels": "abc"}), "a sequence of Wheel: expected a sequence, got 'abc'"),
        (lambda: Cart.from_dict({"wheels": [{"rim": "wood"}]}), "Wheel: spokes missing; got rim"),
    ],
)
def test_what_is_no_record(make: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says.replace("(", r"\(")):
        make()


def test_items() -> None:
    assert items("x", iter([1, 2])) == (1, 2) and items("x", (3,), 1) == (3,)
    for given in (5, "ab", b"ab", {"a": 1}, None):
        with pytest.raises(nl.NpuLayoutError, match="x: expected a sequence"):
            items("x", given)
    with pytest.raises(nl.NpuLayoutError, match=r"x: expected 3 items, got \[1, 2\]"):
        items("x", [1, 2], 3)


def test_height_and_width() -> None:
    assert height_and_width([np.int64(480), 640]) == (480, 640)
    for given, sides in (
        (640, "(640, 640)"),
        ((1, 3, 480, 640), "(480, 640)"),
        ((1, 480, 640, 3), "(480, 640)"),
        ((480, 640, 3), "(480, 640)"),
        ([3, 480, 640], "(480, 640)"),
        (np.int64(640), "(640, 640)"),
        (np.array([1, 3, 480, 640]), "(480, 640)"),
        ((None, 3, np.int64(480), 640), "(480, 640)"),
        (("batch", 480, 640, 3), "(480, 640)"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=re.escape(f"got {given!r}; give {sides}")):
            height_and_width(given)
    refused_too = [-5, 0, (1, 3, 640.0, 640.0), ("a", 3, 3), (3, "a", "b"), (3, -1, 640), (3, True, 640), {3, 480, 640}]
    arrays = [(3, np.zeros(2), np.zeros(2)), (np.zeros(2), 480, 640), np.zeros((3, 4), int), np.float32(640)]
    for other in (None, True, 1.5, "640", (640,), (1, 84, 8400), (0, 640), *refused_too, *arrays):
        with pytest.raises(nl.NpuLayoutError, match="input_shape: height and width: expected 2 whole") as refused:
            height_and_width(other)
        assert "give" not in str(refused.value)


def _numbers(value: Any) -> list[tuple[int, ...]]:
    """Return where a record's argument has numbers, in sequences of sequences."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [()]
    return [(i, *at) for i, v in enumerate(value) for at in _numbers(v)] if isinstance(value, (list, tuple)) else []


def _replaced(value: Any, at: tuple[int, ...], instead: Any) -> Any:
    if not at:
        return instead
    return type(value)(_replaced(v, at[1:], instead) if i == at[0] else v for i, v in enumerate(value))


_RECORDS = [
    name
    for name in sorted(CALLS)
    if name.startswith("decode.") and name.count(".") == 1 and name not in ("decode.Comparison", "decode.Guess")
]


@pytest.mark.parametrize("name", _RECORDS)
def test_numbers_beyond_all_bounds_are_refused(name: str) -> None:
    """Each number of each argument is the library's error, or taken; it never is Python's error of another type."""
    for argument, value in CALLS[name]().arguments.items():
        for at in _numbers(value)[:4]:
            for huge in (10**400, -(10**400), 10**5000, float("inf"), float("nan"), np.timedelta64(3, "s")):
                with contextlib.suppress(nl.NpuLayoutError), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # numpy's, about values that overflow
                    CALLS[name]()(**{argument: _replaced(value, at, huge)})


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: decode.yolov2(20, stride=10**400), "stride: expected no more than 2147483647, got builtins.int"),
        (lambda: decode.scrfd((8, 16, 2**31)), "strides: expected no more than 2147483647, got (8, 16, 2147483648)"),
        (lambda: decode.retinanet(3, (10**400,)), "strides: expected no more than 2147483647, got"),
        (lambda: decode.yolov8(10**400), "classes: expected no more than 2147483647, got builtins.int"),
        (lambda: decode.Suppression(extra=np.timedelta64(3, "s")), "Suppression: extra: expected a number of at least"),
        (lambda: decode.ssd(np.full((4, 4), 0.5), strides=(8,), anchors=(5,)), "add up to at most 4"),
    ],
)
def test_numbers_that_are_named(make: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=re.escape(says)):
        make()


def test_from_dict_names_a_record_once() -> None:
    stored = decode.yolov8(1, keypoints=2).to_dict()
    for wrong, says in (
        ({"strides": [0]}, r"^Head: strides: expected"),
        ({"anchors": 5}, r"^Head: anchors: expected a sequence"),
        ({"keypoints": {"count": 2, "across": "x"}}, r"^Head: Keypoints: across: expected one of"),
        ({"keypoints": None}, r"^Head 'yolov8', form"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            decode.Head.from_dict({**stored, **wrong})


def test_the_largest_count_is_taken() -> None:
    assert decode.yolov2(20, stride=2**31 - 1).strides == (2**31 - 1,)
    assert isinstance(decode.Skeleton(np.int8(2), ((0, 1),), np.int8(1)).joints, int)  # type: ignore[arg-type]
