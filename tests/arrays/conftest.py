"""Every test of this wing leaves numpy, cv2 and npu_layout as they were: no tracker stays open."""

from __future__ import annotations

from tests.support.untracked import all_is_put_back, untouched

__all__ = ["all_is_put_back", "untouched"]
