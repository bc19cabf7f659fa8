"""Where tests of other wings still look for boards: they are in tests.support.boards."""

from tests.support.boards import CHANNELS, PRE, SHAPE, SIDE, Board, network, picture

__all__ = ["CHANNELS", "PRE", "SHAPE", "SIDE", "Board", "network", "picture"]
