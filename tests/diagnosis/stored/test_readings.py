"""Buffers in another layout, or of another shape, than declared."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.stored import readings
from tests.support.boards import CHANNELS, Board, same, spec_as


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.mark.parametrize("true", ["NHWC", "NCHW", "CHWN", "NCHW8c", "NHCW16c", "NCWH"])
def test_layout(board: Board, true: str) -> None:
    actual = spec_as(board, true)
    declared = spec_as(board, "NCHW" if true != "NCHW" else "NHWC", size=max(actual.size, board.spec.size))
    buffers = [{"maps": np.resize(b["maps"], declared.size)} for b in board.packed(actual)]
    output = board.verdict(board.recording(declared, buffers))
    if true == "CHWN":  # with one image CHWN is NCHW
        assert output.verdict == "match"
    else:
        assert output.verdict == "layout" and board.reads(output.fix, buffers), str(output)


def test_the_shape_itself_is_wrong(board: Board) -> None:
    actual = spec_as(board, "NHWC")
    declared = nl.TensorSpec((1, 12, CHANNELS, 12), "NCHW", "int8", quantization=board.spec.quantization)
    output = board.verdict(board.recording(declared, board.packed(actual)))
    assert output.verdict == "layout" and board.reads(output.fix, board.packed(actual)), str(output)
    assert output.to_dict()["tolerances"]["min_snr_db"] == {"asked": 10, "found": None, "met": False, "held": False}


@pytest.mark.parametrize("declared", ["float32", ">f4", "float16", "int16", ">u2"])
def test_the_other_byte_order(board: Board, declared: str) -> None:
    """Each element's bytes are turned round by themselves: the fix has the other dtype, and the same scales."""
    quantization = nl.Quantization(1e-3, 1 << 15 if "u" in declared else 0)
    known = None if "f" in declared else quantization
    spec = nl.TensorSpec(board.spec.shape, "NHCW16c", declared, quantization=known)
    frames = board.packed(spec)
    turned = [{"maps": _turned(f["maps"])} for f in frames]
    for few in (turned, turned[:1]):
        output = board.verdict(nl.Recording({"maps": spec}, board.recording(spec, turned).frames[: len(few)]))
        assert output.verdict in ("layout", "quantization") and output.fix.quantization == known, str(output)
        assert output.fix.stored == spec.stored.newbyteorder(), str(output)
        assert ("the other byte order" in output.why) == spec.stored.isnative
        assert board.reads(output.fix, [{"maps": f["maps"].view(output.fix.stored)} for f in turned])
    faultless = board.verdict(board.recording(spec, frames))
    assert faultless.verdict == "match", str(faultless)
    assert not [c for c in faultless.ranking if "byte order" in c.text and c.score > 1]


def _turned(flat: np.ndarray) -> np.ndarray:
    size = flat.dtype.itemsize
    raw = flat.tobytes()
    return np.frombuffer(b"".join(raw[k : k + size][::-1] for k in range(0, len(raw), size)), flat.dtype)


@pytest.mark.parametrize("scale", [1e-3, 1e-6])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float64"])
@pytest.mark.parametrize("true", ["NCHW", "NHCW16c"])
def test_layout_of_wide_elements(board: Board, true: str, dtype: str, scale: float) -> None:
    """Their halves are integers of 16 bits in NHWC2n, which explain as much where the values are small."""
    known = None if dtype == "float64" else nl.Quantization(scale, 1 << 24 if dtype == "uint32" else 0)
    actual = nl.TensorSpec(board.spec.shape, true, dtype, quantization=known)
    declared = nl.TensorSpec(board.spec.shape, "NHWC", dtype, quantization=known, size=actual.size)
    output = board.verdict(board.recording(declared, board.packed(actual)))
    assert output.verdict == "layout" and output.fix.dtype == dtype, str(output)
    assert board.reads(output.fix, board.packed(actual)), str(output)


def test_a_buffer_and_a_tensor_are_searched_once(monkeypatch: pytest.MonkeyPatch, board: Board) -> None:
    """Whatever the axis of the channels; other buffers, other tensors and evidence of its own are searched anew.

    Of a board that is noisy: where the declared reading explains nearly all, one frame is enough.
    """
    searched, rng = [], np.random.default_rng(1)

    def counted(flat: bytes, reference: np.ndarray, *more: object) -> list[object]:
        searched.append(flat)
        return found(flat, reference, *more)

    found = readings.hypotheses
    monkeypatch.setattr(readings, "hypotheses", counted)
    tensors = [of["maps"] for of in board.answers[:2]]
    clean, buffers = (
        [board.spec.pack((y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32)) for y in tensors]
        for noise in (0.0, 0.2)
    )
    assert len(list(readings.readings(Evidence(board.spec, clean, tensors, (), 1)))) == 3 and len(searched) == 1
    searched.clear()
    first = Evidence(board.spec, buffers, tensors, (), 1)
    again = Evidence(board.spec, [b.copy() for b in buffers], [t.copy() for t in tensors], (), 2, first)
    alone = Evidence(board.spec, buffers, tensors, (), 1)
    crossed = Evidence(board.spec, buffers, tensors[::-1], (), 1, first)
    texts = []
    for evidence, count in ((first, 2), (again, 2), (first, 2), (alone, 4), (crossed, 6)):
        texts.append([trial.text for trial in readings.readings(evidence)])
        assert len(searched) == count
    assert texts[0] and texts[0] == texts[2] == texts[3]


