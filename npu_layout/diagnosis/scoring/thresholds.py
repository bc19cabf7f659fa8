"""Define the thresholds that decide when a cause is named."""

from __future__ import annotations

LEAST = 4.0  # dB that a cause has to explain at least
MARGIN = 3.0  # dB by which a cause has to be better than every other one
MOST = 8.0  # dB: as declared, most of the output is explained
CLEAR = 10.0  # dB that a scale near the declared one has to gain, or one beside a good output
SOUND = 15.0  # dB: what explains less leaves more than the noise of a sound device
NEARLY_ALL = 25.0  # dB: where a cause explains as much, what takes long is not tried, if it can but be far worse
FAR = 10.0  # dB: what explains so much less than the best is no rival of it
CLEAN = 30.0  # dB: a device that shrinks or moves values by a tenth leaves more
ROUGH = 12.0  # dB: a line through a function of pieces, an exponential, or of a device that saturates, leaves more
NEAR = 1.25  # factor: noise alone makes scales that are nearer to the declared one, whatever they explain
SHIFTED = 0.05  # of the range: a device that errs much moves an output by less
SEVERAL = 4  # channels or frames: of fewer, which err each by a number of its own, all err alike by chance
ENOUGH = 16  # samples of a channel
BENT = 0.3  # of what a scale leaves: rounding and noise leave less than 0.1 that depends on the value
RATE = 1e-4  # how often noise may look like a cause: of faultless outputs, in the whole search
NEIGHBOURS = 8  # places of a map that err alike, as one
SATURATED = 0.01  # of the values: what calibration leaves out is less
ROUNDING = 1 / 12  # variance of rounding to whole steps, in steps squared
