"""What is kept of forms of frames never grows beyond its bound."""

from __future__ import annotations

from npu_layout.frames.kept import MOST, BoundedDict


def test_a_full_one_is_emptied_before_another_item() -> None:
    kept = BoundedDict[int, str]()
    for key in range(MOST):
        assert kept.keep(key, str(key)) == str(key) and len(kept) == key + 1
    kept.keep(MOST, "one more")
    assert kept == {MOST: "one more"}
