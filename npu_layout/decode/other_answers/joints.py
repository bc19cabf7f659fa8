"""Read the joints of one person, one hand or one face: heatmaps, vectors, and numbers for each point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import check_used, checked_call, flag, naming, one_of, real_number, shown, whole_number, widened
from ..arithmetic.activations import activated
from ..heads.form import ACTIVATIONS, UNITS
from ..heads.records import height_and_width, items
from .answers import checked_spec

_IMAGE = frozenset("NCHW")
_WIDEST = 255  # cells of the Gaussian of "dark"


@checked_call
def landmarks(
    spec: TensorSpec,
    buffer: Any,
    input_shape: Sequence[int] | None = None,
    *,
    values: int = 3,
    scores: int = 0,
    unit: str = "pixel",
    yx: bool = False,
    activation: str = "none",
) -> np.ndarray:
    """Return points whose coordinates are the output itself: MoveNet, MediaPipe's hands, faces and poses, PFLD.

    Parameters
    ----------
    spec, buffer
        The output as stored, in any layout and dtype, and its spec: `values` numbers for each point, one point after
        the other. If there are several axes, the first is that of images.
    input_shape
        Height and width of the network's input in pixels; needed if `unit` is "input".
    values
        How many numbers a point has: x, y, and others. MoveNet has 3 (with a score), MediaPipe's hands and faces 3
        (z), its poses 5 (z, visibility, presence), PFLD 2.
    scores
        To how many of a point's numbers, the last ones, `activation` is applied: 2 for MediaPipe's poses. With 0 an
        `activation` is refused.
    unit
        The unit of x and y: "pixel", or "input" if the whole input is 1 (MoveNet, PFLD).
    yx
        Whether y comes before x (MoveNet).
    activation
        What to apply to the last `scores` numbers of each point: "none" or "sigmoid".

    Returns
    -------
    float32 (N, points, values), a new array: x, y in pixels of the network's input, then the other numbers.
    `Geometry.points_to_frame` maps x, y into the frame.

    Raises
    ------
    NpuLayoutError
        If an argument is wrong.
    LayoutError
        If the output is no whole number of points.
    BufferSizeError
        If the buffer has another size than its spec.

    Examples
    --------
    >>> spec = TensorSpec((1, 1, 2, 3), "NHWC")  # MoveNet has 17 points of y, x and score
    >>> stored = np.float32([0.25, 0.5, 0.9, 0.5, 0.75, 0.8])
    >>> landmarks(spec, stored, (192, 192), unit="input", yx=True)[0, 1].round(2).tolist()
    [144.0, 96.0, 0.800...]
    """
    given = checked_spec("landmarks", spec)
    each, last = whole_number("values", values), whole_number("scores", scores)
    if each < 2 or not 0 <= last <= each - 2:
        raise NpuLayoutError(
            f"values, scores: expected 2 or more numbers, of which x and y are no scores, got {shown(values)} and "
            f"{shown(scores)}"
        )
    one_of("unit", unit, UNITS[1:])
    one_of("activation", activation, ACTIVATIONS[:2])
    if unit == "input" and input_shape is None:
        raise NpuLayoutError("input_shape: expected height and width, of which x and y are shares (unit='input')")
    if not last:
        check_used("activation", activation, "none", "without scores=, the number of those that get it")
    images = given.shape[0] if len(given.shape) > 1 else 1
    count = int(np.prod(given.shape[1:] if len(given.shape) > 1 else given.shape))
    if count % each or not count:
        raise LayoutError(
            f"landmarks: {given.describe()}: expected a multiple of {shown(each)} (values) numbers, got {count}"
        )
    real = widened(given.unpack(buffer).reshape(images, -1, each))
    if flag("yx", yx):
        real[..., :2] = real[..., 1::-1].copy()
    if unit == "input":
        real[..., :2] *= height_and_width(input_shape)[::-1]
    if last:
        real[..., each - last :] = activated(activation, real[..., each - last :])
    with np.errstate(over="ignore"):
        return real.astype(np.float32)


@checked_call
def heatmap_points(
    spec: TensorSpec,
    buffer: Any,
    *,
    stride: float | Sequence[float] = 4.0,
    shift: str | None = "quarter",
    blur: int = 11,
) -> np.ndarray:
    """Return the joints in the heatmaps of one person's crop: HRNet, SimpleBaseline, ViTPose.

    Each joint is in the cell of its map with the greatest value, the first of equal ones. `shift` says how it is then
    moved by parts of a cell. The pixel is this place times `stride`, as in the making of the maps for training. For
    networks that were trained with UDP (ViTPose, and HRNet's configurations with udp in their names) the first and the
    last cell are the first and the last pixel: for 192x256 pixels and 48x64 cells `stride` is (191 / 47, 255 / 63), and
    4 is up to 3 pixels off.

    Parameters
    ----------
    spec, buffer
        The heatmaps as stored, in any layout and dtype, and their spec: the axes N, C, H and W in any order.
    stride
        Pixels of the input from one cell to the next; or two numbers, in x and in y.
    shift
        "quarter": by a quarter of a cell in x and in y towards the greater neighbour; joints in the first two rows or
        columns and in the last one stay, as in microsoft/human-pose-estimation.pytorch, lib/core/inference.py. "dark":
        to the peak of a parabola, by a step of Newton's method on the logarithm of the blurred map (Zhang et al.,
        "Distribution-Aware Coordinate Representation for Human Pose Estimation", 2020; open-mmlab/mmpose,
        mmpose/codecs/utils/refinement.py, refine_keypoints_dark_udp); a step that ends more than a cell outside the
        map, as infinite values cause, is not made. None: not at all.
    blur
        The width in cells of the Gaussian of "dark", an odd number: 11 for maps that were made with a sigma of 2, 17
        with 3. With another `shift` it is refused.

    Returns
    -------
    float32 (N, joints, 3), a new array: x, y in pixels of the network's input, and the greatest value; x, y are NaN
    where that value is 0 or less. `Geometry.points_to_frame` maps x, y into the frame.

    Raises
    ------
    NpuLayoutError
        If `shift`, `stride` or `blur` is another.
    LayoutError
        If the output has other axes.
    BufferSizeError
        If the buffer has another size than its spec.

    Examples
    --------
    >>> maps = np.zeros((1, 1, 8, 8), np.float32)
    >>> maps[0, 0, 3, 4:6] = 1.0, 0.5
    >>> heatmap_points(TensorSpec(maps.shape), maps.ravel()).tolist()
    [[[17.0, 12.0, 1.0]]]
    """
    given = checked_spec("heatmap_points", spec)
    if set(given.axes) != _IMAGE:
        raise LayoutError(f"heatmap_points: {given.describe()}: expected the axes N, C, H and W, got {given.axes}")
    one_of("shift", shift, (*_SHIFTS, None))
    several = isinstance(stride, Sequence) or (isinstance(stride, np.ndarray) and stride.ndim > 0)
    steps = items("stride", stride, 2) if several else [stride] * 2
    step = np.array([real_number("stride", each, 0.0) for each in steps])
    width = whole_number("blur", blur)
    if not 1 <= width <= _WIDEST or width % 2 == 0:
        raise NpuLayoutError(f"blur: expected an odd number of cells, 1 .. {_WIDEST}, got {shown(blur)}")
    if shift != "dark":
        check_used("blur", width, 11, f"with shift={shift!r}; 'dark' blurs")
    maps = given.unpack(buffer).transpose([given.axes.index(letter) for letter in "NCHW"])
    n, c, _, w = maps.shape
    flat = _without_nan(maps.reshape(n, c, -1))
    best = flat.argmax(2)
    value = np.take_along_axis(flat, best[..., None], 2)[..., 0]
    y, x = np.divmod(best, w)
    result = np.stack([x, y, value], -1).astype(np.float64)
    if shift is not None:
        result[..., :2] += _SHIFTS[shift](maps, x, y, width)
    result[..., :2] *= step
    result[value <= 0, :2] = np.nan
    return result.astype(np.float32)


def _quarter(maps: np.ndarray, x: np.ndarray, y: np.ndarray, blur: int) -> np.ndarray:
    """Return how far joints move towards the greater neighbour, in cells."""
    h, w = maps.shape[2:]
    moves = np.zeros((*x.shape, 2))
    inner = (x > 1) & (x < w - 1) & (y > 1) & (y < h - 1)
    i, k = np.nonzero(inner)
    row, column = y[inner], x[inner]
    moves[i, k, 0] = 0.25 * _order(maps[i, k, row, column + 1], maps[i, k, row, column - 1])
    moves[i, k, 1] = 0.25 * _order(maps[i, k, row + 1, column], maps[i, k, row - 1, column])
    return moves


_LEAST, _MOST, _EPSILON = 1e-3, 50.0, float(np.finfo(np.float32).eps)  # as in the source of "dark"


def _dark_offsets(maps: np.ndarray, x: np.ndarray, y: np.ndarray, blur: int) -> np.ndarray:
    """Return how far joints move to the peak of a parabola through the logarithm of the blurred maps, in cells."""
    real = np.nan_to_num(widened(maps), nan=0.0, posinf=_MOST, neginf=0.0)
    smooth = _blurred(_blurred(real, blur, 2), blur, 3)
    peak, most = (np.maximum(v.max((2, 3), keepdims=True), 1e-12) for v in (real, smooth))
    logs = np.log(np.clip(smooth * (peak / most), _LEAST, _MOST))
    padded = np.pad(logs, ((0, 0), (0, 0), (1, 1), (1, 1)), "edge")
    i, k = np.indices(x.shape)

    def at(right: int, down: int) -> np.ndarray:
        value: np.ndarray = padded[i, k, y + 1 + down, x + 1 + right]
        return value

    middle = at(0, 0)
    slope = np.stack([at(1, 0) - at(-1, 0), at(0, 1) - at(0, -1)], -1) / 2
    xx, yy = (at(*to) - 2 * middle + at(*back) + _EPSILON for to, back in (((1, 0), (-1, 0)), ((0, 1), (0, -1))))
    xy = (at(1, 1) - at(1, 0) - at(0, 1) + 2 * middle - at(-1, 0) - at(0, -1) + at(-1, -1)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1 / (xx * yy - xy * xy)
        moves = np.stack([yy * slope[..., 0] - xy * slope[..., 1], xx * slope[..., 1] - xy * slope[..., 0]], -1)
        moves *= -scale[..., None]
    with np.errstate(invalid="ignore"):
        to = np.stack([x, y], -1) + moves
        moves[~((to >= -1) & (to <= maps.shape[:1:-1])).all(-1)] = 0  # no peak, or none of this map
    return moves


def _blurred(maps: np.ndarray, width: int, axis: int) -> np.ndarray:
    """Return maps after a Gaussian of `width` cells along an axis, with 0 beyond the edges."""
    half = width // 2
    sigma = 0.3 * (half - 1) + 0.8
    weights = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * sigma * sigma))
    beyond = [(half, half) if i == axis else (0, 0) for i in range(maps.ndim)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(maps, beyond), width, axis)
    blurred: np.ndarray = windows @ (weights / weights.sum())
    return blurred


_SHIFTS = {"quarter": _quarter, "dark": _dark_offsets}


def _order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1, -1 or 0: a is greater, b is, or neither. A difference of stored integers may have no room in them."""
    order: np.ndarray = (a > b).astype(np.int64) - (a < b)
    return order


