"""Everything that is timed is right, what is wrong is found, and every fast path has a case."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.bench import contenders, peers
from npu_layout.bench.cases import Case
from tests.support.bench_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.key} {case.title}")
def test_everything_that_is_timed_is_right(case: Case) -> None:
    libraries = peers.installed()
    assert {"numpy", "cv2", "onnxruntime"} <= libraries.keys()
    calls, _ = contenders.ours(case)
    assert set(calls) == {contenders.OURS, *kernels.backends()}
    for library, spelling, make in peers.PEERS[case.kind]:
        call = make(case) if library in libraries else None
        if call is not None:
            calls[f"{library}: {spelling}"] = call
    assert sum(name.startswith("numpy: ") for name in calls) == 1
    assert contenders.check(case, calls) == {}


def test_what_is_wrong_is_found() -> None:
    case = CASES[0]
    calls, _ = contenders.ours(case)
    calls["numpy: " + peers.PEERS["move"][0][1]] = peers.PEERS["move"][0][2](case)  # type: ignore[assignment]
    calls["other: zeros"] = lambda: np.zeros(case.target.size, case.target.stored)
    assert list(contenders.check(case, calls)) == ["other: zeros"] and "other: zeros" not in calls


def test_a_difference_is_counted() -> None:
    got, expected = np.array([1, 2, 3, 4]), np.array([1, 0, 3, 0])
    assert contenders.difference(got, expected) == "not equal: 2 of 4 values differ: [2 4] ..., expected [0 0] ..."
    assert contenders.difference(got, expected[:3]) == "not equal: 4 values, expected 3"


@pytest.mark.skipif(kernels.active() == "numpy", reason="the compiled kernels are turned off")
def test_every_fast_path_has_a_case() -> None:
    from npu_layout.kernels import native

    used = {path for case in CASES for path in contenders.ours(case)[1]}
    assert {path.name for path in native.FAST_PATHS} <= used


def test_memcpy_comes_first_and_a_peer_that_fails_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(case: Case) -> peers.Call:
        raise RuntimeError("no such function")

    def wrong(case: Case) -> peers.Call:
        return lambda: case.out()

    case = CASES[0]
    entries = [*peers.PEERS["move"], ("cv2", "failing", failing), ("cv2", "zeros", wrong)]
    monkeypatch.setitem(peers.PEERS, "move", entries)
    calls, paths, mistaken = contenders.competitors(case, with_peers=True)
    assert next(iter(calls)) == "memcpy" and {contenders.OURS, *kernels.backends()} <= calls.keys()
    assert list(mistaken) == ["cv2: zeros"] and "cv2: zeros" not in calls and "cv2: failing" not in calls
    assert f"cv2 cannot do {case.title}: no such function" in capsys.readouterr().out
    assert bool(paths) == (kernels.active() != "numpy")
    numpy_only = contenders.competitors(case, with_peers=False)[0]
    assert {name.split(":")[0] for name in numpy_only if ": " in name} == {"numpy"}


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("index", [0, 10, 30, 38, 42])
def test_rotating_calls_have_sources_of_their_own(index: int, shared: bool) -> None:
    case = CASES[index]
    calls, _, _ = contenders.competitors(case, with_peers=True)
    expected = case.cropped(np.asarray(calls[contenders.OURS]()))
    rotating = contenders.rotating(case, calls, 3, shared)
    assert rotating.keys() == calls.keys() and {len(every) for every in rotating.values()} == {3}
    for name, every in rotating.items():
        if name == "memcpy":
            continue
        results = [np.asarray(call()) for call in every]
        writes_out = np.shares_memory(results[0], np.asarray(every[0]()))
        for i, result in enumerate(results):
            got = case.cropped(result).astype(np.float64)
            assert np.allclose(got, expected, rtol=1e-3, atol=1), name
            assert not i or not writes_out or np.shares_memory(result, results[0]) == shared, name
    assert case.outputs is None
