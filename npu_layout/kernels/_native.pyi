from typing import Any, final, overload

from .box import Box
from .description import Description
from .pictures import Color, ComponentSamples

COMPILED: list[str]  # names
LEVELS: list[tuple[str, int]]  # name, bytes of a vector; the best one last
DTYPES: list[str]
FAST: list[tuple[str, str, str, str, int]]  # path, kind, what it applies to, level, bytes of a step

@final
class Program:
    def __new__(
        cls,
        level: str,
        src_bytes: int,
        src_item: int,
        dst_bytes: int,
        dst_item: int,
        fills: tuple[Box, ...],
        boxes: tuple[Box, ...],
        arithmetic: Description | None,
        alongside: int = 0,
        /,
    ) -> Program: ...
    @overload
    def run(self, source: Any, destination: Any, /) -> None: ...
    @overload
    def run(self, source: Any, destination: Any, part: int, parts: int, /) -> None: ...
    def attempt(self, source: Any, destination: Any, /) -> bool: ...
    def paths(self) -> list[str]: ...

@final
class Usual:
    def __new__(cls, program: Program, source: Any, destination: Any, /) -> Usual: ...
    def attempt(self, source: Any, destination: Any, /) -> bool: ...

@final
class Gray:
    def __new__(
        cls, level: str, dtype: int, blue: Any, green: Any, red: Any, result: Any, image: Any, out: Any, /
    ) -> Gray: ...
    def attempt(self, image: Any, out: Any, /) -> bool: ...

@final
class Detector:
    def __new__(
        cls,
        level: str,
        nbytes: tuple[int, ...],
        score: int,
        classes: int,
        points: int,
        coefficients: int,
        all_labels: bool,
        suppression: int,
        per_class: bool,
        inclusive: bool,
        added: tuple[float, float],
        levels: tuple[Any, ...],
        filled: tuple[Any, ...] | None,
        /,
    ) -> Detector: ...
    def run(
        self,
        buffers: tuple[Any, ...],
        thresholds: bytes,
        confidence: float,
        iou: float,
        limit: int,
        xyxy: Any,
        score: Any,
        class_id: Any,
        level: Any,
        cell: Any,
        anchor: Any,
        points: Any,
        xywha: Any,
        edges: Any,
        coefficients: Any,
        /,
    ) -> int: ...

@final
class PictureRows:
    def __new__(
        cls,
        level: str,
        wide: bool,
        components: tuple[ComponentSamples, ...],
        size_wh: tuple[int, int],
        axes: tuple[tuple[Any, Any, int], ...],
        exact: bool,
        color: Color | None,
        channels: tuple[int, ...],
        count: int,
        source: tuple[int, int, int, int, int],
        tiles: tuple[tuple[int, int], ...],
        /,
    ) -> PictureRows: ...
    def write(self, planes: tuple[Any, ...], out: Any, /) -> None: ...

@final
class Fit:
    def __new__(
        cls,
        rows: PictureRows,
        canvas: tuple[int, int, int, int],
        border: bytes,
        flipped: bool,
        out_bytes: int,
        band_rows: int,
        pitch_bytes: int,
        band: Program | None,
        tail: Program | None,
        /,
    ) -> Fit: ...
    def run(self, out: Any, offset: int, /, *planes: Any) -> bool: ...
    def run_in(self, out: Any, offset: int, frame: Any, places: tuple[tuple[int, int], ...], /) -> bool: ...

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
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    zero_point: float,
    scale: float,
    in_place: bool,
    /,
) -> int: ...
def nms(
    level: str,
    boxes: Any,
    scores: Any,
    class_id: Any,
    classes: int,
    iou: float,
    inclusive: bool,
    extra: float,
    epsilon: float,
    limit: int,
    kept: Any,
    /,
) -> int: ...
def turned_nms(shapes: Any, class_id: Any, iou: float, inclusive: bool, limit: int, kept: Any, /) -> int: ...
def peaks(
    level: str, dtype: int, x: Any, out: Any, channels: int, least: int, threshold: float, radius: int, /
) -> int: ...
def tops(x: Any, rows: Any, out: Any, refinement: int, /) -> bool: ...
def masks(
    level: str,
    signed: bool,
    zero: int,
    factor: int,
    data: Any,
    channels: Any,
    rows: Any,
    columns: Any,
    coefficients: Any,
    windows: Any,
    out: Any,
    /,
) -> bool: ...
def skeletons(
    fields: Any,
    rows: int,
    columns: int,
    limbs: Any,
    peaks: Any,
    ends: Any,
    samples: int,
    enough: int,
    least: float,
    total: float,
    found: Any,
    sums: Any,
    /,
) -> int: ...
def scan(level: str, dtype: int, data: Any, channels: Any, rows: Any, columns: Any, least: int, /) -> bytes: ...
def sums(level: str, device: Any, model: Any, before: Any, by_row: Any, by_column: Any, /) -> None: ...
def run_fits(steps: tuple[Any, ...], out: Any, frame: Any, /) -> bool: ...
def to_yuv(level: str, pixels: Any, out: Any, samples: tuple[tuple[int, ...], ...], /) -> None: ...
def set_threads(n: int, /) -> None: ...
def get_threads() -> int: ...
def set_last_cache(size: int, /) -> None: ...
def of_intel() -> bool: ...
def in_no_cache(source: Any, /) -> bool: ...
def set_stores(whole: bool, early: int, /) -> None: ...
def set_cached(answer: int, /) -> int: ...
