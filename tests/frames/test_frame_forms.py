"""Which frames have one form, and which have none."""

from __future__ import annotations

from types import SimpleNamespace as Twin
from typing import Any

import numpy as np

import npu_layout as nl
from npu_layout.frames.frame_forms import form_of, memories_of
from tests.support.pyav_frames import Plane, of_pyav


def test_forms() -> None:
    y, uv = np.zeros((4, 6), np.uint8), np.zeros((2, 3, 2), np.uint8)
    assert form_of((y, uv)) == form_of([y.copy(), uv.copy()]) != form_of((y, uv[:, ::-1]))
    assert form_of(y) != form_of(y.T) and form_of(y) != form_of(y.view(np.int8)) and form_of(b"ab") == form_of(b"cd")
    assert len({form_of(y), form_of((y,)), form_of(bytes(24)), form_of(bytearray(24)), form_of((y, y))}) == 5
    pyav = of_pyav([bytes(24), bytes(12)], 6, (6, 4))
    assert form_of(pyav) == form_of(of_pyav([bytes(24), bytes(12)], 6, (6, 4)))
    lacking: list[Any] = [
        Twin(format=Twin(name="nv12"), planes=(b"",)),
        Twin(planes=(Plane(b"ab"),), width=1, height=1),
        nl.FrameSpec("NV12", (4, 4)),
        np.ma.masked_array(y),
    ]
    for other in (*lacking, None, "x", 3, memoryview(b"ab"), (y, None), [y, [uv]], (y, lacking[1]), object()):
        assert form_of(other) is None
    assert memories_of(pyav) == pyav.planes and memories_of([y, uv]) == (y, uv) and memories_of(y) is y
