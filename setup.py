import sys
import sysconfig
from glob import glob

from setuptools import Extension, setup

CSRC = "npu_layout/kernels/csrc"
SOURCES = sorted(glob(f"{CSRC}/**/*.c", recursive=True))
HEADERS = sorted(glob(f"{CSRC}/**/*.h", recursive=True))
FLAGS = "-std=c11 -O3 -g0 -fvisibility=hidden -Wno-psabi -pthread "
FLAGS += "-falign-functions=64 -falign-loops=32"  # else a change moves loops that it is not about: up to 1.3x

# The stable ABI has buffers since 3.11: from there on one binary serves every version that has the lock.
LOCKED = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
STABLE = LOCKED and sys.version_info >= (3, 11)

setup(
    ext_modules=[
        Extension(
            "npu_layout.kernels._native",
            SOURCES,
            depends=HEADERS,
            # No fused multiply-add: every backend gives the same bits.
            extra_compile_args=[*FLAGS.split(), "-ffp-contract=off"],
            extra_link_args=["-pthread"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            include_dirs=[CSRC],
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
