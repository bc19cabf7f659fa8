"""What holds of every reader: damaged metadata is refused or makes a sound spec, objects are read as mappings are."""

from __future__ import annotations

import json
import random
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support import fuzzing
from tests.support.damage import mutate_json
from tests.support.vendor_metadata import EXAMPLES, example

READERS = sorted(name[len("from_") :] for name in nl.specs.__all__ if name.startswith("from_"))


def read(name: str, metadata: Any, **options: Any) -> nl.TensorSpec:
    spec: nl.TensorSpec = getattr(nl.specs, f"from_{name}")(metadata, **{**EXAMPLES[name][1], **options})
    return spec


def test_each_reader_has_an_example() -> None:
    assert sorted(EXAMPLES) == READERS
    assert {name for name in fuzzing.READERS} == set(READERS) - {"rknn"}


@pytest.mark.parametrize("name", READERS)
def test_an_example_makes_a_sound_spec(name: str) -> None:
    spec = read(name, example(name)[0])
    fuzzing.check_spec(spec)
    assert spec == read(name, example(name)[0])


def as_object(value: Any) -> Any:
    """The mapping as a struct: its fields are attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_object(item) for key, item in value.items()})
    return [as_object(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", [name for name in READERS if name != "tflite"])
def test_a_struct_is_read_as_a_mapping_is(name: str) -> None:
    assert read(name, as_object(example(name)[0])) == read(name, example(name)[0])


@pytest.mark.filterwarnings("ignore:.*the order of shape .* is not known")
@pytest.mark.parametrize("name", READERS)
def test_damaged_metadata_is_refused_or_makes_a_sound_spec(name: str) -> None:
    rng = random.Random(name)
    refused = sound = 0
    for _ in range(400):
        content = json.dumps(example(name)[0]).encode()
        for _ in range(rng.randrange(1, 4)):
            content = mutate_json(rng, content)
        try:
            spec = read(name, json.loads(content))
        except nl.NpuLayoutError as error:
            refused += 1
            assert str(error) and not re.search(r"object at 0x", str(error))
            continue
        fuzzing.check_spec(spec)
        sound += 1
    assert refused > 50 and sound > 5, (refused, sound)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("what", [None, 5, "text", [], [{}], {}, object()])
def test_what_is_no_metadata_is_refused(name: str, what: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"no field|expected|got"):
        read(name, what)


NAMED = {"openvino": "names", "sophgo": "output_names", "tidl": "outDataName"}
NAMELESS = {"ncnn", "mnn", "imx500", "hobot", "viplite", "ovxlib", "axera"}  # axera has a pointer beside its names


@pytest.mark.parametrize(
    "given", [3, 2.5, True, {1: "a"}, object(), np.int64(7), [3], len], ids=lambda given: type(given).__name__
)
@pytest.mark.parametrize("reader", [name for name in READERS if name not in NAMELESS])
def test_a_name_is_text(reader: str, given: Any) -> None:
    field = NAMED.get(reader, "name")
    with pytest.raises(nl.NpuLayoutError, match=rf"(field|method) '{field}': "):
        read(reader, {**example(reader)[0], field: given})


@pytest.mark.parametrize("reader", [name for name in READERS if name not in NAMELESS])
@pytest.mark.parametrize("given", ["hot", b"hot", b"hot\0\xff", np.str_("hot")], ids=repr)
def test_a_name_as_text_and_as_bytes_of_c(reader: str, given: Any) -> None:
    spec = read(reader, {**example(reader)[0], NAMED.get(reader, "name"): given})
    assert spec.name == "hot" and type(spec.name) is str
