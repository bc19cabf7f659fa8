"""Threads, forks, signals, sub-interpreters, and memory that is released, each while a kernel runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels

pytestmark = pytest.mark.alone

NATIVE = kernels.active() != "numpy"
only_native = pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")

LONG = """
import os, signal, sys, threading, time, warnings
import numpy as np
import npu_layout as nl
warnings.filterwarnings("ignore", "This process.*multi-threaded", DeprecationWarning)
nl.set_num_threads(int(sys.argv[1]))
x = np.resize(np.arange(1 << 20, dtype=np.uint32).view(np.uint8), (1, 5, int(sys.argv[2]) << 20, 2))
blocks = x.reshape(-1, 5, 8, 8, 2)
out = np.full((len(blocks), 2, 8, 8, 5), 77, np.uint8)
def run(): nl.repack(blocks, "NCDHW", "NWHDC", out=out)
def right(): return bool((out == blocks.transpose(0, 4, 3, 2, 1)).all())
"""  # Rows of 5 bytes in one, of 2 in the other: a kernel so slow that signals can be timed to arrive while it runs.


def script(code: str, *arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def printed(code: str, *arguments: object) -> list[str]:
    ran = script(code, *arguments)
    assert ran.returncode == 0 and not ran.stderr, ran.stdout + ran.stderr
    return ran.stdout.splitlines()


# The time of one run; then Ctrl-C after a third of it, and the time until the run has stopped.
INTERRUPTED = (
    LONG
    + """
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what runs in the background
run()
start = time.monotonic(); run(); whole = time.monotonic() - start
latencies, pressed = [], []
for _ in range(5):
    out[...] = 77
    at = time.monotonic() + whole / 3
    def press(at=at):
        time.sleep(max(0, at - time.monotonic()))
        pressed.append(time.monotonic())  # a busy machine wakes this thread late
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press).start()
    try:
        run()
    except KeyboardInterrupt:
        latencies.append(time.monotonic() - pressed[-1])
        assert not right() and (out == 77).any()
