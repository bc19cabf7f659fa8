"""List every cause for which an output may differ, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ..computed.activations import activations
from ..computed.answers import Remade, other_inputs, other_outputs, shifted_frames, shuffled_frames
from ..computed.box_formats import box_formats
from ..computed.endings import endings
from ..computed.factors import factors
from ..computed.geometries import geometries
from ..computed.resizes import resizes
from ..scoring.evidence import Evidence
from ..scoring.thresholds import FAR, NEARLY_ALL
from ..scoring.trials import Trial
from ..stored.channel_orders import channel_orders
from ..stored.declared_scales import declared_scales
from ..stored.readings import declared, other_byte_order, readings
from ..stored.row_orders import row_orders
from ..stored.vector_orders import vector_orders

__all__ = ["Situation", "declared", "every", "other_inputs", "without_inputs"]


class Situation(NamedTuple):
    """What is known in addition to an output's own values.

    Attributes
    ----------
    output
        The model's name of the output.
    numbers
        Which frames of the recording were kept.
    references
        {model's output: its tensor for each kept frame}.
    specs
        {model's output: declared spec}, of the outputs that were recorded.
    remade
        The model's answers to inputs made in other ways.
    sides
        Heights and widths of the images that are the model's inputs.
    say
        Called with what is tried next, in words.
    tried
        What `without_inputs` returns for the output, if that is known.
    """

    output: str
    numbers: Sequence[int]
    references: Mapping[str, Sequence[np.ndarray]]
    specs: Mapping[str, TensorSpec]
    remade: Sequence[Remade]
    sides: Sequence[int] = ()
    say: Callable[[str], object] = str  # which says nothing
    tried: Sequence[Trial] | None = None


def every(evidence: Evidence, situation: Situation) -> Iterator[Trial]:
    """Yield a trial of each cause."""
    yield from without_inputs(evidence, situation) if situation.tried is None else situation.tried
    situation.say("inputs")
    for remade in situation.remade:
        yield from other_inputs(evidence, remade, len(situation.remade))


def without_inputs(evidence: Evidence, situation: Situation) -> Iterator[Trial]:
    """Yield a trial of each cause that is not an input made in another way."""
    say, best = situation.say, -np.inf
    for trial in of_stored(evidence, situation):
        best = max(best, evidence.score(trial))
        yield trial
    say("activations")
    yield from activations(evidence, best)
    yield from endings(evidence)
    yield from box_formats(evidence)
    say("orders of channels and rows")
    yield from channel_orders(evidence, best - FAR if best >= NEARLY_ALL else -np.inf)
    yield from vector_orders(evidence)
    yield from row_orders(evidence)
    say("geometry")
    yield from geometries(evidence)
    yield from resizes(evidence)
    say("exchanges")
    yield from other_outputs(evidence, situation.output, situation.references, situation.specs)
    yield from shifted_frames(evidence, situation.numbers)
    yield from shuffled_frames(evidence, situation.numbers)


def of_stored(evidence: Evidence, situation: Situation) -> Iterator[Trial]:
    """Yield a trial of each way in which the elements may be stored, but for their order."""
    yield from declared(evidence)
    situation.say("scales")
    yield from factors(evidence, situation.sides)
    yield from declared_scales(evidence, [(k, spec) for k, spec in situation.specs.items() if k != situation.output])
    situation.say("layouts")
    yield from readings(evidence)
    yield from other_byte_order(evidence)
