"""npu-layout identify: find the layout and the dtype of a buffer from the tensor that it encodes."""

from __future__ import annotations

import argparse
import os

from ..buffers import element, kernel_name
from ..diagnosis import identify
from ..errors import NpuLayoutError
from ..support import naming
from . import console, files, words


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("buffer", metavar="BUFFER", help="the accelerator's bytes: a raw file, or .npy")
    parser.add_argument("reference", metavar="REFERENCE.npy", help="the tensor that they encode, as the model has it")
    parser.add_argument("--axes", help="letters of the reference's axes (default: NCHW and the like, by rank)")
    parser.add_argument(
        "--dtype", type=words.dtype, help="dtype of the buffer's elements, if it is known (default: try all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the ranking; return 0 if a spec is identified, else 1."""
    dtype = None if options.dtype is None else _numpy_dtype(options.dtype)
    if options.buffer.endswith(".npy") and os.path.isfile(options.reference) and not options.reference.endswith(".npy"):
        raise NpuLayoutError(f"{options.reference}: expected the tensor (.npy); the buffer comes before it")
    found = identify(files.buffer_in(options.buffer, dtype), files.array_in(options.reference), axes=options.axes)
    if options.json:
        console.show_json(
            {
                "spec": None if found.spec is None else found.spec.to_dict(),
                "why": found.why,
                "ranking": [{"score": h.score, "spec": h.spec.to_dict()} for h in found.ranking],
            }
        )
    else:
        console.table(("score dB", "spec"), ((f"{h.score:.1f}", h.spec) for h in found.ranking[:10]))
        console.show(f"{found.spec or 'not identified'}: {found.why}")
    return 0 if found else 1


def _numpy_dtype(name: str) -> str:
    """Return numpy's name of the elements that a buffer of this dtype has; a foreign byte order stays."""
    with naming("--dtype"):
        kind = element(name)
    if kind.nibbles:
        raise NpuLayoutError(f"--dtype {name}: elements of 4 bits are not looked for")
    return kernel_name(kind.buffer)