run()
assert right()
print(len(latencies), sorted(latencies)[len(latencies) // 2], whole)
"""
)


@only_native
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_answers_within_100_ms(threads: int) -> None:
    """The median of five, because other processes on the machine may delay one."""
    caught, latency, whole = map(float, printed(INTERRUPTED, threads, 30)[0].split())
    assert caught == 5, f"of 5, in runs of {whole:.3f} s"
    assert latency < 0.1, f"{latency:.3f} s in runs of {whole:.3f} s"


@only_native
def test_a_signal_before_a_kernel_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler raises while the binding calls a Python function to find the main thread."""
    x = np.ones((1, 32, 512, 512), np.float32)
    nl.repack(x, "NCHW", "NHWC")

    def interrupted() -> threading.Thread:
        raise KeyboardInterrupt

    for call, shape in (
        (lambda out: nl.repack(x, "NCHW", "NHWC", out=out), (1, 512, 512, 32)),
        (lambda out: nl.ops.softmax_channels(x, out=out), x.shape),
        (lambda out: nl.ops.argmax_channels(x, out=out), (1, 1, 512, 512)),
    ):
        out = np.full(shape, 77, np.int64 if shape[1] == 1 else np.float32)
        with monkeypatch.context() as patched:
            patched.setattr(threading, "main_thread", interrupted)
            with pytest.raises(KeyboardInterrupt):
                call(out)
        assert (out == 77).all()
        call(out)
        assert not (out == 77).all()


HANDLED = (
    LONG
    + """
run()
calls, children = [], []
small = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
def handler(*_):
    calls.append(running)
    if sys.argv[3] == "kernels":
        assert (nl.repack(small, "NCHW", "NHWC") == small.transpose(0, 2, 3, 1)).all()
        nl.repack(x[:, :, : 1 << 20], "NCHW", "NHWC")
    elif not children:
        children.append(None)  # before the fork: it takes longer than the timer on a busy machine
        children[0] = os.fork()
signal.signal(signal.SIGALRM, handler)
out[...] = 77
running = True
signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
run()
running = False
signal.setitimer(signal.ITIMER_REAL, 0)
assert True in calls, "no signal was seen while the kernel ran"
assert right()
if children and children[0]:
    assert os.waitpid(children[0], 0)[1] == 0
elif children:
    run()
    os._exit(0 if right() else 1)
print("right")
"""
)


@only_native
@pytest.mark.parametrize("does", ["kernels", "fork"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_signal_handler_may_run_kernels_and_fork(threads: int, does: str) -> None:
    assert printed(HANDLED, threads, 20, does) == ["right"]


BUSY = (
    LONG
    + """
def forever():
    while not done: nl.repack(x, "NCHW", "NWHC")
done = False
threads = [threading.Thread(target=forever, daemon=True) for _ in range(3)]
for thread in threads: thread.start()
bad = 0
for i in range(20):
    time.sleep(0.003 * i)
    child = os.fork()
    if child == 0:
        run()
        os._exit(0 if right() else 1)
    bad += os.waitpid(child, 0)[1] != 0
done = True
for thread in threads: thread.join()
run()
print(bad, right())
"""
)


@only_native
def test_the_child_of_a_busy_pool() -> None:
    assert printed(BUSY, 3, 1) == ["0 True"]


SHUTDOWN = (
    LONG
    + """
from npu_layout import ops
y = np.ones((1, 21, 256, 256), np.float32)
def forever(f):
    while True: f()
for f in (run, lambda: nl.repack(x, "NCHW", "NHWC"), lambda: ops.softmax_channels(y), lambda: nl.to_gray(x, "NCHW")):
    threading.Thread(target=forever, args=(f,), daemon=True).start()
time.sleep(float(sys.argv[3]))
print("leaving")
"""
)


@only_native
@pytest.mark.parametrize("after", [0.0, 0.05, 0.1])
def test_the_interpreter_ends_while_daemon_threads_run_kernels(after: float) -> None:
    """The compiled ones only: a daemon thread within OpenCV aborts a process that ends."""
    for _ in range(3):
        assert printed(SHUTDOWN, 3, 1, after) == ["leaving"]


SUB_INTERPRETER = """
import sys, warnings
code = '''
import warnings
warnings.simplefilter("ignore")
try:
    import npu_layout as nl
except ImportError as error:
    print(error)
else:
    import numpy as np
    print("loaded")
'''
if "main" in sys.argv: exec(code)
sys.stdout.flush()
if "legacy" in sys.argv:
    import _testcapi
    assert _testcapi.run_in_subinterp(code) == 0
else:
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    failed = interpreters.run_string(other, code)
    interpreters.destroy(other)
    assert not failed, failed
"""


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
@pytest.mark.parametrize("first", ["main", "sub"])
def test_sub_interpreters_are_refused_with_a_sentence(first: str, kind: str) -> None:
    """Any sub-interpreter: numpy loads in the first one, but opencv-python waits there for ever."""
    ran = script(SUB_INTERPRETER, first, kind)
    if "No module named" in ran.stderr:
        pytest.skip(f"this Python was built without what makes one: {ran.stderr}")
    assert ran.returncode == 0 and not ran.stderr, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert first == "sub" or lines.pop(0) == "loaded"
    assert len(lines) == 1 and lines[0].startswith("npu_layout runs in the main interpreter only: numpy"), lines


@only_native
def test_a_running_kernel_holds_its_buffers() -> None:
    """Another thread cannot resize what a kernel reads or writes: Python refuses it until the kernel is done."""
    size = 64 << 20
    loops = ((8, size // 8, 1, 0), (size // 8, 1, 8, 0))
    program = kernels.native._native.Program("base", size, 1, size, 1, (), ((loops, 0, 0, 0),), None)  # type: ignore[attr-defined]
    source, target = bytearray(os.urandom(1 << 16)) * (size >> 16), bytearray(size)
    started, done = threading.Event(), threading.Event()

    def move() -> None:
        started.set()
        for _ in range(5):
            program.run(source, target)
        done.set()

    thread = threading.Thread(target=move)
    thread.start()
    started.wait()
    refused = 0
    while not done.is_set():
        for buffer in (source, target):
            try:
                buffer.append(0)
            except BufferError:
                refused += 1
            else:
                del buffer[-1]  # between two runs
        time.sleep(0.001)
    thread.join()
    assert refused
    source.append(0)
    expected = np.frombuffer(source, np.uint8, size).reshape(8, -1).T
    np.testing.assert_array_equal(np.frombuffer(target, np.uint8).reshape(-1, 8), expected)


MAPPED = """
import mmap, os, sys
import numpy as np
import npu_layout as nl
spec = nl.TensorSpec((1, 16, 256, 256), "NHWC", "uint8")
with open(sys.argv[1], "w+b") as file:
    file.truncate(spec.nbytes)
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    assert spec.unpack(mapped).shape == (1, 16, 256, 256)
    if sys.argv[2] == "view":
        view = spec.view(mapped)
        try:
            mapped.close()
        except BufferError:
            print("BufferError")
    if sys.argv[2] == "truncate":
        file.truncate(4096)
        spec.unpack(mapped) if sys.argv[3] == "ours" else np.frombuffer(mapped, np.uint8).sum()
        print("not reached")
"""


def test_a_mapped_file_cannot_be_closed_below_a_view(tmp_path: Path) -> None:
    assert printed(MAPPED, tmp_path / "a", "view") == ["BufferError"]


# Nanoseconds that each thread but the main one has run, for each number of threads that is set.
RUN_BY_WORKERS = """
import threading, time
from pathlib import Path
import numpy as np
import npu_layout as nl

def ran():
    return {t.name: int((t / "schedstat").read_text().split()[0]) for t in Path("/proc/self/task").iterdir()}

x, out = np.zeros((1, 64, 256, 256), np.float32), np.zeros((1, 256, 256, 64), np.float32)
for threads in (4, 2, 1, 3):
    nl.set_num_threads(threads)
    nl.repack(x, "NCHW", "NHWC", out=out)
    time.sleep(0.05)
    before, runs, end = ran(), 0, time.monotonic() + 0.3
    while time.monotonic() < end:
        nl.repack(x, "NCHW", "NHWC", out=out)
        runs += 1
    main = str(threading.get_native_id())
    print(threads, runs, *(n - before.get(name, 0) for name, n in ran().items() if name != main))
"""


@only_native
@pytest.mark.skipif(sys.platform != "linux", reason="who has run is read from /proc")
def test_fewer_threads_than_before_leave_the_others_asleep() -> None:
    for line in printed(RUN_BY_WORKERS):
        threads, runs, *workers = map(int, line.split())
        assert runs > 1 and sum(n > 60_000_000 for n in workers) <= threads - 1, line


# What kernels keep on the stack, in a thread that has as little of it as docs/production.md allows.
SMALL_STACK = """
import threading
import numpy as np
import npu_layout as nl
from npu_layout import decode, ops

nl.set_num_threads(1)
rng = np.random.default_rng(0)

def run():
    for channels, side in ((1000, 20), (80, 80), (7, 9)):
        for layout in ("NCHW", "NHWC", "NCHW16c"):
            for dtype in ("int8", "float16", "float32"):
                spec = nl.TensorSpec((1, channels, side, side), layout, dtype)
                buffer = spec.pack(rng.integers(-9, 9, spec.shape).astype(dtype))
                ops.softmax_channels(spec, buffer), ops.sigmoid(spec, buffer), ops.argmax_channels(spec, buffer)
                ops.top_k(spec, 5, buffer), ops.max_channels(spec, buffer), spec.unpack(buffer)
    bgr, nv12 = rng.integers(0, 256, (1080, 1920, 3), np.uint8), rng.integers(0, 256, (1620, 1920), np.uint8)
    for size, layout, dtype in ((640, "NCHW", "float32"), (320, "NHWC", "uint8")):
        target = nl.TensorSpec((1, 3, size, size), layout, dtype)
        nl.Preprocessor(target)(bgr), nl.Preprocessor(target, source="NV12")(nv12)
    specs = [nl.TensorSpec((1, 84, 8400), "NCW", "float32", name="y")]
    decode.Decoder(decode.yolov8(classes=80), specs, (640, 640))([rng.random(specs[0].size, np.float32)])
    print("done")

threading.stack_size(512 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_half_a_megabyte_of_stack_is_enough() -> None:
    assert printed(SMALL_STACK) == ["done"]


@pytest.mark.skipif(sys.platform != "linux", reason="SIGBUS is what Linux sends")
@pytest.mark.parametrize("who", ["ours", "numpy"])
def test_a_mapped_file_truncated_underneath_ends_the_process(who: str, tmp_path: Path) -> None:
    """As the README describes; with numpy only, the same."""
    ran = script(MAPPED, tmp_path / "a", "truncate", who)
    assert ran.returncode == -signal.SIGBUS and not ran.stdout


def test_big_endian_is_refused_at_import() -> None:
    ran = script("import sys; sys.byteorder = 'big'; import npu_layout")
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == (
        "ImportError: npu_layout does not run on a big-endian machine: "
        "it reads and writes accelerators' buffers as little-endian"
    )


def test_threads_may_set_the_number_of_threads_while_others_run() -> None:
    before = kernels.get_num_threads()
    x = np.arange(1 << 20, dtype=np.float32).reshape(1, 64, 128, 128)
    expected, wrong = nl.repack(x, "NCHW", "NHWC"), []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(nl.repack(x, "NCHW", "NHWC"), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(60):
        nl.set_num_threads(1 + n % 4)
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    nl.set_num_threads(before)
    assert not wrong
