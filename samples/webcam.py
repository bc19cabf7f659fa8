"""Frames in, skeletons out, by way of an accelerator's flat bytes.

    python samples/webcam.py [SOURCE] [--output DIR] [--show]

SOURCE is a camera index, a video file, an image or a folder of images; left out, it is the clip in samples/data.
Each frame passes these stages:

    Preprocessor -> accelerator -> flat 1-D buffer -> TensorSpec.unpack -> decode -> draw

The accelerator is simulated: the network runs in onnxruntime on the CPU, and its output comes back as an accelerator's
would, in the layout and dtype asked for. So the float output is known, and every frame's unpacked tensor is compared
with it. Ctrl-C ends the run, with the results so far. Exit status: 0 every frame agrees, 1 one does not, 2 bad input.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")

import cv2
import numpy as np
import pose

import npu_layout as nl
from npu_layout.engines import calibrate

HERE = Path(__file__).resolve().parent
CLIP = HERE / "data" / "walk.mp4"
MODEL = HERE / "models" / "pose.onnx"
IMAGES = {".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
FORMATS = ("BGR", "NV12", "NV21", "I420", "YV12")
DTYPES = ("int8", "uint8", "int16", "uint16", "float16", "float32")
CALIBRATION_FRAMES = 16
GRID = (1, 57, pose.GRID, pose.GRID)
HEATMAPS = ("nose", "right_wrist", "left_ankle")
STAGES = ("read", "preprocess", "infer + pack", "unpack", "decode", "draw", "write")


class InputError(Exception):
    """What the person who started the program can put right: printed as one line, exit status 2."""


class Source:
    """Frames (H,W,3 uint8 BGR) of a camera, a video file, an image or a folder; `total` is 0 where unknown."""

    def __init__(self, source: str | None) -> None:
        self.name = str(CLIP) if source is None else source
        self.fps = 25.0
        self.total = 0
        self._images: list[Path] = []
        path = Path(self.name)
        if source is not None and source.isdigit() and not path.exists():
            self.name = f"camera {source}"
            self._capture = self._open(int(source), f"{self.name} is not there or cannot be opened")
        elif path.is_dir():
            self._images = sorted(p for p in path.iterdir() if p.suffix.lower() in IMAGES)
            self.fps = 5.0
            if not self._images:
                raise InputError(f"{path}: no images in this folder (looked for {' '.join(sorted(IMAGES))})")
        elif not path.exists():
            raise InputError(f"{path}: no such file, folder or camera")
        elif path.suffix.lower() in IMAGES:
            self._images = [path]
        else:
            self._capture = self._open(str(path), f"{path}: cannot be read as a video (damaged, or no video file)")
        if self._images:
            self.total = len(self._images)

    def _open(self, what: int | str, message: str) -> cv2.VideoCapture:
        capture = cv2.VideoCapture(what)
        if not capture.isOpened():
            raise InputError(message)
        self.total = max(int(capture.get(cv2.CAP_PROP_FRAME_COUNT)), 0) if isinstance(what, str) else 0
        fps = capture.get(cv2.CAP_PROP_FPS)
        self.fps = fps if 1 <= fps <= 240 else 25.0
        return capture

    def __iter__(self) -> Iterator[np.ndarray]:
        for path in self._images:
            frame = cv2.imread(str(path))
            if frame is None:
                raise InputError(f"{path}: cannot be read as an image (damaged, or another format)")
            yield frame
        if self._images:
            return
        count = 0
        while True:
            good, frame = self._capture.read()
            if not good or frame is None:
                break
            count += 1
            yield frame
        self._capture.release()
        if count == 0:
            raise InputError(f"{self.name}: opened, but gives no frame")
        if count < self.total:
            print(f"warning: {self.name} announces {self.total} frames, only {count} could be read", file=sys.stderr)


class Progress:
    """A bar where stderr is a terminal, else a line every 25 frames."""

    def __init__(self, total: int) -> None:
        self.total, self.start, self.live = total, time.perf_counter(), sys.stderr.isatty()

    def show(self, done: int) -> None:
        rate = done / max(time.perf_counter() - self.start, 1e-9)
        if self.live and self.total:
            filled = 40 * done // self.total
            bar = "#" * filled + "." * (40 - filled)
            print(f"\r[{bar}] {done}/{self.total} frames, {rate:.1f} fps", end="", file=sys.stderr, flush=True)
        elif self.live:
            print(f"\r{done} frames, {rate:.1f} fps", end="", file=sys.stderr, flush=True)
        elif done % 25 == 0 or done == self.total:
            print(f"{done}{f'/{self.total}' if self.total else ''} frames, {rate:.1f} fps", file=sys.stderr)

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)


class Agreement(NamedTuple):
    """How the unpacked output of one frame compares with the float output; errors in quantisation steps."""

    frame: int
    output: str
    cosine: float
    steps: float
    allowed: float
    saturated: int
    where: tuple[int, ...]

    @property
    def agrees(self) -> bool:
        return self.steps <= self.allowed


def compare(frame: int, spec: nl.TensorSpec, got: np.ndarray, real: np.ndarray) -> Agreement:
    """A stored value may be half a step from the real one; values that the dtype cannot hold are counted apart.

    A step is the scale, or for a float dtype the distance to the next number.
    """
    a, b = got.astype(np.float64), real.astype(np.float64)
    if spec.quantization is not None:
        info = np.iinfo(spec.stored)
        scale, zero = float(spec.quantization.scale), float(spec.quantization.zero_point)
        low, high = (info.min - zero) * scale, (info.max - zero) * scale
        step: Any = scale
        slack = (float(info.max) - info.min) * 2.0**-22  # float32 rounds quotient and product
    else:
        limit = np.finfo(spec.stored)
        low, high = float(limit.min), float(limit.max)
        a = np.clip(a, low, high)  # what float16 cannot hold comes back infinite
        exponent = np.frexp(np.clip(b, low, high))[1]
        step = np.maximum(np.ldexp(float(limit.eps), exponent - 1), float(limit.smallest_subnormal))
        slack = 0.0
    outside = (b < low) | (b > high)
    steps = np.where(outside, np.abs(a - np.clip(b, low, high)), np.abs(a - b)) / step
    steps = np.where(np.isfinite(steps), steps, np.inf)
    worst = np.unravel_index(int(steps.argmax()), steps.shape)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    cosine = float((a * b).sum()) / norm if norm else float(not a.any() and not b.any())
    where = tuple(int(i) for i in worst)
    return Agreement(frame, spec.name, cosine, float(steps.max()), 0.5 + slack, int(outside.sum()), where)


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

    def frames(self, source: Source) -> Iterator[np.ndarray]:
        """The source's frames, their reading timed."""
        frames = iter(source)
        while (frame := self("read", next, frames, None)) is not None:
            yield frame
        self.times["read"].pop()

    def table(self) -> str:
        """Median and 99th percentile of each stage, and its share of all the time spent."""
        total = sum(map(sum, self.times.values())) or 1.0
        lines = [f"{'stage':<14}{'median ms':>11}{'p99 ms':>10}{'share':>9}"]
        for stage, seconds in self.times.items():
            if seconds:
                median, p99 = np.percentile(np.array(seconds) * 1e3, [50, 99])
                lines.append(f"{stage:<14}{median:>11.3f}{p99:>10.3f}{sum(seconds) / total:>9.1%}")
        return "\n".join(lines)


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


