"""Make a TensorSpec from the description of a tensor in a Luxonis NN Archive."""

from __future__ import annotations

from typing import Any

from ..buffers import TensorSpec, axes_of_rank
from ..errors import LayoutError
from ..layouts import Layout
from .metadata import Metadata, check_axes, dtype_of, text

_DTYPES = {
    "BOOLEAN": "bool",
    **{f"{sign}INT{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    **{f"FLOAT{bits}": f"float{bits}" for bits in (16, 32, 64)},
}
_PLANES = {"p": "planar", "i": "interleaved"}


def from_nnarchive(tensor: Any) -> TensorSpec:
    """Return the spec of an input or output of an NN Archive's config.json: dense, in the order of its layout.

    Parameters
    ----------
    tensor
        An item of model.inputs or model.outputs in config.json, or depthai's object for it: name, dtype, shape, layout
        (a letter for each dimension; without it the axes are N, NC, NCW, NCHW or NCDHW, with a warning if channels are
        last by the look of the shape), and for images input_type and preprocessing with dai_type (github.com/luxonis/
        depthai-core, include/depthai/nn_archive/v1/Input.hpp, Output.hpp and PreprocessingBlock.hpp).

    Returns
    -------
    TensorSpec with the axes of the layout. It has no `channels`: dai_type is the order of colours that the ONNX model
    reads, by which DepthAI sets up its pipeline; give that order to Preprocessor as `color`. The spec has no mean and
    scale either.

    Raises
    ------
    NpuLayoutError
        On a missing field (old archives have no shape of outputs) and an unknown dtype; LayoutError if layout, shape
        and dai_type contradict each other.

    Examples
    --------
    >>> preprocessing = dict(mean=[0, 0, 0], scale=[255, 255, 255], dai_type="RGB888p")
    >>> image = dict(name="image", dtype="uint8", input_type="image", shape=[1, 3, 8, 6], layout="NCHW")
    >>> from_nnarchive({**image, "preprocessing": preprocessing})
    TensorSpec((1, 3, 8, 6), 'NCHW', 'uint8', name='image')
    """
    given = Metadata("NN Archive tensor", tensor)
    name = given.read("name", text, "")
    what = f"NN Archive tensor {name!r}"
    shape = given.extents("shape")
    dtype = dtype_of("NN Archive tensor dtype", given.field("dtype"), (), _DTYPES)
    layout = given.field("layout", None)
    axes = axes_of_rank(what, shape, "the tensor a layout 'NHWC'") if layout is None else str(layout).upper()
    check_axes(what, f"layout {layout}", axes, len(shape), f"shape {shape}")
    spec = TensorSpec(shape, Layout.plain(axes), dtype, name=name)
    block = given.part("preprocessing")
    kind = None if block is None else block.field("dai_type", block.field("daiType", None))
    if kind is not None:
        _check_planes(spec, what, str(kind))
    return spec


def _check_planes(spec: TensorSpec, what: str, kind: str) -> None:
    """Raise LayoutError if an image of a dai_type is laid out otherwise than the type says."""
    order = _PLANES.get(kind[-1:])
    if order is None or kind[:3] not in ("RGB", "BGR") or "C" not in spec.axes:
        return
    found = "interleaved" if spec.axes.endswith("C") else "planar"
    if found != order:
        raise LayoutError(f"{what}: dai_type {kind} is {order}, but layout {spec.axes} is {found}")
    channels = spec.shape[spec.axes.index("C")]
    if channels != 3:
        raise LayoutError(
            f"{what}: dai_type {kind} has 3 channels, but shape {spec.shape} ({spec.axes}) has {channels}"
        )
