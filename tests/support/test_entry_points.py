"""Entry points of made-up packages: found, named where they fail, and refused if two have one name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npu_layout import NpuLayoutError
from npu_layout.support import entry_points
from npu_layout.support.entry_points import Plugin, plugin, plugins

GROUP = "npu_layout.tests"
OWN = {"own": "json:dumps"}
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Write the metadata of a package, with the lines of its group, to a folder of sys.path."""
    monkeypatch.syspath_prepend(tmp_path)
    entry_points._installed.cache_clear()

    def made(package: str, *lines: str, group: str = GROUP, metadata: str | None = None) -> Path:
        folder = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        text = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n" if metadata is None else metadata
        (folder / "METADATA").write_text(text, encoding="utf-8")
        (folder / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]), encoding="utf-8")
        return folder

    yield made
    entry_points._installed.cache_clear()


def test_own_and_others(install: Install) -> None:
    install("Acme.NPU", "acme = acme_npu:Engine", "second = acme_npu:Other.Inner")
    install("elsewhere", "acme = other:thing", group="npu_layout.others")
    found = plugins(GROUP, OWN)
    assert list(found) == ["own", "acme", "second"]  # the library's own are first
    assert found["own"] == Plugin(GROUP, "own", "json:dumps", "npu-layout")
    assert found["acme"] == Plugin(GROUP, "acme", "acme_npu:Engine", "acme-npu")
    assert plugin(GROUP, OWN, "second") == found["second"] and plugin(GROUP, OWN, "third") is None
    assert set(plugins("npu_layout.nobody", {})) == set()


def test_a_name_of_the_librarys_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(group: str) -> None:
        raise AssertionError(f"installed packages were searched for {group}")

    monkeypatch.setattr(entry_points, "_installed", searched)
    assert plugin(GROUP, OWN, "own") == Plugin(GROUP, "own", "json:dumps", "npu-layout")
    with pytest.raises(AssertionError, match="searched"):
        plugin(GROUP, OWN, "acme")


def test_another_version_of_the_library_is_not_listed(install: Install) -> None:
    install("npu_layout", "own = json:loads", "older = json:loads")
    assert list(plugins(GROUP, OWN)) == ["own"]


def test_what_is_installed_twice_is_one(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One package in two folders of sys.path, as with a user's site."""
    install("acme", "acme = acme_npu:Engine")
    second = tmp_path / "second"
    second.mkdir()
    copy = second / "acme-1.0.dist-info"
    copy.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (copy / name).write_bytes((tmp_path / "acme-1.0.dist-info" / name).read_bytes())
    monkeypatch.syspath_prepend(second)
    entry_points._installed.cache_clear()
    assert list(plugins(GROUP, {})) == ["acme"]


def test_one_name_of_two_packages_is_refused(install: Install) -> None:
    install("acme", "own = acme_npu:Engine")
    with pytest.raises(NpuLayoutError) as raised:
        plugins(GROUP, OWN)
    for part in ("'own' of npu_layout.tests", "(json:dumps, package npu-layout)", "(acme_npu:Engine, package acme)"):
        assert part in str(raised.value)
    assert str(raised.value).endswith("have the same name: uninstall one of the packages")


def test_damaged_metadata_has_no_name(install: Install) -> None:
    install("broken", "acme = acme_npu:Engine", metadata="")
    assert plugins(GROUP, {})["acme"].package == ""


def test_load(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_npu_of_tests.py").write_text("class Engine:\n    class Inner:\n        kind = 'inner'\n")
    monkeypatch.delitem(sys.modules, "acme_npu_of_tests", raising=False)
    install(
        "acme",
        "module = acme_npu_of_tests",
        "inner = acme_npu_of_tests:Engine.Inner",
        "lost = acme_npu_of_tests:Engine.Lost",
        "nowhere = no_such_module_of_tests:Engine",
    )
    found = plugins(GROUP, OWN)
    assert found["module"].load().Engine.Inner is found["inner"].load() and found["inner"].load().kind == "inner"
    assert found["own"].load()([1]) == "[1]"
    for name, reason in (("lost", "AttributeError: "), ("nowhere", "ModuleNotFoundError: No module named")):
        with pytest.raises(NpuLayoutError) as raised:
            found[name].load()
        text = str(raised.value)
        assert text.startswith(f"entry point '{name}' of npu_layout.tests (") and "package acme) cannot be" in text
        assert reason in text and text.endswith("Repair or uninstall the package")
        assert raised.value.__cause__ is not None


def test_whatever_a_package_raises_is_named(install: Install, tmp_path: Path) -> None:
    (tmp_path / "raises_of_tests.py").write_text("raise RuntimeError('no licence')\n")
    install("acme", "acme = raises_of_tests:Engine")
    with pytest.raises(NpuLayoutError, match="package acme\\) cannot be loaded: RuntimeError: no licence"):
        plugins(GROUP, {})["acme"].load()
