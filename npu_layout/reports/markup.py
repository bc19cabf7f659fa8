"""Build HTML in which all text is escaped, and documents that load nothing."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from importlib import resources
from typing import Union

# What HTML cannot contain: controls other than tab and line ends, lone surrogates, non-characters.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_VOID = {"img", "meta"}


class Html(str):
    """Markup; any other string is text."""

    __slots__ = ()


#: What an element may contain: markup, text, a number; None is left out.
Child = Union[Html, str, float, None]


def escaped(text: str | float) -> Html:
    """Return markup that shows `text`; what is Html stays."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(_UNFIT.sub("\ufffd", str(text))))


def el(name: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """Return an element.

    Children: Html, or text; None is left out. Attributes: an underscore stands for a hyphen, one at the end is dropped;
    None is left out, True has no value.

    >>> el("p", "a < b", class_="sum")
    '<p class="sum">a &lt; b</p>'
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escaped(str(value))}"')
        for key, value in attributes.items()
        if value is not None
    )
    content = join(*children)
    return Html(f"<{name}{given}>" if name in _VOID else f"<{name}{given}>{content}</{name}>")


def join(*children: Child) -> Html:
    """Return all of them, one after another."""
    return Html("".join(escaped(child) for child in children if child is not None))


def document(title: str, *body: Child) -> str:
    """Return a whole page, which may load nothing and run nothing."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    head = join(
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Html(f"\n{_style()}")),
    )
    page = el("html", el("head", head), el("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


@lru_cache(maxsize=1)
def _style() -> str:
    """Return the style sheet of every page."""
    return resources.files("npu_layout.reports").joinpath("page.css").read_text(encoding="utf-8")
