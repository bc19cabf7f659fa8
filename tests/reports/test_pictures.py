"""Pictures of tensors: colours, scales and what is shown of a large one."""

from __future__ import annotations

import numpy as np

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
    assert picture.shape[0] <= 400 * 480 // 7 and (picture.max((0, 2)) > 200).any()
    _, low, high = histogram(np.array([]), np.array([1.0, 3.0, np.inf]))
    assert (low, high) == (1.0, 3.0)
    assert histogram(np.array([]), np.array([]))[1:] == (0.0, 0.0)
    assert Sheet(np.zeros((1, 3, 8, 8), np.float32), 1).picture(np.zeros((1, 2, 8, 8))) is not None
    assert Sheet(np.zeros((1, 3, 8, 8), np.float32), 1).picture(np.zeros((3, 8, 8))) is None
    constant = Sheet(np.full((1, 3, 8, 8), 2.5, np.float32), 1)
    assert constant.scale == (0.0, 5.0) and constant.picture(np.full((1, 3, 8, 8), 2.5)) is not None
