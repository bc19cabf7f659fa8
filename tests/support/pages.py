"""The report's page, read: what is on it, and that it is whole and harmless."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import cv2
import numpy as np

import npu_layout as nl
from tests.support.boards import SHAPE, Board

VOID = {"meta", "img"}


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x00\x1b\ud800\u202e</style></pre>"


class Page(HTMLParser):
    """A page that was read: it fails where tags are not closed, ids are not unique, something is loaded from elsewhere,
    or a picture has no words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.codes: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open and len(set(self.ids)) == len(self.ids)
        assert html.startswith("<!DOCTYPE html>") and 'lang="en"' in html
        assert {link[1:] for link in self.links} <= set(self.ids)
        levels = [level for level, _ in self.headings]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels
        outside = re.sub(r'(src|content)="[^"]*"', "", html)
        assert not re.search(r"https?:|//|@import|url\(", outside.split("<body>")[0]), "something comes from elsewhere"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        assert tag not in ("script", "iframe", "object", "link", "base", "form")
        assert not any(name.startswith("on") for name in given), given
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag == "img":
            assert str(given["src"]).startswith("data:image/png;base64,") and given["alt"], given
            self.images.append(given)
        if "href" in given:
            assert str(given["href"]).startswith("#")
            self.links.append(str(given["href"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))
        if self.open[-2:] == ["pre", "code"]:
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if {"h1", "h2", "h3"} & set(self.open):
            level, text = self.headings[-1]
            self.headings[-1] = level, text + data
        if self.open[-2:] == ["pre", "code"]:
            self.codes[-1] += data

    def sheet(self) -> dict[str, np.ndarray]:
        """The contact sheets' pictures by their alternative text."""
        return {
            str(image["alt"]): pixels(str(image["src"]))
            for image in self.images
            if " dB, " in str(image["alt"]) or "The model" in str(image["alt"])
        }


def pixels(uri: str) -> np.ndarray:
    image = cv2.imdecode(np.frombuffer(base64.b64decode(uri.split(",")[1]), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return np.asarray(image).astype(np.float64)


def alike(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of two pictures by their green, which the colour map never lets fall as values grow."""
    return float(np.corrcoef(a[..., 1].ravel(), b[..., 1].ravel())[0, 1])


def read(report: nl.Report, folder: Path) -> Page:
    path = folder / "report.html"
    report.to_html(path)
    assert [p.name for p in folder.iterdir()] == ["report.html"]
    return Page(path.read_text(encoding="utf-8"))


def nhwc(board: Board) -> nl.Recording:
    """Declared NCHW, packed NHWC."""
    declared, actual = (
        nl.TensorSpec(SHAPE, layout, "int8", quantization=board.spec.quantization) for layout in ("NCHW", "NHWC")
    )
    return board.recording(declared, board.packed(actual))
