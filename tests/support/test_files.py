"""Files and folders appear whole or not at all, also where many threads write the same one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from npu_layout import NpuLayoutError
from npu_layout.support import json_text, lfs_pointer, whole, whole_folder, write_text
from tests.support.paths import ROOT

TOGETHER = 8


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_replaces_the_one_before_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"before")
    target.chmod(0o640)
    with whole(target) as file:
        file.write(b"after")
        file.flush()
        assert target.read_bytes() == b"before" and len(names(tmp_path)) == 2
    assert target.read_bytes() == b"after" and stat.S_IMODE(target.stat().st_mode) == 0o640
    with pytest.raises(KeyboardInterrupt), whole(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"after" and names(tmp_path) == ["a.bin"]


def test_links_are_followed_and_errors_name_the_path(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    with whole(tmp_path / "link") as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there" / "file").read_bytes() == b"x"
    with pytest.raises(FileNotFoundError) as caught, whole(tmp_path / "no" / "file"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "file")


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "run"
    with whole_folder(target) as partial:
        (partial / "a").write_text("1")
        assert not target.exists() and partial.parent == target.parent
    assert names(target) == ["a"] and names(tmp_path / "deep") == ["run"]
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "never"):
        _ = 1 / 0
    assert names(tmp_path) == ["deep"]
    with pytest.raises(OSError, match="run") as caught, whole_folder(target) as partial:
        (partial / "b").write_text("2")
    assert ".partial" not in str(caught.value.filename)
    assert names(target) == ["a"] and names(tmp_path / "deep") == ["run"]


def test_a_folder_is_replaced_where_that_is_wanted(tmp_path: Path) -> None:
    target = tmp_path / "run"
    for content in ("1", "2"):
        with whole_folder(target, replace=True) as partial:
            (partial / content).write_text(content)
    assert names(target) == ["2"] and names(tmp_path) == ["run"]
    with pytest.raises(ZeroDivisionError), whole_folder(target, replace=True) as partial:
        (partial / "3").write_text("3")
        _ = 1 / 0
    assert names(target) == ["2"] and names(tmp_path) == ["run"]


def test_the_folder_before_comes_back_where_the_new_one_cannot_take_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, right = tmp_path / "run", Path.rename
    with whole_folder(target) as partial:
        (partial / "old").write_text("1")

    def rename(self: Path, other: Path) -> Path:
        if self.name.endswith(".partial"):
            raise KeyboardInterrupt
        return right(self, other)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt), whole_folder(target, replace=True) as partial:
        (partial / "new").write_text("2")
    assert names(target) == ["old"] and names(tmp_path) == ["run"]


def test_an_error_of_the_block_stays_as_it_is(tmp_path: Path) -> None:
    """An engine's OSError has no number and no file."""
    with pytest.raises(OSError, match=r"\Abus error\Z"), whole_folder(tmp_path / "run"):
        raise OSError("bus error")
    with pytest.raises(OSError, match=r"\Abus error\Z"), whole(tmp_path / "file"):
        raise OSError("bus error")
    assert not names(tmp_path)


def test_threads_of_one_process_never_share_a_partial_file(tmp_path: Path) -> None:
    """All have the file open at once; whichever is last, its content is there, and no byte of another."""
    target, open_at_once = tmp_path / "a.bin", threading.Barrier(TOGETHER)

    def write(k: int) -> None:
        for _ in range(20):
            with whole(target) as file:
                file.write(bytes([k]) * 1000)
                open_at_once.wait(10)
                file.write(bytes([k]) * (1000 + k))

    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(write, range(TOGETHER)))
    content = target.read_bytes()
    assert content == bytes([content[0]]) * (2000 + content[0]) and names(tmp_path) == ["a.bin"]


