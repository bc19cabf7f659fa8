"""Why an output or an input differs from what was declared.

Imports comparison, recordings, frames, engines, buffers, layouts and support.
"""

from typing import TYPE_CHECKING

from ..support import late
from .scoring.thresholds import LEAST, MARGIN, NEARLY_ALL
from .stored.buffer_search import Hypothesis
from .stored.identification import Identification, identify

if TYPE_CHECKING:
    from .computed.answers import ExplainedRow, Remade, distinct, explains_more, gained, whole_cause
    from .computed.borders import BorderErrors, EstimatedBorder
    from .input_checks.camera_frames import noted_part
    from .input_checks.input_check import recorded_inputs
    from .input_checks.input_orders import exchanges, in_other_places
    from .input_checks.input_report import InputReport
    from .input_checks.runtime_colors import runtime_exchanges
    from .input_checks.runtime_scales import runtime_normalises
    from .other_inputs.frame_fits import PICTURE, border_of
    from .other_inputs.frame_readings import SOURCE
    from .other_inputs.input_variants import PreparedImage, Variant, image_channels, image_size, variants
    from .other_inputs.two_at_once import BOTH
    from .scoring.evidence import Evidence
    from .scoring.samples import by_channel, ends
    from .scoring.trials import Candidate, Trial
    from .stored.channel_ends import other_end
    from .stored.scales import called
    from .verdicts.causes import Situation, without_inputs
    from .verdicts.one_input import contradiction
    from .verdicts.verdict import Judgement, beside_input, diagnose
    from .verdicts.wording import along_axis, contradicts, doubled

__all__ = [
    "BOTH",
    "LEAST",
    "MARGIN",
    "NEARLY_ALL",
    "PICTURE",
    "SOURCE",
    "BorderErrors",
    "Candidate",
    "EstimatedBorder",
    "Evidence",
    "ExplainedRow",
    "Hypothesis",
    "Identification",
    "InputReport",
    "Judgement",
    "PreparedImage",
    "Remade",
    "Situation",
    "Trial",
    "Variant",
    "along_axis",
    "beside_input",
    "border_of",
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
        "BOTH": "other_inputs.two_at_once",
        "PICTURE": "other_inputs.frame_fits",
        "SOURCE": "other_inputs.frame_readings",
        "BorderErrors": "computed.borders",
        "Candidate": "scoring.trials",
        "EstimatedBorder": "computed.borders",
        "Evidence": "scoring.evidence",
        "ExplainedRow": "computed.answers",
        "InputReport": "input_checks.input_report",
        "Judgement": "verdicts.verdict",
        "PreparedImage": "other_inputs.input_variants",
        "Remade": "computed.answers",
        "Situation": "verdicts.causes",
        "Trial": "scoring.trials",
        "Variant": "other_inputs.input_variants",
        "along_axis": "verdicts.wording",
        "beside_input": "verdicts.verdict",
        "border_of": "other_inputs.frame_fits",
        "by_channel": "scoring.samples",
        "called": "stored.scales",
        "contradiction": "verdicts.one_input",
        "contradicts": "verdicts.wording",
        "diagnose": "verdicts.verdict",
        "distinct": "computed.answers",
        "doubled": "verdicts.wording",
        "ends": "scoring.samples",
        "exchanges": "input_checks.input_orders",
        "explains_more": "computed.answers",
        "gained": "computed.answers",
        "image_channels": "other_inputs.input_variants",
        "image_size": "other_inputs.input_variants",
        "in_other_places": "input_checks.input_orders",
        "noted_part": "input_checks.camera_frames",
        "other_end": "stored.channel_ends",
        "recorded_inputs": "input_checks.input_check",
        "runtime_exchanges": "input_checks.runtime_colors",
        "runtime_normalises": "input_checks.runtime_scales",
        "variants": "other_inputs.input_variants",
        "whole_cause": "computed.answers",
        "without_inputs": "verdicts.causes",
    },
)
