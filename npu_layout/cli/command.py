"""Parse the arguments of ``npu-layout VERB`` and run the verb.

A verb's module is imported when the verb runs or shows its own help.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from .. import kernels
from ..errors import NpuLayoutError
from ..support import __version__, isolated, nearest, one_of, spelt


class Verb(NamedTuple):
    """A verb of the command line.

    `help` is its sentence; `module` is its module of this package, with ``add_options`` and ``run``; `echo` is whether
    the command is printed to stderr before it runs.
    """

    name: str
    help: str
    example: str
    module: str
    echo: bool = True


VERBS = (
    Verb(
        "record",
        "Run an accelerator on images and videos, and record what it returns.",
        "npu-layout record samples/models/pose.onnx samples/data/walk.mp4 --mean 128 --std 256 --limit 8 "
        "--simulate NCHW16c:int8 --out recorded",
        "record",
    ),
    Verb(
        "inspect",
        "Show what a recording, a model or a TensorSpec contains.",
        "npu-layout inspect recorded",
        "inspect",
    ),
    Verb(
        "validate",
        "Compare recordings with the ONNX model, and report why they differ.",
        "npu-layout validate recorded samples/models/pose.onnx --min-cosine pose:0.99 --junit report.xml",
        "validate",
    ),
    Verb(
        "decode",
        "Show what a detector's head reads from a recording, and draw it on the frames.",
        "npu-layout decode detected --head head.json --frames out",
        "decoding",
    ),
    Verb(
        "compare",
        "Compare two tools' dumps of a network layer by layer, and name the first layer that really differs.",
        "npu-layout compare onnx_layers board_layers --model model.onnx",
        "compare",
    ),
    Verb(
        "identify",
        "Find the layout and the dtype of a buffer from the tensor that it encodes.",
        "npu-layout identify heat.bin heat.npy --dtype int8",
        "identify",
    ),
    Verb(
        "repack",
        "Convert the file of a tensor to another layout.",
        "npu-layout repack heat.bin heat_nhwc.npy --shape 1x57x46x46 --from NC1HWC2:16 --to NHWC --dtype int8",
        "repack",
    ),
    Verb(
        "export",
        "Write a recording as the files of another tool.",
        "npu-layout export recorded dumps --form raw",
        "exporting",
    ),
    Verb(
        "import",
        "Make a recording from the files of another tool.",
        "npu-layout import dumps imported --form raw",
        "importing",
    ),
    Verb(
        "calibration",
        "Write frames as a toolchain's calibration set, with the preprocessing of the board.",
        "npu-layout calibration samples/data/walk.mp4 --model samples/models/pose.onnx --mean 128 --std 256 --every 10 "
        "--for rknn --out calibration",
        "calibration",
    ),
    Verb(
        "explain",
        "Show where a layout stores each element, in numbers and as a picture.",
        "npu-layout explain NCHW16c 1x57x46x46 --at 0,17,2,3 --compare NHWC --picture memory.svg",
        "explain",
    ),
    Verb(
        "track",
        "Run a script and show which calls lose the memory format of its Tensors.",
        "npu-layout track samples/lost_layout.py --kept",
        "track",
        echo=False,
    ),
    Verb(
        "bench",
        "Compare the kernels with memcpy and with every other library that is installed; results are checked first.",
        "npu-layout bench b --quick --no-peers",
        "bench",
        echo=False,
    ),
    Verb(
        "bench-layouts",
        "Measure the same operators in each memory format, with sizes for each cache.",
        "npu-layout bench-layouts --quick --operators gray argmax",
        "bench_layouts",
        echo=False,
    ),
    Verb(
        "completion",
        "Print a shell's completion script.",
        "npu-layout completion bash > ~/.local/share/bash-completion/completions/npu-layout",
        "completion",
        echo=False,
    ),
)
_BY_NAME = {verb.name: verb for verb in VERBS}


class _Verbs(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The verbs' parsers. The chosen one gets its options before it parses."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        _fill(self.choices[values[0]], values[0])
        super().__call__(parser, namespace, values, option_string)


def _fill(one: argparse.ArgumentParser, name: str) -> None:
    """Import the verb's module, and add its options."""
    if one.get_default("run") is None:
        module = importlib.import_module(f".{_BY_NAME[name].module}", __package__)
        module.add_options(one)
        flags = frozenset(action.dest for action in one._actions if action.option_strings)
        one.set_defaults(run=module.run, flags=flags)


