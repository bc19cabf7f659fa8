"""Compare what an accelerator's buffer unpacks to with the float output of the same run."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl


class Agreement(NamedTuple):
    """How the unpacked output of one frame compares with the float output; errors in quantisation steps."""

    frame: int
    output: str
    cosine: float
    steps: float
    allowed: float
    saturated: int
    where: tuple[int, ...]

    @property
    def agrees(self) -> bool:
        return self.steps <= self.allowed


def compare(frame: int, spec: nl.TensorSpec, got: np.ndarray, real: np.ndarray) -> Agreement:
    """A stored value may be half a step from the real one; values that the dtype cannot store are counted separately.

    A step is the scale, or for a float dtype the distance to the next number.
    """
    a, b = got.astype(np.float64), real.astype(np.float64)
    if spec.quantization is not None:
        info = np.iinfo(spec.stored)
        scale, zero = float(spec.quantization.scale), float(spec.quantization.zero_point)
        low, high = (info.min - zero) * scale, (info.max - zero) * scale
        step: Any = scale
        slack = (float(info.max) - info.min) * 2.0**-22  # float32 rounds quotient and product
    else:
        limit = np.finfo(spec.stored)
        low, high = float(limit.min), float(limit.max)
        a = np.clip(a, low, high)  # what float16 cannot store comes back infinite
        exponent = np.frexp(np.clip(b, low, high))[1]
        step = np.maximum(np.ldexp(float(limit.eps), exponent - 1), float(limit.smallest_subnormal))
        slack = 0.0
    outside = (b < low) | (b > high)
    steps = np.where(outside, np.abs(a - np.clip(b, low, high)), np.abs(a - b)) / step
    steps = np.where(np.isfinite(steps), steps, np.inf)
    worst = np.unravel_index(int(steps.argmax()), steps.shape)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float((a * b).sum()) / norm if norm else float(not a.any() and not b.any())
    where = tuple(int(i) for i in worst)
    return Agreement(frame, spec.name, cosine, float(steps.max()), 0.5 + slack, int(outside.sum()), where)


def report(agreements: list[Agreement], path: Path) -> int:
    """Write every frame's agreement, print the worst; the exit status."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["frame", "output", "cosine", "largest_error_in_steps", "saturated", "agrees"])
        for a in agreements:
            rows.writerow([a.frame, a.output, f"{a.cosine:.8f}", f"{a.steps:.4f}", a.saturated, a.agrees])
    bad = [a for a in agreements if not a.agrees]
    print(
        f"\nAgreement with the float run: {len(agreements) - len(bad)} of {len(agreements)} frames; "
        f"lowest cosine {min(a.cosine for a in agreements):.6f}, "
        f"largest error {max(a.steps for a in agreements):.3f} quantisation steps; "
        f"not counted: {sum(a.saturated for a in agreements)} values beyond the dtype's range"
    )
    if not bad:
        return 0
    worst = max(bad, key=lambda a: a.steps)
    print(
        f"MISMATCH: output {worst.output!r} differs from the float run in {len(bad)} of {len(agreements)} frames; "
        f"worst is frame {worst.frame}, by {worst.steps:.2f} quantisation steps at {worst.where} "
        f"({worst.allowed:.2f} allowed), cosine {worst.cosine:.4f}",
        file=sys.stderr,
    )
    return 1
