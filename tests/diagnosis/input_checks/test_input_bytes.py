"""Bytes of an input stored in other ways, against arrays that loops over the bytes make."""

from __future__ import annotations

from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import recorded_inputs
from npu_layout.diagnosis.input_checks.input_bytes import stored
from npu_layout.diagnosis.input_checks.input_pairs import InputPair

SIDE = 6
HOW: dict[str, Any] = {"color": "BGR", "mean": 100, "std": 50, "resize": "stretch"}
PIXELS = {"color": "BGR", "mean": 0, "std": 1, "resize": "stretch"}
FRAME = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3)).astype(np.uint8)
INT8 = nl.TensorSpec((1, 3, SIDE, SIDE), "NCHW", "int8", quantization=nl.Quantization(0.02, -28))
UINT8 = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8")
FLOAT = nl.TensorSpec((1, 3, SIDE, SIDE))
PLANES = FRAME.transpose(2, 0, 1)[None].astype(np.float32)


def changes(
    spec: nl.TensorSpec, how: Any = HOW, frame: np.ndarray = FRAME, recorded: Any = None
) -> dict[str, np.ndarray]:
    """{words: the input so made}; every one has the verdict of its bytes."""
    there = np.zeros(spec.shape, np.float32) if recorded is None else recorded
    pair = InputPair(spec, {0: frame}, 0, there, how)
    found = {}
    for change in stored(how, pair):
        assert change.verdict == "input_layout" and change.how is None
        assert change.words not in found
        found[change.words] = change.make(pair).values
    return found


def one(found: dict[str, np.ndarray], words: str) -> np.ndarray:
    (key,) = (key for key in found if key.startswith(words))
    return found[key]


def codes() -> np.ndarray:
    return np.clip(np.rint((PLANES - 100) / 50 / np.float32(0.02)) - 28, -128, 127).astype(int)


def test_the_sign_of_a_quantised_input() -> None:
    """The highest bit of a byte inverted: of int8 the code less 128, or 128 more. A step of noise is off by a step."""
    for noise in (0, 1, -1):
        noisy = np.clip(codes() + noise, -128, 127)
        recorded = np.array([(code - 128 if code >= 0 else code + 128) for code in noisy.ravel()])
        recorded = ((recorded.reshape(noisy.shape) + 28) * 0.02).astype(np.float32)
        found = one(changes(INT8, recorded=recorded), "the input with the highest bit of every byte inverted")
        assert found - recorded == pytest.approx((codes() - noisy) * 0.02, abs=1e-5)


def test_the_sign_of_pixels() -> None:
    """Of a pixel of 127 and one of 128 the bytes with another sign are 255 apart, and the pixels still 1."""
    for noise in (0, 1, -1):
        noisy = np.clip(PLANES.astype(int) + noise, 0, 255)
        recorded = ((noisy + 128) % 256).astype(np.float32)
        found = one(changes(UINT8, PIXELS, recorded=recorded), "the input with the highest bit of every byte inverted")
        assert np.array_equal(found - recorded, PLANES - noisy)


def test_pixels_stored_in_an_int8() -> None:
    """Those that it cannot store become 127, where pixels less 128 were declared, and where such an int8 is pixels."""
    words = "the pixels clamped at 127, and 128 not subtracted"
    found = one(changes(UINT8, PIXELS), words)
    assert all(found[place] == min(pixel, 127) + 128 for place, pixel in np.ndenumerate(PLANES))
    found = one(changes(INT8), words)
    for place, code in np.ndenumerate(codes()):
        pixel = round((code + 28) * 0.02 * 50 + 100)
        assert found[place] == pytest.approx((min(pixel, 127) + 28) * 0.02, rel=1e-5)


def test_clamped_pixels() -> None:
    found = one(changes(UINT8, PIXELS), "the input clamped at 127")
    assert all(found[place] == min(pixel, 127) for place, pixel in np.ndenumerate(PLANES))
    found = one(changes(INT8), "the input clamped at 127")
    for place, code in np.ndenumerate(codes()):
        assert found[place] == pytest.approx(min((code + 28) * 0.02, (127 - 100) / 50), rel=1e-5)


@pytest.mark.parametrize(("words", "cast"), [("rounded", round), ("cut off", int)])
def test_floats_that_became_integers(words: str, cast: Any) -> None:
    """Each value by itself; of a quantised input the integer is then read by its scale."""
    found = one(changes(UINT8, PIXELS), f"the pixels divided by 255 and {words}")
    assert all(found[place] == cast(float(pixel) / 255) for place, pixel in np.ndenumerate(PLANES))
    both = changes(INT8)
    unit, own = one(both, f"the pixels divided by 255 and {words}"), one(both, f"the input {words}")
    for place, code in np.ndenumerate(codes()):
        assert own[place] == pytest.approx((cast((code + 28) * 0.02) + 28) * 0.02, rel=1e-6)
        value = ((code + 28) * 0.02 * 50 + 100) / 255
        if abs(value % 1 - 0.5) > 1e-3 and abs(value - round(value)) > 1e-3:  # where float32 may decide
            assert unit[place] == pytest.approx((cast(value) + 28) * 0.02, rel=1e-6)


