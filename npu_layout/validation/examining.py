"""Look for the cause of each output: its evidence and situation, and its channels along one axis or the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..diagnosis import (
    LEAST,
    MARGIN,
    Candidate,
    Evidence,
    Judgement,
    Remade,
    Situation,
    Trial,
    along_axis,
    beside_input,
    contradiction,
    contradicts,
    diagnose,
    doubled,
    image_channels,
    other_end,
    whole_cause,
    without_inputs,
)
from ..engines import OnnxRuntimeEngine, axes_in_model
from ..recordings import Recording
from ..reports import UNSURE
from ..support import Steps, quoted, steps
from . import tolerances
from .comparing import KeptRun
from .input_probes import show_input
from .pairing import Output
from .reruns import LOOKING, rerun
from .tolerances import Tolerance
from .tried_ways import Answers

_OF_CHANNELS = ("quantization", "channel_order", "activation")  # causes that another axis of the channels may show
_OF_ROWS = ("geometry", "activation")  # causes that channels in another order look like, along the other axis
_AS_MUCH = (
    1.25  # times what a shift leaves, in power: an order of the channels that makes the same values leaves no more
)
_DOUBTFUL = 15.0  # dB: what explains less may be another cause, in channels of another axis


class Examined(NamedTuple):
    """An output with its judgement; without evidence if nothing could be compared."""

    output: Output
    judgement: Judgement
    evidence: Evidence | None = None
    ranking: Sequence[Candidate] = ()
    met: Mapping[str, tuple[float, float, bool]] = {}
    rows: Sequence[int] = ()  # of the kept frames on which the model ran again


def examine(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    outputs: Sequence[Output],
    kept: Sequence[KeptRun],
    asked: Mapping[str, Tolerance],
    progress: bool | None,
) -> list[Examined]:
    """Look for the causes of every output; the model runs again unless no other input can explain more."""
    evidence = {o.name: _evidence(o, kept) for o in outputs if not o.model.silent}
    compared = [o for o in outputs if o.name in evidence]
    tried: dict[str, list[Trial]] = {}
    with steps(len(compared), LOOKING, progress) as shown:
        for o in compared:
            situation = _situation(o, outputs, kept, {})._replace(say=_saying(shown, o.name))
            tried[o.name] = list(without_inputs(evidence[o.name], situation))
            shown.done()
    remade: Answers = {}
    causes = {o.model.name: whole_cause(evidence[o.name], tried[o.name]) for o in compared}
    of_models = {o.model.name: evidence[o.name] for o in compared}
    if not _are_settled(engine, compared, of_models, causes, kept[0]) and any(e.fits for e in evidence.values()):
        remade = rerun(engine, recording, kept, of_models, progress, causes)
    examined = []
    with steps(len(outputs), LOOKING, progress) as shown:
        for o in outputs:
            if o.name in evidence:
                situation = _situation(o, outputs, kept, remade)._replace(say=_saying(shown, o.name))
                examined.append(_examined(o, evidence[o.name], situation._replace(tried=tried.pop(o.name)), asked))
            else:
                examined.append(Examined(o, Judgement("ambiguous", None, o.model.silent)))
            shown.done()
    return beside_the_others(examined)


def beside_the_others(examined: Sequence[Examined]) -> list[Examined]:
    """Return the outputs, those without a cause with two, if one is an input that another output shows alone."""
    ways = {e.judgement.named.way for e in examined if e.judgement.named is not None} - {None}
    return [_beside_input(e, ways) if ways else e for e in examined]


def _beside_input(e: Examined, ways: set[Hashable]) -> Examined:
    if e.evidence is None or e.judgement.verdict not in UNSURE:
        return e
    found = beside_input(e.evidence, e.ranking, ways)
    return e if found is None else e._replace(ranking=found[0], judgement=found[1])


def _saying(shown: Steps, output: str) -> Callable[[str], None]:
    """Return what shows the causes that are tried for an output: "looking for causes: layouts of 'p4'"."""
    return lambda words: shown.say(f"{LOOKING}: {words} of {quoted(output)}")


def _evidence(output: Output, kept: Sequence[KeptRun]) -> Evidence:
    name = output.model.name
    references = [k.references[name] for k in kept]
    alike = [t for k in kept for o, t in k.references.items() if o != name and t.shape == references[0].shape]
    return Evidence(output.spec, [k.outputs[output.name] for k in kept], references, alike, output.channel_axis)


def _unexplained(output: Output) -> bool:
    return output.comparison is not None and bool(output.comparison.parts.unexplained())


def _are_settled(
    engine: OnnxRuntimeEngine,
    outputs: Sequence[Output],
    evidence: Mapping[str, Evidence],
    causes: Mapping[str, Trial | None],
    first: KeptRun,
) -> bool:
    """Return whether all outputs differ by rounding alone, so that no other input can explain more.

    Some may differ so from what another cause makes, if others, which follow the frames and change with the input, show
    that the one input of the model was as declared.
    """
    as_declared = {o.model.name for o in outputs if evidence[o.model.name].settled and not _unexplained(o)}
    others = [name for name in evidence if name not in as_declared]
    if not others or not all(_leaves_rounding(evidence[name], causes[name]) for name in others):
        return not others
    return show_input(engine, first, [name for name in as_declared if evidence[name].follows_frames])


def _leaves_rounding(evidence: Evidence, cause: Trial | None) -> bool:
    return cause is not None and cause.cause != "match" and evidence.leaves_rounding(cause)


def _situation(
    output: Output, outputs: Sequence[Output], kept: Sequence[KeptRun], remade: Mapping[str, list[Remade]]
) -> Situation:
    references = {name: [k.references[name] for k in kept] for name in kept[0].references}
    specs = {o.model.name: o.spec for o in outputs}
    numbers, images = [k.number for k in kept], remade.get(output.model.name, ())
    return Situation(output.model.name, numbers, references, specs, images, _sides(kept[0]))


def _sides(first: KeptRun) -> list[int]:
    """Return the heights and widths of the images that are the model's inputs."""
    axes = {name: image_channels(x.shape) for name, x in first.inputs.items()}
    sides = {
        n
        for name, x in first.inputs.items()
        if axes[name] is not None
        for n in np.delete(x.shape, [0, axes[name] or 0])
    }
    return sorted(int(n) for n in sides if n > 1)


