import sys
import sysconfig

from setuptools import Extension, setup

KERNELS = "npu_layout/kernels/"
SOURCES = "_native.c _reduce.c _signals.c core.c move.c convert.c divide.c pool.c reduce.c peaks.c "
SOURCES += "level_base.c level_sse4.c level_avx2.c level_avx512.c"
HEADERS = "_reduce.h _signals.h core.h reduce.h level.h vector_level.h rows_level.h few_level.h transpose_level.h "
HEADERS += "reverse_level.h channels_level.h pads_level.h arithmetic_level.h planes_level.h pixels_level.h "
HEADERS += "gray_level.h reduce_level.h top_k_level.h softmax_level.h peaks_level.h"
FLAGS = "-std=c11 -O3 -g0 -fvisibility=hidden -Wno-psabi -pthread "
FLAGS += "-falign-functions=64 -falign-loops=32"  # else a change moves loops that it is not about: up to 1.3x

# The stable ABI has buffers since 3.11: from there on one binary serves every version that has the lock.
LOCKED = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
STABLE = LOCKED and sys.version_info >= (3, 11)

setup(
    ext_modules=[
        Extension(
            "npu_layout.kernels._native",
            [KERNELS + name for name in SOURCES.split()],
            depends=[KERNELS + name for name in HEADERS.split()],
            # No fused multiply-add: every backend gives the same bits.
            extra_compile_args=[*FLAGS.split(), "-ffp-contract=off"],
            extra_link_args=["-pthread"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
