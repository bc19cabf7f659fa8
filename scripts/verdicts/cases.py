"""A case: one fault in a simulated recording, and what validate should say about it. A pure function of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl

from . import faults, feeding, models, pictures, planting, ports, proof
from .faults import Fault
from .feeding import feed
from .models import Model
from .ports import NotApplicable, Port
from .scenes import Arrays, Case, Scene, device_outputs

NOISES = ("qdq", "40", "30", "20", "15", "10")  # dB added to the float network, or the quantised network's own


class Truth(NamedTuple):
    """Of one output: the verdict that is right, those that are too, and all that a fix is compared with.

    `planted`: whether the fault touches this output. `declared_db`, `true_db`: how much of the reference the output
    explains when it is read and fed as declared, and as it was in truth.
    """

    cause: str
    accept: frozenset[str]
    planted: bool
    declared_db: float
    true_db: float
    buffers: list[np.ndarray]
    spec: nl.TensorSpec
    values: list[np.ndarray]  # what the true spec reads from the buffers, channels as the device has them
    order: Sequence[int] | None  # channel k of the device is the model's channel order[k]
    noise: np.ndarray  # of each of the device's channels: root mean square of what the truth leaves
    cut: bool = False  # whether the device cuts its input to the declared range, as far as the output shows

    def in_model_order(self) -> list[np.ndarray]:
        """`values`, their channels as the model has them."""
        return self.values if self.order is None else [v[:, np.argsort(self.order)] for v in self.values]


class Planted(NamedTuple):
    """A recording with its fault, and what is known about it that the recording does not say."""

    case: Case
    fault: Fault
    model: Model
    recording: nl.Recording
    images: list[np.ndarray]
    done: dict[str, Any]
    fed: list[np.ndarray]  # the float inputs that the device's network really had
    names: dict[str, str]
    truths: dict[str, Truth]
    rival: Callable[[str], tuple[str, float]]


def _specs(scene: Scene, port: Port, planted: bool) -> ports.Specs:
    fault, dtype = scene.fault, scene.case.dtype
    if planted and fault.readings is not None:
        return fault.readings(scene.rng, port, dtype)
    each = dtype in ports.QUANTISED and port.shape[1] < 130 and scene.rng.random() < 0.25
    quantization = port.quantization(dtype, each=bool(each))
    spec = ports.place(port, str(scene.rng.choice(ports.LAYOUTS[len(port.shape)])), dtype, quantization=quantization)
    return spec, spec


def _fed_alike(scene: Scene) -> bool:
    """Whether two frames are fed as declared."""
    fed = ([feed(scene.model, scene.image(t), d) for d in (scene.done, scene.declared)] for t in (0, 1))
    return all(np.allclose(*both, atol=1e-4) for both in fed)


def _applicable(scene: Scene, planted: str) -> list[int] | None:
    """Checks that the fault can be planted; the order of channels where it moves them."""
    fault, model = scene.fault, scene.model
    if fault.models is None and models.KINDS[model.name].special:
        raise NotApplicable("a model for what the data do not decide")
    if fault.models is not None and model.name not in fault.models:
        raise NotApplicable("not for this model")
    try:
        if fault.done is not None and not scene.done.get("exchanged") and _fed_alike(scene):
            raise NotApplicable("the input is the same")
    except faults.changes.Unchanged as why:
        raise NotApplicable(str(why)) from None
    if fault.name == "divided_after" and not any(scene.declared["mean"]):
        raise NotApplicable("the same as divided_twice")
    if fault.channels is None:
        return None
    shape = model.outputs[planted]
    if ports.anchors_first(shape):
        raise NotApplicable("axis 1 are anchors")
    if shape[1] < 2:
        raise NotApplicable("one channel")
    order = list(fault.channels(scene.rng, shape[1]))
    if order == sorted(order):
        raise NotApplicable("the order is the same")
    return order


class _Places(NamedTuple):
    """Where a fault is planted: in `chosen` if one output has it, with its channels in `order`.

    names: what the outputs with other names hold; times: the frame that each run shows.
    """

    fault: Fault
    chosen: str
    order: list[int] | None
    names: dict[str, str]
    times: Sequence[int]

    @property
    def is_pair(self) -> bool:
        """Whether the fault is in every output, and `chosen` is read wrongly, too."""
        return bool(self.fault.readings and (self.fault.done or self.fault.times))

    def has_it(self, name: str) -> bool:
        """Whether an output has the fault, of two the one in how a buffer is read."""
        if self.fault.readings or self.fault.channels:
            return name == self.chosen or name in self.names
        return name in self.names or not self.fault.names

    def fault_of(self, name: str) -> Fault:
        """The fault of an output: of two, both or the one that all outputs have."""
        if self.is_pair and name != self.chosen:
            return self.fault._replace(cause=self.fault.everywhere, readings=None)
        return self.fault


class _Output(NamedTuple):
    """One output: its fault, the output that it holds, how it is stored and declared, and the buffers of all frames."""

    name: str
    fault: Fault
    holds: str
    planted: bool
    true: nl.TensorSpec
    declared: nl.TensorSpec
    order: Sequence[int] | None
    buffers: list[np.ndarray]


def build(case: Case, fault: Fault | None = None) -> Planted:
    """The recording of a case, with the fault of its name or another. NotApplicable where that cannot be planted."""
    fault = faults.BY_NAME[case.fault] if fault is None else fault
    if case.dtype not in fault.dtypes:
        raise NotApplicable(f"not for {case.dtype}")
    scene = Scene(case, fault)
    model, count = scene.model, scene.count
    places = _places(scene)
    device = _unrelated(scene) if fault.device == "unrelated" else [device_outputs(scene, t) for t in places.times]
    truths: dict[str, Truth] = {}
    specs: dict[str, nl.TensorSpec] = {}
    for name in model.outputs:
        output = _output(scene, places, name, device)
        truths[name], specs[name] = _truth(scene, output, places.times), output.declared
    frames = [
        (_inputs(scene, t), {name: truths[name].buffers[t].view(specs[name].stored) for name in model.outputs})
        for t in range(count)
    ]
    if model.folded or model.fed is not None:
        specs["image"] = model.input_spec if model.folded else model.fed
    recording = nl.Recording(specs, frames, {"preprocess": scene.declared})
    fed = [feed(model, scene.image(t), scene.done) for t in range(min(count, 3))]
    images = [scene.image(t) for t in range(min(count, 3))]
    rival = partial(_rival, scene, truths)
    return Planted(case, fault, model, recording, images, scene.done, fed, places.names, truths, rival)


def _places(scene: Scene) -> _Places:
    """Choose where the fault is planted; NotApplicable if it cannot be."""
    fault, outputs, rng = scene.fault, list(scene.model.outputs), scene.rng
    chosen = outputs[int(rng.integers(len(outputs)))]
    order = _applicable(scene, chosen)
    names = fault.names(scene.model.outputs) if fault.names else {}
    return _Places(fault, chosen, order, names, fault.times(rng, scene.count) if fault.times else range(scene.count))


def _output(scene: Scene, places: _Places, name: str, device: Sequence[Arrays]) -> _Output:
    """Store what the device computed for an output, with the fault if it has it."""
    fault, holds, has_it = scene.fault, places.names.get(name, name), places.has_it(name)
    low, high = (ends * fault.clipped for ends in scene.model.ranges[holds])
    values = [y[holds] for y in device]
    if fault.device in faults.CHANGED:
        values, (low, high) = _changed(scene, values, (low, high))
    both = _specs(scene, Port(holds, scene.model.outputs[holds], low, high), has_it)
    true, declared = (nl.TensorSpec.from_dict({**spec.to_dict(), "name": name}) for spec in both)
    planted = has_it or places.is_pair
    order = places.order if planted else None
    if order is not None:
        values = [v[:, order] for v in values]
    if fault.device in planting.SPOILED:
        values = list(planting.SPOILED[fault.device](scene.rng, np.stack(values)))
    buffers = [_stored(scene, fault, true, v, i) for i, v in enumerate(values)]
    return _Output(name, places.fault_of(name), holds, planted, true, declared, order, buffers)


def _unrelated(scene: Scene) -> list[Arrays]:
    """What the device says about another stream."""
    case, count = scene.case, scene.count
    other = Scene(case._replace(seed=case.seed + 1_000_003), scene.fault._replace(device=""))
    other.count = count
    other.images = pictures.stream(other.rng, "mixed", count + 2 * other.lead, other.images[0].shape[1::-1])
    other.seconds = other.second_stream()
    return [device_outputs(other, t) for t in range(count)]


def _inputs(scene: Scene, t: int) -> Arrays:
    """The recorded inputs of a frame."""
    if scene.model.pair:
        return feeding.fed(scene.model, scene.image(t), scene.seconds[t + scene.lead], scene.declared)
    return {"image": _recorded_input(scene, t), **({"frame": scene.frame(t)} if scene.records_frame else {})}


def _changed(
    scene: Scene, values: list[np.ndarray], ends: tuple[np.ndarray, np.ndarray]
) -> tuple[list[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The device's values after a change that the truth knows, and each channel's ends."""
    try:
        values = list(faults.CHANGED[scene.fault.device](scene.rng, np.stack(values)))
    except faults.changes.Unchanged as why:
        raise NotApplicable(str(why)) from None
    if scene.fault.cause == "geometry":
        return values, ends
    flat = models.by_channel(values)
    return values, (flat.min(1), flat.max(1))


