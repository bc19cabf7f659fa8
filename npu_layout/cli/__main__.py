"""Run ``npu-layout`` as ``python -m npu_layout.cli``, where the scripts of an environment are not on the PATH."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
