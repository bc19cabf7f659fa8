"""The report's page: what is on it, that nothing in a recording can do harm there, and how it looks in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.reports.page import MEANINGS
from npu_layout.reports.report import VERDICTS
from tests.support.boards import PRE, Board
from tests.support.browser import Browser
from tests.support.pages import HOSTILE, Page, alike, nhwc, read


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_the_preprocessing_can_be_pasted(board: Board, tmp_path: Path) -> None:
    declared = {**board.preprocessor.arguments, "scaleup": False}
    page = read(replace(nl.validate(nhwc(board), board.engine), meta={"preprocess": declared}), tmp_path)
    found = re.search(r"resize=.*scaleup=(False|false)", page.text)
    assert found is not None and eval(f"dict({found[0]})") == declared


def test_a_layout_fault(board: Board, tmp_path: Path) -> None:
    report = nl.validate(nhwc(board), board.engine)
    page = read(report, tmp_path)
    output = report.outputs["maps"]
    assert page.headings[0] == (1, "\u2717Verdict: layout") and output.why in page.text
    assert [h for h in page.headings if h[0] == 2] == [(2, "input image"), (2, "maps")]
    assert nl.__version__ in page.text and nl.kernels.active() in page.text and "letterbox" in page.text
    names: dict[str, Any] = {"buffer": report.outputs["maps"].exhibit.buffer}
    exec(page.codes[0], names)
    assert names["spec"] == output.fix and np.abs(names["tensor"] - output.exhibit.reference).max() < 0.1
    assert not any("validate(recording, model, " in code for code in page.codes), "no tolerance should hide a fault"
    assert output.passing and "would pass" not in str(output)
    assert "at least 10: \u2717 not met" in page.text and "The next 7 of 19 channels" in page.text

    sheet = page.sheet()
    assert len(sheet) == 5
    (model,) = (image for alt, image in sheet.items() if ". The model, " in alt)
    (fix,) = (image for alt, image in sheet.items() if ". The fix: " in alt)
    (declared,) = (image for alt, image in sheet.items() if ". As declared: " in alt)
    wrong = [image for alt, image in sheet.items() if ". Layout: " in alt]
    assert len(wrong) == 2 and alike(model, fix) > 0.99
    assert all(alike(model, image) < 0.7 for image in (declared, *wrong)), [alike(model, w) for w in (declared, *wrong)]


def test_a_match(board: Board, tmp_path: Path) -> None:
    report = nl.validate(board.recording(), board.engine)
    page = read(report, tmp_path)
    assert page.headings[0][1] == "\u2713Verdict: match" and (3, "The fix") not in page.headings
    assert {"Figures", "Error over channels", "Error over positions", "Histograms of both sides", "Explanations"} <= {
        text for _, text in page.headings
    }
    first, second, *others = page.sheet().values()
    assert alike(first, second) > 0.99 and len(others) == 3 and all(alike(first, o) < 0.7 for o in others)
    strict = report.outputs["maps"].passing
    assert f"validate(recording, model, min_snr_db={strict['min_snr_db']:.6g}" in page.codes[0]
    for name, value in strict.items():  # what is printed passes, too
        assert nl.validate(board.recording(), board.engine, **{name: float(f"{value:.6g}")})


def test_outputs_exchanged(tmp_path: Path) -> None:
    board = Board(outputs=("a", "b"))
    outputs = [{"a": board.spec.pack(x["b"]), "b": board.spec.pack(x["a"])} for x in board.answers]
    report = nl.validate(board.recording(None, outputs), board.engine)
    page = read(report, tmp_path)
    names: dict[str, Any] = {"outputs": {"a": 1, "b": 2}}
    exec(page.codes[0], names)
    assert names["outputs"] == {"b": 1, "a": 2}
    assert "No match: 2 of 2 outputs (a, b)" in page.text and page.links == ["#output-0", "#output-1"]


def test_the_banner_names_some_of_many_outputs(board: Board, tmp_path: Path) -> None:
    """A mark of direction in a name ends with it."""
    report = nl.validate(nhwc(board), board.engine)
    wrong, names = report.outputs["maps"], ["\u202egnitset", *(f"output{i}" for i in range(30))]
    page = read(replace(report, outputs={n: replace(wrong, name=n, exhibit=None) for n in names}), tmp_path)
    assert "No match: 31 of 31 outputs (\u2068\u202egnitset\u2069, output0, " in page.text
    assert "output10, ...)" in page.text and "output11, ...)" not in page.text


def test_the_banner_says_that_detections_differ(board: Board, tmp_path: Path) -> None:
    """Of outputs that match, it does not say that they are not the model's."""
    other = nl.decode.Comparison((), (0,), (), (), (), (), (), (), (), (), 0.0, 0.0)
    page = read(replace(nl.validate(board.recording(), board.engine), detections={3: other}), tmp_path)
    assert page.headings[0][1] == "\u2717Verdict: mismatch" and "The detections are not the model's." in page.text
    assert MEANINGS["mismatch"] not in page.text and "frame 3: 0 matched, 1 missing" in page.text


