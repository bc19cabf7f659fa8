"""Read a head from the command line: a function of npu_layout.decode with its arguments, or a JSON file."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path

from .. import decode
from ..decode import Head
from ..errors import NpuLayoutError
from ..support import nearest

HELP = "what the outputs mean: 'yolov8(classes=80)', as in npu_layout.decode, or a JSON file of Head.to_dict()"

_DOORS = ("decode.", "nl.decode.", "npu_layout.decode.")  # what scripts write before a head


def head_of(text: str) -> Head:
    """Read a head: a JSON file of Head.to_dict(), or a function of npu_layout.decode, as ``yolov8(classes=80)``."""
    call = next((text[len(door) :] for door in _DOORS if text.startswith(door)), text)
    name, _, rest = call.partition("(")
    functions = _heads()
    if name in functions and (not rest or rest.endswith(")")) and not os.path.isfile(text):
        return _called(call, functions[name])
    if not text.endswith(".json") and not os.path.exists(text):
        raise NpuLayoutError(
            f"--head {text}: expected a JSON file of Head.to_dict(), or a head with its arguments, as "
            f"'yolov8(classes=80)'; heads are {', '.join(functions)}{nearest(name, functions)}"
        )
    return _head_in(text)


def _heads() -> dict[str, Callable[..., Head]]:
    """Return the functions of npu_layout.decode that make a head."""
    every = {name: getattr(decode, name) for name in decode.__all__}
    return {name: f for name, f in every.items() if getattr(f, "__annotations__", {}).get("return") == "Head"}


def _called(text: str, function: Callable[..., Head]) -> Head:
    """Return what a call with literal arguments gives: ``yolov8(80, activation='sigmoid')``. Nothing is evaluated."""
    try:
        call = ast.parse(text if text.endswith(")") else f"{text}()", mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        positional = [ast.literal_eval(node) for node in call.args]
        named = {str(node.arg): ast.literal_eval(node.value) for node in call.keywords}
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        raise NpuLayoutError(
            f"--head {text}: expected a head with numbers, texts and lists, as 'yolov8(80, activation=\"sigmoid\")'"
        ) from None
    try:
        return function(*positional, **named)
    except NpuLayoutError as error:
        raise NpuLayoutError(f"--head {text}: {error}") from None


def _head_in(path: str) -> Head:
    """Read a head from a JSON file: what Head.to_dict() returns."""
    try:
        return Head.from_dict(json.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        raise NpuLayoutError(f"{path}: {error.strerror or error}") from None
    except NpuLayoutError as error:
        raise NpuLayoutError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise NpuLayoutError(f"{path}: not JSON ({error})") from None