AS_INT8 = {
    "the input with the highest bit of every pixel inverted": lambda pixel: (pixel + 128) % 256,
    "the input with pixels of 128 and more negative": lambda pixel: pixel - 256 if pixel > 127 else pixel,
    "the input clamped at 127": lambda pixel: min(pixel, 127),
}


@pytest.mark.parametrize("words", AS_INT8)
def test_floats_of_pixels_that_were_int8(words: str) -> None:
    """The floats themselves have no highest bit: what was done came before mean and std."""
    found = one(changes(FLOAT), words)
    for place, pixel in np.ndenumerate(PLANES.astype(int)):
        assert found[place] == pytest.approx((AS_INT8[words](int(pixel)) - 100) / 50, rel=1e-5)


@pytest.mark.parametrize(("words", "cast"), [("rounded", round), ("cut off", int)])
def test_floats_through_integers(words: str, cast: Any) -> None:
    found = one(changes(FLOAT), f"the input {words} to integers")
    assert all(found[place] == cast((float(pixel) - 100) / 50) for place, pixel in np.ndenumerate(PLANES))


@pytest.mark.parametrize("std", [[50.0] * 3, [50.0, 40.0, 30.0]], ids=["one", "each"])
@pytest.mark.parametrize("axes", ["NCHW", "NHWC"])
def test_another_order(axes: str, std: list[float]) -> None:
    """The bytes of one order, taken one after the other, are read in the other one: before one std as after it."""
    spec = FLOAT if axes == "NCHW" else nl.TensorSpec((1, SIDE, SIDE, 3), axes="NHWC")
    found = changes(spec, {**HOW, "mean": 100, "std": std})
    pixels = PLANES[0].astype(np.float64)
    real = (pixels - 100) / np.reshape(std, (3, 1, 1))
    ends = {"": real} if len({*std}) == 1 else {"": real, " before mean and std": pixels}
    assert sum("stored as N" in words for words in found) == 2 * len(ends)
    for (wrong, meant), (end, values) in product((("NHWC", "NCHW"), ("NCHW", "NHWC")), ends.items()):
        got = found[f"the input stored as {wrong} and read as {meant}{end}"]
        if wrong == "NCHW":
            line = [values[c, y, x] for c in range(3) for y in range(SIDE) for x in range(SIDE)]
        else:
            line = [values[c, y, x] for y in range(SIDE) for x in range(SIDE) for c in range(3)]
        for c, y, x in product(range(3), range(SIDE), range(SIDE)):
            value = line[(c * SIDE + y) * SIDE + x if meant == "NCHW" else (y * SIDE + x) * 3 + c]
            place = (0, c, y, x) if axes == "NCHW" else (0, y, x, c)
            wanted = (value - 100) / std[c] if end else value
            assert got[place] == pytest.approx(wanted, rel=1e-5, abs=1e-6), (wrong, end, place)


def test_rows_with_a_pitch_read_without() -> None:
    """Rows of 18 bytes in memory of 32: every row but the first begins 14 bytes late.

    Nobody knows what is in the gaps: there the input is off what was recorded, here 0, by as much as it is off in the
    rest of the channel, unless nearly all of it is gap.
    """
    found = changes(FLOAT)
    words = [key for key in found if "rows had no padding" in key]
    assert [key[key.index("every ") + 6 : -1] for key in words] == ["32 bytes", "64 bytes", "128 bytes", "256 bytes"]
    for key in words:
        pitch = int(key.split("every ")[1].split()[0])
        memory = bytearray(SIDE * pitch)
        for y in range(SIDE):
            memory[y * pitch : y * pitch + 18] = FRAME[y].tobytes()
        read = {
            (c, y, x): ((memory[at] - 100) / 50, at % pitch < 18 or pitch > 64)
            for y, x, c in product(range(SIDE), range(SIDE), range(3))
            for at in [(y * SIDE + x) * 3 + c]
        }
        for (c, y, x), (value, known) in read.items():
            others = [v for place, (v, there) in read.items() if place[0] == c and there]
            wanted = value if known else (sum(v * v for v in others) / len(others)) ** 0.5
            assert found[key][0, c, y, x] == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("axes", ["NCHW", "NHWC"])
