"""Exceptions of a signal's handler at every place where they may come."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from npu_layout.streams import changes
from npu_layout.support import safe_locks

OWN = os.path.dirname(changes.__file__)
OTHERS = (safe_locks.__file__, threading.__file__, concurrent.futures._base.__file__)
LIMIT = 10.0  # seconds for what ends


class Interrupt(BaseException):
    pass


def interrupted(act: Callable[[], Any], n: int, depth: int = 1) -> bool:
    """Call `act`, and raise Interrupt at the n-th place where Python handles a signal; whether there was one.

    Those are the begin of a function and the end of a call of C, in the code of streams and in what it calls of
    safe_locks, threading's and of futures', to `depth` calls. A profiler's function is called there too.
    """
    left = n

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event not in ("call", "c_return") or argument is sys.setprofile:
            return
        files, caller = [frame.f_code.co_filename], frame.f_back
        while caller is not None and len(files) <= depth:
            files.append(caller.f_code.co_filename)
            caller = caller.f_back
        if files[0].startswith(OWN) or (files[0] in OTHERS and any(file.startswith(OWN) for file in files)):
            left -= 1
            if left == 0:
                raise Interrupt

    sys.setprofile(profile)
    try:
        act()
    except Interrupt:
        return True
    finally:
        sys.setprofile(None)
    return left <= 0


def ends(act: Callable[[], Any]) -> bool:
    """Whether `act` ends in another thread."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(LIMIT)
    return not thread.is_alive()
