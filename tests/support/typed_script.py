"""What a user may write, checked by mypy --strict and run by test_typed.py: python typed_script.py MODEL FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import npu_layout as nl
from npu_layout import decode, exchange, kernels, ops, specs, streams, testing
from npu_layout.pytest_plugin import Recordings, assert_matches

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value, kind):
        return value


def layouts() -> None:
    layout = nl.Layout("NCHW16c", axes="NCHW")
    assert_type((layout.tag, layout.axes, layout.letters, layout.is_blocked), tuple[str, str, str, bool])
    assert_type(layout.storage_shape([1, 17, 2, 2]), tuple[int, ...])
    assert_type(layout.size(layout.check_shape((1, 17, 2, 2))), int)
    assert_type([dim.axis for dim in layout.dims], list[int])
    layout.offset((1, 17, 2, 2), 0, 16, 1, np.array([0, 1]))
    assert [nl.Layout.named("5HD", block=16), nl.Layout.of_rank(4), nl.Layout.plain("NCHW")][0] == layout


def quantizations() -> None:
    q = nl.Quantization([0.5, 0.25], zero_point=3, axis=1)
    assert_type(q.scale, "float | np.ndarray")
    assert_type((q.axis, q.count), "tuple[int | None, int]")
    assert_type(q.dequantize(q.quantize(np.zeros((1, 2)), "int8")), np.ndarray)
    nl.Quantization(**q.to_dict())
    q.affine("C", to_stored=True)
    for same in (nl.Quantization.from_dfp(1), nl.Quantization.from_offset(0.5, 0), nl.Quantization.from_multiplier(2)):
        assert same.zero_point == 0


def tensors(quantized: nl.TensorSpec) -> np.ndarray:
    spec = nl.TensorSpec.from_dict(quantized.to_dict())
    assert_type((spec.name, spec.axes, spec.dtype, spec.layout), tuple[str, str, str, nl.Layout])
    assert_type((spec.size, spec.nbytes, spec.storage_offset), tuple[int, int, int])
    assert_type(spec.channels, "str | None")
    assert_type(spec.shape + spec.storage_shape + spec.storage_strides, tuple[int, ...])
    assert_type(spec.quantization, "nl.Quantization | None")
    spec.storage, spec.element, spec.stored, spec.describe(), spec.offset(0, 0, 0, 0)
    flat = spec.pack(np.zeros(spec.shape, np.float32), out=None)
    assert_type(spec.unpack(bytes(flat), to="NHWC", dtype=np.float32, out=None, copy=None), np.ndarray)
    assert_type(spec.flat(flat), np.ndarray)
    plain = nl.TensorSpec(spec.shape, dtype="int8")
    assert_type(plain.replace(dtype="int8", name=""), nl.TensorSpec)
    assert nl.TensorSpec.of_storage((1, 3, 4, 2), "NHWC", "int8", axes="NCHW").shape == (1, 2, 3, 4)
    assert_type(plain.view(plain.pack(np.zeros(spec.shape, np.int8))), np.ndarray)
    convert = nl.plan(spec, nl.TensorSpec(spec.shape, "NHWC", "float32"))
    assert isinstance(convert, nl.Conversion) and convert.source == spec and convert.move is not None
    assert_type(convert(flat, out=None), np.ndarray)
    assert_type(convert.target, nl.TensorSpec)
    try:
        spec.unpack(b"")
    except nl.BufferSizeError as error:
        assert_type(error, nl.BufferSizeError)
    for kind in (nl.ArgumentError, nl.LayoutError, nl.NoDeviceError, nl.RecordingError, nl.BufferSizeError):
        assert issubclass(kind, nl.NpuLayoutError)
    return flat


def formats(x: np.ndarray) -> None:
    last = nl.asformat(x, "NHWC", copy=True)
    assert_type(nl.memory_format(last, axes="NCHW"), "nl.Layout | None")
    assert_type(nl.fitting_formats(last), tuple[nl.Layout, ...])
    assert_type(nl.is_contiguous(nl.clone(last, "NHWC"), "NHWC"), bool)
    assert_type(nl.strides(x.shape, nl.Layout("NHWC")), tuple[int, ...])
    assert_type(nl.empty_like(nl.empty(x.shape, np.uint8, "NHWC"), layout="NCHW"), np.ndarray)
    assert_type(nl.repack(x, "NCHW", "NCHW4c", out=None), np.ndarray)
    assert_type(nl.why_copy(last, (1, -1)), str)
    assert_type(nl.to_gray(x.astype(np.uint8), "NCHW", order="RGB", to="NHWC"), np.ndarray)
    tensor = nl.Tensor(x, "NHWC")
    assert_type(tensor.layout, nl.Layout)
    assert_type(nl.Tensor.of(x, nl.Layout("NCHW")), nl.Tensor)
    with nl.track_layout() as report:
        tensor.mean(axis=1)
    assert_type(str(report), str)


def operators(x: np.ndarray) -> None:
    q = nl.Quantization(0.1)
    stored = ops.quantize(x, q, "int8")
    for result in (
        ops.argmax_channels(stored, quantization=q),
        ops.concat_channels([x, x]),
        ops.crop(x, (0, 0, 2, 2)),
        ops.dequantize(stored, q),
        ops.flip(x, out=None),
        ops.normalize(x, mean=0, std=[1, 2, 3]),
        ops.pad(x, (1, 1, 1, 1), value=0),
        ops.peaks(x, 0.5, radius=1, refine=None),
        ops.resize(x, (4, 4), "nearest"),
        ops.sigmoid(x),
        ops.softmax_channels(x),
        ops.to_gray(x, order="RGB"),
    ):
        assert_type(result, np.ndarray)
    assert_type(ops.split_channels(x, [1, 2]), tuple[np.ndarray, ...])
    assert_type(ops.top_k(x, 2), tuple[np.ndarray, np.ndarray])
    assert_type([ops.max_channels(x), ops.above(x, 0.5)], list[tuple[np.ndarray, np.ndarray]])
    spec = nl.TensorSpec(x.shape, "NCHW4c")
    assert_type(ops.argmax_channels(spec, spec.pack(x)), np.ndarray)
    assert_type(ops.result_layout(x, x, windows=True), "nl.Layout | None")
    assert_type(ops.table(["NHWC"], dtype="uint8")["flip"], dict[str, str])


def cores() -> None:
    assert_type([kernels.active(), *kernels.backends()], list[str])
    nl.set_num_threads(kernels.get_num_threads())
    kernels.set_num_threads(1)
    x, out = np.zeros((1, 2, 4, 4), np.float32), np.empty((1, 2, 4, 4), np.float32)
    kernels.argmax(x, np.empty((1, 2, 4), np.int64), backend="numpy")
    kernels.top_k(x, x[..., :2].copy(), np.empty((1, 2, 4, 2), np.int64), channels=4)
    kernels.softmax(x, out, positions=3, channels=None, scale=1.0)
    kernels.sigmoid(x, out, scale=1.0, positions=3, channels=None)
    rows = kernels.peaks(x, 0.5, radius=1)
    kernels.tops(x, rows, np.empty((len(rows), 5)), refine="quarter")


def metadata() -> None:
    tflite: dict[str, Any] = {"name": "x", "shape": [1, 2, 2, 3], "dtype": np.float32, "quantization": (0.0, 0)}
    rknn = {"name": "y", "dims": [1, 3, 2, 2], "fmt": "NCHW", "type": "FP32", "qnt_type": "NONE"}
    assert_type([specs.from_tflite(tflite), specs.from_rknn(rknn, None, target=None)], list[nl.TensorSpec])
    openvino = {"names": ["x"], "shape": [1, 2, 2, 3], "element_type": "u8", "layout": "NHWC"}
    assert_type(specs.from_openvino(openvino, layout=None, color=None, name=""), nl.TensorSpec)
    mat = {"dims": 3, "w": 2, "h": 2, "c": 3, "elemsize": 4, "cstep": 4}
    assert_type(specs.from_ncnn(mat, dtype=np.float32, batch=True, name="out0"), nl.TensorSpec)
    mnn = {"shape": [1, 3, 2, 2], "dimension_type": "CAFFE"}
    assert_type(specs.from_mnn(mnn, dtype="float32", block=4, name="y"), nl.TensorSpec)
    depthai = {"order": 0x4321, "dataType": "FP16", "dims": [1, 3, 2, 2]}
    assert_type([specs.from_depthai(depthai), specs.from_executorch({"sizes": [1], "dtype": 6})], list[nl.TensorSpec])
    hailo = {"shape": (2, 2, 3), "format": {"type": "UINT8", "order": "NHWC"}}
    assert_type(specs.from_hailo(hailo, format_type=None, order=None, device=False), nl.TensorSpec)
    assert_type(specs.from_qnn({"dimensions": [1, 3], "dataType": "QNN_DATATYPE_FLOAT_32"}, axes="NC"), nl.TensorSpec)
    assert_type(specs.from_imx500([{"size": [3]}], index=0, name="y"), nl.TensorSpec)
    assert_type(specs.from_nnarchive({"dtype": "float32", "shape": [1, 3], "layout": "NC"}), nl.TensorSpec)
    assert_type(specs.from_hobot({"validShape": [1, 3], "tensorType": "F32"}, layout="NC", name="y"), nl.TensorSpec)
    assert_type(specs.from_acl({"dims": [1, 3], "format": "ND", "data_type": 0}, shape=None), nl.TensorSpec)
    sophgo: dict[str, Any] = {"output_names": ["y"], "output_dtypes": [0], "output_scales": [1.0]}
    sophgo["stages"] = [{"output_shapes": [[1, 3]]}]
    assert_type(specs.from_sophgo(sophgo, side="output", index=0, stage=0, layout="NC"), nl.TensorSpec)
    kneron = {"shape_npu": [1, 3, 4, 4], "data_layout": "KP_MODEL_TENSOR_DATA_LAYOUT_16W1C8B"}
    assert_type(specs.from_kneron(kneron, chip="KL720", name="y"), nl.TensorSpec)
    assert_type(specs.from_kneron(kneron, retrieved="float"), nl.TensorSpec)
    tidl = {"outWidth": 4, "outHeight": 4, "outNumChannels": 3, "outElementType": 6}
    assert_type(specs.from_tidl(tidl, side="output", index=0), nl.TensorSpec)
    viplite = {"sizes": [4, 4, 3, 1], "data_format": "FP32"}
    assert_type(specs.from_viplite(viplite, layout="NCHW", name="y"), nl.TensorSpec)
    ovxlib = {"size": [4, 4, 3, 1], "dtype": {"vx_type": 10, "qnt_type": 0}}
    assert_type(specs.from_ovxlib(ovxlib, layout="NCHW", name="y"), nl.TensorSpec)
    assert_type(specs.from_axelera({"shape": [1, 3], "padding": []}, axes="NC", name="y"), nl.TensorSpec)
    assert_type(specs.from_axera({"pShape": [1, 3], "eDataType": "FLOAT32"}, name="y"), nl.TensorSpec)


def frame_specs() -> None:
    spec = nl.FrameSpec("NV12", (8, 6), strides=16, offsets=None, size=None, matrix="bt709", range="full")
    assert_type(spec.format + spec.matrix + spec.range + spec.describe(), str)
    assert_type((spec.size_wh, spec.strides, spec.offsets), "tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]")
    assert_type((spec.size, spec.is_dense), "tuple[int | None, bool]")
    assert_type(spec.planes(bytes(144)), tuple[np.ndarray, ...])
    assert nl.FrameSpec.from_dict(spec.to_dict()) == spec
    assert_type(nl.FrameSpec.of({"format": "YUV420", "size": (8, 6), "stride": 64}), nl.FrameSpec)
    assert_type(nl.FrameSpec.of({"lores": {"format": "YUV420", "size": (8, 6)}}, stream="lores"), nl.FrameSpec)
    assert_type(nl.explain(spec).to_svg(), str)


def preprocessing(frame: np.ndarray) -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), resize="crop", pad_value=0)
    assert_type(preprocess(frame), tuple[np.ndarray, nl.Geometry])
    assert_type(preprocess.batch([frame], out=None, rois_xywh=[(0, 0, 4, 4)]), tuple[np.ndarray, list[nl.Geometry]])
    assert_type(preprocess.resize + preprocess.interpolation + preprocess.yuv + preprocess.color, str)
    assert_type(preprocess.source, "str | nl.FrameSpec")
    assert_type(nl.Preprocessor(preprocess.target, scaleup=False).scaleup, bool)
    assert_type(nl.Geometry.letterbox((4, 4), (8, 8), scaleup=False), nl.Geometry)
    part, _ = nl.Preprocessor(preprocess.target, source=nl.FrameSpec("BGR", frame.shape[1::-1]))(
        frame, roi_xywh=(0, 0, 2, 2)
    )
    assert_type(part, np.ndarray)
    assert preprocess.plan is not None
    assert_type(preprocess.target, "nl.TensorSpec | nl.FrameSpec")
    assert_type(nl.Preprocessor(nl.FrameSpec("NV12", (8, 8)))(frame)[0], np.ndarray)
    assert_type(preprocess.arguments, dict[str, Any])
    for g in (f((8, 6), (4, 4)) for f in (nl.Geometry.letterbox, nl.Geometry.stretch, nl.Geometry.crop)):
        assert_type(g.frame_wh + g.input_wh + g.resized_wh, "tuple[int, int, int, int, int, int]")
        assert_type((g.pad_ltrb, g.crop_xyxy), "tuple[tuple[int, int, int, int], tuple[int, int, int, int]]")
        assert_type(g.points_to_frame(g.points_to_input([[1, 2]], edges=True), edges=False), np.ndarray)
        assert_type(g.boxes_to_frame(g.boxes_to_input([0, 0, 1, 1]), clip=True), np.ndarray)
        assert_type(g.mask_to_frame(g.mask_to_input(frame), interpolation="linear"), np.ndarray)


def explanations(spec: nl.TensorSpec, folder: Path) -> None:
    found = nl.explain(spec, at=(0, 0, 0, 0), window=(3, 3), gray=True, compare=["NCHW"])
    assert_type(found, nl.Explanation)
    assert_type((found.formula, found.place(0, 0, 0, 0), found.to_svg(), found.terminal(0)), tuple[str, str, str, str])
    assert_type((found.padding, found.padding_bytes, found.padding_percent), tuple[int, int, float])
    assert_type(found.to_png(width=400, scale=1), bytes)
    assert_type(found.compared, tuple[nl.Explanation, ...])
    found.save(folder / "picture.svg")
    found.facts(), found.views(), found.at, found.part, [str(r) for r in found.reads], found.spec


def engines(model: str, spec: nl.TensorSpec, folder: Path) -> nl.Recording:
    engine = nl.OnnxRuntimeEngine(model, threads=1)
    assert_type((engine.model, engine.input_specs), tuple[str, list[nl.TensorSpec]])
    assert engine.input_shapes and engine.output_shapes and engine.output_specs
    npu = nl.SimulatedNpu(engine, [spec])
    x = np.random.default_rng(0).normal(size=engine.input_specs[0].shape).astype(np.float32)
    assert_type(npu.output_specs + npu.input_specs, list[nl.TensorSpec])
    with nl.Recorder(npu, folder / "recorded", preprocess={"resize": "crop"}, model=model, note="a test") as recorder:
        recorder.infer(x)
        recorder.infer(x, frame=None, roi_xywh=None)
        assert_type(npu.infer({engine.input_specs[0].name: x}), dict[str, np.ndarray])
    recorder.close()
    assert_type(npu.last_float, dict[str, np.ndarray])
    assert_type((recorder.count, recorder.folder), tuple[int, Path])
    assert recorder.engine is npu and npu.engine is engine and recorder.input_specs and recorder.output_specs
    with nl.open_engine(f"onnx:{model}", threads=1) as opened:
        assert isinstance(opened, nl.Engine) and not opened.owns_outputs
    single = nl.OnnxRuntimeEngine(model, providers=[("CPUExecutionProvider", {})])
    assert_type(single.accelerators, list[str])
    assert_type(single.infer(x, out=single.infer(x)), dict[str, np.ndarray])
    single.close()
    assert_type(testing.check_engine(lambda: nl.OnnxRuntimeEngine(model)), list[str])
    recording = nl.Recording.load(folder / "recorded")
    recording.save(folder / "saved")
    assert_type(recording.outputs, tuple[str, ...])
    assert len(recording) == len(recording.frames) == len([frame.inputs for frame in recording])
    return nl.Recording(recording.specs, recording.frames, recording.meta)


def proofs(model: str, recording: nl.Recording, folder: Path) -> None:
    report = nl.validate(recording, model, min_snr_db=10, max_steps={"y": 1.0}, progress=False)
    assert_type(assert_matches(recording, model, max_abs=None, min_cosine=0.9), nl.Report)
    words = (report.verdict, report.model, report.note, report.unchecked, report.frames)
    assert_type(words, tuple[str, str, str, str, int])
    assert not report.detections
    report.to_html(folder / "report.html")
    assert_type(report.failures(), str)
    report.to_json(folder / "report.json")
    report.to_dict(), report.meta
    assert_type(report.findings, "tuple[nl.OutputReport | nl.InputReport, ...]")
    for found in report.inputs.values():
        assert_type((found.name, found.verdict, found.why, found.title), tuple[str, str, str, str])
        assert_type(found.frames, tuple[int, ...])
        assert found and found.fix is None and found.spec and found.to_dict()
    for name, output in report.outputs.items():
        assert_type(output, nl.OutputReport)
        assert_type((output.verdict, output.why, output.against, name), tuple[str, str, str, str])
        assert_type(output.worst_channel, "int | None")
        assert_type(output.channel_axis, "int | None")
        assert_type(output.also, tuple[str, ...])
        assert bool(output) and output.name == name and output.fix is None and output.exhibit is not None
        assert output.clamped is None or output.clamped.values > 0
        seen = (output.figures, output.channels, output.dead, output.passing, output.tolerances, output.ranking)
        assert seen and output.to_dict() and output.spec.name == output.title == name
    reports = nl.validate_many(nl.find_recordings(folder), model, workers=1, progress=False)
    assert_type(reports.counts, dict[str, int])
    assert_type([str(found) for found in reports.values() if isinstance(found, nl.Report)], list[str])
    assert isinstance(reports, nl.Reports) and reports.to_dict() and reports.to_json()


def identification(flat: np.ndarray, tensor: np.ndarray) -> None:
    found = nl.identify(flat.tobytes(), tensor, axes="NCHW")
    assert_type(found, nl.Identification)
    assert_type((found.spec, found.why), "tuple[nl.TensorSpec | None, str]")
    for hypothesis in found.ranking:
        assert_type(hypothesis, nl.Hypothesis)
        assert_type((hypothesis.spec, hypothesis.score), tuple[nl.TensorSpec, float])


def foreign(recording: nl.Recording, folder: Path) -> None:
    exchange.save(recording, folder / "raw", form="raw")
    assert_type(exchange.load(folder / "raw", form=None, specs=None, description=None), nl.Recording)
    for form in exchange.FORMS.values():
        assert_type(form, exchange.Form)
        assert_type((form.help, form.recognises(folder / "raw")), tuple[str, bool])
        assert callable(form.importer) and (form.exporter is None or callable(form.exporter))


def calibration(frame: np.ndarray, folder: Path) -> None:
    board = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8)), std=255)
    samples = exchange.CalibrationSet([frame], board, "image")
    assert_type((samples.name, samples.preprocess, samples.color), tuple[str, nl.Preprocessor, str])
    for inputs in samples:
        assert_type(inputs, dict[str, np.ndarray])
    reader = samples.reader()
    assert_type(reader, exchange.CalibrationReader)
    assert_type(reader.get_next(), "dict[str, np.ndarray] | None")
    reader.rewind()
    assert_type(samples.save(folder / "calibration", "rknn"), int)
    for row in exchange.TOOLCHAINS.values():
        assert_type(row, exchange.Toolchain)
        assert row.help and callable(row.write) and callable(row.use) and callable(row.check)


def layers(model: str) -> None:
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    dump = {name: (nl.OnnxRuntimeEngine(model).infer(x)[name]) for name in ("y",)}
    found = exchange.compare_layers({"x": x, **dump}, {"x": x, **dump}, model, min_snr_db=10.0, frame=0)
    assert_type(found, exchange.LayerComparison)
    assert_type((found.first, found.others), "tuple[exchange.ComparedLayer | None, tuple[exchange.ComparedLayer, ...]]")
    assert_type((found.unknown_a, found.unknown_b), tuple[tuple[str, ...], tuple[str, ...]])
    assert found and found.why and found.min_snr_db == 10 and found.to_dict()
    for layer in found.layers:
        assert_type((layer.op, layer.node, layer.verdict, layer.why), tuple[str, str, str, str])
        assert_type((layer.snr_db, layer.inputs_db), "tuple[float | None, float | None]")
        assert_type((layer.layout_a, layer.layout_b), tuple[str, str])
        assert layer.name and layer.to_dict() and layer.shape and (layer.inputs or layer.skipped or layer.op == "Input")


def decoding() -> None:
    head = decode.yolov8(classes=2, strides=(8,), keypoints=2)
    assert_type(head.to_dict(), dict[str, Any])
    assert decode.Head.from_dict(head.to_dict()) == head and head.anchors_each == 1 and head.background is None
    form = head.forms[0]
    assert_type((form, form.boxes, form.part("box")), "tuple[decode.Form, decode.Boxes, decode.Part | None]")
    assert (form.cells, form.boxes.channels, form.boxes.encoding, form.boxes.unit) == ("grid", 64, "dfl", "stride")
    assert form.boxes.variances and form.boxes.center and form.boxes.bins and form.name and not form.parts[1].optional
    assert (
        form.parts[0].role == "box"
        and not form.parts[0].across
        and not form.parts[0].shared
        and form.parts[1].activation
        and form.parts[0].count
    )
    assert isinstance(head.keypoints, decode.Keypoints) and (head.keypoints.count, head.keypoints.values) == (2, 3)
    assert_type(head.suppression, decode.Suppression)
    rule = head.suppression
    assert (rule.kind, rule.per_class, rule.inclusive, rule.extra, rule.epsilon) == ("greedy", True, False, 0, 0)
    assert (head.name, head.classes, head.strides, head.score, head.labels) == ("yolov8", 2, (8,), "class", "best")
    maps = [nl.TensorSpec((1, n, 2, 2), "NCHW16c", "int8", name=str(n)) for n in (64, 2, 6)]
    decoder = decode.Decoder(head, maps, (16, 16))
    found = decoder([np.zeros(spec.size, np.int8) for spec in maps], confidence=0.0, iou=0.5, limit=9, out=None)
    assert_type(found, decode.Detections)
    assert_type((found.xyxy, found.confidence, found.class_id), tuple[np.ndarray, np.ndarray, np.ndarray])
    assert_type(found.keypoints, "np.ndarray | None")
    assert len(found.level) == len(found.cell) == len(found.anchor) and decoder.head is head and decoder.specs
    assert_type((found.fields(), found.masks, decoder.input_shape), "tuple[dict[str, Any], Any, tuple[int, int]]")
    assert_type(decoder.largest_score, float)
    assert_type(found.fields(nl.Geometry.stretch((8, 8), (4, 4))), "dict[str, Any]")
    assert_type(decode.nms(found.xyxy, found.confidence, iou=0.5), np.ndarray)
    assert decode.yolov5(2).anchors[0]
    crops = decode.masks(maps[1], np.zeros(maps[1].size, np.int8), np.ones((1, 2), np.int8), [[0, 0, 8, 8]], (16, 16))
    assert isinstance(crops, decode.Masks)
    weights, box = np.zeros((1, 2), np.int8), [[0, 0, 4, 4]]
    crops = decode.masks(maps[1], np.zeros(maps[1].size, np.int8), weights, box, (16, 16), out=crops)
    assert_type((crops.full(0), crops.dense(), crops.offsets), tuple[np.ndarray, np.ndarray, np.ndarray])
    assert_type(crops.polygons(0), "list[np.ndarray]")
    assert_type((crops.crops, crops.input_shape), tuple[tuple[np.ndarray, ...], tuple[int, int]])
    alike = decode.same(found, found, confidence=0.0)
    assert_type((alike, alike.matched, alike.pixels), "tuple[decode.Comparison, tuple[tuple[int, int], ...], float]")
    assert alike and not (alike.missing + alike.extra) and alike.score == 0 and alike.to_dict()
    assert not (alike.moved or alike.relabelled or alike.rescored or alike.marginal)
    assert not (alike.keypoints or alike.masks or alike.tied or alike.undefined)
    assert_type(decode.draw(np.zeros((16, 16, 3), np.uint8), found, names=["a", "b"]), np.ndarray)
    vector, line = nl.TensorSpec((1, 4), "NC"), nl.TensorSpec((1, 5, 3), "NCW")
    best = decode.classify(vector, np.zeros(4, np.float32), 2)
    assert_type((best, best.class_id, best.confidence), tuple[decode.Classes, np.ndarray, np.ndarray])
    texts = decode.ctc(line, np.zeros(15, np.float32), "ab", blank=0)
    assert_type(texts, list[decode.Text])
    assert_type((texts[0].text, texts[0].confidence), tuple[str, float])
    assert not texts[0].scores and not texts[0].steps
    assert_type(decode.heatmap_points(nl.TensorSpec((1, 2, 4, 4)), np.zeros(32, np.float32)), np.ndarray)
    assert_type(decode.landmarks(nl.TensorSpec((1, 6), "NC"), np.zeros(6, np.float32)), np.ndarray)
    assert decode.Keypoints(2).channels
    assert_type(decode.lanes(nl.TensorSpec((1, 3, 1, 1)), np.zeros(3, np.float32), rows=[4]), list[np.ndarray])
    assert_type(decode.simcc_points(line, np.zeros(15, np.float32), line, np.zeros(15, np.float32)), np.ndarray)
    heat, sides = nl.TensorSpec((1, 1, 4, 4)), nl.TensorSpec((1, 2, 4, 4))
    zeros = {"heat": np.zeros(16, np.float32), "size": np.zeros(32, np.float32)}
    assert_type(decode.centernet({"heat": heat, "size": sides}, zeros), decode.Detections)
    regions = decode.dbnet(heat, zeros["heat"])
    assert_type((regions.corners, regions.confidence, len(regions)), tuple[np.ndarray, np.ndarray, int])
    assert isinstance(regions, decode.Regions)
    flat = [nl.TensorSpec((1, n, 2, 2), name=str(n)) for n in (64, 2, 1)]
    angled = decode.OrientedDecoder(decode.yolov8(2, (8,)), flat, (16, 16), angles=["1"])
    turned = angled([np.zeros(spec.size, np.float32) for spec in flat])
    assert_type((turned, turned.xywha, turned.corners), tuple[decode.OrientedDetections, np.ndarray, np.ndarray])
    assert len(turned.confidence) == len(turned.class_id) == len(turned.level) == len(turned.cell) and angled.decoder
    assert_type(decode.oriented_nms(turned.xywha, turned.confidence, iou=0.5), np.ndarray)
    guessed = decode.guess(maps, (16, 16), classes=2)
    assert_type(guessed, decode.Guess)
    assert_type((guessed.head, guessed.why, guessed.others), "tuple[decode.Head | None, str, tuple[decode.Head, ...]]")
    flat_points = decode.yolov8(1, keypoints=12, point_values=2), decode.yolo26(1, keypoints=12, point_values=2)
    assert all(head.keypoints and head.keypoints.values == 2 for head in flat_points)
    more = [decode.yolov6(), decode.yolov10(), decode.yolo26(), decode.yolox(), decode.ppyoloe(), decode.nanodet()]
    more += [decode.retinaface(), decode.scrfd(), decode.yunet(), decode.ssd_postprocessed()]
    more += [decode.yolov8_obb(), decode.centernet_head(), decode.yolov2(), decode.yolov3(), decode.yolov4()]
    more += [decode.rtdetr(), decode.detr(), decode.rtmdet(), decode.blazeface()]
    more += [decode.retinanet(), decode.efficientdet(), decode.fcos(), decode.fastestdet(), decode.labelled_rows()]
    more += [decode.yolov5_face(), decode.depthai_yolo(), decode.yolov7(), decode.face_det_lite()]
    more += [
        decode.damoyolo(),
        decode.ultraface(),
        decode.yolo26_obb(),
        decode.yolov7_pose(),
        decode.movenet(),
        decode.yolofastestv2(),
        decode.yolact(),
    ]
    rows = nl.TensorSpec((1, 1, 2, 7))
    assert_type(decode.detection_output(rows, np.zeros(14, np.float32), (16, 16)), decode.Detections)
    assert_type(decode.hailo_nms(np.zeros(2, np.float32), 2, (16, 16)), decode.Detections)
    assert_type(
        (found.xywha, found.xyxyxyxy, found.angle), "tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]"
    )
    assert_type(found.listed, bool)
    assert form.boxes.angle == "none" and not form.boxes.spreads
    more.append(decode.ssd(np.full((1, 4), 0.5)))
    assert_type(more, list[decode.Head])
    assert (
        more[-1].priors
        and form.boxes.order == (0, 1, 2, 3)
        and not form.interleaved
        and not form.grouped
        and not form.whole
        and form.parts[0].hint == ""
    )
    masked = decode.yolov8(coefficients=32).prototypes
    assert isinstance(masked, decode.Prototypes) and (masked.channels, masked.stride, masked.rule) == (32, 4, "logits")
    pair = decode.Skeleton(2, ((0, 1),), 3)
    assert_type((pair, decode.OPENPOSE), tuple[decode.Skeleton, decode.Skeleton])
    assert pair.limbs and pair.joints + pair.fields + pair.cell + pair.samples == 23
    assert pair.peak + pair.field + pair.aligned + pair.total > 0
    assert_type(decode.people(np.zeros((5, 4, 4)), pair), np.ndarray)
    assert_type(decode.people(nl.TensorSpec((1, 5, 4, 4)), np.zeros(80, np.float32), pair), np.ndarray)


def streaming(model: str) -> None:
    spec = nl.TensorSpec((1, 3, 8, 8), name="x")
    preprocess = nl.Preprocessor(spec, std=255)
    frames = [np.zeros((8, 8, 3), np.uint8)] * 3
    with streams.EnginePool([nl.OnnxRuntimeEngine(model)]) as pool:
        assert_type(list(pool.map(preprocess(f)[0].reshape(spec.shape) for f in frames)), list[dict[str, np.ndarray]])
        assert pool.submit(np.zeros(spec.shape, np.float32)).result() and pool.engines
        assert_type(
            (pool.input_specs, pool.output_specs, pool.owns_outputs),
            "tuple[list[nl.TensorSpec], list[nl.TensorSpec], bool]",
        )
        with streams.Stream(frames, preprocess, pool, lambda result: result.number) as stream:
            stream.start()
            for result in stream:
                assert_type(result, streams.Result)
                assert_type((result.number, result.captured, result.dropped), tuple[int, float, int])
                assert_type((result.outputs, result.inputs), "tuple[dict[str, np.ndarray], dict[str, np.ndarray]]")
                assert result.frame is not None and result.value == result.number and result.geometry and result.seconds
                assert_type(result.copy(), streams.Result)
            stream.stop()
        assert_type(stream.counts, streams.Counts)
        assert stream.counts.captured == stream.counts.shown + stream.counts.dropped + stream.counts.failed == 3
        assert stream.counts.pending == 0
    source = streams.open_source(frames)
    assert isinstance(source, streams.Source) and not source.live
    source.close()
    assert (
        streams.StreamError("infer", 3, "words").stage == "infer" and streams.StreamError("infer", 3, "x").number == 3
    )


def test_in_a_users_suite(npu_recording: Recordings) -> None:
    assert npu_recording.folder.name
    assert_type(npu_recording("name", [np.zeros((1, 3))], engine=None, note=""), nl.Recording)


def main(model: str, folder: Path) -> None:
    spec = nl.TensorSpec((1, 3, 8, 8), "NCHW4c", "int8", quantization=nl.Quantization(0.05), name="y")
    flat = tensors(spec)
    layouts()
    quantizations()
    cores()
    metadata()
    frame_specs()
    formats(np.zeros((1, 3, 4, 5), np.float32))
    operators(np.random.default_rng(0).random((1, 3, 4, 5)).astype(np.float32))
    preprocessing(np.zeros((6, 8, 3), np.uint8))
    explanations(spec, folder)
    recording = engines(model, spec, folder)
    proofs(model, recording, folder)
    identification(flat, spec.unpack(flat))
    foreign(recording, folder)
    layers(model)
    calibration(np.zeros((8, 9, 3), np.uint8), folder)
    decoding()
    streaming(model)
    print("typed and run")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