class Pipeline:
    """A frame's way: preprocess, infer, unpack, decode, draw."""

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
        self.buffer: np.ndarray | None = None
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

    def run(
        self, number: int, frame: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, nl.Geometry, list[np.ndarray], Agreement]:
        """The frame with skeletons, the maps (1,57,H,W), the geometry, the people in frame pixels, the agreement."""
        taken = as_camera(frame, self.source)
        self.buffer, geometry = self.timed("preprocess", self.preprocess, taken, self.buffer)
        flat = self.timed("infer + pack", self.npu.infer, self.buffer)[self.spec.name]
        maps = self.timed("unpack", self.reader.unpack, flat)
        people = self.timed("decode", decode, maps, geometry)
        drawn = self.timed("draw", pose.draw, frame.copy(), people)
        return drawn, maps, geometry, people, compare(number, self.spec, maps, self.npu.last_float[self.spec.name])


def decode(maps: np.ndarray, geometry: nl.Geometry) -> list[np.ndarray]:
    """People, each (18,3): x, y in frame pixels and the score; NaN and 0 where a joint was not found."""
    return [np.column_stack([geometry.points_to_frame(p[:, :2]), p[:, 2]]) for p in pose.decode(maps)]


def joints_found(people: list[np.ndarray]) -> int:
    return sum(int((person[:, 2] > 0).sum()) for person in people)


