"""Public threads in which a device's output or input differed from the model, each rebuilt with the fault it was about.

What the person saw and what was wrong is described in our own words; the addresses were read in November 2026.
`rebuild.py` makes the recordings, `scripts/threads.py` the page docs/threads.md.
"""

from __future__ import annotations

from .inputs import INPUTS_IN_THE_DEVICE, INPUTS_OF_THE_SCRIPT
from .outputs import ACTIVATIONS, GEOMETRY, INTEGERS, LAYOUTS, ORDERS_AND_FRAMES

THREADS = (
    *LAYOUTS,
    *INTEGERS,
    *INPUTS_IN_THE_DEVICE,
    *ORDERS_AND_FRAMES,
    *GEOMETRY,
    *ACTIVATIONS,
    *INPUTS_OF_THE_SCRIPT,
)
