"""A small pipeline in channels-last memory that loses it three times, and the same with the three calls fixed.

    npu-layout track samples/lost_layout.py           # finds the lines marked below, and what to write instead
    npu-layout track samples/lost_layout.py --kept

Four frames become a batch with the axes (N,C,H,W) that is stored as NHWC, the order in which cameras deliver and most
accelerators read. Both ways return the same values; they differ only in the memory, and in the time for moving it.
"""

from __future__ import annotations

import argparse

import cv2
import numpy as np

import npu_layout as nl

MEAN = np.array([123.7, 116.3, 103.5], np.float32).reshape(3, 1, 1)


def batch() -> nl.Tensor:
    """(4,3,48,64) float32 in NHWC, made of four frames (48,64,3)."""
    frames = np.random.default_rng(0).integers(0, 256, (4, 48, 64, 3), np.uint8)
    return nl.Tensor(frames.transpose(0, 3, 1, 2), "NHWC").astype(np.float32)


def lossy(x: nl.Tensor) -> tuple[np.ndarray, np.ndarray]:
    centred = np.ascontiguousarray(x - MEAN)  # lost: contiguous in numpy's sense is NCHW
    bright = cv2.max(x, x.mean(axis=(2, 3), keepdims=True) + np.zeros_like(x))  # lost: cv2 copies both to NCHW
    mask = np.roll(x.max(axis=1, keepdims=True) > 250, 1, axis=3)  # lost: with one channel the strides do not show it
    return np.where(mask, centred, 0), bright


def kept(x: nl.Tensor) -> tuple[np.ndarray, np.ndarray]:
    centred = nl.asformat(x - MEAN, "NHWC")
    limit = x.mean(axis=(2, 3), keepdims=True) + np.zeros_like(x)
    pixels = cv2.max(x.transpose(0, 2, 3, 1), limit.transpose(0, 2, 3, 1))  # N,H,W,C: a view
    bright = nl.Tensor(pixels.transpose(0, 3, 1, 2), "NHWC")
    mask = nl.Tensor(np.roll(x.max(axis=1, keepdims=True) > 250, 1, axis=3), "NHWC")
    return np.where(mask, centred, 0), bright


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", action="store_true", help="run the calls that keep the format")
    way = kept if parser.parse_args().kept else lossy
    x = batch()
    for name, y in zip(("masked", "bright"), way(x)):
        print(f"{name}: {y.shape}, mean {np.asarray(y, np.float64).mean():.6f}, stored as {nl.memory_format(y)}")


if __name__ == "__main__":
    main()
