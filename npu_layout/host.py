"""Where npu_layout does not run: refused at import, with a sentence."""

import sys

if sys.byteorder != "little":
    raise ImportError(
        "npu_layout does not run on a big-endian machine: it reads and writes accelerators' buffers as little-endian"
    )

try:
    import numpy  # noqa: F401
except ImportError as error:
    if not any(words in str(error) for words in ("subinterpreters", "once per process")):
        raise
    raise ImportError(
        "npu_layout runs in the main interpreter only: numpy, which it needs, does not load in this sub-interpreter"
    ) from error
