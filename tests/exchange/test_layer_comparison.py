"""The first layer that really differs is found whatever the layouts are; dumps without a fault have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import exchange
from tests.support.layer_dumps import (
    Layers,
    as_npy,
    as_qairt,
    channels_last,
    eight_bits,
    layers_of,
    network,
    quantised,
    rerun,
)

CONV, RELU, LAST = "/body.1/conv/out", "/body.1/relu/out", "/body.2/conv/out"


class Case:
    """A network, its tensors in float32, and those of the same network in 8 bits."""

    def __init__(self, folder: Path, seed: int = 0, **more: Any) -> None:
        self.bytes, self.seed = network(seed, **more), seed
        self.model = folder / "model.onnx"
        self.model.write_bytes(self.bytes)
        self.golden, self.board = layers_of(self.bytes, seed), quantised(self.bytes, seed)

    def spoilt(self, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Layers:
        """The tensors of the network in 8 bits, of which one is changed, and what follows from it."""
        spoil: dict[str, Any] = dict.fromkeys(self.golden, eight_bits)
        return rerun(self.bytes, {**spoil, name: lambda x: change(eight_bits(x))}, self.seed)

    def compare(self, a: Any, b: Any, **more: Any) -> exchange.LayerComparison:
        return exchange.compare_layers(a, b, self.model, **more)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("case"))


def permuted(x: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).permutation(x.reshape(-1)).reshape(x.shape)


def to_int8(x: np.ndarray) -> np.ndarray:
    return np.round(x / (np.abs(x).max() or 1) * 127).astype(np.int8) if x.dtype.kind == "f" else x


STORED: dict[str, Callable[[np.ndarray], Any]] = {
    "as it is": lambda x: x,
    "channels last": channels_last,
    "flat channels last": lambda x: channels_last(x).reshape(-1),
    "bytes": lambda x: channels_last(x).astype(np.float32).tobytes(),
    "float16": lambda x: channels_last(x).astype(np.float16) if x.dtype.kind == "f" else x,
    "axes in another order": lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if x.ndim == 4 else x,
    "blocks": lambda x: nl.repack(x, "NCHW", "NCHW16c", shape=x.shape) if x.ndim == 4 else x,
    "int8 without a scale": lambda x: channels_last(to_int8(x)),
}


@pytest.mark.parametrize("how", STORED)
@pytest.mark.parametrize("seed", range(3))
def test_another_layout_is_no_fault(tmp_path: Path, how: str, seed: int) -> None:
    sizes = (dict(), dict(channels=(12, 12), shape=(1, 3, 12, 12)), dict(channels=(16, 4, 8), shape=(2, 3, 9, 14)))
    case = Case(tmp_path, seed, **sizes[seed])
    for a, b in ((case.golden, case.board), (case.golden, case.golden)):
        stored = {name: STORED[how](x) for name, x in b.items()}
        found = case.compare(a, stored)
        assert found and found.first is None and str(found).startswith("No layer differs"), str(found)
        assert case.compare(stored, a), "the other way round"


@pytest.mark.parametrize("how", ["as it is", "flat channels last", "bytes", "blocks"])
@pytest.mark.parametrize("name", [CONV, RELU, LAST, "gate", "logits", "scores", "image"])
def test_a_wrong_layer(case: Case, name: str, how: str) -> None:
    b = {k: STORED[how](x) for k, x in case.spoilt(name, permuted).items()}
    found = case.compare(case.golden, b)
    assert not found and found.first is not None and found.first.name == name, str(found)
    assert found.first.verdict == "differs" and found.first.name in str(found)
    assert found.others == ()  # what follows is its consequence


FAULTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "channels in another order": lambda x: x[:, ::-1],
    "mirrored": lambda x: x[..., ::-1],
    "negated": lambda x: -x,
    "half as large": lambda x: x / 2,
    "lost": lambda x: x * 0,
    "constant": lambda x: x * 0 + x.mean(),
    "clamped": lambda x: np.minimum(x, x.mean()),
    "one channel": lambda x: np.concatenate([permuted(x[:, :1]), x[:, 1:]], 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(case: Case, fault: str) -> None:
    b = {k: channels_last(x) for k, x in case.spoilt(LAST, FAULTS[fault]).items()}
    found = case.compare(case.golden, b)
    assert found.first is not None and found.first.name == LAST, str(found)


def test_exchanged_axes_are_pointed_out(case: Case) -> None:
    """A tensor with exchanged axes looks as in another layout; what is computed from it differs, and it is named."""
    b = case.spoilt(RELU, lambda x: x.swapaxes(2, 3).reshape(x.shape))
    found = case.compare(case.golden, b)
    assert found.first is not None and found.first.name == LAST
    assert f"{RELU!r} agrees only if a is stored as NCHW, b as NCWH, unlike most" in str(found)


def test_not_a_number(case: Case) -> None:
    def spoil(x: np.ndarray, value: float = np.nan) -> np.ndarray:
        return np.where(np.arange(x.size).reshape(x.shape) % 7 == 0, value, x)

    found = case.compare(case.golden, {**case.board, LAST: spoil(case.board[LAST])})
    assert found.first is not None and found.first.name == LAST and found.first.snr_db is None
    assert "b has 440 of 3072 values NaN" in str(found) or "values NaN where the other is finite" in str(found)
    both = {LAST: spoil(case.golden[LAST])}
    assert case.compare({**case.golden, **both}, {**case.board, LAST: spoil(case.board[LAST])})
    infinite = case.compare(case.golden, {**case.board, LAST: spoil(case.board[LAST], np.inf)})
    assert "infinite where the other is finite" in str(infinite)
    low = spoil(case.golden[LAST], -3.4e38), spoil(case.board[LAST], -65504.0)  # a mask, and what float16 makes of it
    assert case.compare({**case.golden, LAST: low[0]}, {**case.board, LAST: low[1]})
    json.dumps(found.to_dict(), allow_nan=False)


def test_missing_layers(case: Case) -> None:
    b = case.spoilt(CONV, permuted)
    del b[CONV]
    found = case.compare(case.golden, b)
    assert found.first is not None and found.first.name == RELU and found.first.inputs == ("/body.0/relu/out",)
    assert f"The fault may also be in {CONV!r} before it" in str(found)
    missing = {layer.name: layer for layer in found.layers}[CONV]
    assert (missing.verdict, missing.why) == ("missing", "not in b")
    kept = {k: v for k, v in case.board.items() if "conv" not in k}
    assert case.compare(case.golden, kept) and case.compare(kept, case.golden)


def test_two_faults_of_which_neither_causes_the_other(tmp_path: Path) -> None:
    case = Case(tmp_path)
    b = case.spoilt("scores", permuted)
    b["labels"] = 15 - case.golden["labels"]
    found = case.compare(case.golden, b)
    assert found.first is not None and {found.first.name, *(o.name for o in found.others)} == {"scores", "labels"}
    assert "Independently of it" in str(found)


def test_an_error_that_grows(case: Case) -> None:
    rng = np.random.default_rng(0)
    names = [CONV, RELU, LAST, "/body.2/relu/out"]
    noisy = dict(case.golden)
    for i, name in enumerate(names):
        x = case.golden[name]
        noisy[name] = x + rng.standard_normal(x.shape) * np.sqrt(np.mean(x * x)) * 10 ** (-(15 - 3 * i) / 20)
    found = case.compare(case.golden, noisy)
    assert found.first is not None and found.first.name == LAST and "the error has grown over" in str(found)
    assert case.compare(case.golden, noisy, min_snr_db=3)
    assert "Most is lost at" in str(case.compare(case.golden, case.board, min_snr_db=3))


def test_constant_layers_and_rounding(case: Case) -> None:
    """What fits in every layout is no fault, nor is an error far below what went into a layer."""
    ones, zeros = ({name: np.full_like(x, value) for name, x in case.golden.items()} for value in (1, 0))
    for x in (ones, zeros):
        assert case.compare(x, {name: STORED["bytes"](array) for name, array in x.items() if name != "labels"})
    tiny = {**case.golden, LAST: case.golden[LAST] * 0}
    rounded = {**tiny, LAST: tiny[LAST] + 1e-9}
    assert case.compare(tiny, rounded)


def test_labels_are_counted(case: Case) -> None:
    labels = case.golden["labels"]
    places = np.random.default_rng(0).random(labels.shape)
    few = np.where(places < 0.3, (labels + 7) % 16, labels)
    assert case.compare(case.golden, {**case.board, "labels": few})
    found = case.compare(case.golden, {**case.board, "labels": (labels + 7) % 16})
    assert found.first is not None and found.first.name == "labels" and "0 % of the whole numbers" in str(found)


def test_other_sizes(case: Case) -> None:
    found = case.compare(case.golden, {**case.board, LAST: case.board[LAST][:, :, 1:]})
    assert (
        found.first is not None
        and found.first.name == LAST
        and "other sizes: a has shape (1, 16, 16, 12)" in str(found)
    )
    found = case.compare(case.golden, {**case.board, LAST: bytes(37)})
    assert found and "Not compared: '/body.2/conv/out'" in str(found)


def test_tools_against_each_other(case: Case, tmp_path: Path) -> None:
    wrong = case.spoilt(LAST, permuted)
    as_npy(case.golden, tmp_path / "onnx")
    np.savez(tmp_path / "onnx.npz", **case.golden)
    as_qairt(case.board, tmp_path / "board")
    as_qairt(wrong, tmp_path / "board", 1)
    for a in (tmp_path / "onnx", tmp_path / "onnx.npz", case.golden):
        found = case.compare(a, tmp_path / "board")
        assert found and all(layer.verdict == "same" for layer in found.layers), str(found)
        assert case.compare(a, tmp_path / "board", frame=0)
        assert case.compare(tmp_path / "board", tmp_path / "board" / "Result_1").first.name == LAST  # type: ignore[union-attr]
    native = {k: to_int8(x) for k, x in case.golden.items() if x.size > 30}
    assert case.compare(tmp_path / "onnx", as_qairt(native, tmp_path / "native", suffix="_native"))


def test_scales_that_are_given(case: Case, tmp_path: Path) -> None:
    """spec.json describes the layers' layouts and scales; a wrong scale is a fault then."""
    x = case.golden[LAST]
    spec = nl.TensorSpec(x.shape, "NCHW16c", "int8", quantization=nl.Quantization(float(np.abs(x).max()) / 127))
    (tmp_path / "layer.bin").write_bytes(spec.pack(x).tobytes())
    for factor, same in ((1.0, True), (2.0, False)):
        quantization = {"scale": spec.quantization.scale * factor, "zero_point": 0}  # type: ignore[union-attr]
        words = {**spec.to_dict(), "quantization": quantization, "file": "layer.bin"}
        (tmp_path / "spec.json").write_text(json.dumps({"outputs": {LAST: words}}))
        assert bool(case.compare(case.golden, tmp_path)) is same


