#!/usr/bin/env python3
"""How often does the diagnosis accuse a board without a fault? Many draws of outputs, noise, dtype and layout.

    scripts/false_alarms.py                     # 100,000 draws
    scripts/false_alarms.py --draws 2000 --most 20

A draw is one output of a network of the matrix (scripts/verdicts), one or two values, or a classifier that is sure,
for 1 to 16 frames, dim or not, with noise of 5 to 40 dB of some kind, stored in some dtype and layout, and declared
as it is. The causes are searched for as `validate` does, the model's answers to inputs made in other ways among them.
Exit status 1 if more than 1 in 10,000 are accused.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from verdicts import models, pictures, ports

from npu_layout.buffers import TensorSpec
from npu_layout.comparison import channel_axis
from npu_layout.diagnosis import PreparedImage, Remade, Situation, diagnose, distinct, variants
from npu_layout.diagnosis.scoring.evidence import Evidence

RATE = 1e-4  # asked
MODELS = ("maps", "yolo", "yolo8", "segmentation", "classifier", "ssd", "twins", "gray", "flow", "embedding", "box")
MADE = {"value": 1, "values": 2, "sure": 10, "surest": 1000}  # outputs that no network is needed for, of so many values
FRAMES, SHADES = 20, {"": 1.0, "dim": 0.12}
Rng = np.random.Generator
REFUSALS = {"match", "ambiguous", "mismatch"}


class Zoo(NamedTuple):
    """What one network answers to a stream, as float and quantised, and to inputs made in other ways."""

    model: models.Model
    references: list[dict[str, np.ndarray]]
    quantised: list[dict[str, np.ndarray]]
    remade: dict[str, list[Remade]]


def of_numbers(name: str) -> Zoo:
    """One or two values, or probabilities of a classifier that is sure: quantised, it is less so, if at all."""
    rng, count = np.random.default_rng(len(name)), MADE[name]
    references, quantised = [], []
    for _ in range(FRAMES):
        if count <= 2:
            x, y = rng.uniform(-1, 1, (2, 1, count))
            y = x + 0.05 * y
        else:
            x = 0.02 * rng.dirichlet(np.ones(count))[None]
            x[0, rng.integers(count)] += 0.98
            y = (1 - (share := rng.uniform(0, 0.2))) * x + share * rng.dirichlet(np.ones(count))
        references.append({"y": x.astype(np.float32)})
        quantised.append({"y": y.astype(np.float32)})
    limits = np.full(count, -1.0 if count <= 2 else 0.0), np.full(count, 1.0)
    model = models.load(MODELS[0])._replace(outputs={"y": (1, count)}, ranges={"y": limits})
    return Zoo(model, references, quantised, {"y": []})


@cache
def zoo(name: str, shade: str) -> Zoo:
    if name in MADE:
        return of_numbers(name)
    model, rng = models.load(name), np.random.default_rng(len(name))
    frames = pictures.stream(rng, "mixed", FRAMES, (model.shape[3], model.shape[2]))
    frames = [(frame * SHADES[shade]).astype(np.uint8) for frame in frames]
    inputs = [models.prepare(name, frame, model.preprocess) for frame in frames]
    engine, quantised = models.engine(model.path), models.engine(model.quantised)
    references = [engine.infer(x) for x in inputs]
    limits = min(float(x.min()) for x in inputs), max(float(x.max()) for x in inputs)
    made: dict[str, dict[Any, Remade]] = {output: {} for output in references[0]}
    for row, x in enumerate(inputs):
        answers: dict[int, tuple[np.ndarray, dict[str, np.ndarray]]] = {}  # by the id of an input, which it keeps alive
        for variant in variants(PreparedImage(x, limits, {"preprocess": model.preprocess}, frames[row])):
            if id(variant.x) not in answers:
                answers[id(variant.x)] = variant.x, engine.infer(variant.x)
            for output, answer in answers[id(variant.x)][1].items():
                one = made[output].setdefault(variant.id, Remade(variant.text, variant.fix, {}, variant.cause))
                one.answers[row] = answer
    return Zoo(
        model,
        references,
        [quantised.infer(x) for x in inputs],
        {output: [*distinct(of).values()] for output, of in made.items()},
    )


def _white(rng: Rng, y: np.ndarray) -> np.ndarray:
    return rng.standard_normal(y.shape)


def _smooth(rng: Rng, y: np.ndarray) -> np.ndarray:
    """Noise whose neighbours are alike."""
    noise = rng.standard_normal(y.shape)
    if y.ndim == 4 and min(y.shape[2:]) > 4:
        noise = np.stack([cv2.GaussianBlur(plane, (0, 0), 1.5) for plane in noise.reshape(-1, *y.shape[2:])])
        noise = noise.reshape(y.shape)
    return noise / max(float(noise.std()), 1e-12)


def _by_value(rng: Rng, y: np.ndarray) -> np.ndarray:
    """Noise that is larger where the value is."""
    noise = rng.standard_normal(y.shape) * np.abs(y - y.mean())
    return noise / max(float(noise.std()), 1e-12)


NOISES: dict[str, Callable[[Rng, np.ndarray], np.ndarray]] = {"white": _white, "smooth": _smooth, "by value": _by_value}


def _spec(rng: Rng, home: Zoo, output: str) -> tuple[TensorSpec, str]:
    """Some dtype, layout and quantisation for an output, and their words."""
    port = ports.Port(output, home.model.outputs[output], *home.model.ranges[output])
    dtype = str(rng.choice(["int8", "uint8", "int16", "float16", "float32"]))
    clipped = float(rng.choice([1.0, 1.0, 0.7]))
    port = port._replace(low=port.low * clipped, high=port.high * clipped)
    each = dtype in ports.QUANTISED and port.shape[1] < 130 and rng.random() < 0.25
    layout = str(rng.choice(ports.LAYOUTS[len(port.shape)]))
    spec = ports.place(port, layout, dtype, quantization=port.quantization(dtype, each=bool(each)))
    return spec, f"{dtype} {layout} {clipped}"


def _buffers(
    rng: Rng, home: Zoo, output: str, rows: Sequence[int], spec: TensorSpec, noise: tuple[str, float]
) -> list[np.ndarray]:
    """What a device without a fault stores for these frames, with noise of a kind and its decibels."""
    kind, decibels = noise
    values = np.stack([reference[output] for reference in home.references])
    deviation = values.reshape(FRAMES, values.shape[1], values.shape[2], -1).std((0, 1, 3) if values.ndim > 3 else None)
    deviation = np.reshape(deviation, (1, -1, *[1] * (values.ndim - 3))) if np.ndim(deviation) else deviation
    buffers = []
    for row in rows:
        y = home.quantised[row][output] if kind == "quantised" else home.references[row][output]
        if kind != "quantised":
            y = y + NOISES[kind](rng, y) * deviation * 10 ** (-decibels / 20)
        with np.errstate(over="ignore"):
            buffers.append(spec.pack(np.asarray(y, np.float32)).reshape(-1))
    return buffers


def _remade(home: Zoo, output: str, rows: range) -> Iterator[Remade]:
    """The answers to inputs made in other ways, those that at least half of the frames have."""
    for one in home.remade[output]:
        answers = {row - rows.start: answer for row, answer in one.answers.items() if row in rows}
        if 2 * len(answers) >= len(rows):
            yield one._replace(answers=answers)


def draw(seed: int) -> tuple[str, str]:
    """One draw: the verdict, and what it was of."""
    rng = np.random.default_rng(seed)
    names = (*MODELS, *MADE)
    name, shade = names[seed % len(names)], ("", "dim")[int(rng.random() < 0.4)]
    home = zoo(name, shade)
    output = str(rng.choice(list(home.model.outputs)))
    count = min(int(rng.choice([1, 2, 3, 5, 8, 16])), FRAMES)
    start = int(rng.integers(0, FRAMES - count + 1))
    rows = range(start, start + count)
    kind, decibels = str(rng.choice(["quantised", *NOISES])), float(rng.uniform(5, 40))
    spec, stored = _spec(rng, home, output)
    buffers = _buffers(rng, home, output, rows, spec, (kind, decibels))
    references = [home.references[row] for row in rows]
    kept = [reference[output] for reference in references]
    alike = [t for r in references for o, t in r.items() if o != output and t.shape == kept[0].shape]
    evidence = Evidence(spec, buffers, kept, alike, channel_axis(kept[0]))
    everything = {o: [r[o] for r in references] for o in references[0]}
    situation = Situation(output, list(rows), everything, {output: spec}, list(_remade(home, output, rows)))
    judgement = diagnose(evidence, situation, True, None)[1]
    about = f"{name}/{output} {shade} {count} frames, {kind} {decibels:.0f} dB, {stored}, seed {seed}"
    return judgement.verdict, f"{about}: {judgement.why}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100_000, help="recordings that are drawn (default: 100000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first draw (default: 0)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one for each core)")
    parser.add_argument("--most", type=int, default=20, help="how many accusations are printed (default: 20)")
    given = parser.parse_args(arguments)
    for name in MODELS:
        models.load(name)  # once, before the workers would all build it
    start, verdicts, accused = time.monotonic(), collections.Counter[str](), []
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for verdict, about in pool.imap_unordered(draw, range(given.seed, given.seed + given.draws), chunksize=64):
            verdicts[verdict] += 1
            if verdict not in REFUSALS:
                accused.append(f"{verdict}: {about}")
    for line in accused[: given.most]:
        print(line)
    print(f"{given.draws} draws in {time.monotonic() - start:.0f} s: {dict(verdicts)}")
    print(f"accused: {len(accused)} ({1e4 * len(accused) / given.draws:.2f} of 10,000; asked {1e4 * RATE:g} at most)")
    return int(len(accused) > max(RATE * given.draws, 0))


if __name__ == "__main__":
    sys.exit(main())
