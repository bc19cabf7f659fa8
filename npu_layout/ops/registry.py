"""Operators and their kernels as data: which function serves which memory format and dtype."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Callable, NamedTuple

import numpy as np

from ..buffers import kernel_name
from ..layouts import Shape

AXES = "NCHW"
GENERIC = "generic"
# The dtypes of the compiled loops, bool as uint8.
CORE = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "float16", "float32"))


class Kernel(NamedTuple):
    """A function that does an operator's work, and the arrays that it is made for.

    `run(x, out, order=..., **arguments)` accepts arrays with the logical axes and any strides (top_k: `run(x, values,
    channels)`, peaks: `run(x, threshold, radius)`). `pattern`: of the layout's tag, with the wildcards of fnmatch
    ("*HW*": H right before W); `dtypes`: of x, by name, None for all.
    """

    run: Callable[..., Any]
    name: str = GENERIC
    pattern: str = "*"
    dtypes: frozenset[str] | None = None

    def fits(self, tag: str, dtype: str) -> bool:
        """Return whether it serves arrays of the layout with this tag and of the dtype with this name."""
        return fnmatchcase(tag, self.pattern) and (self.dtypes is None or dtype in self.dtypes)


class OperatorKernels:
    """An operator's name and its kernels: the first that fits is used, so the last one has to fit every array.

    `argument` is what callers know its arrays as; as a string it is what messages begin with.

    Operators are compared and hashed by identity, because every call looks one up.
    """

    __slots__ = ("argument", "kernels", "name")

    def __init__(self, name: str, *kernels: Kernel, argument: str = "x") -> None:
        self.name, self.kernels, self.argument = name, kernels, argument

    def __str__(self) -> str:
        return f"{self.name}: {self.argument}"

    def chosen(self, tag: str, dtype: str) -> Kernel:
        """Return the kernel for arrays of a plain layout with the axes NCHW, by its tag, and a dtype, by its name."""
        return next(kernel for kernel in self.kernels if kernel.fits(tag, dtype))


@lru_cache(maxsize=1024)
def serving(operator: OperatorKernels, stored: Shape, dtype: np.dtype[Any]) -> Kernel:
    """Return the operator's kernel for arrays whose axes are stored in this order, outermost first."""
    return operator.chosen(tag_of(stored), kernel_name(dtype))


def tag_of(stored: Shape) -> str:
    """Return the tag of the layout that stores the axes NCHW in this order, outermost first."""
    return "".join(AXES[i] for i in stored)
