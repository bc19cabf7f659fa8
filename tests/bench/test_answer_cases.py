"""Rows of detectors' outputs: what each contender finds is the same, and what the rows contain is what they say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.bench import contenders, measuring, peers
from npu_layout.bench.answer_cases import LIMIT, DetectCase, NmsCase, answer_cases
from npu_layout.bench.cases import ContenderMemory
from npu_layout.bench.detector_outputs import CLASSES, FAMILIES

DETECT = {
    "numpy: threshold on stored integers, candidates only, suppression in numpy",
    "cv2: the same, NMSBoxesBatched",
    "onnxruntime: the same, NonMaxSuppression",
}
SUPERVISION = "supervision: the same, box_non_max_suppression"
SCRIPT = "numpy: as scripts do: everything dequantised and decoded"


def test_rows_are_all_scenes_and_layouts() -> None:
    cases = list(answer_cases())
    assert len({case.title for case in cases}) == len(cases)
    assert Counter(case.key for case in cases) == {"detect": 39, "nms": 3, "masks": 3, "people": 2}
    assert cases[0].title == "v8 sparse NCHW16c" and cases[-1].title == "20 people"
    for case in cases:
        assert case.nbytes == case.target.nbytes and case.flat is case.memory


ROWS = [(name, layout) for name, family in FAMILIES.items() for layout in family.layouts]


@pytest.mark.parametrize("family, layout", ROWS)
def test_every_contender_finds_the_same(family: str, layout: str) -> None:
    case = DetectCase(family, FAMILIES[family].scenes[0], layout)
    calls, paths, wrong = contenders.competitors(case, with_peers=True)
    assert not wrong and paths == []
    own = {*DETECT, SCRIPT}
    if case.kind != "detect":
        own = {f"{library}: {spelling}" for library, spelling, _ in peers.PEERS[case.kind]}
    expected = {"memcpy", contenders.OURS, *kernels.backends(), *own}
    assert set(calls) - {"torchvision: the same, batched_nms", SUPERVISION} == expected
    first = np.array(calls[contenders.OURS]())
    assert first.shape == (LIMIT, FAMILIES[family].columns) and 10 < int((first[:, 4] > 0).sum()) < LIMIT
    for name, call in calls.items():
        if name != "memcpy":
            np.testing.assert_allclose(np.asarray(call()), first, rtol=1e-5, atol=1e-3, err_msg=name)


def test_scenes_differ_in_what_passes() -> None:
    found = {}
    for scene, labels in (("sparse", "best"), ("dense", "best"), ("0.001", "best"), ("all labels", "all")):
        case = DetectCase("v8", scene, "NHWC")
        assert case.head.labels == labels and case.head.classes == CLASSES
        decoder = decode.Decoder(case.head, case.specs, (640, 640))
        found[scene] = len(decoder(case.buffers, case.scene.confidence, iou=1.0, limit=30000))
    assert 100 < found["sparse"] < 200 < found["dense"] < 450 < 2000 < found["all labels"] < found["0.001"] < 5000


def test_peers_find_every_label() -> None:
    """Of some cells two classes pass."""
    case = DetectCase("v5", "all labels 0.01", "NHWC")
    calls, _, wrong = contenders.competitors(case, with_peers=True)
    assert not wrong and SCRIPT in calls
    found = case.decoders[None](case.buffers, case.scene.confidence, 0.45, 3000)
    cells = np.stack([found.level, found.cell, found.anchor], 1)
    assert len(np.unique(cells, axis=0)) < len(cells)


def test_a_case_is_made_again_in_other_memory() -> None:
    for case in (DetectCase("v5", "sparse", "NCHW"), NmsCase(60)):
        other = case.elsewhere()
        assert other.title == case.title and not np.shares_memory(other.flat, case.flat)
        assert np.array_equal(other.flat, case.flat)
        if isinstance(other, DetectCase):
            assert all(np.shares_memory(buffer, other.flat) for buffer in other.buffers)
            assert [b.size for b in other.buffers] == [spec.size for spec in other.specs]


def test_boxes_are_suppressed_alike() -> None:
    case = NmsCase(200)
    calls, _, wrong = contenders.competitors(case, with_peers=True)
    assert not wrong and {contenders.OURS, "numpy: one box against all that are left"} <= set(calls)
    first = np.asarray(calls[contenders.OURS]())
    kept = first[first >= 0]
    assert 10 < len(kept) < 200 and len(set(kept.tolist())) == len(kept) and (np.diff(case.scores[kept]) <= 0).all()
    for name, call in calls.items():
        assert name == "memcpy" or np.array_equal(call(), first), name


@pytest.mark.usefixtures("small_caches")
def test_a_row_is_measured() -> None:
    row = measuring.measure(NmsCase(50), 0.01, with_peers=False)
    assert row["key"] == "nms" and not row["wrong"] and row["best_peer"].startswith("numpy: ")
    assert set(row["cold"]) == {"source", "both"}
    assert isinstance(DetectCase("v8", "sparse", "NCHW").specs[0], nl.TensorSpec)


@pytest.mark.parametrize("shared", [True, False])
def test_copies_share_the_memory_of_detections_if_they_share_results(shared: bool) -> None:
    case, outputs = DetectCase("ssd", "dense", "NWC"), ContenderMemory(shared)
    for each in (case, case.elsewhere()):
        each.outputs = outputs
        contenders.detections(each)
    assert set(outputs.found) == ({None, *kernels.backends()} if shared else set())
