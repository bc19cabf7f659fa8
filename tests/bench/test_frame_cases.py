"""Rows of camera frames: every size and target, and what each contender makes of them is OpenCV's to the last pixel."""

from __future__ import annotations

import platform
from collections import Counter

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.bench import contenders, measuring, peers
from npu_layout.bench.frame_cases import BORDER, FrameCase, frame_cases
from npu_layout.bench.peers import resizers
from tests.support import resized_pixels

TARGETS = ("uint8 NHWC", "float32 NCHW", "int8 NHWC", "int8 NCHW16c")
# Shrunk by a fraction, by 2 (a mean of four pixels), by more, enlarged, and of the right size already.
SIZES = ((48, 30), (64, 32), (150, 100), (20, 14), (32, 24))
SIDE = 32
OPENCV = "cv2: cvtColor, resize, copyMakeBorder, cvtColor, xor, mixChannels or blob"
PILLOW = "PIL: Image.resize(BILINEAR), then numpy"
RESIZERS = [
    entry for entry in peers.PEERS["frame"] if entry[2].__module__ == resizers.__name__
]  # (library, spelling, function)
each_case = pytest.mark.parametrize(
    "case",
    [FrameCase(format, wh, target, SIDE) for format in ("BGR", "NV12") for wh in SIZES for target in TARGETS],
    ids=lambda case: case.title,
)


def letterboxed(case: FrameCase) -> np.ndarray:
    """Return the RGB that a network should get, by a resize that is written from OpenCV's rules."""
    pixels = case.x if case.format == "BGR" else cv2.cvtColor(case.x, cv2.COLOR_YUV2BGR_NV12)
    left, top, right, bottom = case.geometry.pad_ltrb
    inner = resized_pixels.linear(pixels, case.geometry.resized_wh)
    return np.pad(inner, ((top, bottom), (left, right), (0, 0)), constant_values=BORDER)[..., ::-1]


def stored(case: FrameCase) -> np.ndarray:
    """Return what the target stores of it, 1-D."""
    rgb = letterboxed(case).astype(np.float64)
    kind = case.title.split(" -> ")[1].rsplit(" ", 1)[0]
    if kind == "float32 NCHW":
        return ((rgb - case.mean) / case.std).transpose(2, 0, 1).reshape(-1)
    less = rgb - 128 if kind.startswith("int8") else rgb
    if kind == "int8 NCHW16c":
        less = np.concatenate([less, np.zeros((*less.shape[:2], 13))], 2)
    return less.reshape(-1)


def test_rows_are_all_sizes_formats_and_targets() -> None:
    cases = list(frame_cases())
    assert len({(case.key, case.title) for case in cases}) == len(cases) == 2 * 4 * (3 * 4 + 2)
    assert Counter(case.key for case in cases) == {"frame": 56, "frame'": 56}
    assert Counter(case.kind for case in cases) == {"frame": 96, "frame-gray": 8, "frame-planes": 8}
    assert cases[0].title == "4K BGR -> uint8 NHWC 640x640" and cases[0].x.shape == (2160, 3840, 3)
    assert cases[-3].title == "VGA NV12 -> int8 NCHW16c 224x224" and cases[-3].x.shape == (720, 640)
    assert [case.title for case in cases[-2:]] == ["VGA NV12 -> GRAY 640x640", "VGA NV12 -> NV12 640x640"]
    assert all(n % 2 == 0 for case in cases if case.kind == "frame-planes" for n in case.geometry.pad_ltrb)
    assert np.shares_memory(cases[0].x, cases[1].x)  # else all rows together are a gigabyte
    assert {case.geometry.input_wh[0] for case in cases} == {640, 320, 224}
    for case in cases:
        assert case.nbytes == case.target.nbytes and case.flat.nbytes == case.x.nbytes


def test_a_frame_is_made_again_in_other_memory() -> None:
    case = FrameCase("NV12", (48, 30), "uint8 NHWC", SIDE)
    other = case.elsewhere()
    assert isinstance(other, FrameCase) and other.title == case.title == "48x30 NV12 -> uint8 NHWC 32x32"
    assert not np.shares_memory(other.x, case.x) and np.shares_memory(other.x, other.flat)
    np.testing.assert_array_equal(other.x, case.x)