def _examined(output: Output, evidence: Evidence, situation: Situation, asked: Mapping[str, Tolerance]) -> Examined:
    comparison = output.comparison
    met = tolerances.met(output.name, asked, None if comparison is None else comparison.whole)
    all_met = all(ok for _, _, ok in met.values())
    ranking, judgement = diagnose(evidence, situation, all_met, comparison)
    rows = sorted({row for remade in situation.remade for row in remade.answers})
    found = Examined(output, judgement, evidence, ranking, met, rows)
    axis = other_end(evidence)
    best = max((c.score for c in ranking if judgement.verdict != "match" or c.cause == "match"), default=-np.inf)
    if axis is None or not _may_be_turned(judgement, best, len(output.model.shape)):
        return found
    turned = Evidence(output.spec, evidence.buffers, evidence.references, (), axis, evidence)
    others, other = diagnose(turned, situation._replace(tried=None), all_met, comparison)
    along = found._replace(judgement=other.noted(along_axis(axis)), evidence=turned, ranking=others)
    return along if _says_more(found, along, best) else _with_the_other_figure(found, along)


def _with_the_other_figure(now: Examined, then: Examined) -> Examined:
    """Return what was found, with how well the other axis's channels agree, if no cause is named and that is more.

    A fix that was found in these channels would else seem to make nothing better.
    """
    before, after = (next((c.score for c in e.ranking if c.cause == "match"), -np.inf) for e in (now, then))
    if now.judgement.verdict not in UNSURE or now.judgement.names_cause or after < max(before + 2 * MARGIN, LEAST):
        return now
    assert then.evidence is not None and then.evidence.named_axis is not None
    return now._replace(judgement=now.judgement.noted(along_axis(then.evidence.named_axis, after)))


def _may_be_turned(judgement: Judgement, best: float, axes: int) -> bool:
    """Whether the channels may be along the other axis: no cause was found, or one that explains little.

    best: the score of the best candidate; axes: of the output. Of maps, which have places, a match says enough.
    """
    if judgement.verdict in UNSURE:
        return True
    of_rows = judgement.verdict in _OF_ROWS and axes < 4
    return of_rows or (best < _DOUBTFUL and (judgement.verdict != "match" or axes < 4))


def _more(judgement: Judgement, found: Judgement) -> float:
    """Return the dB that what was found along the other axis has to explain more; inf if it is no cause.

    A cause that is about channels may explain a little less where the axis shows no cause, or one that rows show.
    """
    if found.verdict in (*UNSURE, "match"):
        return np.inf
    if judgement.verdict == "match":
        return 2 * MARGIN if found.verdict in _OF_CHANNELS else np.inf
    if found.verdict == judgement.verdict or found.verdict not in _OF_CHANNELS:
        return MARGIN
    return -MARGIN if judgement.verdict in (*UNSURE, *_OF_ROWS) else MARGIN


