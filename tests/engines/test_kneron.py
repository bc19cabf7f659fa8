"""KneronEngine against a stand-in for kp that moves bytes by the loops of Kneron's documentation."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import KneronEngine
from npu_layout.testing import check_engine

C, H, W = 3, 5, 6
FACTOR = 1.5 * 2**2  # of the sum, whose scale is 1.5 and whose radix is 2


class ApiKPException(Exception):
    """As of kp, it has no base but Exception."""


def enum(prefix: str, name: str) -> SimpleNamespace:
    return SimpleNamespace(name=prefix + name)


def tensor(name: str, kind: str, info: Any, scale: float, radix: int) -> SimpleNamespace:
    one = SimpleNamespace(scale=SimpleNamespace(dtype=9, value=scale), radix=radix)
    means = SimpleNamespace(quantized_axis=1, quantized_fixed_point_descriptor_list=[one])
    return SimpleNamespace(
        index=0,
        name=name,
        data_layout=enum("KP_MODEL_TENSOR_DATA_LAYOUT_", kind),
        tensor_shape_info=info,
        quantization_parameters=SimpleNamespace(version=1, v1=means),
    )


def v1(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(
        version=enum("KP_MODEL_TENSOR_SHAPE_INFO_VERSION_", "1"),
        v1=SimpleNamespace(shape_npu=list(shape), shape_onnx=list(shape)),
    )


def v2(shape: Any, strides: Any) -> SimpleNamespace:
    return SimpleNamespace(
        version=enum("KP_MODEL_TENSOR_SHAPE_INFO_VERSION_", "2"),
        v2=SimpleNamespace(shape=list(shape), stride_onnx=[], stride_npu=list(strides)),
    )


def up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


#: chip: the input's layout, shape, place of (c, h, w) and bytes; the outputs' shapes
CHIPS: dict[str, Any] = {
    "KL520": ("4W4C8B", v1(1, C, H, W), lambda c, h, w: (h * up(W, 16) + w) * 4 + c, H * up(W, 16) * 4),
    "KL720": ("4W4C8B", v1(1, C, H, W), lambda c, h, w: (h * up(W, 4) + w) * 4 + c, H * up(W, 4) * 4),
    "KL630": ("1W16C8B", v1(1, C, H, W), lambda c, h, w: (h * W + w) * 16 + c, H * W * 16),
    "KL730": (
        "HW4C8B_DROP_A",
        v2((1, C, H, W), (4 * 8 * H, 1, 4 * 8, 4)),
        lambda c, h, w: h * 32 + w * 4 + c,
        32 * H,
    ),
}


def nef(chip: str) -> SimpleNamespace:
    kind, shape, _, _ = CHIPS[chip]
    if chip == "KL730":
        shapes = [v2((1, H, W, 2), (H * W * 16, W * 16, 16, 1)), v2((1, 1, H, W), (0, 0, 16, 1))]
    else:
        shapes = [v1(1, 2, H, W), v1(1, 1, H, W)]
    names = ["" for _ in range(3)] if chip == "KL520" else ["image", "both", "sum"]
    network = SimpleNamespace(
        id=19,
        input_nodes=[tensor(names[0], kind, shape, 1.0, 8)],
        output_nodes=[
            tensor(names[1], "16W1C8B", shapes[0], 1.0, 6),
            tensor(names[2], "8W1C16B", shapes[1], 1.5, 2),
        ],
    )
    return SimpleNamespace(target_chip=enum("KP_MODEL_TARGET_CHIP_", chip), models=[network])


def network(image: np.ndarray) -> dict[str, np.ndarray]:
    """Two planes and a sum of (C,H,W), as real values."""
    return {"both": np.stack([image[0], -image[2]]) / 2, "sum": image.sum(axis=0)[None]}


def stored(real: np.ndarray, factor: float, dtype: Any) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(real * factor), limits.min, limits.max).astype(dtype)


class Device:
    """A stick with a queue of results; a class, so that tests see what is left open."""

    chip = "KL720"
    open = 0
    breaks: Any = ()
    calls: Any = ()
    queue: Any = ()
    loaded: Any = None


def connect_devices(usb_port_ids: list[int]) -> Any:
    if usb_port_ids == [99]:
        raise ApiKPException("KP_ERROR_INVALID_DEVICE_ID")
    Device.open += 1
    Device.calls, Device.queue = [("connect", usb_port_ids)], []
    return SimpleNamespace(address=1)


def disconnect_devices(device_group: Any) -> None:
    Device.open -= 1
    if "disconnect" in Device.breaks:
        raise ApiKPException("KP_ERROR_USB_NO_DEVICE_N4")


def load_firmware_from_file(device_group: Any, scpu_fw_path: str, ncpu_fw_path: str) -> None:
    Device.calls.append(("firmware", scpu_fw_path, ncpu_fw_path))


def load_model_from_file(device_group: Any, file_path: str) -> Any:
    if Path(file_path).read_bytes() == b"broken":
        raise ApiKPException("Error raised in function: load_model_from_file. Error code: 40. KP_ERROR_INVALID_MODEL")
    Device.loaded = Device.loaded or nef(Device.chip)
    return Device.loaded


def send(device_group: Any, generic_inference_input_descriptor: Any) -> None:
    if "send" in Device.breaks:
        raise ApiKPException("KP_ERROR_SEND_DATA_FAIL_15")
    asked = generic_inference_input_descriptor
    _, _, place, size = CHIPS[Device.chip]
    (buffer,) = (node.buffer for node in asked.input_node_data_list)
    assert asked.model_id == 19 and isinstance(buffer, bytes) and len(buffer) == size
    image = np.zeros((C, H, W))
    for c, h, w in np.ndindex(C, H, W):
        image[c, h, w] = np.frombuffer(buffer, np.int8)[place(c, h, w)] / 256
    real = network(image)
    planes = [stored(real["both"], 64, np.int8), stored(real["sum"], FACTOR, np.int16)]
    header = SimpleNamespace(inference_number=asked.inference_number, num_output_node=2, product_id=0)
    Device.queue.append(SimpleNamespace(header=header, planes=planes))


def receive(device_group: Any) -> Any:
    if "receive" in Device.breaks:
        raise ApiKPException("KP_ERROR_USB_TIMEOUT_N7")
    result = Device.queue.pop(0)
    if "nodes" in Device.breaks:
        result.header.num_output_node = 1
    if "number" in Device.breaks:
        result.header.inference_number = 7000
    return result


ORDERS = {"HCW": (1, 0, 2), "CHW": (0, 1, 2), "HWC": (1, 2, 0)}


def retrieve_fixed(node_idx: int, generic_raw_result: Any, channels_ordering: str) -> Any:
    """kp_inference.c: with shapes of version 2, any order but DEFAULT is an error, and the answer is NULL."""
    planes = generic_raw_result.planes[node_idx]
    if "null" in Device.breaks:
        return None
    if Device.chip == "KL730":
        if channels_ordering != "DEFAULT":
            return None
        found = planes.transpose(1, 2, 0) if node_idx == 0 else planes
        return SimpleNamespace(ndarray=found[None] & (-2 if found.dtype == np.int16 else -1))
    own = "HCW" if Device.chip == "KL520" else "CHW"
    order = ORDERS[own if channels_ordering == "DEFAULT" else channels_ordering]
    found = planes.transpose(order)[None]
    if "shape" in Device.breaks:
        found = found.reshape(1, -1)
    return SimpleNamespace(ndarray=found.copy())


def retrieve_float(node_idx: int, generic_raw_result: Any, channels_ordering: str) -> Any:
    node = retrieve_fixed(node_idx, generic_raw_result, channels_ordering)
    return SimpleNamespace(ndarray=(node.ndarray / (64.0, FACTOR)[node_idx]).astype(np.float32))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library: Any = ModuleType("kp")
    library.ApiKPException = ApiKPException
    library.ChannelOrdering = SimpleNamespace(
        **{f"KP_CHANNEL_ORDERING_{name}": name for name in (*ORDERS, "DEFAULT")},
    )
    library.GenericDataInferenceDescriptor = SimpleNamespace
    library.GenericInputNodeData = SimpleNamespace
    library.core = SimpleNamespace(
        connect_devices=connect_devices,
        disconnect_devices=disconnect_devices,
        set_timeout=lambda device_group, milliseconds: Device.calls.append(("timeout", milliseconds)),
        load_firmware_from_file=load_firmware_from_file,
        load_model_from_file=load_model_from_file,
    )
    library.inference = SimpleNamespace(
        generic_data_inference_send=send,
        generic_data_inference_receive=receive,
        generic_inference_retrieve_fixed_node=retrieve_fixed,
        generic_inference_retrieve_float_node=retrieve_float,
    )
    monkeypatch.setitem(sys.modules, "kp", library)
    for name, value in (("chip", "KL720"), ("open", 0), ("breaks", ()), ("loaded", None)):
        monkeypatch.setattr(Device, name, value)
    path = tmp_path / "m.nef"
    path.write_bytes(b"")
    return path


@pytest.mark.parametrize("retrieved", ["fixed", "float"])
@pytest.mark.parametrize("chip", CHIPS)
def test_frames_become_what_the_network_makes_of_them(model: Path, chip: str, retrieved: str) -> None:
    Device.chip = chip
    names = ["image", "both", "sum"]
    given = dict(input_names=names[:1], output_names=names[1:]) if chip == "KL520" else {}
    frames = np.random.default_rng(0).integers(0, 256, (3, H, W, 3), np.uint8)
    with nl.open_engine(model, retrieved=retrieved, **given) as engine:
        assert isinstance(engine, KneronEngine) and Device.calls == [("connect", [0]), ("timeout", 10_000)]
        (image,), (both, total) = engine.input_specs, engine.output_specs
        assert image.nbytes == CHIPS[chip][3] and image.quantization == nl.Quantization(1 / 256)
        kinds = ("int8", "int16") if retrieved == "fixed" else ("float32", "float32")
        assert (both.dtype, total.dtype) == kinds
        assert both.shape == ((1, H, W, 2) if chip == "KL730" else (1, 2, H, W))
        assert both.nbytes == 2 * H * W * both.stored.itemsize, "dense"
        # The example of Kneron's tutorial: (data - 128) / 256.
        preprocess = nl.Preprocessor(image, color="RGB", mean=128, std=256)
        kept = [engine.infer(preprocess(frame)[0]) for frame in frames]
        for frame, found in zip(frames, kept):
            wanted = network((frame[..., ::-1].transpose(2, 0, 1).astype(np.float64) - 128) / 256)
            plane = both.unpack(found["both"])[0]
            plane = plane.transpose(2, 0, 1) if chip == "KL730" else plane
            assert np.array_equal(plane, stored(wanted["both"], 64, np.int8) / np.float32(64))
            steps = stored(wanted["sum"], FACTOR, np.int16) & (-2 if chip == "KL730" else -1)
            np.testing.assert_allclose(total.unpack(found["sum"])[0], steps / FACTOR, rtol=1e-6)
    assert Device.open == 0


def test_it_keeps_the_protocol(model: Path) -> None:
    for Device.chip in CHIPS:
        Device.loaded = None
        assert len(check_engine(lambda: KneronEngine(model))) == 9
        assert Device.open == 0


def test_names_of_a_nef_without_names(model: Path) -> None:
    Device.chip = "KL520"
    with KneronEngine(model) as engine:
        assert [spec.name for spec in (*engine.input_specs, *engine.output_specs)] == ["input0", "output0", "output1"]
    with pytest.raises(nl.NpuLayoutError, match=r"output_names: model .*m\.nef has 2 outputs, got 1 name"):
        KneronEngine(model, output_names=["both"])
    assert Device.open == 0


def test_port_and_firmware(model: Path, tmp_path: Path) -> None:
    files = (tmp_path / "fw_scpu.bin", str(tmp_path / "fw_ncpu.bin"))
    with KneronEngine(model, usb_port_id=13, firmware=files):
        assert Device.calls == [("connect", [13]), ("timeout", 10_000), ("firmware", *map(str, files))]
    for wrong in ("fw_scpu.bin", files[:1], [1, 2]):
        with pytest.raises(nl.NpuLayoutError, match="firmware: expected"):
            KneronEngine(model, firmware=wrong)  # type: ignore[arg-type]


def test_one_of_several_networks(model: Path) -> None:
    Device.loaded = nef("KL720")
    other = SimpleNamespace(**{**vars(Device.loaded.models[0]), "id": 211})
    Device.loaded.models.insert(0, other)
    with KneronEngine(model, model_id=19) as engine:
        assert engine.infer(np.zeros(H * 8 * 4, np.int8))["both"].size == 2 * H * W
    for wanted, got in ((None, "it has several"), (20, "got '20'")):
        with pytest.raises(nl.NpuLayoutError, match=f"model_id: .*expected one of '211', '19'; {got}"):
            KneronEngine(model, model_id=wanted)
    assert Device.open == 0


def test_inputs_of_16_bits_have_15(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Device.loaded = nef("KL720")
    Device.loaded.models[0].input_nodes[0].data_layout = enum("KP_MODEL_TENSOR_DATA_LAYOUT_", "8W1C16B")
    sent: list[bytes] = []

    def keep(device_group: Any, generic_inference_input_descriptor: Any) -> None:
        sent.append(generic_inference_input_descriptor.input_node_data_list[0].buffer)
        raise ApiKPException("no more of this")

    monkeypatch.setattr(sys.modules["kp"].inference, "generic_data_inference_send", keep)
    with KneronEngine(model) as engine:
        given = np.random.default_rng(1).integers(-(1 << 15), 1 << 15, engine.input_specs[0].size).astype(np.int16)
        before = given.copy()
        with pytest.raises(nl.NpuLayoutError, match="KneronEngine failed: no more of this"):
            engine.infer(given)
    assert np.array_equal(given, before)
    assert np.frombuffer(sent[0], np.int16).tolist() == [int(n) // 2 * 2 for n in given]


def test_a_late_result_is_not_the_next_ones(model: Path) -> None:
    """A run whose result did not come in time leaves it in the device's queue."""
    with KneronEngine(model) as engine:
        (image,) = engine.input_specs
        bright = image.pack(np.full(image.shape, 0.25, np.float32))
        Device.breaks = ("receive",)
        for _ in range(2):
            with pytest.raises(nl.NpuLayoutError, match="KneronEngine failed: KP_ERROR_USB_TIMEOUT_N7"):
                engine.infer(bright)
        Device.breaks = ()
        assert not engine.infer(np.zeros(image.size, np.int8))["sum"].any()
        assert engine.infer(bright)["sum"].all() and not Device.queue


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        ("send", "KneronEngine failed: KP_ERROR_SEND_DATA_FAIL_15"),
        ("nodes", "KneronEngine: got 1 output, expected 2"),
        ("number", "expected the result of run 1, got run 7000"),
        ("null", "kp retrieves no output both; its log may say why"),
        ("shape", r"output both is \(1, 60\), not \(1, 2, 5, 6\)"),
    ],
)
def test_a_run_that_fails(model: Path, breaks: str, says: str) -> None:
    with KneronEngine(model) as engine:
        out = {spec.name: np.full(spec.size, 7, spec.stored) for spec in engine.output_specs}
        Device.breaks = (breaks,)
        with pytest.raises(nl.NpuLayoutError, match=says):
            engine.infer(np.zeros(engine.input_specs[0].size, np.int8), out=out)
        assert all((array == 7).all() for array in out.values())
        with pytest.raises(nl.NpuLayoutError, match=r"input image: .*needs 160"):
            engine.infer(np.zeros(C * H * W, np.int8))


def test_what_cannot_be_opened(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"m\.nef: cannot be loaded: KP_ERROR_INVALID_DEVICE_ID"):
        KneronEngine(model, usb_port_id=99)
    with pytest.raises(nl.NpuLayoutError, match="retrieved: expected fixed or float, got None"):
        KneronEngine(model, retrieved=None)  # type: ignore[arg-type]
    Device.loaded = nef("KL720")
    Device.loaded.models[0].input_nodes[0].data_layout = enum("KP_MODEL_TENSOR_DATA_LAYOUT_", "4W4C8BHL")
    with pytest.raises(nl.NpuLayoutError, match="4W4C8BHL stores 16 low bytes"):
        KneronEngine(model)
    Device.breaks = ("disconnect",)
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.nef: cannot be loaded: .*KP_ERROR_INVALID_MODEL"):
        KneronEngine(model)
    assert Device.open == 0
    monkeypatch.setitem(sys.modules, "kp", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"kp cannot be imported .*Kneron PLUS"):
        KneronEngine(model)
