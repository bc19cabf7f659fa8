"""Read objects that are points of maps: CenterNet's heat, sizes and offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, one_of, real_number
from ..decoders.decoder import MOST, Decoder
from ..heads.batches import one_image
from ..heads.form import ACTIVATIONS
from ..heads.records import count_of
from ..results.detections import Detections
from ..zoo.detectors import centernet_head


@checked_call
def centernet(
    specs: Mapping[str, TensorSpec],
    buffers: Mapping[str, Any],
    confidence: float = 0.3,
    limit: int = 100,
    *,
    stride: int = 4,
    activation: str = "none",
) -> Detections:
    """Return the detections of CenterNet: cells whose score no neighbour exceeds, with a size and an offset.

    A cell is dropped only if one of its eight neighbours has a larger score (xingyizhou/CenterNet,
    src/lib/models/decode.py). Each call makes a Decoder of `centernet_head`: for many inputs make one yourself.

    Parameters
    ----------
    specs
        TensorSpecs in any layout and dtype, by these names: "heat", the scores (1, classes, H, W); "size" (1, 2, H, W),
        width and height in cells; "offset" (1, 2, H, W), x and y of the centre in its cell, in cells. Without "offset"
        centres are in the middle of cells.
    buffers
        The stored outputs, by the same names.
    confidence
        The least score.
    limit
        The largest number of detections to return, 1 to 30,000: the best ones.
    stride
        Pixels of the input from one cell to the next.
    activation
        What to apply to the scores: "none" (the sigmoid is in the graph) or "sigmoid".

    Returns
    -------
    New Detections in pixels of the input, the best first; of equal scores the lower class, then the first cell.

    Raises
    ------
    NpuLayoutError
        If an output is missing, no stored value reaches `confidence`, or another argument is wrong.
    LayoutError
        If outputs have other axes or extents.
    BufferSizeError
        If a buffer has another size than its spec.

    Examples
    --------
    >>> specs = {name: TensorSpec((1, n, 4, 4)) for name, n in (("heat", 1), ("size", 2))}
    >>> heat, size = np.zeros((1, 1, 4, 4), np.float32), np.full((1, 2, 4, 4), 2, np.float32)
    >>> heat[0, 0, 1, 2] = 0.9
    >>> centernet(specs, {"heat": heat.ravel(), "size": size.ravel()}).xyxy.tolist()
    [[6.0, 2.0, 14.0, 10.0]]
    """
    least, most, stride = real_number("confidence", confidence), count_of("limit", limit), count_of("stride", stride)
    one_of("activation", activation, ACTIVATIONS[:2])
    _check_names("specs", specs, ("heat", "size"))
    roles = {"heat": "score", "size": "box", "offset": "offset"}
    outputs = {role: [name] for name, role in roles.items() if name in specs}
    _check_names("buffers", buffers, [name for (name,) in outputs.values()])
    classes, rows, columns = one_image("specs['heat']", specs["heat"], "centernet")
    for (name,) in outputs.values():
        _checkone_image(name, specs[name], (classes if name == "heat" else 2, rows, columns))
    head = centernet_head(classes, stride, activation=activation)
    given = [specs[name].replace(name=name) for (name,) in outputs.values()]
    decoder = Decoder(head, given, (rows * stride, columns * stride), outputs=outputs)
    found = decoder({spec.name: buffers[spec.name] for spec in given}, least, limit=MOST)
    return found[np.lexsort((found.cell, found.class_id, -found.confidence))[:most]]


def _check_names(what: str, given: Any, names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(given, Mapping) or name not in given:
            got = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
            raise NpuLayoutError(f"{what}: expected {{name: ...}} with {name!r}, got {got or 'none'}")


def _checkone_image(name: str, spec: Any, expected: tuple[int, int, int]) -> None:
    """Raise LayoutError if an output has other extents, or axes in an order that a Decoder does not read."""
    got = one_image(f"specs[{name!r}]", spec, "centernet")
    if got != expected:
        raise LayoutError(f"specs[{name!r}]: expected {expected} as the heat, got {got}")
    if spec.axes.replace("C", "") != "NHW" or spec.axes.index("C") == 2:
        raise LayoutError(f"specs[{name!r}]: {spec.describe()}: expected channels before or after rows and columns")
