"""Which axis of an output are its channels."""

from __future__ import annotations

import cv2
import numpy as np

from npu_layout.comparison.channels import channel_axis, listed
from tests.support.paths import SAMPLES


def test_where_channels_lie() -> None:
    rng = np.random.default_rng(0)
    boxes = rng.random((1, 300, 85)) * np.where(np.arange(85) < 4, 640, 1)
    scores = rng.normal(size=(1, 24, 97)) + 8 * (np.arange(97) == 96)  # of text, letter by letter
    heat = np.zeros((1, 17, 96))
    for joint, at in enumerate(rng.integers(40, 56, 17)):  # all near the middle
        heat[0, joint] = np.exp(-(((np.arange(96) - at) / 2) ** 2))
    for x, axis in (
        (np.zeros(()), None),
        (np.zeros(7), None),
        (rng.random((2, 7)), 1),
        (boxes, 2),
        (boxes.transpose(0, 2, 1), 1),
        (scores, 2),
        (heat, 1),
        (rng.random((1, 300, 85)), 1),
        (np.zeros((1, 300, 85)), 1),
        (np.full((1, 300, 85), np.nan), 1),
        (np.zeros((1, 0, 85)), 1),
        (np.zeros((1, 300, 0)), 1),
        (rng.integers(0, 9, (1, 1, 85)), 1),
        (rng.integers(0, 9, (1, 48, 64)), None),  # labels
        (rng.integers(0, 9, (1, 48, 64)).astype(np.int32), None),
        (rng.integers(0, 9, (1, 48, 64)).astype(np.uint8), 1),  # what a quantised layer returns
        (rng.integers(0, 9, (1, 1, 48, 64)), 1),
        (rng.integers(0, 9, (1, 48, 64, 1)), None),  # labels of a model whose channels are last
        (rng.integers(0, 9, (1, 48, 48, 1)), None),
        (rng.integers(0, 9, (0, 48, 64)), None),
        (rng.integers(0, 9, (1, 17, 2)) + np.array([0, 90]), 2),  # x and y of keypoints, as whole numbers
        (rng.integers(0, 9, (1, 90, 4)).astype(np.int32) + np.int32([0, 0, 90, 90]), 2),  # boxes
        (rng.integers(-9000, 9000, (1, 48, 64)).astype(np.int32), 1),  # sums of 8-bit products
        (rng.integers(0, 9, (2, 30)), 1),
        (np.zeros((1, 20, 20, 255)), 3),
        (np.zeros((1, 255, 20, 20)), 1),
        (np.zeros((1, 255, 20, 30)), 1),
        (np.zeros((1, 20, 20, 20)), 1),
        (np.zeros((1, 3, 20, 20, 85)), 4),
        (np.zeros((1, 1, 20, 20, 85)), 4),
        (np.zeros((1, 3, 8, 20, 20)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=(12, 1, 1)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=16), 3),
    ):
        assert channel_axis(np.asarray(x)) == axis, x.shape


def _volume(rng: np.random.Generator, thick: int) -> np.ndarray:
    """A ball and a box of other labels in a volume of zeros, (1, 16, 24, 32), whose slices are `thick` places apart."""
    z, y, x = np.meshgrid(*map(np.arange, (16 * thick, 24, 32)), indexing="ij")
    at = rng.integers(8, 12, 3)
    labels = np.zeros(z.shape, np.int64)
    labels[(z - 8 * thick) ** 2 / thick**2 + (y - at[1]) ** 2 + (x - at[2]) ** 2 < 60] = 3
    labels[(z > 9 * thick) & (y > 14) & (x > 18)] = 1
    return labels[::thick][None]


def test_volumes_of_labels_have_slices_and_no_channels() -> None:
    rng = np.random.default_rng(3)
    for thick in (1, 4):
        labels = _volume(rng, thick)
        for x in (labels, labels.astype(np.int32), labels.astype(np.uint32), labels[..., None], labels + 40_000):
            assert channel_axis(x) is None, (thick, x.shape, x.dtype)
        assert channel_axis(np.repeat(labels, 2, 0)) is None  # a batch
        assert channel_axis(labels[:, :7]) == 1  # too few to be slices
    noisy = np.where(rng.random(labels.shape) < 0.05, rng.integers(0, 4, labels.shape), labels)
    assert channel_axis(noisy) is None


