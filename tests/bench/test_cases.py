"""Every row of the table makes a case whose peer's view is what the target stores."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.bench.cases import TOP, Case, ContenderMemory
from tests.support.bench_cases import CASES


def test_titles_are_distinct() -> None:
    assert len({(case.key, case.title) for case in CASES}) == len(CASES) > 100


@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "move"], ids=lambda case: case.title)
def test_a_move_for_a_peer_is_the_logical_tensor(case: Case) -> None:
    expected = case.target.pack(case.source.unpack(case.flat))
    np.testing.assert_array_equal(case.cropped(np.ascontiguousarray(case.permuted())), expected)
    assert case.out().shape == case.permuted().shape and not case.out().any()


def test_a_case_is_made_again_in_other_memory() -> None:
    other = CASES[0].elsewhere()
    assert other.title == CASES[0].title and not np.shares_memory(other.flat, CASES[0].flat)
    np.testing.assert_array_equal(other.flat, CASES[0].flat)


def test_bytes_are_those_of_the_result() -> None:
    for case in CASES:
        read, written = case.flat.nbytes, case.target.nbytes
        assert case.nbytes == ((read + written) // 2 if case.kind == "gray" else written), case.title


def test_top_k_has_so_many_channels_and_argmax_one() -> None:
    channels = {case.kind: case.target.shape[1] for case in CASES if case.kind in ("top_k", "argmax")}
    assert channels == {"top_k": TOP, "argmax": 1}


def test_few_elements_are_above_the_threshold_of_peaks() -> None:
    shares = {case.title: np.mean(case.flat > case.threshold) for case in CASES if case.kind == "peaks"}
    assert shares and all(0.005 < share < 0.025 for share in shares.values()), shares


def test_outputs_are_shared_or_not_and_scratch_always_is() -> None:
    for shared in (True, False):
        case = CASES[0].elsewhere()
        case.outputs = ContenderMemory(shared)
        first = case.out(), case.zeros(5, np.int8, scratch=True)
        case.outputs.at = 0
        other = case.elsewhere()
        second = other.out(), other.zeros(5, np.int8, scratch=True)
        assert (first[0] is second[0]) == shared and first[1] is second[1]
        assert first[0].shape == second[0].shape and not second[0].any()


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.title)
def test_a_case_elsewhere_has_the_same_source_in_other_memory(case: Case) -> None:
    other = case.elsewhere()
    assert np.array_equal(case.flat, other.flat) and np.array_equal(case.x, other.x)
    assert case.x.strides == other.x.strides and not np.shares_memory(case.memory, other.memory)
    assert np.shares_memory(other.x, other.memory) and np.shares_memory(other.flat, other.memory)
