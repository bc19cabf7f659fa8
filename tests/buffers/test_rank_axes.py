"""The letters of a shape of which nobody says the order, and who is warned of channels that seem to be last."""

from __future__ import annotations

import itertools
import warnings

import pytest

from npu_layout.buffers import axes_of_rank

LETTERS = {1: "N", 2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}


def seems_last(shape: tuple[int, ...]) -> bool:
    """A map as wide as high, of another number of channels; or three colours behind sides of 16 and more."""
    if len(shape) != 4:
        return False
    square = shape[1] == shape[2] and shape[1] != shape[3] and shape[1] != 1
    return square or (shape[3] == 3 and shape[1] >= 16 and shape[2] >= 16)


def test_who_is_warned() -> None:
    extents = (1, 2, 3, 15, 16, 80)
    count = 0
    for rank in LETTERS:
        for shape in itertools.product(extents, repeat=rank) if rank < 5 else [(1, 3, 8, 8, 3), (1, 8, 8, 8, 3)]:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                assert axes_of_rank("x", shape) == LETTERS[rank]
            assert len(found) == seems_last(shape), shape
            count += len(found)
    assert count > 100


def test_the_words() -> None:
    with pytest.warns(UserWarning) as found:
        axes_of_rank("output 'y'", (1, 80, 80, 255))
        axes_of_rank("y", [4, 480, 640, 3], "layouts={'y': 'NHWC'}")
    assert [str(one.message) for one in found] == [
        "output 'y': the order of shape (1, 80, 80, 255) is not known, and read as NCHW: N=1, C=80, H=80, W=255. "
        "If its channels are last, give layout='NHWC' (to an engine layouts={name: 'NHWC'}); if not, 'NCHW' says so",
        "y: the order of shape (4, 480, 640, 3) is not known, and read as NCHW: N=4, C=480, H=640, W=3. "
        "If its channels are last, give layouts={'y': 'NHWC'}; if not, 'NCHW' says so",
    ]
    assert [one.filename for one in found] == [__file__] * 2, "not a line of this library"
