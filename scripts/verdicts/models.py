"""The zoo: networks of the kinds that accelerators run, each with a quantised twin and one of other weights.

They are built from seeds on first use and kept in a cache folder: VERDICTS_CACHE, or one of the temporary directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort

import npu_layout as nl

from . import pictures, runtimes, second_input
from .networks import Network, run

IMAGENET = {"color": "RGB", "mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}
UNIT = {"color": "RGB", "mean": [0, 0, 0], "std": [255, 255, 255]}
HALF = {"color": "RGB", "mean": [128, 128, 128], "std": [256, 256, 256]}
CAFFE = {"color": "BGR", "mean": [103.939, 116.779, 123.68], "std": [1, 1, 1]}
GRAY = {"color": "GRAY", "mean": [127.5], "std": [127.5]}
CALIBRATION = 24


class Kind(NamedTuple):
    """How a model is built: input shape, preprocessing, and the function that builds the graph behind the input.

    `trained`: instead of that, the file of a trained network; `pictures`: of the kind that it has learned.
    `wide`: 8 bits are too few for its activations. `apart`: nodes that are not quantised, so that what they join keeps
    its own scales. `special`: for the faults that name it. `pair`: it has a second input like the first. `most` and
    `enough`: frames of a recording, at most, and for a vector at least.
    """

    shape: tuple[int, int, int, int]
    preprocess: dict[str, Any]
    build: Callable[[Network], None] | None = None
    folded: bool = False
    wide: bool = False
    apart: tuple[str, ...] = ()
    special: bool = False
    pair: bool = False
    trained: str = ""
    pictures: str = ""
    most: int = 24
    enough: int = 0


class Model(NamedTuple):
    """A model of the zoo, on disk.

    `ranges`: for each output, lowest and highest value of each channel that the quantised twin gives on the
    calibration frames. `folded`: the accelerator takes uint8 NHWC, mean and deviation are compiled into its model.
    On a real runtime (``load("yolo8@qnn-htp")``) that is the quantised network: `fed` is the spec of its input if that
    has integers, `codes` the dtype of the outputs that have.
    """

    name: str
    path: str
    quantised: str
    other: str
    shape: tuple[int, int, int, int]
    preprocess: dict[str, Any]
    folded: bool
    outputs: dict[str, tuple[int, ...]]
    ranges: dict[str, tuple[np.ndarray, np.ndarray]]
    fed: nl.TensorSpec | None = None
    codes: dict[str, str] | None = None
    pair: bool = False

    @property
    def input_spec(self) -> nl.TensorSpec:
        """What the accelerator takes."""
        layout, dtype = ("NHWC", "uint8") if self.folded else ("NCHW", "float32")
        return nl.TensorSpec(self.shape, nl.Layout(layout), dtype, name="image")


def _stem(net: Network, widths: tuple[int, ...] = (12, 16, 24)) -> str:
    x = net.input
    for width in widths:
        x = net.conv(x, width, stride=2)
    return net.conv(x, widths[-1])


def _maps(net: Network) -> None:
    x = _stem(net)
    heat = net.conv(x, 19, act="Sigmoid", mean=-1.5, std=1.5)
    net.output(net.node("Concat", [heat, net.conv(x, 12, act="")], "maps", axis=1))


def _yolo(net: Network) -> None:
    x = _stem(net)
    for name, width in (("p3", 24), ("p4", 32), ("p5", 32)):
        x = x if name == "p3" else net.conv(x, width, stride=2)
        net.conv(x, 27, 1, act="", name=name, std=2.0, mean=-1.0)
        net.output(name)


def _joined(net: Network, name: str) -> str:
    """(1, 84, positions): boxes in pixels before scores."""
    x, heads, side = _stem(net), [], net.shape[2] // 8
    for width in (24, 32, 32):
        x = net.conv(x, width, stride=1 if not heads else 2)
        heads.append(net.reshape(net.conv(x, 84, 1, act=""), (1, 84, side * side)))
        side //= 2
    joined = net.node("Concat", heads, axis=2)
    raw, logits = (
        net.node("Slice", [joined, *(net.constant([n], np.int64) for n in (start, end, 1))])
        for start, end in ((0, 4), (4, 84))
    )
    boxes = net.node("Add", [net.node("Mul", [raw, net.constant(24.0)]), net.constant(64.0)])
    return net.node("Concat", [boxes, net.node("Sigmoid", [logits])], name, axis=1)


def _yolo8(net: Network) -> None:
    net.output(_joined(net, "output0"))


def _yolo5(net: Network) -> None:
    net.output(net.node("Transpose", [_joined(net, "joined")], "output0", perm=[0, 2, 1]))


def _segmentation(net: Network) -> None:
    x = net.conv(_stem(net, (12, 16)), 21, 1, act="", std=3.0)
    scales = net.constant([1, 1, 2, 2])
    net.output(net.node("Resize", [x, "", scales], "mask", mode="linear", coordinate_transformation_mode="half_pixel"))


def _box(net: Network) -> None:
    """One box: four values in all."""
    x = net.conv(_stem(net), 32, stride=2)
    x = net.conv(x, 4, net.shape[2] // 16, act="", pad=False, std=0.3)
    net.output(net.node("Flatten", [x], "box", axis=1))


def _classifier(net: Network) -> None:
    x = net.conv(_stem(net), 32, stride=2)
    x = net.apply("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.conv(x, 100, net.shape[2] // 32, act="", pad=False, std=2.5)
    net.output(net.node("Flatten", [x], "logits", axis=1))


def _ssd(net: Network) -> None:
    x, parts, side = _stem(net), {"boxes": [], "scores": []}, net.shape[2] // 8
    for _ in range(2):
        for name, channels, std in (("boxes", 4, 0.4), ("scores", 11, 2.0)):
            head = net.node("Transpose", [net.conv(x, channels, 1, act="", std=std)], perm=[0, 2, 3, 1])
            parts[name].append(net.reshape(head, (1, side * side, channels)))
        x, side = net.conv(x, 32, stride=2), side // 2
    for name, heads in parts.items():
        net.output(net.node("Concat", heads, name, axis=1))


def _twins(net: Network) -> None:
    x = _stem(net)
    for name, act, mean, std in (("heat", "Sigmoid", -1.0, 2.0), ("offset", "", 0.0, 0.6), ("tag", "Tanh", 0.0, 1.0)):
        net.output(net.conv(net.conv(x, 24), 12, 1, act=act, mean=mean, std=std, name=name))


def _sparse(net: Network) -> None:
    net.output(net.conv(_stem(net), 48, mean=-1.1, name="features"))


def _gray(net: Network) -> None:
    net.output(net.conv(_stem(net, (12, 16)), 10, 1, act="", name="keypoints", std=1.5))


def _flow(net: Network) -> None:
    x = net.conv(_stem(net, (12, 20)), 2, act="", name="flow", std=4.0)
    net.output(x)


def _embedding(net: Network) -> None:
    net.output(net.conv(_stem(net, (12, 16, 24, 32)), 128, 1, act="", name="embedding"))


def _pair(net: Network) -> None:
    x = _stem(net)
    net.output(net.conv(net.conv(x, 24), 12, 1, act="Sigmoid", mean=-1.0, std=2.0, name="match"))
    net.output(net.conv(net.conv(x, 24), 2, 1, act="", std=2.0, name="flow"))


def _symmetric(net: Network) -> None:
    x = net.conv(_stem(net), 16, 1, act="")
    net.output(net.node("Add", [x, net.node("Transpose", [x], perm=[0, 1, 3, 2])], "maps"))


def _constant(net: Network) -> None:
    net.output(net.conv(_stem(net), 16, 1, act="Sigmoid", std=0.0, name="maps"))


KINDS = {
    "maps": Kind((1, 3, 128, 96), HALF, _maps),
    "yolo": Kind((1, 3, 128, 128), UNIT, _yolo),
    "yolo8": Kind((1, 3, 128, 128), UNIT, _yolo8, apart=("output0",)),
    "segmentation": Kind((1, 3, 64, 96), IMAGENET, _segmentation),
    "classifier": Kind((1, 3, 128, 128), IMAGENET, _classifier, enough=16),
    "ssd": Kind((1, 3, 128, 128), HALF, _ssd),
    "twins": Kind((1, 3, 96, 128), IMAGENET, _twins),
    "sparse": Kind((1, 3, 96, 96), CAFFE, _sparse),
    "gray": Kind((1, 1, 80, 96), GRAY, _gray),
    "flow": Kind((1, 3, 64, 80), UNIT, _flow),
    "embedding": Kind((1, 3, 128, 128), IMAGENET, _embedding),
    "folded": Kind((1, 3, 96, 96), IMAGENET, _maps, folded=True),
    "pose": Kind((1, 3, 368, 368), HALF, wide=True, trained="samples/models/pose.onnx", most=8),
    "symmetric": Kind((1, 3, 128, 128), HALF, _symmetric, special=True),
    "constant": Kind((1, 3, 128, 128), HALF, _constant, special=True),
    "yolo5": Kind((1, 3, 128, 128), UNIT, _yolo5, apart=("joined", "output0")),
    "box": Kind((1, 3, 128, 128), UNIT, _box, special=True),
    "pair": Kind((1, 3, 96, 128), IMAGENET, _pair, special=True, pair=True),
    **{
        name: Kind(
            (1, 3, *size_hw), UNIT, trained=f"scripts/verdicts/trained/{name}.onnx", pictures=seen, enough=enough
        )
        for name, size_hw, seen, enough in (
            ("depth", (96, 128), "shapes", 0),
            ("regions", (96, 96), "shapes", 0),
            ("quarter", (96, 96), "shapes", 16),
            ("anchors", (128, 128), "shapes", 0),
            ("tokens", (96, 96), "shapes", 0),
            ("face", (64, 64), "faces", 16),
            ("words", (32, 128), "words", 0),
        )
    },
}
TRAINED = tuple(name for name, kind in KINDS.items() if kind.pictures)
NAMES = tuple(name for name, kind in KINDS.items() if not kind.special and name not in TRAINED)


def _cache() -> Path:
    key = hashlib.sha256()
    for module in ("networks.py", "models.py", "pictures.py", "rendered.py", "second_input.py"):
        key.update(Path(__file__).with_name(module).read_bytes())
    key.update(f"{np.__version__} {ort.__version__}".encode())
    parent = Path(os.environ.get("VERDICTS_CACHE") or Path(tempfile.gettempdir()) / "npu-layout-verdicts")
    return parent / key.hexdigest()[:12]


def prepare(name: str, frame: np.ndarray, preprocess: dict[str, Any]) -> np.ndarray:
    """The float input that a frame becomes, in the ONNX model's layout."""
    spec = nl.TensorSpec(KINDS[name].shape, "NCHW", "float32")
    return nl.Preprocessor(spec, **preprocess)(frame)[0]


