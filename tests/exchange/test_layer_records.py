"""The records of a comparison: true or false, words, JSON, and nothing that changes."""

from __future__ import annotations

import dataclasses
import json

import pytest

from npu_layout.exchange import ComparedLayer, LayerComparison

LAYER = ComparedLayer("y", "Conv", "node", "differs", 2.5, 40.0, "", (1, 2), "NC of float32", "CN of int8", ("x",), ())


def test_a_layer_as_json() -> None:
    words = json.loads(json.dumps(LAYER.to_dict(), allow_nan=False))
    assert list(words) == list(ComparedLayer._fields)
    assert (words["shape"], words["inputs"], words["skipped"]) == ([1, 2], ["x"], [])
    assert ComparedLayer("y", "Conv", "", "missing").to_dict()["shape"] is None


def test_the_whole() -> None:
    found = LayerComparison((LAYER,), LAYER, (), "y differs", ("extra",), (), 10.0)
    assert not found and str(found) == "y differs"
    assert LayerComparison((LAYER,), None, (), "", (), (), 10.0)
    words = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(words) == {field.name for field in dataclasses.fields(found)}
    assert words["first"] == words["layers"][0] and words["unknown_a"] == ["extra"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.why = ""  # type: ignore[misc]
