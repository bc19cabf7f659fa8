#!/usr/bin/env python3
"""Train the zoo's networks of scripts/verdicts/trained on rendered pictures, a few minutes each.

    scripts/train_zoo.py                      all of them
    scripts/train_zoo.py depth words          some of them

Their answers depend on the picture as those of real networks do, which those of random weights do not. Training needs
PyTorch and onnx (pip install .[train]); what each has learned is printed on pictures that it has not seen.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _onnx_export
from verdicts import rendered

FOLDER = Path(__file__).resolve().parent / "verdicts" / "trained"
BATCH, SCENES, UNSEEN = 32, 6000, 300
CLASSES, PEOPLE, TILE = 1 + len(rendered.SHAPES), rendered.PEOPLE, 16
ANCHORS = {8: ((12, 12), (20, 20), (32, 32)), 16: ((28, 28), (44, 44), (64, 64))}
Batch = dict[str, torch.Tensor]


class Task(NamedTuple):
    """A network: size of its pictures, outputs, how it is made, its loss, and what says how good it is (1: perfect).

    How many steps it takes, and the highest learning rate.
    """

    size_wh: tuple[int, int]
    outputs: tuple[str, ...]
    network: Callable[[], nn.Module]
    scenes: Callable[[int, int, tuple[int, int]], Batch]
    loss: Callable[[nn.Module, Batch], torch.Tensor]
    quality: Callable[[nn.Module, Batch], torch.Tensor]
    steps: int = 1500
    rate: float = 3e-3


def convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Backbone(nn.Module):
    """Features at strides 2, 4, 8 and 16."""

    def __init__(self, widths: tuple[int, ...] = (12, 16, 24, 32)) -> None:
        super().__init__()
        ends = zip((3, *widths), widths)
        self.steps = nn.ModuleList(nn.Sequential(convolution(a, b, 2), convolution(b, b)) for a, b in ends)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        found = []
        for step in self.steps:
            x = step(x)
            found.append(x)
        return found


class Dense(nn.Module):
    """A value for each pixel: features of all strides, enlarged step by step."""

    def __init__(self, channels: int, positive: bool) -> None:
        super().__init__()
        self.body, self.positive = Backbone(), positive
        self.up = nn.ModuleList(convolution(a + b, b) for a, b in ((32, 24), (24, 16), (16, 12)))
        self.last = nn.Conv2d(12, channels, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        *skips, x = self.body(image)
        for up, skip in zip(self.up, skips[::-1]):
            x = up(torch.cat([F.interpolate(x, scale_factor=2.0), skip], 1))
        x = F.interpolate(self.last(x), scale_factor=2.0, mode="bilinear", align_corners=False)
        return F.relu(x) if self.positive else x


class Classifier(nn.Module):
    """Which shape is the nearest one, and in which quarter of the picture: probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.body = Backbone((12, 20, 32, 48))
        self.last = nn.Linear(48 * 6 * 6, 4 * len(rendered.SHAPES))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits = self.last(self.body(image)[-1].flatten(1))
        return logits if self.training else logits.softmax(1)


class Anchors(nn.Module):
    """Three anchors a cell at two strides: x, y, w, h, objectness and classes, as YOLOv5's maps before the sigmoid."""

    def __init__(self) -> None:
        super().__init__()
        self.body, each = Backbone((12, 20, 32, 40)), 3 * (5 + len(rendered.SHAPES))
        self.heads = nn.ModuleList(nn.Sequential(convolution(n, n), nn.Conv2d(n, each, 1)) for n in (32, 40))

    def forward(self, image: torch.Tensor) -> list[torch.Tensor]:
        return [head(x) for head, x in zip(self.heads, self.body(image)[2:])]


