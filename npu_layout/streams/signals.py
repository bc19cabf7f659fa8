"""End a stream on SIGTERM as on Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any


class Stopped:
    """Calls a function on SIGTERM, while nobody else has a handler for it, and only from the main thread."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop, self._caught = stop, False

    def catch(self) -> None:
        """Catch the signal from now on."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._called)
            self._caught = True

    def restore(self) -> None:
        """Leave it to the system again."""
        if self._caught and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._caught = False

    def _called(self, number: int, frame: Any) -> None:
        # In the main thread, which may have the stream's lock: another thread asks for the end.
        threading.Thread(target=self._stop, name="npu_layout stream stop", daemon=True).start()
