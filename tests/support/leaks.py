"""Resident memory over very many calls of each public function.

``python -m tests.support.leaks [CALLS [SECONDS [NAME ...]]]``: each runs up to CALLS times (default a million), or for
SECONDS (default 30); printed is how many it were, and by how much the process grew between the end of the first tenth
and the end. More than 1 MB is an exit status of 1.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout import kernels, ops
from tests.support.exchanged import recording
from tests.support.vendor_metadata import EXAMPLES

LIMIT = 1 << 20
_libc = ctypes.CDLL(None)
Call = Callable[[], Any]


def resident() -> int:
    """Bytes of its own, swapped ones too, after what is free was given back. Pages of files, as of libraries,
    come and go as the system likes."""
    gc.collect()
    with suppress(AttributeError):  # glibc's own
        _libc.malloc_trim(0)
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem", "VmSwap")) << 10


def growth(call: Call, calls: int, seconds: float) -> tuple[int, int]:
    """(how many calls, bytes that the last nine tenths of them left)"""
    begin, done, start = time.monotonic(), 0, 0
    first = calls // 10
    while done < calls:
        for _ in itertools.repeat(None, min(100, calls - done)):
            call()
        done += 100
        late = time.monotonic() - begin
        if not start and (done >= first or late > seconds / 10):
            start = resident()
        if late > seconds:
            break
    return done, resident() - start


def refused(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """A call that raises the library's error."""

    def call() -> None:
        with suppress(nl.NpuLayoutError):
            function(*args, **kwargs)
            raise AssertionError(f"{function} took {args}")

    return call


SHAPE = (1, 7, 6, 5)
Q = nl.Quantization(0.1, 3)


class _Arrays(NamedTuple):
    """Small ones: of any numbers, the same with channels last, what is stored of them, a camera's frame."""

    x: np.ndarray
    last: np.ndarray
    stored: np.ndarray
    frame: np.ndarray


def _arrays() -> _Arrays:
    rng = np.random.default_rng(0)
    x, last = rng.random(SHAPE, np.float32), nl.asformat(rng.random(SHAPE, np.float32), "NHWC")
    stored = np.zeros(nl.TensorSpec(SHAPE, "NCHW4c").storage_shape, np.int8)
    return _Arrays(x, last, stored, rng.integers(0, 256, (12, 9, 3)).astype(np.uint8))


@contextmanager
def calls() -> Iterator[dict[str, Call]]:
    """Every public function with small arguments, by name; what keeps files works in a folder that goes."""
    arrays = _arrays()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as home:
        yield {
            **_of_buffers(*arrays[:3]),
            **_of_frames(arrays.frame),
            **_of_arrays(*arrays[:2]),
            **_of_ops(*arrays[:3]),
            **_of_kernels(arrays.x),
            **_of_recordings(Path(home), arrays.x),
            **with_a_model(Path(home)),
        }


