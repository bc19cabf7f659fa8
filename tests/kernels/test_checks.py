"""What argmax, top_k, softmax, sigmoid and peaks refuse, and empty arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.kernel_walks import BACKENDS

pytestmark = pytest.mark.usefixtures("core_computes")


@pytest.mark.parametrize("backend", BACKENDS)
def test_refusals_and_nothing_to_do(backend: str) -> None:
    x, out = np.zeros((2, 3, 4), np.float32), np.zeros((2, 3), np.int64)
    soft = np.zeros((2, 3, 4), np.float32)
    frozen = out.copy()
    frozen.flags.writeable = False
    windows, still = (np.lib.stride_tricks.as_strided(x.copy(), x.shape, steps) for steps in ((16, 4, 4), (48, 16, 0)))
    for arguments, pattern in (
        ((x.astype(np.float64), out), "float64"),
        ((x.astype(">f4"), out), "byte order"),
        ((x, out, 5), "5 channels"),
        ((x, out, 0), "0 channels"),
        ((x, out, None, "bfloat16"), "bfloat16"),
        ((x, out[:1]), "positions"),
        ((x, out.astype(np.int32)), "out"),
        ((x, frozen), "written"),
        ((x, np.zeros((2, 3, 4), np.int64)), "channels in axes"),
        ((out.view(np.int32).reshape(2, 3, 2), out), "overlaps"),
    ):
        with pytest.raises(ValueError, match=pattern):
            kernels.argmax(*arguments, backend=backend)  # type: ignore[misc]
    two, numbers = np.zeros((2, 3, 2), np.float32), np.zeros((2, 3, 2), np.int64)
    both = np.zeros((2, 3, 4), np.int64)
    for arguments, pattern in (
        ((x.astype(np.float64), two, numbers), "float64"),
        ((x, two.astype(np.float64), numbers), "float32"),
        ((x, two, numbers.astype(np.int32)), "int64"),
        ((x, two[..., :1], numbers), "one shape"),
        ((x, two[:1], numbers[:1]), "positions"),
        ((x, two[..., :0], numbers[..., :0]), "1 to 4"),
        ((x, np.zeros((2, 3, 5), np.float32), np.zeros((2, 3, 5), np.int64)), "1 to 4"),
        ((x, two, numbers, 1), "1 to 1"),
        ((x, two, numbers, 5), "5 channels"),
        ((x, two, frozen), "one shape"),
        ((x, x[..., :2], numbers), "overlaps x"),
        ((x, both.view(np.float32)[..., ::4], both[..., ::2]), "values overlap"),
    ):
        with pytest.raises(ValueError, match=pattern):
            kernels.top_k(*arguments, backend=backend)  # type: ignore[misc]
    assert not two.any() and not numbers.any() and not both.any()
    kernels.top_k(x[:0], two[:0], numbers[:0], backend=backend)
    for arguments, keywords, pattern in (
        ((x, soft.astype(np.float64)), {}, "float32"),
        ((x, x), {}, "overlaps"),
        ((x, soft), {"scale": 2.0}, "not quantised"),
        ((x, soft), {"positions": 3}, "positions"),
        ((x, soft[..., :3]), {}, "channels"),
        ((x, soft[..., :3]), {"channels": 4}, "4 channels"),
    ):
        with pytest.raises(ValueError, match=pattern):
            kernels.softmax(*arguments, backend=backend, **keywords)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        kernels.softmax(x, soft, channels=4.0, backend=backend)  # type: ignore[arg-type]
    for arguments, keywords, pattern in (
        ((x, soft.astype(np.float64)), {}, "float32"),
        ((x, soft[..., :3]), {}, "positions"),
        ((x, soft[0]), {}, "positions"),
        ((x[:, :-1], x[:, 1:]), {}, "overlaps"),
        ((x, x[::-1]), {}, "overlaps"),
        ((windows, windows), {}, "overlaps"),
        ((still, still), {}, "overlaps"),
        ((x, soft), {"zero_point": 2.0}, "not quantised"),
        ((x, soft), {"dtype": "int8"}, "elements"),
        ((x, soft), {"positions": x.ndim}, "axes of positions"),
        ((x, soft[..., 0]), {"positions": x.ndim - 1}, "axes of positions"),
        ((x, soft[..., :3]), {"positions": x.ndim - 1}, "expected 4 channels"),
        ((x, soft), {"positions": x.ndim - 1, "channels": 9}, "9 channels"),
        ((x, x), {"positions": x.ndim - 1}, "overlaps"),
    ):
        with pytest.raises(ValueError, match=pattern):
            kernels.sigmoid(*arguments, backend=backend, **keywords)  # type: ignore[arg-type]
    for arguments, pattern in (
        ((x, 0.0), "N, C, H"),
        ((x[None], 0.0, 0), "radius"),
        ((x[None], 0.0, 1, 3), "channels"),
    ):
        with pytest.raises(ValueError, match=pattern):
            kernels.peaks(*arguments, backend=backend)  # type: ignore[misc]
    assert not out.any() and not soft.any()
    kernels.argmax(x[:0], out[:0], backend=backend)
    kernels.softmax(x[:, :0], soft[:, :0], backend=backend)
    kernels.sigmoid(x[:, :0], soft[:, :0], backend=backend)
    scalar = np.zeros((), np.float32)
    kernels.sigmoid(scalar, scalar, backend=backend)
    assert scalar == 0.5
    one = np.zeros((), np.int64)
    kernels.argmax(np.arange(5, dtype=np.uint8), one, backend=backend)
    assert one == 4
    deep = np.random.default_rng(0).integers(0, 9, (1,) * 15 + (2, 2, 2, 3)).astype(np.int8)
    where = np.zeros(deep.shape[:-1], np.int64)
    kernels.argmax(deep, where, backend=backend)
    np.testing.assert_array_equal(where, deep.argmax(-1))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "given",
    [1j, np.complex64(1), np.float32("nan"), -math.inf, 1e39, 10**309, None, "1", np.ones(1)],
    ids=str,
)
def test_scales_are_finite_real_numbers(backend: str, given: Any) -> None:
    x = np.ones((1, 2, 3, 4), np.int8)
    out = np.full(x.shape, 7, np.float32)
    options = {"scale": given, "zero_point": given}
    for kernel in (kernels.softmax, kernels.sigmoid):
        for name, value in options.items():
            with pytest.raises(ValueError, match=rf"^{name}: expected a (finite|real) number.* got "):
                kernel(x, out, backend=backend, **{name: value})
            assert (out == 7).all()
    if isinstance(given, (float, int)) and given == given:  # a limit that none, or all, are above is no mistake
        assert len(kernels.peaks(x, given, backend=backend)) == 2 * (given < 1)
    else:
        with pytest.raises(ValueError, match=r"^threshold: expected a (real )?number, got "):
            kernels.peaks(x, given, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("given", [2, np.float16(2), np.int8(2), np.array(2.0)], ids=repr)
def test_scales_of_any_real_type(backend: str, given: Any) -> None:
    x = np.array([[-1, 0, 1]], np.int8)
    out = np.zeros(x.shape, np.float32)
    kernels.sigmoid(x, out, None, given, np.int64(1), backend)
    np.testing.assert_allclose(out, 1 / (1 + np.exp(-(x.astype(float) - 1) * 2)), rtol=1e-6)
