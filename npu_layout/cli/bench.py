"""npu-layout bench: compare this library with memcpy and with other libraries."""

from ..bench import benchmark

add_options = benchmark.add_options
run = benchmark.run