def _of_buffers(x: np.ndarray, last: np.ndarray, stored: np.ndarray) -> dict[str, Call]:
    layout, shape, q = nl.Layout("NCHW4c"), SHAPE, Q
    spec = nl.TensorSpec(shape, layout, "int8", quantization=q)
    image = nl.TensorSpec((1, 3, 8, 8), "NHWC", "float32")
    flat = np.random.default_rng(0).integers(-128, 128, spec.size).astype(np.int8)
    convert, out = nl.plan(spec, nl.TensorSpec(shape, "NHWC", "float32")), np.empty((1, 6, 5, 7), np.float32)
    found, words = nl.identify(spec.pack(x), x), spec.to_dict()
    return {
        "Layout": lambda: nl.Layout("NCHW4c"),
        "Layout, refused": refused(nl.Layout, "NCHW4"),
        "Layout.named": lambda: nl.Layout.named("NC1HWC2", 16),
        "Layout.plain": lambda: nl.Layout.plain("NCHW"),
        "Layout.of_rank": lambda: nl.Layout.of_rank(4),
        "Layout.storage_shape": lambda: layout.storage_shape(shape),
        "Layout.check_shape": lambda: layout.check_shape(shape),
        "Layout.size": lambda: layout.size(shape),
        "Layout.offset": lambda: layout.offset(shape, 0, 1, 2, 3),
        "Layout.offset of arrays": lambda: layout.offset(shape, 0, np.arange(7), 2, 3),
        "Quantization": lambda: nl.Quantization([0.1, 0.2], 3, axis=1),
        "Quantization, refused": refused(nl.Quantization, -1),
        "Quantization.from_dfp": lambda: nl.Quantization.from_dfp(4),
        "Quantization.from_offset": lambda: nl.Quantization.from_offset(0.1, 4),
        "Quantization.from_multiplier": lambda: nl.Quantization.from_multiplier(4),
        "Quantization.quantize": lambda: q.quantize(x, "int8"),
        "Quantization.dequantize": lambda: q.dequantize(stored),
        "Quantization.affine": lambda: q.affine("C", to_stored=True),
        "Quantization.to_dict": q.to_dict,
        "TensorSpec": lambda: nl.TensorSpec(shape, layout, "int8", quantization=q),
        "TensorSpec, refused": refused(nl.TensorSpec, shape, "NCHW", storage_strides=[1, 1, 1, 1]),
        "TensorSpec.unpack": lambda: spec.unpack(flat),
        "TensorSpec.unpack of a new spec": lambda: nl.TensorSpec(shape, layout, "int8").unpack(flat),
        "TensorSpec.unpack, refused": refused(spec.unpack, flat[1:]),
        "TensorSpec.unpack of bytes": lambda: spec.unpack(bytes(spec.nbytes), out=x),
        "TensorSpec.pack": lambda: spec.pack(x),
        "TensorSpec.view": lambda: image.view(np.zeros(image.size, np.float32)),
        "TensorSpec.flat": lambda: spec.flat(bytearray(spec.nbytes)),
        "TensorSpec.offset": lambda: spec.offset(0, 1, 2, 3),
        "TensorSpec.describe": spec.describe,
        "TensorSpec.to_dict": spec.to_dict,
        "TensorSpec.from_dict": lambda: nl.TensorSpec.from_dict(words),
        "repack": lambda: nl.repack(stored, "NCHW4c", "NHWC", shape=shape),
        "repack, refused": refused(nl.repack, stored, "NCHW4c", "NM"),
        "plan": lambda: nl.plan(spec, nl.TensorSpec(shape, "NHWC", "float32")),
        "Conversion": lambda: convert(flat, out),
        **{
            f"specs.from_{name}": partial(getattr(nl.specs, f"from_{name}"), given, **options)
            for name, (given, options) in EXAMPLES.items()
        },
        "identify": lambda: nl.identify(flat, x),
        "Identification": lambda: (found.spec, str(found)),
        "explain": lambda: nl.explain("NCHW4c", shape),
        "Explanation.to_svg": lambda: nl.explain("NHWC", (1, 2, 2, 2)).to_svg(),
    }


def _of_frames(frame: np.ndarray) -> dict[str, Call]:
    rng = np.random.default_rng(0)
    image = nl.TensorSpec((1, 3, 8, 8), "NHWC", "float32")
    preprocess = nl.Preprocessor(image, mean=127, std=64)
    geometry = nl.Geometry.letterbox((12, 9), (8, 8))
    points, boxes = rng.random((4, 2)) * 8, rng.random((4, 4)) * 4 + (0, 0, 4, 4)
    return {
        "to_gray": lambda: nl.to_gray(frame, "HWC"),
        "Preprocessor": lambda: nl.Preprocessor(image, mean=127, std=64),
        "Preprocessor.__call__": lambda: preprocess(frame),
        "Preprocessor.batch": lambda: preprocess.batch([frame]),
        "Geometry.letterbox": lambda: nl.Geometry.letterbox((12, 9), (8, 8)),
        "Geometry.stretch": lambda: nl.Geometry.stretch((12, 9), (8, 8)),
        "Geometry.crop": lambda: nl.Geometry.crop((12, 9), (8, 8)),
        "Geometry.points_to_frame": lambda: geometry.points_to_frame(points),
        "Geometry.points_to_input": lambda: geometry.points_to_input(points),
        "Geometry.boxes_to_frame": lambda: geometry.boxes_to_frame(boxes),
        "Geometry.boxes_to_input": lambda: geometry.boxes_to_input(boxes),
        "Geometry.mask_to_frame": lambda: geometry.mask_to_frame(np.zeros((8, 8), np.uint8)),
        "Geometry.mask_to_input": lambda: geometry.mask_to_input(np.zeros((9, 12), np.uint8)),
    }


