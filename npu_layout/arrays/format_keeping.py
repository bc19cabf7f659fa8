"""Which of numpy's functions and methods return an array with the axes of the one given, so that its format applies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_REDUCTIONS = "all any argmax argmin max mean min prod ptp std sum var"
_KEEPING = frozenset(
    f"""{_REDUCTIONS} amax amin average count_nonzero median nanargmax nanargmin nanmax nanmean nanmedian nanmin nanprod
    nanstd nansum nanvar norm vector_norm matrix_norm argsort around astype clip cumprod cumsum flip fliplr flipud
    nan_to_num round sort where""".split()
)
_QUANTILES = frozenset(["percentile", "quantile", "nanpercentile", "nanquantile"])  # several add an axis
# The position of the argument order; subok comes next.
_ORDERED = {"copy": 1, "empty_like": 2, "ones_like": 2, "zeros_like": 2, "full_like": 3}
# ndarray's methods that Tensor replaces: those that return this format, and those that return a plain array.
KEEPING_METHODS = f"{_REDUCTIONS} argsort byteswap clip conj conjugate cumprod cumsum round"
PLAIN_METHODS = """argpartition choose compress diagonal dot flatten getfield newbyteorder nonzero ravel repeat reshape
searchsorted squeeze swapaxes take trace transpose"""


def is_argument(result: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether the result is one of the arguments, such as out=."""
    return any(result is x for x in (*args, *kwargs.values()))


def may_keep(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether a result with as many axes as the Tensor has the same axes, so that the format applies to it."""
    if name in _QUANTILES:
        return bool(kwargs.get("keepdims"))
    if name not in _ORDERED:
        return name in _KEEPING
    options = dict(zip(("order", "subok"), args[_ORDERED[name] :]), **kwargs)
    return options.get("order", "K") in (None, "K") and bool(options.get("subok", True))
