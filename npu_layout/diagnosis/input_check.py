"""Check whether a recorded input is what the recording's preprocess makes of the camera's frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..frames import ARGUMENTS, INTERPOLATIONS, MODES, Preprocessor, said, usual
from ..layouts import Layout
from ..recordings import FRAME, Recording, normalisation
from ..support import check_fields, isolated
from .input_variants import FLIPPED, PADS, How, image_channels
from .usual_mistakes import mistakes
from .verdict import Judgement

_SAME = 1.0  # steps, root mean square: differences of rounding, and of other code for the same resize
_EXACT = 0.25  # steps: another of cv2's interpolations has to match exactly to be named
_WRONG = "The recorded input is not what preprocess= makes of the frame"


@dataclass(frozen=True)
class InputReport:
    """What `validate` finds out about an input that was recorded with the camera's frame.

    Attributes
    ----------
    name
        The recording's name of the input.
    verdict
        "match", or "preprocessing": it is not what the recording's preprocess makes of the frame.
    fix
        The Preprocessor's arguments that make it of the frame; None if none were found, or none are needed.
    why
        The evidence and how to fix it, in sentences.
    spec
        Its TensorSpec, as declared or as the model reads it.
    frames
        The numbers of the frames that were checked.
    """

    name: str
    verdict: str
    fix: Mapping[str, Any] | None
    why: str
    spec: TensorSpec
    frames: tuple[int, ...]

    def __post_init__(self) -> None:
        check_fields(self, name=str, verdict=str, fix=(Mapping, type(None)), why=str, spec=TensorSpec, frames=tuple)

    def __bool__(self) -> bool:
        return self.verdict == "match"

    @property
    def title(self) -> str:
        """What tables call it, among outputs."""
        return f"input {self.name}"

    def __str__(self) -> str:
        lines = [f"input {isolated(self.name)}: {self.verdict}", f"  {self.why}"]
        return "\n".join(lines if self.fix is None else [*lines, f"  fix: {self.fix!r}"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready dict."""
        fix = None if self.fix is None else dict(self.fix)
        spec, frames = self.spec.to_dict(), list(self.frames)
        return {"name": self.name, "verdict": self.verdict, "fix": fix, "why": self.why, "spec": spec, "frames": frames}


