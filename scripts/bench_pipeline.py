"""Time the camera loop on the samples' clip: plain OpenCV, a threaded loop as people write it, and streams.Stream.

    python scripts/bench_pipeline.py [--frames 120] [--rounds 3]

The network is samples/models/pose.onnx in onnxruntime, one thread an engine. All loops preprocess and infer the same
frames; the stream's answers must be equal to the plain loop's before anything is timed. It prints frames a second, the
library's own share (what is neither network nor preprocessing), and the latency of policy "latest" beside the stages'.
"""

from __future__ import annotations

import argparse
import itertools
import queue
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np

import npu_layout as nl
from npu_layout.streams import EnginePool, Source, Stream

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
MODEL, CLIP = SAMPLES / "models" / "pose.onnx", SAMPLES / "data" / "walk.mp4"
SPEC = nl.TensorSpec((1, 3, 368, 368))
PREPROCESS = nl.Preprocessor(SPEC, color="RGB", mean=128, std=256)


def clip(count: int) -> list[np.ndarray]:
    """Decoded frames, so that no loop waits for the decoder."""
    capture = cv2.VideoCapture(str(CLIP))
    frames = [frame for done, frame in iter(capture.read, (False, None)) if done]
    return list(itertools.islice(itertools.cycle(frames), count))


def engine() -> nl.OnnxRuntimeEngine:
    return nl.OnnxRuntimeEngine(MODEL, threads=1)


def by_opencv(frame: np.ndarray) -> np.ndarray:
    """The letterbox and the blob as people write them."""
    height, width = frame.shape[:2]
    scale = 368 / max(height, width)
    small = cv2.resize(frame, (round(width * scale), round(height * scale)))
    top, left = (368 - small.shape[0]) // 2, (368 - small.shape[1]) // 2
    bottom, right = 368 - small.shape[0] - top, 368 - small.shape[1] - left
    padded = cv2.copyMakeBorder(small, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    blob: np.ndarray = cv2.dnn.blobFromImage(padded, 1 / 256, mean=(128, 128, 128), swapRB=True)
    return blob


def plain(frames: list[np.ndarray], one: nl.OnnxRuntimeEngine) -> list[np.ndarray]:
    return [one.infer(by_opencv(frame))["pose"] for frame in frames]


def threaded(frames: list[np.ndarray], engines: list[nl.OnnxRuntimeEngine]) -> list[np.ndarray]:
    """Workers on a queue; results are sorted at the end."""
    work: queue.Queue[tuple[int, np.ndarray] | None] = queue.Queue(4)
    found: dict[int, np.ndarray] = {}

    def worker(one: nl.OnnxRuntimeEngine) -> None:
        while (task := work.get()) is not None:
            found[task[0]] = one.infer(by_opencv(task[1]))["pose"]

    threads = [threading.Thread(target=worker, args=(one,)) for one in engines]
    for thread in threads:
        thread.start()
    for task in [*enumerate(frames), *[None] * len(engines)]:
        work.put(task)
    for thread in threads:
        thread.join()
    return [found[i] for i in sorted(found)]


def streamed(frames: list[np.ndarray], pool: EnginePool) -> list[np.ndarray]:
    with Stream(frames, PREPROCESS, pool) as stream:
        return [result.outputs["pose"].reshape(1, 57, 46, 46).copy() for result in stream]


def rate(run: Callable[[], object], count: int, rounds: int) -> float:
    """Frames a second, the best of some rounds."""
    best = 0.0
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = max(best, count / (time.perf_counter() - start))
    return best


def own_share(frames: list[np.ndarray], one: nl.OnnxRuntimeEngine) -> float:
    """The stream's time that is neither the network's nor the preprocessing's, in shares of the network's."""
    shares = []
    with Stream(frames, PREPROCESS, one) as stream:
        start, network, stages = time.perf_counter(), 0.0, 0.0
        for result in stream:
            network += result.seconds["infer"]
            stages += result.seconds["infer"] + result.seconds["preprocess"]
        shares.append((time.perf_counter() - start - stages) / network)
    return min(shares)


def latency(frames: list[np.ndarray], pool: EnginePool, seconds: float) -> tuple[float, float, int]:
    """Median latency of a live camera and the median sum of its stages, in ms, and how many frames were dropped."""

    def camera() -> Iterator[np.ndarray]:
        for frame in frames:
            time.sleep(seconds)
            yield frame

    totals, sums = [], []
    with Stream(Source(camera(), live=True), PREPROCESS, pool, depth=1) as stream:
        for result in stream:
            totals.append(1000 * result.seconds["total"])
            sums.append(1000 * sum(result.seconds[stage] for stage in ("preprocess", "infer", "function")))
    first = min(5, len(totals) // 2)  # a busy machine drops most of a short clip
    return statistics.median(totals[first:]), statistics.median(sums[first:]), stream.counts.dropped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=120, help="frames of each run (default: 120)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each way, of which the best counts (default: 3)")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    nl.set_num_threads(1)
    frames = clip(options.frames)
    engines = [engine(), engine()]
    with EnginePool([engine(), engine()]) as pool:
        few = frames[:12]
        pairs = zip(plain(few, engines[0]), threaded(few, engines), streamed(few, pool))
        apart = max(float(np.abs(a - c).max() + np.abs(a - b).max()) for a, b, c in pairs)
        print(f"largest difference of the answers: {apart:.2g}")
        count, rounds = options.frames, options.rounds
        one = rate(lambda: plain(frames, engines[0]), count, rounds)
        print(f"plain OpenCV loop       {one:7.1f} frames/s")
        print(f"threaded loop, 2        {rate(lambda: threaded(frames, engines), count, rounds):7.1f} frames/s")
        two = rate(lambda: streamed(frames, pool), count, rounds)
        print(f"npu_layout stream, 2    {two:7.1f} frames/s, {two / one:.2f} times the plain loop")
        print(f"own share of the stream {100 * own_share(frames, engines[0]):.1f} % of the network's time")
        total, stages, dropped = latency(frames, pool, 0.5 / two)
        print(
            f"policy latest: {total:.1f} ms, {total / stages:.2f} times the stages' {stages:.1f} ms; {dropped} dropped"
        )


if __name__ == "__main__":
    main()
