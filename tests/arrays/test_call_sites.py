"""The line that called, through libraries too."""

from __future__ import annotations

import importlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.arrays.call_sites import call_site, owner_of
from tests.support.tensors import tensor
from tests.support.tracked import SHAPE


def test_the_users_line_is_named_even_through_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "some_library.py").write_text("import numpy as np\n\ndef load(x):\n    return np.ascontiguousarray(x)\n")
    monkeypatch.syspath_prepend(str(folder))
    library = importlib.import_module("some_library")
    x = tensor(SHAPE, "NHWC")
    with nl.track_layout() as report:
        library.load(x)
        np.testing.assert_array_equal(x, x)
        np.apply_along_axis(lambda row: row + 1, 0, x)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(np.ascontiguousarray, x).result()
    del sys.modules["some_library"]
    calls = [call for call in report.calls if call.call == "np.ascontiguousarray(x)"]
    assert calls[0].file == __file__ and calls[0].within == f"{folder / 'some_library.py'}:4"
    assert calls[1].file.endswith("thread.py") and not calls[1].within
    assert all(call.file == __file__ for call in report.calls if call != calls[1])


def test_who_owns_a_file() -> None:
    package = Path(nl.__file__).parent
    owners = {
        package / "arrays" / "tensor.py": "ours",
        package / "some" / "new_wing" / "room.py": "ours",
        package.parent / "npu_layout_of_mine" / "x.py": "library" if "site-packages" in package.parts else "user",
        Path(np.__file__).parent / "lib" / "x.py": "numpy",
        Path(json.__file__): "library",
        Path("/somewhere/site-packages/x.py"): "library",
        Path("/somewhere/else/x.py"): "user",
    }
    for file, owner in owners.items():
        assert owner_of(str(file)) == owner, file
    assert owner_of("<__array_function__ internals>") == owner_of("<frozen importlib>") == "numpy"
    assert owner_of("<stdin>") == "user"


def test_every_module_of_the_library_is_ours() -> None:
    """Wherever it is: the folder is the package's, not one that is counted from a module."""
    files = list(Path(nl.__file__).parent.rglob("*.py"))
    assert len(files) > 50 and {owner_of(str(file)) for file in files} == {"ours"}


def test_the_line_of_a_call() -> None:
    file, line, within = call_site(sys._getframe()) or ("", 0, "")
    assert (file, within) == (__file__, "")
    assert "call_site(sys._getframe())" in Path(file).read_text().splitlines()[line - 1]
    assert call_site(None) is None