def test_planes_with_gaps_read_without(axes: str) -> None:
    """Planes of 60 bytes in memory of 64: those behind the first begin 4 and 8 bytes late.

    In the gaps the input is off what was recorded, here 0, by as much as in the rest of the channel.
    """
    shape = (1, 3, 6, 10) if axes == "NCHW" else (1, 6, 10, 3)
    frame = np.random.default_rng(1).integers(0, 256, (6, 10, 3)).astype(np.uint8)
    found = changes(nl.TensorSpec(shape, axes=axes), HOW, frame)
    got = one(found, "the input's planes read as if there were no gap between them (they begin every 64 elements)")
    memory = {
        c * 64 + y * 10 + x: (int(frame[y, x, c]) - 100) / 50 for c, y, x in product(range(3), range(6), range(10))
    }
    for c in range(3):
        read = [memory.get(c * 60 + k) for k in range(60)]
        known = [value for value in read if value is not None]
        off = (sum(value * value for value in known) / len(known)) ** 0.5
        for k, value in enumerate(read):
            y, x = divmod(k, 10)
            place = (0, c, y, x) if axes == "NCHW" else (0, y, x, c)
            assert got[place] == pytest.approx(off if value is None else value, rel=1e-5, abs=1e-6), place


def test_pitches_that_rows_have_already_are_left_out() -> None:
    frame = np.zeros((4, 32, 4), np.uint8)  # rows of 128 bytes: what is aligned to less has no gap
    spec, how = nl.TensorSpec((1, 4, 4, 32)), {"color": "RGBA", "source": "BGRA", "resize": "stretch"}
    words = [key for key in changes(spec, how, frame) if "rows" in key]
    assert words == ["the frame read as if its rows had no padding (they begin every 256 bytes)"]
    turned = np.asfortranarray(np.zeros((SIDE, SIDE, 3), np.uint8))
    assert not [key for key in changes(FLOAT, HOW, turned) if "rows" in key]  # it has no rows in memory


@pytest.mark.parametrize("axes", ["NCHW", "NHWC"])
def test_four_bytes_a_pixel_read_as_three(axes: str) -> None:
    """Of the input, or of the frame, each pixel with 255 behind it: every fourth byte is no colour."""
    spec = FLOAT if axes == "NCHW" else nl.TensorSpec((1, SIDE, SIDE, 3), axes="NHWC")
    found = changes(spec)
    memory = [value for pixel in FRAME.reshape(-1, 3) for value in (*map(int, pixel), 255)]
    for what in ("the input", "the frame"):
        got = found[f"{what} of four bytes a pixel read as if of three"]
        for c, y, x in product(range(3), range(SIDE), range(SIDE)):
            wanted = (memory[(y * SIDE + x) * 3 + c] - 100) / 50
            assert got[(0, c, y, x) if axes == "NCHW" else (0, y, x, c)] == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("axes", ["NCHW", "NHWC"])
@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
def test_width_and_height_in_each_others_place(axes: str, resize: str) -> None:
    """The frame is resized to 4 x 8 where 8 x 4 is read."""
    height, width = 4, 8
    spec = nl.TensorSpec((1, 3, height, width) if axes == "NCHW" else (1, height, width, 3), axes=axes)
    frame = np.random.default_rng(1).integers(0, 256, (width, height, 3)).astype(np.uint8)
    found = changes(spec, {**HOW, "resize": resize}, frame)
    words = [key for key in found if key.startswith("the frame resized to 4 x 8 pixels in place of 8 x 4")]
    assert [key.split("resize=")[1] for key in words] == [f"{resize!r})", "'stretch')"][: 1 + (resize != "stretch")]
    values = (frame.astype(np.float64) - 100) / 50
    if axes == "NCHW":
        line = [values[y, x, c] for c in range(3) for y in range(width) for x in range(height)]
    else:
        line = [values[y, x, c] for y in range(width) for x in range(height) for c in range(3)]
    for key in words:  # the frame has that size already
        assert found[key].ravel().tolist() == pytest.approx(line, rel=1e-5, abs=1e-6)
    assert not [key for key in changes(FLOAT) if "in place of" in key]


def test_a_border_alone_says_nothing_of_padded_rows() -> None:
    """Of a dim picture with noise, what is read of padded rows differs less than the noise; the border agrees."""
    rng, how = np.random.default_rng(0), {"color": "RGB", "std": 255, "resize": "letterbox"}
    still = [cv2.GaussianBlur(rng.normal(15, 14, (24, 32, 3)), (0, 0), 2) for _ in range(3)]
    recorded, fed = (
        [np.clip(np.rint(x + rng.normal(0, 2.2, x.shape)), 0, 255).astype(np.uint8) for x in still] for _ in range(2)
    )
    make = nl.Preprocessor(nl.TensorSpec((1, 3, 64, 64)), **how)
    runs = [({"image": make(one)[0], "frame": other}, {}) for one, other in zip(fed, recorded)]
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": how})).reports["image"]
    assert found.verdict == "match", str(found)
