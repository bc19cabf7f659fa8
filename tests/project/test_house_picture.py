"""The house as scripts/house.py draws it: few parts and floors, nothing upwards, and the picture is this tree's."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import npu_layout as nl
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "house.py"))


@pytest.fixture(scope="module")
def house(script: dict[str, Any]) -> Any:
    """This one: 450 files are parsed."""
    return script["read"](Path(nl.__file__).parent)


def test_the_picture_is_of_this_tree(script: dict[str, Any], house: Any) -> None:
    assert script["PICTURE"].read_text(encoding="utf-8") == script["drawn"](house)


def test_few_parts_on_few_floors(house: Any) -> None:
    assert len(house.imports) <= 30 and max(house.floors.values()) < 13
    assert house.upwards == 0 and not house.circles
    assert {name for name in house.modules if "/" not in name} == {"__init__.py", "errors.py", "pytest_plugin.py"}
    assert not {name for name, lines in house.modules.items() if lines > 420}


def test_no_arrow_runs_behind_a_part(script: dict[str, Any], house: Any) -> None:
    drawing = script["Drawing"](house)
    assert len(drawing.chains) > 20
    for row in drawing.rows:
        edges = [(drawing.x[node], script["BOX_WIDTH"] / 2 if node in drawing.parts else 0) for node in row]
        assert all(a + half < b - other for (a, half), (b, other) in zip(edges, edges[1:])), row


def test_the_table_of_wings(house: Any) -> None:
    """It has every wing, with what the wing's front door says that it may import; no wing imports more."""
    page = (
        (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("\n| wing | its one idea | may import |\n")[2]
    )
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page.partition("\n\n")[0], re.M)
    assert {wing for wing, _ in rows} == {name.split("/")[0] for name in house.modules if "/" in name}
    for wing, may in rows:
        door = str(importlib.import_module(f"npu_layout.{wing}").__doc__).partition("\n\nImports ")[2]
        assert re.sub(r":mod:`npu_layout\.(\w+)`", r"\1", door).startswith(may), wing
        allowed = set(house.imports) if "every wing" in may else {*re.findall(r"\w+", may)}
        assert house.imports[wing] <= allowed | ({"errors"} if wing != "kernels" else set()), wing


def test_circles_and_floors_are_found(script: dict[str, Any], tmp_path: Path) -> None:
    package = tmp_path / "house"
    (package / "wing").mkdir(parents=True)
    for name, text in {
        "__init__": "from . import top",
        "top": "from .wing import thing\nfrom . import left",
        "left": "def f():\n    from .right import g",
        "right": "from npu_layout import kernels\nfrom house.left import f\nimport numpy",
        "wing/__init__": "from .inner import thing",
        "wing/inner": "import house.ground",
        "ground": "thing = 1",
    }.items():
        (package / f"{name}.py").write_text(text)
    house = script["read"](package)
    assert house.floors == {"ground": 0, "left": 0, "right": 0, "wing": 1, "top": 2, "__init__": 3}
    assert house.circles == [["left", "right"]] and house.upwards == 2
    assert ("__init__", "top") in set(script["needed"](house.imports))
