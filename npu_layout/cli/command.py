"""The command line: npu-layout <verb>. No logic of its own."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Callable, NamedTuple

from .. import kernels
from ..bench import benchmark, formats
from ..errors import NpuLayoutError
from ..support import __version__
from . import convert, explain, look, prove, track


class Verb(NamedTuple):
    """What can be asked for, in one sentence and in one example."""

    name: str
    help: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], Any]
    run: Callable[[argparse.Namespace], int]


def _completion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def _complete(options: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise NpuLayoutError("completion needs shtab: pip install 'npu-layout[cli]'") from None
    whole = parser()
    for action in _actions(whole):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, options.shell))
    return 0


VERBS = (
    Verb(
        "record",
        "Record what an accelerator makes of frames.",
        "npu-layout record samples/models/pose.onnx samples/data/walk.mp4 --mean 128 --std 256 --limit 8 "
        "--simulate NCHW16c:int8 --out recorded",
        prove.record_options,
        prove.record,
    ),
    Verb(
        "inspect",
        "Show what a recording, a model or a TensorSpec holds.",
        "npu-layout inspect recorded",
        look.inspect_options,
        look.inspect,
    ),
    Verb(
        "validate",
        "Compare recordings with the ONNX model, and say why they differ.",
        "npu-layout validate recorded samples/models/pose.onnx --min-cosine pose:0.99 --junit report.xml",
        prove.validate_options,
        prove.validate,
    ),
    Verb(
        "identify",
        "Find how a buffer is stored, from the tensor that it stands for.",
        "npu-layout identify heat.bin heat.npy --dtype int8",
        look.identify_options,
        look.identify_buffer,
    ),
    Verb(
        "repack",
        "Store a tensor's file in another layout.",
        "npu-layout repack heat.bin heat_nhwc.npy --shape 1x57x46x46 --from NC1HWC2:16 --to NHWC --dtype int8",
        convert.repack_options,
        convert.repack_file,
    ),
    Verb(
        "export",
        "Write a recording in another tool's form.",
        "npu-layout export recorded dumps --form raw",
        convert.export_options,
        convert.export_recording,
    ),
    Verb(
        "import",
        "Make a recording of what another tool wrote.",
        "npu-layout import dumps imported --form raw",
        convert.import_options,
        convert.import_recording,
    ),
    Verb(
        "explain",
        "Say where a layout puts each element, in numbers and as a picture.",
        "npu-layout explain NCHW16c 1x57x46x46 --at 0,17,2,3 --compare NHWC --picture memory.svg",
        explain.explain_options,
        explain.explain_layout,
    ),
    Verb(
        "track",
        "Run a script and show which calls lose the memory format of its Tensors.",
        "npu-layout track samples/lost_layout.py --kept",
        track.track_options,
        track.track_script,
    ),
    Verb(
        "bench",
        str(benchmark.__doc__),
        "npu-layout bench b --quick --no-peers",
        benchmark.add_options,
        benchmark.run,
    ),
    Verb(
        "bench-layouts",
        str(formats.__doc__),
        "npu-layout bench-layouts --quick --operators gray argmax",
        formats.add_options,
        formats.run,
    ),
    Verb(
        "completion",
        "Print a shell's completion script.",
        "npu-layout completion bash > ~/.local/share/bash-completion/completions/npu-layout",
        _completion_options,
        _complete,
    ),
)
_FILES = {"PATH", "FILE", "FOLDER", "RECORDING", "MODEL", "FRAMES", "BUFFER", "REFERENCE.npy", "IN", "OUT"}


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    whole = argparse.ArgumentParser(
        prog="npu-layout",
        description="Buffers of neural network accelerators.",
        epilog="exit status: 0 it matches or is done, 1 it does not match, 2 usage or bad input",
    )
    whole.add_argument("--version", action="version", version=f"npu_layout {__version__}, kernels {kernels.active()}")
    verbs = whole.add_subparsers(dest="verb", required=True, metavar="verb")
    for verb in VERBS:
        texts: dict[str, Any] = dict(help=verb.help, description=verb.help, epilog=f"example:\n  {verb.example}")
        one = verbs.add_parser(verb.name, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
        verb.add_options(one)
        one.set_defaults(run=verb.run)
    return whole


def _actions(of: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in of._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _actions(one)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Exit status 0, 1 or 2: match, mismatch, usage or bad input; 130 where it is interrupted."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    options = parser().parse_args(given)
    options.command = shlex.join(["npu-layout", *given])
    # What OpenCV and FFmpeg print of a damaged file is said here in one sentence.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    if getattr(sys.stdout, "errors", "") == "strict":  # a name that the terminal cannot show is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if options.verb not in _QUIET:
            print(options.command, file=sys.stderr)
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (NpuLayoutError, OSError) as error:
        return _refuse(options.verb, str(error))
    except Exception as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        where = "" if at is None else f" ({PurePath(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno})"
        return _refuse(options.verb, f"{type(error).__name__}: {error}{where}; this is a defect of npu_layout")


_QUIET = {"completion", "bench", "bench-layouts", "track"}


def _refuse(verb: str, why: str) -> int:
    print(f"npu-layout {verb}: {' '.join(why.split())}", file=sys.stderr)
    return 2
