"""The sample's detector: how it is measured, that it finds figures it has never seen, and the sample as it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.paths import ROOT, SAMPLES


def started(*arguments):
    """The sample, run in a process of its own."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(SAMPLES / "detect.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def sample(monkeypatch):
    """The modules of the sample and of its training."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import train_detector

    return train_detector


def test_average_precision_by_hand(sample):
    """Boxes in a row: a right one, a wrong one, a right one; of three real ones one is missed."""
    real = [np.array([[0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10.0]])]
    found = [np.array([[0, 0, 10, 10, 0.9], [60, 0, 70, 10, 0.8], [21, 0, 31, 10, 0.7]])]
    # recall 1/3 at precision 1, recall 2/3 at precision 2/3, of 101 points from 0 to 1
    wanted = (34 * 1.0 + 33 * 2 / 3) / 101
    assert sample.average_precision(found, real, 0.5) == pytest.approx(wanted)
    assert sample.average_precision(found, real, 0.9) == pytest.approx(34 / 101)  # the third is 9/11 of its box
    twice = [np.array([[0, 0, 10, 10, 0.9], [0, 0, 10, 10, 0.8]])]
    assert sample.average_precision(twice, real, 0.5) == pytest.approx(34 / 101)  # the second answer is wrong
    assert sample.average_precision([np.zeros((0, 5))], real, 0.5) == 0
    assert sample.average_precision(found, [np.zeros((0, 4))], 0.5) == 0


def test_the_truth_is_in_the_picture(sample):
    """Boxes hold the joints and the pixels of their figure, and little else."""
    for seed in range(5):
        frame, real = sample.example(seed)
        assert frame.shape == (320, 320, 3) and len(real.boxes) == len(real.classes) == len(real.masks)
        for box, joints, mask in zip(real.boxes, real.joints, real.masks):
            inside = joints[joints[:, 2] > 0, :2]
            assert (inside >= box[:2] - 0.5).all() and (inside <= box[2:] + 0.5).all()
            rows, columns = np.nonzero(mask)
            assert 4 * columns.min() >= box[0] - 12 and 4 * columns.max() + 4 <= box[2] + 12
            assert 4 * rows.min() >= box[1] - 12 and 4 * rows.max() + 4 <= box[3] + 12


def test_it_finds_figures_that_it_has_never_seen(sample, capsys):
    found = sample.evaluate(24)
    assert found["float32"] > 0.95 and found["int8"] > 0.95
    joints, masks = (float(v.strip(" %")) for v in capsys.readouterr().out.splitlines()[-1].split("|")[7:9])
    assert joints > 90 and masks > 0.85


@pytest.mark.parametrize("options", [(), ("--layout", "NHWC", "--dtype", "uint8"), ("--dtype", "float16")])
def test_the_sample_draws_what_it_finds(tmp_path, options):
    done = started("--output", str(tmp_path), "--max-frames", "5", *options)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^5 frames, 1\d detections", done.stdout, re.MULTILINE)
    assert "5 of 5 frames have the detections of the float outputs" in done.stdout
    picture = cv2.imread(str(tmp_path / "best.png"))
    assert picture.shape == (480, 640, 3)
    clean = cv2.VideoCapture(str(SAMPLES / "data" / "walk.mp4")).read()[1]
    assert (np.abs(picture.astype(int) - clean) > 60).mean() > 0.02  # boxes, masks and skeletons
    video = cv2.VideoCapture(str(tmp_path / "detections.mp4"))
    assert sum(1 for _ in iter(lambda: video.read()[0], False)) == 5


def test_bad_input(tmp_path):
    for arguments, words in (
        (["nowhere.mp4"], "nowhere.mp4"),
        (["--model", "nowhere.onnx"], "nowhere.onnx: no such file"),
        (["--model", str(SAMPLES / "models" / "pose.onnx")], "yolov8|stick figures"),
    ):
        done = started("--output", str(tmp_path / "out"), *arguments)
        assert done.returncode == 2 and re.search(words, done.stderr) and "Traceback" not in done.stderr, done.stderr


def test_the_record_is_json_and_fits_the_network(sample):
    import detector

    assert decode.Head.from_dict(detector.HEAD.to_dict()) == detector.HEAD
    engine = nl.OnnxRuntimeEngine(SAMPLES / "models" / "detector.onnx")
    decoder = decode.Decoder(detector.HEAD, engine.output_specs, detector.INPUT_HW)
    assert decoder.head.keypoints.count == 18 and decoder.head.prototypes.channels == 16
    assert (SAMPLES / "models" / "detector.onnx").stat().st_size < 2_000_000
