"""A file appears whole or not at all: modes, links, pipes, errors."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from npu_layout.support import whole


def test_it_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with whole(path) as file:
        file.write(b"new and longer")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new and longer" and os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("before", [None, b"old"])
def test_nothing_changes_if_the_block_raises(tmp_path: Path, before: bytes | None) -> None:
    path = tmp_path / "a.bin"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(KeyError), whole(str(path)) as file:
        file.write(b"half")
        raise KeyError
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == ({} if before is None else {"a.bin": before})


def test_mode_and_links_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o604)
    link.symlink_to("target")
    with whole(link) as file:
        file.write(b"new")
    assert link.is_symlink() and target.read_bytes() == b"new" and target.stat().st_mode & 0o777 == 0o604


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole(pipe) as file:
            file.write(b"bytes")
        assert os.read(reader, 9) == b"bytes" and pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]
    finally:
        os.close(reader)


def test_errors_name_the_path_that_was_given(tmp_path: Path) -> None:
    for path, number in (
        (tmp_path / "none" / "a", errno.ENOENT),
        (tmp_path, errno.EISDIR),
        (Path("/dev/full"), errno.ENOSPC),
    ):
        with pytest.raises(OSError) as error, whole(path) as file:
            file.write(b"x")
        assert (error.value.errno, error.value.filename) == (number, str(path))
    assert not [*tmp_path.iterdir()]