def recorded_inputs(recording: Recording) -> dict[str, InputReport]:
    """Return {name: report} of the one input that is an image.

    The first, the middle and the last of its frames are made again. Nothing if the recording has no camera frames or
    does not state how its inputs were made, or if a Preprocessor cannot make them.
    """
    declared, count = recording.meta.get("preprocess"), len(recording.frames)
    if not count or not declared or not isinstance(declared, Mapping):
        return {}
    numbers = sorted({0, count // 2, count - 1})
    seen = [recording.frames[i].inputs for i in numbers]
    specs = {name: _spec(array, recording.specs.get(name)) for name, array in seen[0].items() if name != FRAME}
    images = [(name, spec) for name, spec in specs.items() if spec is not None]
    if FRAME not in seen[0] or len(images) != 1:
        return {}
    name, spec = images[0]
    try:
        pairs = [_Pair(spec, inputs[FRAME], spec.unpack(np.ascontiguousarray(inputs[name]))) for inputs in seen]
        found = _found(pairs, {k: v for k, v in declared.items() if k in ARGUMENTS}, numbers)
    except NpuLayoutError:
        return {}
    if found is None:
        return {}
    fix = found.fix and {**declared, **found.fix}
    return {name: InputReport(name, found.verdict, fix, found.why, spec, tuple(numbers))}


def _spec(array: np.ndarray, spec: TensorSpec | None) -> TensorSpec | None:
    """Return the spec of an input that a Preprocessor can make of one frame; None for others."""
    if spec is None:
        axis = image_channels(array.shape)
        if axis is None or array.dtype.kind not in "fu":
            return None
        spec = TensorSpec(array.shape, Layout.plain(("NCHW", "NHWC")[axis == 3]), array.dtype)
    extents = dict(zip(spec.axes, spec.shape))
    image = len(extents) == 3 + ("N" in extents) and {"C", "H", "W"} <= extents.keys()
    image = image and extents.get("N", 1) == 1 and extents["C"] in (1, 3)
    known = spec.element.unpacked.kind == "f" or spec.quantization is not None or spec.dtype == "uint8"
    return spec if image and known else None


class _Pair:
    """A camera's frame, and what was recorded as the input made of it."""

    def __init__(self, spec: TensorSpec, frame: np.ndarray, recorded: np.ndarray) -> None:
        self.spec, self.frame, self.recorded = spec, frame, np.asarray(recorded, np.float32)
        self.channels = spec.shape[spec.axes.index("C")]
        # Integers without quantization are pixels: mean and std are part of the compiled model.
        self.is_pixels = spec.element.unpacked.kind != "f" and spec.quantization is None
        self._fitted: tuple[How, np.ndarray] = ({}, np.empty(0))  # the last one: most changes keep its arguments

    def arithmetic(self, how: How) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and std in a shape that is broadcast over the input."""
        along = [self.channels if letter == "C" else 1 for letter in self.spec.axes]
        stated = {} if self.is_pixels else {"preprocess": how}
        mean, std = (values.reshape(along) for values in normalisation(stated, self.channels))
        return mean, std

    def made(self, how: How) -> np.ndarray:
        """Return the input as `how` makes it, saturated and rounded if it is quantised."""
        fitting = {k: v for k, v in how.items() if k not in ("mean", "std")}
        if not self._fitted[1].size or self._fitted[0] != fitting:
            target = TensorSpec(self.spec.shape, Layout.plain(self.spec.axes), "float32")
            self._fitted = fitting, Preprocessor(target, **fitting)(self.frame)[0].reshape(self.spec.shape)
        mean, std = self.arithmetic(how)
        made = ((self._fitted[1] - mean) / std).astype(np.float32)
        return made if self.spec.quantization is None else self.spec.unpack(self.spec.pack(made))

    def step(self, how: How) -> float:
        """Return the smallest difference that counts, in pixel values: one, or a larger step of the input."""
        quantization = self.spec.quantization
        scale = 0.0 if quantization is None else float(np.max(quantization.scale))
        return max(1.0, scale * float(abs(self.arithmetic(how)[1]).max()))

    def off(self, how: How, other: np.ndarray | None = None) -> float:
        """Return by how many steps, root mean square, the recorded input, or `other`, differs from what `how` makes."""
        error = (self.made(how) - (self.recorded if other is None else other)) * self.arithmetic(how)[1]
        off = float(np.sqrt(np.square(error).mean(dtype=np.float64))) / self.step(how)
        return off if np.isfinite(off) else np.inf


class _Change(NamedTuple):
    """Other arguments than declared, their words, and whether they only resize by another formula."""

    arguments: How
    words: str
    is_formula: bool = False


def _found(pairs: Sequence[_Pair], how: How, numbers: Sequence[int]) -> Judgement | None:
    """Return the judgement of the input, or None.

    If neither mean nor std is declared, any usual ones are accepted, and others are not judged.
    """
    if pairs[0].is_pixels or {"mean", "std"} & how.keys():
        return _judged(pairs, how, numbers)
    usually = (
        _judged(pairs, {**how, "mean": list(m), "std": list(s)}, numbers, scaled=False)
        for m, s in usual(how.get("color", "RGB"), pairs[0].channels).values()
    )
    explained = [found for found in usually if found.verdict == "match" or found.fix is not None]
    return min(explained, key=lambda found: found.verdict != "match", default=None)


def _judged(pairs: Sequence[_Pair], base: How, numbers: Sequence[int], scaled: bool = True) -> Judgement:
    """Return whether the recorded inputs are as declared, and if not, how they were made.

    base: the declared arguments, with mean and std; scaled: whether these two were declared, so that others are wrong.
    """

    def off(given: How) -> float:
        return max(pair.off(given) for pair in pairs)

    def pixels(given: How, steps: float) -> str:
        return f"{steps * pairs[0].step(given):.1f}"

    frames, declared = f"frame{'s'[: len(pairs) > 1]} {', '.join(map(str, numbers))}", off(base)
    if declared <= _SAME:
        return Judgement(
            "match", None, f"The recorded input is what preprocess= makes of the frame ({frames} made again)."
        )
    changes = [change._replace(arguments={**base, **change.arguments}) for change in _changes(base, pairs[0], scaled)]
    offs = [off(change.arguments) for change in changes]
    spread = _spread(pairs, base, changes)
    best = min(range(len(changes)), key=offs.__getitem__)
    if offs[best] > (_EXACT if changes[best].is_formula else _SAME):  # resized by another library
        best = min((i for i, change in enumerate(changes) if not change.is_formula), key=offs.__getitem__)
    off_by = f"{pixels(base, declared)} pixel values"
    if offs[best] <= max(_SAME, min(spread, declared / 2)):
        arguments, words, _ = changes[best]
        by = f"within {pixels(arguments, offs[best])} pixel values in {frames}; as declared, it differs by {off_by}"
        fix = "Fix: correct preprocess= by the arguments of the fix, or make the input as declared."
        return Judgement("preprocessing", arguments, f"{_WRONG}: it is what {words} makes ({by}).", fix)
    nearest = min(off for off, change in zip(offs, changes) if change.is_formula)
    if declared <= spread or nearest <= _SAME:
        most = f"cv2's interpolations by up to {pixels(base, spread)}"
        why = "The recorded input is what preprocess= makes of the frame, except for the resize formula: it differs by"
        return Judgement("match", None, f"{why} {off_by}, {most} ({frames}).")
    worst = numbers[max(range(len(pairs)), key=lambda i: pairs[i].off(base))]
    why = f"{_WRONG}: it differs by {off_by} in frame {worst}, and no change of one argument explains that"
    fix = "Fix: compare the code that makes the input with preprocess=."
    return Judgement("preprocessing", None, f"{why} ({frames} made again).", fix)


def _spread(pairs: Sequence[_Pair], base: How, changes: Sequence[_Change]) -> float:
    """Return by how many steps other interpolations differ from the declared one at most."""
    made = [pair.made(base) for pair in pairs]
    formulas = [change.arguments for change in changes if change.is_formula]
    return max([_SAME, *(max(pair.off(f, m) for pair, m in zip(pairs, made)) for f in formulas)])


def _changes(how: How, pair: _Pair, scaled: bool) -> Iterator[_Change]:
    """Yield usual mistakes, the commonest first; scaled: also of mean and std."""
    color, resize = how.get("color", "RGB"), how.get("resize", "letterbox")
    mean, std = (np.ravel(values) for values in pair.arithmetic(how))
    swapped = {"mean": mean[::-1].tolist(), "std": std[::-1].tolist()}
    if color in FLIPPED:
        other = {"color": FLIPPED[color]}
        yield _Change(other, f"color={other['color']!r}")
        if scaled and len({*zip(mean, std)}) > 1:
            yield _Change(swapped, _words(mean[::-1], std[::-1]))
            yield _Change({**other, **swapped}, f"color={other['color']!r}, {_words(mean[::-1], std[::-1])}")
    for mode in MODES:
        if mode != resize:
            yield _Change({"resize": mode}, f"resize={mode!r}")
    if scaled and not pair.is_pixels:
        for _, text, m, s in mistakes(mean, std, color):
            yield _Change({"mean": m.tolist(), "std": s.tolist()}, f"{_words(m, s)} ({text})")
    for pad in (*PADS, 127, 255, np.clip(mean, 0, 255).tolist()):
        yield _Change({"pad_value": pad}, f"pad_value={said(np.ravel(pad))}")
    for interpolation in INTERPOLATIONS:
        if interpolation != how.get("interpolation", "linear"):
            yield _Change({"interpolation": interpolation}, f"interpolation={interpolation!r}", is_formula=True)


def _words(mean: Any, std: Any) -> str:
    return f"mean={said(mean)}, std={said(std)}"