class Best(NamedTuple):
    """The frame that the contact sheet shows: the first with the most joints found."""

    joints: int
    frame: np.ndarray
    maps: np.ndarray
    geometry: nl.Geometry
    drawn: np.ndarray


def caption(image: np.ndarray, text: str, width: int) -> np.ndarray:
    height = round(image.shape[0] * width / image.shape[1])
    image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    bar = np.full((30, width, 3), 32, np.uint8)
    cv2.putText(bar, text, (8, 21), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (235, 235, 235), 1, cv2.LINE_AA)
    return np.vstack([bar, image])


def contact_sheet(best: Best, spec: nl.TensorSpec) -> np.ndarray:
    """Frame and result over three heatmaps, which are laid on the frame where the geometry says they belong."""
    gap = 8
    height, width = best.frame.shape[:2]
    panels = []
    for name in HEATMAPS:
        heat = best.maps[0, pose.JOINTS.index(name)]
        mask = best.geometry.mask_to_frame(heat, interpolation="linear")
        colour = cv2.applyColorMap((np.clip(mask, 0, 1) * 255).astype(np.uint8), cv2.COLORMAP_INFERNO)
        panels.append(cv2.addWeighted(best.frame, 0.35, colour, 0.9, 0))
    third = (1280 - 4 * gap) // 3
    half = (1280 - 3 * gap) // 2
    stored = f"{spec.dtype} {spec.layout}, {spec.nbytes} bytes"
    rows = [
        [caption(best.frame, f"frame {width}x{height}", half), caption(best.drawn, f"result, from {stored}", half)],
        [caption(panel, f"heatmap: {name.replace('_', ' ')}", third) for name, panel in zip(HEATMAPS, panels)],
    ]
    lines = []
    for row in rows:
        column = np.full((row[0].shape[0], gap, 3), 255, np.uint8)
        line = np.hstack([part for image in row for part in (column, image)] + [column])
        lines.append(np.pad(line, ((gap, 0), (0, 1280 - line.shape[1]), (0, 0)), constant_values=255))
    return np.pad(np.vstack(lines), ((0, gap), (0, 0), (0, 0)), constant_values=255)


