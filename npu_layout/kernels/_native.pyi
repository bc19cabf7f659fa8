from typing import Any, final, overload

LEVELS: list[tuple[str, int]]
DTYPES: list[str]
FAST: list[tuple[str, str, str, str, int]]

@final
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
    @overload
    def run(self, source: Any, destination: Any, /) -> None: ...
    @overload
    def run(self, source: Any, destination: Any, part: int, parts: int, /) -> None: ...
    def attempt(self, source: Any, destination: Any, /) -> bool: ...
    def paths(self) -> list[str]: ...

def gray(level: str, dtype: int, blue: Any, green: Any, red: Any, out: Any, /) -> int: ...
def argmax(level: str, x: Any, out: Any, positions: int | None, channels: int | None, dtype: str | None, /) -> int: ...
def top_k(level: str, x: Any, values: Any, numbers: Any, channels: int | None, dtype: str | None, /) -> int: ...
def softmax(
    level: str,
    x: Any,
    out: Any,
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    zero_point: float,
    scale: float,
    /,
) -> int: ...
def sigmoid(
    level: str,
    x: Any,
    out: Any,
    positions: None,
    channels: None,
    dtype: str | None,
    zero_point: float,
    scale: float,
    in_place: bool,
    /,
) -> int: ...
def peaks(
    level: str, dtype: int, x: Any, out: Any, channels: int, least: int, threshold: float, radius: int, /
) -> int: ...
def tops(x: Any, rows: Any, out: Any, refinement: int, /) -> bool: ...
def set_threads(n: int, /) -> None: ...
def get_threads() -> int: ...
def set_last_cache(size: int, /) -> None: ...