def _of_arrays(x: np.ndarray, last: np.ndarray) -> dict[str, Call]:
    shape, tensor = SHAPE, nl.Tensor(x, "NHWC")
    return {
        "Tensor": lambda: nl.Tensor(x, "NHWC"),
        "Tensor.of": lambda: nl.Tensor.of(last, nl.Layout("NHWC")),
        "Tensor.copy": tensor.copy,
        "Tensor.astype": lambda: tensor.astype(np.float64),
        "Tensor.view": lambda: tensor.view(np.int32),
        "Tensor, arithmetic": lambda: (tensor + 1).max(axis=1, keepdims=True),
        "asformat": lambda: nl.asformat(x, "NHWC"),
        "clone": lambda: nl.clone(last),
        "empty": lambda: nl.empty(shape, "float32", "NHWC"),
        "empty_like": lambda: nl.empty_like(last),
        "memory_format": lambda: nl.memory_format(last),
        "fitting_formats": lambda: nl.fitting_formats(last),
        "is_contiguous": lambda: nl.is_contiguous(last, "NHWC"),
        "strides": lambda: nl.strides(shape, "NHWC"),
        "why_copy": lambda: nl.why_copy(last, (1, -1)),
        "set_num_threads": lambda: nl.set_num_threads(1),
        "track_layout": lambda: tracked(x),
    }


def _of_ops(x: np.ndarray, last: np.ndarray, stored: np.ndarray) -> dict[str, Call]:
    q, tensor = Q, nl.Tensor(x, "NHWC")
    bytes_ = np.random.default_rng(0).integers(0, 256, (1, 3, 6, 5)).astype(np.uint8)
    return {
        "ops.argmax_channels": lambda: ops.argmax_channels(last),
        "ops.softmax_channels": lambda: ops.softmax_channels(last),
        "ops.top_k": lambda: ops.top_k(last, 3),
        "ops.to_gray": lambda: ops.to_gray(bytes_),
        "ops.normalize": lambda: ops.normalize(bytes_, 127, 64),
        "ops.quantize": lambda: ops.quantize(x, q, "int8"),
        "ops.dequantize": lambda: ops.dequantize(stored[..., 0], q),
        "ops.sigmoid": lambda: ops.sigmoid(x),
        "ops.resize": lambda: ops.resize(bytes_, (9, 8)),
        "ops.peaks": lambda: ops.peaks(x, 0.5),
        "ops.concat_channels": lambda: ops.concat_channels([x, last]),
        "ops.split_channels": lambda: ops.split_channels(last, (3, 4)),
        "ops.crop": lambda: ops.crop(last, (1, 1, 2, 2)),
        "ops.pad": lambda: ops.pad(last, (1, 2, 3, 4)),
        "ops.flip": lambda: ops.flip(last),
        "ops.table": ops.table,
        "ops.result_layout": lambda: ops.result_layout(tensor),
    }


def _of_kernels(x: np.ndarray) -> dict[str, Call]:
    codes, where = np.zeros((6, 5), np.int64), np.zeros((30, 7), np.float32)
    planes = [np.zeros((6, 5), np.uint8) for _ in range(4)]
    heat = np.ascontiguousarray(x)
    rows = kernels.peaks(heat, 0.5)
    tops = np.empty((len(rows), 5))
    return {
        "kernels.active": kernels.active,
        "kernels.backends": kernels.backends,
        "kernels.get_num_threads": kernels.get_num_threads,
        "kernels.set_num_threads": lambda: kernels.set_num_threads(1),
        "kernels.program": lambda: kernels.program(
            60,
            60,
            [],
            [kernels.Box(((12, 1, 5, 0), (5, 12, 1, 0)), 0, 0, 0)],
            kernels.Arithmetic("int8", "float32"),
        ),
        "kernels.argmax": lambda: kernels.argmax(x[0].transpose(1, 2, 0), codes),
        "kernels.top_k": lambda: kernels.top_k(where, np.empty_like(where), np.empty(where.shape, np.int64)),
        "kernels.softmax": lambda: kernels.softmax(where, np.empty_like(where)),
        "kernels.sigmoid": lambda: kernels.sigmoid(where, np.empty_like(where)),
        "kernels.peaks": lambda: kernels.peaks(heat, 0.5),
        "kernels.tops": lambda: kernels.tops(heat, rows, tops),
        "kernels.gray": lambda: kernels.gray(*planes),
    }


