"""Print how near both orders of resizing NV12 are to the picture that it was made of (docs/frames.md has the table).

Pictures are rendered with a color for each pixel, then U and V become the means of 2 x 2 pixels, as cameras deliver
them. What is compared is the resized picture, with the one that INTER_LINEAR makes of the original.
"""

from __future__ import annotations

import cv2
import numpy as np

import npu_layout as nl

SIZES = (  # frame, result
    ((1920, 1080), (640, 360)),
    ((1280, 720), (640, 360)),
    ((3840, 2160), (640, 360)),
    ((640, 480), (320, 240)),
    ((1280, 720), (224, 224)),
    ((320, 240), (224, 224)),
    ((1600, 1200), (640, 480)),
    ((640, 480), (640, 480)),
)


def clouds(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    """Return noise of every scale, in three channels that are alike: as smooth as landscapes are."""
    width, height = size_wh
    picture = np.zeros((height, width, 3), np.float32)
    for octave in range(1, 9):
        cells = rng.normal(0, 1, (2 + 2**octave * height // width, 2 + 2**octave, 3)).astype(np.float32)
        cells = 0.6 * cells.mean(2, keepdims=True) + 0.4 * cells
        picture += cv2.resize(cells, size_wh, interpolation=cv2.INTER_CUBIC) * 0.55**octave
    low, high = np.percentile(picture, (1, 99))
    return np.clip((picture - low) / (high - low) * 255, 0, 255).astype(np.uint8)


def shapes(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    """Return colored circles, bars and letters on the clouds: edges of brightness and of color."""
    picture = clouds(rng, size_wh)
    width, height = size_wh
    for _ in range(60):
        color = [int(c) for c in rng.integers(0, 256, 3)]
        x, y = int(rng.integers(width)), int(rng.integers(height))
        size = int(rng.integers(width // 80, width // 10))
        cv2.circle(picture, (x, y), size // 2, color, -1, cv2.LINE_AA)
        cv2.line(picture, (y, x), (x, y), color, max(1, size // 30), cv2.LINE_AA)
        cv2.putText(
            picture, "Npu 64", (x, y), cv2.FONT_HERSHEY_SIMPLEX, size / 40, color[::-1], max(1, size // 30), cv2.LINE_AA
        )
    return picture


def as_nv12(bgr: np.ndarray) -> np.ndarray:
    """Return a picture in BT.601, limited range, U and V as means of 2 x 2 pixels."""
    b, g, r = (bgr[..., c].astype(np.float64) for c in range(3))
    y = 16 + (65.481 * r + 128.553 * g + 24.966 * b) / 255
    chroma = (-37.797 * r - 74.203 * g + 112 * b) / 255 + 128, (112 * r - 93.786 * g - 18.214 * b) / 255 + 128
    halves = [(c[::2, ::2] + c[1::2, ::2] + c[::2, 1::2] + c[1::2, 1::2]) / 4 for c in chroma]
    uv = np.stack(halves, axis=2).reshape(len(bgr) // 2, -1)
    return np.clip(np.rint(np.concatenate([y, uv])), 0, 255).astype(np.uint8)


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    """Return decibels over 255."""
    return float(10 * np.log10(255**2 / np.mean((a.astype(np.float64) - b) ** 2)))


def main() -> None:
    """Print a row for each size."""
    print("| frame | result | exact | planes | half chroma | planes against exact |\n|---|---|---:|---:|---:|---:|")
    for size_wh, result_wh in SIZES:
        found = []
        for render in (clouds, shapes):
            bgr = render(np.random.default_rng(1), size_wh)
            frame, truth = as_nv12(bgr), cv2.resize(bgr, result_wh) if size_wh != result_wh else bgr
            target = nl.TensorSpec((1, 3, *result_wh[::-1]), "NHWC", "uint8")
            made = [
                nl.Preprocessor(target, source="NV12", resize="stretch", color="BGR", yuv=yuv)(frame)[0][0]
                for yuv in ("exact", "planes")
            ]
            made.append(half_chroma(frame, size_wh, result_wh))
            found.append([*(psnr(m, truth) for m in made), psnr(made[1], made[0])])
        cells = [", ".join(f"{row[k]:.1f}" for row in found) for k in range(4)]
        print(f"| {size_wh[0]}x{size_wh[1]} | {result_wh[0]}x{result_wh[1]} | {' | '.join(cells)} |")


def half_chroma(frame: np.ndarray, size_wh: tuple[int, int], result_wh: tuple[int, int]) -> np.ndarray:
    """Return what resizing NV12 as NV12, then cvtColor, makes: U and V to half the result."""
    y, uv = frame[: size_wh[1]], frame[size_wh[1] :].reshape(size_wh[1] // 2, -1, 2)
    small = cv2.resize(y, result_wh), cv2.resize(uv, (result_wh[0] // 2, result_wh[1] // 2))
    return cv2.cvtColorTwoPlane(*small, cv2.COLOR_YUV2BGR_NV12)


if __name__ == "__main__":
    main()
