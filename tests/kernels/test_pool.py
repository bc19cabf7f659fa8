"""The pool of threads: parts, sharing, forks, and how many there are."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.kernels import Arithmetic
from tests.support.kernel_walks import NATIVE, boxed
from tests.support.memory import LAST_CACHE
from tests.support.move_examples import EXAMPLES, PAST, expected_of


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = kernels.get_num_threads()
    nl.set_num_threads(4)
    yield
    nl.set_num_threads(before)


@pytest.mark.parametrize("backend", NATIVE)
def test_parts_are_the_whole(backend: str) -> None:
    for path, examples in EXAMPLES.items():
        for size, loops in examples:
            for n in (2, 9, 65, 300):
                box, src_size, dst_size = boxed(loops(n))
                name = f"V{size}"
                program = kernels.program(src_size, dst_size, (), (box,), Arithmetic(name, name), backend)
                source = np.random.default_rng(n).integers(0, 256, src_size * size, np.uint8)
                expected = expected_of("strided", loops(n), box, source, size, dst_size, 0x33)
                for parts in (2, 3, 4, 7, 100):
                    target = np.full(dst_size * size, 0x33, np.uint8)
                    for part in range(parts):
                        program.run(source, target, part, parts)
                    np.testing.assert_array_equal(target, expected, err_msg=f"{path} {size} {n} {parts}")


@pytest.mark.parametrize(("rows", "between"), [(20, [True, False]), (33, [False, True]), (50, [False, False])])
def test_threads_that_share_a_large_result(rows: int, between: list[bool], four_threads: None) -> None:
    """float32 to float32, and from int8: past the caches for one thread, not for four (`between`), and for both."""
    x = np.random.default_rng(rows).integers(-100, 100, (1, rows, 235, 64)).astype(np.float32)
    expected = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    touched = (2 * expected.nbytes, expected.nbytes + expected.size)
    assert [LAST_CACHE // 2 <= both < LAST_CACHE * 3 // 4 for both in touched] == between
    assert touched[0] > PAST and (rows < 50 or touched[1] >= LAST_CACHE * 3 // 4)
    out = np.full_like(expected, 77)
    for _ in range(3):
        out[...] = 77
        assert np.array_equal(nl.repack(x, "NHWC", "NCHW", out=out), expected)
    quantised = nl.TensorSpec(expected.shape, "NHWC", "int8", quantization=nl.Quantization(0.5, 3))
    flat = x.astype(np.int8).ravel()
    dequantised = nl.plan(quantised, nl.TensorSpec(expected.shape))(flat).reshape(expected.shape)
    assert np.array_equal(dequantised, (expected - 3) * np.float32(0.5))


def test_threads_share_plans_and_the_pool(four_threads: None) -> None:
    head = nl.TensorSpec((1, 96, 80, 80), "NCHW16c", "int8", quantization=nl.Quantization(0.1, 3))
    picture = nl.TensorSpec((3, 500, 600), "HWC", "uint8", axes="CHW")
    work = []
    for spec, target in ((head, nl.TensorSpec(head.shape)), (picture, nl.TensorSpec(picture.shape, "CHW", "uint8"))):
        flat = np.random.default_rng(0).integers(-100, 100, spec.size).astype(spec.stored)
        convert = nl.plan(spec, target)
        nl.set_num_threads(1)
        work.append((convert, flat, convert(flat)))
        nl.set_num_threads(4)
    wrong: list[str] = []

    def many() -> None:
        for k in range(60):
            convert, flat, expected = work[k % 2]
            out = np.zeros_like(expected)
            convert(flat, out)
            if not np.array_equal(out, expected):
                wrong.append(repr(convert))

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.alone
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_fork_has_threads_of_its_own(four_threads: None) -> None:
    x = np.arange(1 << 21, dtype=np.float32).reshape(1, 128, 128, 128)
    expected = nl.repack(x, "NCHW", "NHWC")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        good = all(np.array_equal(nl.repack(x, "NCHW", "NHWC"), expected) for _ in range(5))
        os.write(writer, b"y" if good else b"n")
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], 30)
    assert ready and os.read(reader, 1) == b"y"
    assert os.waitpid(child, 0)[1] == 0
    os.close(reader)
    np.testing.assert_array_equal(nl.repack(x, "NCHW", "NHWC"), expected)


def test_the_number_of_threads() -> None:
    before = kernels.get_num_threads()
    assert before == (min(4, len(os.sched_getaffinity(0))) if NATIVE else 1)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="1 or more"):
            nl.set_num_threads(wrong)
    with pytest.raises(TypeError):
        nl.set_num_threads(1.5)  # type: ignore[arg-type]
    nl.set_num_threads(10**9)
    assert kernels.get_num_threads() == (64 if NATIVE else 1)
    nl.set_num_threads(before)
