"""RknnRuntimeEngine against a shared library with the interface of rknn_api.h: structs, memory, errors, the end."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import RknnRuntimeEngine
from npu_layout.testing import check_engine

RNG = np.random.default_rng(5)
IMAGE = RNG.integers(0, 256, (1, 3, 7, 3)).astype(np.uint8)  # NHWC
GAIN = np.array([2, 0, 0, 0, 0], np.int8)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rknn") / "librknnrt.so"
    source = Path(__file__).with_name("librknnrt.c")
    compiler = os.environ.get("CC", "cc").split()
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]}: no C compiler for the stand-in")
    subprocess.run([*compiler, "-std=c11", "-O1", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
    return str(path)


@pytest.fixture
def model(tmp_path: Path, library: str) -> Iterator[Path]:
    path = tmp_path / "m.rknn"
    path.write_bytes(b"")
    standin = ctypes.CDLL(library)
    yield path
    standin.standin_fail_at(0)
    gc.collect()
    assert standin.standin_alive() == 0, "memory or a context was left"


def given(engine: RknnRuntimeEngine) -> dict[str, np.ndarray]:
    """Pack what the stand-in reads: an image in rows of 16 pixels, and 5 numbers."""
    image, gain = engine.input_specs
    return {"image": image.pack(IMAGE), "gain": gain.pack(GAIN[None].astype(np.float32))}


@pytest.mark.parametrize("outputs", ["native", "nhwc"])
def test_it_runs_on_the_memory_of_the_npu(model: Path, library: str, outputs: str) -> None:
    half = (IMAGE.transpose(0, 3, 1, 2)[:, np.arange(20) % 3] // 2 + 2).astype(np.int8).astype(np.float32)
    with nl.open_engine(f"rknnrt:{model}", library=library, core_mask=4, outputs=outputs) as engine:
        image, gain = engine.input_specs
        assert (image.dtype, image.quantization, image.storage_shape) == ("uint8", None, (1, 3, 16, 3))
        assert (gain.dtype, gain.shape, gain.quantization) == ("int8", (1, 5), nl.Quantization(1.0, 0))
        specs = {spec.name: spec for spec in engine.output_specs}
        assert specs["half"].shape == (1, 20, 3, 7) and specs["half"].quantization == nl.Quantization(0.5, -3)
        assert str(specs["half"].layout) == ("NCHW16c" if outputs == "native" else "NHWC")
        found = engine.infer(given(engine))
        assert np.array_equal(specs["half"].unpack(found["half"]), (half + 3) / 2)
        assert np.array_equal(specs["sum"].unpack(found["sum"]), IMAGE.sum((1, 2)).astype(np.float32))
        assert not any(np.shares_memory(found[name], engine.output_buffers[name]) for name in found)
    assert ctypes.CDLL(library).standin_core_mask() == 4
    assert (
        len(check_engine(lambda: RknnRuntimeEngine(model, library=library, outputs=outputs))) == 8
    )  # not: one buffer for the only input


def test_nothing_is_copied_that_is_in_the_memory_of_the_npu(model: Path, library: str) -> None:
    engine = RknnRuntimeEngine(model, library=library)
    inputs, outputs = engine.input_buffers, engine.output_buffers
    assert not inputs["image"].any(), "padding of a new input"
    write = nl.Preprocessor(engine.input_specs[0], resize="stretch", source="RGB")
    write(IMAGE[0], inputs["image"])
    inputs["gain"][:5] = GAIN
    found = engine.infer(inputs, out=outputs)
    assert all(np.shares_memory(found[name], outputs[name]) for name in outputs)
    assert np.array_equal(outputs["sum"], IMAGE.sum((1, 2)).astype(np.float32))
    kept = outputs["half"].copy()
    engine.close()
    assert engine.input_buffers == {} and engine.output_buffers == {}
    with pytest.raises(nl.NpuLayoutError, match=r"m\.rknn: the engine is closed"):
        engine.infer(inputs)
    del engine, found
    gc.collect()
    assert ctypes.CDLL(library).standin_alive() == 4001, "four buffers that are referred to, and their model"
    assert np.array_equal(outputs["half"], kept)


def test_every_call_may_fail_and_nothing_is_left(model: Path, library: str) -> None:
    standin, seen = ctypes.CDLL(library), set()
    for number in range(1, 60):
        standin.standin_fail_at(number)
        try:
            engine = RknnRuntimeEngine(model, library=library, core_mask=1)
        except nl.NpuLayoutError as error:
            assert "m.rknn: cannot be loaded: rknn_" in str(error)
            seen.add(str(error).partition("loaded: ")[2].split()[0].rstrip(":"))
            continue
        standin.standin_fail_at(1)
        with pytest.raises(nl.NpuLayoutError, match=r"rknn_run returned -2 \(TIMEOUT\)"):
            engine.infer(given(engine))
        standin.standin_fail_at(0)
        engine.infer(given(engine))
        engine.close()
        break
    assert seen == {"rknn_init", "rknn_set_core_mask", "rknn_query", "rknn_create_mem", "rknn_set_io_mem"}


def test_an_image_may_be_given_as_the_npu_stores_it(model: Path, library: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"rknn_set_io_mem returned -5 \(PARAM_INVALID\)"):
        RknnRuntimeEngine(model, library=library, images="stored")  # the stand-in reads uint8 alone


def test_bad_arguments(model: Path, library: str) -> None:
    for more, words in (
        ({"core_mask": "1"}, "core_mask: expected a mask of cores, got '1'"),
        ({"core_mask": 2.0}, "core_mask: expected a mask of cores"),
        ({"core_mask": 1 << 40}, "core_mask: expected 0 to 65535, got 1099511627776"),
        ({"library": 5}, "library"),
        ({"images": "rgb"}, "images: expected"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            RknnRuntimeEngine(model, **{"library": library, **more})  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match="has no function rknn_"):
        RknnRuntimeEngine(model, library=ctypes.util.find_library("m"))  # type: ignore[arg-type]


def test_what_is_missing_is_named(model: Path, tmp_path: Path) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"none\.so cannot be loaded .* rknpu2/runtime"):
        RknnRuntimeEngine(model, library=str(tmp_path / "none.so"))
    with pytest.raises(nl.NpuLayoutError, match="outputs: expected"):
        RknnRuntimeEngine(model, outputs="NCHW")
    with pytest.raises(nl.NpuLayoutError, match="no such file"):
        RknnRuntimeEngine(tmp_path / "other.rknn")
