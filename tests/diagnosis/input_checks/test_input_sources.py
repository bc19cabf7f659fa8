"""Frames in their own format: U and V exchanged, another matrix or range; and faultless ones, on which it is silent."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.recordings import ROI
from tests.support.small_models import FLOAT, build, helper

SIZE = (48, 36)
TARGET = nl.TensorSpec((1, 3, 24, 32), "NCHW", "float32", name="x")
QUANTISED = nl.TensorSpec((1, 3, 24, 32), "NHWC", "int8", name="x", quantization=nl.Quantization(1 / 255, -128))
FORMATS = ("NV12", "I420", "YUYV")
TWINS = {"NV12": "NV21", "I420": "YV12", "YUYV": "YVYU"}


def negation() -> bytes:
    shapes = [[(name, FLOAT, TARGET.shape)] for name in "xy"]
    return bytes(build([helper.make_node("Neg", ["x"], ["y"])], *shapes))


def scene(seed: int, colour: float = 1.0) -> np.ndarray:
    """A smooth picture; colour 0: gray."""
    small = np.random.default_rng(seed).integers(0, 256, (5, 6, 3)).astype(np.float32)
    small = small.mean(2, keepdims=True) + colour * (small - small.mean(2, keepdims=True))
    large = cv2.resize(small, SIZE, interpolation=cv2.INTER_CUBIC)
    return np.clip(large, 0, 255).astype(np.uint8)


def stored(name: str, bgr: np.ndarray) -> np.ndarray:
    height, width = bgr.shape[:2]
    flat = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420)
    y, uv = flat[:height], flat[height:].reshape(2, -1, width // 2).transpose(1, 2, 0).reshape(-1, width)
    frames = {"I420": flat, "NV12": np.concatenate([y, uv]), "YUYV": np.stack([y, uv.repeat(2, 0)], 2)}
    return np.ascontiguousarray(frames[name])


def judged(name: str, spec: nl.TensorSpec, declared: Any, really: Any, frames: Any = None, noise: Any = None) -> Any:
    """The report of an input that was made as `really` says, of frames in their format."""
    device = nl.SimulatedNpu(negation(), [nl.TensorSpec(TARGET.shape, "NCHW", "float32", name="y")], threads=1)
    own, other = (nl.Preprocessor(spec, **{"std": 255, **how}) for how in (declared, really))
    runs = []
    for i, bgr in enumerate(frames or [scene(seed) for seed in range(3)]):
        frame = stored(name, bgr)
        x = other(frame)[0] if noise is None else noise(i, other(frame)[0])
        real = spec.unpack(np.ascontiguousarray(x))
        runs.append(({"x": x.reshape(spec.storage_shape), "frame": frame}, device.infer(real)))
    specs = {"y": device.output_specs[0], **({} if spec is TARGET else {"x": spec})}
    report = nl.validate(nl.Recording(specs, runs, {"preprocess": own.arguments}), negation(), progress=False)
    (found,) = report.inputs.values()
    return found


def test_another_gamma_of_a_gray_frame() -> None:
    """A gray frame has no other colours, but another gamma: it is no other brightness."""
    target = nl.TensorSpec((1, 3, 36, 48), "NCHW", "float32", name="x")
    make = nl.Preprocessor(target, source="GRAY", std=255)
    frames = [np.ascontiguousarray(scene(seed).mean(2).astype(np.uint8)) for seed in range(3)]
    runs = [({"x": make(np.rint(255 * (f / 255) ** 2.2).astype(np.uint8))[0], "frame": f}, {}) for f in frames]
    found = recorded_inputs(nl.Recording({"x": target}, runs, {"preprocess": make.arguments})).reports["x"]
    assert found.verdict == "preprocessing" and "with a gamma of 2.2 makes" in found.why, str(found)


def test_samples_of_sixteen_bits() -> None:
    """Frames of P010, each sample in the high byte of two: a fault is named, where nothing explains it nothing is."""
    target = nl.TensorSpec((1, 3, 36, 48), "NCHW", "float32", name="x")
    declared: dict[str, Any] = {"source": nl.FrameSpec("P010", SIZE), "std": 255}
    frames = [stored("NV12", scene(seed)).astype(np.uint16) << 8 for seed in range(3)]
    made = [nl.Preprocessor(target, **declared)(frame)[0] for frame in frames]
    how = nl.Preprocessor(target, **declared).arguments
    for change, verdict, words in (
        (lambda x: x[:, ::-1], "preprocessing", "color='BGR'"),
        (lambda x: 1 - x, "preprocessing", "no known change"),
        (lambda x: x, "match", "is what preprocess= makes"),
    ):
        runs = [({"x": np.ascontiguousarray(change(x)), "frame": frame}, {}) for x, frame in zip(made, frames)]
        found = recorded_inputs(nl.Recording({"x": target}, runs, {"preprocess": how})).reports["x"]
        assert found.verdict == verdict and words in found.why, str(found)


@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("roi", [None, (5, 3, 30, 20)])
@pytest.mark.parametrize(
    "fault, verdict, words",
    [
        ("", "match", "is what preprocess= makes"),
        ("bytes", "input_layout", "it is what the frame with the two bytes of each word exchanged (big endian for"),
        ("bytes and colours", "input_layout", "it is what color='BGR' with the frame with the two bytes of each word"),
        ("colours", "preprocessing", "color='BGR'"),
        ("dark", "preprocessing", "no known change explains that"),
    ],
)
def test_words_of_sixteen_bits(fault: str, verdict: str, words: str, roi: Any, spec: nl.TensorSpec) -> None:
    """Frames of RGB565, made by hand, whose two bytes the host exchanged or not."""
    runs = []
    own = nl.Preprocessor(spec, source="RGB565", std=255)
    other = nl.Preprocessor(spec, source="RGB565", std=255, color="BGR" if "colours" in fault else "RGB")
    for seed in range(3):
        blue, green, red = (scene(seed)[..., i].astype(np.uint16) for i in range(3))
        frame = np.ascontiguousarray((red >> 3 << 11) | (green >> 2 << 5) | (blue >> 3))
        given = frame.byteswap() if "bytes" in fault else frame >> 1 if fault == "dark" else frame
        x = other(given, roi_xywh=roi)[0]
        runs.append(
            ({"x": x.reshape(spec.storage_shape), "frame": frame, **({} if roi is None else {ROI: np.array(roi)})}, {})
        )
    recording = nl.Recording({} if spec is TARGET else {"x": spec}, runs, {"preprocess": own.arguments})
    (found,) = recorded_inputs(recording).reports.values()
    assert found.verdict == verdict and words in found.why, str(found)
    assert found.fix is None or found.fix["color"] == "BGR"


@pytest.mark.parametrize("yuv", ["exact", "planes"])
@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("fault", ["twin", "matrix", "range", "colour"])
def test_what_was_really_read_is_the_fix(name: str, spec: nl.TensorSpec, yuv: str, fault: str) -> None:
    own: dict[str, Any] = {"source": name, "yuv": yuv}
    really: dict[str, Any] = {
        "twin": {"source": TWINS[name]},
        "matrix": {"source": nl.FrameSpec(name, SIZE, matrix="bt709")},
        "range": {"source": nl.FrameSpec(name, SIZE, range="full")},
        "colour": {"color": "BGR"},
    }[fault]
    found = judged(name, spec, own, {**own, **really})
    assert found.verdict == "preprocessing" and found.fix is not None, found
    again = nl.Preprocessor(spec, **found.fix)
    if fault == "colour":
        assert again.arguments == nl.Preprocessor(spec, std=255, **{**own, **really}).arguments
    else:
        frame = stored(name, scene(7))
        wanted = nl.Preprocessor(spec, std=255, **{**own, **really})(frame)[0]
        np.testing.assert_array_equal(again(frame)[0], wanted)
        assert {"twin": "U and V exchanged", "matrix": "BT.709", "range": "0 to 255"}[fault] in found.why


@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_preprocessor_takes_the_fix_for_another_interpolation(name: str, spec: nl.TensorSpec) -> None:
    """yuv="planes" has no cubic: what was made by it was made of colours."""
    really = {"source": name, "interpolation": "cubic"}
    found = judged(name, spec, {"source": name, "yuv": "planes"}, really)
    assert found.verdict == "preprocessing" and found.fix is not None and found.fix["interpolation"] == "cubic", found
    frame = stored(name, scene(7))
    wanted = nl.Preprocessor(spec, std=255, **really)(frame)[0]
    np.testing.assert_array_equal(nl.Preprocessor(spec, **found.fix)(frame)[0], wanted)


@pytest.mark.parametrize("seed", range(24))
def test_it_is_silent_on_the_faultless(seed: int) -> None:
    """Noise, gray scenes, dim ones, and another code for the same resize."""
    rng, name, yuv = np.random.default_rng(seed), [*FORMATS][seed % 3], ("exact", "planes")[seed % 2]
    spec = (TARGET, QUANTISED)[seed // 3 % 2]
    frames = [scene(100 * seed + i, colour=(1.0, 0.02, 0.3)[seed % 4 % 3]) for i in range(3)]
    if seed % 5 == 0:
        frames = [frame // 8 for frame in frames]
    most = rng.uniform(0, 0.9)

    def noise(_: int, x: np.ndarray) -> np.ndarray:
        if x.dtype != np.float32:
            return np.clip(x + rng.integers(-1, 2, x.shape), -128, 127).astype(x.dtype)
        return (x + most / 255 * rng.standard_normal(x.shape)).astype(np.float32)

    own = {"source": name, "yuv": yuv}
    assert judged(name, spec, own, own, frames, noise).verdict == "match"
    other = {"source": name, "yuv": ("planes", "exact")[seed % 2]}
    found = judged(name, spec, own, other, frames)
    assert found.fix is None or found.fix["source"] == name, found


@pytest.mark.parametrize("padding", [0, 16, 77])
@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("name", ["NV12", "YUYV"])
def test_rows_whose_padding_is_read_as_pixels(name: str, spec: nl.TensorSpec, padding: int) -> None:
    """The camera's rows begin every 64 or 128 bytes, and are read one behind the other; whatever is between them."""
    own = nl.Preprocessor(spec, source=name, std=255)
    runs = []
    for seed in range(3):
        frame = stored(name, scene(seed))
        rows, row = len(frame), frame.strides[0]
        wide = np.full((rows, -(-row // 64) * 64), padding, np.uint8)
        wide[:, :row] = frame.reshape(rows, -1)
        x = own(wide.ravel()[: frame.size].reshape(frame.shape))[0]
        runs.append(({"x": x.reshape(spec.storage_shape), "frame": frame}, {}))
    specs = {} if spec is TARGET else {"x": spec}
    (found,) = recorded_inputs(nl.Recording(specs, runs, {"preprocess": own.arguments})).reports.values()
    assert (found.verdict, found.fix) == ("input_layout", None), found
    assert f"every {-(-row // 64) * 64} bytes" in found.why, found.why


@pytest.mark.parametrize("planes", [False, True], ids=["behind each other", "each where it begins"])
@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("name", ["NV12", "I420", "YUYV"])
def test_a_declared_pitch_that_was_ignored(name: str, spec: nl.TensorSpec, planes: bool) -> None:
    """The recording says how the rows are padded; what made the input read them without."""
    row = 96 if name == "YUYV" else 48
    padded = nl.FrameSpec(name, SIZE, strides=row + 12)
    own = nl.Preprocessor(spec, source=padded, std=255)
    runs, right = [], []
    for seed in range(3):
        memory = np.full(padded.size or 0, 7, np.uint8)
        for wide, tight in zip(padded.planes(memory), nl.FrameSpec(name, SIZE).planes(stored(name, scene(seed)))):
            wide[...] = tight
        read, place = [], 0
        for plane, begins in zip(nl.FrameSpec(name, SIZE).planes(stored(name, scene(seed))), padded.offsets):
            first = begins if planes else place
            read.append(memory[first : first + plane.nbytes])
            place += plane.nbytes
        seen = np.concatenate(read).reshape(stored(name, scene(seed)).shape)
        x = nl.Preprocessor(spec, source=name, std=255)(seen)[0]
        runs.append(({"x": x.reshape(spec.storage_shape), "frame": memory}, {}))
        right.append(({"x": own(memory)[0].reshape(spec.storage_shape), "frame": memory}, {}))
    specs = {} if spec is TARGET else {"x": spec}
    (found,) = recorded_inputs(nl.Recording(specs, runs, {"preprocess": own.arguments})).reports.values()
    assert (found.verdict, found.fix) == ("input_layout", None), found
    assert f"no padding (they begin every {row + 12} bytes)" in found.why, found.why
    assert ("each plane of" in found.why) == (planes and name != "YUYV"), found.why
    (found,) = recorded_inputs(nl.Recording(specs, right, {"preprocess": own.arguments})).reports.values()
    assert found.verdict == "match", found


@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("fault", ["twin", "matrix", "pitch"])
def test_another_reading_beside_other_colours(fault: str, spec: nl.TensorSpec) -> None:
    """Neither alone explains anything; the fix has both where there is one."""
    frames = [coloured(seed) for seed in range(3)]
    own: dict[str, Any] = {"source": "NV12", "std": 255}
    if fault == "pitch":
        own["source"], really = nl.FrameSpec("NV12", SIZE, strides=60), {"source": "NV12", "std": 255, "color": "BGR"}
    else:
        other = "NV21" if fault == "twin" else nl.FrameSpec("NV12", SIZE, matrix="bt709")
        really = {**own, "source": other, "color": "BGR"}
    runs = []
    for bgr in frames:
        memory = seen = stored("NV12", bgr)
        if fault == "pitch":
            memory = np.full(own["source"].size, 9, np.uint8)
            for wide, tight in zip(own["source"].planes(memory), nl.FrameSpec("NV12", SIZE).planes(seen)):
                wide[...] = tight
            seen = memory[: seen.size].reshape(seen.shape)
        x = nl.Preprocessor(spec, **really)(seen)[0]
        runs.append(({"x": x.reshape(spec.storage_shape), "frame": memory}, {}))
    specs = {} if spec is TARGET else {"x": spec}
    how = nl.Preprocessor(spec, **own).arguments
    (found,) = recorded_inputs(nl.Recording(specs, runs, {"preprocess": how})).reports.values()
    assert "it is what color='BGR'" in found.why, str(found)
    if fault == "pitch":
        assert (found.verdict, found.fix) == ("input_layout", None) and "no padding" in found.why, str(found)
        return
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    for inputs, _ in runs:
        made = nl.Preprocessor(spec, **found.fix)(inputs["frame"])[0]
        np.testing.assert_array_equal(made.ravel(), inputs["x"].ravel())


@pytest.mark.parametrize("seed", range(8))
def test_a_border_that_fits_is_no_padding(seed: int) -> None:
    """In a small picture nothing is known of rows with padding but the border, which is as declared in any case."""
    own, other = (nl.Preprocessor(TARGET, source="NV12", std=255, color=color) for color in ("RGB", "BGR"))
    frames = [stored("NV12", scene(10 * seed + i)[:18, :32]) for i in range(3)]
    runs = [({"x": other(frame)[0], "frame": frame}, {}) for frame in frames]
    (found,) = recorded_inputs(nl.Recording({}, runs, {"preprocess": own.arguments})).reports.values()
    assert (found.verdict, found.fix["color"]) == ("preprocessing", "BGR"), found


WAYS = [(f, m, r) for f in ("NV12", "NV21") for m in ("bt601", "bt709", "bt2020") for r in ("limited", "full")]


def coloured(seed: int) -> np.ndarray:
    """Areas of strong colours, so that matrices differ."""
    picture, rng = np.zeros((*SIZE[::-1], 3), np.uint8), np.random.default_rng(seed)
    for y in range(0, SIZE[1], 12):
        for x in range(0, SIZE[0], 12):
            picture[y : y + 12, x : x + 12] = rng.integers(0, 256, 3)
    return picture


@pytest.mark.parametrize("yuv", ["exact", "planes"])
@pytest.mark.parametrize("spec", [TARGET, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_several_wrong_at_once(way: tuple[str, str, str], spec: nl.TensorSpec, yuv: str) -> None:
    """U and V, the matrix and the range: the fix makes the bytes that the device made."""
    for declared in (WAYS[0], WAYS[7]):
        own, other = ({"source": nl.FrameSpec(f, SIZE, matrix=m, range=r)} for f, m, r in (declared, way))
        frames = [coloured(seed) for seed in range(3)]
        found = judged("NV12", spec, {**own, "yuv": yuv}, {**other, "yuv": yuv}, frames)
        if way == declared:
            assert found.verdict == "match", found
            continue
        assert found.verdict == "preprocessing" and found.fix is not None, found
        again, device = (nl.Preprocessor(spec, **how) for how in (found.fix, {**own, **other, "yuv": yuv, "std": 255}))
        for frame in frames:
            memory = stored("NV12", frame)
            np.testing.assert_array_equal(again(memory)[0], device(memory)[0])
        assert ("U and V exchanged" in found.why) == (way[0] != declared[0])
        assert (f"matrix='{way[1]}'" in found.why) == (way[1] != declared[1])


@pytest.mark.parametrize("most", [0.5, 2.0])
@pytest.mark.parametrize("way", [("NV12", "bt709", "full"), ("NV21", "bt601", "full"), ("NV21", "bt709", "limited")])
def test_several_wrong_at_once_with_noise(way: tuple[str, str, str], most: float) -> None:
    rng = np.random.default_rng(5)

    def noise(_: int, x: np.ndarray) -> np.ndarray:
        return (x + most / 255 * rng.standard_normal(x.shape)).astype(np.float32)

    really = {"source": nl.FrameSpec(way[0], SIZE, matrix=way[1], range=way[2])}
    found = judged("NV12", TARGET, {"source": "NV12"}, really, [coloured(seed) for seed in range(3)], noise)
    assert found.fix is not None and found.fix["source"] == really["source"].to_dict(), found


def test_what_a_gray_picture_cannot_tell() -> None:
    """The range is wrong and the matrix may be: the simplest is the fix. The matrix alone changes nothing."""
    gray = [scene(seed, colour=0) for seed in range(3)]
    frames = [np.repeat(frame[..., :1], 3, axis=2) for frame in gray]
    really = {"source": nl.FrameSpec("NV12", SIZE, range="full")}
    found = judged("NV12", TARGET, {"source": "NV12"}, really, frames)
    assert found.fix is not None and "it is what range='full' (0 to 255) makes" in found.why, found
