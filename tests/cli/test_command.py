"""The parser imports a verb's module when it is asked for; bad input and usage are one sentence and status 2."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.cli import command as cli
from npu_layout.cli import main
from npu_layout.cli.command import VERBS, parser
from npu_layout.support import argument, isolated
from tests.support.boards import Board
from tests.support.command_line import COMMAND, ran, started
from tests.support.directions import outside_of_isolates
from tests.support.paths import SAMPLES

ASKED = """
import sys
from npu_layout.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if name.startswith("npu_layout.") or name in ("cv2", "onnxruntime")))
"""


def loaded(*arguments: str) -> set[str]:
    """What is imported when the command line has answered."""
    done = subprocess.run([sys.executable, "-c", ASKED, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_loads_no_verb() -> None:
    modules = {f"npu_layout.cli.{verb.module}" for verb in VERBS}
    assert not loaded("--help") & (modules | {"cv2", "onnxruntime"})


def test_a_verbs_help_loads_that_verb() -> None:
    modules = {f"npu_layout.cli.{verb.module}" for verb in VERBS}
    for verb in ("repack", "explain"):
        assert loaded(verb, "--help") & modules == {f"npu_layout.cli.{verb}"}


@pytest.mark.alone
def test_help_costs_little_more_than_the_import() -> None:
    def seconds(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    of_import = min(seconds("import npu_layout") for _ in range(5))
    assert min(seconds(ASKED) for _ in range(5)) < 1.5 * of_import + 0.05


def test_a_parser_is_whole_unless_asked_otherwise() -> None:
    def options(whole: bool) -> dict[str, int]:
        (verbs,) = (action for action in parser(whole)._actions if action.dest == "verb")
        return {name: len(one._actions) for name, one in verbs.choices.items()}  # type: ignore[union-attr]

    assert options(False) == {verb.name: 1 for verb in VERBS}  # --help
    assert all(count > 1 for count in options(True).values()) and len(options(True)) == len(VERBS)


BAD = (
    ["validate", "nowhere", "model.onnx"],
    ["validate", "images", "model.onnx"],
    ["validate", "model.onnx", "model.onnx"],
    ["validate", "damaged", "model.onnx"],
    ["validate", "good", "nowhere.onnx"],
    ["validate", "good", "heat.npy"],
    ["validate", "good", "good"],
    ["validate", "good", "samples/models/pose.onnx"],
    ["validate", "good", "model.onnx", "--workers", "0"],
    ["validate", "good", "model.onnx", "--min-cosine", "heat:0.9"],
    ["validate", "good", "model.onnx", "--min-cosine", "nan"],
    ["validate", "good", "model.onnx", "--min-cosine", "0.9", "--min-cosine", "maps:0.8"],
    ["inspect", "nowhere"],
    ["record", "model.onnx", "images", "--simulate", "NCHW", "--out", "model.onnx"],
    ["inspect", "images"],
    ["inspect", "damaged"],
    ["inspect", "heat.npy"],
    ["inspect", "--spec", "{"],
    ["inspect", "--spec", "{}"],
    ["inspect", "--spec", '{"shape": 3}'],
    ["inspect", "--spec", '{"a": {"shape": [1], "colour": 1}}'],
    ["inspect", "--spec", '{"a": 1}'],
    ["compare", "nowhere", "board_layers", "--model", "model.onnx"],
    ["compare", "onnx_layers", "images", "--model", "model.onnx"],
    ["compare", "onnx_layers", "heat.npy", "--model", "model.onnx"],
    ["compare", "onnx_layers", "archive.npz", "--model", "model.onnx"],
    ["compare", "onnx_layers", "board_layers", "--model", "nowhere.onnx"],
    ["compare", "onnx_layers", "board_layers", "--model", "heat.npy"],
    ["compare", "onnx_layers", "board_layers", "--model", "samples/models/pose.onnx"],
    ["compare", "onnx_layers", "board_layers", "--model", "model.onnx", "--frame", "-1"],
    ["compare", "onnx_layers", "board_layers", "--model", "model.onnx", "--min-snr-db", "nan"],
    ["compare", "onnx_layers", "good", "--model", "model.onnx", "--frame", "5"],
    ["identify", "nowhere", "heat.npy"],
    ["identify", "heat.bin", "heat.bin"],
    ["identify", "heat.bin", "archive.npz"],
    ["identify", "heat.bin", "pickled.npy"],
    ["identify", "heat.bin", "heat.npy", "--axes", "NC"],
    ["identify", "heat.bin", "heat.npy", "--dtype", "int9"],
    ["identify", "heat.npy", "heat.npy", "--dtype", "int8"],
    ["identify", "spec.json", "heat.npy"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x47", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "int8"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHC", "--dtype", "int8"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "text"],
    ["repack", "heat.npy", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW", "--to", "NHWC", "--dtype", "int8"],
    ["repack", "nowhere", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "int8"],
    ["repack", "heat.bin", "no/o.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "int8"],
    ["record", "model.onnx", "nowhere", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "good", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "spec.json", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "images", "torn.png", "--simulate", "NHWC", "--out", "never"],
    ["record", "nowhere.onnx", "images", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "good"],
    ["record", "model.onnx", "images", "--simulate", "NHWC:float99", "--out", "never"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--limit", "0"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--color", "CMYK"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--std", "0"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--mean", "1,2"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--axes", "NHWC"],
)  # fmt: skip


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    np.savez("archive.npz", a=np.zeros(3))
    np.save("pickled.npy", np.array([{}], object), allow_pickle=True)
    Path("torn.png").write_bytes(Path("images/0.png").read_bytes()[:60])
    before = sorted(here.rglob("*"))
    status, out, err = ran(capsys, *arguments)
    command, *sentence = err.splitlines()
    assert status == 2 and out == "" and command == shlex.join(["npu-layout", *arguments])
    assert len(sentence) == 1 and sentence[0].startswith(f"npu-layout {arguments[0]}: ") and len(sentence[0]) > 40
    assert "defect" not in err and "Error" not in err, err
    assert sorted(here.rglob("*")) == before or arguments[:4] == ["record", "model.onnx", "images", "torn.png"]


USAGE = (
    ["nothing"],
    ["validate"],
    ["validate", "good"],
    ["validate", "good", "model.onnx", "--min-cosine", "much"],
    ["validate", "good", "model.onnx", "--workers", "many"],
    ["inspect"],
    ["inspect", "good", "--spec", "{}"],
    ["repack", "a", "b", "--shape", "1x-2", "--from", "NCHW", "--to", "NHWC"],
    ["repack", "a", "b", "--shape", "1x2x3x4", "--from", "NCHX16d", "--to", "NHWC"],
    ["repack", "a", "b", "--shape", "1x2x3x4", "--from", "NC1HWC2", "--to", "NHWC"],
    ["repack", "a", "b", "--shape", "1x2x3x4", "--from", "NC1HWC2:x", "--to", "NHWC"],
    ["record", "model.onnx", "images", "--out", "x"],
    ["record", "model.onnx", "images", "--out", "x", "--simulate", "NHWC", "--engine", "a:b"],
    ["record", "model.onnx", "images", "--out", "x", "--simulate", "NHWC", "--mean", "grey"],
    ["compare", "onnx_layers", "board_layers"],
    ["completion", "fish"],
)


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    err = capsys.readouterr().err
    assert end.value.code == 2 and err.startswith("usage: npu-layout") and ": error: " in err.splitlines()[-1]


def test_no_verb_and_one_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in (([], "Show where a layout stores each element"), (["valdate", "x"], "Is it validate?\n")):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capsys.readouterr()
        assert end.value.code == 2 and not out and says in err


def test_the_librarys_own_words_reach_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    for layout, says in (("NCHX16d", "block 16d has no axis"), ("NC1HWC2", "needs block="), ("K210", "64-byte rows")):
        with pytest.raises(SystemExit):
            main(["repack", "a", "b", "--shape", "1", "--from", layout, "--to", "N"])
        assert says in capsys.readouterr().err


def test_every_help_has_an_example_that_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran_verbs = set()
    for verb in cli.VERBS:
        with pytest.raises(SystemExit) as end:
            main([verb.name, "--help"])
        shown = capsys.readouterr().out
        assert end.value.code == 0 and verb.example in shown and verb.example.startswith(f"npu-layout {verb.name} ")
        arguments = shlex.split(verb.example.split(" > ")[0])[1:]
        assert cli.parser().parse_args(arguments).verb == verb.name
        if not verb.name.startswith("bench"):  # which take their time, and have their own tests
            assert ran(capsys, *arguments)[0] == 0, verb.name
            ran_verbs.add(verb.name)
    assert ran_verbs == {verb.name for verb in cli.VERBS} - {"bench", "bench-layouts"}
    repacked = np.load("heat_nhwc.npy")
    assert repacked.shape == (1, 46, 46, 57)


def test_the_readmes_commands_parse() -> None:
    page = (SAMPLES.parent / "docs" / "command_line.md").read_text()
    lines = re.findall(r"^(npu-layout .*?)(?: +#.*)?$", page, re.M)
    assert len(lines) > 6
    for line in lines:
        cli.parser().parse_args(shlex.split(line)[1:])


def test_the_parser_knows_every_verb_of_the_table() -> None:
    (verbs,) = (a for a in cli.parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert list(verbs.choices) == [verb.name for verb in cli.VERBS]


def test_interrupted(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("npu_layout.cli.validate.validate_many", interrupted)
    assert ran(capsys, "validate", "good", "model.onnx")[0] == 130


def test_a_defect_is_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object, **__: object) -> None:
        raise TypeError("not\nso")

    monkeypatch.setattr("npu_layout.cli.validate.validate_many", defect)
    status, _, err = ran(capsys, "validate", "good", "model.onnx")
    assert status == 2 and re.search(
        r"TypeError: not so \(test_command.py:\d+\); this is a defect", err.splitlines()[1]
    )


def test_as_a_process(here: Path) -> None:
    assert started("validate", "good", "model.onnx").returncode == 0
    assert started("validate", "tree", "model.onnx").returncode == 1
    refused = started("validate", "nowhere", "model.onnx")
    assert refused.returncode == 2 and refused.stdout == "" and "Traceback" not in refused.stderr
    assert started("--version").stdout.startswith(f"npu_layout {nl.__version__}, kernels")


def test_a_closed_stream_is_not_written_to_the_other(here: Path) -> None:
    for closed, status in (("2>&-", 0), ("1>&-", 0), ("1>&- 2>&-", 0)):
        line = shlex.join([*COMMAND, "inspect", "good", "--json"])
        done = subprocess.run(
            ["bash", "-c", f"{line} {closed}"], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == status and "defect" not in done.stderr, done
        assert "1>" in closed or json.loads(done.stdout)["frames"] == 5, done


def test_what_the_system_says_of_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = ran(capsys, "identify", "nowhere", "heat.npy")
    assert err.splitlines()[1:] == ["npu-layout identify: nowhere: No such file or directory"]


def test_a_reader_who_has_seen_enough(here: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen([*COMMAND, "inspect", "good"], stdout=write, stderr=subprocess.PIPE, text=True) as process:
        os.close(write)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 141 and err == "npu-layout inspect good\n"


@pytest.mark.alone
def test_ctrl_c(here: Path, board: Board) -> None:
    board.recording().save("many/0")
    for i in range(1, 2000):  # more than any machine judges before the signal comes
        shutil.copytree("many/0", f"many/{i}", copy_function=os.link)
    command = [*COMMAND, "validate", "many", "model.onnx", "--workers", "2"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored by what runs in the background
    ) as process:
        assert process.stderr is not None and process.stderr.readline().startswith("npu-layout validate")
        try:
            process.wait(timeout=1.5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "" and "Traceback" not in err, err


def test_names_that_the_terminal_cannot_show(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree("good", "gut \u00fc \udcff")
    shown = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert main(["export", "gut \u00fc \udcff", "aus \u00fc", "--form", "raw"]) == 0
    shown.seek(0)
    assert shown.read() == "aus \\xfc: 5 frames\n"


def test_a_verb_that_would_end_the_program_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaves(options: object) -> int:
        raise SystemExit

    monkeypatch.setattr("npu_layout.cli.inspect.run", leaves)
    status, out, err = ran(capsys, "inspect", "good")
    assert status == 2 and not out and err.splitlines()[-1] == "npu-layout inspect: the project's code called exit()"


def test_what_is_refused_is_one_line_whatever_the_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("no\x1b[2J", "no\u202esuch", "no\u2069 such"):
        status, out, err = ran(capsys, "inspect", name)
        last = err.splitlines()[-1]
        assert status == 2 and not out and last.startswith("npu-layout inspect: ") and "\x1b" not in last
        assert isolated(f"{name}: no such file or folder") in last and not outside_of_isolates(last)


def test_options_are_named_as_they_are_typed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a message asks for an argument or begins with one; the verb has no option for all of them."""
    for text, wanted in (
        (lambda: f"give {argument('model')} or {argument('form')}", "give --model or --form"),
        (lambda: f"give {argument('out')}, form= is {argument}", f"give out=, form= is {argument}"),
        (lambda: "form: expected one of raw, onnx", "--form: expected one of raw, onnx"),
        (lambda: "out: model: x", "out: model: x"),
        (lambda: "TensorSpec(model=3), x.model= and model=", "TensorSpec(model=3), x.model= and model="),
    ):

        def refuses(options: object, text: Callable[[], str] = text) -> int:
            raise nl.NpuLayoutError(text())

        monkeypatch.setattr("npu_layout.cli.exporting.run", refuses)
        status, _, err = ran(capsys, "export", "good", "theirs", "--form", "raw")
        assert status == 2 and err.splitlines()[-1] == f"npu-layout export: {wanted}"
    assert argument("model") == "model="


