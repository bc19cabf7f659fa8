"""Read which execution providers onnxruntime is asked for, and refuse a session that goes on without one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

from ..errors import NpuLayoutError
from ..support import shown, text_keys

CPU = "CPUExecutionProvider"
Providers = Union[str, Sequence[Union[str, tuple[str, Mapping[str, Any]]]]]


def asked_for(providers: Any) -> list[tuple[str, dict[str, str]]]:
    """Return (name, options) of each provider, the CPU's last, for operators that the others do not have.

    NpuLayoutError on what is neither a name nor a pair of a name and a mapping, and on names that are given twice.
    """
    if providers is None:
        return [(CPU, {})]
    several = [providers] if isinstance(providers, (str, tuple)) else providers
    if not isinstance(several, list):
        raise _unexpected(providers)
    found: dict[str, dict[str, str]] = {}
    for one in several:
        name, options = one if isinstance(one, tuple) and len(one) == 2 else (one, {})
        if not isinstance(name, str) or not name or not isinstance(options, Mapping) or name in found:
            raise _unexpected(one)
        found[name] = {key: str(value) for key, value in text_keys(f"providers: options of {name}", options).items()}
    if not found:
        raise _unexpected(providers)
    found.setdefault(CPU, {})
    return list(found.items())


def _unexpected(given: Any) -> NpuLayoutError:
    return NpuLayoutError(
        f"providers: expected a name, as 'TIDLExecutionProvider', or a list of names and of pairs (name, options), "
        f"each name once, got {shown(given)}"
    )


def check_available(model: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise NpuLayoutError if this onnxruntime lacks a provider."""
    for name in names:
        if name not in known:
            raise NpuLayoutError(
                f"{model}: providers: this onnxruntime has no {name}, it has {', '.join(known)}; install the vendor's "
                f"build of onnxruntime, or import the package that registers it (as spacemit_ort does) before"
            )


def check_used(model: str, names: Sequence[str], used: Sequence[str]) -> None:
    """Raise NpuLayoutError if a session does without a provider, as onnxruntime does if that cannot be started."""
    for name in names:
        if name not in used:
            raise NpuLayoutError(
                f"{model}: providers: onnxruntime could not start {name} and would run on {', '.join(used)}; what it "
                f"printed says why"
            )
