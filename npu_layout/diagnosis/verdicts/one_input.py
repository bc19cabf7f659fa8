"""Check that the outputs of a device agree on its input, because it had only one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...comparison import decibels
from ..scoring.evidence import Evidence
from ..scoring.proof import by_chance, independent
from ..scoring.thresholds import LEAST, MARGIN, RATE
from ..scoring.trials import Candidate


class Contradiction(NamedTuple):
    """What an input that another output names explains of this output, and the input that explains clearly more.

    `better` is None if no other input explains more, but the named one explains far less than it has to.
    """

    here: Candidate
    better: Candidate | None


def contradiction(named: Candidate, evidence: Evidence, ranking: Sequence[Candidate]) -> Contradiction | None:
    """Return what speaks against an input that another output names; None if nothing does.

    Parameters
    ----------
    named
        The cause of the other output: an input that was made in another way. The input of another frame does not
        count: if buffers are read too early, one alone may be late.
    evidence, ranking
        The evidence and the candidates of this output.

    Returns
    -------
    A Contradiction with the input, as recorded or made in a third way, that explains this output better by MARGIN, and
    by more than noise does once in 1 / RATE searches, if it explains LEAST. A Contradiction without it, if `named`
    changes this output so much that it should gain MARGIN over the input as recorded, but gains less than half of that.
    None, if neither is so, or `named` was not tried here.
    """
    if named.way is None or not evidence.fits:
        return None
    here = next((c for c in ranking if c.way == named.way), None)
    if here is None:
        return None
    enough = math.log(len(evidence.trials) / RATE)
    for c in ranking:
        if c.score < max(LEAST, here.score + MARGIN):
            break
        if c.way is not None or c.cause == "match":
            more = by_chance(10 ** ((c.score - here.score) / 10), independent(evidence, c))
            if more >= enough:
                return Contradiction(here, c)
    return Contradiction(here, None) if _gains_too_little(evidence, here) else None


def _gains_too_little(evidence: Evidence, here: Candidate) -> bool:
    """Whether an input gains less than half of the dB that it has to gain over the recorded one, if that are MARGIN.

    If the device had it, and what it leaves is noise, the recorded input leaves that and how far the two are apart.
    """
    trial = evidence.trial(here)
    before = evidence.as_declared(trial.rows).left
    noise = max(float(np.square(trial.left).mean()), evidence.rounding(trial.steps), 1e-300)
    expected = decibels(noise + float(np.square(before - trial.left).mean()), noise)
    gain = max(here.gain, decibels(float(np.square(before).mean()), noise))
    return expected >= MARGIN and gain < expected / 2
