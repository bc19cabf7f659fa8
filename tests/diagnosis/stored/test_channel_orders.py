"""Channels in another order."""

from __future__ import annotations

import time

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Situation, diagnose
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.stored import channel_orders as module
from npu_layout.diagnosis.stored.channel_orders import channel_orders, exchange_pairs, in_their_places
from tests.support.boards import CHANNELS, Board, same


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_channel_order(board: Board) -> None:
    rng = np.random.default_rng(0)
    swapped = np.arange(CHANNELS)
    swapped[[3, 11]] = 11, 3
    for order in (np.roll(np.arange(CHANNELS), 1), np.arange(CHANNELS)[::-1], rng.permutation(CHANNELS), swapped):
        output = board.verdict(board.recording(None, board.changed(lambda y, order=order: y[:, order])))
        assert output.verdict == "channel_order", str(output)
        read = board.spec.unpack(board.changed(lambda y, order=order: y[:, order])[0]["maps"])[:, output.fix]
        assert np.abs(read - board.answers[0]["maps"]).max() < 0.02 * np.ptp(board.answers[0]["maps"])


def test_where_no_channel_moved_there_is_no_trial(board: Board) -> None:
    for outputs, moved in ((None, 0), (board.changed(lambda y: y[:, ::-1]), 1)):
        given = outputs or board.packed(board.spec)
        references = [a["maps"] for a in board.answers]
        evidence = Evidence(board.spec, [o["maps"] for o in given], references, (), 1)
        assert len(list(channel_orders(evidence))) == moved


def test_what_some_places_prove_holds_at_all() -> None:
    """Noise of any size, channels that are alike, and exchanged ones: what is proven is what all places say."""
    rng, proven = np.random.default_rng(4), 0
    for _ in range(300):
        channels = int(rng.integers(2, 12))
        wanted = rng.standard_normal((channels, 320)) * rng.uniform(0.01, 3, (channels, 1))
        if rng.random() < 0.3:
            wanted[0] = wanted[1] * (1 + 0.1 * rng.random())
        real = wanted + rng.choice([0.0, 0.01, 0.3, 1.0]) * rng.standard_normal(wanted.shape)
        moved = rng.random() < 0.4
        real = real[rng.permutation(channels)] if moved else real
        if in_their_places(real, wanted):
            proven += 1
            cost = np.square(real[:, None] - wanted[None]).sum(-1)
            own = np.diagonal(cost)
            np.fill_diagonal(others := cost.copy(), np.inf)
            assert (others.min(1) >= 0.25 * own).all()  # so the cost of no cycle is below
    assert 60 < proven < 240