def test_whole_numbers_of_channels_are_no_volume() -> None:
    """As shape and dtype are those of a volume, the numbers tell."""
    rng = np.random.default_rng(4)
    labels = _volume(rng, 1)
    one_hot = np.stack([labels[0, 8] == k for k in rng.permutation(16)])[None].astype(np.int64)
    smooth = np.cumsum(np.cumsum(rng.normal(size=(1, 16, 24, 32)), 2), 3)
    for x in (
        np.full((1, 16, 24, 32), 5),  # says nothing
        np.zeros((0, 16, 24, 32), np.int64),
        one_hot,
        np.maximum(smooth * 50, 0).astype(np.int32),  # sums of products after a ReLU
        np.maximum(smooth / 50, 0).astype(np.int32),
        np.argsort(-smooth, 1),  # of the best classes
        rng.integers(0, 5, (1, 16, 24, 32)),
        labels.astype(np.int16),  # a quantised layer's
        labels.astype(np.float32),
        labels - 1,
        labels * 70_000,
    ):
        assert channel_axis(x) == 1, (x.dtype, x.max())
    ramp = np.broadcast_to(np.arange(16 * 24 * 32).reshape(1, 1, 16 * 24, 32) // 40, (1, 16, 16 * 24, 32))
    assert channel_axis(ramp) == 1  # as many different ones as sums have


def test_volumes_of_up_to_a_thousand_classes() -> None:
    """Regions of the nearest of some points, as organs and their parts are."""
    rng = np.random.default_rng(6)
    places = np.stack(np.meshgrid(*map(np.arange, (16, 48, 48)), indexing="ij"), -1)
    for classes, regions in ((2, 6), (21, 20), (150, 60), (1000, 400)):
        points = rng.uniform(0, places.shape[:3], (regions, 3))
        far = np.stack([np.square((places - point) * (2, 1, 1)).sum(-1) for point in points])
        labels = rng.integers(0, classes, regions)[far.argmin(0)]
        assert channel_axis(labels[None]) is None, (classes, len(np.unique(labels)))


def test_similar_gray_frames_are_no_volume_of_labels() -> None:
    """They repeat each other as slices of labels do, but not along their rows and columns."""
    rng = np.random.default_rng(5)
    photo = np.asarray(cv2.imread(str(SAMPLES / "data" / "demo.jpg"), cv2.IMREAD_GRAYSCALE))
    y, x = np.mgrid[:160, :160] / 160
    depth = np.where((x - 0.5) ** 2 + (y - 0.6) ** 2 < 0.05, 2 + y, 7 - 4 * y)  # a ball on a floor, in m
    for side in (32, 96, 240):
        gray = cv2.resize(photo, (side, side), interpolation=cv2.INTER_AREA)
        for noise in (0, 0.3):
            frames = np.clip(np.rint(gray + rng.normal(0, noise, (8, side, side))), 0, 255).astype(np.int64)
            assert (frames[1:] == frames[:-1]).mean() > 0.7
            assert channel_axis(frames[None]) == 1, (side, noise)
    for unit in (0.001, 0.03):
        assert channel_axis(np.stack([np.rint(depth / unit)] * 8)[None].astype(np.int64)) == 1, unit
        assert channel_axis(np.stack([np.rint(depth.T / unit)] * 8)[None].astype(np.int64)) == 1, unit
    assert channel_axis(np.stack([rng.integers(0, 4, (16, 16))] * 8)[None]) == 1  # an embedding's codes


def test_listed() -> None:
    assert listed([]) == "" and listed([3]) == "3" and listed(iter("abcdef")) == "a, b, c, d, e, f"
    assert listed(range(7)) == "0, 1, 2, 3, 4, 5, ..." and listed(range(10**12)) == "0, 1, 2, 3, 4, 5, ..."
    assert listed(range(3), 2) == "0, 1, ..." and listed(range(2), 2) == "0, 1"


def test_how_different_the_last_axis_has_to_be() -> None:
    """Means of 85 indices with a variance of `share` of the whole: 0.3 is asked, and twice what axis 1 has."""
    rng = np.random.default_rng(1)

    def output(last: float, first: float, rows: int = 400) -> np.ndarray:
        def means(n: int) -> np.ndarray:
            x = rng.normal(size=n)
            return (x - x.mean()) / x.std(ddof=1)

        noise = rng.normal(size=(1, rows, 85))
        rest = np.sqrt(max(1 - last - first, 0))
        return noise * rest + np.sqrt(last) * means(85) + np.sqrt(first) * means(rows)[:, None]

    for last, first, axis in (
        (0.4, 0.0, 2),
        (0.2, 0.0, 1),
        (0.6, 0.2, 2),
        (0.5, 0.4, 1),
        (0.4, 0.3, 1),
        (0.05, 0.0, 1),
    ):
        assert channel_axis(output(last, first)) == axis, (last, first)


def test_axes_too_short_to_compare() -> None:
    assert channel_axis(np.array([[[0.0, 1.0]]])) == 1  # one value of each index
    assert channel_axis(np.array([[[0.0], [5.0]]])) == 1  # one index
    two = np.array([[[0.0, 9.0], [0.1, 9.1]]])  # just enough of both
    assert channel_axis(two) == 2
