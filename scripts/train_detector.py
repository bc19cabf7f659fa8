#!/usr/bin/env python3
"""Train and evaluate the sample's detector.

    scripts/train_detector.py                 train on rendered figures and write samples/models/detector.onnx
    scripts/train_detector.py --evaluate      print the table of samples/models/README.md (onnxruntime, no PyTorch)

Training needs PyTorch and onnx (pip install .[train]).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "samples"), str(ROOT / "scripts")]

import _onnx_export  # noqa: E402
import detector  # noqa: E402
import stick_figures  # noqa: E402

MODEL = ROOT / "samples" / "models" / "detector.onnx"
SIZE = detector.INPUT_HW[0]
BINS, POINTS, MASKS = 8, detector.JOINTS, 16
STRIDES = (8, 16, 32)
PARTS = ("box", "score", "keypoints", "coefficients")
MOST = 4  # figures of a frame
VISIBLE = 5  # joints that can be seen of a figure that counts
EVALUATION_SEEDS = 2_000_000_000  # training uses smaller ones


class Truth(NamedTuple):
    """What a detector should find: boxes (n, 4), classes (n,), joints (n, 18, 3), masks (n, H/4, W/4) bool."""

    boxes: np.ndarray
    classes: np.ndarray
    joints: np.ndarray
    masks: np.ndarray


def truth(scene: stick_figures.Scene) -> Truth:
    """The figures of which enough can be seen."""
    height, width = scene.frame.shape[:2]
    assert scene.owner is not None
    seen = np.flatnonzero(scene.joints[:, :, 2].sum(1) >= VISIBLE)
    boxes, masks = np.zeros((len(seen), 4), np.float32), np.zeros((len(seen), height // 4, width // 4), bool)
    for row, i in enumerate(seen):
        points, tall = scene.joints[i, :, :2], scene.heights[i]
        head, radius = points[16:18].mean(0), np.array([0.058, 0.0725]) * tall
        boxes[row, :2] = np.minimum(points.min(0) - 0.03 * tall, head - radius).clip(0, [width, height])
        boxes[row, 2:] = np.maximum(points.max(0) + 0.03 * tall, head + radius).clip(0, [width, height])
        own = (scene.owner == i + 1).astype(np.float32)
        masks[row] = cv2.resize(own, (width // 4, height // 4), interpolation=cv2.INTER_AREA) > 0.5
    return Truth(boxes, np.array(scene.behind, np.int64)[seen], scene.joints[seen].astype(np.float32), masks)


def example(seed: int) -> tuple[np.ndarray, Truth]:
    """A frame of the network's size, BGR, and what is in it."""
    scene = stick_figures.render(np.random.default_rng(seed), behind=0.35, size=SIZE)
    return scene.frame, truth(scene)


