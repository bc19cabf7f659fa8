#!/usr/bin/env python3
"""Train, evaluate and film with the demonstration's pose network.

    scripts/train_pose.py                 train on rendered figures and write samples/models/pose.onnx
    scripts/train_pose.py --evaluate      print the table of samples/models/README.md (onnxruntime, no PyTorch)
    scripts/train_pose.py --clip          write samples/data/walk.mp4

Training needs PyTorch and onnx (pip install .[train]).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "samples"), str(ROOT / "scripts")]

import _onnx_export  # noqa: E402
import pose  # noqa: E402
import stick_figures  # noqa: E402

MODEL = ROOT / "samples" / "models" / "pose.onnx"
CLIP = ROOT / "samples" / "data" / "walk.mp4"
SIGMA = 1.1  # of a joint's heat, in cells
HALF_WIDTH = 1.0  # of a limb's field, in cells
EVALUATION_SEEDS = 1_000_000_000  # training uses smaller ones


def targets(scene: stick_figures.Scene, size: int) -> np.ndarray:
    """The 57 maps (float32, size/8 cells square) that the network should answer with."""
    grid = size // pose.CELL
    cells = np.arange(grid, dtype=np.float32)
    maps = np.zeros((57, grid, grid), np.float32)
    at = (scene.joints[..., :2].astype(np.float32) - (pose.CELL - 1) / 2) / pose.CELL
    for person, joints in zip(at, scene.joints):
        x = np.exp(-((cells - person[:, :1]) ** 2) / (2 * SIGMA**2))
        y = np.exp(-((cells - person[:, 1:]) ** 2) / (2 * SIGMA**2))
        heat = y[:, :, None] * x[:, None, :] * joints[:, 2, None, None].astype(np.float32)
        np.maximum(maps[:18], heat, out=maps[:18])
    maps[18] = 1 - maps[:18].max(axis=0)
    for limb, (a, b) in enumerate(pose.LIMBS):
        count = np.zeros((grid, grid), np.float32)
        for person, joints in zip(at, scene.joints):
            if not (joints[a, 2] and joints[b, 2]):
                continue
            vector = person[b] - person[a]
            length = float(np.hypot(*vector))
            if length < 1e-3:
                continue
            unit = vector / length
            dx, dy = cells[None, :] - person[a, 0], cells[:, None] - person[a, 1]
            along, across = dx * unit[0] + dy * unit[1], np.abs(dy * unit[0] - dx * unit[1])
            inside = (along >= -0.5) & (along <= length + 0.5) & (across <= HALF_WIDTH)
            maps[19 + 2 * limb] += inside * unit[0]
            maps[20 + 2 * limb] += inside * unit[1]
            count += inside
        maps[19 + 2 * limb : 21 + 2 * limb] /= np.maximum(count, 1)
    return maps


def network() -> Any:
    """Three stride-2 convolutions to 96 channels, eight dilated bottlenecks, one 1x1 head."""
    from torch import nn

    def convolution(inputs: int, outputs: int, size: int, stride: int = 1, dilation: int = 1) -> Any:
        padding = dilation * (size // 2)
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, size, stride, padding, dilation, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
        )

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self, dilation: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                convolution(96, 48, 1), convolution(48, 48, 3, dilation=dilation), convolution(48, 96, 1)
            )

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    return nn.Sequential(
        convolution(3, 32, 3, 2),
        convolution(32, 64, 3, 2),
        convolution(64, 96, 3, 2),
        *(Residual(d) for d in (1, 2, 4, 8, 1, 2, 4, 8)),
        nn.Conv2d(96, 57, 1),
    )


def _scenes(seeds: Any) -> Any:
    """Batches for ever, from a process of its own: uint8 frames and float16 targets."""
    start, size, batch, behind = seeds
    seed = start
    while True:
        frames, maps = [], []
        for _ in range(batch):
            scene = stick_figures.render(np.random.default_rng(seed), behind=behind)
            seed += 1
            if size != stick_figures.SIZE:
                ratio = size / stick_figures.SIZE
                moved = scene.joints.copy()
                moved[..., :2] = (moved[..., :2] + 0.5) * ratio - 0.5
                small = cv2.resize(scene.frame, (size, size), interpolation=cv2.INTER_AREA)
                scene = stick_figures.Scene(small, moved, scene.heights * ratio)
            frames.append(scene.frame[..., ::-1].transpose(2, 0, 1))
            maps.append(targets(scene, size).astype(np.float16))
        yield np.stack(frames), np.stack(maps)


def _batches(first: int, size: int, batch: int) -> Any:
    """Batches of frames and targets, rendered by two processes."""
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Rendered(IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            cv2.setNumThreads(1)
            return _scenes((first + get_worker_info().id * 20_000_000, size, batch, 0.3))

    return iter(DataLoader(Rendered(), batch_size=None, num_workers=2, prefetch_factor=4))


def _loss(model: Any, frames: Any, maps: Any) -> Any:
    """The mean square error: joints count most, then limbs, then where no joint is."""
    import torch

    x = ((frames.float() - pose.PREPROCESS["mean"]) / pose.PREPROCESS["std"]).contiguous(
        memory_format=torch.channels_last
    )
    y = maps.float()
    with torch.autocast("cpu", torch.bfloat16, enabled=hasattr(torch.cpu, "amp")):
        answer = model(x)
    weight = torch.empty_like(y)
    weight[:, :18] = 1 + 12 * y[:, :18]
    weight[:, 18] = 1 + 4 * (1 - y[:, 18])
    weight[:, 19:] = 1 + 5 * (y[:, 19:] != 0)
    return ((answer.float() - y) ** 2 * weight).mean()


def train(minutes: float, threads: int, start_from: Path | None) -> None:
    try:
        import torch
    except ImportError as error:
        sys.exit(f"train_pose.py: training needs PyTorch ({error}): pip install .[train]")

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    model = network().to(memory_format=torch.channels_last)
    checkpoint = MODEL.with_suffix(".pt")
    if start_from is not None:
        model.load_state_dict(torch.load(start_from, weights_only=True))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    began, step, first = time.time(), 0, int(time.time()) % 1000 * 40_000
    for size, share in ((240, 0.5), (368, 1.0)):
        batches = _batches(first + size, size, 12)
        while time.time() - began < 60 * minutes * share:
            progress = (time.time() - began) / (60 * minutes)
            rate = 3e-3 * min(1.0, (step + 1) / 100) * 0.5 * (1 + np.cos(np.pi * progress))
            for group in optimizer.param_groups:
                group["lr"] = max(rate, 1e-5)
            model.train()
            loss = _loss(model, *next(batches))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"{time.time() - began:6.0f} s  step {step}  size {size}  loss {loss.item():.5f}", flush=True)
            if step % 500 == 0:
                torch.save(model.state_dict(), checkpoint)
                export(model)
        del batches
    torch.save(model.state_dict(), checkpoint)
    export(model)


def export(model: Any) -> None:
    """Fold the batch norms and write the network."""
    import copy

    import torch
    from torch.fx.experimental.optimization import fuse

    folded = fuse(copy.deepcopy(model).eval().to(memory_format=torch.contiguous_format))
    _onnx_export.export(folded, (stick_figures.SIZE, stick_figures.SIZE), ["pose"], pose.PREPROCESS, MODEL)


def evaluate(frames: int) -> None:
    """Print joints within 10 % of the figure's height and people counted right, on figures never seen before."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    print("| figures | frames | joints within 10 % | people right | network, ms | decode, ms |")
    print("|---|---|---|---|---|---|")
    for row, (name, behind) in enumerate((("all facing the camera", 0.0), ("a quarter from behind", 0.25))):
        near = joints = right = 0
        network_s, decode_s = [], []
        for i in range(frames):
            rng = np.random.default_rng(EVALUATION_SEEDS + row * 10_000_000 + i)
            scene = stick_figures.render(rng, behind=behind)
            x = scene.frame[..., ::-1].transpose(2, 0, 1)[None].astype(np.float32)
            x = (x - np.float32(pose.PREPROCESS["mean"])) / np.float32(pose.PREPROCESS["std"])
            before = time.perf_counter()
            maps = session.run(None, {"image": x})[0]
            between = time.perf_counter()
            people = pose.decode(maps)
            decode_s.append(time.perf_counter() - between)
            network_s.append(between - before)
            right += len(people) == len(scene.joints)
            good, total = score(people, scene)
            near, joints = near + good, joints + total
        print(
            f"| {name} | {frames} | {near / joints:.1%} | {right / frames:.1%} "
            f"| {1e3 * np.median(network_s):.1f} | {1e3 * np.median(decode_s):.1f} |"
        )