def _stored(scene: Scene, fault: Fault, spec: nl.TensorSpec, values: np.ndarray, frame: int) -> np.ndarray:
    if fault.device == "dead":
        values = np.zeros_like(values)
    if fault.device == "random":
        rng = np.random.default_rng([scene.case.seed, frame])
        values = rng.uniform(values.min(), values.max(), values.shape).astype(np.float32)
    with np.errstate(over="ignore"):
        return spec.pack(values)


def _recorded_input(scene: Scene, t: int) -> np.ndarray:
    model, declared = scene.model, scene.declared
    if model.fed is not None and not model.folded:
        return nl.Preprocessor(model.fed, **declared)(scene.image(t))[0]
    if not model.folded:
        return feed(model, scene.image(t), declared)
    arguments = {k: v for k, v in declared.items() if k not in ("mean", "std")}
    return nl.Preprocessor(model.input_spec, **arguments)(scene.image(t))[0]


def _step(spec: nl.TensorSpec) -> float:
    return 0.0 if spec.quantization is None else float(np.min(spec.quantization.scale))


class _Declared(NamedTuple):
    """What an output read and fed as declared explains: dB without and with means, and how many values differ.

    `telling`: how many values tell it from the truth. `still`: whether most frames have the output of another one.
    """

    db: float
    plain_db: float
    changed: int
    telling: float
    still: bool


