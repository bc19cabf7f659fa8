"""The conformance suite finds each broken rule, and passes engines that keep all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.testing import check_engine
from tests.support import detector


class Good:
    """Doubles int8 numbers."""

    owns_outputs = False
    input_specs = (nl.TensorSpec((1, 2, 2, 2), "NCHW4c", "int8", name="x"),)
    output_specs = (nl.TensorSpec((1, 2, 2, 2), "NCHW4c", "int8", name="y"),)

    def __init__(self) -> None:
        self.closed, self.calls = False, 0

    def answer(self, x: np.ndarray) -> np.ndarray:
        return x * np.int8(2)

    def infer(self, inputs: Any, out: Any = None) -> Any:
        if self.closed:
            raise nl.NpuLayoutError("closed")
        self.calls += 1
        if isinstance(inputs, dict):
            if list(inputs) != ["x"]:
                raise nl.NpuLayoutError(f"expected x, got {', '.join(inputs)}")
            inputs = inputs["x"]
        y = self.answer(self.input_specs[0].flat(inputs))
        if out is None:
            return {"y": y}
        np.copyto(out["y"].reshape(-1), y)
        return {"y": out["y"]}

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Good:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def test_good_engines() -> None:
    assert len(check_engine(Good)) == 9
    specs = list(detector.specs().values())
    assert len(check_engine(lambda: nl.OnnxRuntimeEngine(detector.detector(), threads=1))) == 9
    assert len(check_engine(lambda: nl.SimulatedNpu(detector.detector(), specs, threads=1))) == 9
    assert len(check_engine(Good, {"x": np.zeros(16, np.int8)})) == 9
    assert len(check_engine(Bytes)) == 9


class Owner(Good):
    owns_outputs = True
    memory = np.zeros(16, np.int8)

    def answer(self, x: np.ndarray) -> np.ndarray:
        self.memory[:] = x * np.int8(2)
        return self.memory


class Liar(Owner):
    owns_outputs = False


class Short(Good):
    def answer(self, x: np.ndarray) -> np.ndarray:
        return (x * np.int8(2))[:-1]


class Random(Good):
    def answer(self, x: np.ndarray) -> np.ndarray:
        return x + np.int8(self.calls)


class Late(Good):
    """Returns the outputs of an earlier run, as RKNNLite does with async_mode=True; the first run has its own."""

    late = 1

    def __init__(self) -> None:
        super().__init__()
        self.queue: list[np.ndarray] = []

    def answer(self, x: np.ndarray) -> np.ndarray:
        self.queue.append(x * np.int8(2))
        return self.queue.pop(0) if len(self.queue) > self.late else self.queue[0]


class Later(Late):
    late = 3


class Empty(Late):
    """Its first run has nothing yet: memory that the runtime has made, and not written to."""

    def answer(self, x: np.ndarray) -> np.ndarray:
        self.queue.append(x * np.int8(2))
        return self.queue.pop(0) if len(self.queue) > 1 else np.zeros_like(x)


class Shaped(Late):
    """Takes inputs in the shape of their storage alone."""

    def infer(self, inputs: Any, out: Any = None) -> Any:
        given = inputs["x"] if isinstance(inputs, dict) else inputs
        if given.shape != self.input_specs[0].storage_shape:
            raise ValueError("another shape")
        return super().infer(inputs, out)


class Strict(Good):
    """A network that refuses numbers in another order."""

    def answer(self, x: np.ndarray) -> np.ndarray:
        if list(x) != sorted(x):
            raise RuntimeError("not sorted")
        return super().answer(x)


class Deaf(Good):
    def infer(self, inputs: Any, out: Any = None) -> Any:
        return super().infer(inputs)


class Silent(Good):
    def infer(self, inputs: Any, out: Any = None) -> Any:
        answer = super().infer(inputs, out)
        return answer if out is None else None


class Listing(Good):
    def infer(self, inputs: Any, out: Any = None) -> Any:
        return list(super().infer(inputs, out).values())


class Bytes(Good):
    def infer(self, inputs: Any, out: Any = None) -> Any:
        answer = super().infer(inputs, out)
        return {"y": answer["y"].tobytes()} if out is None else answer


class Immortal(Good):
    def close(self) -> None:
        pass


class Lax(Good):
    def infer(self, inputs: Any, out: Any = None) -> Any:
        return super().infer(next(iter(inputs.values())) if isinstance(inputs, dict) else inputs, out)


class Shifting(Good):
    @property
    def input_specs(self) -> Any:  # type: ignore[override]
        self.calls += 1
        return [nl.TensorSpec((1, 2, 2, 2), "NCHW4c", "int8", name=f"x{self.calls}")]


def test_an_engine_of_two_members_is_checked_in_a_pool() -> None:
    def bare(make: Any) -> Any:
        good = make()
        members = {name: getattr(good, name) for name in ("infer", "input_specs", "output_specs")}
        return nl.streams.EnginePool([SimpleNamespace(**members)])

    assert len(check_engine(lambda: bare(Good))) == 9
    with pytest.raises(AssertionError, match="run 1 after one of another input returned other outputs"):
        check_engine(lambda: bare(Late))


def test_what_is_no_other_input_is_no_fault() -> None:
    rules = check_engine(Strict, {"x": np.arange(16, dtype=np.int8)})
    assert len(rules) == 9 and "infer is repeatable: equal inputs, equal outputs" in rules
    assert "infer is repeatable: equal inputs, equal outputs, whatever was run between" in check_engine(Good)


def test_owners_are_allowed() -> None:
    assert len(check_engine(Owner)) == 8  # all but whose the buffers are


@pytest.mark.parametrize(
    "make, words",
    [
        (Liar, r"the caller's \(owns_outputs is False\): not so"),
        (Short, "infer returns what output_specs say: not so; engine Short: output y"),
        (Random, "infer is repeatable: equal inputs, equal outputs: not so$"),
        (
            Empty,
            "not so; the first run of these inputs returned other outputs than the next ones: do they belong to an",
        ),
        (Late, "infer is repeatable.* run 1 after one of another input .* do they belong to an earlier input"),
        (Shaped, "infer is repeatable.* run 1 after one of another input returned other outputs"),
        (Later, "infer is repeatable.* run 3 after one of another input returned other outputs"),
        (Deaf, "out= is written, and returned: not so"),
        (Silent, "out= is written, and returned: not so; engine Silent: returned None"),
        (Listing, "infer returns {name: buffer}: not so; got list"),
        (Immortal, "a closed engine refuses to run"),
        (Lax, "an input of another name is refused: not so, for x"),
        (Shifting, "specs stay the same: not so"),
        (object, "object has every member of the protocol: not so; missing: input_specs"),
    ],
)
def test_broken_rules_are_named(make: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_engine(make)


def test_bad_arguments() -> None:
    with pytest.raises(nl.NpuLayoutError, match="make: expected a function"):
        check_engine(Good())  # type: ignore[arg-type]
