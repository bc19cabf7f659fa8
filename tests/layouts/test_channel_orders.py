"""Which channel is which colour: against OpenCV's conversions."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from npu_layout.layouts import CHANNEL_ORDERS, COLOR_ORDERS, SWAPPED_ORDERS

COLOURED = [name for name in CHANNEL_ORDERS if name != "GRAY"]


@pytest.mark.parametrize("name", COLOURED)
def test_an_order_is_the_one_of_opencv(name: str) -> None:
    order = CHANNEL_ORDERS[name]
    pixel = np.arange(10, 10 + order.channels, dtype=np.uint8).reshape(1, 1, -1)
    code = getattr(cv2, f"COLOR_{name}2RGB", None)
    red_first = pixel if code is None else cv2.cvtColor(pixel, code)
    assert pixel[0, 0, list(order.rgb)].tolist() == red_first[0, 0].tolist()
    assert order.bgr == order.rgb[::-1]


def test_gray_has_one_channel_and_no_colour() -> None:
    assert CHANNEL_ORDERS["GRAY"] == (1, ()) and CHANNEL_ORDERS["GRAY"].bgr == ()


def test_red_and_blue_swapped() -> None:
    assert SWAPPED_ORDERS == {"BGR": "RGB", "RGB": "BGR", "BGRA": "RGBA", "RGBA": "BGRA"}
    assert {CHANNEL_ORDERS[name].channels for name in COLOR_ORDERS} == {3}
    assert set(COLOR_ORDERS) == {name for name, order in CHANNEL_ORDERS.items() if order.channels == 3}
