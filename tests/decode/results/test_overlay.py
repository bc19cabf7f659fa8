"""Detections drawn on frames: what is inside and outside of boxes, masks and points."""

from __future__ import annotations

import subprocess
import sys

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode


def one(**more: object) -> decode.Detections:
    row = np.zeros(1, np.int64)
    return decode.Detections(np.float32([[40, 60, 80, 90]]), np.float32([0.5]), row, row, row, row, **more)  # type: ignore[arg-type]


def test_boxes_are_where_they_are() -> None:
    frame = np.zeros((120, 160, 3), np.uint8)
    drawn = decode.draw(frame, one(), names=["cup"])
    assert not frame.any() and drawn.any(2)[60:91, 40].all() and drawn.any(2)[90, 40:81].all()
    assert not drawn[63:88, 43:78].any() and not drawn[95:].any()
    assert not drawn[:, 135:].any()  # the label: OpenCV 4.8 writes it wider than 5
    geometry = nl.Geometry.letterbox((320, 240), (160, 120))
    large = decode.draw(np.zeros((240, 320, 3), np.uint8), one(), geometry)
    assert large.any(2)[120:181, 80].all() and not large[126:176, 86:156].any()


def test_masks_and_points() -> None:
    masks = decode.Masks([np.ones((5, 7), bool)], np.array([[50, 70]]), (120, 160))
    frame = np.full((120, 160, 3), 10, np.uint8)
    drawn = decode.draw(frame, one(masks=masks, keypoints=np.float32([[[70, 65, 0.9], [75, 80, 0.1]]])))
    changed = (drawn != 10).any(2)
    assert changed[70:75, 50:57].all() and not changed[76:79, 50:57].any()
    assert changed[65, 70] and not changed[80, 75]
    points = np.float32([[[10, 10, 1.0]]])  # edges: 10 times as large they are at 100, as a box that begins there
    geometry = nl.Geometry.letterbox((1600, 1200), (160, 120))
    large = decode.draw(np.zeros((1200, 1600, 3), np.uint8), one(keypoints=points), geometry).any(2)
    rows, columns = np.nonzero(large[:200, :200])
    assert (rows.min() + rows.max(), columns.min() + columns.max()) == (200, 200)


def test_masks_of_another_size_need_a_geometry() -> None:
    masks = decode.Masks([np.ones((5, 7), bool)], np.array([[50, 70]]), (120, 160))
    with pytest.raises(nl.NpuLayoutError, match=r"geometry: expected that of the frame, .* of 160x120 .* of 320x240$"):
        decode.draw(np.zeros((240, 320, 3), np.uint8), one(masks=masks))


@pytest.mark.parametrize("geometry", [None, nl.Geometry.letterbox((160, 120), (160, 120))])
def test_frames_as_cameras_deliver_them(geometry: nl.Geometry | None) -> None:
    gray = np.random.default_rng(0).integers(30, 200, (120, 160), np.uint8)
    nv12 = np.full((180, 192), 7, np.uint8)  # rows of 192 bytes; no colours
    nv12[:120, :160], nv12[120:, :160] = gray, 128
    source = nl.FrameSpec("NV12", (160, 120), strides=192)
    shown = cv2.cvtColor(np.ascontiguousarray(nv12[:, :160]), cv2.COLOR_YUV2BGR_NV12)
    expected = decode.draw(shown, one(), geometry)
    assert np.array_equal(decode.draw(nv12.tobytes(), one(), geometry, source=source), expected)
    assert (nv12[:, 160:] == 7).all()
    for frame, other in (
        (shown[..., ::-1], "RGB"),
        (cv2.imencode(".jpg", shown)[1].tobytes(), "MJPEG"),
        (gray, "GRAY"),
    ):
        drawn = decode.draw(frame, one(), geometry, source=other)
        read = {"RGB": shown, "GRAY": np.repeat(gray[..., None], 3, 2)}.get(other)
        if read is None:
            read = cv2.imdecode(np.frombuffer(frame, np.uint8), cv2.IMREAD_COLOR)
        assert np.array_equal(drawn, decode.draw(read, one(), geometry))


