"""Move, convert and reduce the elements of arrays, by compiled kernels or by numpy and OpenCV.

The environment chooses which: ``NPU_LAYOUT_KERNELS`` is ``auto`` (the default: compiled kernels if they were built),
``native`` (ImportError if they were not) or ``numpy``; ``NPU_LAYOUT_DISABLE`` lists instruction sets not to use. The
argument `backend` of a function is one of `backends`, or None for the active one.

Imports numpy, and nothing of this library: kernels work on loops, not on layouts.
"""

from .answers import detector as detector
from .answers import masks as masks
from .answers import nms as nms
from .answers import scan as scan
from .answers import skeletons as skeletons
from .answers import turned_nms as turned_nms
from .bfloat16 import round_to_bfloat16 as round_to_bfloat16
from .bfloat16 import widen_bfloat16 as widen_bfloat16
from .box import Affine as Affine
from .box import Arithmetic as Arithmetic
from .box import Box as Box
from .choice import activate as activate
from .choice import active as active
from .choice import backends as backends
from .choice import get_num_threads as get_num_threads
from .choice import set_num_threads as set_num_threads
from .detecting import SCORES as SCORES
from .detecting import SUPPRESSIONS as SUPPRESSIONS
from .detecting import Anchor as Anchor
from .detecting import AnchorPart as AnchorPart
from .detecting import Detection as Detection
from .detecting import FeatureMap as FeatureMap
from .detecting import Grid as Grid
from .detecting import Points as Points
from .detecting import Scales as Scales
from .detecting import codes as codes
from .detecting import half_and_zero as half_and_zero
from .detecting import least_code as least_code
from .detecting import least_float as least_float
from .moves import FallbackProgram as FallbackProgram
from .moves import fit as fit
from .moves import gray as gray
from .moves import gray_of as gray_of
from .moves import picture_rows as picture_rows
from .moves import program as program
from .moves import run_fits as run_fits
from .moves import usual as usual
from .pictures import SIDE as SIDE
from .pictures import Axis as Axis
from .pictures import Color as Color
from .pictures import ComponentSamples as ComponentSamples
from .pictures import Fit as Fit
from .pictures import PictureResize as PictureResize
from .pictures import RowSource as RowSource
from .pictures import YuvSamples as YuvSamples
from .pictures import area_axis as area_axis
from .pictures import block_axis as block_axis
from .pictures import linear_axis as linear_axis
from .pictures import nearest_axis as nearest_axis
from .pictures import nearest_floor_axis as nearest_floor_axis
from .pictures import shared_linear_axis as shared_linear_axis
from .pictures import shared_nearest_axis as shared_nearest_axis
from .pictures import shared_nearest_floor_axis as shared_nearest_floor_axis
from .reductions import argmax as argmax
from .reductions import peaks as peaks
from .reductions import sigmoid as sigmoid
from .reductions import softmax as softmax
from .reductions import top_k as top_k
from .reductions import tops as tops
from .sums import BY_COLUMN as BY_COLUMN
from .sums import BY_ROW as BY_ROW
from .sums import sums as sums
from .to_yuv import to_yuv as to_yuv

__all__ = [
    "active",
    "argmax",
    "backends",
    "get_num_threads",
    "peaks",
    "set_num_threads",
    "sigmoid",
    "softmax",
    "top_k",
    "tops",
]
