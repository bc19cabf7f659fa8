"""Frames in, skeletons out, by way of an accelerator's flat bytes.

    python samples/webcam.py [SOURCE] [--output DIR] [--show] [--page [HOST:]PORT]

SOURCE is a camera index, a video file, an image or a folder of images; left out, it is the clip in samples/data.
Each frame passes these stages, in the threads of npu_layout.streams; of a camera's frames, the newest one does:

    Preprocessor -> accelerator -> flat 1-D buffer -> TensorSpec.unpack -> decode -> draw

The results go to an mp4, to a window with --show, and with --page to a page in the browser, with the times of the
stages. The accelerator is simulated: the network runs in onnxruntime on the CPU, and its output comes back as an
accelerator's would, in the layout and dtype asked for. So the float output is known, and every frame's unpacked tensor
is compared with it. Ctrl-C ends the run, with the results so far. Exit status: 0 every frame agrees, 1 one does not,
2 bad input.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")

import cv2
import numpy as np
import pose
from agreement import Agreement, compare, report
from media import HERE, InputError, Progress, Source, Video
from page import Page
from sheet import Best, contact_sheet

import npu_layout as nl
from npu_layout.engines import calibrate
from npu_layout.streams import Result, Stream, StreamError
from npu_layout.streams import Source as Frames

MODEL = HERE / "models" / "pose.onnx"
FORMATS = ("BGR", "NV12", "NV21", "I420", "YV12")
DTYPES = ("int8", "uint8", "int16", "uint16", "float16", "float32")
CALIBRATION_FRAMES = 16
GRID = (1, 57, pose.GRID, pose.GRID)
STAGES = ("preprocess", "infer + pack", "unpack", "decode", "draw", "write")
RECENT = 50  # frames that the page's times are of


def output_layout(text: str, model_axes: str) -> nl.Layout:
    """A tag (NCHW16c), or a vendor's name, with its block where that is not 16: NC1HWC2, NC1HWC2:8."""
    name, _, block = text.partition(":")
    readings: list[Any] = [nl.Layout, nl.Layout.named, lambda name: nl.Layout.named(name, 16)]
    if block:
        readings = [lambda name: nl.Layout.named(name, int(block))]
    failures = []
    for reading in readings:
        try:
            layout = reading(name)
            break
        except ValueError as error:
            failures.append(error)
    else:
        raise InputError(f"--output-layout {text}: {failures[0]}")
    if sorted(layout.axes) != sorted(model_axes):
        raise InputError(f"--output-layout {text}: has the axes {layout.axes}, the model's output has {model_axes}")
    return nl.Layout(layout.tag, model_axes) if layout.axes != model_axes else layout