def parser(whole: bool = True) -> argparse.ArgumentParser:
    """Return the command line's parser.

    If not `whole`, a verb's parser has no options until it parses.
    """
    made = argparse.ArgumentParser(
        prog="npu-layout",
        description="Buffers of neural network accelerators.",
        epilog="exit status: 0 for a match or finished work, 1 for a mismatch, 2 for bad usage or input",
    )
    made.add_argument("--version", action="version", version=f"npu_layout {__version__}, kernels {kernels.active()}")
    verbs = made.add_subparsers(dest="verb", required=True, metavar="verb", action=_Verbs)
    for verb in VERBS:
        texts: dict[str, Any] = dict(help=verb.help, description=verb.help, epilog=f"example:\n  {verb.example}")
        one = verbs.add_parser(verb.name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
        if whole:
            _fill(one, verb.name)
    return made


def _parsed(given: list[str]) -> argparse.Namespace:
    """Return the arguments; SystemExit, after what helps, if there is no verb or one that is none."""
    made = parser(whole=False)
    if not given:
        made.print_help(sys.stderr)
        raise SystemExit(2)
    try:
        if not given[0].startswith("-"):
            one_of("verb", given[0], tuple(_BY_NAME))
    except NpuLayoutError as error:
        made.error(str(error))
    options, unknown = made.parse_known_args(given)
    if unknown:
        verb = next(action for action in made._actions if isinstance(action, _Verbs)).choices[options.verb]
        flags = [flag for action in verb._actions for flag in action.option_strings]
        verb.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(given, unknown, flags)}")
    return options


def _meant(given: Sequence[str], unknown: Sequence[str], flags: Sequence[str]) -> str:
    """Return the end of a message: the option that the first unknown word is nearly, or numbers that need commas."""
    first = unknown[0]
    if first.startswith("--"):
        return nearest(first.partition("=")[0], flags)
    before = [*given[: given.index(first)]] if first in given else []
    numbers = [word for word in (*before[-1:], *unknown) if _is_number(word)]
    option = before[-2] if len(before) > 1 else ""
    if len(numbers) == len(unknown) + 1 and option in flags:
        return f". Numbers have commas between: {option} {','.join(numbers)}"
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status.

    It is 0 for a match, 1 for a mismatch, 2 for bad input (SystemExit for bad usage), and 130 if it is interrupted.
    """
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed, as by 2>&-: print would take the other one in its place
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    options = _parsed(given)
    options.command = shlex.join(["npu-layout", *given])
    # A damaged file is reported in one sentence, without what OpenCV and FFmpeg print about it.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    if getattr(sys.stdout, "errors", "") in ("strict", "surrogateescape"):  # what a terminal cannot show is escaped
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if _BY_NAME[options.verb].echo:
            print(options.command, file=sys.stderr)
        with spelt({name: _typed(name) for name in options.flags}):
            status = int(options.run(options))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:  # a project's own code, whose status would not be this command's
        return _refuse(options.verb, f"the project's code called exit({'' if end.code is None else repr(end.code)})")
    except BrokenPipeError:  # the reader of stdout has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        return _refuse(options.verb, _of_file(error))
    except NpuLayoutError as error:
        return _refuse(options.verb, _of_option(str(error), options.flags))
    except Exception as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        where = "" if at is None else f" ({PurePath(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno})"
        return _refuse(options.verb, f"{type(error).__name__}: {error}{where}; this is a defect of npu_layout")


def _of_file(error: OSError) -> str:
    """Return what the system says of a file, without its number: ``x.npy: No such file or directory``."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{os.fsdecode(error.filename)}: {error.strerror}"


def _of_option(text: str, flags: Collection[str]) -> str:
    """Return a message with the argument in front of its colon as it is typed, if that is an option of the verb."""
    name, colon, rest = text.partition(": ")
    return f"{_typed(name)}{colon}{rest}" if colon and name in flags else text


def _typed(name: str) -> str:
    """Return how an argument is typed: min_cosine as --min-cosine."""
    return f"--{name.replace('_', '-')}"


def _refuse(verb: str, why: str) -> int:
    print(f"npu-layout {verb}: {isolated(' '.join(why.split()))}", file=sys.stderr)
    return 2
