"""Are the accelerator's outputs read right? A plain run needs no accelerator: it reads what was recorded once."""

import board

import npu_layout as nl
from npu_layout.pytest_plugin import assert_matches
from npu_layout.recordings import Frames

HOW = dict(color="RGB", mean=128, std=256, resize="letterbox")


def inputs():
    """What is recorded by --npu-record and --npu-update: the network's input, and the frame that it was made of."""
    preprocess = nl.Preprocessor(board.INPUT, **HOW)
    for frame in Frames([board.MODEL.parent / "frames"]):
        yield {"image": preprocess(frame)[0], "frame": frame}


def test_the_board_is_read_right(npu_recording):
    recording = npu_recording("walk", inputs, input_specs=[board.INPUT], preprocess=HOW, model=board.MODEL)
    assert_matches(recording, board.MODEL, min_cosine={"heat": 0.999}, max_steps=1)
