"""A headless Chromium that shows a file and answers: over its DevTools pipe, with the standard library alone."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell")
MISSING = (
    "No Chromium was found, and the report's page has to be looked at in one. On Debian: apt install chromium; on "
    "Ubuntu: snap install chromium; or set CHROMIUM to the path of a Chromium or Chrome."
)
SILENT = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check"),
    *("--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--force-color-profile=srgb"),
    "--remote-debugging-pipe",
)
# DevTools speaks through descriptors 3 and 4 of the browser.
_LAUNCH = "import os,sys; r,w=map(int,sys.argv[1:3]); os.dup2(r,3); os.dup2(w,4); os.execv(sys.argv[3],sys.argv[3:])"


def chromium() -> str:
    """Path of the browser; AssertionError that says how to install it."""
    given = os.environ.get("CHROMIUM")
    path = next(filter(None, map(shutil.which, [given] if given else NAMES)), None)
    assert path, MISSING
    return path


class Browser:
    """A context manager. `console` and `requests` hold what pages said, and every address that they asked for."""

    def __init__(self, profile: Path) -> None:
        self._number, self._rest, self._session = 0, b"", ""
        self.console: list[str] = []
        self.requests: list[str] = []
        command = [chromium(), *SILENT, f"--user-data-dir={profile}", "about:blank"]
        (their_in, self._out), (self._in, their_out) = (self._pipe() for _ in range(2))
        self._log = profile / "chromium.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LAUNCH, str(their_in), str(their_out), *command],
                pass_fds=(their_in, their_out),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(their_in)
        os.close(their_out)

    @staticmethod
    def _pipe() -> list[int]:
        """Read and write end, both above what dup2 takes."""
        low = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
        for end in low:
            os.close(end)
        return high

    def __enter__(self) -> Browser:
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One DevTools command and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return dict(answer["result"])

    def _next(self, seconds: float = 60) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"Chromium said nothing for {seconds} s"
            more = os.read(self._in, 1 << 20)
            assert more, f"Chromium ended ({self._process.wait(10)}): {self._log.read_text(errors='replace')[-2000:]}"
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        event = dict(json.loads(line))
        said = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(said))
        return event

    def show(self, path: Path, width: int, dark: bool = False, height: int = 900) -> None:
        """Load a file in a window of `width` CSS pixels."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=path.absolute().as_uri())
        end = time.monotonic() + 60
        while self.run("document.readyState") != "complete" or not self.run("document.body != null"):
            assert time.monotonic() < end, f"{path} was not loaded in 60 s"
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> np.ndarray:
        """The whole page as PNG, and as uint8 (H,W,3) BGR."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))
        image = cv2.imread(str(path))
        assert image is not None
        return np.asarray(image)

    def pdf(self, path: Path) -> None:
        """As printed, on A4."""
        page = self.ask("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
        path.write_bytes(base64.b64decode(page["data"]))
