"""The sizes of this machine's caches, and the size of the last cache that the core uses."""

from __future__ import annotations

from functools import partial

import pytest

from npu_layout.kernels.caches import USUAL, Caches
from tests.support.kernel_walks import NATIVE

if NATIVE:
    from npu_layout.kernels import native


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_the_last_cache_is_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    set_sizes: list[int] = []
    monkeypatch.setattr(native._native, "set_last_cache", set_sizes.append)
    for sizes, known in (
        ({1: 48 << 10, 2: 1 << 20, 3: 16 << 20}, True),
        ({1: 32 << 10, 2: 256 << 10, 3: 3 << 20}, True),
        ({1: 32 << 10, 2: 1 << 20, 3: 1 << 80}, True),
        ({1: 32 << 10, 2: 1 << 20}, True),  # a small board, or a system that does not report the third level
        (USUAL, False),
    ):
        monkeypatch.setattr(native, "caches", partial(Caches, sizes, 64, known))
        native.ask_for_the_last_cache()
    assert set_sizes == [16 << 20, 4 << 20, 64 << 20]


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_how_results_are_stored_depends_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: list[tuple[bool, int]] = []
    monkeypatch.setattr(native._native, "set_stores", lambda *rule: rules.append(rule))
    sizes = {1: 48 << 10, 2: 2 << 20, 3: 300 << 20}
    for of_intel, disabled, known in ((True, "", True), (True, "avx512", True), (True, "", False), (False, "", True)):
        monkeypatch.setattr(native._native, "of_intel", lambda of_intel=of_intel: of_intel)
        monkeypatch.setattr(native._native, "LEVELS", [("base", 16), ("avx512", 64)])
        monkeypatch.setenv("NPU_LAYOUT_DISABLE", disabled)
        monkeypatch.setattr(native, "caches", partial(Caches, sizes, 64, known))
        native.ask_how_to_store()
    assert rules == [(True, 9 << 18), (True, 0), (True, 0), (False, 0)]
