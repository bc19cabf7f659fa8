"""Inputs that are recorded as declared, and that the device sees in another way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import PreparedImage, variants
from npu_layout.diagnosis.other_inputs.device_inputs import SeenInput, of_integers, seen
from tests.diagnosis.input_checks.test_input_changes import of_matrix
from tests.support.boards import PRE, SIDE, Board

BT601, BT709 = (0.299, 0.114), (0.2126, 0.0722)  # the weights of red and blue
MEAN, STD = (np.array(PRE[key])[None, :, None, None] for key in ("mean", "std"))


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def by_byte(function: Callable[[int], int]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of every byte of (H, W, RGB)."""
    table = np.array([function(code) for code in range(256)], np.float64)
    return lambda image: table[image]


def gray(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)


def u_and_v(image: np.ndarray) -> np.ndarray:
    y, u, v = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2YUV))
    return cv2.cvtColor(cv2.merge([y, v, u]), cv2.COLOR_YUV2RGB)


def moved(right: int, down: int, beyond: int = cv2.BORDER_WRAP) -> Callable[[np.ndarray], np.ndarray]:
    """Shifted; what leaves at one side comes in at the other, or `beyond` says what comes in."""
    by = np.float64([[1, 0, right], [0, 1, down]])
    size = SIDE, SIDE
    return lambda image: cv2.warpAffine(image, by, size, flags=cv2.INTER_NEAREST, borderMode=beyond)


def shifts() -> Iterator[tuple[str, tuple[str, str, Callable[[np.ndarray], np.ndarray]]]]:
    """Yield the ids of all shifts, with what WAYS says of each."""
    for by, pixels in ((1, "1 pixel"), (2, "2 pixels or more")):
        for axis, sign, where in ((2, 1, "to the right"), (2, -1, "to the left"), (1, 1, "down"), (1, -1, "up")):
            right, down = (sign * by, 0) if axis == 2 else (0, sign * by)
            for fill, beyond in (("", cv2.BORDER_WRAP), (" edge", cv2.BORDER_REPLICATE)):
                way = "geometry", f"{where} by {pixels}.", moved(right, down, beyond)
                yield f"shift {axis} {sign * by}{fill}", way


def apart(pitch: int) -> Callable[[np.ndarray], np.ndarray]:
    """Planes behind each other in memory, read as if each began `pitch` bytes behind the one before it."""

    def change(image: np.ndarray) -> np.ndarray:
        memory = b"".join(image[..., c].tobytes() for c in range(3)) + bytes(3 * pitch)
        read = [memory[c * pitch : c * pitch + SIDE * SIDE] for c in range(3)]
        return np.stack([np.frombuffer(plane, np.uint8).reshape(SIDE, SIDE) for plane in read], -1)

    return change


