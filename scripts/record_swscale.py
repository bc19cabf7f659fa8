"""Record frames of FFmpeg's swscale, with PyAV: python scripts/record_swscale.py tests/data/frames/swscale_frames.npz

Each has the planes' memory as PyAV hands it out, with FFmpeg's real pitches, odd sizes and odd chroma among them, what
describes it, and the BGR that swscale makes of it. tests/frames/test_camera_stacks.py reads them.
"""

from __future__ import annotations

import sys

import av
import numpy as np

FORMATS = [
    "bgr24",
    "rgb24",
    "bgra",
    "rgba",
    "bgr0",
    "rgb0",
    "gray",
    "gray16le",
    "rgb565le",
    "nv12",
    "nv21",
    "nv16",
    "nv24",
    "yuv420p",
    "yuv422p",
    "yuv444p",
    "yuvj420p",
    "yuyv422",
    "uyvy422",
    "yvyu422",
    "p010le",
    "bayer_rggb8",
]
SIZES = ((24, 14), (19, 11))
COLORS = ((5, 1), (1, 1), (9, 1), (5, 2), (1, 2))  # AVColorSpace and AVColorRange: BT.470BG, 709, 2020; MPEG, JPEG


def scene(width: int, height: int) -> np.ndarray:
    """Return a smooth picture of many colors, in which neighbouring chroma samples are alike."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 9 + phase) * 60 + np.cos(y / 7 - phase) * 55 + 128 for phase in (0.0, 2.1, 4.2)]
    return np.clip(np.stack(waves, -1), 0, 255).astype(np.uint8)


def main(path: str) -> None:
    arrays: dict[str, np.ndarray] = {}
    for name in FORMATS:
        for width, height in SIZES:
            for colorspace, color_range in COLORS if name in ("nv12", "yuv444p") else COLORS[:1]:
                made = av.VideoFrame.from_ndarray(scene(width, height), "bgr24")
                if name.startswith("bayer"):
                    frame = av.VideoFrame(width, height, name)
                    mosaic = np.frombuffer(frame.planes[0], np.uint8).reshape(-1, frame.planes[0].line_size).copy()
                    y, x = np.mgrid[:height, :width]
                    mosaic[:height, :width] = np.take_along_axis(
                        scene(width, height), np.where(y % 2 == x % 2, np.where(y % 2, 0, 2), 1)[..., None], 2
                    )[..., 0]
                    frame.planes[0].update(mosaic.tobytes())
                else:
                    frame = made.reformat(format=name, dst_colorspace=colorspace, dst_color_range=color_range)
                frame.colorspace, frame.color_range = colorspace, color_range
                back = frame.reformat(
                    format="bgr24", src_colorspace=colorspace, src_color_range=color_range, dst_color_range=2
                )
                key = f"{name}_{width}x{height}_{colorspace}_{color_range}"
                for i, plane in enumerate(frame.planes):
                    arrays[f"{key}/plane{i}"] = np.frombuffer(plane, np.uint8)
                    arrays[f"{key}/line_size{i}"] = np.array(plane.line_size)
                arrays[f"{key}/bgr"] = back.to_ndarray()
    arrays["version"] = np.array(f"PyAV {av.__version__}, {av.library_versions}")
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
