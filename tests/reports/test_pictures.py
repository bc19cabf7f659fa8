"""Pictures of tensors: colours, scales and what is shown of a large one."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.reports.pictures import Sheet, coloured, error_map, histogram


def test_pictures() -> None:
    values = np.array([[0.0, 1.0, 2.0, np.nan, -5.0, 9.0]])
    image = coloured(values, 0, 2, "VIRIDIS")
    assert (image[0, 4] == image[0, 0]).all() and (image[0, 5] == image[0, 2]).all()
    assert image[0, 3].tolist() == [255, 0, 255] and len({tuple(p) for p in image[0].tolist()}) == 4
    squares = np.zeros((400, 7))
    squares[200:210, 3] = 4.0
    picture, most = error_map(squares)
    assert 1 < most <= 2
    assert 400 < picture.shape[0] <= 960 and (picture.max((0, 2)) > 200).any()
    _, low, high = histogram(np.array([]), np.array([1.0, 3.0, np.inf]))
    assert (low, high) == (1.0, 3.0)
    assert histogram(np.array([]), np.array([]))[1:] == (0.0, 0.0)
    assert Sheet(np.zeros((1, 3, 8, 8), np.float32), 1).picture(np.zeros((1, 2, 8, 8))) is not None
    assert Sheet(np.zeros((1, 3, 8, 8), np.float32), 1).picture(np.zeros((3, 8, 8))) is None
    constant = Sheet(np.full((1, 3, 8, 8), 2.5, np.float32), 1)
    assert constant.scale == (0.0, 5.0) and constant.picture(np.full((1, 3, 8, 8), 2.5)) is not None


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((1, 1, 2000, 6), "; one of every 11 rows and all columns"),
        ((1, 1, 6, 2000), "; all rows and one of every 11 columns"),
        ((1, 3, 100, 1000), "; one of every 6 rows and columns"),
        ((1, 3, 4, 30000), "; all rows and one of every 157 columns"),
        ((1, 3, 8, 8), "Channels 0, 1, 2"),
    ],
)
def test_pictures_of_long_maps_are_no_lines(shape: tuple[int, ...], says: str) -> None:
    """One step for both sides left one column of six; a square for each place made 90,000 rows of pixels of 192."""
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    sheet = Sheet(values, 1)
    assert sheet.text.endswith(says), sheet.text
    for picture in (sheet.picture(values), error_map(values[0, 0] ** 2)[0]):
        assert picture is not None and 32 <= picture.shape[0] <= 1000 and 200 <= picture.shape[1] <= 500
        assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20
