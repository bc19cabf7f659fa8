from setuptools import Extension, setup

KERNELS = "npu_layout/kernels/"

setup(
    ext_modules=[
        Extension(
            "npu_layout.kernels._native",
            [
                KERNELS + name
                for name in ("_native.c", "core.c", "level_base.c", "level_sse4.c", "level_avx2.c", "level_avx512.c")
            ],
            depends=[KERNELS + name for name in ("core.h", "level.h")],
            # No fused multiply-add: every backend gives the same bits.
            extra_compile_args=["-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-Wno-psabi"],
            optional=True,
        )
    ]
)
