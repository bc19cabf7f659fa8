"""Why an output or an input differs from what was declared.

Imports comparison, recordings, frames, engines, buffers, layouts and support.
"""

from typing import TYPE_CHECKING

from ..support import late
from .buffer_search import Hypothesis
from .identification import Identification, identify
from .thresholds import LEAST, MARGIN

if TYPE_CHECKING:
    from .answers import Remade, distinct, explains_more, far_less, gained, whole_cause
    from .camera_frames import noted_part
    from .causes import Situation, without_inputs
    from .channel_ends import other_end
    from .evidence import Evidence
    from .frame_fits import PICTURE
    from .input_check import recorded_inputs
    from .input_orders import exchanges, in_other_places
    from .input_report import InputReport
    from .input_variants import image_channels, image_size, variants
    from .one_input import contradiction
    from .runtime_colors import runtime_exchanges
    from .runtime_scales import runtime_normalises
    from .samples import by_channel, ends
    from .scales import called
    from .trials import Candidate, Trial
    from .verdict import Judgement, beside_input, diagnose
    from .wording import along_axis, contradicts, doubled

__all__ = [
    "LEAST",
    "MARGIN",
    "PICTURE",
    "Candidate",
    "Evidence",
    "Hypothesis",
    "Identification",
    "InputReport",
    "Judgement",
    "Remade",
    "Situation",
    "Trial",
    "along_axis",
    "beside_input",
    "by_channel",
    "called",
    "contradiction",
    "contradicts",
    "diagnose",
    "distinct",
    "doubled",
    "ends",
    "exchanges",
    "explains_more",
    "far_less",
    "gained",
    "identify",
    "image_channels",
    "image_size",
    "in_other_places",
    "noted_part",
    "other_end",
    "recorded_inputs",
    "runtime_exchanges",
    "runtime_normalises",
    "variants",
    "whole_cause",
    "without_inputs",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "PICTURE": "frame_fits",
        "Candidate": "trials",
        "Evidence": "evidence",
        "InputReport": "input_report",
        "Judgement": "verdict",
        "Remade": "answers",
        "Situation": "causes",
        "Trial": "trials",
        "along_axis": "wording",
        "beside_input": "verdict",
        "by_channel": "samples",
        "called": "scales",
        "contradiction": "one_input",
        "contradicts": "wording",
        "diagnose": "verdict",
        "distinct": "answers",
        "doubled": "wording",
        "ends": "samples",
        "exchanges": "input_orders",
        "explains_more": "answers",
        "far_less": "answers",
        "gained": "answers",
        "image_channels": "input_variants",
        "image_size": "input_variants",
        "in_other_places": "input_orders",
        "noted_part": "camera_frames",
        "other_end": "channel_ends",
        "recorded_inputs": "input_check",
        "runtime_exchanges": "runtime_colors",
        "runtime_normalises": "runtime_scales",
        "variants": "input_variants",
        "whole_cause": "answers",
        "without_inputs": "causes",
    },
)
