"""Read arguments, write files, show progress and names: what every other wing uses.

Imports the standard library and numpy, and :mod:`npu_layout.errors`.
"""

from . import interpreter  # noqa: F401  (first: nothing else may load if it refuses)
from .arguments import (
    check_fields,
    check_used,
    flag,
    instance,
    items_of,
    iterates,
    naming,
    nearest,
    one_of,
    path_of,
    path_text,
    shown,
    text_keys,
    text_of,
    wanted_copy,
)
from .callers import warn_caller
from .entry_points import Plugin, plugin, plugins
from .files import PathLike, json_text, lfs_pointer, no_file, whole, whole_folder, write_text
from .foreign_arrays import foreign_array
from .keywords import checked_call
from .late_names import late
from .npy import NPY_HEADER, check_npy_size, errors_named, npy_bytes, parse_npy, parsed
from .number_arguments import (
    array_of,
    counted,
    finite,
    integer,
    integers,
    numbers_of,
    per_channel,
    plain_array,
    real_number,
    real_numbers,
    thread_count,
    whole_number,
    whole_numbers,
    widened,
)
from .owning import not_copied
from .process_locks import ProcessLock
from .progress import Steps, steps, track
from .safe_locks import safe_lock
from .spelling import argument, spelt
from .text_direction import isolated, many, quoted
from .version import __version__

__all__ = [
    "NPY_HEADER",
    "PathLike",
    "Plugin",
    "ProcessLock",
    "Steps",
    "__version__",
    "argument",
    "array_of",
    "check_fields",
    "check_npy_size",
    "check_used",
    "checked_call",
    "counted",
    "errors_named",
    "finite",
    "flag",
    "foreign_array",
    "instance",
    "integer",
    "integers",
    "isolated",
    "items_of",
    "iterates",
    "json_text",
    "late",
    "lfs_pointer",
    "many",
    "naming",
    "nearest",
    "no_file",
    "not_copied",
    "npy_bytes",
    "numbers_of",
    "one_of",
    "parse_npy",
    "parsed",
    "path_of",
    "path_text",
    "per_channel",
    "plain_array",
    "plugin",
    "plugins",
    "quoted",
    "real_number",
    "real_numbers",
    "safe_lock",
    "shown",
    "spelt",
    "steps",
    "text_keys",
    "text_of",
    "thread_count",
    "track",
    "wanted_copy",
    "warn_caller",
    "whole",
    "whole_folder",
    "whole_number",
    "whole_numbers",
    "widened",
    "write_text",
]
