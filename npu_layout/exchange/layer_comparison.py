"""Compare two tools' dumps of a network layer by layer, and find the first layer that really differs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..errors import NpuLayoutError, RecordingError
from ..support import PathLike, checked_call, real_number, track, whole_numbers
from .layer_dumps import LayerDump, LayersLike, open_layers
from .layer_names import matched
from .layer_orders import StoredAs
from .layer_records import ComparedLayer, LayerComparison
from .layer_verdicts import UNORDERED, judged
from .layer_words import AllStored, some, worded
from .onnx_graph import GRAPH_INPUT, GraphTensor, graph_tensors

LEAST_DB = 10.0  # an error of less than a third of the values; a wrong layer is at 3 dB and less
_RECOVERED = 10.0  # dB above the limit: the error of a layer before it no longer counts
_FLOOR = 1e-6  # of the inputs' values: a smaller error is rounding, whatever the layer's own values are


@checked_call
def compare_layers(
    a: LayersLike, b: LayersLike, model: PathLike, *, min_snr_db: float = LEAST_DB, frame: int = 0
) -> LayerComparison:
    """Compare two dumps of a network's tensors, and name the first layer that really differs.

    A tensor is compared in the layout in which both dumps agree best: any order of the axes, or channels in blocks. So
    a layer is never reported because one tool flattens NCHW and the other NHWC, and two layouts that fit equally are no
    difference. Integers whose scale is not known are compared with real values by the scale and the zero point that fit
    best. A layer differs if its error is large, if only its mean agrees, or if one side alone has NaN or infinity. The
    first one is the first in topological order whose inputs do not differ.

    Parameters
    ----------
    a, b
        Each {name: array of any shape and dtype, or bytes}, or the path of an .npz, of a folder of .npy, .raw or .bin
        files, or of a folder or file of RKNN-Toolkit2's accuracy_analysis (or its golden, simulator or runtime folder),
        Qualcomm's net-run tools, AIMET, Polygraphy, ONNX test data, a recording, or raw dumps whose spec.json has their
        scales. `a` is the reference.
    model
        The path of the ONNX model: order, names and shapes of the tensors. Needs the onnx package.
    min_snr_db
        The signal-to-noise ratio in dB below which a layer differs. 10 dB is an error of a third of the values. Noise
        of 8 bits stays above it (30 to 45 dB in one layer, some less after many), a wrong layer stays below it (3 dB
        if it is unrelated). For two dumps in float16 or float32, 40 finds smaller mistakes.
    frame
        Which run is compared, counted from 0, in dumps of several.

    Returns
    -------
    A LayerComparison, true if no layer differs.

    Raises
    ------
    RecordingError
        If a dump or the model cannot be read, or they have no tensor in common.
    NpuLayoutError
        If an argument is wrong, or the onnx package is missing.

    Examples
    --------
    >>> import numpy as np, onnx, tempfile
    >>> from onnx import TensorProto, helper
    >>> ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 3, 4, 5)) for name in "xz"]
    >>> nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    >>> graph = helper.make_graph(nodes, "example", ports[:1], ports[1:])
    >>> path = tempfile.mkdtemp() + "/model.onnx"
    >>> onnx.save(helper.make_model(graph), path)
    >>> x = np.random.default_rng(0).standard_normal((1, 3, 4, 5))
    >>> a = {"x": x, "y": np.maximum(x, 0), "z": -np.maximum(x, 0)}
    >>> b = {"x": x.transpose(0, 2, 3, 1), "y": a["y"], "z": a["y"]}
    >>> compare_layers(a, b, path).first.name
    'z'
    """
    limit = real_number("min_snr_db", min_snr_db)
    (number,) = whole_numbers("frame", [frame], 1, 0)
    for what, given in (("a", a), ("b", b)):
        if not isinstance(given, (str, os.PathLike, Mapping)):
            raise NpuLayoutError(f"{what}: expected a path or {{name: array}}, got {type(given).__name__}")
    if not isinstance(model, (str, os.PathLike)):
        raise NpuLayoutError(f"model: expected the path of an ONNX model, got {type(model).__name__}")
    tensors = graph_tensors(model)
    dumps = [open_layers(a, number, "a"), open_layers(b, number, "b")]
    if number and not any(dump.numbered for dump in dumps):
        raise RecordingError(f"frame: expected 0, because neither dump has several runs, got {number}")
    names = [matched(tensors, dump.readers) for dump in dumps]
    layers, stored = _compared(tensors, dumps, names, limit)
    if not any(layer.verdict in ("same", "differs") and layer.op != GRAPH_INPUT for layer in layers):
        raise RecordingError(
            f"no tensor that {os.fspath(model)} computes is in both {dumps[0].where} and {dumps[1].where}; the model "
            f"has {some([t.name for t in tensors])}, they have {some(dumps[0].readers)} and {some(dumps[1].readers)}"
        )
    unknown = [tuple(n for n in d.readers if n not in {*known.values()}) for d, (known, _) in zip(dumps, names)]
    roots = _roots(layers, limit)
    first, why = roots[0] if roots else None, worded(layers, roots, limit, stored)
    return LayerComparison(layers, first, tuple(roots[1:]), why, unknown[0], unknown[1], limit)


def _compared(
    tensors: Sequence[GraphTensor],
    dumps: Sequence[LayerDump],
    names: Sequence[tuple[dict[str, str], dict[str, str]]],
    limit: float,
) -> tuple[tuple[ComparedLayer, ...], AllStored]:
    """Return every tensor of the model, compared if both dumps have it; and how these store each tensor."""
    found: dict[str, ComparedLayer] = {}
    stored: dict[str, tuple[StoredAs, StoredAs]] = {}
    powers: dict[str, float] = {}
    for tensor in track(tensors, len(tensors), "comparing"):
        inputs, skipped = _sources(tensor, found)
        known = [found[name].snr_db for name in inputs]
        least = min((db for db in known if db is not None), default=None)
        start = ComparedLayer(
            tensor.name, tensor.op, tensor.node, "missing", inputs_db=least, inputs=inputs, skipped=skipped
        )
        lacking = [side for side, (there, _) in zip("ab", names) if tensor.name not in there]
        if lacking:
            unclear = [f"{s}: {why[tensor.name]}" for s, (_, why) in zip("ab", names) if tensor.name in why]
            why = "; ".join(unclear) or f"not in {' and '.join(lacking)}"
            found[tensor.name] = start._replace(verdict="undecided" if unclear else "missing", why=why)
            continue
        a, b = (dump.readers[there[tensor.name]]() for dump, (there, _) in zip(dumps, names))
        floor = _FLOOR * max((powers[name] for name in inputs if name in powers), default=0.0) ** 0.5
        found[tensor.name], powers[tensor.name], both = judged(start, tensor, a, b, limit, floor)
        if both is not None:
            stored[tensor.name] = both
    return tuple(one._replace(skipped=()) if one.verdict == "missing" else one for one in found.values()), stored


def _sources(tensor: GraphTensor, found: Mapping[str, ComparedLayer]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the nearest tensors before this one that were compared, and those between that were not."""
    inputs: dict[str, None] = {}
    skipped: dict[str, None] = {}
    for name in tensor.inputs:
        layer = found[name]
        if layer.verdict in ("same", "differs"):
            inputs[name] = None
        else:
            skipped.update(dict.fromkeys((*layer.skipped, name)))
            inputs.update(dict.fromkeys(layer.inputs))
    return tuple(inputs), tuple(skipped)


def _roots(layers: Sequence[ComparedLayer], limit: float) -> list[ComparedLayer]:
    """Return the layers that differ and depend on none that does.

    What follows a layer that differs and is hardly better than the limit still depends on it.
    """
    spoilt: set[str] = set()
    unordered: set[str] = set()
    found = []
    for layer in layers:
        before = {*layer.inputs, *layer.skipped}
        if layer.verdict == "differs":
            if not before & spoilt and not before & unordered:
                found.append(layer)
            spoilt.add(layer.name)
        elif layer.verdict != "same" or (layer.snr_db is not None and layer.snr_db < limit + _RECOVERED):
            if before & spoilt:
                spoilt.add(layer.name)
            if before & unordered or (layer.verdict == "undecided" and layer.op in UNORDERED):
                unordered.add(layer.name)
    return found
