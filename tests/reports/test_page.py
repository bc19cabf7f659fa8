"""The report's page: what is on it, that nothing in a recording can do harm there, and how it looks in a browser."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.reports.page import WORDS
from npu_layout.reports.pictures import Sheet, coloured, error_map, histogram
from npu_layout.reports.report import VERDICTS
from npu_layout.reports.tables import passes
from tests.support.boards import CHANNELS, PRE, SHAPE, Board
from tests.support.browser import Browser

VOID = {"meta", "img"}
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x00\x1b\ud800\u202e</style></pre>"


class Page(HTMLParser):
    """A page that was read: it fails where tags are not closed, ids are not unique, something is loaded from elsewhere,
    or a picture has no words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.codes: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open and len(set(self.ids)) == len(self.ids)
        assert html.startswith("<!DOCTYPE html>") and 'lang="en"' in html
        assert {link[1:] for link in self.links} <= set(self.ids)
        levels = [level for level, _ in self.headings]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels
        outside = re.sub(r'(src|content)="[^"]*"', "", html)
        assert not re.search(r"https?:|//|@import|url\(", outside.split("<body>")[0]), "something comes from elsewhere"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        assert tag not in ("script", "iframe", "object", "link", "base", "form")
        assert not any(name.startswith("on") for name in given), given
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag == "img":
            assert str(given["src"]).startswith("data:image/png;base64,") and given["alt"], given
            self.images.append(given)
        if "href" in given:
            assert str(given["href"]).startswith("#")
            self.links.append(str(given["href"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))
        if self.open[-2:] == ["pre", "code"]:
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if {"h1", "h2", "h3"} & set(self.open):
            level, text = self.headings[-1]
            self.headings[-1] = level, text + data
        if self.open[-2:] == ["pre", "code"]:
            self.codes[-1] += data

    def sheet(self) -> dict[str, np.ndarray]:
        """The contact sheets' pictures by their alternative text."""
        return {
            str(image["alt"]): pixels(str(image["src"]))
            for image in self.images
            if " dB, " in str(image["alt"]) or "The model" in str(image["alt"])
        }


def pixels(uri: str) -> np.ndarray:
    image = cv2.imdecode(np.frombuffer(base64.b64decode(uri.split(",")[1]), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return np.asarray(image).astype(np.float64)


def alike(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of two pictures by their green, which the colour map never lets fall as values grow."""
    return float(np.corrcoef(a[..., 1].ravel(), b[..., 1].ravel())[0, 1])


def read(report: nl.Report, folder: Path) -> Page:
    path = folder / "report.html"
    report.to_html(path)
    assert [p.name for p in folder.iterdir()] == ["report.html"]
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def nhwc(board: Board) -> nl.Recording:
    """Declared NCHW, packed NHWC."""
    declared, actual = (
        nl.TensorSpec(SHAPE, layout, "int8", quantization=board.spec.quantization) for layout in ("NCHW", "NHWC")
    )
    return board.recording(declared, board.packed(actual))


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
    assert (
        f"validate(recording, model, min_snr_db={passes('min_snr_db', output.passing['min_snr_db'])}" in page.codes[1]
    )
    assert "at least 10: \u2717 not held" in page.text and "The next 7 of 19 channels" in page.text

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
    for name, value in strict.items():  # what is printed passes, too
        assert nl.validate(board.recording(), board.engine, **{name: float(passes(name, value))})


def test_what_the_fixes_do(board: Board, tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(CHANNELS)
    report = nl.validate(board.recording(None, board.changed(lambda y: y[:, order])), board.engine)
    exhibit = report.outputs["maps"].exhibit
    names: dict[str, Any] = {"buffer": exhibit.buffer}
    exec(read(report, tmp_path).codes[0], names)
    assert report.verdict == "channel_order" and np.abs(names["tensor"] - exhibit.reference).max() < 0.1

    report = nl.validate(board.recording(None, board.fed(lambda x: x[:, ::-1].copy())), board.engine)
    page = read(report, tmp_path)
    exec(page.codes[0], names)
    assert report.verdict == "preprocessing" and names["how"] == report.outputs["maps"].fix
    nl.Preprocessor(nl.TensorSpec((1, 3, 48, 48)), **names["how"])
    sheet = page.sheet()
    (said,) = (image for alt, image in sheet.items() if ". As declared: " in alt)
    best, answer = next((alt, image) for alt, image in sheet.items() if "The model's answer" in alt)
    assert "BGR instead of RGB" in best and alike(said, answer) > 0.99 > alike(said, next(iter(sheet.values()))) + 0.05

    packed = board.packed(board.spec)
    report = nl.validate(board.recording(None, packed[:1] + packed[:-1]), board.engine)
    names = {"inputs": list(range(8)), "outputs": list("abcdefgh")}
    page = read(report, tmp_path)
    exec(page.codes[0], names)
    assert report.verdict == "wrong_input" and names["pairs"][:2] == [(0, "b"), (1, "c")]
    assert any("The model's answer" in alt and "1 before" in alt for alt in page.sheet())


def test_outputs_exchanged(tmp_path: Path) -> None:
    board = Board(outputs=("a", "b"))
    outputs = [{"a": board.spec.pack(x["b"]), "b": board.spec.pack(x["a"])} for x in board.answers]
    report = nl.validate(board.recording(None, outputs), board.engine)
    page = read(report, tmp_path)
    names: dict[str, Any] = {"outputs": {"a": 1, "b": 2}}
    exec(page.codes[0], names)
    assert names["outputs"] == {"b": 1, "a": 2}
    assert "2 of 2 outputs: a, b" in page.text and page.links == ["#output-0", "#output-1"]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict(board: Board, tmp_path: Path, verdict: str) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = replace(report.outputs["maps"], verdict=verdict, fix=None)
    page = read(replace(report, outputs={"maps": output}), tmp_path)
    kind, sign, says = WORDS[verdict]
    assert page.headings[0][1] == f"{sign}Verdict: {verdict.replace('_', ' ')}" and says in page.text
    assert kind == {"match": "good", "ambiguous": "open"}.get(verdict, "bad")
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
    exec(page.codes[2], {"outputs": {}})
    assert nl.validate(nl.Recording({"x" * 500: board.spec}, [], {"a": HOSTILE}), board.engine).frames == 0


def identity(shape: tuple[int, ...]) -> nl.OnnxRuntimeEngine:
    """A model whose output is its input."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return nl.OnnxRuntimeEngine(model.SerializeToString())


SHAPES = {
    "vector": ((1, 1000), "NC"),
    "many vectors": ((6, 40), "NC"),
    "scores": ((1000,), "N"),
    "one value": ((1,), "N"),
    "boxes": ((1, 84, 2100), "NCW"),
    "boxes the other way": ((1, 2100, 84), "NCW"),
    "one channel": ((1, 1, 30, 40), "NCHW"),
    "two channels": ((1, 2, 30, 40), "NHWC"),
    "large maps": ((1, 5, 300, 500), "NHWC"),
    "wide maps": ((1, 6, 8, 100), "NHWC"),
    "maps of one place": ((1, 700, 1, 1), "NCHW"),
    "volumes": ((1, 5, 3, 12, 10), "NCDHW"),
    "no letters": ((1, 2, 2, 3, 8, 8), "ABCDEF"),
}


@pytest.mark.parametrize("what", SHAPES)
def test_shapes(what: str, tmp_path: Path) -> None:
    shape, layout = SHAPES[what]
    engine = identity(shape)
    rng = np.random.default_rng(0)
    frames = [rng.standard_normal(shape).cumsum(-1).astype(np.float32) for _ in range(4)]
    axes = "NCHW" if layout == "NHWC" else layout
    spec = nl.TensorSpec(shape, layout, "int8", axes=axes, quantization=nl.engines.calibrate(frames, "int8"), name="y")
    report = nl.validate(nl.Recording({"y": spec}, [({"x": x}, {"y": spec.pack(x)}) for x in frames]), engine)
    page = read(report, tmp_path)
    model, declared = (
        next(i for alt, i in page.sheet().items() if k in alt) for k in (". The model, ", ". As declared")
    )
    assert alike(model, declared) > 0.95 if what != "one value" else np.abs(model - declared).max() < 8
    assert model.shape[0] * model.shape[1] >= 48 * 100 and max(model.shape) <= 1300
    channels = report.outputs["y"].channels
    assert len(channels) < 2 or f"The {len(channels)} channels" in page.text
    assert len(page.tags) < 8000, "a table of thousands of rows"
    assert (tmp_path / "report.html").stat().st_size < 2 << 20


def test_a_shape_that_is_not_the_models(board: Board, tmp_path: Path) -> None:
    actual = nl.TensorSpec(SHAPE, "NHWC", "int8", quantization=board.spec.quantization)
    for shape, axes in (((1, 12, CHANNELS, 12), "NCHW"), ((1, CHANNELS, 144), "NCW")):
        declared = nl.TensorSpec(shape, axes, "int8", quantization=board.spec.quantization)
        report = nl.validate(board.recording(declared, board.packed(actual)), board.engine)
        assert report.verdict == "layout"
        page = read(report, tmp_path)
        assert "As declared" in page.text and "Nothing could be compared" in page.text
        assert ("its shape" in page.text.lower()) == (len(shape) == 3)


def test_not_a_number(board: Board, tmp_path: Path) -> None:
    spec = nl.TensorSpec(SHAPE, "NHWC", "float32")
    outputs = board.packed(spec)
    for output in outputs:
        output["maps"][100:400] = np.nan
        output["maps"][500] = np.inf
    report = nl.validate(board.recording(spec, outputs), board.engine)
    page = read(report, tmp_path)
    (declared,) = (image for alt, image in page.sheet().items() if ". As declared: " in alt)
    assert (declared == (255, 0, 255)).all(-1).any()


def test_dead_and_constant_channels(board: Board, tmp_path: Path) -> None:
    report = nl.validate(board.recording(), board.engine)
    channels = list(report.outputs["maps"].channels)
    channels[5] = channels[5]._replace(low=0.0, high=0.0, snr_db=-200.0)
    output = replace(report.outputs["maps"], dead=(3, 7), channels=channels)
    page = read(replace(report, outputs={"maps": output}), tmp_path)
    assert "Dead channels (2): 3, 7." in page.text and "3, dead" in page.text and "5, constant" in page.text
    assert "no signal" in page.text


def test_nothing_compared(board: Board, tmp_path: Path) -> None:
    page = read(nl.validate(nl.Recording({"maps": board.spec}, []), board.engine), tmp_path)
    assert "Nothing was compared." in page.text and "the recording has no frames" in page.text
    assert page.headings[0][1] == "\u2717Verdict: mismatch"
    bare = replace(
        nl.validate(board.recording(), board.engine).outputs["maps"], figures=None, channels=(), exhibit=None
    )
    page = read(nl.Report({"maps": replace(bare, ranking=())}, 1, "model"), tmp_path)
    assert not page.images and "Nothing could be compared" in page.text


def test_whole_or_not_at_all(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = nl.validate(nl.Recording({"maps": board.spec}, []), board.engine)
    assert report.to_html(str(tmp_path / "a.html")) is None  # type: ignore[func-returns-value]
    kept = (tmp_path / "a.html").read_bytes()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "a.html", tmp_path / "folder", tmp_path / "a.html" / "b.html", tmp_path / "\0"):
        with pytest.raises(nl.NpuLayoutError, match=r"the report cannot be written to .*: "):
            report.to_html(path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(nl.NpuLayoutError, match="No space left on device"):
        report.to_html(tmp_path / "a.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "folder"]
    assert (tmp_path / "a.html").read_bytes() == kept


def test_pictures() -> None:
    values = np.array([[0.0, 1.0, 2.0, np.nan, -5.0, 9.0]])
    image = coloured(values, 0, 2, "VIRIDIS")
    assert (image[0, 4] == image[0, 0]).all() and (image[0, 5] == image[0, 2]).all()
    assert image[0, 3].tolist() == [255, 0, 255] and len({tuple(p) for p in image[0].tolist()}) == 4
    squares = np.zeros((400, 7))
    squares[200:210, 3] = 4.0
    picture, most = error_map(squares)
    assert 1 < most <= 2
    assert picture.shape[0] <= 400 * 480 // 7 and (picture.max((0, 2)) > 200).any()
    _, low, high = histogram(np.array([]), np.array([1.0, 3.0, np.inf]))
    assert (low, high) == (1.0, 3.0)
    assert histogram(np.array([]), np.array([]))[1:] == (0.0, 0.0)
    assert Sheet(np.zeros((1, 3, 8, 8), np.float32), 1).picture(np.zeros((1, 2, 8, 8))) is not None
    assert Sheet(np.zeros((1, 3, 8, 8), np.float32), 1).picture(np.zeros((3, 8, 8))) is None
    constant = Sheet(np.full((1, 3, 8, 8), 2.5, np.float32), 1)
    assert constant.scale == (0.0, 5.0) and constant.picture(np.full((1, 3, 8, 8), 2.5)) is not None


# In a browser

# Every text on the page against the background it lies on: the least contrast, by WCAG 2, and where.
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
    assert f'color="{PRE["color"]}"' in page.text and "RK3588" in page.text and '"driver": "0.9.8"' in page.text
