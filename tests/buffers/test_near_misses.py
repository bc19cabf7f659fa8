"""Which shapes a stored tensor may have, against numpy's own strides, and the words for what it is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import npu_layout as nl
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


def test_the_order_of_many_axes_takes_no_time() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    storage = Storage.bind(Layout(letters[::-1], letters), (2,) * 25 + (3,))
    assert order_words(storage, (4, 4, 3, 1 << 21)) == "which neither divides nor merges its dimensions"
    assert order_words(storage, (1, 2, 2, 3, *(2,) * 23)) == "axes in the order ABZCDEFGHIJKLMNOPQRSTUVWXY"


@pytest.mark.parametrize("extents", [(1, 2, 2, 3), (2, 1, 3, 1), (1, 1, 1, 1), (3, 3, 3, 3), (2, 3, 1, 2)])
def test_the_order_is_the_first_that_fits(extents: tuple[int, ...]) -> None:
    storage = Storage.bind(Layout("NHWC"), extents)
    for shape in itertools.permutations(extents):
        fitting = (
            "".join("NCHW"[i] for i in order)
            for order in itertools.permutations(range(4))
            if [extents[i] for i in order if extents[i] > 1] == [n for n in shape if n > 1]
        )
        assert order_words(storage, shape) == f"axes in the order {next(fitting)}"


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
        (17 * 20, "; 340 bytes would be the tensor without padding"),
        (32 * 20 * 2, "; 1280 bytes would be the tensor in elements of 2 bytes or with W padded from 4 to 8"),
        (32 * 20 * 4, "; 2560 bytes would be the tensor in elements of 4 bytes or with W padded from 4 to 16"),
        (641, ""),
    ],
)
def test_sizes_of_a_blocked_tensor(nbytes: int, expected: str) -> None:
    storage = Storage.bind(Layout("NCHW16c"), (1, 17, 5, 4))
    assert size_words(storage, element("uint8"), nbytes) == expected


def test_a_padded_axis_is_named_and_ties_are_all_named() -> None:
    storage = Storage.bind(Layout("NHWC"), (1, 3, 2, 2))
    assert "with C padded from 3 to 4" in size_words(storage, element("int8"), 16)
    both = size_words(Storage.bind(Layout("NHWC"), (1, 16, 1, 4)), element("int8"), 128)
    assert " or " in both and "elements of 2 bytes" in both and "C padded from 16 to 32" in both


def test_half_bytes_have_their_unpadded_size_only() -> None:
    storage = Storage.bind(Layout("NCHW4c"), (1, 3, 1, 1))
    assert size_words(storage, element("int4"), 2) == "; 2 bytes would be the tensor without padding"
    assert size_words(storage, element("int4"), 4) == ""
    assert np.prod(storage.storage_shape) == 4


def test_dimensions_of_one_have_no_say() -> None:
    pitched = Storage.bind(Layout("NCHW"), (1, 2, 3, 4), None, (999, 12, 4, 1))
    assert same_order(pitched, (2, 3, 2, 2)) and same_order(pitched, (1, 6, 4)) and not same_order(pitched, (4, 6))
    assert same_order(pitched, (24, 1)) and order_words(pitched, (3, 1, 2, 4)) == "axes in the order NHCW"
    mirrored = Storage.bind(Layout("NCHW"), (1, 2, 3, 4), None, (24, 12, -4, 1), 8)
    assert same_order(mirrored, (2, 3, 2, 2)) and not same_order(mirrored, (4, 3, 2))


UNPADDED = "without padding"


@pytest.mark.parametrize(
    ("tag", "shape", "dtype", "nbytes", "words"),
    [
        ("NCHW8c", (1, 5, 2, 3), "int16", 5 * 6 * 2, [UNPADDED]),
        ("NCHW", (1, 5, 2, 3), "int16", 5 * 6 * 2, [UNPADDED]),
        ("NCHW8c", (1, 5, 2, 3), "int16", 8 * 6, ["in elements of 1 byte"]),
        ("NCHW8c", (1, 5, 2, 3), "int16", 8 * 6 * 4, ["in elements of 4 bytes"]),
        ("NCHW8c", (1, 5, 2, 3), "float32", 8 * 6 * 2, ["in elements of 2 bytes"]),
        ("NCHW8c", (1, 5, 2, 3), "float32", 8 * 6, ["in elements of 1 byte"]),
        ("NHWC", (1, 5, 1, 7), "float64", 5 * 7 * 4, ["in elements of 4 bytes"]),
        *[("NHWC", (1, 3, 1, 7), "uint8", 7 * n, [f"with C padded from 3 to {n}"]) for n in (4, 32, 64)],
        ("NHWC", (1, 3, 1, 7), "uint8", 7 * 16, ["with C padded from 3 to 16"]),
        ("NHWC", (1, 3, 1, 7), "uint8", 3 * 16, ["with W padded from 7 to 16"]),
        ("NHWC", (1, 3, 1, 7), "uint8", 3 * 8, ["with W padded from 7 to 8"]),
        ("NHWC", (1, 3, 1, 7), "uint8", 7 * 128, []),
        ("NHWC", (1, 3, 1, 7), "int32", 7 * 8 * 4, ["with C padded from 3 to 8"]),
        ("NHWC", (1, 33, 1, 7), "uint8", 7 * 48, ["with C padded from 33 to 48"]),
        ("NCHW8c", (1, 5, 3, 3), "uint8", 8 * 3 * 16, [f"with {a} padded from 3 to 16" for a in "HW"]),
        ("NCHW8c", (1, 5, 3, 3), "uint8", 16 * 9, ["in elements of 2 bytes"]),  # its blocks pad C already
    ],
)  # fmt: skip
def test_the_readings_of_a_wrong_size(
    tag: str, shape: tuple[int, ...], dtype: str, nbytes: int, words: list[str]
) -> None:
    got = size_words(Storage.bind(Layout(tag), shape), element(dtype), nbytes)
    if not words:
        assert got == ""
        return
    assert got.startswith(f"; {nbytes} bytes would be the tensor ")
    found = got[len(f"; {nbytes} bytes would be the tensor ") :].split(" or ")
    assert set(words) <= set(found) and len(found) == len(set(found)), got
    assert not tag.endswith("8c") or "C padded" not in got
    assert all("padded" in word or "elements" in word for word in set(found) - set(words) - {UNPADDED})


def test_an_axis_that_is_padded_already_may_be_padded_to_something_else() -> None:
    rows = Storage.bind(Layout("NHWC"), (1, 3, 2, 3), (1, 2, 6, 3))  # W padded from 3 to 6
    assert size_words(rows, element("uint8"), 2 * 4 * 3) == "; 24 bytes would be the tensor with W padded from 3 to 4"
    both = "with C padded from 3 to 4 or with W padded from 3 to 8"
    assert size_words(rows, element("uint8"), 2 * 6 * 4) == f"; 48 bytes would be the tensor {both}"
    assert size_words(rows, element("uint8"), 2 * 3 * 3 * 6) == ""


def test_a_buffer_with_gaps_has_no_padded_reading() -> None:
    gaps = Storage.bind(Layout("NHWC"), (1, 3, 1, 4), None, None, 0, 20)
    assert size_words(gaps, element("uint8"), 12) == "; 12 bytes would be the tensor without padding"
    assert size_words(gaps, element("uint8"), 40) == "; 40 bytes would be the tensor in elements of 2 bytes"
    assert size_words(gaps, element("uint8"), 16) == ""


@pytest.mark.parametrize(("layout", "shape"), [("NCHW", (1, 3, 4, 6)), ("NHWC", (2, 3, 4, 6))])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_strides_that_were_given_in_bytes(layout: str, shape: tuple[int, ...], dtype: str) -> None:
    """Vendors list bytes: the error said how many elements of gaps there are."""
    array = np.zeros([dict(zip("NCHW", shape))[letter] for letter in layout], dtype)
    spec = nl.TensorSpec(shape, layout, dtype, storage_strides=array.strides)
    words = rf"{array.nbytes} bytes would be the tensor .*if the storage_strides were bytes \(they are elements\)$"
    with pytest.raises(nl.BufferSizeError, match=words):
        spec.flat(array)
    dense = nl.TensorSpec(shape, layout, dtype)
    with pytest.raises(nl.BufferSizeError) as caught:
        dense.flat(array.reshape(-1)[1:])
    assert "were bytes" not in str(caught.value)
