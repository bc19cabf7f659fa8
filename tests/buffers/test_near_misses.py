"""Which shapes a stored tensor may have, against numpy's own strides, and the words for what it is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout.buffers import element
from npu_layout.buffers.near_misses import order_words, same_order, size_words
from npu_layout.layouts import FASTEST_FIRST, Layout, Storage


def test_the_right_order_of_axes_and_no_other() -> None:
    extents = {"N": 2, "C": 3, "H": 5, "W": 7}
    for stored, asked in itertools.product(itertools.permutations("NCHW"), repeat=2):
        if "".join(stored) in FASTEST_FIRST:  # names of vendors, not tags
            continue
        storage = Storage.bind(Layout("".join(stored)), (2, 3, 5, 7))
        shape = tuple(extents[letter] for letter in asked)
        assert same_order(storage, shape) is (stored == asked), (stored, asked)
        if stored != asked:
            assert order_words(storage, shape) == f"axes in the order {''.join(asked)}"


def test_merged_and_divided_dimensions_are_the_same_memory() -> None:
    storage = Storage.bind(Layout("NCHW"), (2, 3, 4, 6))
    for shape in ((144,), (6, 24), (2, 3, 2, 2, 6), (1, 2, 1, 3, 4, 6, 1), (2, 3, 24)):
        assert same_order(storage, shape), shape
    for shape in ((2, 4, 6, 3), (2, 4, 3, 6), (9, 16)):
        assert not same_order(storage, shape), shape
    assert order_words(storage, (9, 16)) == "which neither divides nor merges its dimensions"


def test_two_elements_to_an_item() -> None:
    storage = Storage.bind(Layout("NHWC"), (1, 4, 2, 3))
    assert same_order(storage, (1, 2, 3, 2), per_item=2) and not same_order(storage, (2, 3, 2, 1), per_item=3)


@pytest.mark.parametrize(
    ("nbytes", "expected"),
    [
        (17 * 20, "; 340 are those without padding"),
        (32 * 20 * 2, "; 1280 are those of elements of 2 bytes or those with W padded from 4 to 8"),
        (32 * 20 * 4, "; 2560 are those of elements of 4 bytes or those with W padded from 4 to 16"),
        (641, ""),
    ],
)
def test_sizes_of_a_blocked_tensor(nbytes: int, expected: str) -> None:
    storage = Storage.bind(Layout("NCHW16c"), (1, 17, 5, 4))
    assert size_words(storage, element("uint8"), nbytes) == expected


def test_a_padded_axis_is_named_and_ties_are_all_named() -> None:
    storage = Storage.bind(Layout("NHWC"), (1, 3, 2, 2))
    assert "those with C padded from 3 to 4" in size_words(storage, element("int8"), 16)
    both = size_words(Storage.bind(Layout("NHWC"), (1, 16, 1, 4)), element("int8"), 128)
    assert " or " in both and "elements of 2 bytes" in both and "C padded from 16 to 32" in both


def test_half_bytes_have_their_unpadded_size_only() -> None:
    storage = Storage.bind(Layout("NCHW4c"), (1, 3, 1, 1))
    assert size_words(storage, element("int4"), 2) == "; 2 are those without padding"
    assert size_words(storage, element("int4"), 4) == ""
    assert np.prod(storage.storage_shape) == 4