def _of_recordings(home: Path, x: np.ndarray) -> dict[str, Call]:
    folder, dumps, made = home / "run", home / "dumps", home / "made"
    recorded = recording(2)
    recorded.save(folder)
    nl.exchange.save(recorded, dumps, form="raw")

    def anew(write: Call) -> Call:
        def call() -> None:
            write()
            shutil.rmtree(made)

        return call

    class Board:
        output_specs = (nl.TensorSpec(SHAPE, "NCHW", "float32", name="y"),)

        def infer(self, inputs: Any) -> dict[str, np.ndarray]:
            return {"y": x}

    def record() -> None:
        with nl.Recorder(Board(), made) as recorder:
            recorder.infer({"x": x})

    return {
        "Recording": lambda: nl.Recording(recorded.specs, recorded.frames),
        "Recording.load": lambda: list(nl.Recording.load(folder)),
        "Recording.load, refused": refused(nl.Recording.load, dumps),
        "Recording.save": anew(lambda: recorded.save(made)),
        "Recorder": anew(record),
        "exchange.load": lambda: list(nl.exchange.load(dumps)),
        "exchange.save": anew(lambda: nl.exchange.save(recorded, made, form="polygraphy")),
        "find_recordings": lambda: list(nl.find_recordings(home)),
    }


def tracked(x: np.ndarray) -> None:
    with nl.track_layout() as report:
        nl.Tensor(x, "NHWC").sum()
    str(report)


def with_a_model(home: Path) -> dict[str, Call]:
    """What runs an ONNX model: one Relu."""
    import onnx.helper as oh
    from onnx import TensorProto

    ends = [oh.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, 3, 3]) for name in "xy"]
    graph = oh.make_graph([oh.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 13)], ir_version=8).SerializeToString()
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 3)).astype(np.float32)
    engine, spec = nl.OnnxRuntimeEngine(model), nl.TensorSpec((1, 2, 3, 3), "NHWC", "float32", name="y")
    npu = nl.SimulatedNpu(model, [spec])
    recorded = nl.Recording({"y": spec}, [({"x": x}, npu.infer(x))])
    report = nl.validate(recorded, model)
    (home / "model.onnx").write_bytes(model)
    recorded.save(home / "runs" / "one")
    return {
        "OnnxRuntimeEngine": lambda: nl.OnnxRuntimeEngine(model),
        "OnnxRuntimeEngine.infer": lambda: engine.infer(x),
        "SimulatedNpu": lambda: nl.SimulatedNpu(model, [spec]),
        "SimulatedNpu.infer": lambda: npu.infer(x),
        "validate": lambda: nl.validate(recorded, model),
        "validate_many": lambda: nl.validate_many(home / "runs", home / "model.onnx"),
        "Report": lambda: (report.to_dict(), report.to_json(), str(report)),
    }


def main(most: int = 1_000_000, seconds: float = 30, *names: str) -> int:
    kernels.set_num_threads(1)
    worst = total = 0
    with calls() as table:
        for name, call in table.items():
            if names and name not in names:
                continue
            for _ in range(10):
                call()
            count, grown = growth(call, most, seconds)
            worst, total = max(worst, grown), total + count
            print(f"{name:34} {count:9,} calls {grown / 1024:8.0f} KiB{'  GROWS' if grown > LIMIT else ''}", flush=True)
    print(f"{total:,} calls, at most {worst / 1024:.0f} KiB more, {kernels.active()}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(*map(int, given[:1]), *map(float, given[1:2]), *given[2:]))