def test_a_models_absence_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (
        ["import", "dumps", "out", "--form", "onnx"],
        ["export", "good", "out", "--form", "onnx"],
        ["compare", "onnx_layers", "board_layers"],
        ["calibration", "images", "--for", "rknn", "--out", "out"],
    ):
        status, _, err = ran(capsys, *verb, "--model", "nowhere.onnx")
        assert status == 2 and err.endswith(": --model: nowhere.onnx: expected a file, got nothing\n"), err
        assert not Path("out").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["validate", "r", "m.onnx", "--min-snr_db", "3"], "--min-snr_db 3. Is it --min-snr-db?"),
        (["validate", "r", "m.onnx", "--mincosine=3"], "--mincosine=3. Is it --min-cosine?"),
        (
            ["record", "m.onnx", "clip.mp4", "--simulate", "NCHW", "--out", "o", "--mean", "0.5", "0.4", "0.3"],
            "0.4 0.3. Numbers have commas between: --mean 0.5,0.4,0.3",
        ),
        (
            ["record", "m.onnx", "clip.mp4", "--simulate", "NCHW", "--std", "58", "57.5", "--out", "o"],
            "57.5. Numbers have commas between: --std 58,57.5",
        ),
        (["explain", "NCHW", "1x3x2x2", "--svg", "x.svg"], "--svg x.svg"),
        (["inspect", "a", "b"], "b"),
        (["inspect", "a", "7"], "7"),
    ],
)
def test_unknown_arguments_say_what_is_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    err = capsys.readouterr().err
    assert ended.value.code == 2 and err.startswith(f"usage: npu-layout {arguments[0]}")
    assert err.splitlines()[-1] == f"npu-layout {arguments[0]}: error: unrecognized arguments: {says}"
