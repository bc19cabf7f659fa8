"""npu-layout explain: text, pictures and colours, from a tag, a vendor's name or a spec's file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import cv2
import pytest

import npu_layout as nl
from npu_layout.cli import main
from tests.support.command_line import ran
from tests.support.specs import PITCHES, rects


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
        "NCHW 1x3x4x4 --picture a.svg b.png c.txt",
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


@pytest.mark.parametrize("option", ["--width", "--cache-line"])
@pytest.mark.parametrize("number", ["-5", "0", "-0", "1.5", "nan", "many", "", "\u0663"])
def test_measures_that_are_none(option: str, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explain", "NCHW", "1x3x4x4", f"{option}={number}"])
    out, err = capsys.readouterr()
    assert end.value.code == 2 and not out and f"argument {option}: {number!r}: expected a whole number of 1" in err


def test_a_part_that_nobody_can_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Within a second, and with what is the most."""
    for shape, part in (
        ("1x3x100000x100000", "1x3x100000x100000"),
        ("1x3x1000x1000", "1x3x100000x100000"),
        ("1x4097", "1x4097"),
    ):
        begin = time.monotonic()
        layout = "NCHW" if shape.count("x") == 3 else "NC"
        status, out, err = ran(capsys, "explain", layout, shape, "--part", part, "--picture", str(tmp_path / "a.svg"))
        assert status == 2 and not out and f"part {part}: a picture shows at most 4096 elements" in err
        assert time.monotonic() - begin < 5 and not list(tmp_path.iterdir())
    assert ran(capsys, "explain", "NCHW", "1x3x8x8", "--part", "1x3x100000x100000")[0] == 0
    status, _, err = ran(capsys, "explain", "NCHW", "1x3x100000x100000", "--window", "100000x100000")
    assert status == 2 and "window 100000x100000: it reads 30000000000 elements" in err and "at most 1048576" in err


def test_explain_shows_the_channels_of_a_buffer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.json"
    for channels in ("BGR", None):
        spec.write_text(json.dumps(nl.TensorSpec((1, 3, 5, 6), "NHWC", "uint8", channels=channels).to_dict()))
        assert main(["explain", str(spec)]) == 0
        shown = capsys.readouterr().out
        assert ("BGR in the buffer; the runtime makes the model's order of it" in shown) == (channels is not None)


def test_a_pixel_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nv12.png"
    assert main(["explain", "NV12", "8x4", "--pitch", "16", "--picture", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("NV12 of 8x4") and "from byte 64: 2 rows of 8 bytes, one every 16" in out
    assert "U0  V0  U1  V1" in out and cv2.imread(str(file)).size
    assert main(["explain", "BGR", "2x1"]) == 0  # two extents are a frame's, three the tag's axes
    assert "B0  G0  R0  B1  G1  R1" in capsys.readouterr().out
    assert main(["explain", "BGR", "2x2x2"]) == 0
    assert "layout BGR of (2,2,2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("NV12", "NV12: expected width and height of a frame, as in NV12 640x480"),
        ("NV12 1x3x4x4", "NV12: expected width and height of a frame"),
        ("NV12 8x4 --at 1,1 --gray", "a frame is explained without --at, --gray"),
        ("NV12 8x4 --cache-line 32", "a frame is explained without --cache-line"),
        ("NV12 8x4 --pitch 4", "strides"),
        ("NHWC 1x2x3x4 --pitch 64", "--pitch: goes with a pixel format"),
        ("MJPEG 8x4", "compressed bytes have no places"),
    ],
)
def test_bad_input_of_a_pixel_format(arguments: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments.split()]) == 2
    out, error = capsys.readouterr()
    assert says in error and not out and "defect" not in error, error


@pytest.mark.parametrize(("name", "format"), [("nv12", "NV12"), ("YUY2", "YUYV"), ("XBGR8888", "RGBX")])
def test_another_name_of_a_pixel_format_is_named(capsys: pytest.CaptureFixture[str], name: str, format: str) -> None:
    """It was read as a layout alone, whose error says nothing of cameras."""
    with pytest.raises(SystemExit) as ended:
        ran(capsys, "explain", name, "64x48")
    assert ended.value.code == 2
    assert f"camera's pixel format. Is it {format}?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        ran(capsys, "explain", "NCHW16", "1x57x4x4")
    assert "pixel format" not in capsys.readouterr().err.splitlines()[-1]
