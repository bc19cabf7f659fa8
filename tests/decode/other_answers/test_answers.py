"""Classes and text, against loops in plain numbers, in any layout and dtype."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.tensors import spanning


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "float32"])
@pytest.mark.parametrize("activation", ["none", "softmax", "sigmoid"])
@pytest.mark.parametrize("axes", ["NC", "NCHW", "NHWC", "NCHW16c"])
def test_classify(dtype: str, activation: str, axes: str) -> None:
    rng = np.random.default_rng(3)
    real = rng.normal(0, 3, (2, 37)).astype(np.float32)
    shape = (2, 37) if axes == "NC" else (2, 37, 1, 1)
    spec = nl.TensorSpec(
        shape, nl.Layout(axes, "NC" if axes == "NC" else "NCHW"), dtype, quantization=spanning(dtype, real)
    )
    buffer = spec.pack(real.reshape(shape))
    values = spec.unpack(buffer).reshape(2, 37)
    found = decode.classify(spec, buffer, 4, activation=activation)
    for row in range(2):
        scores = [float(v) for v in values[row]]
        order = sorted(range(37), key=lambda c: -scores[c])[:4]
        assert found.class_id[row].tolist() == order
        total = sum(math.exp(v) for v in scores)
        by = {"none": scores, "softmax": [math.exp(v) / total for v in scores]}
        by["sigmoid"] = [1 / (1 + math.exp(-v)) for v in scores]
        wanted = [by[activation][c] for c in order]
        np.testing.assert_allclose(found.confidence[row], wanted, rtol=1e-6)
    assert found.class_id.dtype == np.int64 and found.confidence.dtype == np.float32


def test_classify_ties_and_nan() -> None:
    spec = nl.TensorSpec((1, 5), "NC")
    found = decode.classify(spec, np.array([1, 3, np.nan, 3, 2], np.float32), 5)
    assert found.class_id.tolist() == [[1, 3, 4, 0, 2]]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "uint32", "int64", "bool"])
def test_classify_integers_without_a_scale(dtype: str) -> None:
    """The least integer of a dtype has no negative: it was the best one, and 0 of unsigned integers."""
    stored = np.array([3, 0, 7, 1, 2]).astype(dtype)
    if dtype in ("int8", "int64"):
        stored[1] = np.iinfo(dtype).min
    found = decode.classify(nl.TensorSpec((1, 5), "NC", dtype), stored, 5)
    order = sorted(range(5), key=lambda c: -int(stored[c]))
    assert found.class_id.tolist() == [order]
    assert found.confidence.tolist() == [[float(np.float32(stored[c])) for c in order]]


def test_classify_infinity() -> None:
    scores = np.float32([np.finfo(np.float32).max, np.inf, np.nan, -np.inf])
    assert decode.classify(nl.TensorSpec((1, 4), "NC"), scores, 4).class_id.tolist() == [[1, 0, 3, 2]]


def collapsed(scores: np.ndarray, alphabet: str, blank: int) -> tuple[str, list[float], list[int]]:
    """By the definition: the best class of each step, runs as one, without blanks."""
    best = [max(range(len(row)), key=lambda c: row[c]) for row in scores.tolist()]
    letters = list(alphabet)
    letters.insert(blank, "")
    text, found, steps, at = "", [], [], 0
    for number, run in itertools.groupby(best):
        if number != blank:
            text += letters[number]
            found.append(float(scores[at, number]))
            steps.append(at)
        at += len(list(run))
    return text, found, steps


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize(("blank", "time"), [(0, 1), (-1, 1), (0, 2), (2, 1)])
def test_ctc(dtype: str, blank: int, time: int) -> None:
    rng = np.random.default_rng(7)
    alphabet = "abcdeé"
    for _ in range(20):
        real = rng.random((2, 11, 7)).astype(np.float32)
        real[..., blank] += 0.4
        real[0, 3] = real[0, 2]  # a run
        given = real if time == 1 else real.transpose(0, 2, 1)
        spec = nl.TensorSpec(given.shape, "NCW", dtype, quantization=spanning(dtype, real))
        buffer = spec.pack(given)
        values = spec.unpack(buffer) if time == 1 else spec.unpack(buffer).transpose(0, 2, 1)
        for one, text in zip(values, decode.ctc(spec, buffer, alphabet, blank=blank, time=time)):
            words, scores, steps = collapsed(one, alphabet, blank % 7)
            assert (text.text, list(text.steps)) == (words, steps)
            assert list(text.scores) == scores
            assert text.confidence == pytest.approx(sum(scores) / len(scores) if scores else 0)


def test_ctc_of_one_step() -> None:
    steps = np.float32([[[0, 2, 1]], [[3, 0, 0]]])
    first, second = decode.ctc(nl.TensorSpec(steps.shape, "NHW"), steps.ravel(), "ab")
    assert (first.text, first.steps, second.text) == ("a", (0,), "")
    for shape in ((2, 1, 1, 3), (2, 3, 1, 1), (2, 1, 3, 1), (2, 1, 1, 1, 3), (2, 1, 3)):
        for time in (1, 2) if len(shape) > 3 else (1,):
            spec = nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)))
            first, second = decode.ctc(spec, steps.ravel(), "ab", time=time)
            assert (first.text, first.steps, first.scores, second.text) == ("a", (0,), (2.0,), "")


def test_ctc_of_axes_of_one_and_softmax() -> None:
    spec = nl.TensorSpec((1, 3, 1, 4), "NCHW")  # (1, T, 1, n)
    logits = np.log(np.array([[1, 7, 1, 1], [8, 1, 1, 0.5], [1, 1, 1, 7]], np.float32))
    (text,) = decode.ctc(spec, logits.ravel(), "xyz", activation="softmax")
    assert text.text == "xz" and text.scores == pytest.approx([0.7, 0.7]) and text.steps == (0, 2)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_ctc_applies_softmax_to_each_step(dtype: str) -> None:
    rng = np.random.default_rng(8)
    real = rng.normal(0, 3, (2, 30, 6)).astype(np.float32)
    spec = nl.TensorSpec(real.shape, "NCW", dtype, quantization=spanning(dtype, real))
    buffer = spec.pack(real)
    found = decode.ctc(spec, buffer, "abcde", activation="softmax")
    for text, scores in zip(found, spec.unpack(buffer).astype(float)):
        plain, _, steps = collapsed(scores, "abcde", 0)
        assert text.text == plain and list(text.steps) == steps and len(plain) > 9
        for score, step in zip(text.scores, steps):
            assert score == pytest.approx(math.exp(scores[step].max()) / sum(math.exp(v) for v in scores[step]))


def test_ctc_letters_are_texts() -> None:
    spec = nl.TensorSpec((1, 2, 3), "NCW")
    for letters in (["a", 3], [b"a", "b"], [None, "b"]):
        with pytest.raises(nl.NpuLayoutError, match="alphabet: expected text"):
            decode.ctc(spec, np.zeros(6, np.float32), letters)  # type: ignore[arg-type]


def test_bad_input() -> None:
    vector, maps, line = nl.TensorSpec((1, 4), "NC"), nl.TensorSpec((1, 3, 4, 4)), nl.TensorSpec((1, 5, 3), "NCW")
    four, step = np.zeros(4, np.float32), nl.TensorSpec((1, 1, 1, 5))
    for call, words in (
        (lambda: decode.classify(vector, four, 5), r"k: expected 1 \.\. 4"),
        (
            lambda: decode.classify(maps, np.zeros(48, np.float32)),
            "classify: .*expected the axes N and C, and others of 1$",
        ),
        (
            lambda: decode.classify(nl.TensorSpec((1, 1, 1, 9)), np.zeros(9, np.float32)),
            r"C is .*\(\(1, 1, 1, 9\), 'NHWC', ",
        ),
        (lambda: decode.classify(vector, four, activation="tanh"), "activation: expected"),
        (lambda: decode.classify(vector, np.zeros(5, np.float32), 2), "buffer has 20 bytes"),
        (lambda: decode.classify(None, four), "classify: spec: expected"),
        (lambda: decode.ctc(line, np.zeros(15, np.float32), "abc"), "alphabet: expected 2 characters, .* got 3"),
        (lambda: decode.ctc(line, np.zeros(15, np.float32), "ab", blank=3), "blank: expected a class of 3, got 3"),
        (lambda: decode.ctc(line, np.zeros(15, np.float32), "ab", time=0), "time: expected 1 or 2"),
        (lambda: decode.ctc(vector, four, "abc"), "ctc: .*expected three axes, images, time and classes"),
        (lambda: decode.ctc(maps, np.zeros(48, np.float32), "abc"), "ctc: .*; of more, the others of extent 1"),
        (
            lambda: decode.ctc(line, np.zeros(15, np.float32), "abcd"),
            "got 4, which fits the other axis: give time=1 or time=2",
        ),
        (lambda: decode.ctc(step, np.zeros(5, np.float32), "ab"), "alphabet: expected 4 characters, .* got 2"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()


@pytest.mark.parametrize("activation", ["none", "softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_ctc_takes_nan_for_no_character(dtype: str, activation: str) -> None:
    """numpy's argmax is at the first NaN: a broken step would be a character that nobody wrote."""
    nan = np.nan
    steps = np.array([[0, 3, 1], [0, 3, nan], [nan, 0, 1], [nan, nan, nan], [nan, 1, 4], [3, nan, 0]], dtype)
    spec = nl.TensorSpec((1, 6, 3), "NCW", dtype)
    (found,) = decode.ctc(spec, steps.ravel(), "ab", activation=activation)
    assert found.text == "abb" and found.steps == (0, 2, 4)
    assert np.isfinite(found.scores).all() and 0 < found.confidence <= 4
    (last,) = decode.ctc(spec, np.full(18, nan, dtype), "ab", blank=-1)
    assert last.text == "" and last.confidence == 0
