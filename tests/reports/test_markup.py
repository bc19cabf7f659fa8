"""Markup shows every text as it is, and runs none of it."""

from __future__ import annotations

from pathlib import Path

import npu_layout as nl
from npu_layout.reports.markup import Html, document, el, escaped, join
from tests.support.pages import HOSTILE, Page


def test_texts_are_escaped_and_markup_is_not() -> None:
    assert el("p", HOSTILE, Html("<b>x</b>"), None).count("<") == 4
    assert el("i", title='"&<', hidden=True, left=None) == '<i title="&quot;&amp;&lt;" hidden></i>'
    assert el("img", src="x") == '<img src="x">' and join("a", None, "<") == "a&lt;"
    assert escaped("\x00\ud800") == "\ufffd\ufffd" and escaped(escaped("&")) == "&amp;"


def test_a_document_is_whole_and_has_its_style() -> None:
    page = document("<t>", el("h1", "\u2713", HOSTILE))
    assert Page(page).headings == [
        (1, "\u2713" + "".join(c if c not in "\x00\x1b\ud800" else "\ufffd" for c in HOSTILE))
    ]
    assert page.count("<style>") == page.count("</style>") == 1 and ".badge.good" in page and "<title>&lt;t&gt;" in page


def test_the_style_sheet_is_a_file_of_the_package() -> None:
    style = (Path(nl.__file__).parent / "reports" / "page.css").read_text(encoding="utf-8")
    assert style in document("t") and "</" not in style and "url(" not in style and "@import" not in style
    assert style.count("{") == style.count("}") > 50
