"""The sentences of a comparison name the layer, how far it is off, and what else the reader has to know."""

from __future__ import annotations

from collections.abc import Sequence

from npu_layout.exchange import layer_words
from npu_layout.exchange.layer_orders import StoredAs
from npu_layout.exchange.layer_records import ComparedLayer
from npu_layout.exchange.layer_words import some

PLAIN, LAST, TURNED = "NCHW of float32", "NHWC of float32", "NCWH of float32"


def worded(layers: Sequence[ComparedLayer], roots: Sequence[ComparedLayer], limit: float) -> str:
    stored = {}
    for one in layers:
        if one.layout_a:
            a, b = (StoredAs(*text.split(" of ")) for text in (one.layout_a, one.layout_b))
            stored[one.name] = a, b
    return layer_words.worded(layers, roots, limit, stored)


def layer(name: str, snr: float | None, before: float | None = 40.0, b: str = PLAIN, **more: object) -> ComparedLayer:
    verdict = "same" if snr is not None and snr >= 10 else "differs"
    why = "" if b == PLAIN else f"a is stored as NCHW, b as {b[:4]}"
    given = ComparedLayer(name, "Conv", "", verdict, snr, before, why, (1, 2, 3, 4), PLAIN, b, ("x",))
    return given._replace(**more)  # type: ignore[arg-type]


def test_no_layer_differs() -> None:
    text = worded([layer("a", 40.0), layer("b", 38.0), ComparedLayer("c", "Relu", "", "missing")], [], 10.0)
    assert text == "No layer differs: 2 of 3 tensors of the model are in both dumps."
    undecided = ComparedLayer("c", "TopK", "", "undecided")
    assert worded([layer("a", 25.0), undecided], [], 10.0) == (
        "No layer differs: 1 of 2 tensors of the model are in both dumps. Not compared: 'c'. "
        "Most is lost at 'a' (Conv): 40.0 to 25.0 dB."
    )


def test_what_is_lost_of_whole_numbers_is_no_loss() -> None:
    for dtype, is_told in (("float32", True), ("int64", False), ("uint64", False), ("bool", False)):
        counts = layer("n", 20.0)._replace(layout_a=f"NCHW of {dtype}")
        assert ("Most is lost at 'n'" in worded([layer("a", 40.0), counts], [], 10.0)) is is_told, dtype


def test_the_first_that_differs() -> None:
    sudden, grown = layer("b", 2.0, node="/b"), layer("b", 9.0, 12.0)
    assert worded([layer("a", 40.0), sudden], [sudden], 10.0).startswith(
        "The first layer that differs is 'b' (Conv, node '/b'): 2.0 dB, with 40.0 dB at its inputs."
    )
    assert "12.0 dB at its inputs: the error has grown over the layers before it." in worded([grown], [grown], 10.0)
    alone, fed = layer("b", 2.0, None, skipped=("m", "n")), layer("b", 2.0, None, op="Input")
    text = worded([alone], [alone], 10.0)
    assert "none of its inputs was compared" in text and "may also be in 'm', 'n' before it" in text
    assert "the two runs had different inputs" in worded([fed], [fed], 10.0)
    other = layer("z", 3.0)
    assert "Independently of it, 'z' differs." in worded([sudden, other], [sudden, other], 10.0)
    infinite = layer("b", None, why="b has 3 of 24 values NaN where the other is finite")
    assert "'b' (Conv): b has 3 of 24 values NaN where" in worded([infinite], [infinite], 10.0)


def test_a_layer_that_just_passes_before_the_first_that_differs() -> None:
    """A convolution of other weights passes at 10.5 dB; what follows it, with one unrelated channel, does not."""
    lost, relu = layer("a", 10.5, 44.0), layer("b", 10.1, 10.5, verdict="differs", why="channel 12 of 16 is unrelated")
    said = worded([lost, relu, layer("c", -3.0, 10.1)], [relu], 10.0)
    assert (
        "'b' (Conv): 10.1 dB (channel 12 of 16 is unrelated), with 10.5 dB at its inputs. Most is lost at 'a' (" in said
    )
    assert "Most is lost at 'a' (Conv): 44.0 to 10.5 dB." in said and "'c'" not in said
    rounded, own = layer("a", 33.0, 49.0), layer("b", 31.0, 33.0, verdict="differs", why="channel 1 of 3 is unrelated")
    assert "Most is lost" not in worded([rounded, own], [own], 10.0)
    sudden = layer("b", 2.0)
    assert "Most is lost" not in worded([layer("a", 12.0, 44.0), sudden], [sudden], 10.0)


def test_layouts_unlike_the_others() -> None:
    usual = [layer(name, 40.0, b=LAST) for name in "abc"]
    assert worded(usual, [], 10.0).endswith("in both dumps, 3 of them in another layout.")
    odd = "'t' agrees only if a is stored as NCHW, b as NCWH, unlike most of the others. If the dump does not"
    assert odd in worded([*usual, layer("t", 40.0, b=TURNED)], [], 10.0)
    assert odd in worded([layer("a", 40.0), layer("b", 40.0), layer("t", 40.0, b=TURNED)], [], 10.0)
    assert "unlike" not in worded([*usual, layer("t", 40.0)], [], 10.0)


def test_some() -> None:
    assert some("abc") == "'a', 'b', 'c'" and some("abcdef") == "'a', 'b', 'c', 'd', ..."
