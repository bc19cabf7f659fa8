"""Recorded inputs of every arithmetic, disturbed: what is no fault, what has a fix, and what is only said in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_changes import border
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair
from tests.support.input_bench import ARITHMETIC, DTYPES, FRAMES, SIDE, Bench, in_order, jpeg

CASES = [
    (arithmetic, dtype, list(FRAMES)[(i + j) % len(FRAMES)])
    for i, arithmetic in enumerate(ARITHMETIC)
    for j, dtype in enumerate(DTYPES)
]


@pytest.fixture(params=CASES, ids="-".join)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(*request.param)


@pytest.mark.parametrize("quality", [50, 70, 85])
def test_jpeg_is_no_fault(bench: Bench, quality: int) -> None:
    found = bench.of_frames(jpeg(quality))
    assert found.verdict == "match", str(found)


WRONG: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, str]] = {
    "mirrored": (lambda x: x[:, ::-1], "geometry", "mirrored from left to right"),
    "upside down": (lambda x: x[::-1], "geometry", "upside down, mirrored"),
    "rotated": (lambda x: x[::-1, ::-1], "geometry", "rotated by 180 degrees"),
    "brighter": (
        lambda x: cv2.add(x, (30, 30, 30, 0)),
        "preprocessing",
        "another brightness (the pixel values, plus 30)",
    ),
    "darker": (lambda x: (x * 0.6).astype(np.uint8), "preprocessing", ""),
    "black": (lambda x: x * 0, "preprocessing", ""),
    "gray": (lambda x: x * 0 + 128, "preprocessing", ""),
}


@pytest.mark.parametrize("what", WRONG)
def test_another_picture_has_no_fix(bench: Bench, what: str) -> None:
    change, verdict, words = WRONG[what]
    found = bench.of_frames(change)
    assert (found.verdict, found.fix) == (verdict, None), str(found)
    assert words in found.why and "forgotten" not in found.why and "twice" not in found.why, str(found)


@pytest.mark.parametrize(("right", "down", "words"), [(2, 0, "2 pixels to the right"), (0, -1, "1 pixel up")])
def test_a_shifted_input(bench: Bench, right: int, down: int, words: str) -> None:
    recorded = []
    for frame in bench.frames:
        move = np.array([[1, 0, right], [0, 1, down]], np.float32)
        image = bench.pixels(frame)[0].transpose(1, 2, 0)
        moved = cv2.warpAffine(image, move, (SIDE, SIDE), borderMode=cv2.BORDER_REPLICATE)
        recorded.append(bench.stored(moved.transpose(2, 0, 1)[None]))
    found = bench.judged(recorded)
    assert (found.verdict, found.fix) == ("geometry", None) and words in found.why, str(found)


@pytest.mark.parametrize("frames", list(FRAMES))
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("arithmetic", ["imagenet", "signed"])
def test_pixels_that_were_stored_without_mean_std_and_scale(arithmetic: str, dtype: str, frames: str) -> None:
    """They are nearly what was declared, because the quantization is: the fix makes the bytes, if they differ."""
    bench = Bench(arithmetic, dtype, frames)
    pixels = [np.rint(bench.pixels(frame)).astype(np.uint8) for frame in bench.frames]
    stored = [bench.spec.replace(quantization=None).pack((x ^ (0x80 * (dtype == "int8"))).view(dtype)) for x in pixels]
    found = bench.judged(stored)
    if arithmetic == "signed":
        assert found.verdict == "match", str(found)
        return
    assert "(pixels stored as they are) makes (within 0.0 pixel values" in found.why and found.fix, str(found)
    for frame, bytes_ in zip(bench.frames, stored):
        np.testing.assert_array_equal(nl.Preprocessor(bench.spec, **found.fix)(frame)[0].ravel(), bytes_.ravel())


@pytest.mark.parametrize("noise", [0.0, 2.0, 8.0])
@pytest.mark.parametrize("light", [0.93, 1.0, 1.07])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_noise_and_light_are_no_stored_pixels(dtype: str, light: float, noise: float) -> None:
    rng = np.random.default_rng(6)
    for frames in FRAMES:
        bench = Bench("imagenet", dtype, frames)
        found = bench.of_frames(
            lambda x: np.clip(np.rint(x * light + rng.normal(0, noise, x.shape)), 0, 255).astype(np.uint8)
        )
        assert "stored as they are" not in found.why, str(found)


@pytest.mark.parametrize("value", [0, 90])
def test_an_input_of_one_colour_is_nothing_of_the_frame(bench: Bench, value: int) -> None:
    """Any change that makes nearly one colour of every frame agrees with it."""
    for resize in ("stretch", "crop"):
        bench.how["resize"] = resize
        found = bench.of_frames(lambda x: x * 0 + value)
        assert found.verdict == "preprocessing" and found.fix is None, str(found)
        assert "no known change explains that" in found.why, str(found)


def test_the_frame_before(bench: Bench) -> None:
    late = [bench.frames[-1], *bench.frames[:-1]]
    found = bench.judged([bench.stored(bench.pixels(frame)) for frame in late])
    if "previous frame makes" not in found.why:  # the first has none before it; the clip's last is no neighbour of it
        assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
    else:
        assert (found.verdict, found.fix) == ("wrong_input", None)


@pytest.mark.parametrize("change", [{"color": "BGR"}, {"resize": "stretch"}, {"pad_value": 0}], ids=str)
def test_a_fix_makes_the_stored_integers(bench: Bench, change: dict[str, Any]) -> None:
    found = bench.of_frames(lambda x: x, **change)
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    arguments = {k: v for k, v in found.fix.items() if not (bench.is_pixels and k in ("mean", "std"))}
    wanted = bench.stored(bench.pixels(bench.frames[0], **change)).astype(np.float64).ravel()
    made = nl.Preprocessor(bench.spec, **arguments)(bench.frames[0])[0].ravel()
    assert np.abs(made - wanted).max() <= (1e-5 if bench.spec.dtype == "float32" else 1)


def test_a_mean_and_std_that_saturate_are_never_a_fix() -> None:
    for arithmetic, dtype in (("imagenet", "uint8"), ("imagenet", "int8"), ("signed", "int8"), ("unit", "int16")):
        bench = Bench(arithmetic, dtype, "texture")
        found = bench.of_frames(lambda x: x, mean=0, std=1)
        assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
        assert "mean and std forgotten" in found.why, str(found)


BYTES = [("imagenet", "int8"), ("unit", "uint8"), ("signed", "int8"), ("plain", "uint8")]


@pytest.mark.parametrize(("arithmetic", "dtype"), BYTES)
def test_bytes_of_another_sign(arithmetic: str, dtype: str) -> None:
    bench = Bench(arithmetic, dtype, "texture")
    made = [bench.stored(bench.pixels(frame)) for frame in bench.frames]
    found = bench.judged([(x.view(np.uint8) ^ 0x80).view(x.dtype) for x in made])
    assert (found.verdict, found.fix) == ("input_layout", None) and "highest bit" in found.why, str(found)
    found = bench.judged([bench.stored(np.minimum(bench.pixels(frame), 127)) for frame in bench.frames])
    assert (found.verdict, found.fix) == ("input_layout", None) and "clamped at 127" in found.why, str(found)


def test_bytes_in_another_order(bench: Bench) -> None:
    recorded = []
    for frame in bench.frames:
        pixels = bench.pixels(frame)
        recorded.append(bench.stored(pixels.transpose(0, 2, 3, 1).reshape(pixels.shape)))
    found = bench.judged(recorded)
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "stored as NHWC and read as NCHW" in found.why


def test_a_frame_whose_pitch_is_ignored() -> None:
    """Rows of 3 * 250 bytes begin every 768 bytes, and are read one behind the other."""
    for arithmetic, dtype in BYTES:
        bench = Bench(arithmetic, dtype, "texture")
        bench.frames = [np.ascontiguousarray(np.tile(f, (1, 2, 1))[:, :250]) for f in bench.frames]
        padded = [np.pad(f.reshape(len(f), -1), ((0, 0), (0, 18))) for f in bench.frames]
        read = [p.ravel()[: f.size].reshape(f.shape) for p, f in zip(padded, bench.frames)]
        found = bench.judged([bench.stored(bench.pixels(frame)) for frame in read])
        assert (found.verdict, found.fix) == ("input_layout", None) and "every 768 bytes" in found.why, str(found)


@pytest.mark.parametrize("value", [1, 50, 128, 200])
def test_any_border_value_is_a_fix(value: int) -> None:
    for arithmetic, dtype in (*BYTES, ("imagenet", "float32")):
        bench = Bench(arithmetic, dtype, "walk")
        found = bench.of_frames(lambda x: x, pad_value=value)
        assert found.verdict == "preprocessing" and abs(found.fix["pad_value"] - value) <= (dtype == "int8"), str(found)


@pytest.mark.parametrize("value", [[114, 0, 0], [0, 0, 255], [124, 116, 104]])
def test_any_border_colour_is_a_fix(value: list[int]) -> None:
    for arithmetic, dtype in (*BYTES, ("imagenet", "float32")):
        bench = Bench(arithmetic, dtype, "walk")
        found = bench.of_frames(lambda x: x, pad_value=value)
        assert found.verdict == "preprocessing" and np.allclose(found.fix["pad_value"], value, atol=1), str(found)


def test_a_usual_border_value_is_said_where_coarse_integers_hold_it() -> None:
    """114 is stored as 46 steps of two and a half pixel values, which are 115; 99 as 40 steps, which are 100."""
    bench = Bench("imagenet", "int8", "walk")
    bench.spec = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "int8", quantization=nl.Quantization(2.5 / 57.4, 0))
    bench.how = {**bench.how, "mean": 0, "std": 57.4, "pad_value": 0}
    for value, said in ((114, "114"), (99, "100")):
        found = bench.of_frames(lambda x: x[:, ::-1], pad_value=value)
        assert f"pad_value={said} with the frame mirrored from left to right" in found.why, str(found)


def test_the_default_border_is_as_declared_where_the_recording_does_not_say_it() -> None:
    """114, which a Preprocessor makes of the arguments of the recording; noise, because equal pixels are no change."""
    bench, rng = Bench("signed", "float32", "walk"), np.random.default_rng(0)
    how, frames = bench.how, dict(enumerate(bench.frames))
    for pad, said in ((114, []), (90, ["pad_value=90"])):
        made = [bench.pixels(frame, pad_value=pad) for frame in bench.frames]
        noisy = [bench.stored(np.clip(x + rng.normal(0, 0.3, x.shape), 0, 255)) for x in made]
        pairs = [InputPair(bench.spec, frames, i, x.reshape(bench.spec.shape), how) for i, x in enumerate(noisy)]
        assert [change.words for change in border(how, pairs)] == said


def of_matrix(frame: np.ndarray, written: tuple[float, float], read: tuple[float, float]) -> np.ndarray:
    """BGR whose Y, Cb and Cr have the weights `written` of red and blue, read with others: two matrices of 3 x 3."""

    def to_rgb(red: float, blue: float) -> np.ndarray:
        inverse = np.array([[1, 0, 2 - 2 * red], [1, 0, 0], [1, 2 - 2 * blue, 0]])
        inverse[1, 1:] = [-blue * (2 - 2 * blue) / (1 - red - blue), -red * (2 - 2 * red) / (1 - red - blue)]
        return inverse

    made = frame[..., ::-1] @ (to_rgb(*read) @ np.linalg.inv(to_rgb(*written))).T
    return np.clip(np.rint(made), 0, 255).astype(np.uint8)[..., ::-1]


COLOURS = {
    "in gray": lambda x: cv2.cvtColor(cv2.cvtColor(x, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR),
    "U and V exchanged": lambda x: cv2.cvtColor(cv2.cvtColor(x, cv2.COLOR_BGR2YUV)[..., [0, 2, 1]], cv2.COLOR_YUV2BGR),
    "BT.709 read as those of BT.601": lambda x: of_matrix(x, (0.2126, 0.0722), (0.299, 0.114)),
    "BT.601 read as those of BT.709": lambda x: of_matrix(x, (0.299, 0.114), (0.2126, 0.0722)),
    "a gamma of": lambda x: np.rint(255 * (x / 255) ** 2.2).astype(np.uint8),
}


@pytest.mark.parametrize("what", COLOURS)
def test_other_colours(what: str) -> None:
    for arithmetic, dtype in (*BYTES, ("imagenet", "float32")):
        found = Bench(arithmetic, dtype, "texture").of_frames(COLOURS[what])
        assert (found.verdict, found.fix) == ("preprocessing", None) and what in found.why, str(found)


SOURCES = ("RGB", "RGBA", "BGRA")


def in_bgr(change: Callable[[np.ndarray], np.ndarray], source: str) -> Callable[[np.ndarray], np.ndarray]:
    """A change of BGR frames, of frames in another order."""
    return lambda x: in_order(change(np.stack([x[..., source.index(k)] for k in "BGR"], 2)), source)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("what", COLOURS)
def test_other_colours_of_frames_in_other_orders(what: str, source: str) -> None:
    for arithmetic, dtype in (BYTES[0], ("imagenet", "float32")):
        found = Bench(arithmetic, dtype, "texture", source).of_frames(in_bgr(COLOURS[what], source))
        assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
        assert "it is what the frame " in found.why and what in found.why and "red weighed" not in found.why, str(found)


@pytest.mark.parametrize("source", SOURCES)
def test_red_weighed_as_blue_is_not_gray(source: str) -> None:
    """Which of two grays it is depends on where the frame has its red."""
    exchanged = in_bgr(lambda x: COLOURS["in gray"](np.ascontiguousarray(x[..., ::-1])), source)
    found = Bench("imagenet", "float32", "texture", source).of_frames(exchanged)
    assert "the frame in gray, red weighed as blue" in found.why, str(found)


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("source", SOURCES)
def test_frames_in_other_orders_without_a_fault(source: str, frames: str) -> None:
    """As declared, under noise, of JPEG files, and of gray scenes: no colours are accused."""
    for arithmetic, dtype in (BYTES[0], ("imagenet", "float32")):
        bench = Bench(arithmetic, dtype, frames, source)
        assert bench.of_frames(lambda x: x).verdict == "match"
        loss = bench.of_frames(in_bgr(jpeg(70), source))
        assert loss.verdict == "match", str(loss)
        noise = np.random.default_rng(1).normal(0, 12, bench.frames[0].shape)
        noisy = bench.of_frames(lambda x, noise=noise: np.clip(x + noise, 0, 255).astype(np.uint8))
        assert noisy.fix is None and "U and V" not in noisy.why and "gray" not in noisy.why, str(noisy)
        bench.frames = [in_bgr(COLOURS["in gray"], source)(frame) for frame in bench.frames]
        assert bench.of_frames(lambda x: x).verdict == "match"


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16])
@pytest.mark.parametrize("side", ["first rows", "last rows", "first columns", "last columns"])
def test_a_frame_without_some_lines(side: str, count: int) -> None:
    """As where 1088 rows are stored of 1080; another number of them, which is nearly the same, is not named."""
    bench = Bench(next(iter(ARITHMETIC)), "float32", "texture")
    which, what = side.split()
    kept = slice(count, None) if which == "first" else slice(None, -count)
    found = bench.of_frames(lambda x: x[kept] if what == "rows" else x[:, kept])
    lines = what[:-1] if count == 1 else f"{count} {what}"
    assert (found.verdict, found.fix) == ("geometry", None), str(found)
    assert f"the frame without its {which} {lines} makes" in found.why, found.why


def test_more_lines_than_are_tried_are_not_called_fewer() -> None:
    bench = Bench(next(iter(ARITHMETIC)), "float32", "walk")
    for count in (18, 21):
        found = bench.of_frames(lambda x, count=count: x[count:])
        assert "without its" not in found.why, str(found)


@pytest.mark.parametrize(
    "words, index",
    [
        ("mirrored from left to right", np.s_[..., ::-1]),
        ("mirrored from top to bottom", np.s_[:, :, ::-1]),
        ("rotated by 180 degrees", np.s_[:, :, ::-1, ::-1]),
    ],
)
def test_an_input_that_is_turned_with_its_border(words: str, index: Any) -> None:
    """The border is at the right and at the bottom of what is made of a turned frame, too: here it is not."""
    how = {"color": "RGB", "mean": 100, "std": 50, "resize": "letterbox_top_left"}
    frames = [np.random.default_rng(k).integers(0, 256, size).astype(np.uint8) for k, size in enumerate(SIZES)]
    maker, runs = nl.Preprocessor(nl.TensorSpec((1, 3, 32, 32)), **how), []
    for frame in frames:
        x = np.ascontiguousarray(maker(frame)[0].reshape(1, 3, 32, 32)[index])
        runs.append(({"image": x, "frame": frame}, {"y": np.zeros(4, np.float32)}))
    report = recorded_inputs(nl.Recording({"y": nl.TensorSpec((1, 4), "NC")}, runs, {"preprocess": how})).reports[
        "image"
    ]
    assert report.verdict == "geometry" and report.fix is None and f"what the input {words} makes" in report.why, (
        report.why
    )


SIZES = ((24, 40, 3), (40, 24, 3), (30, 40, 3))


@pytest.mark.parametrize("source", ["BGRX", "RGBX", "BGRA"])
@pytest.mark.parametrize("of_memory", [False, True])
def test_frames_whose_fourth_channel_is_nothing(source: str, of_memory: bool) -> None:
    """As GStreamer's BGRx: noise is no fault, gray is named, and what nothing explains is not."""
    target, rng = nl.TensorSpec((1, 3, 24, 32), "NCHW", "float32", name="x"), np.random.default_rng(2)
    make = nl.Preprocessor(target, source=nl.FrameSpec(source, (48, 36)) if of_memory else source, std=255)
    places = list(map(source.index, "BGR"))
    frames, inputs = [], []
    for _ in range(2):
        frame = np.full((36, 48, 4), 77, np.uint8)
        frame[..., places] = cv2.resize(rng.integers(0, 256, (5, 6, 3)).astype(np.uint8), (48, 36))
        gray = frame.copy()
        gray[..., places] = cv2.cvtColor(np.ascontiguousarray(frame[..., places]), cv2.COLOR_BGR2GRAY)[..., None]
        as_given = [x.ravel() if of_memory else x for x in (frame, gray)]
        frames.append(as_given[0])
        made, made_gray = (make(x)[0] for x in as_given)
        noisy = (made + rng.normal(0, 3 / 255, made.shape)).astype(np.float32)
        inputs.append((noisy, made_gray, 1 - made))
    for k, (verdict, words) in enumerate(
        (("match", "noise"), ("preprocessing", "the frame in gray makes"), ("preprocessing", "no known change"))
    ):
        runs = [({"x": made[k], "frame": frame}, {}) for made, frame in zip(inputs, frames)]
        found = recorded_inputs(nl.Recording({"x": target}, runs, {"preprocess": make.arguments})).reports["x"]
        assert found.verdict == verdict and words in found.why, str(found)
