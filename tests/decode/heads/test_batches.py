"""Outputs of several inputs: refused by name with what to give, or read image by image; what is given then is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import exports, poses
from tests.support.exports import EXPORTS, SIDE

Values = np.ndarray


def spec_of(shape: tuple[int, ...], name: str = "out") -> nl.TensorSpec:
    return nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name=name)


def one(shape: tuple[int, ...]) -> tuple[nl.TensorSpec, Values]:
    spec = spec_of(shape)
    return spec, np.zeros(spec.size, np.float32)


def centers(n: int) -> Any:
    specs = {name: spec_of((n, channels, 8, 8), name) for name, channels in (("heat", 3), ("size", 2))}
    return decode.centernet(specs, {name: np.zeros(spec.size, np.float32) for name, spec in specs.items()})


def masks(n: int) -> Any:
    spec, stored = one((n, 8, 16, 16))
    return decode.masks(spec, stored, np.zeros((1, 8), np.float32), np.zeros((1, 4), np.float32), (64, 64))


CALLS: dict[str, Callable[[int], Any]] = {
    "people": lambda n: decode.people(*one((n, 57, 16, 16))),
    "dbnet": lambda n: decode.dbnet(*one((n, 1, 16, 16))),
    "lanes": lambda n: decode.lanes(*one((n, 101, 56, 4))),
    "detection_output": lambda n: decode.detection_output(*one((n, 1, 5, 7)), (64, 64)),
    "centernet": centers,
    "masks": masks,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_one_input_says_what_to_give(name: str) -> None:
    CALLS[name](1)
    words = rf"of \(2,.*: a batch of 2; {name} reads outputs of one input: give spec\.replace\(shape=\(1, .*\), and"
    with pytest.raises(nl.LayoutError, match=words):
        CALLS[name](2)


@pytest.mark.parametrize("name", [name for name in EXPORTS if name != "scrfd"])  # whose lists have no axis of inputs
def test_a_decoder_of_every_head_does(name: str) -> None:
    net = exports.Net(3)
    EXPORTS[name].build(net)
    engine = nl.OnnxRuntimeEngine(net.bytes(), threads=1)
    specs = [spec_of((2, *shape[1:]) if len(shape) > 2 else shape, key) for key, shape in engine.output_shapes.items()]
    with pytest.raises(nl.LayoutError, match="a batch of 2; a Decoder reads outputs of one input"):
        decode.Decoder(EXPORTS[name].head, specs, (SIDE, SIDE))


def test_people_of_real_values() -> None:
    maps, _ = poses.drawn_people(np.random.default_rng(0), 2)
    both = np.stack([maps, maps[:, ::-1]])
    with pytest.raises(nl.LayoutError, match=r"got \(2, 57, 46, 46\); people reads one image: give maps\[i\]"):
        decode.people(both)
    assert len(decode.people(both[0])) == 2
    spec = spec_of((1, 57, 46, 46))
    parts = both.reshape(2, -1)
    assert np.array_equal(decode.people(spec, parts[0]), decode.people(maps), equal_nan=True)
    assert np.array_equal(decode.people(spec, parts[1]), decode.people(both[1]), equal_nan=True)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
def test_what_the_message_says_is_right(layout: str) -> None:
    """Each input's part of the buffer, by a spec of one, has the detections of that input."""
    rng, head = np.random.default_rng(2), decode.yolov8(3, activation="sigmoid")
    shapes = [(2, n, 64 // s, 64 // s) for s in (8, 16, 32) for n in (64, 3)]
    specs = [nl.TensorSpec(shape, layout, name=f"{n}") for n, shape in enumerate(shapes)]
    tensors = [rng.normal(0, 2, shape).astype(np.float32) for shape in shapes]
    buffers = [spec.pack(tensor) for spec, tensor in zip(specs, tensors)]
    decoder = decode.Decoder(head, [spec.replace(shape=(1, *spec.shape[1:])) for spec in specs], (64, 64))
    single = [nl.TensorSpec((1, *shape[1:]), name=f"{n}") for n, shape in enumerate(shapes)]
    plain = decode.Decoder(head, single, (64, 64))
    for i in range(2):
        found = decoder([buffer.reshape(2, -1)[i] for buffer in buffers], 0.6)
        wanted = plain([np.ascontiguousarray(tensor[i]).ravel() for tensor in tensors], 0.6)
        assert len(found) == len(wanted) > 3 and np.array_equal(found.xyxy, wanted.xyxy)


def test_functions_of_several_inputs() -> None:
    """Each has the answer of its own image; tests of the rooms compare them with loops."""
    rng = np.random.default_rng(3)
    shapes = {"classify": (3, 9), "ctc": (3, 6, 9), "heatmap_points": (3, 5, 8, 8), "landmarks": (3, 12)}
    reads: dict[str, Callable[[nl.TensorSpec, Values], Any]] = {
        "classify": lambda spec, x: decode.classify(spec, x, 2).class_id,
        "ctc": lambda spec, x: [text.text for text in decode.ctc(spec, x, "abcdefgh")],
        "heatmap_points": decode.heatmap_points,
        "landmarks": decode.landmarks,
    }
    for name, shape in shapes.items():
        real = rng.random(shape).astype(np.float32)
        layout = "NC" if len(shape) == 2 else nl.Layout.of_rank(len(shape))
        whole = reads[name](nl.TensorSpec(shape, layout), real.ravel())
        assert len(whole) == 3
        for i in range(3):
            part = nl.TensorSpec((1, *shape[1:]), layout)
            assert np.array_equal(np.asarray(whole[i]), np.asarray(reads[name](part, real[i].ravel())[0])), (name, i)
    x, y = (rng.random((3, 5, n)).astype(np.float32) for n in (16, 24))
    specs = [nl.TensorSpec(a.shape, "NCW") for a in (x, y)]
    whole = decode.simcc_points(specs[0], x.ravel(), specs[1], y.ravel())
    for i in range(3):
        specs = [nl.TensorSpec((1, *a.shape[1:]), "NCW") for a in (x, y)]
        assert np.array_equal(whole[i], decode.simcc_points(specs[0], x[i].ravel(), specs[1], y[i].ravel())[0])
