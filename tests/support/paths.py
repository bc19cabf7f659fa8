"""Where things are in a checkout."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
DATA = TESTS / "data"  # buffers that real runtimes made
SAMPLES = ROOT / "samples"
