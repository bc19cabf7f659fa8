"""Which folders of a tree are recordings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import npu_layout as nl


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("z", "a", "a/inner", "b/c", ".hidden/unseen"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "recording.json").touch()
    (tmp_path / "b" / "link").symlink_to(tmp_path / "a")
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_recordings_are_found_by_name_and_once(tree: Path) -> None:
    """Not through links, in hidden folders, or inside of a recording."""
    assert nl.find_recordings(tree) == [str(tree / name) for name in ("a", "b/c", "z")]
    assert nl.find_recordings([tree / "z", str(tree)]) == [str(tree / name) for name in ("z", "a", "b/c")]


def test_what_is_named_is_looked_into(tree: Path) -> None:
    assert nl.find_recordings(tree / "b" / "link") == [str(tree / "b" / "link")]
    assert nl.find_recordings(tree / ".hidden") == [str(tree / ".hidden" / "unseen")]


@pytest.mark.parametrize(("name", "says"), [("notes", "no recording in this folder"), ("none", "there is neither")])
def test_a_path_without_a_recording(tree: Path, name: str, says: str) -> None:
    with pytest.raises(nl.RecordingError, match=says):
        nl.find_recordings([tree, tree / name])

    model = tree / "model.onnx"
    model.touch()
    with pytest.raises(nl.RecordingError, match="got a file; recordings are named before the model"):
        nl.find_recordings(model)


def test_a_folder_that_cannot_be_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("c"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(nl.RecordingError, match=r"b/c: Permission denied"):
        nl.find_recordings(tree)
