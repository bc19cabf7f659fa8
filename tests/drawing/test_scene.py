"""The same items as SVG and as PNG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.drawing.picture import draw
from npu_layout.drawing.scene import Label, Rectangle, Scene, Stroke


def test_png_shows_the_same(tmp_path: Path) -> None:
    found = nl.explain("NCHW", (1, 3, 4, 4), compare=["NHWC", nl.Layout("NCHW4c")])
    scene = draw(found.views(), found.part)
    found.save(tmp_path / "a.PNG")
    image = cv2.imread(str(tmp_path / "a.PNG"))
    assert image.shape == (scene.height * 2, scene.width * 2, 3)
    checked = 0
    for item in scene.items:
        if getattr(item, "note", ""):
            x, y = round(2 * item.x) + 4, round(2 * item.y) + 4
            assert image[y, x].tolist()[::-1] == list(item.fill)
            checked += 1
    assert checked == 4 * 48 + 16


def test_an_svg_is_what_was_added() -> None:
    scene = Scene(30, 20)
    scene.add(
        Rectangle(1, 2, 3, 4, (255, 0, 0), (0, 0, 255), 2, note="a < b"),
        Rectangle(1, 2, 3, 4),
        Label(5, 6, "x & y", 9, "end", bold=True),
        Stroke(0, 1, 2.5, 3, (0, 128, 0), 1.5),
    )
    root = ET.fromstring(scene.to_svg())
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("30", "20", "0 0 30 20")
    _, _, filled, empty, label, stroke = root
    assert filled.attrib == {
        "x": "1", "y": "2", "width": "3", "height": "4", "fill": "#ff0000", "stroke": "#0000ff", "stroke-width": "2",
    }  # fmt: skip
    assert filled[0].text == "a < b" and empty.get("fill") == "none" and empty.get("stroke") is None
    assert (label.text, label.get("text-anchor"), label.get("font-weight")) == ("x & y", "end", "bold")
    assert (stroke.get("x2"), stroke.get("stroke"), stroke.get("stroke-width")) == ("2.5", "#008000", "1.5")


@pytest.mark.parametrize("scale", [1, 2, 3.5])
def test_an_array_shows_the_last_item_on_top(scale: float) -> None:
    scene = Scene(20, 10)
    scene.add(Rectangle(0, 0, 20, 10, (10, 20, 30)), Rectangle(10, 0, 10, 10, (200, 100, 50)))
    image = scene.to_array(scale)
    assert image.shape == (round(10 * scale), round(20 * scale), 3) and image.dtype == np.uint8
    assert image[2, 2].tolist() == [30, 20, 10] and image[-2, -2].tolist() == [50, 100, 200]  # BGR
    np.testing.assert_array_equal(cv2.imdecode(np.frombuffer(scene.to_png(scale), np.uint8), 1), image)