def _truth(scene: Scene, output: _Output, times: Sequence[int]) -> Truth:
    true, order, buffers = output.true, output.order, output.buffers
    values = [true.unpack(b) for b in buffers]
    with np.errstate(all="ignore"):
        true_db, noise, wanted, cut = _as_it_was(scene, output, values, times)
        declared = _as_declared(scene, output, values, wanted)
    if not output.planted:
        # Below the tolerance a faultless output is a mismatch.
        accept = faults.REFUSALS if declared.db < 11 else frozenset()
        return Truth("match", accept, False, declared.db, declared.db, buffers, true, values, order, noise)
    accept = _accepted(scene, output, true_db, declared)
    return Truth(output.fault.cause, accept, True, declared.db, true_db, buffers, true, values, order, noise, cut)


def _as_it_was(
    scene: Scene, output: _Output, values: Sequence[np.ndarray], times: Sequence[int]
) -> tuple[float, np.ndarray, Sequence[np.ndarray], bool]:
    """How much of the reference the values explain when fed as in truth; what is left, of each channel; the reference;
    whether its input is cut.

    What is left of few values says little of noise: then that of all channels counts, as a share of what they vary by.
    """
    order = output.order
    back = list(values) if order is None else [v[:, np.argsort(order)] for v in values]
    explained: list[tuple[float, np.ndarray, Sequence[np.ndarray], bool]] = []
    quantised = scene.case.noise == "qdq"  # its input, too
    for cut in (False, True) if output.planted and quantised and scene.done is not scene.declared else (False,):
        wanted = [scene.says(scene.model.path, scene.done, t, cut)[output.holds] for t in times]
        if output.fault.device in faults.CHANGED:
            wanted = _changed(scene, wanted, (wanted[0], wanted[0]))[0]
        left = models.by_channel(back).astype(np.float64) - models.by_channel(wanted)
        noise = proof.noise_of_channels(left, models.by_channel(wanted).std(1))
        explained.append((proof.score(back, wanted, _step(output.true)), noise, wanted, cut))
    true_db, noise, wanted, cut = max(explained, key=lambda one: one[0])
    return true_db, noise if order is None else noise[list(order)], wanted, cut