def test_floats_of_a_narrow_range_are_no_integers_with_a_scale() -> None:
    """The bits of float16 from 1 to 2 are a line of the values, which explains as much as they do."""
    rng, shape = np.random.default_rng(4), (1, 1, 32, 32)
    model = [rng.uniform(1.1, 1.9, shape).astype(np.float32) for _ in range(4)]
    true = nl.TensorSpec(shape, "NCHW8c", "float16", name="y")
    device = [true.pack((x + 0.015 * rng.standard_normal(shape)).astype(np.float32)) for x in model]
    read = true.replace(dtype="bfloat16")
    frames = [({"x": x}, {"y": y.view(read.stored)}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": read}, frames), same(shape)).outputs["y"]
    assert output.fix is not None and output.fix.dtype == "float16", str(output)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "int32"])
@pytest.mark.parametrize("true", ["NCHW", "NHCW16c"])
def test_another_layout_in_the_other_byte_order(board: Board, true: str, dtype: str) -> None:
    """Both at once; the high bytes of integers alone would be one of 8 bits in another layout."""
    known = None if "f" in dtype else nl.Quantization(2e-4)
    actual = nl.TensorSpec(board.spec.shape, true, dtype, quantization=known)
    declared = nl.TensorSpec(board.spec.shape, "NHWC", dtype, quantization=known, size=actual.size)
    frames = board.packed(actual)
    turned = [{"maps": _turned(f["maps"])} for f in frames]
    output = board.verdict(board.recording(declared, turned))
    assert output.verdict == "layout" and output.fix.stored == actual.stored.newbyteorder(), str(output)
    assert board.reads(output.fix, [{"maps": f["maps"].view(output.fix.stored)} for f in turned])
    native = board.verdict(board.recording(declared, frames))
    assert native.verdict == "layout" and native.fix.dtype == dtype, str(native)


def test_small_integers_in_another_layout_are_of_this_byte_order(board: Board) -> None:
    """256 times these, as the other order has them, are as linear, with another scale."""
    known = nl.Quantization(0.05)
    actual = nl.TensorSpec(board.spec.shape, "NCHW", "int16", quantization=known)
    output = board.verdict(board.recording(actual.replace(layout="NHWC"), board.packed(actual)))
    assert output.verdict == "layout" and output.fix.dtype == "int16" and output.fix.quantization == known, str(output)


@pytest.mark.parametrize("letters", ["NCW", "ABC", "XYC"])
def test_scales_of_channels_along_axes_of_any_letters(letters: str) -> None:
    """Tokens with their values last, stored with these first: a "C" among letters of one's own is no channel."""
    rng, shape, each = np.random.default_rng(0), (1, 20, 12), np.linspace(0.2, 3, 12)
    model = [(rng.uniform(-3, 3, shape) * each).astype(np.float32) for _ in range(4)]
    declared, stored = (
        nl.TensorSpec(
            shape, nl.Layout(tag, axes=letters), "int8", axes=letters, quantization=nl.Quantization(each / 40, axis=2)
        )
        for tag in (letters, letters[0] + letters[2] + letters[1])
    )
    evidence = Evidence(declared, [stored.pack(x) for x in model], model, (), 2)
    best = max(readings.readings(evidence), key=evidence.score)
    assert best.spec is not None and best.fix.quantization.axis == 2, best.text
    for x, buffer in zip(model, evidence.buffers):
        assert np.abs(best.spec.unpack(buffer) - x).max() < 0.1


def test_scales_of_another_number_of_channels(board: Board) -> None:
    """The declared shape has twelve channels in another place, each with a scale: the buffer is still read."""
    actual = spec_as(board, "NHWC")
    scales = nl.Quantization([board.spec.quantization.scale] * 12, axis=1)
    declared = nl.TensorSpec((1, 12, CHANNELS, 12), "NCHW", "int8", quantization=scales)
    output = board.verdict(board.recording(declared, board.packed(actual)))
    assert output.verdict == "layout" and board.reads(output.fix, board.packed(actual)), str(output)
