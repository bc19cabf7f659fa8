"""A family of heads: the numbers of classes that outputs can have, and the forms that count."""

from __future__ import annotations

from npu_layout import decode
from npu_layout.decode.guesses.family import Family


def test_channels_beside_those_of_classes_are_counted() -> None:
    plain = Family(lambda n, act: decode.yolov5(n, activation=act), "anchors", (5,), 3)
    assert 80 in plain.counts({1, 255, 40}) and plain.counts({1, 255}, 7) == {7}
    faces = Family(lambda n, act: decode.yunet(activation=act), "faces", one=True)
    assert faces.counts({1, 4, 10}) == {1} == faces.counts({4}, 1) and faces.counts({4}, 2) == set()


def test_a_form_counts_alone_or_all_in_one_output() -> None:
    listed = Family(lambda n, act: decode.yolov8(n, activation=act), "lists", form="list")
    assert [form.name for form in listed.tried(3).forms] == ["list"]
    whole = Family(lambda n, act: decode.yolov8(n, activation=act), "one output", whole=True)
    assert all(form.whole for form in whole.tried(3).forms)
    assert not any(form.whole for form in listed.tried(3).forms)


def test_plain_outputs_have_no_optional_part() -> None:
    maps, plain = (
        Family(lambda n, act: decode.yolov8(n, activation=act), "maps", form="maps", plain=is_plain)
        for is_plain in (False, True)
    )
    roles = [[part.role for part in family.tried(3).forms[0].parts] for family in (maps, plain)]
    assert roles == [["box", "score", "bound"], ["box", "score"]]
    assert plain.make(3, "none") == decode.yolov8(3, activation="none")
