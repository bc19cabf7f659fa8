"""Files of other tools, read without trust: nothing outside the folder, nothing of another size, no key twice."""

from __future__ import annotations

import copy
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.exchange.foreign_files import existing, home_of, imported, natural, plain_spec, read_bytes, read_json
from npu_layout.recordings import Frame


def test_files_are_read_from_their_folder_alone(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside.bin"
    home.mkdir()
    outside.write_bytes(b"secret")
    (home / "a.bin").write_bytes(b"1234")
    (home / "inner").symlink_to(home / "a.bin")
    (home / "outer").symlink_to(outside)
    assert read_bytes(home / "a.bin", home) == read_bytes(home / "inner", home) == b"1234"
    assert read_bytes(home / "a.bin", home, expected=(4, "a tensor")) == b"1234"
    for file, more, says in (
        ("outer", {}, "outer: leaves the folder"),
        ("../outside.bin", {}, "leaves the folder"),
        ("never", {}, "never: expected a file, got nothing"),
        (".", {}, "expected a file, got another kind"),
        ("a.bin", {"expected": (5, "heat")}, "a.bin: 4 bytes; expected 5 for heat"),
        ("never", {"where": "output 'y'"}, "output 'y': expected a file"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            read_bytes(home / file, home, **more)


def test_paths_that_are_there(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "link").symlink_to(file)
    assert existing(str(file)) == file and home_of(tmp_path) == tmp_path
    assert home_of(file) == home_of(tmp_path / "deep" / "link") == tmp_path.resolve()
    with pytest.raises(nl.RecordingError, match="/dev/null: expected a file or a folder, got another kind"):
        existing("/dev/null")
    for wrong in (tmp_path / "never", "a\0b", 3):
        with pytest.raises(nl.RecordingError):
            existing(wrong)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1, "a": 2}', "a key is there twice among a, a"),
        ('{"x": [{"b": 1, "c": 3, "b": 1}]}', "a key is there twice among b, b, c"),
        ("[1", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\x80", "not JSON|expected|{"),
    ],
)
def test_json_that_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(text.encode("latin1"))
    with pytest.raises(nl.RecordingError, match=rf"a\.json: .*({says})"):
        read_json(file, tmp_path)
    file.write_text('{"a": [1, {"b": null}]}')
    assert read_json(file, tmp_path) == {"a": [1, {"b": None}]}


def test_numbers_in_names_are_sorted_by_value() -> None:
    names = ["f1", "f2", "f010", "f10", "f10b", "g0"]
    mixed = names[:]
    random.Random(0).shuffle(mixed)
    assert sorted(mixed, key=natural) == names
    assert natural("frame2") < natural("frame10") and "frame2" > "frame10"


def test_a_tensor_as_it_is() -> None:
    spec = plain_spec(np.zeros((2, 3, 4, 5), np.int8), "y")
    assert (spec.shape, spec.dtype, str(spec.layout), spec.name, spec.size) == ((2, 3, 4, 5), "int8", "NCHW", "y", 120)
    assert plain_spec(np.float32(3), "s").shape == (1,)


def test_an_import_reads_when_it_is_asked() -> None:
    """Column order becomes C order, specs come from the first run, and one unlike it is refused."""
    arrays = [np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3) + k) for k in range(4)]
    reads = []

    def read(i: int) -> Frame:
        reads.append(i)
        return Frame({"x": np.ones(2)}, {"y": arrays[i]})

    recording = imported(3, read, "run {}".format, None, {"source": {"form": "own"}})
    reads.clear()
    got = recording.frames[2].outputs["y"]
    assert reads == [2] and got.flags.c_contiguous and got.tolist() == arrays[2].tolist()
    assert recording.specs == {"y": nl.TensorSpec((2, 3), "NC", name="y")}
    assert recording.meta == {"source": {"form": "own"}}
    arrays[1] = arrays[1].astype(np.float64)
    with pytest.raises(
        nl.RecordingError, match=r"run 1: output 'y' is float64 of \(2, 3\); in the first frame it is f"
    ):
        recording.frames[1]
    with pytest.raises(nl.RecordingError, match="there are no frames"):
        imported(0, read, str, None, {})
    with pytest.raises(nl.RecordingError, match="specs: run 0 has no 'z'; it has x, y"):
        imported(1, read, "run {}".format, {"z": nl.TensorSpec((1,), "A")}, {})


def test_a_recording_whose_runs_a_function_reads_is_pickled_with_them() -> None:
    """As for another process, which has no such function; a deep copy reads nothing."""
    read: list[int] = []

    def run(i: int) -> Frame:
        read.append(i)
        return Frame({"x": np.full((1, 3), i)}, {"y": np.full((1, 2), i, np.float32)})

    recording = imported(3, run, lambda i: f"run {i}", None, {})
    read.clear()
    deep = copy.deepcopy(recording)
    assert read == []
    for other in (deep, pickle.loads(pickle.dumps(recording))):
        assert other.specs == recording.specs and [f.outputs["y"][0, 0] for f in other.frames] == [0, 1, 2]
