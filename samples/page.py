"""A page in the browser that shows a stream: its newest picture, and what its stages take.

    page = Page("127.0.0.1", 8000)  # page.url is what to open
    page.show(picture, {"stages": ...})  # again and again; nothing is encoded while nobody looks
    page.close()

If it listens on another address than the loopback interface's, it makes a token, which the URL contains.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import cv2
import numpy as np

HTML = Path(__file__).resolve().with_name("page.html")
QUALITY = 80  # of the JPEG pictures
PATIENCE = 5.0  # seconds for a viewer that does not read
_BOUNDARY = "picture"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Page:
    """Serves the newest picture and statistics to any number of viewers; a slow one gets fewer pictures.

    host, port: where to listen; port 0 takes a free one. OSError if that cannot be had.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.token = "" if is_loopback(host) else secrets.token_urlsafe(16)
        self._change = threading.Condition()
        self._picture: np.ndarray | None = None
        self._number, self._encoded, self._jpeg = 0, -1, b""
        self._statistics: dict[str, Any] = {}
        self.closed = False
        server = _Server6 if ":" in host else _Server
        self._server = server((host, port), _Handler)
        self._server.page = self
        self.host, self.port = host, self._server.server_address[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="page", daemon=True)
        self._thread.start()

    def show(self, picture: np.ndarray, statistics: dict[str, Any]) -> None:
        """Make a picture, (H, W, 3) uint8 BGR, the newest one. It is kept, not copied."""
        with self._change:
            self._picture, self._statistics = picture, statistics
            self._number += 1
            self._change.notify_all()

    def statistics(self) -> bytes:
        """The newest statistics as JSON."""
        with self._change:
            return json.dumps({**self._statistics, "number": self._number}).encode()

    def newest(self, seen: int) -> tuple[int, bytes]:
        """The number and the JPEG of the newest picture, once it is another than `seen`; empty when the page closes."""
        with self._change:
            self._change.wait_for(lambda: self.closed or self._number != seen)
            if self.closed:
                return seen, b""
            number, picture = self._number, self._picture
            if self._encoded == number:
                return number, self._jpeg
        good, content = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        jpeg = content.tobytes() if good else b""
        with self._change:
            if number > self._encoded:
                self._encoded, self._jpeg = number, jpeg
        return number, jpeg

    def allows(self, host: str, token: str) -> bool:
        """Whether a request may be answered: with the token, or, on the loopback interface, for its own name.

        Another name there is a site that had its name lead to this machine (DNS rebinding).
        """
        if self.token:
            return hmac.compare_digest(token.encode(), self.token.encode())
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return is_loopback(name)

    def close(self) -> None:
        """Let the viewers go, and stop listening. A second call does nothing."""
        with self._change:
            if self.closed:
                return
            self.closed = True
            self._change.notify_all()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close waits for them
    page: Page

    def __init__(self, *arguments: Any) -> None:
        self._lock, self._sockets = threading.Lock(), set()  # type: tuple[Any, set[socket.socket]]
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._sockets.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection, so that no thread waits for a viewer."""
        with self._lock:
            for one in self._sockets:
                with suppress(OSError):  # it is closed already
                    one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A viewer that goes away is no error."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        token = parse_qs(url.query).get("token", [""])[0]
        if not self.server.page.allows(self.headers.get("Host", ""), token):
            self._answer(403, "text/plain", b"forbidden: open the URL that the program printed\n")
            return
        routes = {"/": self._html, "/pictures": self._pictures, "/statistics": self._json}
        route = routes.get(url.path)
        if route is None:
            self._answer(404, "text/plain", b"not found\n")
        else:
            route()

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(content)

    def _html(self) -> None:
        self._answer(200, "text/html; charset=utf-8", HTML.read_bytes())

    def _json(self) -> None:
        self._answer(200, "application/json", self.server.page.statistics())

    def _pictures(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        seen = 0
        while True:
            seen, jpeg = self.server.page.newest(seen)
            if not jpeg:
                return
            head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
            self.wfile.write(head.encode() + jpeg + b"\r\n")

    def log_message(self, format: str, *values: Any) -> None:
        """Say nothing: the stream's own lines are on the terminal."""
