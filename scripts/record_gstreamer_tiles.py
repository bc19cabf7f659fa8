"""Record GStreamer's tiled frames: python scripts/record_gstreamer_tiles.py tests/data/frames/gstreamer_tiles.npz

gst-launch-1.0's videoconvert makes NV12 in tiles of noise in NV12; with chroma-mode=none it only moves samples.
tests/frames/test_pictures.py reads the result.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FORMATS = ("NV12_4L4", "NV12_32L32", "NV12_16L32S", "NV12_8L128")
SIZES = ((76, 36), (20, 262))  # multiples of 4, so that NV12 has no pitch; of no tile


def converted(data: bytes, width: int, height: int, name: str) -> bytes:
    """Return a frame of NV12 in another format."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "in"), Path(folder, "out")
        source.write_bytes(data)
        command = (
            f"gst-launch-1.0 -q filesrc location={source} blocksize={len(data)} ! rawvideoparse format=nv12 "
            f"width={width} height={height} ! videoconvert chroma-mode=none dither=none ! video/x-raw,format={name} ! "
            f"filesink location={result}"
        )
        subprocess.run(command.split(), check=True)
        return result.read_bytes()


def main(path: str) -> None:
    """Write the .npz."""
    arrays: dict[str, np.ndarray] = {}
    for width, height in SIZES:
        linear = np.random.default_rng(0).integers(0, 256, width * height * 3 // 2).astype(np.uint8)
        arrays[f"NV12_{width}x{height}"] = linear
        for name in FORMATS:
            arrays[f"{name}_{width}x{height}"] = np.frombuffer(converted(bytes(linear), width, height, name), np.uint8)
    version = subprocess.run(["gst-launch-1.0", "--version"], capture_output=True, text=True, check=True).stdout
    arrays["version"] = np.array(version)
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
