"""A recording's folder: nothing damaged loads as something else, and errors name file and field."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings import new_folder
from npu_layout.support import parse_npy
from tests.support.damage import damage, mutate
from tests.support.recorded import image, recorded, same


def test_headers_that_another_thread_spoils(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `ast` of CPython 3.11.7 does where several threads parse: here every second time, then always."""
    recorded(tmp_path / "run")
    np.save(tmp_path / "y.npy", frame := np.arange(48, dtype=np.int8))
    content = (tmp_path / "y.npy").read_bytes()
    calls, right = Counter[str](), ast.literal_eval

    def literal_eval(text: str) -> object:
        calls["all"] += 1
        if calls["all"] % 2 or calls["never"]:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=44)")
        return right(text)

    monkeypatch.setattr(ast, "literal_eval", literal_eval)
    recording = nl.Recording.load(tmp_path / "run")
    np.testing.assert_array_equal(recording.frames[2].inputs["image"], image(2))
    np.testing.assert_array_equal(parse_npy(content, "y.npy"), frame)
    assert calls["all"] >= 4
    calls["never"] = 1
    with pytest.raises(nl.RecordingError, match=r"frame-000001\.npz: SystemError: AST"):
        recording.frames[1]
    with pytest.raises(nl.RecordingError, match=r"y\.npy: SystemError: AST"):
        parse_npy(content, "y.npy")


def test_no_folder_is_written_over(tmp_path: Path) -> None:
    """Neither one that another writer makes meanwhile, nor a link that leads nowhere."""
    recorded(tmp_path / "run")
    recording = nl.Recording.load(tmp_path / "run")
    refused = pytest.raises(nl.RecordingError, match="two exists; a recording is never written over another")
    with refused, new_folder(tmp_path / "two") as partial:
        (partial / "slow").touch()
        recording.save(tmp_path / "two")
    assert same(nl.Recording.load(tmp_path / "two"), recording)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(nl.RecordingError, match="link exists"):
        recording.save(tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "run", "two"]


def changed(folder: Path, name: str) -> Path:
    shutil.copytree(folder, folder.parent / name, symlinks=True)
    return folder.parent / name