def _as_declared(
    scene: Scene, output: _Output, values: Sequence[np.ndarray], wanted: Sequence[np.ndarray]
) -> _Declared:
    declared = output.declared
    read = [declared.unpack(b.view(declared.stored)) for b in output.buffers]
    reference = [scene.says(scene.model.path, scene.declared, t)[output.name] for t in range(scene.count)]
    if read[0].shape != reference[0].shape:
        return _Declared(-200.0, -200.0, 10**9, np.inf, still=True)
    changed = sum(int((y != v).sum()) for y, v in zip(read, values))
    back = values if output.order is None else [v[:, np.argsort(output.order)] for v in values]
    apart = np.stack(read).astype(np.float64) - np.stack(back) + np.stack(wanted) - np.stack(reference)
    db = proof.score(read, reference, _step(declared), loudest=True)
    return _Declared(db, proof.plain(read, reference), changed, proof.telling(apart), proof.alike(reference))


def _accepted(scene: Scene, output: _Output, true_db: float, declared: _Declared) -> frozenset[str]:
    """Which verdicts are right besides the cause of a planted fault."""
    fault, true = output.fault, output.true
    accept = fault.accept
    if fault.cause == "match":
        accept |= faults.REFUSALS if declared.db < 11 else frozenset()
    elif fault.device in ("", *faults.CHANGED) and fault.cause not in ("mismatch", "ambiguous"):
        samples = scene.count * true.size // true.shape[1]
        accept |= _refusable(true_db, declared.db, declared.plain_db, scene.count, samples)
        if not proof.provable(true_db - declared.db, declared.telling):
            accept |= faults.REFUSALS
        if fault.name in faults.OF_EACH_CHANNEL and proof.of_single_values([true.unpack(b) for b in output.buffers]):
            accept |= faults.REFUSALS
        if fault.done is not None and proof.alike(output.buffers) and not declared.still:  # inputs that saturate
            accept |= faults.REFUSALS
        if fault.readings is not None and declared.changed < proof.TELLING:
            accept |= faults.REFUSALS | {"match"}  # a fault that a few values show at most
    elif fault.device == "noisy" and declared.plain_db >= 10:
        accept |= {"match"}  # what the tolerances ask for, thanks to the channels' means
    return accept


def _refusable(true_db: float, declared_db: float, plain_db: float, frames: int, samples: int) -> frozenset[str]:
    """What is right besides the cause itself: a refusal where the truth explains little, or little more than what was
    declared, or rests on too little; match where that is within the tolerance."""
    fits = declared_db >= 9 or (plain_db >= 10 and true_db - declared_db < 3)
    if true_db >= 5 and true_db - declared_db >= 4 and frames > 1 and samples >= proof.TELLING:
        return frozenset()
    return faults.REFUSALS | ({"match"} if fits else set())


