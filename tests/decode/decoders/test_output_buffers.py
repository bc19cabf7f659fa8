"""Buffers of a run's outputs: by name, in order, and what is none of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.decoders.output_buffers import UsualBuffers, in_order


def test_usual_buffers_are_arrays_as_they_are_stored() -> None:
    specs = [nl.TensorSpec((1, n, 4), "NCW", dtype, name=dtype) for n, dtype in ((3, "int8"), (5, "float32"))]
    usual, arrays = UsualBuffers(specs), [np.zeros(12, np.int8), np.zeros(20, np.float32)]
    assert usual.are(arrays) and usual.are(tuple(arrays))
    for other in (arrays[::-1], arrays[:1], dict(zip("ab", arrays)), [bytes(12), arrays[1]], arrays[0], None):
        assert not usual.are(other)
    for first in (np.zeros(24, np.int8)[::2], arrays[0].reshape(3, 4)):
        assert not usual.are([first, arrays[1]])
    by_name = in_order(specs, {"float32": arrays[1], "int8": arrays[0].tobytes()})
    assert [buffer.dtype.name for buffer in by_name] == ["int8", "float32"] and np.shares_memory(by_name[1], arrays[1])


def test_buffers_of_other_outputs_are_not_read_by_name_and_refused_in_order() -> None:
    """A runtime returns all of its outputs, also those that the head does not need."""
    specs = [nl.TensorSpec((1, n, 4), "NCW", "int8", name=f"y{n}") for n in (3, 5)]
    arrays = {spec.name: np.zeros(spec.size, np.int8) for spec in specs}
    found = in_order(specs, {"features": object(), **arrays})
    assert len(found) == 2 and all(np.shares_memory(a, b) for a, b in zip(found, arrays.values()))
    with pytest.raises(nl.NpuLayoutError, match="buffers: expected 2, one for each output, got 3"):
        in_order(specs, [*arrays.values(), np.zeros(4, np.int8)])


def test_the_result_of_a_stream_is_no_buffer() -> None:
    spec = nl.TensorSpec((1, 84, 8400), "NCW", name="y")
    decoder = decode.Decoder(decode.yolov8(80), [spec], (640, 640))
    with pytest.raises(nl.NpuLayoutError, match="got SimpleNamespace; give its outputs"):
        decoder(SimpleNamespace(outputs={"y": np.zeros(spec.size, np.float32)}))


def test_buffers_in_another_order_are_named() -> None:
    specs = [nl.TensorSpec((1, n, k, k), dtype="int8", name=f"{n}/{k}") for k in (8, 4, 2) for n in (64, 2)]
    decoder = decode.Decoder(decode.yolov8(2), specs, (64, 64))
    buffers = [np.zeros(spec.size, np.int8) for spec in specs]
    for given in (buffers[::-1], [bytes(buffer) for buffer in buffers[::-1]]):
        says = r"buffers: buffer has 8 bytes; '64/8': .* needs 4096; 8 are those of '2/2': give \{name: buffer\}, or"
        with pytest.raises(nl.BufferSizeError, match=says):
            decoder(given)
    with pytest.raises(nl.BufferSizeError, match=r"needs 4096$"):
        decoder([buffers[0][:-1], *buffers[1:]])
    with pytest.raises(nl.NpuLayoutError, match=r"expected 6, one for each output, got None \(did the runtime"):
        decoder(None)
    single = decode.Decoder(decode.yolov8(2), [nl.TensorSpec((1, 6, 84), "NCW", name="y")], (64, 64))
    with pytest.raises(nl.NpuLayoutError, match=r"expected 1, one for each output, got None \(did the runtime"):
        single(None)  # as RKNNLite.inference returns when it fails
    with pytest.raises(nl.NpuLayoutError, match=r"got one dict_values; give a list of buffers, or \{name: buffer\}$"):
        decoder(dict(enumerate(buffers)).values())
    with pytest.raises(
        nl.NpuLayoutError, match=r"expected 6, one for each output, got 1; give buffers\[0\], which has 6$"
    ):
        decoder([buffers])
    with pytest.raises(nl.NpuLayoutError, match=r"expected 6, one for each output, got 1$"):
        decoder(buffers[0])


def test_outputs_without_a_name_are_numbered() -> None:
    specs = [nl.TensorSpec((1, n, k, k), dtype="int8") for k in (8, 4) for n in (64, 3)]
    decoder = decode.Decoder(decode.yolov8(3, (8, 16)), specs, (64, 64))
    buffers = [np.zeros(spec.size, np.int8) for spec in specs]
    says = (
        r"^buffers: output 1: buffer has 4096 bytes; layout NCHW of \(1,3,8,8\) int8 needs 192; .*; 4096 are those of "
        r"'output 0': give buffers in the order of the specs, output 0, output 1, output 2, output 3$"
    )
    with pytest.raises(nl.BufferSizeError, match=says):
        decoder([buffers[0], buffers[0], *buffers[2:]])
    with pytest.raises(nl.NpuLayoutError, match=r"^buffers: output 3: buffer has dtype float32; .* expects int8"):
        decoder([*buffers[:3], buffers[3].astype(np.float32)])
    for given in (dict(enumerate(buffers)), {"a": buffers[0]}, {}):
        got = ", ".join(map(str, given)) or "none"
        with pytest.raises(nl.NpuLayoutError, match=rf"^buffers: got {got}, but a spec has no name; give buffers in"):
            decoder(given)
    named = decode.Decoder(decode.yolov8(3, (8, 16)), dict(zip("abcd", specs)), (64, 64))
    assert [spec.name for spec in named.specs] == [*"abcd"] and len(named(dict(zip("abcd", buffers)), 1.0)) == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
def test_buffers_of_several_inputs_are_named(dtype: str) -> None:
    """Of a batch of two, bytes were said to be elements of twice the size."""
    specs = [nl.TensorSpec((1, n, 5, 7), "NHWC", dtype, name=f"y{n}") for n in (3, 4)][::-1]
    decoder = decode.Decoder(decode.yolov6(3, (8,)), specs, (40, 56))
    for n in (2, 3):
        batch = [np.zeros((n, *spec.storage_shape[1:]), dtype) for spec in specs]
        says = rf"needs \d+.*; its first axis has {n} inputs: decode each by itself, with buffer\[i\] of every output$"
        with pytest.raises(nl.BufferSizeError, match=says) as caught:
            decoder(batch)
        assert "in elements of" not in str(caught.value)
        assert len(decoder([one[n - 1] for one in batch], 1.0)) == 0


def test_an_output_without_its_first_axis_is_no_batch() -> None:
    """Of scores (80, 8400) in the place of boxes' confidences (1, 1, 8400), 80 inputs were said to be there."""
    specs = [nl.TensorSpec((1, n, 5, 7), name=f"y{n}") for n in (1, 3)]
    squeezed = [np.zeros((n, 5, 7), np.float32) for n in (3, 1)]
    with pytest.raises(nl.BufferSizeError, match=r"needs 140; 420 are those of 'y3': give \{name: buffer\}, or"):
        in_order(specs, squeezed)


def test_buffers_by_name_need_a_name_for_each() -> None:
    """With one name for two outputs, one buffer was read for both where their sizes are equal."""
    specs = [nl.TensorSpec((1, n, k, k), name="y" if n == 2 else f"box{k}") for k in (8, 4, 2) for n in (64, 2)]
    decoder = decode.Decoder(decode.yolov8(2), specs, (64, 64))
    memory = [np.zeros(spec.size, np.float32) for spec in specs]
    assert len(decoder(memory)) == 0
    with pytest.raises(nl.NpuLayoutError, match="buffers: 3 outputs are called 'y', so that one buffer would be read"):
        decoder({spec.name: buffer for spec, buffer in zip(specs, memory)})
