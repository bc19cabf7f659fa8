"""What a function returned stays what it was, whatever becomes of the memory that it was read from."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from npu_layout.streams import Stream
from npu_layout.streams.leases import Result
from npu_layout.streams.values import lasting
from tests.support.streaming import OUTPUT, PREPROCESS, Reader, frames, read

pytestmark = pytest.mark.usefixtures("nothing_is_left")

Pair = namedtuple("Pair", "number frame")


@dataclass(frozen=True)
class Seen:
    number: int
    frame: Any
    kept: Any = None


def objects(*items: Any) -> np.ndarray:
    array = np.empty(len(items), object)
    for i, item in enumerate(items):
        array[i] = item
    return array


_RETURNS: dict[str, tuple[Any, Any]] = {  # the function, and what reads the frame's number in what it returned
    "an output": (lambda result: result.outputs["number"], lambda value: value.ravel()[0]),
    "a view of an output": (lambda result: OUTPUT.view(result.outputs["number"])[0, 1:], lambda value: value[0]),
    "what unpack returned": (lambda result: OUTPUT.unpack(result.outputs["number"]), lambda value: value[0, 0]),
    "an input": (lambda result: result.inputs["image"], read),
    "a frame": (lambda result: result.frame, read),
    "a mirrored frame": (lambda result: result.frame[:, ::-1], read),
    "a tuple": (lambda result: (result.number, result.frame), lambda value: read(value[1])),
    "a named tuple": (lambda result: Pair(result.number, result.frame), lambda value: read(value.frame)),
    "a dataclass": (lambda result: Seen(result.number, result.frame), lambda value: read(value.frame)),
    "a deque": (lambda result: deque([result.frame], 2), lambda value: read(value[0])),
    "an array of objects": (lambda result: objects(None, result.frame), lambda value: read(value[1])),
    "lists in a dict": (lambda result: {"all": [1, [result.frame]]}, lambda value: read(value["all"][1][0])),
}


@pytest.mark.parametrize("returns", _RETURNS)
@pytest.mark.parametrize("debug", [False, True])
def test_values_stay_when_memory_is_used_again(returns: str, debug: bool) -> None:
    function, number = _RETURNS[returns]
    with Stream(frames(30), PREPROCESS, Reader(), function, debug=debug) as stream:
        values = [result.value for result in stream]
    assert [int(number(value)) for value in values] == list(range(30))


def test_a_copy_of_a_result_has_the_value() -> None:
    with Stream(frames(12), PREPROCESS, Reader(), lambda result: result.outputs["number"], debug=True) as stream:
        kept = [result.copy() for result in stream]
    assert [int(result.value.ravel()[0]) for result in kept] == list(range(12))


def test_what_shares_nothing_is_returned_itself() -> None:
    memory = np.zeros(8, np.uint8)
    own, cycle = np.ones(3), []  # type: np.ndarray, list[Any]
    cycle.append(cycle)
    same = (own, [own], {"a": own}, deque([own]), Seen(1, own), objects(own, None))
    for value in (None, "seen", own, same, cycle, {1, 2}, Seen, np.array(["a"], object)):
        assert lasting(value, lambda: [memory]) is value
    held: list[Any] = [own, memory[2:4]]
    kept = lasting(held, lambda: [memory])
    memory[:] = 9
    assert kept[0] is own and kept[1].tolist() == [0, 0] and held[1].tolist() == [9, 9]


def test_the_memory_is_asked_for_once_and_of_arrays_alone() -> None:
    asked, memory = [], np.zeros(8, np.uint8)  # type: list[int], np.ndarray

    def arrays() -> list[np.ndarray]:
        asked.append(1)
        return [memory]

    for value in (3, None, "seen", (1, [2.5, {"a": np.float32(3)}]), objects(1, "a")):
        assert lasting(value, arrays) is value and not asked
    first, second = lasting([memory, memory[1:]], arrays)
    assert asked == [1] and not np.shares_memory(first, memory) and not np.shares_memory(second, memory)


def test_memory_its_views_and_what_they_are_views_of_are_copied() -> None:
    base = np.zeros(8, np.uint8)
    for value, memory in ((base, base), (base[2:], base), (base, base[2:]), (base[1:5], base[2:])):
        both = [np.ones(3), memory]
        kept = lasting(value, both.copy)
        assert kept is not value and not np.shares_memory(kept, base)


def test_copies_keep_the_order_and_the_kind() -> None:
    memory = np.arange(12, dtype=np.float32).reshape(3, 4)
    turned = lasting(memory.T, lambda: [memory])
    assert turned.strides == memory.T.strides and not np.shares_memory(turned, memory)
    named = lasting(Pair(1, memory), lambda: [memory])
    assert isinstance(named, Pair) and list(lasting({"b": 0, "a": memory}, lambda: [memory])) == ["b", "a"]
    given = defaultdict(list, a=[memory])
    kept = lasting(given, lambda: [memory])
    assert kept["new"] == [] and "new" not in given and given["a"][0] is memory is not kept["a"][0]


@dataclass
class Tracked:
    box: np.ndarray
    lock: Any = field(default_factory=threading.Lock)  # which cannot be copied
    unset: Any = field(init=False)


SLOTTED: Any = dataclass(type("Slotted", (), {"__slots__": ("box",), "__annotations__": {"box": Any}}))


def test_dataclasses_deques_and_arrays_of_objects_stay_of_their_kind() -> None:
    memory, own = np.arange(6), object()
    given = Tracked(memory)
    kept = lasting(given, lambda: [memory])
    assert type(kept) is Tracked and kept.lock is given.lock and given.box is memory and not hasattr(kept, "unset")
    assert type(lasting(SLOTTED(memory), lambda: [memory])) is SLOTTED
    frozen = lasting(Seen(1, {"a": deque([memory, own], 3)}, own), lambda: [memory])
    assert frozen.kept is own and frozen.frame["a"].maxlen == 3 and frozen.frame["a"][1] is own
    table = objects(own, memory, None, memory[1:3]).reshape(2, 2)
    copied = lasting(table, lambda: [memory])
    memory[:] = 9
    assert frozen.frame["a"][0].tolist() == list(range(6)) == kept.box.tolist() == copied[0, 1].tolist()
    assert copied.shape == (2, 2) and copied[0, 0] is own and copied[1, 1].tolist() == [1, 2]
    assert table[0, 1] is memory


class Held:
    """A frozen dataclass with slots written out, which Python cannot copy; and one that refuses to be."""

    __slots__ = ("box", "unset")
    __annotations__ = {"box": Any, "unset": Any}

    def __init__(self, box: Any) -> None:
        object.__setattr__(self, "box", box)


FROZEN: Any = dataclass(frozen=True, init=False)(Held)


@dataclass
class Refusing:
    _box: Any = None
    box: Any = None

    def __copy__(self) -> Any:
        raise TypeError("cannot be copied")


Refusing.box = property(lambda self: self._box)  # type: ignore[assignment]


@dataclass
class Failed(Exception):
    box: Any


def test_dataclasses_that_python_does_not_copy_are() -> None:
    memory = np.arange(3)
    given = Refusing.__new__(Refusing)
    given._box = memory
    failed = Failed(memory)
    kept, held = lasting([given, FROZEN(memory)], lambda: [memory])
    assert lasting(failed, lambda: [memory]) is failed  # what is more than its attributes is not looked into
    memory[:] = 9
    assert type(kept) is Refusing and kept.box.tolist() == [0, 1, 2] and given.box.tolist() == [9, 9, 9]
    assert type(held) is FROZEN and held.box.tolist() == [0, 1, 2] and not hasattr(held, "unset")


class Numbers(list):  # type: ignore[type-arg]
    pass


def test_a_list_stays_of_its_kind() -> None:
    memory = np.arange(3)
    given = Numbers([memory])
    given.unit = "px"  # type: ignore[attr-defined]
    kept = lasting(given, lambda: [memory])
    assert type(kept) is Numbers and kept.unit == "px" and kept[0] is not memory is given[0]


@pytest.mark.parametrize("levels", range(4, 9))
def test_what_is_found_deep_and_less_deep_is_looked_into_as_far_as_the_second(levels: int) -> None:
    memory = np.arange(3)
    shared: Any = [{"a": [memory]}]
    deep: Any = shared
    for _ in range(levels):
        deep = [deep]
    assert lasting([deep, shared], lambda: [memory])[1][0]["a"][0] is not memory


class Computed(dict):  # type: ignore[type-arg]
    def values(self) -> Any:
        return [[key] for key in self]


def test_what_a_container_makes_while_it_is_read_is_no_other_object_afterwards() -> None:
    memory = np.arange(3)
    given = [*(Computed({key: 0}) for key in range(8)), [[memory]], *([[k]] for k in range(8))]
    kept = lasting(given, lambda: [memory])
    assert all(one is other for one, other in zip(kept[:8], given)) and kept[9:] == given[9:]
    assert kept[8][0][0] is not memory


def test_what_contains_itself_often_costs_no_more_than_what_it_contains() -> None:
    memory = np.zeros(3)
    net: list[Any] = []
    net.extend([net] * 40 + [{"a": net, "b": memory}])
    begun = time.process_time()
    kept = lasting(net, lambda: [memory])
    assert time.process_time() - begun < 1.0  # 40 ** 8 visits would take years
    assert kept[-1]["b"] is not memory and net[-1]["b"] is memory
    two = lasting([[memory], [memory]] * 2, lambda: [memory])
    assert two[0] is not two[1] and two[0][0] is not memory


def test_a_result_as_the_value_ends_with_its_lease() -> None:
    with Stream(frames(4), PREPROCESS, Reader(), lambda result: result) as stream:
        values: list[Result] = [result.value for result in stream]
    with pytest.raises(ValueError, match="was returned"):
        values[0].outputs  # noqa: B018
