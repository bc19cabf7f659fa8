"""Heads on the command line: functions of npu_layout.decode, JSON files, and what is neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.cli import heads


def test_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, head in (
        ("yolov8(80)", decode.yolov8(80)),
        ("yolov8(classes=3, strides=(8,), activation='sigmoid')", decode.yolov8(3, (8,), activation="sigmoid")),
        (
            "yolov5(2, anchors=[[(10, 20)], [(30, 40)], [(50, 60)]])",
            decode.yolov5(2, anchors=[[(10, 20)], [(30, 40)], [(50, 60)]]),
        ),
        ("scrfd", decode.scrfd()),
        ("decode.yolov8(80)", decode.yolov8(80)),  # as a script has it
        ("nl.decode.yolox(classes=3)", decode.yolox(3)),
        ("npu_layout.decode.scrfd", decode.scrfd()),
    ):
        assert heads.head_of(text) == head
    Path("own.json").write_text(json.dumps(decode.scrfd().to_dict()))
    Path("yolox").write_text(json.dumps(decode.scrfd().to_dict()))  # a file is a file, whatever its name
    assert heads.head_of("own.json") == heads.head_of("yolox") == decode.scrfd()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("yolov8(open('x', 'w'))", "expected a head with numbers, texts and lists"),
        ("yolov8(classes)", "expected a head with numbers, texts and lists"),
        ("yolov8(80))", "expected a head with numbers, texts and lists"),
        ("yolov8(" + "(" * 5000 + ")" * 5000 + ")", "expected a head with numbers, texts and lists"),
        ("yolov8(80).name", "heads are blazeface, .*yunet"),
        ("yolov8(activaton='sigmoid')", r"no argument 'activaton'.* Is it activation\?"),
        ("yolov8(-1)", "classes: expected a whole number of at least 1"),
        ("os.decode.yolov8(80)", "heads are blazeface"),
        ("nl.yolov8(80)", "heads are blazeface"),
        ("decode.yolov8(80).yolov8(80)", "expected a head with numbers"),
        ("guess(1)", r"expected a JSON file of Head.to_dict\(\), or a head"),
        ("yolo8(2)", r"heads are blazeface, .*yunet\. Is it yolov8\?$"),
        ("nowhere.json", "nowhere.json: No such file"),
    ],
)
def test_heads_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nl.NpuLayoutError, match=says):
        heads.head_of(text)
    assert not list(tmp_path.iterdir())
