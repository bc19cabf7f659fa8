from typing import Any

LEVELS: list[tuple[str, int]]
FAST: list[tuple[str, str, str, int]]

class Program:
    def __new__(
        cls,
        level: str,
        src_bytes: int,
        src_item: int,
        dst_bytes: int,
        dst_item: int,
        fills: tuple[Any, ...],
        boxes: tuple[Any, ...],
        arithmetic: tuple[Any, ...] | None,
        /,
    ) -> Program: ...
    def run(self, source: Any, destination: Any, part: int = 0, parts: int = 1, /) -> None: ...
    def paths(self) -> list[str]: ...

def gray(level: str, dtype: int, blue: Any, green: Any, red: Any, out: Any, /) -> None: ...
def argmax(level: str, dtype: int, x: Any, out: Any, positions: int, channels: int, /) -> None: ...
def softmax(
    level: str, dtype: int, x: Any, out: Any, positions: int, channels: int, zero_point: float, scale: float, /
) -> None: ...
def peaks(
    level: str, dtype: int, x: Any, out: Any, channels: int, least: int, threshold: float, radius: int, /
) -> int: ...
def set_threads(n: int, /) -> None: ...
def get_threads() -> int: ...