class Tokens(nn.Module):
    """A small transformer over tiles of 16 x 16 pixels; its answer are the tokens behind the last norm."""

    def __init__(self, width: int = 48, side: int = 6) -> None:
        super().__init__()
        self.tiles = nn.Conv2d(3, width, TILE, TILE)
        self.place = nn.Parameter(0.02 * torch.randn(1, side * side, width))
        layers = (nn.TransformerEncoderLayer(width, 4, 96, 0.0, "gelu", batch_first=True, norm_first=True),) * 1
        self.layers = nn.TransformerEncoder(layers[0], 3, enable_nested_tensor=False)
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.layers(self.tiles(image).flatten(2).transpose(1, 2) + self.place))
        return self.last(x) if self.training else x


class Face(nn.Module):
    """Whose face it is: a vector of length 1 that is near to those of the same person."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.embed = Backbone((12, 24, 32, 48)), nn.Linear(48 * 4 * 4, 64)
        self.people = nn.Parameter(torch.randn(PEOPLE, 64))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.normalize(self.embed(self.body(image)[-1].flatten(1)))
        return 16 * x @ F.normalize(self.people).T if self.training else x


class Words(nn.Module):
    """Letters along the line: for each of 32 columns the probabilities of nothing and of each letter."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(3, 16, 2), convolution(16, 24), nn.MaxPool2d(2), convolution(24, 40), convolution(40, 56),
            nn.MaxPool2d((2, 1)), convolution(56, 64), nn.Conv2d(64, 80, (4, 1)), nn.ReLU(),
        )  # fmt: skip
        self.mix = nn.Sequential(nn.Conv1d(80, 80, 5, 1, 2), nn.ReLU())
        self.last = nn.Linear(80, 1 + len(rendered.LETTERS))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.mix(self.body(image).squeeze(2))
        logits = self.last(x.transpose(1, 2))
        return logits if self.training else logits.softmax(2)