def _calibration(name: str) -> list[np.ndarray]:
    kind, rng = KINDS[name], np.random.default_rng(1)
    size_wh = (kind.shape[3], kind.shape[2])
    kinds = ((kind.pictures or "mixed", CALIBRATION), (kind.pictures or "clip", 4))
    frames = [frame for what, count in kinds for frame in pictures.stream(rng, what, count, size_wh)]
    first = [prepare(name, frame, kind.preprocess) for frame in frames]
    return [np.concatenate(both, 1) for both in zip(first, first[::-1])] if kind.pair else first


def _float_models(name: str, inputs: list[np.ndarray]) -> Iterator[bytes]:
    """The model, and one of the same form and other weights."""
    kind = KINDS[name]
    if kind.build is None:
        trained = (pictures.ROOT / kind.trained).read_bytes()
        yield from (trained, _with_other_weights(trained))
        return
    for k in range(2):
        n, channels, *size = kind.shape
        net = Network(100 * list(KINDS).index(name) + k, (n, channels * (1 + kind.pair), *size))
        kind.build(net)
        yield net.settle(inputs).SerializeToString()


def _with_other_weights(trained: bytes) -> bytes:
    """The network with the weights of each layer in another order."""
    import onnx.numpy_helper

    model, rng = onnx.load_from_string(trained), np.random.default_rng(0)
    for tensor in model.graph.initializer:
        weights = onnx.numpy_helper.to_array(tensor)
        if weights.ndim > 1 and weights.dtype.kind == "f":
            tensor.CopyFrom(
                onnx.numpy_helper.from_array(rng.permutation(weights.ravel()).reshape(weights.shape), tensor.name)
            )
    return model.SerializeToString()


