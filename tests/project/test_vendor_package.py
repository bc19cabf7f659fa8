"""A vendor's package outside this one, installed into a folder of its own: it adds itself by entry points."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.support import plugins
from tests.support.paths import ROOT, SAMPLES

SCRIPT = """
import json, sys, numpy as np, npu_layout as nl
from npu_layout import exchange
from npu_layout.testing import check_engine
assert nl.Layout.named("ACME16").tag == "NCHW16c" and nl.Layout.named("NC1HWC2", block=16)
spec = nl.specs.from_acme(dict(name="y", dims=[1, 3, 4, 4], scale=0.5, zero_point=1))
assert spec.layout.tag == "NCHW16c" and "from_acme" in dir(nl.specs) and nl.specs.from_rknn
with nl.open_engine("acme:model.acme") as engine:
    found = engine.infer(engine.input_specs[0].pack(np.ones((1, 3, 4, 4), np.float32)))
    assert (engine.output_specs[0].unpack(found["y"]) == 1).all()
assert len(check_engine(lambda: nl.open_engine("acme:model.acme"))) == 9
assert exchange.FORMS["acme"].help == "Acme's dumps" and {"raw", "acme"} <= set(exchange.FORMS)
print("added")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vendor")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "acme_npu.py"):
        (source / name).write_bytes((SAMPLES / "vendor_package" / name).read_bytes())
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder / "site")]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def ran(script: str, site: Path, at: Path) -> subprocess.CompletedProcess[str]:
    home = str(Path(nl.__file__).parent.parent)
    path = os.pathsep.join([str(site), home])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=at,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_it_is_short() -> None:
    lines = [(SAMPLES / "vendor_package" / name).read_text().splitlines() for name in ("acme_npu.py", "pyproject.toml")]
    assert all(len(part) <= 60 for part in lines)


def test_a_vendor_adds_itself(installed: Path, tmp_path: Path) -> None:
    tensor = dict(dims=[1, 3, 4, 4], scale=0.5, zero_point=1)
    model = {"inputs": [dict(tensor, name="x")], "outputs": [dict(tensor, name="y")]}
    (tmp_path / "model.acme").write_text(json.dumps(model))
    done = ran(SCRIPT, installed, tmp_path)
    assert done.stdout == "added\n", done.stderr


def test_without_it_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(nl.NpuLayoutError, match="no KIND:MODEL"):
        nl.open_engine("acme")
    with pytest.raises(AttributeError, match="from_acme"):
        nl.specs.from_acme  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(nl.LayoutError, match="unknown layout name 'ACME16'"):
        nl.Layout.named("ACME16")


def test_two_packages_with_one_name(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "site" / "other-1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[npu_layout.engines]\nacme = nowhere:Engine\nbroken = nowhere:Engine\n")
    script = (
        "import npu_layout as nl\ntry:\n    nl.open_engine({!r})\nexcept nl.NpuLayoutError as error:\n    print(error)"
    )
    both = os.pathsep.join([str(installed), str(tmp_path / "site")])
    found = ran(script.format("acme:m"), Path(both), tmp_path)
    assert "have the same name: uninstall one of the packages" in found.stdout, found.stderr
    (other / "entry_points.txt").write_text("[npu_layout.engines]\nbroken = nowhere:Engine\n")
    found = ran(script.format("broken:m"), tmp_path / "site", tmp_path)
    assert "(nowhere:Engine, package other) cannot be loaded: ModuleNotFoundError" in found.stdout, found.stderr


def test_the_librarys_own_are_entry_points_too() -> None:
    from npu_layout import specs
    from npu_layout.engines import registry
    from npu_layout.exchange import forms
    from npu_layout.layouts import vendor_names

    setup = configparser.ConfigParser(delimiters=("=",))
    setup.read(ROOT / "setup.cfg")
    listed = setup["options.entry_points"]
    tables = {
        "npu_layout.engines": registry.OWN,
        "npu_layout.specs": specs._OWN,
        "npu_layout.layout_names": vendor_names._OWN,
        "npu_layout.exchange": forms._OWN,
    }
    for group, own in tables.items():
        found = dict(line.split(" = ") for line in listed[group].strip().splitlines())
        assert found == own, group
        assert all(plugin.load() is not None for plugin in plugins(group, own).values())
