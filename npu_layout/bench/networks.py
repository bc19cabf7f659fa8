"""Time small convolutional networks in torch's two memory formats, if torch is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..support import track
from .measuring import clock, medians

DTYPES = ("float32", "bfloat16")


def _convolution(inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1) -> Any:
    from torch import nn

    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU())


def _residual(body: Any) -> Any:
    from torch import nn

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = body

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    return Residual()


def _resnet() -> Any:
    """He et al., 2016: a stem, then bottlenecks of 1x1, 3x3, 1x1."""
    from torch import nn

    blocks = [
        _residual(nn.Sequential(_convolution(128, 32, 1), _convolution(32, 32), _convolution(32, 128, 1)))
        for _ in range(4)
    ]
    return nn.Sequential(_convolution(3, 32, 7, 2), nn.MaxPool2d(2), _convolution(32, 128, 1), *blocks)


def _mobilenet() -> Any:
    """Sandler et al., 2018: inverted residuals, six times as wide inside, depthwise 3x3."""
    from torch import nn

    blocks = [
        _residual(nn.Sequential(_convolution(24, 144, 1), _convolution(144, 144, groups=144), _convolution(144, 24, 1)))
        for _ in range(4)
    ]
    return nn.Sequential(_convolution(3, 24, 3, 2), nn.MaxPool2d(2), *blocks)


def _vgg() -> Any:
    """Simonyan and Zisserman, 2015: pairs of 3x3, halved by pooling."""
    from torch import nn

    layers: list[Any] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [_convolution(inputs, outputs), _convolution(outputs, outputs), nn.MaxPool2d(2)]
    return nn.Sequential(*layers)


NETWORKS = {"ResNet-like": (_resnet, 224), "MobileNet-like": (_mobilenet, 224), "VGG-like": (_vgg, 112)}


def measure(name: str, dtype: str, seconds: float) -> dict[str, Any]:
    """Return one row: milliseconds in both formats, the gain in per cent, and what is wrong."""
    import torch

    build, side = NETWORKS[name]
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    formats = {"channels_first": torch.contiguous_format, "channels_last": torch.channels_last}
    image = torch.randn(1, 3, side, side).to(kind)
    state = build().eval().state_dict()
    calls: dict[str, Callable[[], Any]] = {}
    answers = {}
    for label, memory_format in formats.items():
        model = build().eval()
        model.load_state_dict(state)
        model = model.to(kind).to(memory_format=memory_format)
        x = image.to(memory_format=memory_format)

        def call(model: Any = model, x: Any = x) -> Any:
            with torch.inference_mode():
                return model(x)

        calls[label], answers[label] = call, call().float()
    first, last = answers.values()
    difference = float((first - last).abs().max() / first.abs().max())
    wrong = {} if difference < (1e-3 if dtype == "float32" else 0.05) else {"channels_last": f"differs by {difference}"}
    times = {label: 1e3 * median for label, (median, _) in medians(clock(calls, seconds)).items()}
    gain = 100 * (times["channels_first"] / times["channels_last"] - 1)
    return {"network": name, "dtype": dtype, "shape": tuple(image.shape), "ms": times, "gain": gain, "wrong": wrong}


def measure_all(threads: int, seconds: float) -> list[dict[str, Any]]:
    """Measure every network in every dtype; return no rows if torch is not installed."""
    try:
        import torch
    except ImportError:
        return []
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    todo = [(name, dtype) for name in NETWORKS for dtype in DTYPES]
    try:
        return [measure(name, dtype, seconds) for name, dtype in track(todo, len(todo), "networks")]
    finally:
        torch.set_num_threads(before)


def headings() -> Sequence[str]:
    """Return the titles of what `columns` returns."""
    return ["network", "dtype", "input", "channels_first", "channels_last", "gain"]


def columns(row: dict[str, Any]) -> list[str]:
    """Format a row; the gain is in images per second."""
    times = row["ms"]
    shape = "x".join(map(str, row["shape"]))
    return [
        row["network"],
        row["dtype"],
        shape,
        *(f"{t:.2f} ms" for t in times.values()),
        "WRONG" if row["wrong"] else f"{row['gain']:+.0f} %",
    ]