def _tokens(seed: int, noise: float, order: np.ndarray, alike: int) -> tuple[Evidence, np.ndarray]:
    """Tokens, of which the first `alike` hardly differ, in an order; and the order that was found."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((1, 1, 48))
    model = []
    for _ in range(6):
        x = rng.standard_normal((1, 36, 48))
        x[:, :alike] = common + 0.3 * x[:, :alike]
        model.append(x.astype(np.float32))
    spec = nl.TensorSpec((1, 36, 48), "NCW", "float32")
    device = [(x[:, order] + noise * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    evidence = Evidence(spec, [spec.pack(x) for x in device], model, (), 1)
    found = next(channel_orders(evidence), None)
    return evidence, np.arange(36) if found is None else np.asarray(found.order)


@pytest.mark.parametrize("seed", range(4))
def test_channels_that_are_alike_are_sorted_if_others_are_clearly_moved(seed: int) -> None:
    backwards = np.arange(36)[::-1].copy()
    assert (_tokens(seed, 0.18, backwards, 36)[1] == backwards).all()
    swapped = np.arange(36)
    swapped[[0, 1, 30, 33]] = 1, 0, 33, 30  # two that are alike, two that are not
    assert (_tokens(seed, 0.18, swapped, 8)[1] == swapped).all()
    swapped[[0, 1]] = 0, 1
    found = _tokens(seed, 0.6, swapped, 8)[1]  # of noise that makes others of those that are alike
    assert (found == swapped).all(), found


@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
def test_noise_moves_no_channel_that_is_like_another(noise: float) -> None:
    for seed in range(4):
        assert (_tokens(seed, noise, np.arange(36), 36)[1] == np.arange(36)).all()


def exchanged_by_the_rule(cost: np.ndarray, best: np.ndarray) -> list[int]:
    """The pair that saves most, again and again, all pairs looked at."""
    order = best.tolist()
    for _ in order:
        pairs = [
            (cost[i, order[i]] + cost[j, order[j]] - cost[i, order[j]] - cost[j, order[i]], i, j)
            for i in range(len(order))
            for j in range(i)
        ]
        saved, i, j = max(pairs, default=(0.0, 0, 0))
        if saved <= 1e-9 * max(cost[i, order[i]] for i in range(len(order))):
            break
        order[i], order[j] = order[j], order[i]
    return order


@pytest.mark.parametrize("channels", [1, 2, 3, 7, 20])
def test_exchanges_are_those_of_the_rule(channels: int) -> None:
    rng = np.random.default_rng(channels)
    for _ in range(20):
        cost, best = rng.uniform(1, 2, (channels, channels)), rng.permutation(channels)
        expected = exchanged_by_the_rule(cost, best)
        exchange_pairs(cost, best)
        assert best.tolist() == expected


def test_two_thousand_channels_that_are_alike_take_no_time() -> None:
    """Each exchange changes two rows: trying all pairs again took 23 seconds."""
    rng = np.random.default_rng(0)
    cost, best = rng.uniform(1, 2, (2000, 2000)), rng.permutation(2000)
    start = time.process_time()
    exchange_pairs(cost, best)
    assert time.process_time() - start < 5
    assert sorted(best) == [*range(2000)]


@pytest.mark.parametrize("own", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_another_network_is_no_order_of_channels_that_are_alike(seed: int, own: float) -> None:
    """Most of each channel is one map, as in networks of random weights: the nearest channels match by chance."""
    rng = np.random.default_rng(seed)
    shape = (1, 64, 12, 12)
    of_model, of_device = rng.uniform(-0.8, 0.8, (2, 64, 1, 1))
    model, device = [], []
    for _ in range(6):
        common, other = rng.standard_normal((2, 1, 1, 12, 12))
        for angles, outputs in ((of_model, model), (of_device, device)):
            noise = own * rng.standard_normal(shape)
            outputs.append((np.cos(angles) * common + np.sin(angles) * other + noise).astype(np.float32))
    assert verdict(model, device)[0] in ("mismatch", "ambiguous")
    moved = rng.permutation(64)
    found = verdict(model, [(x + 0.3 * own * rng.standard_normal(shape))[:, moved] for x in model])
    assert found == ("channel_order", np.argsort(moved).tolist())


@pytest.mark.parametrize("db", [8, 12, 16])
@pytest.mark.parametrize("channels", [2, 4])
def test_few_channels_that_are_alike(channels: int, db: float) -> None:
    """Of which half is one map: a few have few orders, so that noise of their own size does not hide theirs."""
    rng = np.random.default_rng(channels)
    model = []
    for _ in range(4):
        common, own = rng.standard_normal((1, 1, 20, 24)), rng.standard_normal((1, channels, 20, 24))
        model.append((0.6 * common + 0.8 * own).astype(np.float32))
    device = [x[:, ::-1] + np.std(x) * 10 ** (-db / 20) * rng.standard_normal(x.shape) for x in model]
    assert verdict(model, device) == ("channel_order", list(range(channels))[::-1])


@pytest.mark.parametrize("written", ["reversed", "rotated", "interleaved"])
@pytest.mark.parametrize("seed", range(3))
def test_an_order_that_a_mistake_makes_is_proven_by_few_values(written: str, seed: int) -> None:
    """Of 36 channels with three values each; half of them constant or equal, whose own order noise would decide."""
    rng, channels = np.random.default_rng(seed), np.arange(36)
    order = {
        "reversed": channels[::-1],
        "rotated": np.roll(channels, 5),
        "interleaved": channels.reshape(4, 9).T.ravel(),
    }
    moved = order[written]
    for alike in ("none", "constant", "equal"):
        base, half = rng.standard_normal((1, 36, 12)), channels < 18
        model = [base + 0.5 * rng.standard_normal(base.shape) for _ in range(2)]
        for x in model:
            if alike == "constant":
                x[:, half] = np.linspace(-1, 1, 36)[None, half, None]
            if alike == "equal":
                x[:, half] = x[:, :1] + 0.02 * x[:, half]
        model = [x.astype(np.float32) for x in model]
        noise = [0.1 * np.std(x) * rng.standard_normal(x.shape) for x in model]
        assert _of_words(model, [x[:, moved] + e for x, e in zip(model, noise)]) == np.argsort(moved).tolist()
        for times in (1, 3, 6):
            assert _of_words(model, [x + times * e for x, e in zip(model, noise)]) is None


@pytest.mark.parametrize("written", ["reversed", "rotated", "interleaved"])
@pytest.mark.parametrize(
    ("shape", "frames", "db"), [((1, 100, 1, 1), 16, 15), ((1, 64, 2, 2), 6, 20), ((1, 90, 4, 4), 3, 15)]
)
def test_an_order_that_a_mistake_makes_but_for_one_pair(
    written: str, shape: tuple[int, ...], frames: int, db: float
) -> None:
    """Of many channels two are a small share of what varies: they, and not their share, decide."""
    rng, channels = np.random.default_rng(frames), np.arange(shape[1])
    order = {"reversed": channels[::-1], "rotated": np.roll(channels, 5), "interleaved": channels.reshape(-1, 2).T}
    moved = order[written].ravel().copy()
    moved[[7, 31]] = moved[[31, 7]]
    loud = np.where(channels % 4 == 0, 4.0, 1.0)[:, None, None]  # the pair is of those that are quiet
    model = [(loud * rng.standard_normal(shape)).astype(np.float32) for _ in range(frames)]
    noise = [loud * 10 ** (-db / 20) * rng.standard_normal(shape) for _ in range(frames)]
    device = [(x + e)[:, moved] for x, e in zip(model, noise)]
    assert verdict(model, device) == ("channel_order", np.argsort(moved).tolist())
    for times in (1, 4):
        assert verdict(model, [x + times * e for x, e in zip(model, noise)])[1] is None


def _of_words(model: list[np.ndarray], device: list[np.ndarray]) -> list[int] | None:
    """Return the order of the channels in axis 1; None if no cause is named."""
    spec = nl.TensorSpec(model[0].shape, "NCW", "float32")
    buffers = [spec.pack(y.astype(np.float32)) for y in device]
    found = Evidence(spec, buffers, model, (), 1)
    situation = Situation("y", range(len(model)), {"y": model}, {"y": spec}, ())
    judgement = diagnose(found, situation, True, None)[1]
    assert judgement.verdict in ("channel_order", "match", "ambiguous", "mismatch"), judgement
    return list(judgement.fix) if judgement.verdict == "channel_order" else None


def verdict(model: list[np.ndarray], device: list[np.ndarray]) -> tuple[str, list[int] | None]:
    """Return the verdict on float32 outputs, and the fix of an order of channels."""
    shape = model[0].shape
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    frames = [({"x": x}, {"y": spec.pack(y.astype(np.float32))}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same(shape)).outputs["y"]
    return output.verdict, list(output.fix) if output.verdict == "channel_order" else None


@pytest.mark.parametrize("count", [4096, 4097])
def test_so_many_channels_are_not_compared_with_each_other(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of 32,000 words has a thousand million distances."""
    asked: list[int] = []
    monkeypatch.setattr(module, "_assigned", lambda evidence, axis, least: asked.append(axis))
    references = [np.random.default_rng(k).standard_normal((1, count)).astype(np.float32) for k in range(20)]
    spec, noisy = nl.TensorSpec((1, count), "NC"), [1.1 * r.ravel() for r in references]
    assert list(channel_orders(Evidence(spec, noisy, references, (), 1))) == []
    assert asked == ([1] if count == 4096 else [])
    exact = Evidence(spec, [r.ravel() for r in references], references, (), 1)  # no other order explains more
    assert list(channel_orders(exact)) == [] and len(asked) <= 1
