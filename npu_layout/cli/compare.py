"""npu-layout compare: compare two tools' dumps of a network, layer by layer."""

from __future__ import annotations

import argparse

from ..exchange import ComparedLayer, compare_layers
from . import console, files

_COLUMNS = ("layer", "operator", "verdict", "SNR dB", "inputs dB", "a", "b", "why")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    what = "a folder of .npy or .raw files, .npz, or a dump of RKNN-Toolkit2, Qualcomm's net-run, AIMET or Polygraphy"
    parser.add_argument("a", metavar="DUMPS_A", help=f"the reference: {what}")
    parser.add_argument("b", metavar="DUMPS_B", help="the dumps that are compared with it")
    parser.add_argument("--model", metavar="MODEL", required=True, help="the ONNX model, for the order of the layers")
    parser.add_argument("--min-snr-db", type=float, metavar="NUMBER",
                        help="least signal-to-noise ratio of a layer in dB (default: 10)")  # fmt: skip
    parser.add_argument(
        "--frame", type=int, default=0, metavar="N", help="number of the input, if the dumps have several (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the layers and the first one that differs; return 0 if none does, else 1."""
    limit = {} if options.min_snr_db is None else {"min_snr_db": options.min_snr_db}
    found = compare_layers(
        options.a, options.b, files.checked_file("--model", options.model), frame=options.frame, **limit
    )
    if options.json:
        console.show_json({"command": options.command, **found.to_dict()})
    else:
        console.table(_COLUMNS, (_row(layer) for layer in found.layers if layer.verdict != "missing"))
        console.show(str(found))
    return 0 if found else 1


def _row(layer: ComparedLayer) -> tuple[str, ...]:
    figures = ("" if db is None else f"{db:.1f}" for db in (layer.snr_db, layer.inputs_db))
    return (layer.name, layer.op, layer.verdict, *figures, layer.layout_a, layer.layout_b, layer.why)
