"""Names that are imported at their first use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from npu_layout.support import late


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with two modules; one name is its own module."""
    folder = tmp_path / "late_example"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from npu_layout.support import late\n"
        "early = 1\n"
        "__getattr__, __dir__ = late(__name__, {'number': 'slow', 'other': 'other'})\n"
    )
    (folder / "slow.py").write_text("number = 42\n")
    (folder / "other.py").write_text("number = 43\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_example"
    for name in [name for name in sys.modules if name.split(".")[0] == "late_example"]:
        del sys.modules[name]


def test_a_name_is_imported_at_its_first_use(package: str) -> None:
    module = __import__(package)
    dunders = {name for name in vars(module) if name.startswith("__")}
    assert dir(module) == sorted({*vars(module), "number", "other"} | dunders)
    module.__all__ = ["early", "number"]
    assert dir(module) == sorted({"early", "number", "__all__"} | dunders) and f"{package}.slow" not in sys.modules
    assert module.number == 42 and f"{package}.slow" in sys.modules and f"{package}.other" not in sys.modules
    assert vars(module)["number"] == 42, "the next use asks the package alone"
    assert module.other is sys.modules[f"{package}.other"] and module.other.number == 43


def test_an_unknown_name(package: str) -> None:
    module = __import__(package)
    with pytest.raises(AttributeError, match="module 'late_example' has no attribute 'none'"):
        _ = module.none
    with pytest.raises(ImportError, match="cannot import name 'none'"):
        exec(f"from {package} import none")


def test_functions_of_a_package_that_is_loaded() -> None:
    get, names = late("npu_layout.support", {"whole_numbers": "number_arguments"})
    assert get("whole_numbers") is sys.modules["npu_layout.support.number_arguments"].whole_numbers
    assert {"whole_numbers", "late", "__version__"} <= {*names()}


def test_what_others_call_a_name() -> None:
    get, _ = late("npu_layout.support", {}, {"lazy": "late"})
    for name, says in (("lazy", r"no attribute 'lazy'\. Is it late\?"), ("other", "no attribute 'other'$")):
        with pytest.raises(AttributeError, match=says):
            get(name)


def test_names_of_the_wings_are_not_at_the_top() -> None:
    import npu_layout as nl

    for name, same in (("Decoder", "decode.Decoder"), ("Stream", "streams.Stream"), ("from_rknn", "specs.from_rknn")):
        wing, _, last = same.partition(".")
        assert hasattr(getattr(nl, wing), last)
        with pytest.raises(AttributeError, match=rf"^module 'npu_layout' has no attribute '{name}'\. Is it {same}\?$"):
            getattr(nl, name)
