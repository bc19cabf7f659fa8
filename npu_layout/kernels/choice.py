"""Choose which kernels run: the compiled ones at one of this machine's instruction sets, or numpy and OpenCV."""

from __future__ import annotations

import os
import warnings
from typing import Any

from .fallback.checks import whole


def _wanted() -> str:
    wanted = os.environ.get("NPU_LAYOUT_KERNELS", "auto")
    if wanted not in ("auto", "native", "numpy"):
        raise ImportError(f"NPU_LAYOUT_KERNELS={wanted!r}: expected auto, native or numpy")
    return wanted


def _prepare(core: Any) -> None:
    """Set what the core needs of this machine: the size of its last cache, and the default number of threads."""
    core.ask_for_the_last_cache()
    core.ask_how_to_store()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    core.set_threads(min(4, cores))


# Chosen at import, once for the process, so that a wrong choice fails here. This is an import statement because Python
# calls functions of an imported name faster than those of an assigned one (30 ns).
core: Any = None
answer_core: Any = None
if _wanted() != "numpy":
    try:
        from . import native as core
        from . import native_answers as answer_core  # for answers.py
    except ImportError as error:
        if _wanted() == "native":
            raise ImportError(
                "NPU_LAYOUT_KERNELS=native, but npu_layout was installed without its compiled kernels; install it "
                "again, with pip's --no-cache-dir, once there are a C compiler and Python's headers (Debian, Ubuntu: "
                "apt install gcc python3-dev)"
            ) from error
    if core is not None and not core.LEVELS:
        _why = (
            f"the kernels of npu_layout were compiled for {' and '.join(core.COMPILED)} alone (NPU_LAYOUT_LEVELS), "
            "which this machine lacks or NPU_LAYOUT_DISABLE turns off; install npu_layout again without "
            "NPU_LAYOUT_LEVELS, with pip's --no-cache-dir"
        )
        if _wanted() == "native":
            raise ImportError(f"NPU_LAYOUT_KERNELS=native, but {_why}")
        warnings.warn(f"{_why}; until then numpy does the work", RuntimeWarning, stacklevel=2)
        core = answer_core = None
    elif core is not None:
        _prepare(core)

# {name of a backend: its level of the core, or None for numpy}; under None is the level of the active one.
LEVELS: dict[str | None, str | None] = {f"native ({level})": level for level in (core.LEVELS if core else ())}
LEVELS["numpy"] = None
_NAMES = [*filter(None, LEVELS)]
_active = _NAMES[0]
LEVELS[None] = LEVELS[_active]


def active() -> str:
    """Return which kernels are in use: ``native (avx2)``, with the instruction set, or ``numpy`` (with OpenCV)."""
    return _active


def activate(name: str) -> None:
    """Use the kernels `name`, one of `backends`, for calls that name none; made for tests and measurements.

    Plans and Preprocessors that exist already keep the kernels of their first call, and so do `repack`, `to_gray` and
    other functions for forms of arrays that they have met; the results of these have the same bits.
    """
    global _active
    LEVELS[None], _active = LEVELS[name], name


def backends() -> list[str]:
    """Return the names of all kernels that this machine can run, as of `active`: native, best first, then numpy."""
    return [*_NAMES]


def get_num_threads() -> int:
    """Return how many threads a call of the compiled kernels may use; the fallback uses those of cv2.getNumThreads."""
    return 1 if core is None else int(core.get_threads())


def set_num_threads(n: int) -> None:
    """Let a call of the compiled kernels use up to `n` threads, 64 at most.

    Without this function it is the number of cores that the process may use, 4 at most. One call at a time uses these
    threads: a call that runs meanwhile uses the caller's thread alone, as does a call that moves less than half a
    megabyte. Threads start when they are first needed, and sleep in between. Raises ValueError if `n` is below 1 or no
    whole number (which is a TypeError too).
    """
    if (count := whole("n", n)) < 1:
        raise ValueError(f"threads: n: expected 1 or more, got {n}")
    if core is not None:
        core.set_threads(min(count, 64))