def fitted(image: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
    """The image on a canvas of this size: a folder's images may differ, a video's frames may not."""
    height, width = image.shape[:2]
    if (width, height) == size_wh:
        return image
    scale = min(size_wh[0] / width, size_wh[1] / height)
    image = cv2.resize(image, (max(1, int(width * scale)), max(1, int(height * scale))), interpolation=cv2.INTER_AREA)
    canvas = np.zeros((size_wh[1], size_wh[0], 3), np.uint8)
    canvas[: image.shape[0], : image.shape[1]] = image
    return canvas


class Video:
    """An mp4 of frames, opened with the first one."""

    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.fps, self.size_wh = path, fps, (0, 0)
        self._writer: cv2.VideoWriter | None = None

    def write(self, image: np.ndarray) -> None:
        if self._writer is None:
            self.size_wh = (max(2, image.shape[1] // 2 * 2), max(2, image.shape[0] // 2 * 2))
            self._writer = cv2.VideoWriter(str(self.path), cv2.VideoWriter_fourcc(*"mp4v"), self.fps, self.size_wh)
            if not self._writer.isOpened():
                raise InputError(f"{self.path}: OpenCV cannot write an mp4 of {self.size_wh} here")
        self._writer.write(fitted(image, self.size_wh))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.release()


def report(agreements: list[Agreement], path: Path) -> int:
    """Write every frame's agreement, print the worst; the exit status."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["frame", "output", "cosine", "largest_error_in_steps", "saturated", "agrees"])
        for a in agreements:
            rows.writerow([a.frame, a.output, f"{a.cosine:.8f}", f"{a.steps:.4f}", a.saturated, a.agrees])
    bad = [a for a in agreements if not a.agrees]
    print(
        f"\nAgreement with the float run: {len(agreements) - len(bad)} of {len(agreements)} frames; "
        f"lowest cosine {min(a.cosine for a in agreements):.6f}, "
        f"largest error {max(a.steps for a in agreements):.3f} quantisation steps; "
        f"not counted: {sum(a.saturated for a in agreements)} values beyond what the dtype holds"
    )
    if not bad:
        return 0
    worst = max(bad, key=lambda a: a.steps)
    print(
        f"MISMATCH: output {worst.output!r} differs from the float run in {len(bad)} of {len(agreements)} frames; "
        f"worst is frame {worst.frame}, by {worst.steps:.2f} quantisation steps at {worst.where} "
        f"({worst.allowed:.2f} allowed), cosine {worst.cosine:.4f}",
        file=sys.stderr,
    )
    return 1


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("source", nargs="?", help="camera index, video file, image or folder of images; default: the embedded clip")
    add("--output", type=Path, default=Path("demo-output"), help="folder for the results (default: demo-output)")
    add("--show", action="store_true", help="show the frames in a window too (q or Esc ends)")
    add("--model", default=MODEL, help="an ONNX model with OpenPose's output, 1x57x46x46")
    add("--source-format", default="BGR", choices=FORMATS, help="frames in the format that a camera has (default: BGR)")
    add("--output-layout", default="NC1HWC2", help="how the accelerator stores its output: a tag, or a name[:block]")
    add("--output-dtype", default="int8", choices=DTYPES, help="and in which dtype (default: int8)")
    add("--read-as", metavar="LAYOUT", help="unpack as if it were stored so: what a wrong layout looks like")
    add("--max-frames", type=int, default=0, help="stop after so many frames")
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


def show(image: np.ndarray) -> bool:
    """Whether to go on."""
    try:
        cv2.imshow("npu_layout", image)
        return cv2.waitKey(1) & 0xFF not in (ord("q"), 27)
    except cv2.error as error:
        raise InputError(f"--show: this OpenCV has no windows ({error.err}); opencv-python has them") from None


def run(args: argparse.Namespace) -> int:
    engine = nl.OnnxRuntimeEngine(args.model, threads=args.threads)
    import onnxruntime

    source = Source(args.source)
    timed = Stopwatch()
    frames = timed.frames(source)
    total = min(source.total or args.max_frames, args.max_frames or source.total)
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
    video = Video(args.output / "skeletons.mp4", source.fps)
    progress, agreements, best = Progress(total), [], None
    stream = itertools.chain(waiting, frames)
    try:
        for number, frame in enumerate(itertools.islice(stream, args.max_frames or None)):
            drawn, maps, geometry, people, agreement = pipeline.run(number, frame)
            agreements.append(agreement)
            timed("write", video.write, drawn)
            joints = joints_found(people)
            if best is None or joints > best.joints:
                best = Best(joints, frame, maps.copy(), geometry, drawn)
            progress.show(number + 1)
            if args.show and not show(drawn):
                break
    except KeyboardInterrupt:  # how a camera's run ends where there is no window
        if best is None:
            raise
    finally:
        progress.close()
        video.close()
    assert best is not None
    sheet = args.output / "contact-sheet.png"
    if not cv2.imwrite(str(sheet), contact_sheet(best, pipeline.spec)):
        raise InputError(f"{sheet}: cannot be written")
    print("\n" + timed.table())
    table = args.output / "agreement.csv"
    status = report(agreements, table)
    print(f"Results: {video.path}, {sheet}, {table}")
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