def _quantise(source: Path, target: Path, inputs: list[np.ndarray], kind: Kind) -> None:
    """QDQ, 8 bits, the weights per channel."""
    import onnx.helper
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = iter(inputs)

        def get_next(self) -> Any:
            return next(({"image": x} for x in self.left), None)

    model = onnx.load(str(source))
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})  # or it warns
    if not hasattr(onnx, "mapping"):  # which onnxruntime 1.17 still asks for
        numbers = [getattr(onnx.TensorProto, kind) for kind in ("FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32")]
        known = {number: onnx.helper.tensor_dtype_to_np_dtype(number) for number in numbers}
        onnx.mapping = SimpleNamespace(TENSOR_TYPE_TO_NP_TYPE=known)
    prepared = target.with_name("prepared.onnx")  # onnxruntime 1.17 takes paths alone
    onnx.save(model, str(prepared))
    logging.disable(logging.WARNING)
    try:
        with np.errstate(invalid="ignore"):  # 1.17 casts biases beyond int32 beside int16
            quantize_static(
                str(prepared),
                str(target),
                Reader(),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                extra_options={
                    "QDQOpTypePerChannelSupportToAxis": {"MatMul": 1, "LayerNormalization": 0}
                },  # 1.17: axis 1
                activation_type=QuantType.QInt16 if kind.wide else QuantType.QInt8,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=list(kind.apart),
            )
    finally:
        logging.disable(logging.NOTSET)


