"""Lists of boxes that a runtime has suppressed, against what a program would write: one box after the other."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode

SIZE = (96, 160)  # height and width
MOST = 7

Box = tuple[float, float, float, float, float]


def boxes(rng: np.random.Generator, classes: int) -> list[list[Box]]:
    """Some boxes of each class, y_min, x_min, y_max, x_max and score; the best first."""
    found = []
    for _ in range(classes):
        rows = [tuple(float(np.float32(n)) for n in rng.random(5)) for _ in range(int(rng.integers(0, MOST + 1)))]
        found.append(sorted(rows, key=lambda row: -row[4]))
    return found  # type: ignore[return-value]


def by_class(given: list[list[Box]]) -> bytes:
    packed = b""
    for rows in given:
        packed += struct.pack("<f", len(rows)) + b"".join(struct.pack("<5f", *row) for row in rows)
    return packed.ljust(len(given) * (4 + 20 * MOST), b"\xff")  # memory for more, which nobody wrote


def by_score(given: list[list[Box]]) -> bytes:
    rows = sorted(((row, n) for n, of in enumerate(given) for row in of), key=lambda pair: -pair[0][4])
    packed = struct.pack("<H", len(rows)) + b"".join(struct.pack("<5fH", *row, n) for row, n in rows)
    return packed.ljust(2 + len(given) * MOST * 22, b"\xee")


def padded(given: list[list[Box]]) -> np.ndarray:
    made = np.zeros((len(given), 5, MOST), np.float32)
    for n, rows in enumerate(given):
        for i, row in enumerate(rows):
            for k, number in enumerate(row):
                made[n, k, i] = number
    return made


def arrays(given: list[list[Box]]) -> list[np.ndarray]:
    return [np.array(rows, np.float32).reshape(-1, 5) for rows in given]


class Detection(NamedTuple):
    """What pyhailort makes of a box of HAILO_NMS_BY_SCORE."""

    y_min: float
    x_min: float
    y_max: float
    x_max: float
    score: float
    class_id: int


def released() -> memoryview:
    memory = memoryview(bytes(8))
    memory.release()
    return memory


def objects(given: list[list[Box]]) -> list[Detection]:
    rows = sorted(((row, n) for n, of in enumerate(given) for row in of), key=lambda pair: -pair[0][4])
    return [Detection(*row, n) for row, n in rows]


FORMS: dict[str, Any] = {
    "bytes": lambda given: (by_class(given), "by_class"),
    "bytearray": lambda given: (bytearray(by_class(given)), "by_class"),
    "uint8": lambda given: (np.frombuffer(by_class(given), np.uint8), "by_class"),
    "float32": lambda given: (np.frombuffer(by_class(given), np.float32), "by_class"),
    "rows": lambda given: (np.frombuffer(by_class(given), np.float32).reshape(len(given), -1), "by_class"),
    "unaligned": lambda given: (np.frombuffer(b"x" + by_class(given), np.uint8)[1:], "by_class"),
    "arrays": lambda given: (arrays(given), "by_class"),
    "wider arrays": lambda given: ([np.empty((0, 5)) if not a.size else a for a in arrays(given)], "by_class"),
    "padded": lambda given: (padded(given), "by_class"),
    "by score": lambda given: (by_score(given), "by_score"),
    "objects": lambda given: (objects(given), "by_score"),
    "by score, uint8": lambda given: (np.frombuffer(by_score(given), np.uint8), "by_score"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_boxes_are_found(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = boxes(rng, (1, 3, 80, 5)[seed])
    output, order = FORMS[form](given)
    least, limit = ((0.0, 300), (0.5, 300), (0.3, 20), (0.0, 1))[seed]
    found = decode.hailo_nms(output, len(given), SIZE, least, limit, order=order)
    flat = [(row, n) for n, rows in enumerate(given) for row in rows]
    wanted = sorted((pair for pair in flat if pair[0][4] >= least), key=lambda pair: -pair[0][4])[:limit]
    assert len(found) == len(wanted)
    for i, ((top, left, bottom, right, score), label) in enumerate(wanted):
        edges = (left * SIZE[1], top * SIZE[0], right * SIZE[1], bottom * SIZE[0])
        assert found.xyxy[i].tolist() == [float(np.float32(edge)) for edge in edges]
        assert (found.confidence[i], found.class_id[i]) == (score, label)
    assert not found.level.any() and not found.anchor.any()
    if order == "by_class":
        assert found.cell.tolist() == [flat.index(pair) for pair in wanted]
    assert found.xyxy.dtype == found.confidence.dtype == np.float32 and found.class_id.dtype == np.int64


def test_memory_by_score_may_have_any_shape() -> None:
    given = [[(0.0, 0.0, 1.0, 1.0, 0.5)], [(0.0, 0.5, 1.0, 1.0, 0.75)]]
    memory = np.frombuffer(by_score(given) + bytes(2), np.uint8)
    plain, shaped = (decode.hailo_nms(array, 2, SIZE, order="by_score") for array in (memory, memory.reshape(1, 1, -1)))
    assert len(plain) == 2 and shaped.xyxy.tolist() == plain.xyxy.tolist()
    assert shaped.class_id.tolist() == plain.class_id.tolist() == [1, 0]


def test_equal_scores_and_nan() -> None:
    rows = [(0.0, 0.0, 1.0, 1.0, 0.5), (0.0, 0.0, 0.5, 1.0, float("nan")), (0.5, 0.0, 1.0, 1.0, 0.5)]
    found = decode.hailo_nms(by_class([rows, rows[:1]]), 2, SIZE)
    assert found.cell.tolist() == [0, 2, 3] and found.class_id.tolist() == [0, 0, 1]
    assert (
        len(decode.hailo_nms(by_class([[], []]), 2, SIZE))
        == 0
        == len(decode.hailo_nms(by_score([]), 2, SIZE, order="by_score"))
        == len(decode.hailo_nms([], 2, SIZE, order="by_score"))
    )


@pytest.mark.parametrize(
    ("output", "arguments", "kind", "words"),
    [
        (b"", {}, nl.BufferSizeError, "0 bytes, which end in class 0 of 2 .classes."),
        (struct.pack("<f", 0), {}, nl.BufferSizeError, "4 bytes, which end in class 1 of 2"),
        (struct.pack("<3f", 1, 0, 0), {}, nl.BufferSizeError, "end in class 0"),
        (struct.pack("<2f", 0.5, 0), {}, nl.NpuLayoutError, "the number of boxes of class 0 at float 0, got 0.5"),
        (struct.pack("<2f", -1, 0), {}, nl.NpuLayoutError, "got -1"),
        (struct.pack("<2f", float("nan"), 0), {}, nl.NpuLayoutError, "got nan"),
        (b"abc", {}, nl.BufferSizeError, "no whole number of float32"),
        (np.zeros(4, np.float64), {}, nl.NpuLayoutError, "memory of float32, or bytes, got float64"),
        (np.zeros(8, np.float32)[::2], {}, nl.NpuLayoutError, "contiguous"),
        (memoryview(bytes(16))[::2], {}, nl.NpuLayoutError, "contiguous memory of float32, or bytes, got memoryview"),
        (released(), {}, nl.NpuLayoutError, "output: expected .* got memoryview: .* released"),
        (np.ndarray, {}, nl.NpuLayoutError, "memory of float32, or bytes, got object"),
        ({"nms": []}, {}, nl.NpuLayoutError, r"one output, got those of nms; give output\['nms'\]$"),
        ({"a": [], "b": []}, {}, nl.NpuLayoutError, "one output, got those of a, b; give one of them$"),
        ({}, dict(order="by_score"), nl.NpuLayoutError, "one output, got those of none"),
        (struct.pack("<H", 2) + bytes(43), dict(order="by_score"), nl.BufferSizeError, "45 bytes.* 2 boxes need 46"),
        (b"", dict(order="by_score"), nl.BufferSizeError, "0 bytes"),
        (struct.pack("<H5fH", 1, 0, 0, 1, 1, 0.5, 2), dict(order="by_score"), nl.NpuLayoutError, "below 2, got 2"),
        ([np.zeros((1, 5), np.float32)], {}, nl.LayoutError, "expected 2 arrays, one for each class, got 1$"),
        ([[np.zeros((1, 5), np.float32)] * 2], {}, nl.LayoutError, r"got 1; it has a list .* give output\[0\]"),
        (np.zeros((1, 2, 5, 3), np.float32), {}, nl.LayoutError, r"got float32 \(1, 2, 5, 3\); .* give output\[0\]"),
        ([[np.zeros((1, 5))], [np.zeros((0, 5))]], {}, nl.LayoutError, r"of one input, got float64 \(1, 1, 5\)"),
        ([Detection(0, 0, 1, 1, 0.5, 1)], {}, nl.LayoutError, 'Detection objects: give order="by_score"'),
        ([Detection(0, 0, 1, 1, 0.5, 2)], dict(order="by_score"), nl.NpuLayoutError, r"output\[0\]: .* below 2, got 2"),
        ([Detection(0, 0, 1, 1, 0.5, -1)], dict(order="by_score"), nl.NpuLayoutError, "below 2, got -1"),
        ([np.zeros(5)], dict(order="by_score"), nl.NpuLayoutError, r"Detection .* got ndarray; .* order=\"by_class\""),
        ([[Detection(0, 0, 1, 1, 0.5, 1)]], dict(order="by_score"), nl.NpuLayoutError, r"got list.* give output\[0\]"),
        ([Detection(0, 0, 1, "x", 0.5, 1)], dict(order="by_score"), nl.NpuLayoutError, "expected a Detection"),
        (np.zeros((2, 6, 3), np.float32), {}, nl.LayoutError, r"expected \(2, 5, most\)"),
        (np.zeros((2, 5, 3), np.float32), dict(order="by_score"), nl.NpuLayoutError, "memory of uint8, .* got float32"),
        (b"", dict(limit=0), nl.NpuLayoutError, "limit"),
        (b"", dict(order="by_name"), nl.NpuLayoutError, "order"),
    ],
)
def test_refused(output: Any, arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        decode.hailo_nms(output, 2, SIZE, **arguments)


@pytest.mark.parametrize(("true", "most"), [(80, 100), (3, 7), (2, 2), (90, 20)])
def test_another_number_of_classes_is_refused(true: int, most: int) -> None:
    """With fewer, the boxes of the last classes were lost in silence: the memory's size says how many there are."""
    memory = np.zeros(true * (1 + 5 * most), np.float32)
    memory[true - 1 : true + 5] = 1, 0.25, 0.5, 0.75, 1, 0.9  # a box of the last class, behind as many zeros
    assert decode.hailo_nms(memory, true, SIZE).class_id.tolist() == [true - 1]
    for wrong in {*range(1, true + 3)} - {true}:
        fits = len(memory) % wrong == 0 and (len(memory) // wrong) % 5 == 1
        if fits:  # the size is that of both, as 1 * (1 + 5 * 601) is 6 * (1 + 5 * 100)
            continue
        with pytest.raises(nl.BufferSizeError, match=rf"of {wrong} classes has {wrong} \* \(1 \+ 5 \* most\)") as error:
            decode.hailo_nms(memory, wrong, SIZE)
        if abs(wrong - true) == 1:
            assert f"{true} (of {most} boxes each)" in str(error.value)
    rows = memory.reshape(true, -1)
    assert decode.hailo_nms(rows, true, SIZE).class_id.tolist() == [true - 1]
    assert decode.hailo_nms(memory[None], true, SIZE).class_id.tolist() == [true - 1]


@pytest.mark.parametrize("frames", [2, 3, 5, 8])
@pytest.mark.parametrize(("classes", "most"), [(80, 100), (3, 1), (1, 20)])
def test_several_frames_in_one_buffer_are_named(frames: int, classes: int, most: int) -> None:
    one = classes * (1 + 5 * most)
    memory = np.zeros(frames * one, np.float32)
    memory[one] = 1  # a box of the second frame
    words = rf"; this is the size for a batch of .*\b{frames} \(of {most} boxes each\)[^;]* frames: give output.reshape"
    for given in (memory, memory.tobytes(), memory.reshape(1, -1)):
        with pytest.raises(nl.BufferSizeError, match=words):
            decode.hailo_nms(given, classes, (8, 8))
    each = [decode.hailo_nms(memory.reshape(frames, -1)[i], classes, (8, 8)) for i in range(frames)]
    assert [len(found) for found in each] == [0, 1, *[0] * (frames - 2)]
    assert "batch" not in str(wrong_classes(memory[:one], classes + 1))


def wrong_classes(memory: np.ndarray, classes: int) -> BaseException:
    with pytest.raises(nl.BufferSizeError) as refused:
        decode.hailo_nms(memory, classes, (8, 8))
    return refused.value


def test_rows_of_another_number_of_classes_are_refused() -> None:
    rows = np.zeros((6, 1 + 5 * 100), np.float32)  # as large as a frame of one class with 601 boxes
    with pytest.raises(nl.LayoutError, match=r"expected \(1, floats\), a row for each class, .* got \(6, 501\)"):
        decode.hailo_nms(rows, 1, SIZE)
    with pytest.raises(nl.BufferSizeError, match=r"10020 floats; .* make the buffer that HailoRT fills float32$"):
        decode.hailo_nms(np.zeros(80 * (1 + 5 * 100), np.uint8), 80, SIZE)  # as if each float were a byte
    with pytest.raises(nl.BufferSizeError, match=r"output has 7 floats; .*; give the memory of one frame alone$"):
        decode.hailo_nms(np.zeros(7, np.float32), 3, SIZE)
    with pytest.raises(nl.BufferSizeError, match=r"output has 126 floats; .* its first axis counts inputs: give"):
        decode.hailo_nms(np.zeros((2, 3 * (1 + 5 * 4)), np.float32), 3, SIZE)


def sensible(rng: np.random.Generator, classes: int, most: int) -> bytes:
    """A frame as HailoRT writes it: scores in order, edges in order, of which many are those of the picture."""
    given = []
    for _ in range(classes):
        edges = np.clip(rng.uniform(-0.5, 1.5, (int(rng.integers(0, most + 1)), 2, 2)), 0, 1)
        top, left, bottom, right = np.sort(edges, 1).reshape(-1, 4).T
        scores = np.sort(rng.choice([0.3, 0.5, 1.0], len(edges)))[::-1]
        given.append([*zip(top, left, bottom, right, scores)])
    return b"".join(struct.pack("<f", len(rows)) + b"".join(struct.pack("<5f", *row) for row in rows) for rows in given)


@pytest.mark.parametrize(("frames", "classes", "most"), [(6, 80, 100), (11, 3, 18), (16, 1, 7), (6, 6, 2)])
def test_a_batch_with_the_size_of_one_frame_is_refused(frames: int, classes: int, most: int) -> None:
    """The boxes of all frames but the first were lost in silence."""
    rng, nbytes = np.random.default_rng(frames), classes * (1 + 5 * most) * 4
    each = [sensible(rng, classes, most).ljust(nbytes, b"\xff") for _ in range(frames)]
    words = (
        rf"one frame of {classes} classes .* a batch of {frames} \(of {most} boxes each\) frames, of which frame 1, "
    )
    for given in (b"".join(each), np.frombuffer(b"".join(each), np.float32).reshape(1, -1)):
        with pytest.raises(nl.BufferSizeError, match=words) as refused:
            decode.hailo_nms(given, classes, SIZE)
    ends = int(str(refused.value).split("whose last box ends at float ")[1].split(",")[0])
    memory = np.frombuffer(b"".join(each), np.float32).copy()
    memory[ends:] = 0  # as the message says of one frame
    counted = sum(of.class_id.size for of in [decode.hailo_nms(memory, classes, SIZE)])
    assert counted == len(decode.hailo_nms(each[0], classes, SIZE))
    empty = each[0] + bytes(nbytes) * (frames - 1)  # nothing is lost
    assert len(decode.hailo_nms(empty, classes, SIZE)) == counted


@pytest.mark.parametrize(("classes", "most"), [(1, 7), (1, 31), (3, 43), (2, 200), (80, 43)])
def test_one_frame_over_memory_of_earlier_runs_is_no_batch(classes: int, most: int) -> None:
    """Its size may be that of 6, 11, ... frames: memory of 1 * (1 + 5 * 31) floats is that of 6 with 5 boxes each."""
    nbytes = classes * (1 + 5 * most) * 4
    for seed in range(300 if classes < 80 else 10):
        rng = np.random.default_rng(seed)
        fillings = (bytes(nbytes), b"\xff" * nbytes, rng.random(nbytes // 4, np.float32).tobytes())
        memory = bytearray(fillings[seed % 3])
        for _ in range(int(rng.integers(1, 6))):
            now = sensible(rng, classes, int(rng.integers(0, most + 1)))
            memory[: len(now)] = now
        listed, at = 0, 0
        for _ in range(classes):
            count = int(struct.unpack_from("<f", memory, at)[0])
            listed, at = listed + count, at + 4 + 20 * count
        assert len(decode.hailo_nms(bytes(memory), classes, SIZE, limit=30000)) == listed, seed


@pytest.mark.parametrize(
    ("box", "is_batch"),
    [
        ((0.1, 0.1, 0.5, 0.5, 0.9), True),
        ((0.1, 0.1, 0.5, 0.5, 1.5), False),
        ((0.1, 0.1, 0.5, 0.5, -0.5), False),
        ((0.6, 0.1, 0.5, 0.5, 0.9), False),
        ((0.1, 0.6, 0.5, 0.5, 0.9), False),
        ((0.1, 0.1, 0.5, 0.5, np.nan), False),
    ],
)
def test_what_is_behind_a_frame_is_another_one_only_with_edges_and_probabilities(
    box: tuple[float, ...], is_batch: bool
) -> None:
    classes, most, frames = 2, 3, 6
    memory = np.zeros((frames, classes * (1 + 5 * most)), np.float32)
    memory[3, :6] = 1, *box  # a box of class 0
    if is_batch:
        with pytest.raises(nl.BufferSizeError, match="of which frame 3 has boxes too"):
            decode.hailo_nms(memory.ravel(), classes, SIZE)
    else:
        assert len(decode.hailo_nms(memory.ravel(), classes, SIZE)) == 0
