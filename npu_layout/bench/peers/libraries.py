"""Find the installed libraries, restrict their instruction set and set their number of threads."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from .registry import PEERS

# Environment variables, as each library documents them, that restrict what is imported afterwards to one of our
# instruction sets. Without features numba uses those of the processor named. Other libraries have no such switch.
_RESTRICTED: dict[str, dict[str, str]] = {
    "native (avx2)": {
        "OPENCV_CPU_DISABLE": "AVX512-SKX",
        "OPENCV_IPP": "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "",
    },
    "native (sse4)": {
        "OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX",
        "OPENCV_IPP": "sse42",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NUMBA_CPU_NAME": "penryn",
        "NUMBA_CPU_FEATURES": "",
    },
    "native (base)": {
        "OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX,SSE4.2,SSE4.1",
        "OPENCV_IPP": "disabled",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "",
    },
}


def installed() -> dict[str, str]:
    """Return the libraries that can be imported, and their versions."""
    found = {}
    names = {"cv2": "opencv-python", "PIL": "pillow", "kornia_rs": "kornia-rs"}
    for library in sorted({entry[0] for entries in PEERS.values() for entry in entries}):
        try:
            module = importlib.import_module(library)
        except Exception:  # a library that does not start counts as not installed
            continue
        try:
            found[library] = version(names.get(library, library))
        except PackageNotFoundError:  # installed as another one, such as opencv-python-headless
            found[library] = str(getattr(module, "__version__", "unknown"))
    return found


def restrict_to(active: str) -> list[str]:
    """Restrict cv2, numba and torch to the instruction set of the active kernels.

    Only those that are not imported yet can be restricted; returns their names.
    """
    known = active in _RESTRICTED and platform.machine() in ("x86_64", "AMD64")
    restricted = [name for name in ("cv2", "numba", "torch") if known and name not in sys.modules]
    if restricted:
        os.environ.update(_RESTRICTED[active])
    return restricted


_threads = 1


def threads() -> int:
    """Return the number of threads that peers may use."""
    return _threads


def use_threads(n: int) -> None:
    """Let every peer use `n` threads."""
    global _threads
    _threads = n
    import cv2

    cv2.setNumThreads(n)
    if "torch" in installed():
        import torch

        torch.set_num_threads(n)
