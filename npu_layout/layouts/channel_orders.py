"""The channel orders of pixels, as data: which channel of BGR, RGB, BGRA, RGBA and GRAY is which colour."""

from __future__ import annotations

from typing import NamedTuple


class ChannelOrder(NamedTuple):
    """How many channels a pixel has, and the channel of each colour; gray pixels have no colours."""

    channels: int
    rgb: tuple[int, ...]  # channels of red, green and blue

    @property
    def bgr(self) -> tuple[int, ...]:
        """The channels of blue, green and red."""
        return self.rgb[::-1]


CHANNEL_ORDERS = {
    "BGR": ChannelOrder(3, (2, 1, 0)),
    "RGB": ChannelOrder(3, (0, 1, 2)),
    "BGRA": ChannelOrder(4, (2, 1, 0)),
    "RGBA": ChannelOrder(4, (0, 1, 2)),
    "GRAY": ChannelOrder(1, ()),
}
# Orders of three channels, no alpha: of pictures that a model reads and that become gray.
COLOR_ORDERS = ("BGR", "RGB")
# Each order of colours, and the one with red and blue swapped.
SWAPPED_ORDERS = {
    name: other
    for name, order in CHANNEL_ORDERS.items()
    for other, mirrored in CHANNEL_ORDERS.items()
    if order.rgb and order.channels == mirrored.channels and order.rgb == mirrored.bgr
}
