"""What a user of npu_layout may rely on, as lines of text: every public name with its signature, the same from every
Python. `python -m tests.public_face` writes them to public_face.txt, with which
tests/project/test_public_face.py compares them.

Public is what the modules below list in __all__, with the attributes, properties and methods of its classes that have
no underscore; not what overrides numpy's or Python's own. And the command line's verbs and options.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_suffix(".txt")
MODULES = ("", ".decode", ".streams", ".testing", ".exchange", ".kernels", ".ops", ".pytest_plugin", ".specs")


class Item(NamedTuple):
    """A public name, what it stands for, the class it belongs to, and its line."""

    name: str
    held: Any
    owner: type | None
    line: str

    @property
    def function(self) -> Any:
        """What is called; None where nothing is."""
        if isinstance(self.held, (staticmethod, classmethod)):
            return self.held.__func__
        if isinstance(self.held, type) and not constructed(self.held):
            return None
        return self.held if callable(self.held) and not is_annotation(self.held) else None


def modules() -> list[Any]:
    return [importlib.import_module(f"npu_layout{name}") for name in MODULES]


def written_here(cls: type) -> list[type]:
    return [c for c in cls.__mro__ if c.__module__.split(".")[0] == "npu_layout"]


def constructed(cls: type) -> bool:
    return any(name in vars(c) for c in written_here(cls) for name in ("__init__", "__new__"))


def is_annotation(held: Any) -> bool:
    return isinstance(held, str) or hasattr(held, "__forward_arg__")


def members(cls: type) -> dict[str, Any]:
    """{name: what the class holds, or its annotation}, in the order of names."""
    outside = {name for base in cls.__mro__[:-1] if base not in written_here(cls) for name in dir(base)}
    found: dict[str, Any] = {}
    for c in reversed(written_here(cls)):
        functions = {n: held for n, held in vars(c).items() if callable(held) or hasattr(held, "__get__")}
        fields = getattr(c, "__annotations__", {})
        found.update({n: held for n, held in functions.items() if n not in fields} | fields)
    public = (n for n in found if not n.startswith("_") or n == "__call__")
    return {name: found[name] for name in sorted(public) if name not in outside}


def spelt(annotation: Any) -> str:
    """An annotation as the source has it."""
    return str(getattr(annotation, "__forward_arg__", annotation))


def signature(function: Any, bound: bool = False) -> str:
    """``(a, b: int = 1) -> str``; without the first parameter where it is bound."""
    said = inspect.signature(function)
    parts: list[str] = []
    before: Any = None
    for p in list(said.parameters.values())[bound:]:
        if before == p.POSITIONAL_ONLY != p.kind:
            parts.append("/")
        if p.kind == p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            parts.append("*")
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        text += "" if p.annotation is p.empty else f": {spelt(p.annotation)}"
        text += "" if p.default is p.empty else f" = {p.default!r}"
        parts.append(text)
        before = p.kind
    if before == inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    returned = "" if said.return_annotation in (said.empty, None) else f" -> {spelt(said.return_annotation)}"
    return f"({', '.join(parts)}){returned}"


def of_class(cls: type) -> str:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    return (signature(cls).replace(" -> None", "") if constructed(cls) else "") + (f", a {bases}" if bases else "")


def of_member(held: Any) -> str:
    if is_annotation(held):
        return f": {spelt(held)}"
    getter = held.fget if isinstance(held, property) else getattr(held, "func", None)
    if getter:
        return f": {spelt(inspect.signature(getter).return_annotation)}, read-only"
    if isinstance(held, staticmethod):
        return signature(held.__func__)
    return signature(held.__func__ if isinstance(held, classmethod) else held, bound=True)


def items() -> Iterator[Item]:
    for module in modules():
        for name in sorted(module.__all__):
            held, at = getattr(module, name), f"{module.__name__}.{name}"
            if inspect.ismodule(held):
                yield Item(at, held, None, f"{at}, a module")
            elif isinstance(held, type):
                yield Item(at, held, None, at + of_class(held))
                for member, what in members(held).items():
                    yield Item(f"{at}.{member}", what, held, f"{at}.{member}{of_member(what)}")
            else:
                yield Item(at, held, None, at + (signature(held) if callable(held) else f": {type(held).__name__}"))


def verbs() -> Iterator[str]:
    from npu_layout.cli.command import parser

    for action in parser()._actions:
        for verb, one in (action.choices or {}).items() if isinstance(action, argparse._SubParsersAction) else ():
            said = ["/".join(a.option_strings) or str(a.metavar or a.dest) for a in one._actions if a.dest != "help"]
            yield " ".join(["npu-layout", verb, *said])


def lines() -> list[str]:
    return [*(item.line for item in items()), *verbs()]


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(lines())} lines")
