"""Outputs of another input than was said: a guess and a Decoder name the sizes that they fit, and no other."""

from __future__ import annotations

import re

import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.outputs.input_sizes import input_sizes
from tests.support.output_specs import of_shapes

Size = tuple[int, int]


def maps(size: Size, strides: tuple[int, ...], *channels: int) -> list[tuple[int, ...]]:
    return [(1, n, size[0] // s, size[1] // s) for s in strides for n in channels]


def cells(size: Size, anchors: int = 1) -> int:
    return sum(anchors * (size[0] // s) * (size[1] // s) for s in (8, 16, 32))


@pytest.mark.parametrize(
    ("shapes", "said", "real"),
    [
        (maps((640, 640), (8, 16, 32), 64, 80), (320, 320), (640, 640)),
        (maps((384, 640), (8, 16, 32), 64, 80), (640, 384), (384, 640)),
        (maps((416, 416), (8, 16, 32), 255), (640, 640), (416, 416)),
        (maps((1280, 1280), (8, 16, 32, 64), 32, 80), (640, 640), (1280, 1280)),
        ([(1, 84, cells((640, 640)))], (416, 416), (640, 640)),
        ([(1, cells((416, 416), 3), 85)], (640, 640), (416, 416)),
        ([(1, 84, cells((384, 640)))], (640, 640), (384, 640)),
        ([(1, 84, cells((288, 512)))], (576, 1024), (288, 512)),
        ([(1, cells((320, 320)), 4), (1, cells((320, 320)), 80)], (640, 640), (320, 320)),
    ],
    ids=str,
)
def test_the_size_is_named(shapes: list[tuple[int, ...]], said: Size, real: Size) -> None:
    specs = of_shapes(shapes)
    found = decode.guess(specs, said)
    assert found.head is None
    words = re.search(r"; these outputs fit an input of ([0-9x or]+): decode\.guess\(specs, (.*?)\), or", found.why)
    assert words is not None, found.why
    assert words[1].split(" or ")[0] == f"{real[0]}x{real[1]}" and words[2] == str(real)
    for one in words[1].split(" or "):  # each of them is true
        rows, columns = map(int, one.split("x"))
        assert decode.guess(specs, (rows, columns)).others, one
    assert "these outputs fit" not in decode.guess(specs, real).why


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(1, 1000)], (224, 224)),
        ([(1, 21, 65, 65)], (513, 513)),
        ([(1, 21, 64, 64)], (512, 512)),  # a single map could be anything
        ([(1, 19, 46, 46), (1, 38, 46, 46)], (368, 368)),
        ([(1, 77, 13, 13), (1, 91, 26, 26)], (640, 640)),
        ([(1, 84, 8399)], (640, 640)),
    ],
    ids=str,
)
def test_no_size_is_made_up(shapes: list[tuple[int, ...]], said: Size) -> None:
    assert "these outputs fit an input" not in decode.guess(of_shapes(shapes), said).why