def test_a_long_note_has_the_width_of_the_page(board: Board, tmp_path: Path) -> None:
    for note, rows in (("short", 0), ("word " * 100, 1)):
        read(nl.validate(board.recording(note=note), board.engine), tmp_path)
        assert (tmp_path / "report.html").read_text("utf-8").count('class="long"') == rows


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict(board: Board, tmp_path: Path, verdict: str) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = replace(report.outputs["maps"], verdict=verdict, fix=None)
    page = read(replace(report, outputs={"maps": output}), tmp_path)
    sign = {"match": "\u2713", "ambiguous": "?"}.get(verdict, "\u2717")
    assert page.headings[0][1] == f"{sign}Verdict: {verdict.replace('_', ' ')}" and MEANINGS[verdict] in page.text
    assert (3, "The fix") not in page.headings


def test_hostile_names(board: Board, tmp_path: Path) -> None:
    good = nl.validate(nhwc(board), board.engine)
    output = good.outputs["maps"]
    fix = nl.TensorSpec.from_dict({**output.fix.to_dict(), "name": HOSTILE + ", quantization="})
    ranking = [e._replace(text=f"{i}{HOSTILE}") for i, e in enumerate(output.ranking)]
    output = replace(output, name=HOSTILE, against=HOSTILE + "2", fix=fix, why=HOSTILE, ranking=ranking, spec=fix)
    meta = {"preprocess": {HOSTILE: HOSTILE}, "note": HOSTILE, HOSTILE: [HOSTILE]}
    outputs = {HOSTILE: output, "x": replace(output, verdict="output_order", fix={HOSTILE: HOSTILE})}
    path = tmp_path / "report.html"
    replace(good, outputs=outputs, model=HOSTILE, note=HOSTILE, meta=meta).to_html(path)
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert "<script>alert(1)</script>" in page.text and "\ufffd" in page.text
    assert "<script" not in html and "onerror=alert(2)>" not in html and html.count("</style>") == 1
    assert not re.search("[\x00-\x08\x0e-\x1f\ud800-\udfff]", html)
    names: dict[str, Any] = {"buffer": output.exhibit.buffer}
    exec(page.codes[0], names)
    assert names["spec"] == fix
    exec(page.codes[1], {"outputs": {}})
    assert nl.validate(nl.Recording({"x" * 500: board.spec}, [], {"a": HOSTILE}), board.engine).frames == 0


def test_nothing_compared(board: Board, tmp_path: Path) -> None:
    page = read(nl.validate(nl.Recording({"maps": board.spec}, []), board.engine), tmp_path)
    assert "Nothing was compared." in page.text and "the recording has no frames" in page.text
    assert page.headings[0][1] == "\u2717Verdict: mismatch"
    bare = replace(
        nl.validate(board.recording(), board.engine).outputs["maps"], figures=None, channels=(), exhibit=None
    )
    page = read(nl.Report({"maps": replace(bare, ranking=())}, 1, "model"), tmp_path)
    assert not page.images and "Nothing could be compared" in page.text


# In a browser

