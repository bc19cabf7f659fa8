"""The version is one, for the package, its metadata and the command line."""

from __future__ import annotations

import re
from configparser import ConfigParser
from importlib import metadata

import pytest

import npu_layout as nl
from npu_layout.support import version
from tests.support.command_line import ran
from tests.support.paths import ROOT


def test_one_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert nl.__version__ is version.__version__ and re.fullmatch(r"\d+\.\d+\.\d+", version.__version__)
    assert metadata.version("npu_layout") == version.__version__
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert config["metadata"]["version"] == f"attr: {version.__name__}.__version__"
    with pytest.raises(SystemExit):
        ran(capsys, "--version")
    assert capsys.readouterr().out.startswith(f"npu_layout {version.__version__}, kernels ")
