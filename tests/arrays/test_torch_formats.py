"""Every predicate and stride against torch's own, over 10,000 random arrays. Needs torch: the extra ``test-torch``."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'npu-layout[test-torch]'")

COUNT = 10_000
FORMATS = {  # rank -> torch's name of each format, and ours
    4: [("contiguous_format", "NCHW"), ("channels_last", "NHWC")],
    5: [("contiguous_format", "NCDHW"), ("channels_last_3d", "NDHWC")],
    3: [("contiguous_format", "NCW")],
}


def cases() -> Any:
    """(shape, strides): dense in a random order, then perhaps narrowed, stepped or expanded."""
    dice = random.Random(20)
    for _ in range(COUNT):
        rank = dice.choice((3, 4, 4, 4, 5))
        shape = [dice.choice((1, 1, 1, 2, 3, 4, 7)) for _ in range(rank)]
        first_or_last = [list(range(rank)), [0, *range(2, rank), 1]]
        order = dice.choice([*first_or_last, dice.sample(range(rank), rank)])
        whole = [n + dice.choice((0, 0, 0, 0, 0, 0, 1, 5)) for n in shape]
        strides, step = [0] * rank, 1
        for axis in reversed(order):
            strides[axis] = step
            step *= whole[axis]
        if dice.random() < 0.1:
            strides[dice.randrange(rank)] *= 2
        if dice.random() < 0.1:
            strides[dice.randrange(rank)] = 0
        if dice.random() < 0.02:
            shape[dice.randrange(rank)] = 0
        yield tuple(shape), tuple(strides)


def both(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, np.ndarray]:
    memory = np.arange(1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides)), dtype=np.float32)
    x = np.lib.stride_tricks.as_strided(memory, shape, [4 * s for s in strides])
    return torch.as_strided(torch.from_numpy(memory), shape, strides), x


def of(name: str) -> Any:
    return getattr(torch, name)


def explanation(shape: tuple[int, ...]) -> str:
    """Why channels first and last are the same memory, as the family of shapes is called; "" if they are not."""
    if 0 in shape:
        return "no elements"
    letters = dict(zip(FORMATS[len(shape)][0][1], shape))
    if letters["C"] == 1 or all(n == 1 for letter, n in letters.items() if letter not in "NC"):
        return "".join("1" if n == 1 else letter for letter, n in letters.items())
    return ""


def test_strides_and_predicates(record_property: Callable[[str, object], None]) -> None:
    ambiguous: Counter[str] = Counter()
    for shape, strides in cases():
        t, x = both(shape, strides)
        why = explanation(shape)
        fits = []
        for name, layout in FORMATS[len(shape)]:
            if 0 in shape:  # torch calls it contiguous, and channels_last by chance; numpy's flags, and we: both
                assert nl.is_contiguous(x, layout)
                continue
            found = t.is_contiguous(memory_format=of(name))
            assert found == nl.is_contiguous(x, layout), (shape, strides, layout)
            fits += [layout] * found
            theirs = torch.empty(shape, memory_format=of(name)).stride()
            assert theirs == nl.strides(shape, layout) == in_elements(nl.empty(shape, "f4", layout))
        known = nl.memory_format(x)
        if fits and not why:
            assert [str(known)] == fits, (shape, strides)
        elif fits:
            assert known is None and len(fits) == len(FORMATS[len(shape)]), (shape, strides)
            assert set(fits) <= {str(layout) for layout in nl.fitting_formats(x)}
        if why:
            ambiguous[why] += bool(fits) or 0 in shape
    for why, count in sorted(ambiguous.items()):
        print(f"{why}: {count} arrays are both channels first and channels last")
        record_property(why, count)
    # A channel alone, or pixels alone, in any batch; and nothing else.
    assert set(ambiguous) >= {"N1HW", "NC11", "N111", "11HW", "1C11", "1111", "N1DHW", "NC111"}


def in_elements(x: np.ndarray) -> tuple[int, ...]:
    return tuple(s // x.itemsize for s in x.strides)


def test_conversions() -> None:
    for i, (shape, strides) in enumerate(cases()):
        if 0 in shape or i % 4:
            continue
        t, x = both(shape, strides)
        for name, layout in FORMATS[len(shape)]:
            dense = nl.asformat(x, layout)
            wanted = torch.empty(shape, memory_format=of(name))
            assert in_elements(dense) == wanted.stride()
            np.testing.assert_array_equal(dense, wanted.copy_(t).numpy())
            # .contiguous leaves the strides of what is ambiguous, .to makes them canonical by a copy; here they are
            # made so without one.
            kept = t.contiguous(memory_format=of(name))
            assert (kept.data_ptr() == t.data_ptr()) == np.shares_memory(dense, x), (shape, strides)
            turned = t.to(memory_format=of(name))
            if turned.is_contiguous(memory_format=of(name)) and turned.data_ptr() != t.data_ptr():
                assert turned.stride() == in_elements(dense)


def test_tensors_keep_what_torch_keeps() -> None:
    """Where the format is beyond doubt, results of operators have torch's strides."""
    for i, (shape, _) in enumerate(cases()):
        if 0 in shape or explanation(shape) or i % 20:
            continue
        for name, layout in FORMATS[len(shape)]:
            t = torch.rand(shape).to(memory_format=of(name))
            x = nl.Tensor(t.numpy(), layout)
            for theirs, ours in (
                (t + 1, x + 1),
                (t * t, x * x),
                (t.clone(), x.copy()),
                (torch.empty_like(t), nl.empty_like(x)),
                (t.to(torch.float64), x.astype(np.float64)),
                (t + torch.rand(shape[1], *[1] * (len(shape) - 2)), x + np.ones((shape[1], *[1] * (len(shape) - 2)))),
            ):
                moving = [axis for axis, n in enumerate(shape) if n > 1]
                assert [theirs.stride()[a] for a in moving] == [in_elements(ours)[a] for a in moving], (shape, layout)
                assert str(ours.layout) == layout
