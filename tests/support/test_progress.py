"""Progress: the items pass unchanged; a bar or a line on stderr only if it is wanted."""

from __future__ import annotations

import sys

import pytest

from npu_layout.support import Steps, steps, track


def test_nothing_is_written_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (None, False):  # stderr is no terminal here
        assert [*track(iter("abc"), 3, "letters", show)] == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert [*track("ab", 2, "letters")] == ["a", "b"]
    assert capsys.readouterr().err == "\rletters: 0 of 2\rletters: 1 of 2\rletters: 2 of 2\n"


def test_the_line_counts_what_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    seen = []
    for item in track(range(2), 2, "numbers", show=True):
        seen.append((item, capsys.readouterr().err))
    assert seen == [(0, "\rnumbers: 0 of 2"), (1, "\rnumbers: 1 of 2")]
    assert capsys.readouterr() == ("", "\rnumbers: 2 of 2\n")


def test_with_rich(capsys: pytest.CaptureFixture[str]) -> None:
    import rich  # noqa: F401

    assert [*track(range(3), 3, "numbers", show=True)] == [0, 1, 2]
    assert capsys.readouterr().out == ""  # stdout is for results


def test_words_change_with_what_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with steps(2, "looking", show=True) as shown:
        shown.say("looking: layouts")
        shown.say("looking: layouts")  # which is shown already
        shown.done()
        shown.say("looking")
        shown.done()
    lines = capsys.readouterr().err.split("\r")[1:]
    assert lines == [
        "looking: 0 of 2",
        "looking: layouts: 0 of 2",
        "looking: layouts: 1 of 2",
        "looking: 1 of 2" + 9 * " ",  # which covers what was longer
        "looking: 2 of 2\n",
    ]


def test_more_to_do_than_was_known(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.progress

    totals = []
    update = rich.progress.Progress.update
    monkeypatch.setattr(
        rich.progress.Progress, "update", lambda self, task, **new: totals.append(new) or update(self, task, **new)
    )
    with steps(2, "looking", show=True) as shown:
        shown.more(3)
        shown.more(1)
    assert totals == [{"total": 5}, {"total": 6}]
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with steps(1, "looking", show=True) as shown:
        shown.done()
        shown.more(0)
        shown.more(2)
        shown.done()
    assert capsys.readouterr().err.split("\r")[1:] == [
        "looking: 0 of 1",
        "looking: 1 of 1",
        "looking: 1 of 3",
        "looking: 2 of 3\n",
    ]
    with steps(1, "looking", show=False) as shown:
        shown.more(2)


def test_an_error_leaves_the_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ValueError, match="why"), steps(2, "looking", show=True):
        raise ValueError("why")
    assert capsys.readouterr().err == "\rlooking: 0 of 2\n"


def test_words_for_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (None, False):
        with steps(2, "looking", show) as shown:
            assert type(shown) is Steps
            shown.say("layouts")
            shown.done()
    assert capsys.readouterr() == ("", "")


def test_words_in_richs_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in brackets is no markup; nothing is left of the bar."""
    import rich.progress

    described = []
    update = rich.progress.Progress.update
    monkeypatch.setattr(
        rich.progress.Progress, "update", lambda self, task, **new: described.append(new) or update(self, task, **new)
    )
    with steps(2, "looking", show=True) as shown:
        shown.say("layouts of '[red]p4'")
    assert described == [{"description": "layouts of '\\[red]p4'"}] and capsys.readouterr().out == ""