def _build(name: str, folder: Path) -> None:
    """All files of a model, in a folder that appears whole; another process may have been first."""
    inputs = _calibration(name)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as parent:
        partial = Path(parent) / name
        partial.mkdir()
        for file, model in zip(("model.onnx", "other.onnx"), _float_models(name, inputs)):
            (partial / file).write_bytes(model)
        _quantise(partial / "model.onnx", partial / "quantised.onnx", inputs, KINDS[name])
        names = list(nl.OnnxRuntimeEngine(partial / "model.onnx", threads=1).output_shapes)
        about = {}
        for output, values in zip(names, zip(*run((partial / "quantised.onnx").read_bytes(), inputs))):
            flat = by_channel(values)
            about[output] = {"shape": values[0].shape, "low": flat.min(1).tolist(), "high": flat.max(1).tolist()}
        (partial / "about.json").write_text(json.dumps(about))
        for file in ("model", "other", "quantised") if KINDS[name].pair else ():
            second_input.join(partial / f"{file}.onnx")
        with contextlib.suppress(OSError):
            partial.rename(folder / name)


def by_channel(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """(channels, values) of tensors whose axis 1 are the channels."""
    return np.concatenate([np.moveaxis(a, 1, 0).reshape(a.shape[1], -1) for a in arrays], 1)


@cache
def load(name: str) -> Model:
    """The model of this name, built if it is not there yet; "NAME@RUNTIME": as it is on a real runtime."""
    name, _, runtime = name.partition("@")
    if runtime:
        return runtimes.on(load(name), runtime, partial(_calibration, name))
    kind, folder = KINDS[name], _cache()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / name).exists():
        _build(name, folder)
    about = json.loads((folder / name / "about.json").read_text())
    paths = [str(folder / name / f"{file}.onnx") for file in ("model", "quantised", "other")]
    return Model(
        name,
        *paths,
        kind.shape,
        {**kind.preprocess, "resize": "letterbox", "interpolation": "linear", "pad_value": 114},
        kind.folded,
        {output: tuple(a["shape"]) for output, a in about.items()},
        {output: (np.array(a["low"]), np.array(a["high"])) for output, a in about.items()},
        pair=kind.pair,
    )


@cache
def engine(path: str) -> Any:
    """One session for each model file and process."""
    if path.startswith(runtimes.PREFIX):
        return runtimes.opened(path)
    return nl.OnnxRuntimeEngine(path, threads=1)
