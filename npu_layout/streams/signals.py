"""End streams on SIGTERM as on Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any


class Stopped:
    """Calls a function on SIGTERM, while nobody else has a handler for it; it is caught from the main thread only.

    One handler serves all that caught it. When none is left the signal ends the process again, whichever thread the
    last one was restored in. `came`: whether a signal did.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop, self.came = stop, False

    def catch(self) -> None:
        """Catch the signal from now on."""
        if _is_main() and signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _called):
            _CAUGHT.add(self)
            signal.signal(signal.SIGTERM, _called)

    def restore(self) -> None:
        """Leave it to the others, or to the system; a second call does nothing."""
        _CAUGHT.discard(self)
        if not _CAUGHT and _is_main() and signal.getsignal(signal.SIGTERM) is _called:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


_CAUGHT: set[Stopped] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_CAUGHT.clear)  # the threads of its streams are the parent's


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _called(number: int, frame: Any) -> None:
    caught = list(_CAUGHT)  # other threads may restore theirs meanwhile
    stops = [one.stop for one in caught]
    for one in caught:
        one.came = True
    if stops:
        # In the main thread, which may have the streams' locks: another thread asks for the end.
        beside("stop", *stops)
    else:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def beside(what: str, *acts: Callable[[], None]) -> threading.Thread:
    """Call functions in a thread of their own, which is returned, for who may be called in the middle of anything."""

    def act() -> None:
        for one in acts:
            one()

    thread = threading.Thread(target=act, name=f"npu_layout stream {what}", daemon=True)
    thread.start()
    return thread
