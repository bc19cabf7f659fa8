"""A reader of a room knows its test: that of npu_layout/WING/ROOM.py is tests/WING/test_ROOM.py, in a part as well."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import npu_layout as nl
from tests.conftest import ONCE, suffices_once
from tests.support.paths import ROOT, TESTS

HOUSE = Path(nl.__file__).parent


class Exempt(NamedTuple):
    """Rooms, as a pattern of their paths, that are tested elsewhere: the test, and why. {room}: the room's name."""

    rooms: str
    tests: tuple[str, ...]
    why: str


EXEMPT = (
    Exempt(
        r"bench/peers/\w+",
        ("bench/test_peers.py",),
        "each peer is a library's call in a few lines: one test compares the results of all of them",
    ),
    Exempt(
        r"engines/(executorch|mnn|openvino|qnn)",
        ("engines/test_runtimes.py",),
        "each needs a package that few machines have: one test runs those whose package is installed",
    ),
    Exempt(
        r"kernels/fallback/\w+",
        ("kernels/test_fallback_{room}.py", "kernels/test_{room}.py"),
        "one more backend: the kernel's test compares all of them, or a test of its own has what is numpy's",
    ),
)


def rooms() -> list[str]:
    """WING/ROOM of every module of a wing, without doors."""
    paths = (path.relative_to(HOUSE).with_suffix("").as_posix() for path in sorted(HOUSE.rglob("*.py")))
    return [path for path in paths if "/" in path and not path.endswith("/__init__")]


def own(room: str) -> str:
    wing, _, name = room.rpartition("/")
    return f"{wing}/test_{name}.py"


def exemption(room: str) -> Exempt | None:
    return next((exempt for exempt in EXEMPT if re.fullmatch(exempt.rooms, room)), None)


def test_each_room_has_its_test() -> None:
    found, missing = rooms(), []
    for room in found:
        exempt = exemption(room)
        tests = [own(room)] if exempt is None else [t.format(room=room.rpartition("/")[2]) for t in exempt.tests]
        if not any((ROOT / "tests" / test).exists() for test in tests):
            missing.append(f"npu_layout/{room}.py: tests/{' or tests/'.join(tests)}")
    assert not missing, "rooms without their test:\n" + "\n".join(missing)
    assert len(found) > 200


def test_exemptions_are_needed() -> None:
    """Each is of some room, and of none that has a test of its own."""
    for exempt in EXEMPT:
        of = [room for room in rooms() if re.fullmatch(exempt.rooms, room)]
        assert of and exempt.why, exempt.rooms
        assert not [room for room in of if (ROOT / "tests" / own(room)).exists()], f"{exempt.rooms}: no longer exempt"


def test_engines_are_in_the_test_that_stands_for_theirs() -> None:
    text = (ROOT / "tests" / "engines" / "test_runtimes.py").read_text(encoding="utf-8")
    for room in rooms():
        if exemption(room) is EXEMPT[1]:
            assert f"def test_{room.rpartition('/')[2]}" in text, f"{room} is not run by tests/engines/test_runtimes.py"


def test_contributing_names_the_exemptions() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for exempt in EXEMPT:
        assert all(Path(test.replace("{room}", "ROOM")).name in text for test in exempt.tests), exempt.rooms


LARGE = 40  # rooms; a folder that has more is divided into parts


def test_no_folder_is_a_corridor() -> None:
    found: dict[str, int] = {}
    for room in rooms():
        found[room.rpartition("/")[0]] = found.get(room.rpartition("/")[0], 0) + 1
    assert len(found) > 30 and max(found.values()) <= LARGE, found


def test_what_runs_once_asks_no_kernels() -> None:
    """Those wings that the contract keeps from the kernels, and the tree; what runs twice of them is there."""
    setup, here = configparser.ConfigParser(), Path(__file__)
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    apart = setup["importlinter:contract:ask"]["source_modules"].split()
    for folder, twice in ONCE.items():
        assert folder == "project" or f"npu_layout.{folder}" in apart, folder
        assert all((TESTS / folder / name).is_file() for name in twice), twice
        once = [path for path in (TESTS / folder).rglob("test_*.py") if path.name not in twice and path != here]
        assert not [path for path in once if "kernels.activ" in path.read_text("utf-8")]
    assert not any(suffices_once(TESTS / folder) for folder in ("diagnosis", "diagnosis/stored", "project"))
    assert suffices_once(here) and suffices_once(TESTS / "diagnosis" / "stored" / "test_scales.py")
    assert not any(
        map(suffices_once, (TESTS / "kernels" / "test_sums.py", HOUSE / "diagnosis" / "verdicts" / "verdict.py"))
    )
    assert not suffices_once(TESTS / "diagnosis" / "test_threads.py") and not suffices_once(TESTS / "test_errors.py")


def test_marked_tests_run_once(pytester: pytest.Pytester) -> None:
    """In the second half a marked test is left out, its neighbour is not."""
    pytester.makeini("[pytest]\nmarkers = once\n slow\n alone\n")
    pytester.makepyfile("import pytest\n@pytest.mark.once\ndef test_a(): pass\ndef test_b(): pass")
    plain = ("-p", "no:cacheprovider", "--noconftest", "-p", "tests.conftest")
    pytester.runpytest(*plain).assert_outcomes(passed=2)
    pytester.runpytest(*plain, "--second-half").assert_outcomes(passed=1, deselected=1)
