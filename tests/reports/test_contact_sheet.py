"""One buffer read in different ways, beside what the model says, whatever its shape is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import CHANNELS, SHAPE, Board, same
from tests.support.pages import alike, read


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


SHAPES = {
    "vector": ((1, 1000), "NC"),
    "many vectors": ((6, 40), "NC"),
    "scores": ((1000,), "N"),
    "one value": ((1,), "N"),
    "boxes": ((1, 84, 2100), "NCW"),
    "boxes the other way": ((1, 2100, 84), "NCW"),
    "one channel": ((1, 1, 30, 40), "NCHW"),
    "two channels": ((1, 2, 30, 40), "NHWC"),
    "large maps": ((1, 5, 300, 500), "NHWC"),
    "wide maps": ((1, 6, 8, 100), "NHWC"),
    "maps of one place": ((1, 700, 1, 1), "NCHW"),
    "volumes": ((1, 5, 3, 12, 10), "NCDHW"),
    "no letters": ((1, 2, 2, 3, 8, 8), "ABCDEF"),
}


@pytest.mark.parametrize("what", SHAPES)
def test_shapes(what: str, tmp_path: Path) -> None:
    shape, layout = SHAPES[what]
    engine = nl.OnnxRuntimeEngine(same(shape))
    rng = np.random.default_rng(0)
    frames = [rng.standard_normal(shape).cumsum(-1).astype(np.float32) for _ in range(4)]
    axes = "NCHW" if layout == "NHWC" else layout
    spec = nl.TensorSpec(shape, layout, "int8", axes=axes, quantization=nl.engines.calibrate(frames, "int8"), name="y")
    report = nl.validate(nl.Recording({"y": spec}, [({"x": x}, {"y": spec.pack(x)}) for x in frames]), engine)
    page = read(report, tmp_path)
    model, declared = (
        next(i for alt, i in page.sheet().items() if k in alt) for k in (". The model, ", ". As declared")
    )
    assert alike(model, declared) > 0.95 if what != "one value" else np.abs(model - declared).max() < 8
    assert model.shape[0] * model.shape[1] >= 48 * 100 and max(model.shape) <= 1300
    channels = report.outputs["y"].channels
    assert len(channels) < 2 or f"The {len(channels)} channels" in page.text
    assert len(page.tags) < 8000, "a table of thousands of rows"
    assert (tmp_path / "report.html").stat().st_size < 2 << 20


def test_a_shape_that_is_not_the_models(board: Board, tmp_path: Path) -> None:
    actual = nl.TensorSpec(SHAPE, "NHWC", "int8", quantization=board.spec.quantization)
    for shape, axes in (((1, 12, CHANNELS, 12), "NCHW"), ((1, CHANNELS, 144), "NCW")):
        declared = nl.TensorSpec(shape, axes, "int8", quantization=board.spec.quantization)
        report = nl.validate(board.recording(declared, board.packed(actual)), board.engine)
        assert report.verdict == "layout"
        page = read(report, tmp_path)
        assert "As declared" in page.text and "Nothing could be compared" in page.text
        assert ("its shape" in page.text.lower()) == (len(shape) == 3)


def test_not_a_number(board: Board, tmp_path: Path) -> None:
    spec = nl.TensorSpec(SHAPE, "NHWC", "float32")
    outputs = board.packed(spec)
    for output in outputs:
        output["maps"][100:400] = np.nan
        output["maps"][500] = np.inf
    report = nl.validate(board.recording(spec, outputs), board.engine)
    page = read(report, tmp_path)
    (declared,) = (image for alt, image in page.sheet().items() if ". As declared: " in alt)
    assert (declared == (255, 0, 255)).all(-1).any() and "Magenta is NaN or infinite." in page.text
    device = report.outputs["maps"].exhibit.device_samples
    assert np.isfinite(device).all() and (device == 0).mean() < 0.01, "0 in the place of NaN is a bar of its own"
    assert "NaN" not in read(nl.validate(board.recording(), board.engine), tmp_path).text


def test_pictures_belong_to_their_candidates(board: Board, tmp_path: Path) -> None:
    """Whatever these are called."""
    report = nl.validate(board.recording(None, board.fed(lambda x: x[:, ::-1].copy())), board.engine)
    output = report.outputs["maps"]
    renamed = replace(output, ranking=[c._replace(text="the same words") for c in output.ranking])
    page, other = (read(replace(report, outputs={"maps": o}), tmp_path).sheet() for o in (output, renamed))
    assert [i.shape for i in page.values()] and len(page) >= len(other) > 2
    best = next(image for alt, image in page.items() if "The model's answer" in alt)
    assert any(np.array_equal(best, image) for alt, image in other.items() if "The model's answer" in alt)


def test_what_was_done_to_the_output_is_shown_beside_what_the_device_returned(board: Board, tmp_path: Path) -> None:
    """Mirrored, the model's maps are the device's; readings that explain nothing are left out."""
    report = nl.validate(board.recording(None, board.changed(lambda y: y[..., ::-1])), board.engine)
    page = read(report, tmp_path)
    assert report.verdict == "geometry"
    shown = page.sheet()
    moved, declared = (
        next(i for alt, i in shown.items() if k in alt) for k in (". The model's with that: ", ". As declared")
    )
    assert alike(moved, declared) > 0.95 and len(shown) == 3, list(shown)
