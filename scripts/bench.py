#!/usr/bin/env python3
"""`npu-layout bench`, from a checkout."""

import sys

from npu_layout.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
