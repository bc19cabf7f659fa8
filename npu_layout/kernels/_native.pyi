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
def set_threads(n: int, /) -> None: ...
def get_threads() -> int: ...