def score(people: list[np.ndarray], scene: stick_figures.Scene) -> tuple[int, int]:
    """(joints found, joints that can be seen): each person is matched with one answer, the best pairs first."""
    limit = 0.1 * scene.heights
    hits = np.zeros((len(scene.joints), len(people)), int)
    for i, truth in enumerate(scene.joints):
        for k, person in enumerate(people):
            distance = np.hypot(*(truth[:, :2] - person[:, :2]).T)
            hits[i, k] = int(((distance <= limit[i]) & (truth[:, 2] > 0)).sum())
    good = 0
    while hits.size and hits.max() > 0:
        i, k = np.unravel_index(int(hits.argmax()), hits.shape)
        good += int(hits[i, k])
        hits[i, :] = hits[:, k] = 0
    return good, int(scene.joints[..., 2].sum())


def clip(seconds: float = 10.0, rate: float = 20.0) -> None:
    """Write samples/data/walk.mp4: 640x480, people walking, a seed never used in training."""
    CLIP.parent.mkdir(parents=True, exist_ok=True)
    writer = cv2.VideoWriter(str(CLIP), cv2.VideoWriter_fourcc(*"mp4v"), rate, (640, 480))
    for scene in stick_figures.walk(EVALUATION_SEEDS + 77, 640, 480, round(seconds * rate), rate):
        writer.write(scene.frame)
    writer.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluate", action="store_true", help="print the table")
    parser.add_argument("--frames", type=int, default=300, help="frames for each row of the table")
    parser.add_argument("--clip", action="store_true", help="write the clip")
    parser.add_argument("--minutes", type=float, default=40, help="how long to train")
    parser.add_argument("--threads", type=int, default=3, help="PyTorch threads: one fewer than cores is fastest")
    parser.add_argument("--start-from", type=Path, help="weights (.pt) to go on from")
    arguments = parser.parse_args()
    if arguments.evaluate:
        evaluate(arguments.frames)
    elif arguments.clip:
        clip()
    else:
        train(arguments.minutes, arguments.threads, arguments.start_from)


if __name__ == "__main__":
    main()