def test_what_cannot_be_compared(case: Case) -> None:
    good = case.golden
    for a, b, more, error, says in (
        (good, {}, {}, nl.RecordingError, "b: expected tensors"),
        (good, {"other": np.zeros(3)}, {}, nl.RecordingError, "no tensor that .* computes is in both .*'other'"),
        (good, {"image": good["image"]}, {}, nl.RecordingError, "no tensor that"),
        (good, [1], {}, nl.NpuLayoutError, r"b: expected a path or \{name: array\}, got list"),
        (None, good, {}, nl.NpuLayoutError, "a: expected a path"),
        (good, good, {"min_snr_db": "ten"}, nl.NpuLayoutError, "min_snr_db: expected a finite number, got"),
        (good, good, {"min_snr_db": float("nan")}, nl.NpuLayoutError, "min_snr_db"),
        (good, good, {"min_snr_db": True}, nl.NpuLayoutError, "min_snr_db"),
        (good, good, {"frame": 1.5}, nl.NpuLayoutError, "frame: expected a whole number"),
        (good, good, {"frame": -1}, nl.NpuLayoutError, "frame"),
        (
            good,
            good,
            {"frame": 1},
            nl.RecordingError,
            "frame: expected 0, because neither dump has several runs, got 1",
        ),
    ):
        with pytest.raises(error, match=says):
            case.compare(a, b, **more)
    for model, says in ((b"", "model: expected the path"), ("nowhere.onnx", "got nothing")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            exchange.compare_layers(good, good, model)  # type: ignore[arg-type]


SIZES: tuple[dict[str, Any], ...] = (
    dict(),
    dict(channels=(16, 16, 16), shape=(1, 3, 16, 16)),
    dict(channels=(32,) * 6, shape=(1, 3, 16, 16)),
    dict(channels=(64, 32, 8), shape=(1, 3, 24, 20)),
    dict(channels=(16,) * 10, shape=(2, 3, 12, 12)),
    dict(channels=(12,) * 4, shape=(1, 3, 12, 12)),
    dict(channels=(4, 4), shape=(1, 1, 6, 5)),
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_networks(tmp_path: Path, seed: int) -> None:
    """docs/comparing.md has the figures: no faultless dump is accused, and planted faults are found where they are."""
    rng = np.random.default_rng(seed)
    right = planted = 0
    for sizes in SIZES:
        case = Case(tmp_path, seed, **sizes)
        for how, stored in STORED.items():
            found = case.compare(case.golden, {name: stored(x) for name, x in case.board.items()})
            assert found, f"{sizes} {how}: {found}"
        maps = [name for name, x in case.golden.items() if x.ndim == 4 and "out" in name]
        for fault, change in FAULTS.items():
            name = maps[rng.integers(len(maps))]
            if fault in ("one channel", "clamped"):  # of a few channels, or of what ReLU has clamped, little is lost
                name = maps[0]
            how = ("as it is", "channels last", "flat channels last", "bytes")[rng.integers(4)]
            found = case.compare(case.golden, {k: STORED[how](x) for k, x in case.spoilt(name, change).items()})
            planted += 1
            right += found.first is not None and found.first.name == name
    assert planted == 56 and right >= 55, f"{right} of {planted}"
