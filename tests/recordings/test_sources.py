"""Camera frames from files: their order, their number, and files that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings import Frames


def picture(k: int) -> np.ndarray:
    return np.full((6, 8, 3), (k, 2 * k, 3 * k), np.uint8)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for k, name in ((2, "b.png"), (1, "a.PNG"), (3, "c.bmp")):
        content = cv2.imencode(f".{name[-3:].lower()}", picture(k))[1]
        (folder / name).write_bytes(content.tobytes())
    (folder / "notes.txt").write_text("no image")
    return folder


@pytest.fixture
def video(tmp_path: Path) -> Path:
    file = tmp_path / "clip.avi"
    writer = cv2.VideoWriter(str(file), cv2.VideoWriter_fourcc(*"MJPG"), 5, (32, 24))
    assert writer.isOpened(), "opencv-python writes Motion JPEG by itself"
    for k in range(5):
        writer.write(np.full((24, 32, 3), 50 * k, np.uint8))
    writer.release()
    return file


def test_a_folders_images_come_by_name_and_as_often_as_wanted(images: Path) -> None:
    frames = Frames([images])
    assert frames.total == 3
    for _ in range(2):
        read = [*frames]
        assert [int(frame[0, 0, 0]) for frame in read] == [1, 2, 3]
        for k, frame in enumerate(read, 1):
            np.testing.assert_array_equal(frame, picture(k))


def test_files_come_in_the_order_that_is_given(images: Path) -> None:
    frames = Frames([images / "c.bmp", str(images / "a.PNG"), images])
    assert [int(frame[0, 0, 0]) for frame in frames] == [3, 1, 1, 2, 3] and frames.total == 5


def test_one_path_is_enough(images: Path) -> None:
    for one in (images, str(images)):
        assert [int(frame[0, 0, 0]) for frame in Frames(one)] == [1, 2, 3]
    with pytest.raises(nl.NpuLayoutError, match=r"^jpg: no such file or folder"):
        Frames("jpg")


def test_a_limit_counts_over_all_files(images: Path) -> None:
    frames = Frames([images, images], limit=4)
    assert [int(frame[0, 0, 0]) for frame in frames] == [1, 2, 3, 1] and frames.total == 4
    assert Frames([images], limit=99).total == 3


def test_a_video(video: Path, images: Path) -> None:
    frames = Frames([video, images / "a.PNG"])
    read = [*frames]
    assert frames.total == len(read) == 6
    assert [frame.shape for frame in read] == [(24, 32, 3)] * 5 + [(6, 8, 3)]
    for k, frame in enumerate(read[:5]):
        assert abs(float(frame.mean()) - 50 * k) < 5  # JPEG
    assert len([*Frames([video], limit=2)]) == 2


def test_what_cannot_be_read_is_named(images: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.png").write_bytes(b"no image")
    for paths, says in (
        ([tmp_path / "never"], "never: no such file or folder"),
        ([tmp_path / "empty"], "empty: no images in this folder"),
        ([images / "notes.txt"], r"notes\.txt: cannot be read as a video"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            Frames(paths)
    frames = iter(Frames([images / "a.PNG", tmp_path / "broken.png"]))
    np.testing.assert_array_equal(next(frames), picture(1))
    with pytest.raises(nl.NpuLayoutError, match=r"broken\.png: cannot be read as an image"):
        next(frames)


class Camera:
    """In the place of cv2.VideoCapture: frames without end, of the camera whose number is 7."""

    opened: ClassVar[list[Any]] = []

    def __init__(self, name: Any) -> None:
        self.count, self.name = 0, name
        Camera.opened.append(name)

    def isOpened(self) -> bool:
        return bool(self.name == 7)

    def read(self) -> tuple[bool, np.ndarray]:
        self.count += 1
        return True, picture(self.count)

    def get(self, what: int) -> float:
        return -1.0

    def release(self) -> None:
        Camera.opened.remove(self.name)


def test_a_camera_needs_a_limit(monkeypatch: pytest.MonkeyPatch, images: Path) -> None:
    exists = Path.exists
    monkeypatch.setattr(cv2, "VideoCapture", Camera)
    monkeypatch.setattr(Path, "exists", lambda path: str(path).startswith("/dev/video") or exists(path))
    with pytest.raises(nl.NpuLayoutError, match=r"^/dev/video7: a camera has no last frame; give limit="):
        Frames("/dev/video7")
    frames = Frames([images / "a.PNG", "/dev/video7"], limit=4)
    assert frames.total == 4 and not Camera.opened
    for _ in range(2):
        assert [int(frame[0, 0, 0]) for frame in frames] == [1, 1, 2, 3]
    with pytest.raises(nl.NpuLayoutError, match=r"/dev/video8: cannot be read as a camera \(in use, or no camera\)"):
        list(Frames("/dev/video8", limit=1))
    with pytest.raises(nl.NpuLayoutError, match=r"^3: no such file or folder; camera 3 is /dev/video3$"):
        Frames("3", limit=1)