def _without_nan(values: np.ndarray) -> np.ndarray:
    """Return values with -infinity for NaN."""
    known: np.ndarray = np.nan_to_num(values, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return known


@checked_call
def simcc_points(x: TensorSpec, x_buffer: Any, y: TensorSpec, y_buffer: Any, *, split: float = 2.0) -> np.ndarray:
    """Return the joints in the outputs of SimCC, which has two vectors for each joint: RTMPose.

    A joint's x is the index of the greatest value in its first vector, divided by `split`; y is that in the second. Its
    score is the lesser of the two values (open-mmlab/mmpose, mmpose/codecs/utils/post_processing.py,
    get_simcc_maximum).

    Parameters
    ----------
    x, x_buffer
        The spec and the stored output of the first vectors, (N, joints, width * split), in any layout and dtype.
    y, y_buffer
        The same of the second vectors, (N, joints, height * split).
    split
        The number of a vector's elements for each pixel of the input.

    Returns
    -------
    float32 (N, joints, 3), a new array: x, y in pixels of the network's input, and the score; x, y are NaN where the
    score is 0 or less.

    Raises
    ------
    NpuLayoutError
        If `split` is no number above 0.
    LayoutError
        If the outputs have other axes, or differ in images or joints.
    BufferSizeError
        If a buffer has another size than its spec.

    Examples
    --------
    >>> one = np.float32([0, 0, 1, 0, 0, 0])
    >>> simcc_points(TensorSpec((1, 1, 6), "NCW"), one, TensorSpec((1, 1, 6), "NCW"), one).tolist()
    [[[1.0, 1.0, 1.0]]]
    """
    step = real_number("split", split, 0.0)
    vectors = []
    for what, spec, buffer in (("x", x, x_buffer), ("y", y, y_buffer)):
        given = checked_spec(f"simcc_points: {what}", spec)
        if len(given.shape) != 3:
            raise LayoutError(f"simcc_points: {what}: {given.describe()}: expected three axes, N, joints and elements")
        with naming(f"{what}_buffer"):
            vectors.append(_without_nan(given.unpack(buffer)))
    if vectors[0].shape[:2] != vectors[1].shape[:2]:
        raise LayoutError(f"simcc_points: x has {vectors[0].shape[:2]} images and joints, y {vectors[1].shape[:2]}")
    score = np.minimum(*(v.max(2) for v in vectors))
    with np.errstate(over="ignore"):
        result = np.stack([*(v.argmax(2) / step for v in vectors), score], -1)
        result[score <= 0, :2] = np.nan
        return result.astype(np.float32)
