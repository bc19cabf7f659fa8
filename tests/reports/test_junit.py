"""JUnit's XML, as a build server reads it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import npu_layout as nl
from npu_layout.reports.junit import write_junit
from tests.support.boards import Board
from tests.support.pages import HOSTILE, nhwc


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_cases(board: Board, tmp_path: Path) -> None:
    good = nl.validate(board.recording(), board.engine)
    wrong = nl.validate(nhwc(board), board.engine)
    empty = nl.validate(nl.Recording({"maps": board.spec}, []), board.engine)
    reports = nl.Reports({"good": good, "wrong": wrong, "empty": empty, HOSTILE: HOSTILE})
    write_junit(reports, tmp_path / "junit.xml", f"npu-layout {HOSTILE}")
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get(k) for k in ("tests", "failures", "errors")] == ["6", "1", "2"]
    failure = suite.find("testcase[@classname='wrong'][@name='maps']/failure")
    why = wrong.outputs["maps"].why
    assert failure is not None and failure.get("message") == f"layout: {why}" and why in str(failure.text)
    errors = [case.get("classname") for case in suite.iter("testcase") if case.find("error") is not None]
    plain = HOSTILE.translate({0: "\ufffd", 0x1B: "\ufffd", 0xD800: "\ufffd"})
    assert errors == ["empty", plain] and suite.find("properties/property").get("value") == f"npu-layout {plain}"