def rows_apart(pitch: int, planes: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Rows behind each other in memory, of pixels or of planes, read as if each began `pitch` bytes behind the last."""

    def change(image: np.ndarray) -> np.ndarray:
        given = np.ascontiguousarray(image.transpose(2, 0, 1)) if planes else image
        row, memory = given.shape[-1] * (1 if planes else SIDE), given.tobytes()
        count = len(memory) // row
        memory += bytes(count * pitch)
        read = b"".join(memory[k * pitch : k * pitch + row] for k in range(count))
        shaped = np.frombuffer(read, np.uint8).reshape(given.shape)
        return shaped.transpose(1, 2, 0) if planes else shaped

    return change


# {the id of the way: (the verdict, words, what makes it of an RGB image)}
WAYS: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray]]] = {
    "sign": ("input_layout", "highest bit", by_byte(lambda c: c ^ 128)),
    "signed": ("input_layout", "are negative", by_byte(lambda c: int(np.array(c, np.uint8).view(np.int8)))),
    "negative": ("input_layout", "more are 0", by_byte(lambda c: c if c < 128 else 0)),
    "clamped": ("input_layout", "clamped at 127", by_byte(lambda c: min(c, 127))),
    "gray": ("preprocessing", "in gray", gray),
    "u and v": ("preprocessing", "U and V exchanged", u_and_v),
    "bt709": ("preprocessing", "BT.709 read as", lambda x: of_matrix(x[..., ::-1], BT709, BT601)[..., ::-1]),
    "bt601": ("preprocessing", "BT.601 read as", lambda x: of_matrix(x[..., ::-1], BT601, BT709)[..., ::-1]),
    "gamma 2.20": ("preprocessing", "gamma of 2.2", by_byte(lambda c: round(255 * (c / 255) ** 2.2))),
    "gamma 0.45": ("preprocessing", "gamma of 0.455", by_byte(lambda c: round(255 * (c / 255) ** (1 / 2.2)))),
    "negative picture": ("preprocessing", "as a negative", by_byte(lambda c: 255 - c)),
    "brightness 0.5": ("preprocessing", "0.5 times", by_byte(lambda c: c >> 1)),
    "brightness 2": ("preprocessing", "2 times", by_byte(lambda c: min(2 * c, 255))),
    "mirrored": ("geometry", "left to right", lambda image: cv2.flip(image, 1)),
    "upside down": ("geometry", "top to bottom", lambda image: cv2.flip(image, 0)),
    "turned 180": ("geometry", "by 180", lambda image: cv2.rotate(image, cv2.ROTATE_180)),
    "turned clockwise": (
        "geometry",
        "90 degrees clockwise",
        lambda image: cv2.rotate(image, cv2.ROTATE_90_CLOCKWISE),
    ),
    "turned counterclockwise": (
        "geometry",
        "90 degrees counterclockwise",
        lambda image: cv2.rotate(image, cv2.ROTATE_90_COUNTERCLOCKWISE),
    ),
    "transposed": ("geometry", "transposed", cv2.transpose),
    **dict(shifts()),
    "planes 3072": ("input_layout", "planes are read every 3072 elements, but are 2304 long", apart(3072)),
    "rows 192": ("input_layout", "rows of pixels are read every 192 elements, but are 144", rows_apart(192, False)),
    "rows of planes 64": ("input_layout", "rows of planes are read every 64 elements", rows_apart(64, True)),
}


def on_images(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def changed(x: np.ndarray) -> np.ndarray:
        image = np.rint(x * STD + MEAN)[0].transpose(1, 2, 0).astype(np.uint8)
        pixels = np.asarray(change(np.ascontiguousarray(image)), np.float64).transpose(2, 0, 1)[None]
        return np.ascontiguousarray((pixels - MEAN) / STD, np.float32)

    return changed


def test_there_is_a_case_for_every_way() -> None:
    assert list(WAYS) == [way.id for way in seen((1, SIDE, SIDE, 3), "RGB")]
    squares = {"turned clockwise", "turned counterclockwise", "transposed"}
    assert not squares & {way.id for way in seen((1, 4, 8, 3), "RGB")}
    assert not {"gray", "u and v", "bt709", "bt601"} & {way.id for way in seen((1, 4, 8, 1), "GRAY")}


@pytest.mark.parametrize("way", list(seen((1, SIDE, SIDE, 3), "RGB")), ids=lambda way: way.id)
def test_the_pixels_are_those_of_opencv(way: SeenInput) -> None:
    image = np.random.default_rng(2).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    made = way.change(image[None].astype(np.float64))
    expected = np.asarray(WAYS[way.id][2](image), np.float64)
    far = 1.5 if way.cause == "preprocessing" else 0  # rounded by OpenCV
    if way.id == "u and v":  # what OpenCV clamps in U and V
        inner = (u_and_v(image) > 8) & (u_and_v(image) < 247)
        made, expected = made[0][inner], expected[inner]
        assert np.median(np.abs(made - expected)) < far
        return
    np.testing.assert_allclose(made[0], expected, atol=far, rtol=0)
    if way.id.startswith(("planes", "rows")):  # which are not those of red, green and blue
        return
    turned = [w for w in seen((1, SIDE, SIDE, 3), "BGR") if w.id == way.id]
    of_bgr = turned[0].change(image[None, ..., ::-1].astype(np.float64))
    np.testing.assert_allclose(of_bgr, made[..., ::-1], rtol=1e-12)


@pytest.mark.parametrize("name", WAYS)
def test_it_is_named(board: Board, name: str) -> None:
    verdict, words, change = WAYS[name]
    output = board.verdict(board.recording(None, board.fed(on_images(change))))
    assert (output.verdict, output.fix) == (verdict, None), str(output)
    assert words in output.why and "Fix: " in output.why, output.why


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_shift_is_one_cause_whatever_comes_in(board: Board, wrapped: bool) -> None:
    """Where the edges are nearly alike, the data do not tell both fillings: one mistake, not two that are as good."""
    rng, runs = np.random.default_rng(0), []
    for whole in board.inputs:
        x = whole.copy()
        for columns in (x[..., :3], x[..., -3:]):
            columns[...] = 0.05 * rng.standard_normal(columns.shape)
        moved = np.concatenate([x[..., -1:] if wrapped else x[..., :1], x[..., :-1]], -1)
        y = board.engine.infer(moved)["maps"]
        noisy = y + 0.1 * y.std() * rng.standard_normal(y.shape)
        runs.append(({"image": x}, {"maps": board.spec.pack(noisy.astype(np.float32))}))
    output = board.verdict(nl.Recording({"maps": board.spec}, runs, {"preprocess": PRE}))
    assert output.verdict == "geometry" and "to the right by 1 pixel." in output.why, str(output)
    assert [c.text for c in output.ranking].count("the input is shifted to the right by 1 pixel") == 1


@pytest.mark.parametrize("beyond", [cv2.BORDER_WRAP, cv2.BORDER_REPLICATE])
@pytest.mark.parametrize(
    ("right", "down", "words"), [(1, 2, ("right by 1 pixel", "down by 2")), (-2, -1, ("left by 2", "up by 1"))]
)
def test_a_shift_along_both_axes_is_named_with_both(
    board: Board, right: int, down: int, words: tuple[str, str], beyond: int
) -> None:
    """That along one of them alone is a part of it."""
    rng, device = np.random.default_rng(3), board.fed(on_images(moved(right, down, beyond)))
    noisy = [board.spec.unpack(d["maps"]) for d in device]
    noisy = [y + 0.05 * y.std() * rng.standard_normal(y.shape) for y in noisy]
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(y.astype(np.float32))} for y in noisy]))
    across, along = words
    assert (output.verdict, output.fix) == ("geometry", None), str(output)
    assert re.search(f"shifted to the {across}.* and {along}", output.why), output.why


@pytest.mark.parametrize("right", [3, -3])
def test_a_larger_shift_is_not_said_to_be_the_largest_one_that_is_tried(board: Board, right: int) -> None:
    output = board.verdict(board.recording(None, board.fed(on_images(moved(right, 0, cv2.BORDER_REPLICATE)))))
    assert output.verdict == "geometry" and "by 2 pixels or more." in output.why, str(output)


@pytest.mark.parametrize("fed", [True, False])
@pytest.mark.parametrize("name", ["bt709", "bt601"])
def test_a_small_change_beside_noise_is_named_if_every_frame_and_channel_has_it(
    board: Board, name: str, fed: bool
) -> None:
    """As declared 14 dB are explained, and 4 dB more otherwise; noise as large as that change is none."""
    change, (_, words, _) = on_images(WAYS[name][2]), WAYS[name]
    for seed in range(2):
        rng, device = np.random.default_rng(seed), []
        for x, answer in zip(board.inputs, board.answers):
            y = board.engine.infer(change(x))["maps"] if fed else answer["maps"]
            noisy = y + (0.105 if fed else 0.16) * y.std() * rng.standard_normal(y.shape)
            device.append({"maps": board.spec.pack(noisy.astype(np.float32))})
        output = board.verdict(board.recording(None, device))
        assert output.verdict == ("preprocessing" if fed else "match"), str(output)
        assert not fed or words in output.why


@pytest.mark.parametrize(("name", "words"), [("rint", "rounded to whole"), ("trunc", "cut off to whole")])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_floats_that_became_integers(board: Board, name: str, words: str, noise: float) -> None:
    rng = np.random.default_rng(0)
    fed = []
    for x in board.inputs:
        whole = [int(v) if name == "trunc" else round(float(v)) for v in x.ravel()]
        y = board.engine.infer(np.array(whole, np.float32).reshape(x.shape))["maps"]
        noisy = (y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32)
        fed.append({"maps": board.spec.pack(noisy)})
    output = board.verdict(board.recording(None, fed))
    assert (output.verdict, output.fix) == ("input_layout", None) and words in output.why, str(output)


def test_planes_of_whole_pages_have_no_gap() -> None:
    """Nor are those tried of which most of the last one would be unknown, and those of one channel."""

    def pitches(*shape: int) -> list[str]:
        return [way.id for way in seen(shape, "RGB"[: shape[3]]) if way.id.startswith("planes")]

    assert pitches(1, 128, 128, 3) == pitches(1, 80, 96, 1) == pitches(1, 2, 3, 3) == []
    assert pitches(1, 224, 224, 3) == ["planes 53248", "planes 65536"]


def test_inputs_of_whole_numbers_are_not_rounded() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 8)).astype(np.float32)
    ids = {v.id for v in variants(PreparedImage(pixels, (0.0, 255.0), {"preprocess": {"mean": 0, "std": 1}}))}
    assert not {("device", "rounded"), ("device", "cut off")} & ids


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_noise_is_none_of_them(board: Board, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spoiled = board.changed(lambda y: (y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32))
    output = board.verdict(board.recording(None, spoiled))
    assert output.verdict in ("match", "mismatch", "ambiguous") and output.fix is None, str(output)
    assert output.verdict == "match" or noise > 0.1, str(output)


def test_a_way_that_is_hardly_another_input_is_not_tried() -> None:
    """A gray picture in gray, and one of a single value moved."""
    flat = np.full((1, 3, SIDE, SIDE), 100.0, np.float32)
    ids = {variant.id for variant in variants(PreparedImage(flat, (0.0, 255.0), {"preprocess": {"mean": 0, "std": 1}}))}
    assert not {("device", name) for name in WAYS if WAYS[name][0] == "geometry" or name == "gray"} & ids
    assert ("device", "clamped") not in ids and ("device", "sign") in ids


@pytest.mark.parametrize(("mean", "std"), [(128, 256), (0, 255), (123.675, 58.395), (104, 57.12)])
def test_pixels_that_mean_and_std_leave_nearly_whole_are_their_bytes(mean: float, std: float) -> None:
    """In float32 some 128 become less than 128, whose byte is that of 127 if they are cut."""
    codes = np.arange(256, dtype=np.float32).reshape(1, 1, 16, 16)
    x = (codes - np.float32(mean)) * (np.float32(1) / np.float32(std))
    made = {v.id[1]: v.x for v in variants(PreparedImage(x, (-3, 3), {"preprocess": {"mean": mean, "std": std}}))}
    for name in ("sign", "signed", "negative", "clamped"):
        np.testing.assert_allclose(made[name] * std + mean, WAYS[name][2](codes.astype(int)), atol=1e-2)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_stored_bytes_are_read_as_the_other_dtype(dtype: str) -> None:
    codes = np.arange(256, dtype=np.uint8).view(dtype)
    ways = {
        way.id: way.change(codes.astype(np.float64)[None, None, :, None]).ravel() for way in of_integers(codes.dtype)
    }
    np.testing.assert_array_equal(ways["sign"], (codes.view(np.uint8) ^ 0x80).view(dtype))
    np.testing.assert_array_equal(ways["signed"], codes.view("uint8" if dtype == "int8" else "int8"))


def quantised(board: Board, dtype: str) -> nl.TensorSpec:
    """One scale for all channels, whose means and deviations differ: an integer is no pixel value."""
    values = np.stack(board.inputs)
    low, high = float(values.min()), float(values.max())
    scale = (high - low) / 255
    zero_point = round(np.iinfo(dtype).min - low / scale)
    return nl.TensorSpec(board.inputs[0].shape, "NHWC", dtype, quantization=nl.Quantization(scale, zero_point))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("inverted", [True, False])
def test_the_sign_of_a_quantised_input(board: Board, dtype: str, noise: float, inverted: bool) -> None:
    spec, rng, frames = quantised(board, dtype), np.random.default_rng(0), []
    for x in board.inputs:
        stored = spec.pack(x)
        fed = (stored.view(np.uint8) ^ 0x80).view(dtype) if inverted else stored
        y = board.engine.infer(spec.unpack(fed).astype(np.float32))["maps"]
        noisy = (y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32)
        frames.append(({"image": stored}, {"maps": board.spec.pack(noisy)}))
    specs = {"maps": board.spec, "image": spec}
    output = board.verdict(nl.Recording(specs, frames, {"preprocess": PRE}))
    assert output.verdict == ("input_layout" if inverted else "match"), str(output)
    assert not inverted or "highest bit" in output.why


def test_a_picture_that_is_smaller_than_the_shift_is_its_edge() -> None:
    pixels = np.arange(6.0).reshape(1, 3, 1, 2)
    for way in seen(pixels.shape, "YU"):
        if way.id.endswith(" edge"):
            wanted = pixels if way.id.startswith("shift 2") else None
            if wanted is None:
                by = int(way.id.split()[2])
                wanted = pixels[:, [min(max(row - by, 0), 2) for row in range(3)]]
            assert np.array_equal(way.change(pixels), wanted), way.id
