"""npu-layout completion: print a shell's completion script."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ..errors import NpuLayoutError
from .command import parser

# The metavars of arguments that a shell completes as the name of a file.
FILES = {
    *("PATH", "FILE", "FOLDER", "RECORDING", "MODEL", "FRAMES", "BUFFER", "REFERENCE.npy", "IN", "OUT"),
    *("DUMPS_A", "DUMPS_B"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(options: argparse.Namespace) -> int:
    """Print the script and return 0."""
    try:
        import shtab
    except ImportError:
        raise NpuLayoutError("completion needs shtab: pip install 'npu-layout[cli]'") from None
    whole = parser()
    for action in actions(whole):
        if action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, options.shell))
    return 0


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield every argument of a parser and of its verbs."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from actions(one)