# Every text on the page against the background it is on: the least contrast, by WCAG 2, and where.
CONTRAST = """(() => {
  const parse = c => { const m = c.match(/[0-9.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                       return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
                        if (c[3] === 1) return c; if (c[3] !== 0) throw "translucent"; } throw "no background"; };
  let least = [99, ""];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    if (!n.data.trim() || !n.parentElement.checkVisibility()) continue;
    const a = light(parse(getComputedStyle(n.parentElement).color).slice(0, 3));
    const b = light(ground(n.parentElement).slice(0, 3));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < least[0]) least = [ratio, n.data.trim().slice(0, 60)];
  }
  return least;
})()"""
TILES = """[...document.querySelectorAll('.sheet figure')].map(f => {
  const r = f.querySelector('img').getBoundingClientRect();
  return [f.querySelector('b').textContent, r.left + scrollX, r.top + scrollY, r.width, r.height]; })"""
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll')
  && e.getBoundingClientRect().right > innerWidth + .5).map(e => e.outerHTML.slice(0, 80))"""
BANNER = {"layout": (0x1B, 0x1E, 0xA9), "match": (0x34, 0x6B, 0x1A)}  # BGR


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("verdict", BANNER)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_screenshots(board: Board, browser: Browser, tmp_path: Path, verdict: str, dark: bool, width: int) -> None:
    recording = board.recording() if verdict == "match" else nhwc(board)
    report = nl.validate(recording, board.engine)
    assert report.verdict == verdict
    path = tmp_path / f"{verdict}.html"
    report.to_html(path)
    browser.show(path, width, dark)
    image = browser.screenshot(tmp_path / f"{verdict}-{width}-{'dark' if dark else 'light'}.png")
    assert image.shape[1] == width and image.shape[0] > 1500
    assert browser.run("document.documentElement.scrollWidth") == width and browser.run(TOO_WIDE) == []
    assert not browser.console and all(url.startswith(("file:", "data:")) for url in browser.requests)

    ratio, text = browser.run(CONTRAST)
    assert ratio >= 4.5, (ratio, text)
    assert image.std() > 20 and (np.median(image) < 60 if dark else np.median(image) > 200)
    banner = (image == BANNER[verdict]).all(-1)
    assert banner.sum() > 40 * width and banner[:30].all(1).any(), "the verdict's colour is not on top"
    assert not any((image == other).all(-1).sum() > 40 * width for v, other in BANNER.items() if v != verdict)

    tiles = browser.run(TILES)
    assert len(tiles) == 5 and all(w >= 100 and h >= 100 for *_, w, h in tiles)
    crops = {
        title.split(":")[0]: cv2.resize(image[int(y) + 2 : int(y + h) - 2, int(x) + 2 : int(x + w) - 2], (100, 100))
        for title, x, y, w, h in tiles
        if not title.startswith("Layout")
    }
    right, wrong = ("As declared", None) if verdict == "match" else ("The fix", "As declared")
    assert alike(crops["The model"], crops[right]) > 0.97
    assert wrong is None or alike(crops["The model"], crops[wrong]) < 0.7


@pytest.mark.slow
def test_hostile_page_in_a_browser(board: Board, browser: Browser, tmp_path: Path) -> None:
    """Nothing runs, nothing is asked for, and long names do not widen the page."""
    report = nl.validate(board.recording(), board.engine)
    name = HOSTILE + "n" * 600
    output = replace(report.outputs["maps"], name=name, why=name)
    hostile = replace(report, outputs={name: output, "b": output}, model=name, note=name, meta={name: name})
    path = tmp_path / "hostile.html"
    hostile.to_html(path)
    browser.requests.clear()
    browser.show(path, 400)
    browser.screenshot(tmp_path / "hostile.png")
    assert browser.run("document.documentElement.scrollWidth") == 400 and browser.run(TOO_WIDE) == []
    assert browser.run("document.scripts.length") == 0 and not browser.console
    assert [url[:5] for url in browser.requests if not url.startswith("data:")] == ["file:"]
    assert browser.run("document.querySelectorAll('h1').length") == 1
    browser.pdf(tmp_path / "hostile.pdf")
    assert (tmp_path / "hostile.pdf").read_bytes().startswith(b"%PDF")


def test_preprocess_of_the_recording_is_shown(board: Board, tmp_path: Path) -> None:
    page = read(nl.validate(board.recording(None, None, note="RK3588", driver="0.9.8"), board.engine), tmp_path)
    assert f"color={PRE['color']!r}" in page.text and "RK3588" in page.text and '"driver": "0.9.8"' in page.text
