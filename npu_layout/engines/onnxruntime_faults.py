"""Where a version of onnxruntime computes wrongly on this processor, so that no reference is made of it.

On x86 with AMX, versions 1.21 to 1.24 multiply uint8 by int8 wrongly in matrices of many shapes (1.20 and 1.25 do not;
github.com/microsoft/onnxruntime/issues/26324). Activations of int8 become uint8 before they are multiplied.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from ..support import warn_caller

_WRONG, _RIGHT_AGAIN = (1, 21), (1, 25)
_CPUINFO = Path("/proc/cpuinfo")
_OPERATORS = (b"QLinearConv", b"QLinearMatMul", b"MatMulInteger", b"ConvInteger")


@cache
def _features() -> frozenset[str]:
    """Return what the processor can, as Linux names it; nothing where Linux does not say so."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split() for line in lines if line.startswith("flags")), ()))


def has_wrong_products(version: str) -> bool:
    """Whether products of uint8 and int8 are wrong in this version of onnxruntime, on this processor."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or "amx_int8" not in _features():
        return False
    return _WRONG <= tuple(map(int, numbers.groups())) < _RIGHT_AGAIN


def warn_of_products(where: str, source: str | bytes, version: str) -> None:
    """Warn of a model whose own operators multiply integers, if their products are wrong.

    Those that onnxruntime would put in the place of QuantizeLinear and DequantizeLinear can be left out instead.
    `source`: its path or bytes.
    """
    content = source if isinstance(source, bytes) else Path(os.fspath(source)).read_bytes()
    found = [name.decode() for name in _OPERATORS if name in content]
    if found:
        warn_caller(
            f"{where} has {', '.join(found)}: onnxruntime {version} multiplies uint8 by int8 wrongly on this machine, "
            f"which has AMX (microsoft/onnxruntime#26324); its answers may be far off. pip install 'onnxruntime>=1.25' "
            f"or 'onnxruntime==1.20.*', or export the model in QDQ format"
        )
