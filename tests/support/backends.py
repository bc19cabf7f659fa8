"""A decoder with each of this machine's kernels, and with numpy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npu_layout import decode, kernels
from npu_layout.decode.decoders.decoder import use_backend


def decoders(*arguments: Any, **more: Any) -> Iterator[decode.Decoder]:
    """A decoder with each of this machine's kernels."""
    for backend in kernels.backends():
        decoder = decode.Decoder(*arguments, **more)
        assert decoder._made is not None
        use_backend(decoder, backend)
        assert (decoder._work.detector is None) == (backend == "numpy")
        yield decoder
