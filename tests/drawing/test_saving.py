"""Files of pictures: the ending chooses what is written, and another one is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.drawing.saving import write_picture


def never() -> bytes:
    raise AssertionError


def test_the_ending_chooses(tmp_path: Path) -> None:
    for name in ("a.svg", "b.SVG"):
        write_picture(tmp_path / name, lambda: b"picture", never)
        assert (tmp_path / name).read_bytes() == b"picture"


def test_another_ending_and_no_path(tmp_path: Path) -> None:
    for name in ("a.gif", "svg", "a.svg.txt"):
        with pytest.raises(nl.NpuLayoutError, match=r"expected a name that ends in \.svg or \.png$"):
            write_picture(tmp_path / name, never, never)
    with pytest.raises(nl.NpuLayoutError, match="path: expected"):
        write_picture(3, never, never)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