def tensor(frames: list[np.ndarray]) -> torch.Tensor:
    """RGB planes of 0 .. 1."""
    return torch.from_numpy(np.stack(frames)[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / 255)


def of_shapes(first: int, count: int, size_wh: tuple[int, int]) -> Batch:
    scenes = [rendered.shapes(np.random.default_rng(first + i), size_wh) for i in range(count)]
    boxes, kinds = torch.zeros(count, 6, 4), torch.full((count, 6), -1)
    corner = torch.zeros(count, dtype=torch.long)
    for i, scene in enumerate(scenes):
        n = len(scene.kinds)
        boxes[i, :n], kinds[i, :n] = torch.from_numpy(scene.boxes), torch.from_numpy(scene.kinds)
        if n:  # the last one is the nearest
            x, y = (scene.boxes[-1, :2] + scene.boxes[-1, 2:]) / 2 > np.array(size_wh) / 2
            corner[i] = 4 * scene.kinds[-1] + 2 * y + x
    return {
        "image": tensor([scene.frame for scene in scenes]),
        "region": torch.from_numpy(np.stack([scene.region for scene in scenes])),
        "near": torch.from_numpy(np.stack([scene.nearness for scene in scenes])),
        "boxes": boxes, "kinds": kinds, "corner": corner,
    }  # fmt: skip


def of_faces(first: int, count: int, size_wh: tuple[int, int]) -> Batch:
    people = [i % PEOPLE for i in range(count)]
    faces = [rendered.face(np.random.default_rng(first + i), person, size_wh) for i, person in enumerate(people)]
    return {"image": tensor(faces), "person": torch.tensor(people)}


def of_words(first: int, count: int, size_wh: tuple[int, int]) -> Batch:
    words = [rendered.word(np.random.default_rng(first + i), size_wh) for i in range(count)]
    letters = torch.zeros(count, 8, dtype=torch.long)
    for i, (_, text) in enumerate(words):
        letters[i, : len(text)] = torch.tensor([1 + rendered.LETTERS.index(c) for c in text])
    return {"image": tensor([frame for frame, _ in words]), "letters": letters}


def of_anchored(first: int, count: int, size_wh: tuple[int, int]) -> Batch:
    batch = of_shapes(first, count, size_wh)
    for stride in ANCHORS:
        batch[f"goal{stride}"], batch[f"kind{stride}"] = anchored(batch, stride)
    return batch


def anchored(batch: Batch, stride: int) -> tuple[torch.Tensor, torch.Tensor]:
    """For each anchor and cell (B, 3, H, W) its box (0 where it has none) and class, -1 for none."""
    height, width = (n // stride for n in batch["image"].shape[2:])
    goal = torch.zeros(len(batch["image"]), 3, height, width, 4)
    kind = torch.full(goal.shape[:-1], -1)
    for i, (boxes, kinds) in enumerate(zip(batch["boxes"], batch["kinds"])):
        for box, k in zip(boxes[kinds >= 0], kinds[kinds >= 0]):
            x, y = ((box[:2] + box[2:]) / 2 / stride).long().tolist()
            size = (box[2:] - box[:2]).clamp(min=1)
            for a, anchor in enumerate(ANCHORS[stride]):
                ratio = size / torch.tensor(anchor)
                if max(ratio.max(), (1 / ratio).max()) < 2:
                    goal[i, a, y, x], kind[i, a, y, x] = box, k
    return goal, kind


def of_anchors(network: nn.Module, batch: Batch) -> torch.Tensor:
    total = torch.zeros(())
    for raw, stride in zip(network(batch["image"]), ANCHORS):
        goal, kind = batch[f"goal{stride}"], batch[f"kind{stride}"]
        n, _, height, width = raw.shape
        x = raw.reshape(n, 3, -1, height, width).permute(0, 1, 3, 4, 2)
        total = total + 8 * F.binary_cross_entropy_with_logits(x[..., 4], (kind >= 0).float())
        a, y, across = (index for index in (kind >= 0).nonzero(as_tuple=True)[1:])
        own, box = x[kind >= 0], goal[kind >= 0]
        if not len(own):
            continue
        cell = torch.stack([across, y], 1)
        centre = (2 * own[:, :2].sigmoid() - 0.5 + cell) * stride
        size = (2 * own[:, 2:4].sigmoid()) ** 2 * torch.tensor(ANCHORS[stride])[a]
        wish = (box[:, :2] + box[:, 2:]) / 2, box[:, 2:] - box[:, :2]
        total = total + ((centre - wish[0]).abs().mean() + (size - wish[1]).abs().mean()) / stride
        total = total + F.cross_entropy(own[:, 5:], kind[kind >= 0])
    return total


def found_anchors(network: nn.Module, batch: Batch) -> torch.Tensor:
    """The share of shapes whose anchor has their class, and an objectness of a half or more."""
    right: list[torch.Tensor] = []
    for raw, stride in zip(network(batch["image"]), ANCHORS):
        kind = batch[f"kind{stride}"]
        x = raw.reshape(len(raw), 3, -1, *raw.shape[2:]).permute(0, 1, 3, 4, 2)[kind >= 0]
        right.append((x[:, 4] > 0) & (x[:, 5:].argmax(1) == kind[kind >= 0]))
    return torch.cat(right).float().mean()


def of_letters(network: nn.Module, batch: Batch) -> torch.Tensor:
    logits, letters = network(batch["image"]).log_softmax(2).transpose(0, 1), batch["letters"]
    lengths = torch.full((len(letters),), len(logits))
    return F.ctc_loss(logits, letters, lengths, (letters > 0).sum(1), zero_infinity=True)


def read_words(network: nn.Module, batch: Batch) -> torch.Tensor:
    """The share of words that are read without a mistake."""
    right = []
    for path, letters in zip(network(batch["image"]).argmax(2), batch["letters"]):
        read = torch.unique_consecutive(path)
        right.append(read[read > 0].tolist() == letters[letters > 0].tolist())
    return torch.tensor(right).float().mean()


def own_person(network: nn.Module, batch: Batch) -> torch.Tensor:
    """How often the nearest other face is of the same person."""
    vectors = network(batch["image"])
    near = (vectors @ vectors.T).fill_diagonal_(-2).argmax(1)
    return (batch["person"][near] == batch["person"]).float().mean()


def in_tiles(batch: Batch) -> torch.Tensor:
    region = batch["region"].unfold(1, TILE, TILE).unfold(2, TILE, TILE).flatten(3).flatten(1, 2)
    return torch.as_tensor(F.one_hot(region, CLASSES).sum(2)).argmax(2)


def token_quality(network: nn.Module, batch: Batch) -> torch.Tensor:
    wanted = in_tiles(batch)
    found = network.last(network(batch["image"])).argmax(2)  # type: ignore[operator]
    return (found == wanted)[wanted > 0].float().mean()


def alike(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The share of the variance of y that x explains."""
    return 1 - ((x - y) ** 2).mean() / y.var()


TASKS = {
    "depth": Task(
        (128, 96), ("depth",), lambda: Dense(1, positive=True), of_shapes,
        lambda net, b: (net(b["image"])[:, 0] - b["near"]).abs().mean(),
        lambda net, b: alike(net(b["image"])[:, 0], b["near"]),
    ),
    "regions": Task(
        (96, 96), ("regions",), lambda: Dense(CLASSES, positive=False), of_shapes,
        lambda net, b: F.cross_entropy(net(b["image"]), b["region"]),
        lambda net, b: (net(b["image"]).argmax(1) == b["region"])[b["region"] > 0].float().mean(),
    ),
    "quarter": Task(
        (96, 96), ("probabilities",), Classifier, of_shapes,
        lambda net, b: F.cross_entropy(net(b["image"]), b["corner"]),
        lambda net, b: (net(b["image"]).argmax(1) == b["corner"]).float().mean(),
    ),
    "anchors": Task((128, 128), ("p3", "p4"), Anchors, of_anchored, of_anchors, found_anchors, 2000),
    "tokens": Task(
        (96, 96), ("tokens",), Tokens, of_shapes,
        lambda net, b: F.cross_entropy(net(b["image"]).flatten(0, 1), in_tiles(b).flatten()), token_quality,
        3000, 1e-3,
    ),
    "face": Task(
        (64, 64), ("embedding",), Face, of_faces,
        lambda net, b: F.cross_entropy(net(b["image"]), b["person"]), own_person,
    ),
    "words": Task((128, 32), ("letters",), Words, of_words, of_letters, read_words, 4000),
}  # fmt: skip


def train(name: str, steps: int | None) -> None:
    """Train a network, say how good it is, and write it."""
    task, began = TASKS[name], time.monotonic()
    torch.manual_seed(len(name))
    network, last = task.network(), steps or task.steps
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    seen, unseen = task.scenes(0, SCENES, task.size_wh), task.scenes(10**6, UNSEEN, task.size_wh)
    for step in range(last):
        rows = torch.randint(SCENES, (BATCH,))
        for group in optimizer.param_groups:
            group["lr"] = task.rate * min(1.0, (step + 1) / 50) * max(0.01, 0.5 * (1 + np.cos(np.pi * step / last)))
        loss = task.loss(network.train(), {key: value[rows] for key, value in seen.items()})
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
    with torch.no_grad():
        quality = float(task.quality(network.eval(), unseen))
    about = {"mean": [0, 0, 0], "std": [255, 255, 255], "color": "RGB"}
    _onnx_export.export(network, task.size_wh[::-1], task.outputs, about, FOLDER / f"{name}.onnx")
    size, took = (FOLDER / f"{name}.onnx").stat().st_size >> 10, time.monotonic() - began
    print(f"{name}: {last} steps in {took:.0f} s, quality {quality:.3f}, {size} KiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*TASKS, []], help="networks to train (default: all)")
    parser.add_argument("--steps", type=int, help="steps for which each network is trained")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    cv2.setNumThreads(1)
    for name in given.names or TASKS:
        train(name, given.steps)


if __name__ == "__main__":
    main()
