"""What each toolchain's calibration reads: a row for each, with the source of its facts."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from ..support import many, npy_bytes, per_channel, write_text

#: The Preprocessor's arguments; name, order and shape of the model's input (order: letters); pixels: H, W, C.
How = Mapping[str, Any]


class Sample:
    """One frame: the network's input, float32, and its pixels (H, W, C) uint8; each is made when it is asked for."""

    def __init__(
        self, array: Callable[[], np.ndarray], image: Callable[[], np.ndarray], pixels: Callable[[], np.ndarray]
    ) -> None:
        self._array, self._image, self._pixels = array, image, pixels

    @property
    def array(self) -> np.ndarray:
        """The input as the model declares it, mean and std applied."""
        return self._array()

    @property
    def image(self) -> np.ndarray:
        """The same with channels last: (1, H, W, C)."""
        return self._image()

    @property
    def pixels(self) -> np.ndarray:
        """The pixels before mean and std, uint8 (H, W, C)."""
        return self._pixels()


class Toolchain(NamedTuple):
    """How a toolchain's calibration set is written, and how it is used: a value of TOOLCHAINS.

    `how` is a dict: the Preprocessor's arguments, and of the input its name, shape and order, and its pixels' shape.

    Attributes
    ----------
    help
        What is written, in a line.
    write
        ``write(folder, samples, how)`` writes the files and returns the number of frames.
    use
        ``use(how, count)`` returns the text of how.txt: the lines that read the files.
    check
        ``check(name, how)`` raises NpuLayoutError if the toolchain cannot read what the Preprocessor makes.
    """

    help: str
    write: Callable[[Path, Iterable[Sample], How], int]
    use: Callable[[How, int], str]
    check: Callable[[str, How], None]


def _numbered(n: int, suffix: str) -> str:
    return f"{n:05d}.{suffix}"


def _arrays(folder: Path, samples: Iterable[Sample], how: How) -> int:
    return _archives(folder, (sample.array for sample in samples), how)


def _channels_last(folder: Path, samples: Iterable[Sample], how: How) -> int:
    return _archives(folder, (sample.image for sample in samples), how)


def _archives(folder: Path, arrays: Iterable[np.ndarray], how: How) -> int:
    count = 0
    for count, array in enumerate(arrays, 1):
        with zipfile.ZipFile(folder / _numbered(count - 1, "npz"), "w") as file:  # savez refuses an input named "file"
            file.writestr(f"{how['name']}.npy", bytes(npy_bytes(array)))
    return count


def _planes(folder: Path, samples: Iterable[Sample], how: How) -> int:
    """Pixels in the shape of the model's input, and dataset.txt, whose names are relative to its own folder."""
    names = []
    axes = ["HWC".index(letter) for letter in how["order"] if letter != "N"]
    for n, sample in enumerate(samples):
        names.append(_numbered(n, "npy"))
        pixels = sample.pixels.transpose(axes).reshape(how["shape"])  # which has an N of 1, or none
        (folder / names[-1]).write_bytes(npy_bytes(np.ascontiguousarray(pixels)))
    write_text(folder / "dataset.txt", "".join(f"{name}\n" for name in names))
    return len(names)


def _stack(folder: Path, samples: Iterable[Sample], how: How) -> int:
    """One array (N, H, W, C), written frame by frame: the set need not fit into memory."""
    count = 0
    with (folder / "calib.npy").open("wb") as file:
        file.write(_header(0, how))
        for count, sample in enumerate(samples, 1):  # noqa: B007
            file.write(sample.pixels.data)
        file.seek(0)
        file.write(_header(count, how))
    return count