def test_the_error_names_the_damaged_file_and_field(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    about = (tmp_path / "run" / "recording.json").read_text()

    def rewrite(**fields: object) -> str:
        return json.dumps({**json.loads(about), **fields})

    def signed(**fields: object) -> str:
        """The description with other fields, and the sha256 that fits them."""
        words = {key: value for key, value in {**json.loads(about), **fields}.items() if key != "sha256"}
        text = json.dumps(words, sort_keys=True, separators=(",", ":"))
        return json.dumps({**words, "sha256": hashlib.sha256(text.encode()).hexdigest()})

    def cut(folder: Path) -> None:
        file = folder / "frame-000001.npz"
        file.write_bytes(file.read_bytes()[:-40])

    def swap(folder: Path) -> None:
        (folder / "frame-000001.npz").rename(folder / "x")
        (folder / "frame-000002.npz").rename(folder / "frame-000001.npz")
        (folder / "x").rename(folder / "frame-000002.npz")

    def foreign(folder: Path) -> None:
        recorded(folder.parent / "other")
        shutil.copy(folder.parent / "other" / "frame-000001.npz", folder)

    def link(folder: Path) -> None:
        (folder / "frame-000001.npz").rename(folder.parent / "outside.npz")
        (folder / "frame-000001.npz").symlink_to(folder.parent / "outside.npz")

    def inflate(folder: Path) -> None:
        file = folder / "frame-000000.npz"
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
            comment = archive.comment
        members["0.npy"] += bytes(1 << 20)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = comment
            for name, content in members.items():
                stored = zipfile.ZIP_STORED if name == "manifest.json" else zipfile.ZIP_DEFLATED
                archive.writestr(name, content, stored)

    cases = {
        "cut": (cut, "frame-000001.npz"),
        "swap": (swap, "frame-000001.npz: frame 2, expected 1"),
        "foreign": (foreign, "frame-000001.npz: recording"),
        "link": (link, "frame-000001.npz: expected a file of its own, got a link"),
        "inflate": (inflate, "frame-000000.npz: input 'image': .* expected 192 and a header"),
        "gone": (lambda f: (f / "frame-000001.npz").unlink(), "frame-000001.npz is missing"),
        "last": (lambda f: (f / "frame-000002.npz").unlink(), "there are 2 frames; recording.json notes 3"),
        "empty": (lambda f: (f / "frame-000000.npz").write_bytes(b""), "frame-000000.npz"),
        "format": (
            lambda f: (f / "recording.json").write_text(rewrite(format=9)),
            "format 9; this version reads 1; npu_layout '.*' wrote it: read it with",
        ),
        "old": (
            lambda f: (f / "recording.json").write_text(rewrite(format=9, meta={"versions": 3})),
            "format 9; this version reads 1$",
        ),
        "meta": (
            lambda f: (f / "recording.json").write_text(rewrite(meta={})),
            "sha256 does not fit .*: correct the specs and the",
        ),
        "fields": (
            lambda f: (f / "recording.json").write_text(signed(more=1)),
            "expected the fields format, frames, id, meta, specs, and a text as id; got format, .*, more, specs",
        ),
        "json": (lambda f: (f / "recording.json").write_text(about[:-9]), "not JSON"),
        "deep": (lambda f: (f / "recording.json").write_text("[" * 10**6), "recording.json"),
        "none": (
            lambda f: (f / "recording.json").unlink(),
            "expected a recording, got a folder without recording.json; npu-layout import",
        ),
    }
    for name, (spoil, says) in cases.items():
        folder = changed(tmp_path / "run", name)
        spoil(folder)
        with pytest.raises(nl.RecordingError, match=says):
            nl.Recording.load(folder)
    with pytest.raises(nl.RecordingError, match="expected a recording's folder, got nothing"):
        nl.Recording.load(tmp_path / "never")
    with pytest.raises(nl.RecordingError, match="expected a recording's folder, got nothing"):
        nl.Recording.load(tmp_path / ("n" * 300))  # more than a file system takes
    assert len(nl.Recording.load(tmp_path / "run")) == 3


def mutations(tmp_path: Path, seed: int, count: int) -> Counter[str]:
    """How many came to each file, and how many were refused. A file's bytes, its JSON, or the file itself."""
    recorded(tmp_path / "run", frames=2)
    original = nl.Recording.load(tmp_path / "run")
    original = nl.Recording(original.specs, list(original), original.meta)
    outside, victim = tmp_path / "outside", tmp_path / "victim"
    outside.write_bytes(bytes(64))
    rng, found = random.Random(seed), Counter[str]()
    for _ in range(count):
        shutil.copytree(tmp_path / "run", victim)
        file = rng.choice(sorted(victim.iterdir()))
        done = f"bytes {file.name}"
        if rng.random() < 0.5:
            file.write_bytes(mutate(rng, file.read_bytes()))
        else:
            done = damage(rng, victim, outside)
        found[done.split()[1]] += 1
        try:
            assert same(nl.Recording.load(victim), original), f"{done}: it loaded, and it is another"
        except nl.RecordingError as error:
            assert str(victim) in str(error), done
            found["refused"] += 1
        shutil.rmtree(victim)
    assert {path.name for path in (tmp_path / "run").iterdir()} == set(found) - {"refused"}
    return found


def test_the_error_for_a_git_lfs_pointer_names_what_fetches_the_file(tmp_path: Path) -> None:
    """As on a machine of a CI whose checkout has no LFS."""
    for name in ("recording.json", "frame-000001.npz"):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        recorded(tmp_path / "run")
        (tmp_path / "run" / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n")
        with pytest.raises(nl.RecordingError, match=rf"{name}: .*; it is a pointer of Git LFS .*: git lfs pull$"):
            nl.Recording.load(tmp_path / "run")


def test_no_mutation_loads_as_something_else(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    assert mutations(tmp_path, 1, 400)["refused"] > 300
    ran(400, "mutations of a recording")


@pytest.mark.slow
def test_ten_thousand_mutations(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    assert mutations(tmp_path, 2, 10_000)["refused"] > 8000
    ran(10_000, "mutations of a recording")
