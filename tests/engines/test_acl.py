"""AclEngine against a stand-in for pyACL: handles and memory that are counted, contexts of threads, codes of errors."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import AclEngine
from npu_layout.testing import check_engine
from tests.support import detector

IMAGE = nl.TensorSpec((1, 3, 64, 64), "NCHW", "float16")
BOX = nl.TensorSpec((1, 64, 8, 8), nl.Layout.named("NC1HWC0", 16), "float16")
SCORE = nl.TensorSpec((1, 3, 8, 8), nl.Layout.named("NC1HWC0", 16), "float16")
SHAPES = {"Conv_1:0:box": BOX.shape, "Conv_2:0:score": SCORE.shape}
NAMES = [*SHAPES]
TO_DEVICE, TO_HOST = 1, 2


class Device:
    """What pyACL keeps: every handle by its kind; the device's memory, which is dirty; each thread's context."""

    def __init__(self) -> None:
        self.live: dict[str, dict[int, Any]] = {}
        self.calls: dict[str, int] = {}
        self.fails: dict[str, tuple[int, int]] = {}  # function: its how-manieth call, code
        self.next = 1 << 20
        self.initialised = 0
        self.thread = threading.local()
        self.network = nl.OnnxRuntimeEngine(detector.detector())
        self.dims = {"score": [1, 1, 8, 8, 16]}
        self.names = NAMES
        self.words: str | None = "EZ9999: Inner Error!\n        out of memory"

    def code(self, function: str) -> int:
        self.calls[function] = self.calls.get(function, 0) + 1
        which, code = self.fails.get(function, (0, 0))
        return code if self.calls[function] == which else 0

    def new(self, kind: str, value: Any) -> int:
        self.next += 64
        self.live.setdefault(kind, {})[self.next] = value
        return self.next

    def gone(self, kind: str, handle: int) -> int:
        del self.live[kind][handle]  # a KeyError is the segmentation fault of the real one
        return 0

    def count(self) -> int:
        return sum(map(len, self.live.values()))

    def in_context(self) -> int:
        context: int = self.thread.context
        assert context in self.live["context"], "the thread's context is destroyed"
        return context


def of_rt(device: Device) -> SimpleNamespace:
    def create_context(number: int) -> tuple[int, int]:
        if device.initialised < 1 or number != 0:
            return 0, 107001
        if code := device.code("create_context"):
            return 0, code
        device.thread.context = device.new("context", number)
        return device.thread.context, 0

    def destroy_context(context: int) -> int:
        assert device.count() == len(device.live["context"]), "the context goes last"
        return device.gone("context", context)

    def set_context(context: int) -> int:
        device.thread.context = context
        return 0 if context in device.live["context"] else 107002

    def get_context() -> tuple[int, int]:
        context = getattr(device.thread, "context", 0)
        return (context, 0) if context else (0, 107002)

    def malloc(size: int, policy: int) -> tuple[int, int]:
        device.in_context()
        assert isinstance(size, int) and size > 0 and policy == 0
        if code := device.code("malloc"):
            return 0, code
        memory = (ctypes.c_uint8 * size)(*(b"\xa5" * size))
        device.live.setdefault("memory", {})[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory), 0

    def memcpy(target: int, most: int, source: int, count: int, kind: int) -> int:
        device.in_context()
        there, here = (target, source) if kind == TO_DEVICE else (source, target)
        memory = device.live["memory"]
        assert kind in (TO_DEVICE, TO_HOST) and here not in memory and 0 < count <= most
        assert count <= len(memory[there])
        if code := device.code("memcpy"):
            return code
        ctypes.memmove(target, source, count)
        return 0

    return SimpleNamespace(
        create_context=create_context, destroy_context=destroy_context, set_context=set_context,
        get_context=get_context, malloc=malloc, memcpy=memcpy, free=lambda address: device.gone("memory", address),
    )  # fmt: skip


def of_mdl(device: Device) -> SimpleNamespace:
    def load_from_file(path: str) -> tuple[int, int]:
        if Path(path).read_bytes() == b"broken":
            return 0, 500002
        if code := device.code("load_from_file"):
            return 0, code
        return device.new("model", device.in_context()), 0

    def unload(model: int) -> int:
        assert device.live["model"][model] == device.in_context()
        return device.gone("model", model)

    def create_desc() -> int:
        return 0 if device.code("create_desc") else device.new("desc", None)

    def get_desc(desc: int, model: int) -> int:
        assert desc in device.live["desc"] and model in device.live["model"]
        return device.code("get_desc")

    def create_dataset() -> int:
        return 0 if device.code("create_dataset") else device.new("dataset", [])

    def add_dataset_buffer(dataset: int, buffer: int) -> tuple[int, int]:
        device.live["dataset"][dataset].append(device.live["buffer"][buffer])
        return dataset, device.code("add_dataset_buffer")

    def execute(model: int, fed: int, found: int) -> int:
        assert device.live["model"][model] == device.in_context(), "loaded in another context"
        if code := device.code("execute"):
            return code
        (source,), targets = (device.live["dataset"][one] for one in (fed, found))
        image = IMAGE.unpack(device.live["memory"][source[0]], dtype=np.float32)
        answers = device.network.infer(image)
        for spec, name, (address, size) in zip((BOX, SCORE), ("box", "score"), targets):
            stored = spec.pack(answers[name].reshape(spec.shape)).reshape(spec.storage_shape)
            stored[..., spec.shape[1] % 16 or 16 :] = np.float16(7)  # what is in the padding is anyone's
            assert size == stored.nbytes
            ctypes.memmove(address, stored.tobytes(), size)
        return 0

    def of(desc: int, value: Any) -> Any:
        assert desc in device.live["desc"]
        return value

    boxes = [list(BOX.storage_shape), device.dims]
    return SimpleNamespace(
        load_from_file=load_from_file, unload=unload, create_desc=create_desc, get_desc=get_desc,
        destroy_desc=lambda desc: device.gone("desc", desc), create_dataset=create_dataset,
        destroy_dataset=lambda dataset: device.gone("dataset", dataset), add_dataset_buffer=add_dataset_buffer,
        execute=execute, get_num_inputs=lambda d: of(d, 1), get_num_outputs=lambda d: of(d, 2),
        get_input_dims_v2=lambda d, i: of(d, ({"name": "image", "dimCount": 4, "dims": [1, 3, 64, 64]}, 0)),
        get_output_dims=lambda d, i: of(
            d, ({"name": "y", "dimCount": 5, "dims": boxes[0] if i == 0 else device.dims["score"]}, 0)
        ),
        get_input_name_by_index=lambda d, i: of(d, "image"),
        get_output_name_by_index=lambda d, i: of(d, device.names[i]),
        get_input_format=lambda d, i: of(d, 0), get_output_format=lambda d, i: of(d, 3),
        get_input_data_type=lambda d, i: of(d, 1), get_output_data_type=lambda d, i: of(d, 1),
        get_input_size_by_index=lambda d, i: of(d, IMAGE.nbytes),
        get_output_size_by_index=lambda d, i: of(d, (BOX, SCORE)[i].nbytes),
    )  # fmt: skip


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    device, acl = Device(), ModuleType("acl")

    def init(config: str | None = None) -> int:
        device.initialised += 1
        return device.code("init") or (0 if device.initialised == 1 else 100002)

    def create_data_buffer(address: int, size: int) -> int:
        assert size == len(device.live["memory"][address])
        return 0 if device.code("create_data_buffer") else device.new("buffer", (address, size))

    parts: dict[str, Any] = dict(
        init=init, finalize=lambda: 0, rt=of_rt(device), mdl=of_mdl(device), create_data_buffer=create_data_buffer,
        destroy_data_buffer=lambda buffer: device.gone("buffer", buffer), get_recent_err_msg=lambda: device.words,
    )  # fmt: skip
    for name, part in parts.items():
        setattr(acl, name, part)
    monkeypatch.setitem(sys.modules, "acl", acl)
    return device


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.om"
    path.write_bytes(b"")
    return path


def test_it_computes_what_the_network_computes(model: Path, device: Device) -> None:
    x = np.random.default_rng(0).random(IMAGE.shape).astype(np.float16)
    wanted = device.network.infer(x.astype(np.float32))
    with nl.open_engine(model, shapes=SHAPES) as engine:
        assert isinstance(engine, AclEngine)
        assert [(spec.name, spec.shape, str(spec.layout)) for spec in engine.output_specs] == [
            (NAMES[0], (1, 64, 8, 8), "NCHW16c"),
            (NAMES[1], (1, 3, 8, 8), "NCHW16c"),
        ]
        assert {kind: len(some) for kind, some in device.live.items()} == {
            "context": 1, "model": 1, "desc": 1, "memory": 3, "dataset": 2, "buffer": 3,
        }  # fmt: skip
        found = engine.infer(x)
        for spec, name in zip(engine.output_specs, ("box", "score")):
            real = spec.unpack(found[spec.name], dtype=np.float32)
            np.testing.assert_array_equal(real, wanted[name].reshape(spec.shape).astype(np.float16))
    assert device.count() == 0


def test_outputs_without_an_order_are_warned_of(model: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    mdl = sys.modules["acl"].mdl
    monkeypatch.setattr(mdl, "get_output_format", lambda desc, i: 2)
    dims = [[1, 8, 8, 64], [1, 3, 8, 8]]
    monkeypatch.setattr(mdl, "get_output_dims", lambda desc, i: ({"name": "y", "dimCount": 4, "dims": dims[i]}, 0))
    monkeypatch.setattr(mdl, "get_output_size_by_index", lambda desc, i: 2 * int(np.prod(dims[i])))
    with pytest.warns(UserWarning, match=r"ACL tensor 'Conv_1:0:box': the order of shape \(1, 8, 8, 64\)") as found:
        AclEngine(model).close()
    assert [one.filename for one in found] == [__file__]
    with AclEngine(model, layouts={NAMES[0]: "NHWC"}) as engine:  # and no warning
        assert [spec.axes for spec in engine.output_specs] == ["NHWC", "NCHW"]
    with pytest.raises(nl.NpuLayoutError, match="layouts: no tensor 'box'; the model has image, Conv_1:0:box"):
        AclEngine(model, layouts={"box": "NHWC"})
    assert device.count() == 0


def test_it_keeps_the_protocol(model: Path, device: Device) -> None:
    assert len(check_engine(lambda: AclEngine(model, shapes=SHAPES))) == 9
    assert device.count() == 0 and device.initialised == 1
    short = {"box": BOX.shape, "score": SCORE.shape}
    with nl.open_engine(f"acl:{model}", shapes=short, output_names=["box", "score"]) as engine:
        assert list(engine.infer(np.zeros(IMAGE.shape, np.float16))) == ["box", "score"]


def test_every_thread_keeps_its_own_context(model: Path, device: Device) -> None:
    acl = sys.modules["acl"]
    acl.init()
    mine, _ = acl.rt.create_context(0)
    x = np.zeros(IMAGE.size, np.float16)
    engine = AclEngine(model, shapes=SHAPES)
    assert device.initialised == 2, "it was initialised by others"
    assert device.thread.context == mine
    first = engine.infer(x)[NAMES[0]]
    assert device.thread.context == mine
    others: list[Any] = []

    def elsewhere() -> None:
        others.append(engine.infer(x)[NAMES[0]])
        engine.close()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert np.array_equal(first, others[0]) and device.count() == 1 and device.thread.context == mine


def test_an_engine_that_is_dropped_is_released(model: Path, device: Device) -> None:
    engine = AclEngine(model, shapes=SHAPES)
    assert device.count() > 0
    del engine
    gc.collect()
    assert device.count() == 0


STEPS = [
    ("init", 1), ("create_context", 1), ("load_from_file", 1), ("create_desc", 1), ("get_desc", 1), ("malloc", 1),
    ("malloc", 2), ("malloc", 3), ("create_dataset", 1), ("create_dataset", 2), ("create_data_buffer", 1),
    ("create_data_buffer", 3), ("add_dataset_buffer", 1), ("add_dataset_buffer", 2),
]  # fmt: skip


@pytest.mark.parametrize(("function", "which"), STEPS)
def test_what_was_made_before_a_failure_is_destroyed(model: Path, device: Device, function: str, which: int) -> None:
    device.fails = {function: (which, 207001)}
    with pytest.raises(
        nl.NpuLayoutError, match=rf"m\.om: acl\.[a-z.]*{function} returned .*: EZ9999: Inner Error! out of"
    ):
        AclEngine(model, shapes=SHAPES)
    assert device.count() == 0
    device.fails = {}
    if function == "init":
        device.initialised = 0
    with AclEngine(model, shapes=SHAPES):
        pass
    assert device.count() == 0


@pytest.mark.parametrize(("function", "which"), [("memcpy", 1), ("execute", 1), ("memcpy", 2), ("memcpy", 3)])
def test_a_failure_of_a_run_is_named_and_the_next_works(model: Path, device: Device, function: str, which: int) -> None:
    device.fails, device.words = {function: (which, 507011)}, None
    with AclEngine(model, shapes=SHAPES) as engine:
        out = {spec.name: np.full(spec.size, 3, np.float16) for spec in engine.output_specs}
        with pytest.raises(nl.NpuLayoutError, match=rf"m\.om: acl\.[a-z.]*{function} returned 507011\Z"):
            engine.infer(np.zeros(IMAGE.size, np.float16), out=out)
        assert all((array == 3).all() for array in out.values())
        engine.infer(np.zeros(IMAGE.size, np.float16), out=out)
        assert not any((array == 3).all() for array in out.values())
    assert device.count() == 0


def test_what_goes_wrong(model: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for options, says in (
        (dict(), r"m\.om: ACL tensor 'Conv_1:0:box': format NC1HWC0: dims .* give shape="),
        (dict(shapes={"box": (1, 64, 8, 8)}), "shapes: no tensor 'box'; the model has image, Conv_1:0:box"),
        (dict(shapes=SHAPES, output_names=["box"]), r"output_names: .* has 2 outputs, got 1 name"),
        (dict(output_names=["box", "image"]), r"output_names: expected names that no input has, got \['image'\]"),
        (dict(shapes=SHAPES, device=1), r"acl\.rt\.create_context returned 107001"),
        (dict(shapes=SHAPES, device="0"), "device"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            AclEngine(model, **options)  # type: ignore[arg-type]
        assert device.count() == 0
    device.dims["score"] = [1, 1, 8, 9, 16]
    with pytest.raises(nl.NpuLayoutError, match=r"m\.om: ACL tensor 'Conv_2:0:score': dims .* are not those of"):
        AclEngine(model, shapes=SHAPES)
    device.dims["score"] = [1, 1, 8, 8, 16]
    model.write_bytes(b"broken")
    with pytest.raises(nl.NpuLayoutError, match=r"m\.om: acl\.mdl\.load_from_file returned 500002: EZ9999"):
        AclEngine(model, shapes=SHAPES)
    assert device.count() == 0
    monkeypatch.setitem(sys.modules, "acl", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"acl cannot be imported .*install Huawei's CANN, which has it"):
        AclEngine(model)
