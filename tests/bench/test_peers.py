"""Other libraries: registered by kind, found if installed, restricted to our instruction set and number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.bench import contenders, peers
from npu_layout.bench.answer_cases import answer_cases
from npu_layout.bench.cases import cases
from npu_layout.bench.frame_cases import frame_cases
from npu_layout.bench.peers import calls, heads, libraries, registry, stored


@pytest.mark.skipif(
    "native (avx512)" not in kernels.backends(), reason="this machine has nothing above AVX2 to turn off"
)
def test_peers_are_held_to_the_instruction_set_of_the_kernels() -> None:
    script = (
        "from npu_layout.bench import measuring; from npu_layout.cli import main; "
        "from npu_layout.kernels import caches; "
        "measuring.caches = lambda: caches.Caches({3: 1 << 20}, 64, True); "  # to sweep the real ones takes seconds
        "main(['bench', 'a', '--quick']); import cv2; print(cv2.getCPUFeaturesLine())"
    )
    environment = {**os.environ, "NPU_LAYOUT_DISABLE": "avx512", "NPU_LAYOUT_KERNELS": "native"}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (
        "kernels native (avx2)" in ran.stdout
        and "restricted to the same instruction set: cv2, numba, torch" in ran.stdout
    )
    assert "*AVX2" in ran.stdout and "AVX512-SKX?" in ran.stdout.splitlines()[-1]  # ?: not to be used


def test_every_kind_of_case_has_peers_and_numpy_is_the_first() -> None:
    assert {case.kind for case in (*cases(), *frame_cases(), *answer_cases())} == set(peers.PEERS)
    for kind, entries in peers.PEERS.items():
        names = [f"{library}: {spelling}" for library, spelling, _ in entries]
        assert entries[0][0] == "numpy" and len(set(names)) == len(names), kind


def test_functions_are_named_by_library_and_kind() -> None:
    every = {function for entries in peers.PEERS.values() for _, _, function in entries}
    assert len(every) == 82 and len({function.__name__ for function in every}) == 82
    for entries in peers.PEERS.values():
        for library, _, function in entries:
            assert function.__name__.startswith(f"{library}_")


def test_a_peer_is_registered_under_each_of_its_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PEERS", {"first": []})

    @registry.peer("first second", "library", "spelling")
    def function(case: object) -> None:
        return None

    entry = ("library", "spelling", function)
    assert {"first": [entry], "second": [entry]} == registry.PEERS


def test_a_library_that_does_not_start_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = peers.installed()
    assert before["numpy"] == np.__version__ and before["cv2"].startswith(cv2.__version__)
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert peers.installed().keys() == before.keys() - {"cv2"}


def test_a_library_of_another_distribution_is_installed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "opencv-python":
            raise libraries.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr(libraries, "version", version)
    found = peers.installed()
    assert (found["numpy"], found["cv2"]) == ("1.2.3", cv2.__version__)


def test_what_is_imported_already_is_not_restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(libraries.os, "environ", {})
    monkeypatch.setitem(sys.modules, "cv2", cv2)
    assert "cv2" not in peers.restrict_to("native (avx2)")
    assert peers.restrict_to("native (avx512)") == peers.restrict_to("numpy") == []
    monkeypatch.delitem(sys.modules, "cv2")
    assert "cv2" in peers.restrict_to("native (sse4)")
    assert libraries.os.environ["OPENCV_IPP"] == "sse42"


def test_threads_are_those_of_every_peer() -> None:
    before = libraries.threads()
    try:
        peers.use_threads(2)
        assert libraries.threads() == cv2.getNumThreads() == 2
    finally:
        peers.use_threads(before)


def test_writes_returns_what_it_fills() -> None:
    out = np.zeros(3)
    call = calls.writes(out, np.copyto, out, 2)
    assert not out.any()
    assert call() is out and (out == 2).all()


def test_a_graph_reads_and_writes_memory_in_place() -> None:
    from onnx import helper

    x, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((3, 2), np.float32)
    call = calls.graph(x, out, [helper.make_node("Transpose", ["x"], ["y"], perm=(1, 0))], {})
    assert call() is out
    np.testing.assert_array_equal(out, x.T)
    x += 1
    np.testing.assert_array_equal(call(), x.T)


def test_the_library_in_a_name() -> None:
    assert peers.library_of(peers.peer_name("cv2", "a: b")) == "cv2"
    assert [peers.library_of(name) for name in ("memcpy", contenders.OURS, "native (avx2)", "numpy")] == [""] * 4


@pytest.mark.parametrize("layout", stored.STORED)
def test_what_passes_every_threshold_of_codes(layout: str) -> None:
    """The least code, with which everything passes, and one more than the greatest, with which nothing does."""
    spec = nl.TensorSpec((1, 20, 2, 3), layout, "int8")
    codes = np.random.default_rng(3).choice(np.array([-128, -127, 0, 126, 127], np.int8), spec.shape)
    buffer = spec.pack(codes).reshape(-1)
    limits = np.array([-128, -127, 0, 127, 128])
    for least in (*limits.astype(np.int16), np.int8(-128), -128, limits[np.arange(20) % 5].astype(np.int16)):
        each = np.broadcast_to(least, 20)
        expected = {
            (y * 3 + x, c)
            for c in range(20)
            for y in range(2)
            for x in range(3)
            if int(codes[0, c, y, x]) >= int(each[c])
        }
        found = [part.tolist() for part in stored.passing(spec, buffer, least)]
        assert sorted(zip(*found)) == sorted(expected)
        assert stored.passing_cells(spec, buffer, least).tolist() == sorted({cell for cell, _ in expected})
    for cell, channel in ((0, 0), (5, 19), (4, 16)):
        at = stored.STORED[layout].place(np.array(cell), np.array(channel), 20, 6)
        assert at == spec.offset(0, channel, cell // 3, cell % 3)


def test_the_least_code_that_means_enough() -> None:
    scales = nl.Quantization((0.01, 0.001, 0.01), (-128, -128, -328), axis=1)
    spec = nl.TensorSpec((1, 3, 2, 3), "NCHW", "int8", quantization=scales)
    assert heads._least(spec, 0.5).tolist() == [-78, 128, -128] and heads._least(spec, 0.5).dtype == np.int16
    one = spec.replace(quantization=nl.Quantization(0.001, -128))
    assert heads._least(one, 0.5) == 128 and heads._least(one, 0.25) == 122
