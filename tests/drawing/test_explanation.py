"""explain: its numbers against the scalar oracle, its pictures cell by cell, its command."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.cli import main
from npu_layout.drawing.figure import Figure, draw
from npu_layout.drawing.memory_lines import holds_element, lines, tokens
from npu_layout.drawing.palette import DISTINCT, RAMPS, WHITE, hexadecimal, luminance, mix
from npu_layout.drawing.terminal import colour_depth
from tests.support import oracle
from tests.support.paths import SAMPLES

SVG = "{http://www.w3.org/2000/svg}"
README_PICTURE = SAMPLES / "data" / "memory_formats.svg"
PITCHES = dict(storage_strides=(200, 48, 8, 1), storage_offset=4, size=256)
SPECS = [
    nl.TensorSpec((1, 3, 4, 5), "NCHW"),
    nl.TensorSpec((2, 3, 4, 5), "NHWC", "uint8"),
    nl.TensorSpec((2, 3, 4, 5), "CHWN", "float64"),
    nl.TensorSpec((1, 20, 2, 3), "NCHW16c", "int8"),
    nl.TensorSpec((1, 5, 9, 10), "NHCW8w4c", "int4"),
    nl.TensorSpec((1, 5, 9, 10), "NHWC8h4w"),
    nl.TensorSpec((20, 9, 1, 2), "OIHW4i16o4i"),
    nl.TensorSpec((1, 4, 5, 3), "NHWC", axes="NHWC"),
    nl.TensorSpec((18, 20), nl.Layout.named("FRACTAL_NZ")),
    nl.TensorSpec((1, 3, 5, 6), "NCHW", "uint8", **PITCHES),
    nl.TensorSpec((1, 3, 2, 4), "NHWC", storage_strides=(24, -12, 3, 1), storage_offset=12),
    nl.TensorSpec((2, 17, 5, 4), "HWCN", "int16"),
    nl.TensorSpec((7,), "C"),
]
EACH_SPEC = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.describe().replace(" ", "-"))


def place(spec: nl.TensorSpec, index: tuple[int, ...]) -> int:
    named = dict(zip(spec.axes, index))
    return spec.storage_offset + oracle.place(str(spec.layout), spec.storage_shape, named, spec.storage_strides)


@EACH_SPEC
def test_formula_numbers_and_padding(spec: nl.TensorSpec) -> None:
    found = nl.explain(spec)
    used = set()
    for index in oracle.indices(spec.shape):
        at = place(spec, index)
        used.add(at)
        assert eval(found.formula, {}, {a.lower(): i for a, i in zip(spec.axes, index)}) == at
        numbers, _, result = found.place(*index).rpartition(" = ")
        assert eval(numbers) == int(result) == at
    assert found.padding == spec.size - len(used)
    bits = 4 if spec.dtype == "int4" else 8 * spec.stored.itemsize
    assert found.padding_bytes == spec.nbytes - -(-len(used) * bits // 8)
    assert found.padding_percent == pytest.approx(100 * (spec.size - len(used)) / spec.size)
    text = str(found)
    for fact in (found.formula, f"{spec.nbytes} bytes", ", ".join(map(str, spec.storage_strides))):
        assert fact in text


def test_text() -> None:
    text = str(nl.explain("NCHW16c", (1, 57, 46, 46), "int8", at=(0, 17, 2, 3), compare="NHWC"))
    assert "1, 4, 46, 46, 16  counting n, c//16, h, w, c%16" in text
    assert "14812 elements, 14812 bytes, 10.9 % (C padded from 57 to 64)" in text
    assert "0*135424 + 1*33856 + 2*736 + 3*16 + 1 = 35377, byte 35377" in text
    assert "0*120612 + 2*2622 + 3*57 + 17 = 5432, byte 5432" in text
    assert "byte 1, its high half" in str(nl.explain("NC", (1, 9), "int4", at=(0, 3)))
    assert "4 + n*200 + c*48 + h*8 + w" in str(nl.explain(nl.TensorSpec((1, 3, 5, 6), "NCHW", "uint8", **PITCHES)))


def counted(addresses: list[int], bits: int, line: int) -> tuple[int, int, int]:
    """(runs, cache lines, bytes wasted), one element after the other."""
    runs, touched, before = 0, set(), None
    for address in sorted(addresses):
        runs += before is None or address != before + 1
        before = address
        touched |= {bit // 8 // line for bit in range(address * bits, (address + 1) * bits)}
    return runs, len(touched), len(touched) * line - (len(addresses) * bits + 7) // 8


@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "CHWN", "NHCW", "NCHW4c", "NHWC8c", "NHCW8w4c"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int4", "float64"])
@given(data=st.data())
def test_reads_are_the_oracles(tag: str, dtype: str, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.tuples(*(st.integers(lo, hi) for lo, hi in ((1, 2), (3, 9), (3, 12), (3, 12))))))
    at = tuple(data.draw(st.integers(0, n - 1)) for n in shape[:2])
    size = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    at += tuple(data.draw(st.integers(0, n - k)) for n, k in zip(shape[2:], size))
    line = data.draw(st.sampled_from([16, 32, 64, 128]))
    found = nl.explain(tag, shape, dtype, at=at, window=size, gray=True, cache_line=line)
    n, _, h, w = at
    window = [(n, c, h + i, w + j) for c in range(shape[1]) for i in range(size[0]) for j in range(size[1])]
    gray = [(n, c, h, w) for c in range(3)]
    bits = 4 if dtype == "int4" else 8 * np.dtype(dtype).itemsize
    for reads, wanted in zip(found.reads, (window, gray)):
        addresses = [place(found.spec, index) for index in wanted]
        assert reads.offsets.tolist() == sorted(addresses)
        assert (len(reads.runs), len(reads.lines), reads.bytes_wasted) == counted(addresses, bits, line)
        assert sum(length for _, length in reads.runs) == len(wanted)


def test_a_window_over_three_channels_is_3_runs_or_9() -> None:
    found = nl.explain("NHWC", (1, 3, 224, 224), window=(3, 3), compare="NCHW")
    (last,), (first,) = found.reads, found.compared[0].reads
    assert (last.runs, len(first.runs)) == ([(0, 9), (672, 9), (1344, 9)], 9)
    assert str(last).endswith(
        "27 elements in 3 runs, 3 cache lines of 64 bytes; 192 bytes fetched, 84 of them wasted (44 %)"
    )
    assert "9 runs, 9 cache lines" in str(first)


def test_both_orders_of_accumulation_give_the_same_sum() -> None:
    """One output of a convolution: 3 channels, a 3x3 window of pixels 0..2, a kernel of -1, 0 and 1; it is 5."""
    image = np.array(
        [
            [[0, 1, 2, 9], [2, 1, 0, 9], [1, 2, 1, 9], [9, 9, 9, 9]],
            [[1, 1, 0, 9], [0, 2, 2, 9], [1, 0, 1, 9], [9, 9, 9, 9]],
            [[2, 0, 1, 9], [1, 1, 2, 9], [0, 2, 1, 9], [9, 9, 9, 9]],
        ],
        np.int32,
    )[None]
    kernel = np.array(
        [
            [[1, 0, -1], [1, 1, 0], [0, 1, 1]],
            [[0, 1, -1], [-1, 0, 1], [1, 0, 0]],
            [[-1, 0, 1], [0, 1, -1], [1, -1, 1]],
        ],
        np.int32,
    )[None]
    orders = {}
    for tag in ("NCHW", "NHWC"):
        reads = nl.explain(tag, image.shape, "int32", window=(3, 3)).reads[0]
        pixels = nl.TensorSpec(image.shape, tag, "int32").pack(image)[reads.offsets].tolist()
        weights = nl.TensorSpec(kernel.shape, tag, "int32").pack(kernel).tolist()
        total, orders[tag] = 0, [x * w for x, w in zip(pixels, weights)]
        for product in orders[tag]:
            total += product
        assert total == 5
    assert orders["NCHW"] != orders["NHWC"] and sorted(orders["NCHW"]) == sorted(orders["NHWC"])


@EACH_SPEC
def test_what_holds_an_element(spec: nl.TensorSpec) -> None:
    used = {place(spec, index) for index in oracle.indices(spec.shape)}
    for low, end in ((0, spec.size), (spec.size // 3, spec.size // 2 + 1)):
        assert holds_element(spec.storage, low, end).tolist() == [at in used for at in range(low, end)]


@EACH_SPEC
def test_lines_hold_the_whole_buffer_in_address_order(spec: nl.TensorSpec) -> None:
    found = nl.explain(spec)
    used = {place(spec, index): index for index in oracle.indices(spec.shape)}
    at = 0
    for token in [token for line in lines(spec.storage, found.part) for token in line]:
        assert token.address == at
        span = range(at, at + token.elements)
        if token.kind == "cell":
            assert used[at] == token.place
        elif token.kind == "pad" or token.padding:
            assert not used.keys() & set(span)
        at = span.stop
    assert at == spec.size
    shown = [token.place for token in tokens(spec.storage, found.part) if token.kind == "cell"]
    wanted = [index for index in used.values() if all(i in found.part[a] for a, i in zip(spec.axes, index))]
    assert sorted(shown) == sorted(wanted) and len(shown) <= 330


def test_lines_are_long_where_no_number_divides_an_axis() -> None:
    found = nl.explain("HWCN", (2, 17, 5, 4))
    widths = [sum(token.kind == "cell" for token in line) for line in lines(found.spec.storage, found.part)]
    assert widths == [18, 16] * 6  # 17 channels of 2 images are 9 and 8


def rects(svg: str) -> dict[str, ET.Element]:
    """Rectangles by their notes."""
    found = {}
    for rect in ET.fromstring(svg).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None and title.text:
            assert title.text not in found
            found[title.text] = rect
    return found


@EACH_SPEC
def test_a_cell_of_memory_has_its_planes_colour(spec: nl.TensorSpec) -> None:
    found = nl.explain(spec)
    cells = rects(found.to_svg())
    figure = Figure(found.views(), found.part)
    places = []
    for index in oracle.indices(spec.shape):
        if not all(i in found.part[a] for a, i in zip(spec.axes, index)):
            continue
        name = " ".join(f"{a.lower()}{i}" for a, i in zip(spec.axes, index))
        plane, memory = cells.pop(name), cells.pop(f"{name} at {place(spec, index)}")
        assert plane.get("fill") == memory.get("fill") == hexadecimal(figure.colours[index])
        places.append((place(spec, index), float(memory.get("y", 0)), float(memory.get("x", 0))))
    ordered = sorted(places)
    assert [p[1:] for p in ordered] == sorted(p[1:] for p in places), "address order is reading order"
    assert all("padding at " in title for title in cells)


def test_padding_is_drawn() -> None:
    found = nl.explain("NCHW16c", (1, 20, 2, 2))
    pads = [title for title in rects(found.to_svg()) if title.startswith("padding")]
    assert len(pads) == found.padding == 48


def test_what_is_read_keeps_its_colour_and_the_rest_fades() -> None:
    found = nl.explain("NHWC", (1, 3, 224, 224), window=(3, 3), compare="NCHW")
    for explanation in (found, found.compared[0]):
        read = set(explanation.reads[0].offsets.tolist())
        figure = Figure(found.views(), found.part)
        cells = rects(nl.explain(explanation.spec, window=(3, 3)).to_svg())
        marked = {title for title in cells if " at " in title and int(title.split(" at ")[1]) in read}
        assert len(marked) == 27
        for title, rect in cells.items():
            if " at " in title and title[0] == "n":
                index = tuple(int(word[1:]) for word in title.split(" at ")[0].split())
                colour = figure.colours[index]
                assert rect.get("fill") == hexadecimal(colour if title in marked else mix(colour, WHITE, 0.82))
    assert "Shown: n 0, c 0-2, h 0-4, w 0-4" in found.to_svg()


def test_png_shows_the_same(tmp_path: Path) -> None:
    found = nl.explain("NCHW", (1, 3, 4, 4), compare=["NHWC", nl.Layout("NCHW4c")])
    scene = draw(found.views(), found.part)
    found.save(tmp_path / "a.PNG")
    image = cv2.imread(str(tmp_path / "a.PNG"))
    assert image.shape == (scene.height * 2, scene.width * 2, 3)
    checked = 0
    for item in scene.items:
        if getattr(item, "note", ""):
            x, y = round(2 * item.x) + 4, round(2 * item.y) + 4
            assert image[y, x].tolist()[::-1] == list(item.fill)
            checked += 1
    assert checked == 4 * 48 + 16


def test_colours_can_be_told_apart() -> None:
    assert len(set(DISTINCT)) == 8
    for light, dark in RAMPS:
        shades = [luminance(mix(light, dark, i / 15)) for i in range(16)]
        assert all(a > b for a, b in zip(shades, shades[1:])) and shades[0] - shades[-1] > 0.5
    figure = Figure((e := nl.explain("NCHW16c", (1, 64, 4, 4))).views(), e.part)
    assert len({figure.colours[(0, c, 0, 0)] for c in e.part["C"]}) == len(e.part["C"]) > 16


@pytest.mark.parametrize("shape", [(8, 64, 1080, 1920), (1, 1, 1, 1), (1, 3, 1, 1), (300, 3, 2, 2), (1, 2048, 7, 7)])
@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "CHWN", "NCHW16c", "NCHW4n", "CHWN16n16c", "NHWC8h4w"])
def test_large_and_small(tag: str, shape: tuple[int, ...]) -> None:
    found = nl.explain(tag, shape, compare="NCHW", at=tuple(n - 1 for n in shape))
    assert all(shape[i] - 1 in found.part[a] for i, a in enumerate("NCHW"))
    root = ET.fromstring(found.to_svg())
    assert float(root.get("width", 0)) < 2000 and float(root.get("height", 0)) < 3000
    assert ("Shown:" in found.to_svg()) == (np.prod(shape) > 1000)


def test_an_axis_too_long_to_be_enumerated() -> None:
    found = nl.explain("NHWC8c", (1, 3, 1, 10**12), at=(0, 2, 0, 10**12 - 1))
    assert found.place(0, 2, 0, 10**12 - 1).endswith(" = 7999999999994") and rects(found.to_svg())


def test_part_and_at() -> None:
    found = nl.explain("NCHW16c", (1, 57, 46, 46), at=(0, 50, 45, 45), part=(1, 9, 1, 2))
    assert found.part == {"N": range(1), "C": range(48, 57), "H": range(45, 46), "W": range(44, 46)}
    assert sum(title.startswith("padding at") for title in rects(found.to_svg())) >= 14


def test_bad_input() -> None:
    shape = (1, 3, 8, 8)
    for arguments, options, words in (
        (("NCHW",), {}, "needs a shape"),
        (("NCHW", (1, 3)), {}, "4 axes"),
        (("NCHW", shape), {"window": (9, 3)}, "leaves"),
        (("NCHW", shape), {"window": (3, 3, 3)}, "2 axes besides N and C, expected 3"),
        (("NCHW", shape), {"window": (0, 3)}, "1 or more"),
        (("NCHW", shape), {"window": ()}, "got none"),
        (("NCHW", shape), {"window": 3}, "sequence of integers"),
        (("NCHW", shape), {"at": 3}, "an index for each"),
        (("NCHW", (1, 2, 8, 8)), {"gray": True}, "at least 3"),
        (("NCHW", shape), {"compare": "CHW"}, "axes"),
        (("NCHW", shape), {"part": (1, 0, 8, 8)}, "1 or more"),
        (("NCHW", shape), {"cache_line": 0}, "1 byte or more"),
        ((nl.TensorSpec(shape), shape), {}, "give the spec alone"),
        (("NCHW", shape), {"compare": nl.TensorSpec((1, 3, 8, 9))}, "is not"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            nl.explain(*arguments, **options)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        nl.explain("NCHW", shape, at=(0, 3, 0, 0))
    with pytest.raises(nl.NpuLayoutError, match=r"\.svg or \.png"):
        nl.explain("NCHW", shape).save("picture.gif")
    for scale in (0, -1, float("nan")):
        with pytest.raises(nl.NpuLayoutError, match="above 0"):
            nl.explain("NCHW", shape).to_png(scale=scale)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    assert colour_depth(Terminal())[0] == 8 and colour_depth(io.StringIO())[0] == 0
    assert colour_depth(io.StringIO(), "always")[0] == 8 and colour_depth(Terminal(), "never")[0] == 0
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert colour_depth(Terminal())[0] == 24
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour_depth(Terminal())[0] == 0 and colour_depth(Terminal(), "always")[0] == 24
    monkeypatch.setenv("NO_COLOR", "")  # https://no-color.org: "not an empty string"
    assert colour_depth(Terminal())[0] == 24


def test_cells_in_a_terminal() -> None:
    found = nl.explain("NHWC", (1, 3, 2, 2), "uint8", gray=True)
    assert "\x1b" not in found.terminal(0) and "[0.00] [1.00] [2.00]" in found.terminal(0)
    red, green, blue = ("\x1b[1;48;2;{};{};{};".format(*colour) for colour in DISTINCT[:3])
    coloured = found.terminal(24, columns=1)  # nothing beside each other
    memory = next(line for line in coloured.splitlines() if line.count(red) and line.count(green) == 1 and "h0" in line)
    assert memory.index(red) < memory.index(green) < memory.index(blue)
    assert "\x1b[1;48;5;" in found.terminal(8)
    wide, narrow = (nl.explain("NHWC", (1, 3, 4, 4), compare="NCHW").terminal(0, n) for n in (400, 60))
    assert any("NHWC memory" in line and "NCHW memory" in line for line in wide.splitlines())
    assert not any("NHWC memory" in line and "NCHW memory" in line for line in narrow.splitlines())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(tmp_path / "a.svg"), str(tmp_path / "a.png")]
    command = ["explain", "NCHW16c", "1x57x46x46", "--dtype", "int8", "--at", "0,17,2,3", "--compare", "NHWC"]
    assert main([*command, "--window", "3x3", "--gray", "--picture", *files]) == 0
    shown = capsys.readouterr().out
    assert "= 35377" in shown and "3x3 window at h 2, w 3" in shown and "gray pixel" in shown and "\x1b" not in shown
    assert rects(Path(files[0]).read_text()) and cv2.imread(files[1]).size
    assert main(["explain", "NC1HWC2:16", "1x57x4x4", "--color", "always"]) == 0
    assert "\x1b[48;" in capsys.readouterr().out
    assert main(["explain", "CHW32", "1x57x4x4"]) == 0
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(nl.TensorSpec((1, 3, 5, 6), "NCHW", "uint8", **PITCHES).to_dict()))
    assert main(["explain", str(spec)]) == 0
    assert "4 + n*200" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        "NCHW",
        "NCHW 1x3",
        "NCHW 1x3x4x4 --axes NCH",
        "NCHW 1x3x4x4 --dtype text",
        "NCHW 1x3x4x4 --at 0,3,0,0",
        "NCHW 1x3x4x4 --window 9x9",
        "NCHW 1x3x4x4 --picture a.gif",
        "NCHW 1x3x4x4 --picture none-such/a.svg",
        "none-such.json",
    ],
)
def test_bad_input_of_the_command(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *arguments.split()]) == 2
    out, error = capsys.readouterr()
    assert (
        error.splitlines()[-1].startswith("npu-layout explain: ")
        and "explain: explain" not in error
        and "defect" not in error
        and not out
        and not list(tmp_path.iterdir())
    )


def test_usage_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["explain"],
        ["explain", "NCHW", "1xAx3"],
        ["explain", "QQQ", "1x3x4x4"],
        ["explain", "NC1HWC2"],
        ["explain", "NCHW", "1x3x4x4", "--color", "red"],
    ):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 2


def test_the_readmes_picture_is_what_explain_draws() -> None:
    found = nl.explain("NCHW", (1, 20, 2, 2), compare=["NHWC", "NCHW16c"])
    assert README_PICTURE.read_text(encoding="utf-8") == found.to_svg(860)
    assert README_PICTURE.stat().st_size < 150_000
