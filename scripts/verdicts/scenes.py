"""Frames of one stream, as a case has them: what was declared, what was fed, and what a device computes about them."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from . import feeding, models, pictures, second_input
from .faults import Fault
from .ports import NotApplicable

Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    """``str`` and `parse` are inverse: fault/model/dtype/noise/seed."""

    fault: str
    model: str
    dtype: str
    noise: str
    seed: int

    def __str__(self) -> str:
        return "/".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Case:
        fault, model, dtype, noise, seed = text.split("/")
        return cls(fault, model, dtype, noise, int(seed))


class Scene:
    """Frames of one stream: what was declared, what was fed, and what each network says about it."""

    def __init__(self, case: Case, fault: Fault) -> None:
        self.case, self.fault, self.model = case, fault, models.load(case.model)
        self.rng = np.random.default_rng([zlib.crc32(str(case).encode()), case.seed])
        self.count = self._count()
        self.declared = {**self.model.preprocess, **(fault.declared or {})}
        self.done = fault.done(self.declared) if fault.done else self.declared
        height, width = self.model.shape[2:]
        odd = fault.odd_frames or (self.rng.random() < 0.3)
        size_wh = ((width, height), (240, 160), (150, 240))[int(self.rng.integers(1, 3)) if odd else 0]
        kind = str(self.rng.choice(pictures.KINDS))
        kind = models.KINDS[self.model.name].pictures or kind
        self.lead = 3
        length = self.count + 2 * self.lead
        self.images = pictures.stream(self.rng, kind, length, size_wh)
        if fault.identical:
            self.images = [self.images[0]] * length
        if fault.brightness != 1:
            self.images = [(image * fault.brightness).astype(np.uint8) for image in self.images]
        self.seconds = self.second_stream()
        self.records_frame = fault.odd_frames or self.rng.random() < 0.25
        self.frames = self.images  # as they are recorded
        if fault.camera is not None:
            if self.model.shape[1] != 3 or self.model.pair:
                raise NotApplicable("not one picture in colour")
            both = [fault.camera(self.rng, image) for image in self.images]
            self.frames, self.images = [one for one, _ in both], [other for _, other in both]
            self.records_frame = True
        self.kept: dict[Any, Arrays] = {}

    def second_stream(self) -> list[np.ndarray]:
        """Return the pictures of a model's second input; the same as of the first one if it has none."""
        pair = np.random.default_rng([zlib.crc32(str(self.case).encode()), self.case.seed, 2])
        return second_input.stream(pair, self.images) if self.model.pair else self.images

    def _count(self) -> int:
        low, high = self.fault.frames or ((2, 24) if self.fault.cause == "match" else (4, 24))
        most, enough = models.KINDS[self.model.name][-2:]
        high = min(high, most)
        if enough and low > 1:
            low, high = max(low, enough), max(high, enough + 8)
        return int(self.rng.integers(low, high + 1))

    def image(self, t: int) -> np.ndarray:
        return self.images[t + self.lead]

    def frame(self, t: int) -> np.ndarray:
        return self.frames[t + self.lead]

    def says(self, path: str, done: dict[str, Any], t: int, cut: bool = False) -> Arrays:
        """What a network says about frame t when it is preprocessed so, and `cut` to the declared range."""
        key = path, str(sorted(done.items())), t, cut
        if key not in self.kept:
            fed = feeding.fed(self.model, self.image(t), self.seconds[t + self.lead], done)
            if cut:  # as a quantised network does with its input
                fed = {name: feeding.saturated(x, self.declared) for name, x in fed.items()}
            self.kept[key] = models.engine(path).infer(fed if self.model.pair else fed["image"])
        return self.kept[key]


def device_outputs(scene: Scene, t: int) -> Arrays:
    """What the device computes about frame t, before it is stored."""
    fault, model, source = scene.fault, scene.model, scene.case.noise
    path = model.other if fault.device == "other" else model.quantised if source == "qdq" else model.path
    outputs = scene.says(path, scene.done, t)
    db = 3.0 if fault.device == "noisy" else None if source == "qdq" else float(source)
    if db is None:
        return dict(outputs)
    noisy = {}
    for name, y in outputs.items():
        rng = np.random.default_rng([zlib.crc32(f"{scene.case}{name}".encode()), t + scene.lead])
        noise = rng.standard_normal(y.shape) * _deviation(scene, name) * 10 ** (-db / 20)
        noisy[name] = (y + noise).astype(np.float32)
    return noisy


def _deviation(scene: Scene, name: str) -> np.ndarray:
    """Deviation of each channel (1, channels, ...) over the recording, of the float network fed as it was in truth; a
    channel that hardly varies gets a little of the others' noise."""
    key = ("deviation", name)
    if key not in scene.kept:
        values = models.by_channel([scene.says(scene.model.path, scene.done, t)[name] for t in range(scene.count)])
        std = values.std(1)
        std = np.maximum(std, 0.01 * np.sqrt((std**2).mean()))
        scene.kept[key] = {"": std.reshape(-1, *[1] * (len(scene.model.outputs[name]) - 2))}
    return scene.kept[key][""]
