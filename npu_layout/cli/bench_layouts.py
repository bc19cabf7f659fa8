"""npu-layout bench-layouts: measure operators and networks in every memory format."""

from ..bench import formats

add_options = formats.add_options
run = formats.run
