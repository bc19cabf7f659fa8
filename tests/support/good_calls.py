"""One good call of everything public, by its name; tests.support.bad_calls replaces its arguments."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Callable

import numpy as np

import npu_layout as nl
from npu_layout import exchange, kernels, ops, pytest_plugin, specs, streams, testing
from tests.support import streaming
from tests.support.exchanged import SNAPSHOT
from tests.support.good_arguments import (
    GEOMETRY,
    NIBBLES,
    SHAPE,
    SPEC,
    TARGET,
    calibration_set,
    compared,
    dumps,
    engine,
    explanation,
    fixture,
    frame,
    image,
    layers,
    model,
    model_file,
    new,
    npu,
    on_disk,
    own_engine,
    preprocessor,
    recorder,
    recording,
    report,
    run,
    stored,
    tensor,
)
from tests.support.good_decode_calls import decode_calls
from tests.support.public_call import Call
from tests.support.vendor_metadata import EXAMPLES, example


def stream_calls() -> dict[str, Callable[[], Call]]:
    """Those of npu_layout.streams."""
    made = dict(
        source=[], preprocess=streaming.PREPROCESS, engine=streaming.Reader(), function=None, policy="every",
        on_error="skip", watchdog=1.0, depth=1, debug=True,
    )  # fmt: skip
    given = dict(inputs={"x": tensor()}, out=None)

    def result() -> Any:
        (found,) = [r.copy() for r in streams.Stream([streaming.drawn(0)], streaming.PREPROCESS, streaming.Reader())]
        return found

    def of_pool(method: str, **arguments: Any) -> Callable[[], Call]:
        return lambda: Call(getattr(streams.EnginePool([own_engine()]), method), dict(arguments))

    return {
        "streams.Counts": lambda: Call(streams.Counts, dict(captured=1, shown=1, dropped=0, failed=0, pending=0)),
        "streams.EnginePool": lambda: Call(streams.EnginePool, dict(engines=[own_engine()])),
        "streams.EnginePool.close": of_pool("close"),
        "streams.EnginePool.infer": of_pool("infer", **given),
        "streams.EnginePool.map": of_pool("map", inputs=[given["inputs"]]),
        "streams.EnginePool.submit": of_pool("submit", **given),
        "streams.Result": lambda: Call(
            streams.Result,
            dict(number=0, captured=0.0, slot=result()._slot, frame=None, geometry=None, dropped=0),
        ),
        "streams.Result.copy": lambda: Call(result().copy, {}),
        "streams.Source": lambda: Call(streams.Source, dict(frames=[], live=False, close=None)),
        "streams.Source.close": lambda: Call(streams.Source([]).close, {}),
        "streams.Stream": lambda: Call(streams.Stream, dict(made)),
        "streams.Stream.close": lambda: Call(streams.Stream(**made).close, {}),
        "streams.Stream.start": lambda: Call(streams.Stream(**made).start, {}),
        "streams.Stream.stop": lambda: Call(streams.Stream(**made).stop, {}),
        "streams.StreamError": lambda: Call(streams.StreamError, dict(stage="infer", number=0, words="x")),
        "streams.open_source": lambda: Call(streams.open_source, dict(source=[], reopen=1.0)),
    }


# By the name below npu_layout, with @ and a word where one function has several ways that read other arguments.
def metadata_call(name: str) -> Callable[[], Call]:
    reader = getattr(specs, f"from_{name}")
    first = next(iter(inspect.signature(reader).parameters))
    return lambda: Call(reader, {first: example(name)[0], **example(name)[1]})


CALLS: dict[str, Callable[[], Call]] = {
    "Conversion": lambda: Call(nl.Conversion, dict(source=SPEC, target=TARGET, move=nl.plan(SPEC, TARGET).move)),
    "Conversion.__call__": lambda: Call(
        nl.plan(SPEC, TARGET).__call__, dict(buffer=stored(), out=np.empty(TARGET.size, np.float32))
    ),
    "Explanation": lambda: Call(
        nl.Explanation,
        {name: getattr(explanation(), name) for name in ("spec", "at", "reads", "part", "compared")},
    ),
    "Explanation.facts": lambda: Call(explanation().facts, {}),
    "Explanation.place": lambda: Call(explanation().place, {"*index": (0, 1, 0, 1)}),
    "Explanation.save": lambda: Call(explanation().save, dict(path=new("picture.svg"), width=700)),
    "Explanation.terminal": lambda: Call(explanation().terminal, dict(depth=8, columns=80)),
    "Explanation.to_png": lambda: Call(explanation().to_png, dict(width=700, scale=1)),
    "Explanation.to_svg": lambda: Call(explanation().to_svg, dict(width=700)),
    "Explanation.views": lambda: Call(explanation().views, {}),
    "FrameSpec": lambda: Call(
        nl.FrameSpec,
        dict(
            format="NV12", size_wh=(8, 6), strides=(16, 16), offsets=(0, 96), size=200, matrix="bt709", range="full",
        ),
    ),
    "FrameSpec.describe": lambda: Call(nl.FrameSpec("NV12", (8, 6)).describe, {}),
    "FrameSpec.from_dict": lambda: Call(nl.FrameSpec.from_dict, dict(d=nl.FrameSpec("NV12", (8, 6)).to_dict())),
    "FrameSpec.of": lambda: Call(
        nl.FrameSpec.of, dict(x={"lores": dict(format="YUV420", size=(8, 6), stride=64)}, stream="lores")
    ),
    "FrameSpec.planes": lambda: Call(nl.FrameSpec("NV12", (8, 6)).planes, dict(buffer=bytes(72))),
    "FrameSpec.to_dict": lambda: Call(nl.FrameSpec("NV12", (8, 6)).to_dict, {}),
    "Geometry": lambda: Call(
        nl.Geometry,
        {name: getattr(GEOMETRY, name) for name in ("frame_wh", "input_wh", "resized_wh", "pad_ltrb", "crop_xyxy")},
    ),
    "Geometry.boxes_to_frame": lambda: Call(GEOMETRY.boxes_to_frame, dict(boxes_xyxy=[[0, 0, 2, 2]], clip=True)),
    "Geometry.boxes_to_input": lambda: Call(GEOMETRY.boxes_to_input, dict(boxes_xyxy=[[0, 0, 2, 2]], clip=True)),
    "Geometry.crop": lambda: Call(nl.Geometry.crop, dict(frame_wh=(8, 6), input_wh=(4, 4))),
    "Geometry.letterbox": lambda: Call(
        nl.Geometry.letterbox, dict(frame_wh=(8, 6), input_wh=(4, 4), center=False, scaleup=False)
    ),
    "Geometry.mask_to_frame": lambda: Call(
        GEOMETRY.mask_to_frame, dict(mask=np.ones((2, 2)), interpolation="linear")
    ),
    "Geometry.mask_to_input": lambda: Call(
        GEOMETRY.mask_to_input, dict(mask=np.ones((2, 2)), interpolation="linear")
    ),
    "Geometry.points_to_frame": lambda: Call(GEOMETRY.points_to_frame, dict(points_xy=[1, 2], edges=True)),
    "Geometry.points_to_input": lambda: Call(GEOMETRY.points_to_input, dict(points_xy=[1, 2], edges=True)),
    "Geometry.stretch": lambda: Call(nl.Geometry.stretch, dict(frame_wh=(8, 6), input_wh=(4, 4))),
    "Hypothesis": lambda: Call(nl.Hypothesis, dict(spec=SPEC, score=20.0)),
    "Identification": lambda: Call(
        nl.Identification, dict(ranking=[nl.Hypothesis(SPEC, 20.0)], spec=SPEC, why="It is so.")
    ),
    "InputReport": lambda: Call(
        nl.InputReport, dict(name="x", verdict="match", fix=None, why="It is so.", spec=TARGET, frames=(0,))
    ),
    "InputReport.to_dict": lambda: Call(nl.InputReport("x", "match", None, "It is so.", TARGET, (0,)).to_dict, {}),
    "Layout": lambda: Call(nl.Layout, dict(tag="NCHW4c", axes="NHWC")),
    "Layout.check_shape": lambda: Call(nl.Layout("NHWC").check_shape, dict(shape=SHAPE)),
    "Layout.named": lambda: Call(nl.Layout.named, dict(name="NC1HWC2", block=16)),
    "Layout.of_rank": lambda: Call(nl.Layout.of_rank, dict(rank=3)),
    "Layout.offset": lambda: Call(nl.Layout("NHWC").offset, {"shape": SHAPE, "*index": (0, 1, 1, 1)}),
    "Layout.plain": lambda: Call(nl.Layout.plain, dict(axes="WHCN")),
    "Layout.size": lambda: Call(nl.Layout("NHWC").size, dict(shape=SHAPE)),
    "Layout.storage_shape": lambda: Call(nl.Layout("NHWC").storage_shape, dict(shape=SHAPE)),
    "OnnxRuntimeEngine": lambda: Call(
        nl.OnnxRuntimeEngine,
        dict(model=model(), threads=1, dimensions={"batch": 1}, providers="CPUExecutionProvider"),
    ),
    "OnnxRuntimeEngine.infer": lambda: Call(engine().infer, dict(inputs={"x": tensor()})),
    "OutputReport": lambda: Call(
        nl.OutputReport,
        {name: getattr(report().outputs["y"], name) for name in inspect.signature(nl.OutputReport).parameters},
    ),
    "OutputReport.to_dict": lambda: Call(report().outputs["y"].to_dict, {}),
    "Preprocessor": lambda: Call(
        nl.Preprocessor,
        dict(
            target=nl.TensorSpec((1, 3, 4, 4)), resize="crop", interpolation="nearest", source="RGB", color="BGR",
            mean=(1, 2, 3), std=2, pad_value=0, scaleup=False,
        ),
    ),
    "Preprocessor.__call__": lambda: Call(
        preprocessor().__call__,
        dict(frame=frame(), out=np.empty((1, 4, 4, 3), np.uint8), roi_xywh=(0, 0, 2, 2)),
    ),
    "Preprocessor.batch": lambda: Call(
        nl.Preprocessor(nl.TensorSpec((2, 3, 4, 4), "NHWC", "uint8")).batch,
        dict(frames=[frame(), frame()], out=np.empty((2, 4, 4, 3), np.uint8), rois_xywh=[(0, 0, 2, 2), None]),
    ),
    "Quantization": lambda: Call(nl.Quantization, dict(scale=[0.5, 0.25], zero_point=[1, 2], axis=1)),
    "Quantization.affine": lambda: Call(nl.Quantization(0.5, 1).affine, dict(axis="C", to_stored=True)),
    "Quantization.dequantize": lambda: Call(nl.Quantization(0.5, 1).dequantize, dict(q=stored())),
    "Quantization.from_dfp": lambda: Call(nl.Quantization.from_dfp, dict(fl=[3, 4], axis=1)),
    "Quantization.from_multiplier": lambda: Call(nl.Quantization.from_multiplier, dict(m=[3.0, 4.0], axis=1)),
    "Quantization.from_offset": lambda: Call(
        nl.Quantization.from_offset, dict(scale=[0.5, 0.25], offset=[1, 2], axis=1)
    ),
    "Quantization.quantize": lambda: Call(nl.Quantization(0.5, 1).quantize, dict(x=tensor(), dtype="int8")),
    "Quantization.to_dict": lambda: Call(nl.Quantization(0.5, 1).to_dict, {}),
    "Recorder": lambda: Call(
        nl.Recorder,
        dict(
            engine=npu(), folder=new("recorded"), input_specs=[nl.TensorSpec(SHAPE, name="x")],
            preprocess={"mean": 0}, model=model_file(), note="lab", versions={"driver": "1"},
        ),
    ),
    "Recorder.close": lambda: Call(recorder().close, {}),
    "Recorder.infer": lambda: Call(
        recorder().infer, dict(inputs={"x": tensor()}, frame=frame(), roi_xywh=(0, 0, 2, 2))
    ),
    "Recording": lambda: Call(nl.Recording, dict(specs={"y": SPEC}, frames=[run()], meta={"note": "lab"})),
    "Recording.load": lambda: Call(nl.Recording.load, dict(path=on_disk())),
    "Recording.save": lambda: Call(recording().save, dict(path=new("recorded"))),
    "Report": lambda: Call(
        nl.Report,
        {name: getattr(report(), name) for name in ("outputs", "frames", "model", "note", "meta", "inputs")},
    ),
    "Report.failures": lambda: Call(report().failures, {}),
    "Report.to_dict": lambda: Call(report().to_dict, {}),
    "Report.to_html": lambda: Call(report().to_html, dict(path=new("page.html"))),
    "Report.to_json": lambda: Call(report().to_json, dict(path=new("report.json"))),
    "Reports": lambda: Call(nl.Reports, dict(results={"lab": report()})),
    "Reports.to_dict": lambda: Call(nl.Reports({"lab": report()}).to_dict, {}),
    "Reports.to_json": lambda: Call(nl.Reports({"lab": report()}).to_json, dict(path=new("reports.json"))),
    "Engine": lambda: Call(object, {}),
    "Engine.close": lambda: Call(own_engine().close, {}),
    "Engine.infer": lambda: Call(own_engine().infer, dict(inputs={"x": tensor()}, out=None)),
    "OnnxRuntimeEngine.close": lambda: Call(own_engine().close, {}),
    "SimulatedNpu.close": lambda: Call(nl.SimulatedNpu(own_engine(), [SPEC]).close, {}),
    "open_engine": lambda: Call(nl.open_engine, {"name": f"onnx:{model_file()}"}),
    "SimulatedNpu": lambda: Call(
        nl.SimulatedNpu, dict(model=model(), outputs=[SPEC], inputs=[nl.TensorSpec(SHAPE)], threads=1)
    ),
    "SimulatedNpu.infer": lambda: Call(npu().infer, dict(inputs={"x": tensor()}, out=None)),
    "Tensor": lambda: Call(nl.Tensor, dict(x=tensor(), layout="NHWC")),
    "Tensor.of": lambda: Call(nl.Tensor.of, dict(array=tensor(), layout=nl.Layout("NCHW"))),
    "TensorSpec": lambda: Call(
        nl.TensorSpec,
        dict(
            shape=(1, 2, 3, 4), layout="NHWC", dtype="int8", axes="NHWC", quantization=nl.Quantization(0.5),
            storage_shape=(1, 2, 4, 4), storage_strides=(40, 16, 4, 1), storage_offset=2, size=50, name="y",
        ),
    ),
    "TensorSpec.describe": lambda: Call(SPEC.describe, {}),
    "TensorSpec.flat": lambda: Call(SPEC.flat, dict(buffer=stored())),
    "TensorSpec.from_dict": lambda: Call(nl.TensorSpec.from_dict, dict(d=SPEC.to_dict())),
    "TensorSpec.of_storage": lambda: Call(
        nl.TensorSpec.of_storage,
        dict(
            stored=(1, 2, 4, 4), layout="NHWC", dtype="int8", shape=(1, 2, 3, 4), axes="NHWC",
            quantization=nl.Quantization(0.5), storage_strides=(40, 16, 4, 1), storage_offset=2, size=50, name="y",
        ),
    ),
    "TensorSpec.offset": lambda: Call(SPEC.offset, {"*index": (0, 1, 1, 1)}),
    "TensorSpec.pack": lambda: Call(SPEC.pack, dict(tensor=tensor(), out=np.empty(SPEC.size, np.int8))),
    "TensorSpec.replace": lambda: Call(SPEC.replace, {}),
    "TensorSpec.to_dict": lambda: Call(SPEC.to_dict, {}),
    "TensorSpec.unpack": lambda: Call(
        SPEC.unpack,
        dict(flat=stored(), to="NHWC", dtype="float32", out=np.empty((1, 2, 3, 4), np.float32), copy=True),
    ),
    "TensorSpec.view": lambda: Call(nl.TensorSpec((1, 2, 3, 4), "NHWC", "int8").view, dict(flat=bytes(24))),
    "TensorSpec.pack@int4": lambda: Call(
        NIBBLES.pack, dict(tensor=np.ones(SHAPE, np.int8), out=np.zeros(12, np.uint8))
    ),
    "TensorSpec.unpack@int4": lambda: Call(NIBBLES.unpack, dict(flat=bytes(12), out=np.empty(SHAPE, np.int8))),
    "asformat": lambda: Call(nl.asformat, dict(x=tensor(), layout="NHWC", copy=True)),
    "clone": lambda: Call(nl.clone, dict(x=tensor(), layout="NHWC")),
    **decode_calls(),
    **stream_calls(),
    "testing.check_engine": lambda: Call(testing.check_engine, dict(make=own_engine, inputs={"x": tensor()})),
    "empty": lambda: Call(nl.empty, dict(shape=SHAPE, dtype="int8", layout="NHWC")),
    "empty_like": lambda: Call(nl.empty_like, dict(x=tensor(), dtype="int8", layout="NHWC")),
    "explain": lambda: Call(
        nl.explain,
        dict(
            layout="NHWC", shape=(1, 3, 4, 5), dtype="int8", axes="NCHW", at=(0, 0, 0, 0), window=(2, 2), gray=True,
            compare=["NCHW"], part=(1, 3, 2, 2), cache_line=64,
        ),
    ),
    "explain@spec": lambda: Call(nl.explain, dict(layout=SPEC, at=(0, 1, 0, 0), compare="NHWC")),
    "find_recordings": lambda: Call(nl.find_recordings, dict(paths=[on_disk()])),
    "fitting_formats": lambda: Call(nl.fitting_formats, dict(x=tensor(), axes="NCHW")),
    "identify": lambda: Call(nl.identify, dict(flat=SPEC.pack(tensor()), reference=tensor(), axes="NCHW")),
    "is_contiguous": lambda: Call(nl.is_contiguous, dict(x=tensor(), layout="NHWC")),
    "memory_format": lambda: Call(nl.memory_format, dict(x=tensor(), axes="NCHW")),
    "plan": lambda: Call(nl.plan, dict(source=SPEC, target=TARGET)),
    "repack": lambda: Call(
        nl.repack,
        dict(x=tensor(), src="NCHW", dst="NHWC4c", shape=SHAPE, out=np.empty((1, 2, 3, 1, 4), np.float32)),
    ),
    "set_num_threads": lambda: Call(nl.set_num_threads, dict(n=kernels.get_num_threads())),
    "strides": lambda: Call(nl.strides, dict(shape=SHAPE, layout="NHWC")),
    "to_gray": lambda: Call(
        nl.to_gray, dict(image=frame(), layout="HWC", order="RGB", to="HWC", out=np.empty((6, 8, 1), np.uint8))
    ),
    "track_layout": lambda: Call(nl.track_layout, {}),
    "validate": lambda: Call(
        nl.validate,
        dict(
            recording=recording(), model=engine(), min_snr_db=1, min_cosine=0.1, max_abs=9, max_steps={"y": 9},
            progress=False,
        ),
    ),
    "validate_many": lambda: Call(
        nl.validate_many,
        dict(
            paths=[on_disk()], model=model(), executor=None, workers=None, pictures=False, min_snr_db=1,
            min_cosine=0.1, max_abs=9, max_steps={"y": 9}, progress=False,
        ),
    ),
    "why_copy": lambda: Call(nl.why_copy, dict(x=tensor(), shape=(4, 6))),
    "exchange.CalibrationReader": lambda: Call(exchange.CalibrationReader, dict(samples=calibration_set())),
    "exchange.CalibrationReader.get_next": lambda: Call(calibration_set().reader().get_next, {}),
    "exchange.CalibrationReader.rewind": lambda: Call(calibration_set().reader().rewind, {}),
    "exchange.CalibrationSet": lambda: Call(
        exchange.CalibrationSet, dict(frames=[frame()], preprocess=calibration_set().preprocess, name="image")
    ),
    "exchange.CalibrationSet.reader": lambda: Call(calibration_set().reader, {}),
    "exchange.CalibrationSet.samples": lambda: Call(calibration_set().samples, {}),
    "exchange.CalibrationSet.save": lambda: Call(
        calibration_set().save, dict(folder=new("calibration"), toolchain="rknn")
    ),
    "exchange.Toolchain": lambda: Call(exchange.Toolchain, exchange.TOOLCHAINS["rknn"]._asdict()),
    "exchange.ComparedLayer": lambda: Call(exchange.ComparedLayer, compared().layers[0]._asdict()),
    "exchange.ComparedLayer.to_dict": lambda: Call(compared().layers[0].to_dict, {}),
    "exchange.Form": lambda: Call(exchange.Form, exchange.FORMS["raw"]._asdict()),
    "exchange.LayerComparison": lambda: Call(exchange.LayerComparison, vars(compared())),
    "exchange.LayerComparison.to_dict": lambda: Call(compared().to_dict, {}),
    "exchange.compare_layers": lambda: Call(
        exchange.compare_layers, dict(a=layers(), b=layers(), model=model_file(), min_snr_db=20.0, frame=0)
    ),
    "exchange.load": lambda: Call(exchange.load, dict(path=dumps(), form="raw")),
    "exchange.load@onnx": lambda: Call(exchange.load, dict(path=dumps("onnx"), form="onnx", model=model_file())),
    "exchange.load@polygraphy": lambda: Call(exchange.load, dict(path=dumps("polygraphy"))),
    "exchange.load@rknn": lambda: Call(exchange.load, dict(path=str(SNAPSHOT), outputs=["heat/out:0"])),
    "exchange.save": lambda: Call(exchange.save, dict(recording=recording(), path=new("dumps"), form="raw")),
    "exchange.save@onnx": lambda: Call(
        exchange.save, dict(recording=recording(), path=new("dumps"), form="onnx", model=engine())
    ),
    "exchange.save@polygraphy": lambda: Call(
        exchange.save, dict(recording=recording(), path=new("dumps"), form="polygraphy", model=engine())
    ),
    "kernels.active": lambda: Call(kernels.active, {}),
    "kernels.argmax": lambda: Call(
        kernels.argmax, dict(x=image(), out=np.empty((1, 3, 4), np.int64), channels=5, dtype="uint8")
    ),
    "kernels.backends": lambda: Call(kernels.backends, {}),
    "kernels.get_num_threads": lambda: Call(kernels.get_num_threads, {}),
    "kernels.peaks": lambda: Call(
        kernels.peaks, dict(x=image(), threshold=3, radius=1, channels=3, dtype="uint8", backend="numpy")
    ),
    "kernels.set_num_threads": lambda: Call(kernels.set_num_threads, dict(n=kernels.get_num_threads())),
    "kernels.sigmoid": lambda: Call(
        kernels.sigmoid,
        dict(
            x=image(),
            out=np.empty((1, 3, 4, 5), np.float32),
            dtype="uint8",
            scale=2,
            zero_point=1,
            positions=3,
            channels=5,
        ),
    ),
    "kernels.softmax": lambda: Call(
        kernels.softmax,
        dict(
            x=image(), out=np.empty((1, 3, 4, 5), np.float32), positions=3, channels=5, dtype="uint8", scale=2,
            zero_point=1,
        ),
    ),
    "kernels.top_k": lambda: Call(
        kernels.top_k,
        dict(
            x=image(), values=np.empty((1, 3, 4, 2), np.uint8), numbers=np.empty((1, 3, 4, 2), np.int64), channels=5,
            dtype="uint8",
        ),
    ),
    "kernels.tops": lambda: Call(
        kernels.tops,
        dict(x=image(), rows=np.zeros((1, 4), np.int64), out=np.empty((1, 5)), refine="quarter"),
    ),
    "ops.above": lambda: Call(ops.above, dict(x=image(), threshold=2, buffer=None, quantization=(0.5, 1))),
    "ops.max_channels": lambda: Call(ops.max_channels, dict(x=image(), buffer=None, quantization=(0.5, 1))),
    "ops.argmax_channels": lambda: Call(
        ops.argmax_channels, dict(x=image(), buffer=None, quantization=(0.5, 1), out=np.empty((1, 1, 4, 5), np.int64))
    ),
    "ops.concat_channels": lambda: Call(
        ops.concat_channels, dict(xs=[image(), image()], out=np.empty((1, 6, 4, 5), np.uint8))
    ),
    "ops.crop": lambda: Call(ops.crop, dict(x=image(), xywh=(0, 0, 2, 2), out=np.empty((1, 3, 2, 2), np.uint8))),
    "ops.dequantize": lambda: Call(
        ops.dequantize, dict(x=image(), quantization=(0.5, 1), out=np.empty((1, 3, 4, 5), np.float32))
    ),
    "ops.flip": lambda: Call(ops.flip, dict(x=image(), out=np.empty((1, 3, 4, 5), np.uint8))),
    "ops.normalize": lambda: Call(
        ops.normalize, dict(x=image(), mean=(1, 2, 3), std=2, out=np.empty((1, 3, 4, 5), np.float32))
    ),
    "ops.pad": lambda: Call(
        ops.pad, dict(x=image(), pad_ltrb=(1, 1, 1, 1), value=7, out=np.empty((1, 3, 6, 7), np.uint8))
    ),
    "ops.peaks": lambda: Call(
        ops.peaks,
        dict(
            x=image(), threshold=2, radius=1, buffer=None, refine="quarter", quantization=(0.5, 1),
            out=np.empty((3, 5)),
        ),
    ),
    "ops.quantize": lambda: Call(
        ops.quantize,
        dict(x=image("float32"), quantization=(0.5, 1), dtype="int8", out=np.empty((1, 3, 4, 5), np.int8)),
    ),
    "ops.resize": lambda: Call(
        ops.resize, dict(x=image(), size_wh=(3, 2), interpolation="cubic", out=np.empty((1, 3, 2, 3), np.uint8))
    ),
    "ops.result_layout": lambda: Call(ops.result_layout, {"*inputs": (image(), image())}),
    "ops.sigmoid": lambda: Call(
        ops.sigmoid, dict(x=image(), buffer=None, quantization=(0.5, 1), out=np.empty((1, 3, 4, 5), np.float32))
    ),
    "ops.softmax_channels": lambda: Call(
        ops.softmax_channels,
        dict(x=image(), buffer=None, quantization=(0.5, 1), out=np.empty((1, 3, 4, 5), np.float32)),
    ),
    "ops.split_channels": lambda: Call(
        ops.split_channels,
        dict(x=image(), sizes=(1, 2), out=[np.empty((1, n, 4, 5), np.uint8) for n in (1, 2)]),
    ),
    "ops.table": lambda: Call(ops.table, dict(formats=("NCHW",), dtype="uint8")),
    "ops.to_gray": lambda: Call(ops.to_gray, dict(x=image(), order="RGB", out=np.empty((1, 1, 4, 5), np.uint8))),
    "ops.top_k": lambda: Call(
        ops.top_k,
        dict(
            x=image(), k=2, buffer=None, quantization=(0.5, 1),
            out=(np.empty((1, 2, 4, 5), np.float32), np.empty((1, 2, 4, 5), np.int64)),
        ),
    ),
    "pytest_plugin.Recordings": lambda: Call(
        pytest_plugin.Recordings,
        dict(config=fixture()._config, test=Path("test_it.py"), recorded={}, engines={}, started=None),
    ),
    "pytest_plugin.Recordings.__call__": lambda: Call(
        fixture().__call__, dict(name="saved", inputs=None, engine=None)
    ),
    "pytest_plugin.assert_matches": lambda: Call(
        pytest_plugin.assert_matches,
        dict(recording=recording(), model=engine(), min_snr_db=1, min_cosine=0.1, max_abs=9, max_steps={"y": 9}),
    ),
    **{f"specs.from_{name}": metadata_call(name) for name in EXAMPLES},
}  # fmt: skip
