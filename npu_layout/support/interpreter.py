"""Refuse to import on a machine or in an interpreter that npu_layout does not support."""

from __future__ import annotations

import sys


def _is_main_interpreter() -> bool:
    try:
        import ctypes
    except ImportError as error:  # Python 3.12 has it in the main interpreter only
        return "subinterpreters" not in str(error)
    python = ctypes.PyDLL(None)
    python.PyInterpreterState_Get.restype = ctypes.c_void_p
    number = python.PyInterpreterState_GetID
    number.argtypes, number.restype = [ctypes.c_void_p], ctypes.c_int64
    return bool(number(python.PyInterpreterState_Get()) == 0)


if sys.byteorder != "little":
    raise ImportError(
        "npu_layout does not run on a big-endian machine: it reads and writes accelerators' buffers as little-endian"
    )
# In another interpreter numpy does not load a second time, and opencv-python waits forever.
if not _is_main_interpreter():
    raise ImportError("npu_layout runs in the main interpreter only: numpy and opencv-python do not support others")