def _other_inputs(scene: Scene, cut: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """The declared input and those of all faults, as they are and with red and blue exchanged, which are not the one
    that was fed. cut: whether that is cut to the declared range.

    An exchange that is no other input, because there are no colours, is none.
    """

    def seen(done: dict[str, Any]) -> np.ndarray:
        x = feed(scene.model, scene.image(0), done)
        return feeding.saturated(x, scene.declared) if cut else x

    fed = seen(scene.done)
    made = {fault.name: fault.done for fault in faults.FAULTS if fault.done and not (fault.readings or fault.channels)}
    for name, change in {"declared": dict, **made, **planting.FAMOUS}.items():
        try:
            done = change(scene.declared)
            if done.get("exchanged"):
                continue
            x = seen(done)
            if not np.allclose(x, fed, rtol=1e-3):
                yield name, done
            done = planting.ARITHMETIC["bgr"](done)
            if min(feeding.apart(seen(done), other) for other in (x, fed)) > 1:
                yield f"{name} and bgr", done
        except (NotApplicable, faults.changes.Unchanged):
            continue


def _rival(scene: Scene, truths: dict[str, Truth], name: str) -> tuple[str, float]:
    """The best other explanation of one output, of the same class: another arithmetic, or another shift."""
    fault, model, truth = scene.fault, scene.model, truths[name]
    back = truth.in_model_order()
    found = [("none", -200.0)]
    if fault.done is not None:
        for other, done in _other_inputs(scene, truth.cut):
            for cut in (False, True):  # as any device may do
                reference = [scene.says(model.path, done, t, cut)[name] for t in range(scene.count)]
                found.append((other, proof.score(back, reference, _step(truth.spec))))
    elif fault.times is not None:
        for shift in range(-3, 4):
            if shift != fault.shift:
                pairs = [(back[t], t + shift) for t in range(scene.count) if 0 <= t + shift < scene.count]
                reference = [scene.says(model.path, scene.done, at)[name] for _, at in pairs]
                if pairs:
                    found.append((f"shift {shift}", proof.score([y for y, _ in pairs], reference, _step(truth.spec))))
    return max(found, key=lambda pair: pair[1])


def planted_cases(each: int = 2, seed: int = 0, names: Sequence[str] = models.NAMES) -> Iterator[Case]:
    """Cases of every fault and model: `each` of both and more where few models can have the fault, dtypes and noises in
    turn; what overflows the quantised network is mostly planted in floating point."""
    for f, fault in enumerate(faults.FAULTS):
        for m, name in enumerate(fault.models or names):
            for k in range(each * fault.weight):
                turn = seed + k + f + m
                dtype = fault.dtypes[turn % len(fault.dtypes)]
                quantised = dtype == "int8" if fault.overflows else (k + f + m) % 2 == 0
                noise = "qdq" if quantised else NOISES[1 + turn % (len(NOISES) - 1)]
                yield Case(fault.name, name, dtype, noise, seed + k)


def faultless_cases(count: int, seed: int = 0, names: Sequence[str] = models.NAMES) -> Iterator[Case]:
    """As many cases without any fault, and half as many hard ones; the noise of the former is 15 dB or less."""
    yield from _without_fault(faults.FAULTLESS, count, seed, names)
    for k, fault in enumerate(faults.HARD):
        share = count // 2 * (k + 1) // len(faults.HARD) - count // 2 * k // len(faults.HARD)
        yield from _without_fault(fault, share, seed, fault.models or names)


def _without_fault(fault: Fault, count: int, seed: int, names: Sequence[str]) -> Iterator[Case]:
    dtypes = (*ports.DTYPES, "uint8", "bfloat16")
    dtypes = [dtype for dtype in dtypes if dtype in fault.dtypes]
    for k in range(count):
        noise = "qdq" if k % 2 == 0 else (fault.noises or NOISES[1:5])[(k // 2) % len(fault.noises or NOISES[1:5])]
        yield Case(fault.name, names[k % len(names)], dtypes[(k // len(names)) % len(dtypes)], noise, seed + k)