class Stopwatch:
    """Seconds of each stage, one number for each frame."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {stage: [] for stage in STAGES}

    def __call__(self, stage: str, function: Any, *args: Any) -> Any:
        start = time.perf_counter()
        result = function(*args)
        self.times[stage].append(time.perf_counter() - start)
        return result

    def table(self) -> str:
        """Median and 99th percentile of each stage, and its share of all the time spent."""
        total = sum(map(sum, self.times.values())) or 1.0
        lines = [f"{'stage':<14}{'median ms':>11}{'p99 ms':>10}{'share':>9}"]
        for stage, seconds in self.times.items():
            if seconds:
                median, p99 = np.percentile(np.array(seconds) * 1e3, [50, 99])
                lines.append(f"{stage:<14}{median:>11.3f}{p99:>10.3f}{sum(seconds) / total:>9.1%}")
        return "\n".join(lines)

    def recent(self) -> dict[str, dict[str, float]]:
        """Median and 99th percentile of each stage, in milliseconds, over the last frames."""
        found = {}
        for stage, seconds in self.times.items():
            if seconds:
                median, p99 = np.percentile(np.array(seconds[-RECENT:]) * 1e3, [50, 99])
                found[stage] = {"median": float(median), "p99": float(p99)}
        return found


class Live:
    """What the page shows beside the picture: frames a second, latency, what was dropped, the times of stages."""

    def __init__(self, source: str, stream: Stream, timed: Stopwatch) -> None:
        self.source, self.stream, self.timed = source, stream, timed
        self.shown: deque[float] = deque(maxlen=RECENT)
        self.latency: deque[float] = deque(maxlen=RECENT)

    def statistics(self, result: Result) -> dict[str, Any]:
        """After each result."""
        now = time.monotonic()
        self.shown.append(now)
        self.latency.append(now - result.captured)
        span = self.shown[-1] - self.shown[0] if len(self.shown) > 1 else 0.0
        counts = self.stream.counts
        return {
            "source": self.source,
            "counts": {
                "frames a second": f"{(len(self.shown) - 1) / span:.1f}" if span else "-",
                "latency, ms": f"{1e3 * float(np.median(self.latency)):.1f}",
                "captured": counts.captured,
                "shown": counts.shown,
                "dropped": counts.dropped,
                "failed": counts.failed,
            },
            "stages": self.timed.recent(),
        }


def as_camera(frame: np.ndarray, name: str) -> np.ndarray:
    """The frame in a camera's format; those of 4:2:0 leave an odd last row or column out."""
    if name == "BGR":
        return frame
    height, width = (n // 2 * 2 for n in frame.shape[:2])
    order = "YV12" if name in ("YV12", "NV21") else "I420"
    planar = cv2.cvtColor(frame[:height, :width], getattr(cv2, f"COLOR_BGR2YUV_{order}"))
    if name == order:
        return planar
    pairs = planar[height:].reshape(2, -1).T.reshape(-1, width)
    return np.concatenate([planar[:height], pairs])


class Answer(NamedTuple):
    """What a frame's outputs are: maps (1,57,H,W), people in frame pixels, the agreement with the floats."""

    maps: np.ndarray
    people: list[np.ndarray]
    agreement: Agreement


class Pipeline:
    """A frame's way: preprocess, infer, unpack, decode."""

    def __init__(
        self,
        args: argparse.Namespace,
        engine: nl.OnnxRuntimeEngine,
        first_frames: list[np.ndarray],
        timed: Stopwatch,
    ) -> None:
        (target,), (real,) = self._ports(args.model, engine)
        self.source = args.source_format
        self.preprocess = nl.Preprocessor(target, **{**pose.PREPROCESS, "source": self.source})
        layout = output_layout(args.output_layout, real.axes)
        first = [self.preprocess(as_camera(frame, self.source))[0] for frame in first_frames]
        seen = [engine.infer(buffer)[real.name] for buffer in first]
        quantization = calibrate(seen, args.output_dtype)
        self.spec = nl.TensorSpec(real.shape, layout, args.output_dtype, quantization=quantization, name=real.name)
        self.reader = self.spec
        if args.read_as:
            read_as: Any = (real.shape, output_layout(args.read_as, real.axes), args.output_dtype)
            size = max(self.spec.size, nl.TensorSpec(*read_as).size)  # padding is left over, and nothing says so
            self.reader = nl.TensorSpec(*read_as, quantization=quantization, size=size)
        self.npu = nl.SimulatedNpu(engine, [self.spec])
        self.timed = timed

    @staticmethod
    def _ports(model: Any, engine: nl.OnnxRuntimeEngine) -> tuple[list[nl.TensorSpec], list[nl.TensorSpec]]:
        inputs, outputs = engine.input_specs, engine.output_specs
        if len(inputs) != 1 or len(outputs) != 1 or outputs[0].shape != GRID:
            shapes = ", ".join(f"{spec.name} {spec.shape}" for spec in inputs + outputs)
            raise InputError(f"model {model}: expected one image input and one output of 1x57x46x46; it has {shapes}")
        return inputs, outputs

    def camera(self, frame: np.ndarray) -> tuple[np.ndarray, nl.Geometry]:
        """The network's input of a frame, as the source's format delivers it."""
        return self.preprocess(as_camera(frame, self.source))

    def answer(self, result: Result) -> Answer:
        """The maps, the people and the agreement of a frame; in the worker's thread, while the floats are its own."""
        assert result.geometry is not None
        for stage, name in (("preprocess", "preprocess"), ("infer", "infer + pack")):
            self.timed.times[name].append(result.seconds[stage])
        maps = self.timed("unpack", self.reader.unpack, result.outputs[self.spec.name])
        people = self.timed("decode", decode, maps, result.geometry)
        return Answer(maps, people, compare(result.number, self.spec, maps, self.npu.last_float[self.spec.name]))


def decode(maps: np.ndarray, geometry: nl.Geometry) -> list[np.ndarray]:
    """People, each (18,3): x, y in frame pixels and the score; NaN and 0 where a joint was not found."""
    return [np.column_stack([geometry.points_to_frame(p[:, :2]), p[:, 2]]) for p in pose.decode(maps)]


def joints_found(people: list[np.ndarray]) -> int:
    return sum(int((person[:, 2] > 0).sum()) for person in people)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("source", nargs="?", help="camera index, video file, image or folder of images; default: the embedded clip")
    add("--output", type=Path, default=Path("demo-output"), help="folder for the results (default: demo-output)")
    add("--show", action="store_true", help="show the frames in a window too (q or Esc ends)")
    add("--page", metavar="[HOST:]PORT", type=address, help="serve a page; other machines need the token in its URL")
    add("--model", default=MODEL, help="an ONNX model with OpenPose's output, 1x57x46x46")
    add("--source-format", default="BGR", choices=FORMATS, help="pixel format of the camera's frames (default: BGR)")
    add("--output-layout", default="NC1HWC2", help="how the accelerator stores its output: a tag, or a name[:block]")
    add("--output-dtype", default="int8", choices=DTYPES, help="in which dtype (default: int8)")
    add("--read-as", metavar="LAYOUT", help="unpack the output in this layout: shows what a wrong layout looks like")
    add("--max-frames", type=int, default=0, help="stop after so many frames; 0: never (default)")
    add("--threads", type=int, default=None, help="threads of onnxruntime")
    args = parser.parse_args(argv)
    if args.max_frames < 0:
        raise InputError(f"--max-frames: expected 1 or more, got {args.max_frames}")
    if (
        args.show
        and sys.platform.startswith("linux")
        and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    ):
        raise InputError("--show needs a display, and there is none here; without it the results go to files")
    return args


def address(text: str) -> tuple[str, int]:
    """HOST:PORT or PORT; the host is this machine alone if none is given."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r}: expected PORT or HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def show(image: np.ndarray) -> bool:
    """Whether to go on."""
    try:
        cv2.imshow("npu_layout", image)
        return cv2.waitKey(1) & 0xFF not in (ord("q"), 27)
    except cv2.error as error:
        raise InputError(f"--show: this OpenCV has no windows ({error.err}); opencv-python has them") from None


class Outlets:
    """Where drawn frames go: the video, a window, the page; and the best of them for the contact sheet."""

    def __init__(self, args: argparse.Namespace, video: Video, page: Page | None, timed: Stopwatch) -> None:
        self.args, self.video, self.page, self.timed = args, video, page, timed
        self.best: Best | None = None
        self.agreements: list[Agreement] = []

    def take(self, result: Result, live: Live) -> bool:
        """Draw a result and hand it on; whether to go on."""
        answer: Answer = result.value
        assert result.geometry is not None
        drawn = self.timed("draw", pose.draw, result.frame.copy(), answer.people)
        self.agreements.append(answer.agreement)
        self.timed("write", self.video.write, drawn)
        joints = joints_found(answer.people)
        if self.best is None or joints > self.best.joints:
            self.best = Best(joints, result.frame.copy(), answer.maps.copy(), result.geometry, drawn)
        if self.page is not None:
            self.page.show(drawn, live.statistics(result))
        return not self.args.show or show(drawn)


def lead(
    args: argparse.Namespace, pipeline: Pipeline, source: Source, frames: Iterable[np.ndarray], out: Outlets
) -> None:
    """Lead the frames through the stream until they end, or somebody ends it."""
    total = min(source.total or args.max_frames, args.max_frames or source.total)
    progress = Progress(total)
    stream = Stream(Frames(frames, source.live), pipeline.camera, pipeline.npu, pipeline.answer)
    live = Live(Path(source.name).name, stream, out.timed)
    try:
        with stream:
            for count, result in enumerate(stream, 1):
                go_on = out.take(result, live)
                progress.show(count)
                if not go_on or count == args.max_frames:
                    break
    except StreamError as error:
        cause = error.__cause__
        raise cause if isinstance(cause, (InputError, nl.NpuLayoutError)) else error from None
    except KeyboardInterrupt:  # how a camera's run ends where there is no window
        if out.best is None:
            raise
    finally:
        progress.close()
        out.video.close()


def run(args: argparse.Namespace) -> int:
    engine = nl.OnnxRuntimeEngine(args.model, threads=args.threads)
    import onnxruntime

    source, timed = Source(args.source), Stopwatch()
    frames = iter(source)
    try:
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{args.output}: cannot be made a folder ({error.strerror})") from None
    waiting = list(itertools.islice(frames, min(CALIBRATION_FRAMES, args.max_frames or CALIBRATION_FRAMES)))
    pipeline = Pipeline(args, engine, waiting, timed)
    print(
        f"npu_layout {nl.__version__}, kernels {nl.kernels.active()}, numpy {np.__version__}, "
        f"OpenCV {cv2.__version__}, onnxruntime {onnxruntime.__version__}, Python {sys.version.split()[0]}\n"
        f"{source.name} -> simulated accelerator -> {pipeline.spec!r}"
    )
    page = None if args.page is None else Page(*args.page)
    out = Outlets(args, Video(args.output / "skeletons.mp4", source.fps), page, timed)
    try:
        if page is not None:
            print(f"The page: {page.url}", flush=True)
        lead(args, pipeline, source, itertools.chain(waiting, frames), out)
    finally:
        if page is not None:
            page.close()
    assert out.best is not None
    sheet = args.output / "contact-sheet.png"
    if not cv2.imwrite(str(sheet), contact_sheet(out.best, pipeline.spec)):
        raise InputError(f"{sheet}: cannot be written")
    print("\n" + timed.table())
    table = args.output / "agreement.csv"
    status = report(out.agreements, table)
    print(f"Results: {out.video.path}, {sheet}, {table}")
    return status


def main(argv: list[str] | None = None) -> int:
    try:
        return run(arguments(argv))
    except (InputError, nl.NpuLayoutError, OSError) as error:
        print(f"webcam.py: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("webcam.py: stopped", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