def test_nothing_and_bad() -> None:
    frame = np.zeros((20, 30, 3), np.uint8)
    assert np.array_equal(decode.draw(frame, one()[:0]), frame)
    far = decode.Detections(np.float32([[-1e9, np.nan, np.inf, 1e9]]), *([np.zeros(1, np.int64)] * 5))
    assert decode.draw(frame, far).shape == frame.shape
    turned = decode.Detections(np.float32([[20, 5, 10, 2]]), *([np.zeros(1, np.int64)] * 5))
    assert decode.draw(frame, turned, nl.Geometry.letterbox((30, 20), (30, 20))).any()  # x1 < x0: of negative sides
    masks = decode.Masks([np.ones((5, 7), bool)], np.array([[50, 70]]), (120, 160))
    with pytest.raises(nl.NpuLayoutError, match=r"expected one of an input of 160x120, as the masks .*, got 120x160"):
        decode.draw(frame, one(masks=masks), nl.Geometry.letterbox((30, 20), (120, 160)))
    with pytest.raises(nl.NpuLayoutError, match=r"frame: expected \(H, W, 3\) uint8"):
        decode.draw(frame[..., 0], one())
    with pytest.raises(nl.NpuLayoutError, match="frame: expected 320x240, the size of the frame that geometry"):
        decode.draw(frame, one(), nl.Geometry.letterbox((320, 240), (160, 120)))
    with pytest.raises(nl.NpuLayoutError, match=r"frame: expected a numpy array, got bytes; .* needs source="):
        decode.draw(b"", one())
    with pytest.raises(nl.NpuLayoutError, match=r"frame: expected 320x240, the size .* got 30x20"):
        decode.draw(frame[..., ::-1], one(), nl.Geometry.letterbox((320, 240), (160, 120)), source="RGB")
    with pytest.raises(nl.NpuLayoutError, match="source: expected one of BGR"):
        decode.draw(frame, one(), source="NV13")
    with pytest.raises(nl.NpuLayoutError, match="names: expected a sequence"):
        decode.draw(frame, one(), names="cup")


def test_turned_boxes_are_drawn_along_their_sides() -> None:
    frame = np.zeros((120, 160, 3), np.uint8)
    turned = np.float32([[60, 75, 40, 10, np.pi / 4]])
    drawn = decode.draw(frame, one(xywha=turned)).any(2)
    along = np.array([1, 1]) / 2**0.5
    across = np.array([-1, 1]) / 2**0.5
    for k in range(-18, 19, 4):  # the label is over the upper left end
        x, y = np.rint([60, 75] + k * along + 5 * across).astype(int)
        assert drawn[y - 1 : y + 2, x - 1 : x + 2].any()
    assert not drawn[60:91, 80].all() and not drawn[75, 60]
    geometry = nl.Geometry.letterbox((320, 240), (160, 120))
    large = decode.draw(np.zeros((240, 320, 3), np.uint8), one(xywha=turned), geometry).any(2)
    x, y = np.rint(2 * ([60, 75] + 10 * along + 5 * across)).astype(int)
    assert large[y - 2 : y + 3, x - 2 : x + 3].any() and not large[150, 120]


def test_masks_of_another_size_than_the_frame() -> None:
    specs = [nl.TensorSpec((1, 3, 38), "NCW", name="rows"), nl.TensorSpec((1, 32, 16, 24), name="prototypes")]
    decoder = decode.Decoder(decode.yolo26(3, coefficients=32), specs, (64, 96))
    rows = np.zeros((3, 38), np.float32)
    rows[0] = [5, 5, 60, 50, 0.9, 1, *[1] * 32]
    found = decoder([rows.ravel(), np.ones(32 * 16 * 24, np.float32)])
    assert decode.draw(np.zeros((64, 96, 3), np.uint8), found).any()
    with pytest.raises(nl.NpuLayoutError, match=r"geometry: .*got None for masks .* 96x64 .* 90x50"):
        decode.draw(np.zeros((50, 90, 3), np.uint8), found)


def test_names_that_are_no_text_for_opencv() -> None:
    """Half a surrogate pair, as os.fsdecode makes of bytes that are no UTF-8, ended the process."""
    code = (
        "import numpy as np, npu_layout as nl; from npu_layout import decode; "
        "spec = nl.TensorSpec((1, 1, 6), 'NCW', name='rows'); "
        "found = decode.Decoder(decode.yolo26(1), [spec], (64, 96))(np.float32([5, 5, 60, 50, 0.9, 0])); "
        "assert decode.draw(np.zeros((64, 96, 3), np.uint8), found, names=['a' + chr(0xDCFF), ]).any()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
