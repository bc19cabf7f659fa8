"""The benchmark's conversions, the same objects for all tests, because their contents have 445 MB."""

from __future__ import annotations

from npu_layout.bench.cases import cases

CASES = list(cases())
