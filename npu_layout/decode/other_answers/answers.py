"""Read outputs that are no boxes: classes of an image, text of a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, instance, one_of, shown, text_of, whole_number
from ..arithmetic.activations import activated
from ..heads.form import ACTIVATIONS
from ..outputs.output_axes import channels_last


@dataclass(frozen=True, eq=False)
class Classes:
    """The best classes of each image, the best first.

    Attributes
    ----------
    class_id
        int64 (N, k).
    confidence
        float32 (N, k): their scores, after the activation.

    Raises nothing: `classify` makes them.
    """

    class_id: np.ndarray
    confidence: np.ndarray


@checked_call
def classify(spec: TensorSpec, buffer: Any, k: int = 5, *, activation: str = "none") -> Classes:
    """Return the best classes in a classifier's output.

    Parameters
    ----------
    spec, buffer
        The output as stored, in any layout and dtype, and its spec: the axes N and C, others of extent 1.
    k
        How many classes to return for each image, 1 .. C. Of equal scores the lower class comes first.
    activation
        What to apply to the scores: "none" (softmax is in the graph), "softmax" or "sigmoid".

    Returns
    -------
    Classes, with new arrays.

    Raises
    ------
    NpuLayoutError
        If `k` or `activation` is another.
    LayoutError
        If the output has other axes.
    BufferSizeError
        If the buffer has another size than its spec.

    Examples
    --------
    >>> spec = TensorSpec((1, 4), "NC")
    >>> found = classify(spec, np.array([0.1, 0.6, 0.0, 0.3], np.float32), 2)
    >>> found.class_id.tolist(), found.confidence.round(2).tolist()
    ([[1, 3]], [[0.6000000238418579, 0.30000001192092896]])
    """
    given = checked_spec("classify", spec)
    extents = dict(zip(given.axes, given.shape))
    if "C" not in extents or any(n != 1 for letter, n in extents.items() if letter not in "NC"):
        last = channels_last([given]) != (given,) and set(given.shape[1:3]) == {1}
        hint = f"; if C is its last axis, say so: TensorSpec.of_storage({given.shape}, 'NHWC', ...)" * last
        raise LayoutError(f"classify: {given.describe()}: expected the axes N and C, and others of 1{hint}")
    one_of("activation", activation, ACTIVATIONS)
    count = whole_number("k", k)
    if not 1 <= count <= extents["C"]:
        raise NpuLayoutError(f"k: expected 1 .. {extents['C']}, the number of classes, got {shown(k)}")
    order = [given.axes.index(letter) for letter in given.axes if letter != "C"] + [given.axes.index("C")]
    scores = given.unpack(buffer).transpose(order).reshape(-1, extents["C"])
    values = activated(activation, scores)
    descending = -scores if scores.dtype.kind == "f" else ~scores  # of integers there is no least one's negative
    ranked = np.argsort(descending, axis=1, kind="stable")[:, :count]  # NaN last
    return Classes(ranked.astype(np.int64), np.take_along_axis(values, ranked, 1).astype(np.float32))


@dataclass(frozen=True)
class Text:
    """The text that `ctc` reads in the image of a line.

    Attributes
    ----------
    text
        The characters.
    confidence
        The mean of `scores`; 0 for no text.
    scores
        The score of each character: the network's own or, with activation "softmax", a probability.
    steps
        The time step at which each character begins. Times the width of a step in pixels, it is the character's place.

    Raises nothing: `ctc` makes it.
    """

    text: str
    confidence: float
    scores: tuple[float, ...]
    steps: tuple[int, ...]


@checked_call
def ctc(
    spec: TensorSpec,
    buffer: Any,
    alphabet: str | Sequence[str],
    *,
    blank: int = 0,
    activation: str = "none",
    time: int = 1,
) -> list[Text]:
    """Return the text in the output of a recogniser trained with CTC: the best class of each step, greedily.

    Steps of the same class that follow each other are one character, and blanks are none (Graves et al., "Connectionist
    Temporal Classification", 2006). NaN is no score: a step that has no other value is a blank.

    Parameters
    ----------
    spec, buffer
        The output as stored, in any layout and dtype, and its spec: three axes, images, and time and classes in the
        order that `time` says. If there are more axes, those of extent 1 after the first are left out. If only classes
        are left beside the images, the output is one step.
    alphabet
        The characters of all classes but the blank, in the order of the classes.
    blank
        The number of the blank's class: 0 (PaddleOCR), or -1 for the last class (LPRNet).
    activation
        What to apply to the scores: "none" or "softmax".
    time
        Which of the three axes is time: 1 for (N, time, classes), 2 for (N, classes, time).

    Returns
    -------
    A Text for each image.

    Raises
    ------
    NpuLayoutError
        If the alphabet has another number of characters than there are classes without the blank, or if another
        argument is wrong.
    LayoutError
        If the output has other axes.
    BufferSizeError
        If the buffer has another size than its spec.

    Examples
    --------
    >>> spec = TensorSpec((1, 5, 3), "NCW")
    >>> steps = np.float32([[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> ctc(spec, steps.ravel(), "ab")[0].text
    'aab'
    """
    given = checked_spec("ctc", spec)
    one_of("activation", activation, ("none", "softmax"))
    at = whole_number("time", time)
    if at not in (1, 2):
        raise NpuLayoutError(f"time: expected 1 or 2, got {shown(time)}")
    scores = given.unpack(buffer).reshape(_steps(given, at))
    scores = scores if at == 1 else scores.transpose(0, 2, 1)
    classes, empty = scores.shape[2], whole_number("blank", blank)
    if not -classes <= empty < classes:
        raise NpuLayoutError(f"blank: expected a class of {classes}, got {shown(blank)}")
    letters = _letters(alphabet, classes - 1, scores.shape[1] - 1)
    letters.insert(empty % classes, "")
    return [_text(one, letters, empty % classes, activation == "softmax") for one in scores]


def _steps(spec: TensorSpec, time: int) -> tuple[int, ...]:
    """Return the extents of images, and of time and classes in the order that `time` says."""
    shape = spec.shape
    wide = shape[1:] if len(shape) == 3 else tuple(n for n in shape[1:] if n != 1)
    if len(shape) < 3 or len(wide) > 2:
        raise LayoutError(
            f"ctc: {spec.describe()}: expected three axes, images, time and classes; of more, the others of extent 1"
        )
    one = (1,) * (2 - len(wide))
    return (shape[0], *one, *wide) if time == 1 else (shape[0], *wide, *one)


def _letters(alphabet: Any, count: int, other: int) -> list[str]:
    """Return the characters, `count` of them; other: how many there would be if time were the other axis."""
    if isinstance(alphabet, (bytes, bytearray)) or not isinstance(alphabet, Sequence):
        raise NpuLayoutError(f"alphabet: expected the characters, got {type(alphabet).__name__}")
    letters = list(alphabet)
    if set(map(type, letters)) != {str}:
        letters = [text_of("alphabet", letter) for letter in alphabet]
    if len(letters) != count:
        raise NpuLayoutError(
            f"alphabet: expected {count} characters, one for each class but the blank; got {len(letters)}"
            f"{', which fits the other axis: give time=1 or time=2' * (len(letters) == other)}"
        )
    return letters


def _text(scores: np.ndarray, letters: list[str], blank: int, shares: bool) -> Text:
    """Return the text of (steps, classes); shares: a score is one of softmax, computed where a character is."""
    best = scores.argmax(1)  # of a step with NaN, its place
    odd = np.flatnonzero(scores[np.arange(len(best)), best] != scores[np.arange(len(best)), best])
    if len(odd):
        known = np.nan_to_num(scores[odd], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        best[odd] = np.where(np.isnan(scores[odd]).all(1), blank, known.argmax(1))
        scores = scores.copy()
        scores[odd] = known
    new = np.concatenate([[True], best[1:] != best[:-1]]) & (best != blank)
    steps = np.flatnonzero(new)
    values = scores[steps, best[steps]].astype(np.float64)
    if shares:
        with np.errstate(invalid="ignore", under="ignore"):
            powers = scores[steps].astype(np.float64)
            powers -= values[:, None]
            values = 1 / np.exp(powers, powers).sum(1)
    found = values.tolist()
    mean = float(np.mean(found)) if found else 0.0
    return Text("".join(letters[best[step]] for step in steps), mean, tuple(found), tuple(map(int, steps)))


def checked_spec(what: str, spec: Any) -> TensorSpec:
    """Return the spec; NpuLayoutError if it is none."""
    return instance(f"{what}: spec", spec, TensorSpec)