def _header(count: int, how: How) -> bytes:
    """Return the header of a .npy file; numpy leaves room for any count, so that its length is the same."""
    content = io.BytesIO()
    shape = (count, *how["pixels"])
    np.lib.format.write_array_header_1_0(content, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return content.getvalue()


def _images(folder: Path, samples: Iterable[Sample], how: How) -> int:
    """PNG files, and MNN's configuration."""
    import cv2

    pictures = folder / "images"
    pictures.mkdir()
    count = 0
    swap = how["color"] == "RGB"
    for count, sample in enumerate(samples, 1):
        pixels = sample.pixels[..., ::-1] if swap else sample.pixels
        good, content = cv2.imencode(".png", np.ascontiguousarray(pixels))
        if not good:
            raise NpuLayoutError(f"frame {count - 1}: OpenCV cannot write it as PNG")
        (pictures / _numbered(count - 1, "png")).write_bytes(content.tobytes())
    height, width, _ = how["pixels"]
    mean, std = _numbers(how)
    config = {
        "format": how["color"],
        "mean": mean,
        "normal": [1 / value for value in std],
        "width": width,
        "height": height,
        "path": "images/",
        "used_image_num": count,
        "feature_quantize_method": "EMA",
        "batch_size": min(count, 4),
        "weight_quantize_method": "MAX_ABS",
    }
    write_text(folder / "mnn.json", json.dumps(config, indent=1) + "\n")
    return count


def _numbers(how: How) -> tuple[list[float], list[float]]:
    """Return mean and std of each channel."""
    channels = how["pixels"][-1]
    mean, std = (per_channel(key, how[key], channels) for key in ("mean", "std"))
    return [*mean] * (channels // len(mean)), [*std] * (channels // len(std))


def _any(name: str, how: How) -> None:
    """Every Preprocessor will do."""


def _colors(name: str, how: How) -> None:
    if how["color"] not in ("RGB", "BGR", "GRAY"):
        raise NpuLayoutError(f"{name} reads images of RGB, BGR or GRAY; the Preprocessor makes {how['color']}")


def _onnxruntime(how: How, count: int) -> str:
    return f"""\
{many(count, "file")} NNNNN.npz, each with the input {how["name"]!r}, float32 {how["shape"]}: mean and std are applied.

    from onnxruntime.quantization import quantize_static
    from npu_layout.exchange import CalibrationSet  # or read these files

    quantize_static("model.onnx", "int8.onnx", CalibrationSet(frames, preprocess, {how["name"]!r}).reader())
"""


def _openvino(how: How, count: int) -> str:
    return f"""\
{many(count, "file")} NNNNN.npz, each with the input {how["name"]!r}, float32 {how["shape"]}: mean and std are applied.

    import glob, numpy as np, nncf

    files = sorted(glob.glob("*.npz"))
    data = nncf.Dataset(files, lambda file: dict(np.load(file)))
    quantized = nncf.quantize(model, data, subset_size={count})
"""


def _tflite(how: How, count: int) -> str:
    return f"""\
{many(count, "file")} NNNNN.npz, each with the input {how["name"]!r}, float32 {(1, *how["pixels"])}, channels last, as
TensorFlow's models and onnx2tf's are: mean and std are applied. For a converter that keeps the ONNX model's order, save
a set for onnxruntime instead.

    import glob, numpy as np

    def representative():
        for file in sorted(glob.glob("*.npz")):
            yield list(np.load(file).values())

    converter.representative_dataset = representative
"""


def _tpu_mlir(how: How, count: int) -> str:
    return f"""\
{many(count, "file")} NNNNN.npz, each with one input, float32 {how["shape"]}: mean and std are applied. TPU-MLIR feeds
arrays as they are, and applies mean and scale of model_transform to images alone.

    run_calibration.py model.mlir --dataset . --input_num {count} -o model_cali_table
"""


def _rknn(how: How, count: int) -> str:
    mean, std = _numbers(how)
    return f"""\
{many(count, "file")} NNNNN.npy of pixels, uint8 {tuple(how["shape"])}, channels in the order {how["color"]}, and
dataset.txt. Mean and std are not applied: the toolkit applies those of config() to .npy files too, and would apply them
a second time.

    rknn.config(mean_values=[{mean}], std_values=[{std}], target_platform=...)
    rknn.load_onnx("model.onnx")
    rknn.build(do_quantization=True, dataset="dataset.txt")
"""


def _hailo(how: How, count: int) -> str:
    mean, std = _numbers(how)
    return f"""\
calib.npy: pixels of {many(count, "frame")}, uint8 (N, H, W, C) = {(count, *how["pixels"])}, channels in the order
{how["color"]}. Mean and std are not applied: the model script has to apply them.

    echo 'normalization1 = normalization({mean}, {std})' > model.alls
    hailo optimize model.har --calib-set-path calib.npy --model-script model.alls
"""


def _mnn(how: How, count: int) -> str:
    return f"""\
{many(count, "file")} images/NNNNN.png, of the model's size, and mnn.json, whose mean and normal MNN applies.
In this folder, by MNN's own build or by its Python package, whose command mnnquant crashes (3.6.1):

    quantized.out model.mnn quantized.mnn mnn.json
    python -c "import _tools; _tools.mnnquant(['mnnquant', 'model.mnn', 'quantized.mnn', 'mnn.json'])"
"""


#: Sources. onnxruntime: CalibrationDataReader in onnxruntime/quantization/calibrate.py. openvino: nncf.Dataset in
#: OpenVINO's "Basic Quantization Flow". tflite: tf.lite.RepresentativeDataset. tpu-mlir: sophgo/tpu-mlir,
#: python/calibration/data_selector.py and kld_calibrator.py. rknn: tried with rknn-toolkit2 2.5.0 (a .npy of another
#: shape than the ONNX model's is refused; pixels and a PNG of them give one range; normalised arrays another). hailo:
#: `hailo optimize --help`, and normalization() in hailo_model_zoo/cfg/alls. mnn: alibaba/MNN, docs/tools/quant.md;
#: EMA, because KL was 20 dB worse on the sample's network (MNN 3.6.1).
TOOLCHAINS: dict[str, Toolchain] = {
    "onnxruntime": Toolchain("NNNNN.npz, the model's float input", _arrays, _onnxruntime, _any),
    "openvino": Toolchain("NNNNN.npz, the model's float input, for NNCF", _arrays, _openvino, _any),
    "tflite": Toolchain(
        "NNNNN.npz, the float input (1, H, W, C), for a representative dataset", _channels_last, _tflite, _any
    ),
    "tpu-mlir": Toolchain("NNNNN.npz, the model's float input", _arrays, _tpu_mlir, _any),
    "rknn": Toolchain("NNNNN.npy, pixels before mean and std, and dataset.txt", _planes, _rknn, _any),
    "hailo": Toolchain("calib.npy, pixels (N, H, W, C) before mean and std", _stack, _hailo, _any),
    "mnn": Toolchain("images/NNNNN.png and mnn.json", _images, _mnn, _colors),
}