def of_heads() -> dict[str, tuple[decode.Head, list[tuple[int, ...]], Size, Size]]:
    """Heads, the outputs of an input, another size that is said, and the real one."""
    wide = sum(9 * -(-384 // s) * -(-640 // s) for s in (8, 16, 32, 64, 128))
    return {
        "YOLOv8": (decode.yolov8(80), [(1, 84, 8400)], (320, 320), (640, 640)),
        "YOLOv8, sides exchanged": (decode.yolov8(80), [(1, 84, cells((288, 512)))], (576, 1024), (288, 512)),
        "YOLOv5": (decode.yolov5(80), [(1, 25200, 85)], (416, 416), (640, 640)),
        "two lists": (decode.ppyoloe(80), [(1, 8400, 4), (1, 8400, 80)], (320, 320), (640, 640)),
        "masks": (decode.yolov8(80, coefficients=32), [(1, 116, 2100), (1, 32, 80, 80)], (640, 640), (320, 320)),
        "points beside maps": (
            decode.yolov8(1, keypoints=17, activation="sigmoid"),
            [*maps((640, 640), (8, 16, 32), 65), (1, 17, 3, 8400)],
            (320, 320),
            (640, 640),
        ),
        "five levels, nine anchors": (decode.retinanet(80), [(1, wide, 4), (1, wide, 80)], (640, 640), (384, 640)),
        "priors": (decode.retinaface(), [(1, 4200, 4), (1, 4200, 2), (1, 4200, 10)], (640, 640), (320, 320)),
        "four levels": (decode.yolov8(3, (8, 16, 32, 64)), [(1, 7, 34000)], (640, 640), (1280, 1280)),
    }


@pytest.mark.parametrize("name", of_heads())
def test_a_decoder_names_the_size(name: str) -> None:
    head, shapes, said, real = of_heads()[name]
    specs = of_shapes(shapes)
    with pytest.raises(nl.LayoutError) as caught:
        decode.Decoder(head, specs, said)
    words = re.search(r"; these outputs fit an input of (.*), not (\(.*?\))$", str(caught.value))
    assert words is not None, caught.value
    assert words[2] == str(said) and words[1].startswith(str(real)), words[0]
    sizes = re.findall(r"\((\d+), (\d+)\)", words[1])
    assert 1 <= len(sizes) <= 4
    for rows, columns in sizes:  # each of them is true
        decode.Decoder(head, specs, (int(rows), int(columns)))


@pytest.mark.parametrize(
    ("head", "shapes", "said"),
    [
        (decode.yolov8(79), [(1, 84, 8400)], (320, 320)),  # of other classes
        (decode.yolov8(80), [(1, 25200, 85)], (640, 640)),  # of YOLOv5: as many cells as YOLOv8 has at 960x1280
        (decode.yolov8(80), [(1, 84, 8399)], (640, 640)),
        (decode.ssd([(0.5, 0.5, 0.1, 0.1)] * 336, 3), [(1, 336, 4), (1, 336, 5)], (64, 64)),  # of any input
        (decode.ssd_postprocessed(90), [(1, 10, 4), (1, 10)], (300, 300)),
    ],
    ids=lambda given: given.name if isinstance(given, decode.Head) else None,
)
def test_a_decoder_makes_no_size_up(head: decode.Head, shapes: list[tuple[int, ...]], said: Size) -> None:
    words = r"; decode\.guess\(specs, \(\d+, \d+\)\), or `npu-layout .*` without --head, names the heads that they fit$"
    with pytest.raises(nl.LayoutError, match=words):
        decode.Decoder(head, of_shapes(shapes), said)


def last(*shapes: tuple[int, ...]) -> list[nl.TensorSpec]:
    return [nl.TensorSpec(shape, name=f"y{i}") for i, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    ("head", "shapes"),
    [
        (decode.yolov8(80), [(1, s, s, n) for s in (80, 40, 20) for n in (64, 80)]),
        (decode.yolov5(80), [(1, s, s, 255) for s in (80, 40, 20)]),
        (decode.yolov5(80), [(1, s, s, 255) for s in (20, 40, 80)]),
    ],
)
def test_a_decoder_says_that_channels_may_be_last(head: decode.Head, shapes: list[tuple[int, ...]]) -> None:
    """Shapes as Hailo and TFLite list them, without letters: they were said to fit no head."""
    words = (
        rf"; they fit if their order is N, H, W, C: .* TensorSpec\.of_storage\({re.escape(str(shapes[0]))}, 'NHWC', "
    )
    with pytest.raises(nl.LayoutError, match=words):
        decode.Decoder(head, last(*shapes), (640, 640))
    decode.Decoder(head, [nl.TensorSpec.of_storage(shape, "NHWC") for shape in shapes], (640, 640))
    with pytest.raises(nl.LayoutError, match="names the heads that they fit"):
        decode.Decoder(decode.yolov8(79), last(*shapes), (640, 640))


@pytest.mark.parametrize(
    ("head", "channels", "strides", "said", "real"),
    [
        (decode.yolov8(80), (64, 80), (8, 16, 32), (320, 320), (640, 640)),
        (decode.yolov8(80), (144,), (8, 16, 32), (640, 384), (384, 640)),
        (decode.yolov5(80), (255,), (8, 16, 32), (640, 640), (416, 416)),
        (decode.fastestdet(80), (85,), (16,), (320, 320), (352, 352)),  # as NCHW they are 22x85 cells of 22 channels
        (decode.yolov2(80), (425,), (32,), (320, 320), (416, 416)),
    ],
    ids=str,
)
def test_a_decoder_names_the_order_and_the_size(
    head: decode.Head, channels: tuple[int, ...], strides: tuple[int, ...], said: Size, real: Size
) -> None:
    """Both were wrong: the message said neither, or of a single map the size of an input that nobody has."""
    shapes = [(1, real[0] // s, real[1] // s, n) for s in strides for n in channels]
    words = f"; they fit if the input is {real}, not {said}, and if their order is N, H, W, C: then say so, "
    with pytest.raises(nl.LayoutError) as error:
        decode.Decoder(head, of_shapes(shapes), said)
    assert str(error.value).endswith(f"{words}TensorSpec.of_storage({shapes[0]}, 'NHWC', ...)")
    decode.Decoder(head, [nl.TensorSpec.of_storage(shape, "NHWC", name=f"y{shape}") for shape in shapes], real)
    if len(strides) > 1:  # a single map could be anything
        guess = decode.guess(of_shapes(shapes), said).why
        rows, columns = real
        command = f"`npu-layout decode RECORDING --input {rows}x{columns}` without --head"
        words = f"then they fit an input of {rows}x{columns}, and decode.guess(specs, {real}), or {command}, says which"
        assert words in guess
    with pytest.raises(nl.LayoutError) as error:  # of another number of classes no order and no size is the right one
        decode.Decoder(decode.yolov8(3), of_shapes(shapes), said)
    assert "they fit if" not in str(error.value)


def test_a_decoder_says_that_the_first_axis_may_have_the_anchors() -> None:
    """Scripts for YOLOv5 on RKNN reshape its outputs to (3, 85, H, W): they were said to be a batch alone."""
    shapes = [(3, 85, s, s) for s in (80, 40, 20)]
    words = r"a batch of 3; .*; they fit if their first axis has the anchors: .* TensorSpec\(\(1, 3, 85, 80, 80\), 'NC"
    with pytest.raises(nl.LayoutError, match=words):
        decode.Decoder(decode.yolov5(80), last(*shapes), (640, 640))
    decode.Decoder(decode.yolov5(80), [nl.TensorSpec((1, *shape), "NCDHW") for shape in shapes], (640, 640))
    with pytest.raises(nl.LayoutError, match=r"a batch of 3; .*buffer\.reshape\(3, -1\)\[i\]$"):
        decode.Decoder(decode.yolov5(79), last(*shapes), (640, 640))


def test_prototypes_alone_may_have_channels_last() -> None:
    specs = [nl.TensorSpec((1, 116, 8400), "NCW"), nl.TensorSpec((1, 160, 160, 32))]
    with pytest.raises(nl.LayoutError, match=r"say so, TensorSpec\.of_storage\(\(1, 160, 160, 32\), 'NHWC', \.\.\.\)$"):
        decode.Decoder(decode.yolov8(80, coefficients=32), specs, (640, 640))


@pytest.mark.parametrize(
    ("head", "shapes"),
    [
        (decode.yolov8(80, (8, 16)), maps((640, 640), (8, 16, 32), 64, 80)),  # a level too many
        (decode.centernet_head(80), maps((640, 640), (8, 16, 32), 64, 80)),
        (decode.ssd_postprocessed(90), [(1, 1, 100, 7)]),  # rows of DetectionOutput
    ],
)
def test_maps_that_are_not_those_of_the_head_name_no_input(head: decode.Head, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(nl.LayoutError, match=r"names the heads that they fit$"):
        decode.Decoder(head, last(*shapes), (640, 640))


def test_a_batch_is_refused_without_a_word_on_heads() -> None:
    with pytest.raises(nl.LayoutError, match=r"a batch of 2; a Decoder .* buffer\.reshape\(2, -1\)\[i\]$"):
        decode.Decoder(decode.yolov8(80), [nl.TensorSpec((2, 84, 8400), "NCW")], (640, 640))


def test_sizes_of_the_same_form_come_first() -> None:
    assert list(input_sizes(of_shapes([(1, 84, cells((384, 640)))]), (640, 640)))[:2] == [(384, 640), (640, 384)]
    assert next(input_sizes(of_shapes(maps((96, 160), (8,), 64)), (640, 640))) == (48, 80)
    assert (640, 640) not in input_sizes(of_shapes(maps((640, 640), (8, 16), 64)), (640, 640))


def test_the_finest_of_four_levels_of_8_bins() -> None:
    """YOLOv8 with P6 and reg_max 8 is among what eight maps can be, beside NanoDet-Plus and PicoDet."""
    specs = of_shapes(maps((640, 640), (8, 16, 32, 64), 32, 80))
    found = decode.guess(specs, (640, 640))
    heads = [(head.name, head.strides, head.forms[0].boxes.bins) for head in found.others]
    assert ("yolov8", (8, 16, 32, 64), 8) in heads and ("nanodet", (8, 16, 32, 64), 8) in heads
    assert decode.yolov8(80, (8, 16, 32, 64), bins=8) in found.others and "YOLOv8 with P6 and bins=8" in found.why


def test_the_map_of_prototypes_is_none_of_the_levels() -> None:
    """It has the most cells. The head has 79 classes, not 80, so that no size of the input makes the outputs fit."""
    specs = [nl.TensorSpec((1, channels, n, n)) for channels, n in ((176, 40), (176, 20), (176, 10), (32, 80))]
    with pytest.raises(nl.LayoutError, match=r"maps of 40x40, 20x20, 10x10 cells belong to an input of \(320, 320\)"):
        decode.Decoder(decode.yolov8(79, coefficients=32), specs, (640, 640))