def test_threads_of_one_process_never_share_a_partial_folder(tmp_path: Path) -> None:
    """One of them makes the folder; the others are refused, and leave nothing."""
    target, open_at_once = tmp_path / "run", threading.Barrier(TOGETHER)

    def make(k: int) -> bool:
        try:
            with whole_folder(target) as partial:
                (partial / str(k)).write_text(str(k))
                open_at_once.wait(10)
                assert names(partial) == [str(k)]
        except OSError:
            return False
        return True

    with ThreadPoolExecutor(TOGETHER) as pool:
        made = list(pool.map(make, range(TOGETHER)))
    assert made.count(True) == 1
    assert names(target) == [str(made.index(True))] and names(tmp_path) == ["run"]


PROCESS = """
import os, sys, threading
from npu_layout.support import whole
target, k = sys.argv[1], int(sys.argv[2])
def write(k):
    for _ in range(30):
        with whole(target) as file:
            file.write(bytes([k]) * 1000)
            file.flush()
            file.write(bytes([k]) * (1000 + k))
threads = [threading.Thread(target=write, args=(3 * k + i,)) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_processes_with_threads_never_share_a_partial_file(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(bytes(2000))
    running = [subprocess.Popen([sys.executable, "-c", PROCESS, str(target), str(k)], cwd=ROOT) for k in range(1, 4)]
    while any(process.poll() is None for process in running):
        content = target.read_bytes()
        assert content == bytes([content[0]]) * (2000 + content[0])
    assert [process.returncode for process in running] == [0] * 3 and names(tmp_path) == ["a.bin"]


def test_a_forked_process_has_partial_files_of_its_own(tmp_path: Path) -> None:
    """Both have the file open at once; the numbers of processes in two containers may be equal too."""
    target, done = tmp_path / "a.bin", os.pipe()
    with whole(target) as file:
        file.write(b"parent")
        child = os.fork()
        if not child:
            with whole(target) as own:
                own.write(b"child")
            os.write(done[1], b"x")
            os._exit(0)
        assert os.read(done[0], 1) == b"x" and os.waitpid(child, 0)[1] == 0
        assert target.read_bytes() == b"child"
    assert target.read_bytes() == b"parent" and names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("name", ["n" * 255, "\u00fc" * 127, "\U0001f600" * 63])
def test_names_as_long_as_a_file_system_allows(name: str, tmp_path: Path) -> None:
    with whole(tmp_path / name) as file:
        file.write(b"x")
    assert names(tmp_path) == [name]
    (tmp_path / name).unlink()
    with whole_folder(tmp_path / name, replace=True) as partial:
        (partial / "a").write_text("1")
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("bad", [None, 1, 1.5, b"a", ["a"], "a\0b", "\ud800"])
def test_what_is_no_path_is_refused(bad: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for attempt in (lambda: whole(bad), lambda: whole_folder(bad)):
        with pytest.raises(NpuLayoutError, match="path: "), attempt():
            pass
    with pytest.raises(NpuLayoutError, match="path: "):
        write_text(bad, "x")
    assert not names(tmp_path)


def test_text_is_written_as_utf_8(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "\u00fc\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xbc\n" and names(tmp_path) == ["a.txt"]


def test_a_pointer_of_git_lfs_is_known(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    (tmp_path / "b").write_bytes(b"version https://git-lfs")
    assert "git lfs pull" in lfs_pointer(tmp_path / "a")
    assert [lfs_pointer(tmp_path / name) for name in ("b", "none", ".")] == [""] * 3


def test_json_is_text_and_a_file_that_ends_in_a_line(tmp_path: Path) -> None:
    """NaN, which JSON lacks, is refused before the file is touched."""
    path = tmp_path / "a.json"
    assert json_text({"a": [1]}, path) == json_text({"a": [1]}) == path.read_text().rstrip("\n")
    with pytest.raises(ValueError, match="Out of range float"):
        json_text({"a": float("nan")}, path)
    assert path.read_text() == '{\n "a": [\n  1\n ]\n}\n'
