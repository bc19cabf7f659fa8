"""What a thread's fault becomes: a recording with it, one without it, and what validate reports on both."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl

from . import cases, judge, models, pictures
from .cases import Case
from .faults import REFUSALS, Fault
from .models import Model
from .ports import Port, Rng, Specs

_UNNAMED = "no known change explains that"  # of an input that is wrong
Feeds = Callable[[np.ndarray, nl.TensorSpec, Mapping[str, Any]], np.ndarray]


class Fed(NamedTuple):
    """A fault of the script that makes the input: it is recorded beside the camera's frame, and reaches both sides.

    feeds
        From frame, spec and declared preprocessing, the buffer that was written in truth.
    fix
        What the fix has to contain; None if no argument of a Preprocessor describes the fault.
    spec
        From the model, how its input is stored; as the ONNX model reads it if that is None.
    """

    cause: str
    feeds: Feeds
    fix: Mapping[str, Any] | None = None
    spec: Callable[[Model], nl.TensorSpec] | None = None
    size_wh: tuple[int, int] = (240, 160)


class Thread(NamedTuple):
    """A public thread, and how it is rebuilt.

    `saw`: what the person saw; `wrong`: what the cause was. `words`: what the sentence has to contain, as no fix shows
    that the cause is the right one. `refused`: why no cause is named, if none is.
    """

    address: str
    saw: str
    wrong: str
    model: str
    plant: Fault | Fed
    dtype: str = "int8"
    noise: str = "30"
    words: str = ""
    refused: str = ""

    @property
    def link(self) -> str:
        """The whole address."""
        return self.address if "://" in self.address else f"https://github.com/{self.address}"

    @property
    def case(self) -> Case:
        name = self.plant.name if isinstance(self.plant, Fault) else self.plant.cause
        return Case(name, self.model, self.dtype, self.noise, zlib.crc32(self.address.encode()) % 1000)


class Answer(NamedTuple):
    """What validate reports on one recording; `error`: what of it is not as it should be."""

    verdict: str
    fix: Any
    why: str
    error: str

    @property
    def judged(self) -> str:
        """Whether that is "right", "refused" (no cause is named), or "wrong"."""
        unnamed = self.verdict in REFUSALS or _UNNAMED in self.why
        return "right" if not self.error else "refused" if unnamed else "wrong"

    @property
    def sentence(self) -> str:
        """The first one."""
        return re.split(r"(?<=[^\d])(?<=\.) (?=[A-Z])", self.why, maxsplit=1)[0]


def answer(thread: Thread, *, faulty: bool = True) -> Answer:
    """The verdict on a thread's recording, or on the same set-up without its fault."""
    nl.set_num_threads(1)
    of_fed = isinstance(thread.plant, Fed)
    return (_answer_on_inputs if of_fed else _answer_on_outputs)(thread, thread.plant, faulty)  # type: ignore[arg-type]


def _true_reading(fault: Fault, rng: Rng, port: Port, dtype: str) -> Specs:
    assert fault.readings is not None
    true, _ = fault.readings(rng, port, dtype)
    return true, true


def without(fault: Fault) -> Fault:
    """The same set-up, and nothing wrong in it. One scale for all channels is what is wrong if both specs are equal."""
    shared = fault.name == "dead_scores"
    return fault._replace(
        cause="match",
        readings=None if fault.readings is None or shared else lambda *port: _true_reading(fault, *port),
        channels=None,
        done=None,
        names=None,
        times=None,
        device="",
        accept=frozenset(),
    )


def _answer_on_outputs(thread: Thread, fault: Fault, faulty: bool) -> Answer:
    planted = cases.build(thread.case, fault if faulty else without(fault))
    report = nl.validate(planted.recording, models.engine(planted.model.path))
    touched = [name for name, truth in planted.truths.items() if truth.planted]
    shown = report.outputs[touched[0]]
    wanted = fault.cause if faulty else "match"
    error = ""
    for outcome in judge.judged(planted, report):
        expected = wanted if planted.truths[outcome.output].planted else "match"
        if outcome.verdict != expected or outcome.outcome != "right":
            error = error or f"{outcome.output}: {outcome.verdict}, {outcome.outcome} {outcome.says}".rstrip()
    return Answer(shown.verdict, shown.fix, shown.why, error or _unsaid(thread, shown.why, faulty))


def _unsaid(thread: Thread, why: str, faulty: bool) -> str:
    return f"the sentence lacks {thread.words!r}" if faulty and thread.words not in why else ""


def _answer_on_inputs(thread: Thread, fed: Fed, faulty: bool) -> Answer:
    model = models.load(thread.model)
    rng = np.random.default_rng(thread.case.seed)
    declared = model.preprocess
    spec = model.input_spec if fed.spec is None else fed.spec(model)
    engine, names = models.engine(model.path), list(model.outputs)
    pairs, answers = [], []
    for image in pictures.stream(rng, "mixed", 4, fed.size_wh):
        writes = nl.Preprocessor(spec, **declared)
        buffer = fed.feeds(image, spec, declared) if faulty else writes(image)[0]
        answers.append(engine.infer(spec.unpack(buffer)))
        pairs.append(({"image": buffer, "frame": image}, {}))
    specs = {"image": spec, **{name: _output(model, name, answers) for name in names}}
    for (_, outputs), returned in zip(pairs, answers):
        for name in names:
            values = returned[name]
            noise = rng.standard_normal(values.shape) * values.std() * 10 ** (-float(thread.noise) / 20)
            outputs[name] = specs[name].pack((values + noise).astype(np.float32)).view(specs[name].stored)
    report = nl.validate(nl.Recording(specs, pairs, {"preprocess": declared}), engine)
    found = report.inputs["image"]
    wanted = fed.cause if faulty else "match"
    others = [f"{name}: {report.outputs[name].verdict}" for name in names if report.outputs[name].verdict != "match"]
    error = f"input: {found.verdict}" if found.verdict != wanted else others[0] if others else ""
    if not error and faulty:
        error = _wrong_arguments(fed.fix, found.fix) or _unsaid(thread, found.why, faulty)
    return Answer(found.verdict, found.fix, found.why, error)


def _output(model: Model, name: str, answers: list[dict[str, np.ndarray]]) -> nl.TensorSpec:
    """Eight bits that cover what the model returned, as a converter that was calibrated on such frames chooses them."""
    flat = models.by_channel([returned[name] for returned in answers])
    return Port(name, model.outputs[name], flat.min(1), flat.max(1)).spec(
        {4: "NHWC", 3: "NWC", 2: "NC"}[len(model.outputs[name])], "int8"
    )


def _wrong_arguments(wanted: Mapping[str, Any] | None, fix: Any) -> str:
    if wanted is None or fix is None:
        return "" if wanted is fix else f"fix {fix!r}, expected {wanted!r}"
    wrong = {k: fix.get(k) for k, v in wanted.items() if not np.array_equal(fix.get(k, ()), v)}
    return f"fix {wrong!r}, expected {dict(wanted)!r}" if wrong else ""
