"""AscendCL's descriptions: plain formats, blocks whose C0 is in the dims, sizes that AIPP has changed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

HEAT: dict[str, Any] = dict(name="heat", dimCount=4, dims=[1, 57, 6, 5, 0, 0], format=0, data_type=0, size=6840)


def test_plain_formats() -> None:
    assert nl.specs.from_acl(HEAT) == nl.TensorSpec((1, 57, 6, 5), "NCHW", name="heat")
    for number, axes in ((0, "NCHW"), (1, "NHWC"), (2, "NCHW"), (16, "HWCN"), (-1, "NCHW")):
        assert nl.specs.from_acl({**HEAT, "format": number}).axes == axes
    assert nl.specs.from_acl({**HEAT, "format": "ACL_FORMAT_NCDHW", "dims": [1, 2, 3, 4, 5], "dimCount": 5,
                              "size": 480}).axes == "NCDHW"  # fmt: skip
    assert nl.specs.from_acl({"dims": [], "format": 2, "data_type": 0}).shape == (1,)
    assert nl.specs.from_acl({"dims": [2, 3, 4], "format": 47, "dataType": "ACL_INT8", "size": 24}).axes == "NCW"
    assert nl.specs.from_acl(HEAT, shape=(1, 57, 6, 5)) == nl.specs.from_acl(HEAT)


def test_a_format_without_an_order() -> None:
    """ND is what ATC writes for most outputs, of TensorFlow's models too, whose channels are last."""
    maps = {**HEAT, "dims": [1, 8, 8, 57], "dimCount": 4, "size": 8 * 8 * 57 * 4}
    for number in (2, -1):
        with pytest.warns(
            UserWarning, match=r"ACL tensor 'heat': the order of shape \(1, 8, 8, 57\) is not known"
        ) as found:
            assert nl.specs.from_acl({**maps, "format": number}).axes == "NCHW"
        assert [one.filename for one in found] == [__file__]
        assert "give layout='NHWC' (to an engine layouts={name: 'NHWC'})" in str(found[0].message)
        for letters in ("NHWC", "NCHW"):  # and no warning
            assert nl.specs.from_acl({**maps, "format": number}, layout=letters).axes == letters
    assert nl.specs.from_acl({**maps, "format": 1}, layout="NHWC") == nl.specs.from_acl({**maps, "format": 1})
    for number, order in ((0, "NCHW"), (3, "NC1HWC0")):
        with pytest.raises(nl.LayoutError, match=f"layout= is 'NHWC', but the format is {order}, which has an order"):
            nl.specs.from_acl({**maps, "format": number}, layout="NHWC")
    with pytest.raises(nl.LayoutError, match=r"format ND has 3 axes, but dims .* has 4"):
        nl.specs.from_acl({**maps, "format": 2}, layout="NWC")


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "float32"), (1, "float16"), (2, "int8"), (3, "int32"), (4, "uint8"), (6, "int16"), (7, "uint16"),
     (8, "uint32"), (9, "int64"), (10, "uint64"), (11, "float64"), (12, "bool"), (27, "bfloat16")],
)  # fmt: skip
def test_types_by_number(number: int, dtype: str) -> None:
    assert nl.specs.from_acl({"dims": [2, 3], "format": 2, "data_type": number}).dtype == dtype


def test_blocks() -> None:
    given = {**HEAT, "dims": [1, 4, 6, 5, 16], "dimCount": 5, "format": 3, "data_type": 1, "size": 3840}
    spec = nl.specs.from_acl(given, shape=(1, 57, 6, 5))
    for c, h, w in itertools.product(range(57), range(6), range(5)):
        assert spec.offset(0, c, h, w) == ((c // 16 * 6 + h) * 5 + w) * 16 + c % 16
    classes = {"dims": [1, 3, 1, 1, 16], "format": 3, "data_type": 1}
    assert nl.specs.from_acl(classes, shape=(1, 40)) == nl.specs.from_acl(classes, shape=(1, 40, 1, 1))
    matrix = {"dims": [2, 2, 16, 32], "format": 29, "data_type": 2, "size": 2048}
    spec = nl.specs.from_acl(matrix, shape=(17, 40))
    assert spec.axes == "MK" and spec.offset(16, 33) == ((1 * 2 + 1) * 16 + 0) * 32 + 1
    x = np.arange(17 * 40, dtype=np.int8).reshape(17, 40)
    np.testing.assert_array_equal(spec.unpack(spec.pack(x)), x)


@pytest.mark.parametrize(
    ("change", "shape", "says"),
    [
        ({"dims": [-1, 57, 6, 5]}, None, "dims .-1, 57, 6, 5. are dynamic"),
        ({"dimCount": 9}, None, "dimCount 9: expected 0 to 6"),
        ({"dimCount": 3}, None, "format NCHW has 4 axes, but dims .* has 3"),
        ({"size": 8000}, None, "size is 8000 bytes, but .* needs 6840: shape, type and size contradict"),
        ({"data_type": 4, "size": 855}, None, "needs 1710: .* with AIPP give the dims of aclmdlGetInputDimsV2$"),
        ({"format": 4}, None, "format FRACTAL_Z: expected NCHW"),
        ({"format": 5}, None, "format 5: expected one of -1, 0, 1"),
        ({"data_type": 13}, None, "data_type 13: expected one of"),
        ({}, (1, 57, 5, 6), r"shape \(1, 57, 5, 6\) is given, but format NCHW has the dims .1, 57, 6, 5."),
        (
            {"format": 3, "dims": [1, 4, 6, 5, 16], "dimCount": 5},
            None,
            "give shape=, the logical one, and to an engine shapes={'heat': shape}",
        ),
        ({"format": 3, "dims": [1, 4, 6, 5, 16], "dimCount": 5}, (1, 80, 6, 5), "dims .* are not those of"),
        ({"format": 3}, (1, 57, 6, 5), "format NC1HWC0 has 5 dims"),
        ({"data_type": None}, None, "no field 'data_type'"),
    ],
)
def test_refusals(change: Any, shape: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_acl({**HEAT, **change}, shape=shape)


def test_batches_of_matrices_in_tiles() -> None:
    """CANN: dims before the last two of the tensor stay in front of the tiles."""
    dims = [2, 3, 3, 2, 16, 16]
    spec = nl.specs.from_acl(dict(name="y", dims=dims, format="FRACTAL_NZ", data_type=1), shape=(2, 3, 17, 40))
    assert list(spec.storage_shape) == dims and spec.axes == "BDMK"
    for b, d, m, k in ((0, 0, 0, 0), (1, 2, 16, 39), (0, 1, 3, 17)):
        tile = ((b * 3 + d) * 3 + k // 16) * 2 + m // 16
        assert spec.offset(b, d, m, k) == (tile * 16 + m % 16) * 16 + k % 16
    with pytest.raises(nl.LayoutError, match="NC1HWC0 has 5 dims"):
        nl.specs.from_acl(dict(name="y", dims=[1, 1, 4, 6, 6, 16], format=3, data_type=1), shape=(1, 57, 6, 6))
    with pytest.raises(nl.LayoutError, match="FRACTAL_NZ has 4 dims"):
        nl.specs.from_acl(dict(name="y", dims=[2, 16, 16], format=29, data_type=1), shape=(17, 40))