@each_case
def test_every_contender_has_the_same_pixels(case: FrameCase) -> None:
    expected = stored(case)
    calls, paths, wrong = contenders.competitors(case, with_peers=True)
    compiled = {name for name in kernels.backends() if name != "numpy"}
    blob = {"cv2: blobFromImageWithParams, letterbox"} if case.target.dtype == "float32" else set()
    numpy = {"numpy: rows and columns by index, in integers"}
    assert paths == []
    # Wheels for Arm compute something else, and the resizers have rules of their own.
    unsure = {OPENCV, *blob, *(f"{library}: {spelling}" for library, spelling, _ in RESIZERS)}
    assert calls.keys() - unsure == {"memcpy", contenders.OURS, *compiled, *numpy} and wrong.keys() <= unsure
    for name, call in calls.items():
        if name != "memcpy":
            got = np.asarray(call()).reshape(-1)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=0 if case.is_exact else 2e-6, err_msg=name)


def picture(case: FrameCase) -> np.ndarray:
    """Return what a picture should be, 1-D, by OpenCV's colours and a resize that is written from its rules."""
    left, top, right, bottom = case.geometry.pad_ltrb
    width, height = case.geometry.frame_wh

    def fitted(plane: np.ndarray, every: int, border: int) -> np.ndarray:
        inner = resized_pixels.linear(plane[..., None], tuple(n // every for n in case.geometry.resized_wh))[..., 0]
        pads = ((top // every, bottom // every), (left // every, right // every))
        return np.pad(inner, pads, constant_values=border)

    if case.kind == "frame-gray":
        gray = case.x[:height] if case.format == "NV12" else cv2.cvtColor(case.x, cv2.COLOR_BGR2GRAY)
        if case.format == "NV12":  # the colour of U = V = 128
            middle = np.concatenate([gray, np.full((height // 2, width), 128, np.uint8)])
            gray = np.ascontiguousarray(cv2.cvtColor(middle, cv2.COLOR_YUV2BGR_NV12)[..., 0])
        return fitted(gray, 1, BORDER).reshape(-1)
    if case.format == "NV12":
        u, v = case.x[height:, ::2], case.x[height:, 1::2]
        parts = [fitted(case.x[:height], 1, BORDER), np.stack([fitted(u, 2, 128), fitted(v, 2, 128)], -1)]
    else:
        i420 = cv2.cvtColor(np.ascontiguousarray(letterboxed(case)[..., ::-1]), cv2.COLOR_BGR2YUV_I420)
        side = case.geometry.input_wh[1]
        parts = [i420[:side], np.stack(i420[side:].reshape(2, -1), -1)]
    return np.concatenate([part.reshape(-1) for part in parts])


@pytest.mark.parametrize("size_wh", [(96, 48), (64, 32), (160, 80), (16, 16), (32, 32)])
@pytest.mark.parametrize("target", ["GRAY", "NV12"])
@pytest.mark.parametrize("format", ["BGR", "NV12"])
def test_every_contender_has_the_same_picture(format: str, target: str, size_wh: tuple[int, int]) -> None:
    case = FrameCase(format, size_wh, target, SIDE)
    calls, paths, wrong = contenders.competitors(case, with_peers=True)
    compiled = {name for name in kernels.backends() if name != "numpy"}
    others = calls.keys() - {"memcpy", contenders.OURS, *compiled}
    assert paths == [] and len(others) == len(calls) - 2 - len(compiled)
    assert any(name.startswith("numpy") for name in others)
    on_x86 = platform.machine() in ("x86_64", "AMD64")
    # OpenCV rounds means of two channels to even.
    half = {"cv2: resize and copyMakeBorder of each plane"} if size_wh == (64, 32) else set()
    assert not on_x86 or (any(name.startswith("cv2") for name in others) and wrong.keys() <= half)
    for name, call in calls.items():
        if name != "memcpy":
            np.testing.assert_array_equal(np.asarray(call()).reshape(-1), picture(case), name)
    for every in contenders.rotating(case, calls, 3, True).values():
        assert len(every) == 3
    assert case.nbytes == np.asarray(calls[contenders.OURS]()).nbytes


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="its wheels for x86 are meant")
@each_case
def test_opencv_is_in_the_ratio(case: FrameCase) -> None:
    calls, _, wrong = contenders.competitors(case, with_peers=True)
    assert OPENCV in calls and not any(name.startswith("cv2") for name in wrong)


def test_pillow_is_compared_only_where_it_is_equal() -> None:
    pytest.importorskip("PIL")
    resized, same = (FrameCase("BGR", wh, "uint8 NHWC", SIDE) for wh in ((48, 30), (32, 24)))
    calls, _, wrong = contenders.competitors(resized, with_peers=True)
    assert PILLOW not in calls and wrong[PILLOW].startswith("not equal: ")
    assert PILLOW in contenders.competitors(same, with_peers=True)[0]


@pytest.mark.parametrize("library", [library for library, _, _ in RESIZERS])
@pytest.mark.parametrize("format", ["BGR", "NV12"])
def test_a_resizer_makes_the_same_picture(format: str, library: str) -> None:
    """Of a smooth frame, which no filter changes much: what would differ by more is a colour or a place."""
    pytest.importorskip(library)
    case = FrameCase(format, (48, 30), "uint8 NHWC", SIDE)
    rows, columns = np.indices(case.frame_shape[:2])
    light = 60 + 2 * rows + columns
    pixels = np.stack([light, light + 20, 200 - light], -1) if format == "BGR" else light
    if format == "NV12":
        pixels[30:] = np.resize([90, 150], case.frame_shape[1])
    case._use(pixels.astype(np.uint8).reshape(-1))
    make = next(function for name, _, function in RESIZERS if name == library)
    call = make(case)
    if call is None:
        assert (library, format) in (("PIL", "NV12"), ("torch", "NV12"))
        return
    assert np.abs(np.asarray(call()).reshape(-1).astype(int) - stored(case)).max() <= 4


def test_a_peer_that_is_off_by_one_is_not_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    def off_by_one(case: FrameCase) -> peers.Call:
        def run() -> np.ndarray:
            result = stored(case)
            result[5] += 1 if case.is_exact else 1 / 60
            return result.astype(case.target.stored)

        return run

    monkeypatch.setitem(peers.PEERS, "frame", [*peers.PEERS["frame"], ("cv2", "off by one", off_by_one)])
    for target in TARGETS:
        case = FrameCase("BGR", (48, 30), target, SIDE)
        calls, _, wrong = contenders.competitors(case, with_peers=True)
        assert "cv2: off by one" in wrong and "cv2: off by one" not in calls, target


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("format", ["BGR", "NV12"])
def test_rotating_frames_have_results_of_their_own(format: str, target: str, shared: bool) -> None:
    case = FrameCase(format, (48, 30), target, SIDE)
    calls, _, _ = contenders.competitors(case, with_peers=True)
    expected = stored(case)
    rotating = contenders.rotating(case, calls, 3, shared)
    assert rotating.keys() == calls.keys() and {len(every) for every in rotating.values()} == {3}
    for name in rotating.keys() - {"memcpy"}:
        results = [np.asarray(call()) for call in rotating[name]]
        for result in results:
            np.testing.assert_allclose(result.reshape(-1), expected, rtol=1e-5, atol=2e-6, err_msg=name)
        if np.shares_memory(results[0], np.asarray(rotating[name][0]())):
            assert np.shares_memory(results[0], results[1]) == shared, name


@pytest.mark.usefixtures("small_caches")
def test_a_row_has_three_states() -> None:
    row = measuring.measure(FrameCase("NV12", (48, 30), "int8 NHWC", SIDE), 0.01)
    assert row["key"] == "frame'" and {contenders.OURS, row["best_peer"]} <= row["times"].keys()
    assert set(row["cold"]) == {"source", "both"}
    for state in row["cold"].values():
        assert {contenders.OURS, "memcpy"} <= set(state["times"]) <= set(row["times"])  # without hopeless peers
