"""The sample's page in the browser, by real requests."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import cv2
import numpy as np
import pytest

from tests.support.paths import ROOT

SAMPLES = ROOT / "samples"


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(SAMPLES))
    import page

    made = []

    def make(*arguments):
        made.append(page.Page(*arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "page"]


def asked(page, path, host=None, close=True):
    """Status and content of a request; the connection too if it stays open."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    if not close:
        return connection, answer
    content = answer.read()
    connection.close()
    return answer.status, content


def picture_in(answer):
    """The next JPEG of a stream, decoded."""
    assert answer.fp.readline() == b"--picture\r\n"
    assert answer.fp.readline() == b"Content-Type: image/jpeg\r\n"
    length = int(answer.fp.readline().split()[1])
    assert answer.fp.readline() == b"\r\n"
    content = answer.fp.read(length)
    assert answer.fp.read(2) == b"\r\n"
    return cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)


def gray(level):
    return np.full((32, 48, 3), level, np.uint8)


def test_page_statistics_and_pictures(pages):
    page = pages("127.0.0.1", 0)
    assert page.url == f"http://127.0.0.1:{page.port}/" and page.token == ""
    status, content = asked(page, "/")
    assert status == 200 and b"<title>npu_layout: stream</title>" in content
    page.show(gray(50), {"counts": {"shown": 1}})
    status, content = asked(page, "/statistics")
    assert status == 200 and json.loads(content) == {"counts": {"shown": 1}, "number": 1}
    connection, answer = asked(page, "/pictures", close=False)
    assert answer.status == 200 and "multipart/x-mixed-replace" in answer.headers["Content-Type"]
    for level in (50, 90, 130):
        if level != 50:
            page.show(gray(level), {})
        assert abs(int(picture_in(answer).mean()) - level) <= 1
    connection.close()


def test_a_slow_viewer_gets_the_newest_picture_and_holds_nobody_up(pages):
    page = pages("127.0.0.1", 0)
    page.show(gray(1), {})
    connection, answer = asked(page, "/pictures", close=False)  # and reads nothing
    fast, quick = asked(page, "/pictures", close=False)
    noise = np.random.default_rng(0).integers(0, 256, (400, 600, 3), np.uint8)
    began = time.monotonic()
    for _ in range(200):
        page.show(noise, {})
    assert time.monotonic() - began < 1
    page.show(gray(200), {})
    while picture_in(quick).mean() < 195:
        pass
    seen = 0
    while picture_in(answer).mean() < 195:
        seen += 1
    assert seen < 60  # of 202; what lay in the socket's buffers, and then the newest
    connection.close(), fast.close()


@pytest.mark.parametrize("path", ["/nothing", "/../webcam.py", "/page.html", "//etc/passwd", "/%2e%2e/webcam.py"])
def test_other_paths_are_not_found(pages, path):
    assert asked(pages("127.0.0.1", 0), path)[0] == 404


@pytest.mark.parametrize("path", ["/", "/statistics", "/pictures"])
def test_another_name_for_this_machine_is_refused(pages, path):
    """A site's page may reach the loopback interface by a name of its own, not by ours."""
    page = pages("127.0.0.1", 0)
    for host in ("evil.example", f"evil.example:{page.port}", "127.0.0.1.evil.example", "[::1", ""):
        assert asked(page, path, host)[0] == 403, host
    for host in ("localhost", f"localhost:{page.port}", f"127.0.0.1:{page.port}", f"[::1]:{page.port}"):
        assert asked(page, "/", host)[0] == 200, host


def test_elsewhere_a_token_is_needed(pages):
    page = pages("0.0.0.0", 0)
    assert len(page.token) >= 20 and page.url.endswith(f"?token={page.token}")
    page.show(gray(9), {})
    for path in ("/", "/statistics", "/pictures"):
        for wrong in ("", "?token=", "?token=x", f"?token={page.token}x", "?token=%C3%A4", f"?other={page.token}"):
            assert asked(page, path + wrong, "camera.example")[0] == 403
    assert asked(page, f"/statistics?token={page.token}", "camera.example")[0] == 200


def test_close_ends_every_viewer(pages):
    page = pages("127.0.0.1", 0)
    before = threading.active_count()
    open_ones = [asked(page, "/pictures", close=False) for _ in range(3)]  # wait for a first picture
    assert threading.active_count() >= before + 3
    began = time.monotonic()
    page.close()
    page.close()
    assert time.monotonic() - began < 2 and threading.active_count() == before - 1
    for connection, answer in open_ones:
        assert answer.read() == b""
        connection.close()


def test_a_port_that_is_taken(pages):
    with pytest.raises(OSError):
        pages("127.0.0.1", pages("127.0.0.1", 0).port)


@pytest.mark.alone
def test_the_webcam_shows_its_stream(tmp_path):
    command = [
        sys.executable,
        str(SAMPLES / "webcam.py"),
        "--output",
        str(tmp_path),
        "--page",
        "0",
        "--max-frames",
        "60",
    ]
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=-1,
                          stderr=-1, text=True) as running:  # fmt: skip
        lines = []
        while not lines or not lines[-1].startswith("The page: "):
            lines.append(running.stdout.readline())
            assert lines[-1], running.stderr.read()
        url = urlsplit(lines[-1].split()[-1])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
        connection.request("GET", "/pictures")
        first = picture_in(answer := connection.getresponse())
        assert first.shape == (480, 640, 3)
        other = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
        other.request("GET", "/statistics")
        found = json.loads(other.getresponse().read())
        assert found["source"] == "walk.mp4" and found["counts"]["captured"] >= found["counts"]["shown"] >= 1
        assert {"preprocess", "infer + pack", "unpack", "decode", "draw", "write"} <= set(found["stages"])
        assert any((picture_in(answer) != first).any() for _ in range(5))
        out, err = running.communicate(timeout=60)  # the viewers are still there
        connection.close(), other.close()
    assert running.returncode == 0 and re.search(r"60 of 60 frames", out), err