def network() -> Any:
    """A backbone of five strided convolutions, a pyramid of three levels, a branch for each part, and prototypes."""
    import torch
    from torch import nn

    def convolution(inputs: int, outputs: int, size: int = 3, stride: int = 1) -> Any:
        layers = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
        return nn.Sequential(*layers)

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(convolution(width, width // 2), convolution(width // 2, width))

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    class Detector(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(convolution(3, 16, 3, 2), convolution(16, 32, 3, 2), Residual(32))
            self.down = nn.ModuleList(
                nn.Sequential(convolution(a, b, 3, 2), *(Residual(b) for _ in range(n)))
                for a, b, n in ((32, 40, 2), (40, 56, 2), (56, 72, 1))
            )
            self.side = nn.ModuleList(convolution(width, 40, 1) for width in (40, 56, 72))
            self.mix = nn.ModuleList(convolution(40, 40) for _ in STRIDES)
            counts = (4 * BINS, len(detector.CLASSES), 3 * POINTS, MASKS)
            self.parts = nn.ModuleList(
                nn.ModuleList(nn.Sequential(convolution(40, 40), nn.Conv2d(40, n, 1)) for n in counts) for _ in STRIDES
            )
            self.masks = nn.Sequential(convolution(40, 32), nn.Upsample(scale_factor=2.0), convolution(32, 32))
            self.prototypes = nn.Conv2d(32, MASKS, 1)
            for branches in self.parts:
                nn.init.constant_(branches[1][-1].bias, -4.6)

        def forward(self, x: Any) -> Any:
            x, maps = self.stem(x), []
            for step, side in zip(self.down, self.side):
                x = step(x)
                maps.append(side(x))
            for i in (1, 0):
                maps[i] = maps[i] + nn.functional.interpolate(maps[i + 1], scale_factor=2.0)
            maps = [mix(level) for level, mix in zip(maps, self.mix)]
            found = [[branch(level) for branch in branches] for level, branches in zip(maps, self.parts)]
            prototypes = self.prototypes(self.masks(maps[0]))
            if self.training:
                return found, prototypes
            return [torch.sigmoid(y) if i == 1 else y for level in found for i, y in enumerate(level)] + [prototypes]

    return Detector()


def cells() -> tuple[np.ndarray, np.ndarray]:
    """Centres (x, y) in pixels and strides of all cells, the levels one after the other."""
    centres, strides = [], []
    for stride in STRIDES:
        at = (np.arange(SIZE // stride, dtype=np.float32) + 0.5) * stride
        centres.append(np.stack(np.meshgrid(at, at), -1).reshape(-1, 2))
        strides.append(np.full(len(centres[-1]), stride, np.float32))
    return np.concatenate(centres), np.concatenate(strides)


def losses(outputs: Any, real: Truth, centres: Any, strides: Any) -> Any:
    """The sum of the losses of a batch: scores, boxes, bins, joints and masks of the cells that `chosen` names.

    real: tensors (B, MOST, ...); classes are -1 where there is no figure.
    """
    import torch
    from torch.nn import functional as F

    levels, prototypes = outputs
    box, logits, points, coefficients = (
        torch.cat([level[i].flatten(2) for level in levels], 2).transpose(1, 2).float() for i in range(len(PARTS))
    )
    bins = box.reshape(*box.shape[:2], 4, BINS)
    distances = (bins.softmax(-1) * torch.arange(BINS, dtype=torch.float32)).sum(-1) * strides[:, None]
    found = torch.cat([centres - distances[..., :2], centres + distances[..., 2:]], -1)
    owner, weight, positive = chosen(found, logits, real, centres, strides)
    batch, cell = positive.nonzero(as_tuple=True)
    own = owner[batch, cell]
    wanted = torch.zeros_like(logits)
    wanted[batch, cell, real.classes[batch, own]] = weight[batch, cell]
    total = wanted.sum().clamp(min=1)
    of_scores = F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / total
    goal, amount, at, stride = real.boxes[batch, own], weight[batch, cell], centres[cell], strides[cell]
    of_boxes = ((1 - overlap(found[batch, cell], goal, generalized=True)) * amount).sum() / total
    wish = (torch.cat([at - goal[:, :2], goal[:, 2:] - at], -1) / stride[:, None]).clamp(0, BINS - 1.01)
    low, lines = wish.long(), bins[batch, cell].reshape(-1, BINS)
    below = F.cross_entropy(lines, low.reshape(-1), reduction="none").reshape(-1, 4)
    above = F.cross_entropy(lines, low.reshape(-1) + 1, reduction="none").reshape(-1, 4)
    of_bins = ((below * (1 - wish + low) + above * (wish - low)).mean(-1) * amount).sum() / total
    size = (goal[:, 2:] - goal[:, :2]).clamp(min=4)
    joints, truth_joints = points[batch, cell].reshape(-1, POINTS, 3), real.joints[batch, own]
    corner = at - stride[:, None] / 2
    placed = 2 * joints[..., :2] * stride[:, None, None] + corner[:, None]
    far = (placed - truth_joints[..., :2]).abs().sum(-1) / size.prod(-1).sqrt()[:, None]
    of_joints = ((far * truth_joints[..., 2]).mean(-1) * amount).sum() / total
    seen = F.binary_cross_entropy_with_logits(joints[..., 2], truth_joints[..., 2], reduction="none")
    of_seen = (seen.mean(-1) * amount).sum() / total
    few = torch.randperm(len(cell))[:48]
    drawn = torch.einsum("nk,nkhw->nhw", coefficients[batch[few], cell[few]], prototypes.float()[batch[few]])
    side = torch.arange(SIZE // 4) * 4 + 2
    left, top, right, bottom = (goal[few, i, None] for i in range(4))
    inside = ((side > left) & (side < right))[:, None, :] & ((side > top) & (side < bottom))[:, :, None]
    wrong = F.binary_cross_entropy_with_logits(drawn, real.masks[batch[few], own[few]].float(), reduction="none")
    each = (wrong * inside).sum((1, 2)) / inside.sum((1, 2)).clamp(min=1)
    of_masks = (each * amount[few]).sum() / amount[few].sum().clamp(min=1e-3)
    return 0.5 * of_scores + 5 * of_boxes + 1.5 * of_bins + 6 * of_joints + 0.5 * of_seen + 2 * of_masks


def chosen(found: Any, logits: Any, real: Truth, centres: Any, strides: Any) -> tuple[Any, Any, Any]:
    """Choose the cells that answer for each figure by task alignment (Feng et al., "TOOD", 2021).

    Returns for each cell the figure, the score that it should have, and whether it has a figure at all.
    """
    import torch

    with torch.no_grad():
        boxes, classes = real.boxes, real.classes
        near = overlap(found[:, None], boxes[:, :, None])  # (B, MOST, cells)
        which = classes.clamp(min=0)[:, None, :].expand(-1, found.shape[1], -1)
        score = logits.sigmoid().gather(2, which).transpose(1, 2)
        sides = torch.cat([centres - boxes[:, :, None, :2], boxes[:, :, None, 2:] - centres], -1)
        within = (sides.amin(-1) > 0) & (sides.amax(-1) < (BINS - 1) * strides) & (classes >= 0)[:, :, None]
        alignment = score.sqrt() * near**6 * within
        good = within & (alignment >= alignment.topk(10, 2).values[..., -1:]) & (alignment > 0)
        best = torch.where(good, near, torch.zeros(())).argmax(1, keepdim=True)
        good &= torch.zeros_like(good).scatter(1, best, True)
        strength = alignment / alignment.amax(2, keepdim=True).clamp(min=1e-9)
        strength = strength * (near * good).amax(2, keepdim=True) * good
        return best[:, 0], strength.amax(1), good.any(1)


def overlap(a: Any, b: Any, generalized: bool = False) -> Any:
    """IoU of boxes in the last axis; generalized: less their frame's share that is in neither (Rezatofighi, 2019)."""
    import torch

    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    both = (high - low).clamp(min=0).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - both
    if not generalized:
        return both / (union + 1e-7)
    low, high = torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])
    frame = (high - low).prod(-1)
    return both / (union + 1e-7) - (frame - union) / (frame + 1e-7)


def batches(first: int, size: int) -> Any:
    """Frames and what is in them, for ever, from a process of its own."""
    seed, side = first, SIZE // 4
    while True:
        frames, boxes, joints = [], np.zeros((size, MOST, 4), np.float32), np.zeros((size, MOST, POINTS, 3), np.float32)
        classes, masks = np.full((size, MOST), -1, np.int64), np.zeros((size, MOST, side, side), bool)
        for i in range(size):
            frame, real = example(seed)
            seed, n = seed + 1, len(real.boxes)
            frames.append(frame[..., ::-1].transpose(2, 0, 1))
            boxes[i, :n], classes[i, :n], joints[i, :n], masks[i, :n] = real
        yield np.stack(frames), boxes, classes, joints, masks


def train(minutes: float, threads: int, start_from: Path | None) -> None:
    try:
        import torch
        from torch.utils.data import DataLoader, IterableDataset
    except ImportError as error:
        sys.exit(f"train_detector.py: training needs PyTorch ({error}): pip install .[train]")

    class Rendered(IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            cv2.setNumThreads(1)
            return batches(int(time.time()) % 1000 * 100_000, 16)

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    model = network().to(memory_format=torch.channels_last)
    if start_from is not None:
        model.load_state_dict(torch.load(start_from, weights_only=True))
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    centres, strides = (torch.from_numpy(a) for a in cells())
    began, loader = time.time(), DataLoader(Rendered(), batch_size=None, num_workers=1, prefetch_factor=6)
    for step, (frames, *real) in enumerate(loader, 1):
        progress = (time.time() - began) / (60 * minutes)
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, step / 100) * max(0.01, 0.5 * (1 + np.cos(np.pi * progress)))
        x = (frames.float() / detector.PREPROCESS["std"]).contiguous(memory_format=torch.channels_last)
        model.train()
        with torch.autocast("cpu", torch.bfloat16):
            outputs = model(x)
        loss = losses(outputs, Truth(*real), centres, strides)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        mean.update_parameters(model)
        if step % 50 == 0:
            print(f"{time.time() - began:6.0f} s  step {step}  loss {loss.item():.4f}", flush=True)
        if step % 500 == 0:
            save(model, mean)
    save(model, mean)


def save(model: Any, mean: Any) -> None:
    """Keep the weights, and export their mean with the latest statistics of batches."""
    import torch

    torch.save(model.state_dict(), MODEL.with_suffix(".pt"))
    averaged = network()
    averaged.load_state_dict(mean.module.state_dict())
    for here, there in zip(averaged.buffers(), model.buffers()):
        here.copy_(there)
    export(averaged)


def export(model: Any) -> None:
    """Write the network; the exporter folds the batch norms."""
    names = [*(f"{part}{stride}" for stride in STRIDES for part in PARTS), "prototypes"]
    _onnx_export.export(model.eval(), (SIZE, SIZE), names, detector.PREPROCESS, MODEL)


def average_precision(found: list[np.ndarray], real: list[np.ndarray], least: float) -> float:
    """The area under precision over recall, at 101 points as COCO has it, of one class.

    found: for each frame, rows of a box and its score; real: for each frame, boxes. A box is right if its IoU with a
    box that no better one has is `least` or more.
    """
    hits: list[tuple[float, bool]] = []
    for rows, boxes in zip(found, real):
        free = np.ones(len(boxes), bool)
        for row in rows[np.argsort(-rows[:, 4], kind="stable")]:
            overlap = overlaps(row[:4], boxes) * free
            best = int(overlap.argmax()) if len(boxes) else -1
            good = best >= 0 and overlap[best] >= least
            if good:
                free[best] = False
            hits.append((float(row[4]), good))
    total = sum(map(len, real))
    if not hits or not total:
        return 0.0
    right = np.cumsum([good for _, good in sorted(hits, key=lambda hit: -hit[0])])
    precision = right / np.arange(1, len(right) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(right / total, np.linspace(0, 1, 101))
    return float(np.mean([envelope[i] if i < len(envelope) else 0.0 for i in places]))


def overlaps(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    sides = np.minimum(box[2:], boxes[:, 2:4]) - np.maximum(box[:2], boxes[:, :2])
    both = sides.clip(0).prod(1)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    result: np.ndarray = both / (areas + area - both)
    return result


def evaluate(frames: int) -> dict[str, float]:
    """Print how right floats and int8 NC1HWC2 buffers are on frames never seen before; return the mAP50s."""
    import detect

    print("| outputs | frames | AP50 front | AP50 behind | mAP50 | mAP50-95 | joints within 10 % | mask IoU |")
    print("|---|---|---|---|---|---|---|---|")
    answers = {}
    examples = [example(EVALUATION_SEEDS + i) for i in range(frames)]
    for name, dtype, layout in (("float32 NCHW", "float32", "NCHW"), ("int8 NC1HWC2", "int8", "NCHW16c")):
        board = detect.Board(MODEL, dtype, [frame for frame, _ in examples[:16]], layout)
        found = [board.detections(frame, confidence=0.01)[0] for frame, _ in examples]
        points = np.zeros((len(detector.CLASSES), 10))
        for c in range(len(detector.CLASSES)):
            rows = [np.column_stack([d.xyxy, d.confidence])[d.class_id == c] for d in found]
            boxes = [real.boxes[real.classes == c] for _, real in examples]
            points[c] = [average_precision(rows, boxes, least) for least in np.arange(0.5, 0.951, 0.05)]
        joints, masks = parts(found, [real for _, real in examples])
        of_classes = " | ".join(f"{p[0]:.3f}" for p in points)
        answers[dtype] = float(points[:, 0].mean())
        ends = f"{points.mean():.3f} | {joints:.1%} | {masks:.3f}"
        print(f"| {name} | {frames} | {of_classes} | {answers[dtype]:.3f} | {ends} |")
    return answers


def parts(found: list[Any], real: list[Truth]) -> tuple[float, float]:
    """The share of joints within 10 % of the box's height, and the mean IoU of masks, of figures that were found."""
    near, seen, shares = 0, 0, []
    for detections, truths in zip(found, real):
        for box, joints, mask in zip(truths.boxes, truths.joints, truths.masks):
            fit = overlaps(box, detections.xyxy) * (detections.confidence >= 0.4)
            if not len(fit) or fit.max() < 0.5:
                continue
            best = int(fit.argmax())
            distance = np.hypot(*(detections.keypoints[best, :, :2] - joints[:, :2]).T)
            near += int(((distance <= 0.1 * (box[3] - box[1])) & (joints[:, 2] > 0)).sum())
            seen += int(joints[:, 2].sum())
            drawn = (
                cv2.resize(
                    detections.masks.full(best).astype(np.float32), mask.shape[::-1], interpolation=cv2.INTER_AREA
                )
                > 0.5
            )
            shares.append((drawn & mask).sum() / max(1, (drawn | mask).sum()))
    return near / max(1, seen), float(np.mean(shares)) if shares else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluate", action="store_true", help="print the table")
    parser.add_argument("--frames", type=int, default=300, help="frames of the table")
    parser.add_argument("--minutes", type=float, default=30, help="how long to train")
    parser.add_argument("--threads", type=int, default=1, help="PyTorch threads: one fewer than cores is fastest")
    parser.add_argument("--start-from", type=Path, help="weights (.pt) to go on from")
    arguments = parser.parse_args()
    if arguments.evaluate:
        evaluate(arguments.frames)
    else:
        train(arguments.minutes, arguments.threads, arguments.start_from)


if __name__ == "__main__":
    main()
