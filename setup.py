"""Compile the kernels, for each instruction set that is asked for, with the package; setup.cfg has all the rest."""

import os
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CSRC = "npu_layout/kernels/csrc"
HEADERS = sorted(glob(f"{CSRC}/**/*.h", recursive=True))
OBJECTS = f"build/objects-{sys.implementation.cache_tag}"
FLAGS = "-std=c11 -O3 -g0 -fvisibility=hidden -Wno-psabi -pthread "
FLAGS += "-falign-functions=64 -falign-loops=32"  # else a change moves loops that it is not about: up to 1.3x

# The instruction sets by what the kernel of Linux calls their parts; every x86-64 processor has base.
LEVELS = {
    "base": "",
    "sse4": "sse4_1",
    "avx2": "avx2 fma f16c",
    "avx512": "avx512f avx512bw avx512vl avx512dq avx2 fma f16c",
}


def chosen_levels(wanted):
    """NPU_LAYOUT_LEVELS: `all`, the names of some, or `native`, the one that this machine would use."""
    if wanted == "native":
        try:
            with open("/proc/cpuinfo") as file:
                has = set(next(line for line in file if line.startswith("flags")).split())
        except (OSError, StopIteration):
            return {"base"} if os.uname().machine == "aarch64" else set(LEVELS)
        return {next(level for level in reversed(LEVELS) if has >= set(LEVELS[level].split()))}
    names = set(LEVELS) if wanted in ("", "all") else set(wanted.replace(",", " ").split())
    if not names or names - set(LEVELS):
        raise SystemExit(f"NPU_LAYOUT_LEVELS={wanted!r}: expected all, native, or some of {', '.join(LEVELS)}")
    return names


BUILT = sorted(chosen_levels(os.environ.get("NPU_LAYOUT_LEVELS", "")))
LEFT_OUT = sorted(set(LEVELS) - set(BUILT))
SOURCES = [
    source
    for source in sorted(glob(f"{CSRC}/**/*.c", recursive=True))
    if not source.startswith(tuple(f"{CSRC}/simd/{level}_" for level in LEFT_OUT))
]

# The stable ABI has buffers since 3.11: from there on one binary serves the version that built it and every later one
# that has the lock. No earlier one: headers of 3.12 return None without counting it, those of 3.13 have other lengths.
LOCKED = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
STABLE = LOCKED and sys.version_info >= (3, 11)
MAJOR, MINOR = sys.version_info[:2]


class BuildInParallel(build_ext):
    """Compile the files of an extension side by side, those of simd/ first: each takes ten seconds or more.

    Their objects stay in OBJECTS, also of an editable install: tests/project/test_fuzzing.py links them again. Beside
    them is written for which instruction sets they are: for others, all are made again."""

    def finalize_options(self):
        super().finalize_options()
        self.build_temp = OBJECTS

    def build_extension(self, ext):
        compile_all, built = self.compiler.compile, os.path.join(OBJECTS, "levels")
        before = ""
        if os.path.exists(built):
            with open(built) as file:
                before = file.read()
            os.remove(built)
        self.force = self.force or before != " ".join(BUILT)

        def compile_each(sources, *arguments, **options):
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                order = sorted(sources, key=lambda source: ("/simd/" not in source, "_frames" in source))
                running = {source: pool.submit(compile_all, [source], *arguments, **options) for source in order}
                return [name for source in sources for name in running[source].result()]

        self.compiler.compile = compile_each
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_all
        os.makedirs(OBJECTS, exist_ok=True)
        with open(built, "w") as file:
            file.write(" ".join(BUILT))


setup(
    cmdclass={"build_ext": BuildInParallel},
    ext_modules=[
        Extension(
            "npu_layout.kernels._native",
            SOURCES,
            depends=HEADERS,
            # No fused multiply-add: every backend gives the same bits.
            extra_compile_args=[*FLAGS.split(), "-ffp-contract=off"],
            extra_link_args=["-pthread"],
            define_macros=[
                *([("Py_LIMITED_API", f"0x{MAJOR:02X}{MINOR:02X}0000")] if STABLE else []),
                *[(f"NPU_LAYOUT_WITHOUT_{level.upper()}", None) for level in LEFT_OUT],
            ],
            py_limited_api=STABLE,
            include_dirs=[CSRC],
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": f"cp{MAJOR}{MINOR}"}} if STABLE else {},
)
