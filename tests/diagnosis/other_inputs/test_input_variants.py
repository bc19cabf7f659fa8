"""Inputs that were made in another way than declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import BOTH, PreparedImage, image_size, variants
from tests.support.boards import PRE, SHAPE, SIDE, Board, picture


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


MEAN, STD = (np.array(PRE[key])[None, :, None, None] for key in ("mean", "std"))


REMADE = {
    "BGR": (lambda x: ((x * STD + MEAN)[:, ::-1] - MEAN) / STD, {"color": "BGR"}),
    "BGR after": (lambda x: x[:, ::-1], {"color": "BGR", "mean": PRE["mean"][::-1], "std": PRE["std"][::-1]}),
    "raw": (lambda x: x * STD + MEAN, {"mean": [0.0] * 3, "std": [1.0] * 3}),
    "no mean": (lambda x: (x * STD + MEAN) / STD, {"mean": [0.0] * 3}),
    "twice": (lambda x: (x - MEAN / 255) / (STD / 255), {}),
}


@pytest.mark.parametrize("what", REMADE)
def test_preprocessing(board: Board, what: str) -> None:
    change, fix = REMADE[what]
    output = board.verdict(board.recording(None, board.fed(lambda x: change(x).astype(np.float32))))
    assert output.verdict == "preprocessing", str(output)
    assert {k: output.fix[k] for k in fix} == fix
    pixels = board.inputs[0] * STD + MEAN
    if output.fix["color"] == "BGR":
        pixels = pixels[:, ::-1]
    mean, std = (np.array(output.fix[key])[None, :, None, None] for key in ("mean", "std"))
    np.testing.assert_allclose((pixels - mean) / std, change(board.inputs[0]), rtol=1e-3, atol=1e-3)


def test_input_bytes_in_another_layout(board: Board) -> None:
    def shuffled(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(x.shape)

    output = board.verdict(board.recording(None, board.fed(shuffled)))
    assert output.verdict == "preprocessing" and str(output.fix["target"].layout) == "NHWC", str(output)


@pytest.mark.parametrize(
    ("done", "says"),
    [
        ({"resize": "stretch"}, ": stretch instead of letterbox"),
        ({"resize": "letterbox_top_left"}, ": letterbox_top_left instead of letterbox"),
        ({"pad_value": 0}, ": a border of 0 instead of 114"),
    ],
)
def test_the_way_the_frame_was_fitted(board: Board, done: dict[str, Any], says: str) -> None:
    fitted = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **{**PRE, **done})
    outputs = [{"maps": board.spec.pack(board.engine.infer(fitted(f)[0])["maps"])} for f in board.frames]
    output = board.verdict(board.recording(None, outputs))
    assert output.verdict == "preprocessing" and output.fix == {**PRE, **done} and says in output.why, str(output)


def test_mean_and_std_that_no_preprocessor_takes_are_still_looked_at(board: Board) -> None:
    """Recordings from elsewhere may declare them in units of 0 to 1; the fault of these is another."""
    units = {**PRE, "mean": [m / 255 for m in PRE["mean"]], "std": [s / 255 for s in PRE["std"]]}
    pixels = [board.preprocessor(f)[0] * STD + MEAN for f in board.frames]
    inputs = [((p - MEAN / 255) / (STD / 255)).astype(np.float32) for p in pixels]
    stretch = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), resize="stretch", color="RGB")
    fed = [((stretch(f)[0] - MEAN / 255) / (STD / 255)).astype(np.float32) for f in board.frames]
    answers = [board.engine.infer(x)["maps"] for x in fed]
    spec = nl.TensorSpec(SHAPE, "NCHW", "float32")
    frames = [({"image": x, "frame": f}, {"maps": a}) for x, f, a in zip(inputs, board.frames, answers)]
    output = board.verdict(nl.Recording({"maps": spec}, frames, {"preprocess": units}))
    assert output.verdict == "preprocessing" and output.fix == {**units, "resize": "stretch"}, str(output)


def test_colours_and_resizing_at_once(board: Board) -> None:
    how = {**PRE, "color": "BGR", "resize": "stretch"}
    other = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **how)
    values = [board.engine.infer(other(f)[0])["maps"] for f in board.frames]
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(v)} for v in values]))
    assert output.verdict == "preprocessing" and output.fix == how and "what was done" in output.why, str(output)
    again = nl.Recording(
        {"maps": board.spec},
        [({"image": other(f)[0]}, {"maps": board.spec.pack(v)}) for f, v in zip(board.frames, values)],
        {"preprocess": output.fix},
    )
    assert board.verdict(again).verdict == "match"


def test_the_size_of_an_image() -> None:
    assert image_size((1, 3, 48, 64)) == image_size((1, 48, 64, 3)) == image_size((2, 1, 48, 64)) == (48, 64)
    assert image_size((1, 84, 8400)) is image_size((1, 84, 20, 20)) is image_size((1, 3, 0, 4)) is None


def _scaled(x: np.ndarray, how: dict[str, Any]) -> dict[tuple[Any, ...], np.ndarray]:
    """The inputs of other means and deviations, by what identifies each."""
    return {v.id: v.x for v in variants(PreparedImage(x, (-0.5, 127 / 256), {"preprocess": how})) if v.id[0] == "scale"}


def test_ways_that_are_clamped_alike_in_one_frame_differ_in_another() -> None:
    """Pixels of 0 are 0 without a mean, and -0.5 with one in units of 0 to 1: far apart in a range of -0.5 to 0.5."""
    how = {"mean": [128.0] * 3, "std": [256.0] * 3}
    bright = np.random.default_rng(0).integers(1, 256, (1, 3, 16, 16)).astype(np.float32)
    dark = np.where(bright < 128, 0, bright).astype(np.float32)
    forgotten, units = (("scale", name, "the recorded inputs") for name in ("forgotten", "units_of_one"))
    of_bright, of_dark = (_scaled((p - 128) / 256, how) for p in (bright, dark))
    assert of_bright.keys() == of_dark.keys() and of_bright[forgotten] is of_bright[units]
    np.testing.assert_allclose(of_dark[forgotten], np.clip(dark, -0.5, 127 / 256))
    np.testing.assert_allclose(of_dark[units], np.clip((dark - 128 / 255) / (256 / 255), -0.5, 127 / 256), rtol=1e-6)
    assert of_dark[("scale", "forgotten", "")] is of_dark[("scale", "units_of_one", "")]  # 1 % of its deviation


@pytest.mark.parametrize("mean_std", [(128.0, 256.0), (120.0, 60.0)])
@pytest.mark.parametrize("name", ["units_of_one", "forgotten"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_what_the_runtime_clamps(board: Board, mean_std: tuple[float, float], name: str, noise: float) -> None:
    """Also if most frames are so bright that all their pixels are clamped, so that every way makes the same of them."""
    mean, std = mean_std
    how = {"color": "RGB", "mean": [mean] * 3, "std": [std] * 3, "resize": "stretch"}
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **how)
    bright = [f if i < 4 else np.maximum(f, 8) for i, f in enumerate(picture(i) for i in range(10))]
    inputs = [preprocess(f)[0].copy() for f in bright]
    done = ([mean / 255] * 3, [std / 255] * 3) if name == "units_of_one" else ([0.0] * 3, [1.0] * 3)
    low, high = (0 - mean) / std, (255 - mean) / std
    rng, answers = np.random.default_rng(0), []
    for x in inputs:
        fed = np.clip((x * std + mean - done[0][0]) / done[1][0], low, high).astype(np.float32)
        y = board.engine.infer(fed)["maps"]
        answers.append((y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32))
    spec = nl.TensorSpec(SHAPE, "NCHW", "float32")
    frames = [({"image": x}, {"maps": a}) for x, a in zip(inputs, answers)]
    output = board.verdict(nl.Recording({"maps": spec}, frames, {"preprocess": how}))
    assert output.verdict == "preprocessing" and "clamped" in output.why, str(output)
    np.testing.assert_allclose((output.fix["mean"], output.fix["std"]), done)


def test_what_leaves_a_blank_picture_is_said() -> None:
    """Divided by 255 twice, pixels differ by less than one does as declared; floats cast to integers are 0, too."""
    pixels = np.random.default_rng(0).integers(0, 256, (1, 3, 16, 16)).astype(np.float32)
    says = "nearly a blank picture, as floats"
    for scaled, blank in ((pixels / 255, True), (pixels / 255 * 0.004 + 0.5, False)):
        how = {"mean": [0.0] * 3, "std": [255.0] * 3}
        texts = {
            v.id[1]: v.text for v in variants(PreparedImage(scaled, (0.0, 1.0), {"preprocess": how})) if not v.combines
        }
        assert (says in texts["twice"]) == blank, texts["twice"]
        assert says not in texts["forgotten"] and says not in texts["before"]


@pytest.mark.parametrize("color", ["RGB", "BGR"])
def test_red_and_blue_exchanged_and_another_mean_and_std(color: str) -> None:
    """Each mistake, made with the pixels of the channels in reverse; none where the order of colours is not known."""
    mean, std = np.array([120.0, 115.0, 100.0]), np.array([60.0, 58.0, 57.0])
    how = {"color": color, "mean": mean.tolist(), "std": std.tolist()}
    pixels = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 8)).astype(np.float64)
    x = ((pixels - mean[:, None, None]) / std[:, None, None]).astype(np.float32)
    of_pixels = variants(PreparedImage(x, (-9.0, 9.0), {"preprocess": how}))
    both = [v for v in of_pixels if v.combines and v.id[0] != BOTH]
    other = "BGR" if color == "RGB" else "RGB"
    assert len(both) > 10 and all(v.text.endswith(f", and {other} instead of {color}") for v in both)
    for v in both:
        assert v.fix is not None and v.fix["color"] == other
        made = (pixels[:, ::-1] - np.reshape(v.fix["mean"], (3, 1, 1))) / np.reshape(v.fix["std"], (3, 1, 1))
        if v.id[2]:
            ends = (np.array([[0.0], [255.0]]) - mean) / std
            made = np.clip(made, ends.min(), ends.max())
        off = np.sqrt(np.square(v.x - made).mean())
        assert off <= 0.025 * made.std() or np.allclose(v.x, made, rtol=1e-4), (
            v.text
        )  # ways that are alike share one array
    gray = {"color": "GRAY", "mean": 120, "std": 60}
    of_gray = variants(PreparedImage(x[:, :1], (-9.0, 9.0), {"preprocess": gray}))
    assert not [v for v in of_gray if v.combines and v.id[0] != BOTH]
    unknown = variants(PreparedImage(x, (-9.0, 9.0), {}))
    assert not [v for v in unknown if v.combines and v.id[0] != BOTH]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integers_are_clamped_at_the_ends_of_their_dtype(dtype: str) -> None:
    """Also with the colours exchanged: of a picture that saturates, half a step is all that varies."""
    mean, std = np.array([[120.0, 115.0, 100.0], [60.0, 58.0, 57.0]])
    how = {"color": "RGB", "mean": mean.tolist(), "std": std.tolist()}
    shape, low = (1, 3, 16, 16), np.iinfo(dtype).min
    spec = nl.TensorSpec(shape, "NHWC", dtype, quantization=nl.Quantization(0.0186, low + 108))
    ends = (0 - 108) * 0.0186, (255 - 108) * 0.0186  # of 0 and 255: all pixels are between -2.02 and 2.72
    pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.float64)
    x = spec.unpack(spec.pack(((pixels - mean[:, None, None]) / std[:, None, None]).astype(np.float32)))
    made = {v.id: v for v in variants(PreparedImage(x, (-1.0, 1.0), {"preprocess": how}, spec=spec))}
    for color, raw in (((), pixels), (("BGR",), pixels[:, ::-1])):
        found = made[("scale", "forgotten", "all pixels", *color)]
        assert f"mean and std forgotten, clamped to the range of {dtype}" in found.text
        np.testing.assert_allclose(found.x, np.clip(raw, *ends), atol=0.6, rtol=0)
        assert found.x.max() == pytest.approx(ends[1], abs=1e-5)


def test_mistakes_that_are_nearly_one_share_an_array_of_a_dim_picture_too() -> None:
    """With a std of 256, one of 1 is nearly one of 256 / 255: of pixels to 30 that is far in their deviation."""
    pixels = np.random.default_rng(0).integers(0, 30, (1, 3, 16, 16))
    x = ((pixels - 128) / 256).astype(np.float32)
    meta = {"preprocess": {"mean": [128.0] * 3, "std": [256.0] * 3}}
    made = {v.id: v.x for v in variants(PreparedImage(x, (-0.5, 0.5), meta))}
    assert made["scale", "no_std", ""] is made["scale", "undivided", ""]
    assert made["scale", "no_std", ""] is not made["scale", "forgotten", ""]
    np.testing.assert_allclose(made["scale", "no_std", ""], pixels - 128)
