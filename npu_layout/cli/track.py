"""npu-layout track: run a script, and list the calls that lose the memory format of its Tensors."""

from __future__ import annotations

import argparse
import builtins
import contextlib
import io
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..arrays import LayoutReport, shown, tracker
from ..errors import NpuLayoutError
from ..support import no_file
from . import console

_COLUMNS = ("", "where", "call", "formats", "bytes copied", "times", "fix")
_OWN_FILES = {__file__, tracker.__file__}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON; what the script prints goes to stderr")
    parser.add_argument("script", metavar="FILE", help="a Python script; it runs as python would run it")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the script's own arguments")


def run(options: argparse.Namespace) -> int:
    """Return 0 if no format is lost, 1 if one is, or the script's own status if that is not 0."""
    if not os.path.isfile(options.script):
        raise NpuLayoutError(f"{options.script}: {no_file(options.script)}")
    elsewhere = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with tracker.track_layout() as report, elsewhere:
        status = _run_script(options.script, options.arguments)
    if options.json:
        console.show_json({"status": status, **report.to_dict()})
    else:
        _show(report)
    return status or int(not report)


def _show(report: LayoutReport) -> None:
    rows = []
    for call in report.calls:
        within = f" (in {shown(call.within)})" if call.within else ""
        where, formats = f"{shown(call.file)}:{call.line}{within}", f"{call.inputs} -> {call.output}"
        rows.append((call.fault or "kept", where, call.call, formats, call.copied_nbytes, call.times, call.fix))
    if rows:
        console.table(_COLUMNS, rows)
    console.show(report.summary)


def _run_script(script: str, arguments: list[str]) -> int:
    """Run the script as ``python script arguments`` would; show what it raises, and return its exit status."""
    with _as_main(script, arguments) as main:
        try:
            with io.open_code(main.__file__) as file:
                code = compile(file.read(), main.__file__, "exec", dont_inherit=True)
            exec(code, vars(main))
        except SystemExit as end:
            return _status(end.code)
        except BaseException as error:
            _trim_tracebacks(error, set())
            sys.excepthook(type(error), error, error.__traceback__)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


@contextlib.contextmanager
def _as_main(script: str, arguments: list[str]) -> Iterator[Any]:
    """Make a module that is ``__main__`` within the block; unlike with runpy, ``sys.argv[0]`` is as given."""
    main = types.ModuleType("__main__")
    vars(main).update(__file__=os.path.abspath(script), __builtins__=builtins, __cached__=None)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv, sys.modules["__main__"] = [script, *arguments], main
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    try:
        yield main
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before


def _status(code: Any) -> int:
    """Return the exit status of ``sys.exit(code)``."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _trim_tracebacks(error: BaseException | None, seen: set[int]) -> None:
    """Remove frames of this library from the tracebacks of an exception, its causes and its contexts."""
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _without_own_frames(error.__traceback__)
        _trim_tracebacks(error.__context__, seen)
        error = error.__cause__


def _without_own_frames(at: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while at is not None:
        if at.tb_frame.f_code.co_filename not in _OWN_FILES:
            kept.append(at)
        at = at.tb_next
    chain = None
    for one in reversed(kept):
        chain = types.TracebackType(chain, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return chain