def _says_more(now: Examined, then: Examined, best: float) -> bool:
    """Whether what was found with channels along the other axis says more. best: the best score along the first one.

    A row in reverse is an order of the channels along the other axis, which has a fix. Both may make the same values,
    but explain other shares of what varies within channels: so these are compared by what they gain, and by what they
    leave of the values, of which an order that only resembles a shift leaves more. Rows in any order are such an order,
    too. Corners of boxes resemble centres, shifted along the numbers of each box: what leaves more of the values than
    another cause is no move. Declared scales of channels say which axis is theirs.
    """
    verdicts = judgement, found = now.judgement.verdict, then.judgement.verdict
    if found == "geometry" and (_has_scales_along_its_channels(now) or _left(then) > _AS_MUCH * _least(now)):
        return False
    more = then.ranking[0].score > best + _more(now.judgement, then.judgement)
    if "channel_order" not in verdicts or not {*verdicts} & {*_OF_ROWS}:
        return more
    gain, gained = (next(c for c in e.ranking if c.cause == e.judgement.verdict).gain for e in (now, then))
    if judgement == "channel_order":
        return gained > gain + MARGIN and (found == "geometry" or more)
    if judgement == "geometry":
        return gained > gain - MARGIN and _left(then) <= _AS_MUCH * _left(now)
    return more


def _has_scales_along_its_channels(e: Examined) -> bool:
    """Whether the declared spec has a scale for each channel."""
    spec = e.output.spec
    if spec.quantization is None or spec.quantization.axis is None or e.evidence is None:
        return False
    return axes_in_model(spec.axes).index(spec.quantization.axis % len(spec.axes)) == e.evidence.named_axis


def _left(e: Examined) -> float:
    """Return the power of what the named cause leaves of the values."""
    assert e.evidence is not None
    named = next(c for c in e.ranking if c.cause == e.judgement.verdict)
    return _power(e.evidence.trial(named))


def _least(e: Examined) -> float:
    """Return the power of what the best cause leaves, proven or not; of those of all frames and the same values."""
    assert e.evidence is not None
    trials = [e.evidence.trial(c) for c in e.ranking if c.cause != "match"]
    return min((_power(t) for t in trials if t.comparable and t.rows is None), default=np.inf)


def _power(trial: Trial) -> float:
    return float(np.square(trial.left).mean())


def exchanged(examined: Sequence[Examined]) -> list[Examined]:
    """Return the outputs, each exchanged one with the whole exchange as its fix.

    Without a fix if another name has the same tensor, because one of the two was never recorded, or if nothing explains
    the output of that name.
    """
    names = {e.output.name: e.judgement.fix for e in examined if e.judgement.verdict == "output_order"}
    content = {e.output.name: names.get(e.output.name, e.output.model.name) for e in examined}
    sharing = {name: [k for k in content if content[k] == content[name]] for name in content}
    exchange = {name: other for name, other in names.items() if len(sharing[name]) == 1}
    unknown = {e.output.name for e in examined if e.judgement.verdict in UNSURE}

    def finished(name: str, judgement: Judgement) -> Judgement:
        if name in exchange:
            return judgement._replace(fix=dict(exchange))
        return judgement._replace(fix=None, advice=advice(name), notes=())

    def advice(name: str) -> str:
        return doubled(sharing[name], [other for other in sharing[name] if other in unknown])

    return [
        e._replace(judgement=finished(e.output.name, e.judgement)) if e.output.name in names else e for e in examined
    ]


def of_one_input(examined: Sequence[Examined]) -> list[Examined]:
    """Return the outputs, without an input as the cause of one if another output clearly had another input."""
    return [_of_one_input(e, [other for other in examined if other is not e]) for e in examined]


def _of_one_input(e: Examined, others: Sequence[Examined]) -> Examined:
    named = e.judgement.named
    if named is None:
        return e
    for other in others:
        if other.evidence is None or other.judgement.also:
            continue
        found = contradiction(named, other.evidence, other.ranking)
        if found is not None:
            return e._replace(judgement=e.judgement.contradicted(contradicts(other.output.name, *found)))
    return e


def inputs_in_other_places(examined: Sequence[Examined]) -> dict[str, tuple[Judgement, Mapping[str, str]]]:
    """Return {output: judgement, and where each moved input was fed} of the outputs that show exchanged inputs."""
    shown = {}
    for e in examined:
        if "input_order" in (e.judgement.verdict, *e.judgement.also):
            best = next(c for c in e.ranking if c.cause == "input_order")
            shown[e.output.name] = e.judgement, best.fix
    return shown


def frames_run_again(examined: Sequence[Examined], kept: Sequence[KeptRun]) -> list[int]:
    """Return the numbers of the frames on which the model ran again, for any output."""
    return sorted({kept[row].number for e in examined for row in e.rows})
