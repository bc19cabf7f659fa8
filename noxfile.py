"""What scripts/test runs: `scripts/test`, or `.venv/bin/nox --list` once that has made .venv.

Sessions share the environment that nox itself runs in; only `matrix` makes others. Arguments after `--` go to pytest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
CSRC = ROOT / "npu_layout" / "kernels" / "csrc"
SLOW = bool(os.environ.get("NPU_LAYOUT_SLOW"))
OLDEST = ["numpy==1.24.*", "opencv-python==4.8.*", "onnxruntime==1.17.*"]
RUNTIMES = {  # {environment: what is installed there, one after the other; what fails is named as not run}
    "all": [
        "openvino nncf",
        "onnxruntime-qnn",
        "ncnn pnnx",
        "MNN",
        "ai-edge-litert flatbuffers",
        "depthai",
        "apache-tvm",
        "torch --extra-index-url https://download.pytorch.org/whl/cpu",
        "executorch torchao",
    ],
    "rknn": [  # wants older packages than the others
        "torch --extra-index-url https://download.pytorch.org/whl/cpu",
        "--no-deps rknn-toolkit2",
        "numpy==1.26.* onnx==1.18.* protobuf==4.25.* onnxruntime==1.26.* opencv-python==4.11.*",
        "ml_dtypes<0.6 scipy psutil ruamel.yaml fast-histogram tqdm setuptools<81",
    ],
}
SUMMARY = re.compile(r"^=+ .*(?:passed|failed|error).* =+$", re.MULTILINE)

nox.options.sessions = ["lint", "format", "types", "imports", "tests", "numpy"]
nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False

sys.path.insert(0, str(ROOT / "scripts"))
from _venv import check_cv2  # noqa: E402


def module(session: nox.Session, *arguments: str, **options: object) -> None:
    session.run(sys.executable, "-m", *arguments, external=True, **options)  # type: ignore[arg-type]


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parts(chosen: list[str]) -> list[list[str]]:
    """Pytest's arguments for each part of one half. On several cores what measures time, signals or threads runs after
    the rest, with nothing beside it."""
    every = ["-m", "slow or not slow"] if SLOW else []
    if chosen or cores() == 1:
        return [[*every, *chosen]]
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    marked = [str(path.relative_to(ROOT)) for path in tests if "mark.alone" in path.read_text(encoding="utf-8")]
    return [
        [*every, "-n", str(cores()), "--dist", "worksteal", "--alone", "never"],
        [*every, "--alone", "only", *marked],  # all files take longer to collect than these tests to run
    ]


def environment(kernels: str) -> dict[str, str]:
    """What one half sets. BLAS's threads beside other processes wait for each other: half of the time of some tests.
    Bytecode is written even where the shell says otherwise: each worker, and each script that a test starts, would
    compile again what it imports."""
    threads = {"OPENBLAS_NUM_THREADS": "1"} if cores() > 1 else {}
    return {"NPU_LAYOUT_KERNELS": kernels, "PYTHONDONTWRITEBYTECODE": "", **threads}


def suite(session: nox.Session, kernels: str) -> None:
    """One half; the second one without what does not depend on kernels, unless all was asked for."""
    env = environment(kernels)
    if SLOW:
        env["HYPOTHESIS_PROFILE"] = "slow"
    second = ["--second-half"] if kernels == "numpy" and not SLOW and not session.posargs else []
    failed = False
    for part in parts(session.posargs):
        try:
            module(session, "pytest", *part, *second, env=env)
        except nox.command.CommandFailed:
            failed = True
    if failed:
        session.error(f"the suite failed with the {kernels} kernels")


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff's rules, as pyproject.toml says."""
    module(session, "ruff", "check", "--quiet", ".")


@nox.session
def format(session: nox.Session) -> None:
    """Ruff's format."""
    module(session, "ruff", "format", "--quiet", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, as setup.cfg says."""
    module(session, "mypy", "npu_layout", "_npu_layout_pytest.py")


@nox.session
def imports(session: nox.Session) -> None:
    """The contracts of import-linter in setup.cfg."""
    if sys.version_info < (3, 10):
        session.skip("import-linter needs Python 3.10")
    session.run(str(Path(sys.executable).with_name("lint-imports")), external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """The suite on the compiled kernels; it fails where they were not built."""
    suite(session, "native")


@nox.session
def numpy(session: nox.Session) -> None:
    """The suite on numpy."""
    suite(session, "numpy")


def install(session: nox.Session, what: str, missing: bool, *packages: str) -> bool:
    """Install Debian packages where that is possible; whether they are there."""
    if not missing:
        return True
    if os.geteuid() or not shutil.which("apt-get"):
        return False
    session.log(f"Installing {what} (once) ...")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = (["update"], ["install", "--yes", "--no-install-recommends", *packages])
    return all(
        subprocess.run(["apt-get", *command], stdout=subprocess.DEVNULL, env=env, check=False).returncode == 0
        for command in commands
    )


@nox.session
def slow(session: nox.Session) -> None:
    """Both halves with the slow tests, which need a browser and skip what needs an emulator where there is none."""
    global SLOW
    SLOW = True
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell"]
    browser = any(shutil.which(name) for name in [os.environ.get("CHROMIUM") or "chromium", *names])
    if not install(session, "Chromium", not browser, "chromium", "fonts-dejavu-core"):
        session.warn("chromium could not be installed")
    emulator = shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")
    packages = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"]
    if not install(session, "a compiler and an emulator for aarch64", not emulator, *packages):
        session.warn(f"aarch64 is NOT tested: needs {', '.join(packages)}")
    failed = []
    for kernels in ("native", "numpy"):
        try:
            suite(session, kernels)
        except nox.command.CommandFailed:
            failed.append(kernels)
    if failed:
        session.error(f"the slow suite failed with the {' and '.join(failed)} kernels")


def interpreters() -> dict[str, str]:
    """A path for each version from 3.9 to 3.13 that really starts."""
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    names = [f"python3.{minor}" for minor in range(9, 14)] + [str(p) for p in pyenv.glob("versions/3.*/bin/python")]
    found: dict[str, str] = {}
    for name in names:
        try:
            tried = subprocess.run([name, "-c", code], capture_output=True, text=True, check=False)
        except OSError:
            continue
        version, _, path = tried.stdout.strip().partition(" ")
        if version in {f"3.{minor}" for minor in range(9, 14)}:
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def from_wheel(away: Path, name: str, interpreter: str, pins: list[str], arguments: list[str]) -> str:
    """The suite against the installed wheel, in a folder with the rest of the sdist; the summaries of pytest."""
    home, wheels = away / name, away / "wheels"
    sdist = next((away / "sdist").glob("*.tar.gz"))
    python = str(home / "venv" / "bin" / "python")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command: str, **options: object) -> None:
        subprocess.run(command, check=True, env=env, **options)  # type: ignore[call-overload]

    def pip(*words: str, **options: object) -> None:
        run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words, **options)

    home.mkdir()
    run(interpreter, "-m", "venv", str(home / "venv"))
    run("tar", "-xzf", str(sdist), "-C", str(home), "--strip-components", "1")
    for path in [*home.glob("npu_layout/**/*.py*"), home / "_npu_layout_pytest.py"]:
        path.unlink()
    for path in home.glob("*.egg-info"):
        shutil.rmtree(path)
    pip("install", "pip>=21.3")
    wheel = ["install", "--no-index", "--no-deps", "--only-binary", ":all:", "--find-links", str(wheels), "npu-layout"]
    try:
        pip(*wheel, stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(sdist))
        pip(*wheel)
    pip("install", "npu-layout[test]", *pins)
    check_cv2(Path(python))
    code = "import npu_layout; print(*npu_layout.__path__)"
    package = subprocess.run([python, "-c", code], cwd=home, env=env, capture_output=True, text=True, check=True)
    where = package.stdout.strip()
    if not where.startswith(f"{home}/venv/"):
        raise OSError(f"npu_layout was imported from {where}, not from the wheel")
    lines = []
    failed = []
    for kernels, part in product(("native", "numpy"), parts(arguments)):
        command = [python, "-m", "pytest", "-o", f"testpaths=tests {where}", *part]
        with subprocess.Popen(
            command, cwd=home, env={**env, **environment(kernels)}, stdout=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                lines += SUMMARY.findall(line)
        if running.returncode:
            failed.append(kernels)
    if failed:
        raise OSError("\n".join([f"pytest failed with the {' and '.join(dict.fromkeys(failed))} kernels", *lines]))
    return "\n".join(lines)


@nox.session
def matrix(session: nox.Session) -> None:
    """The wheel, installed outside the checkout, on every interpreter that is found, and on the oldest packages."""
    if SLOW:
        os.environ["HYPOTHESIS_PROFILE"] = "slow"
    summary, failed = [], False
    runs: list[tuple[str, str, list[str]]] = []
    newest_first = [*interpreters().items()][::-1]  # older ones must not take a wheel of newer headers
    for version, path in newest_first:
        runs.append((version, path, []))
        if version == "3.9":
            runs.append(("oldest", path, OLDEST))
    with tempfile.TemporaryDirectory() as folder:
        module(session, "build", "--sdist", "--outdir", f"{folder}/sdist", str(ROOT), silent=True)
        for name, interpreter, pins in runs:
            print(f"\n== {name}", flush=True)
            try:
                summary.append(f"{name}: passed\n" + from_wheel(Path(folder), name, interpreter, pins, session.posargs))
            except (OSError, subprocess.CalledProcessError, SystemExit) as error:
                summary.append(f"{name}: FAILED\n{error}")
                failed = True
            shutil.rmtree(Path(folder) / name, ignore_errors=True)
    print("\n" + "\n".join(summary), flush=True)
    if failed or not runs:
        session.error("the matrix failed")


def copy_to(home: Path) -> None:
    """Copy what another core is tested with. The tests come along: pytest puts their folder before PYTHONPATH."""
    shutil.rmtree(home, ignore_errors=True)
    for name in ("npu_layout", "tests", "scripts", "docs", "samples"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "made"))
    shutil.copy(ROOT / "setup.cfg", home)


@nox.session
def emulate(session: nox.Session) -> None:
    """The tests of the compiled kernels with vectors of 64 bytes, on a machine without AVX-512: its instructions are
    those of AVX2 and loops (tests/native/emulated). The other objects are those that setup.py left."""
    home, made = ROOT / "build" / "emulated", ROOT / "build" / f"objects-{sys.implementation.cache_tag}"
    flags = (
        f"-I{ROOT / 'tests' / 'native' / 'emulated'} -I{CSRC} -std=c11 -O2 -Wno-psabi -ffp-contract=off -fPIC".split()
    )
    flags += ["-pthread", "-D__builtin_cpu_supports(name)=1"]  # the processor is said to have all
    compiler, sources = os.environ.get("CC", "gcc").split(), [*CSRC.glob("simd/avx512_*.c"), CSRC / "levels.c"]
    copy_to(home)
    others = [made / path.relative_to(ROOT).with_suffix(".o") for path in {*CSRC.rglob("*.c")} - {*sources}]
    with ThreadPoolExecutor(cores()) as pool:
        done = pool.map(lambda path: subprocess.run([*compiler, *flags, "-c", path], cwd=home, check=True), sources)
        session.log(f"compiled {len(list(done))} files; {len(others)} of setup.py's objects are linked with them")
    core = str(home / "npu_layout" / "kernels" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}")
    objects = map(str, [*others, *home.glob("*.o")])
    session.run(*compiler, "-shared", "-pthread", *objects, "-lm", "-o", core, external=True, log=False)
    session.chdir(home)
    env = {**environment("native"), "PYTHONPATH": str(home)}
    best = "from npu_layout.kernels import _native, active; assert '(avx512)' in active(), active(); "
    best += f"assert _native.__file__.startswith({str(home)!r}), _native.__file__"
    session.run(sys.executable, "-c", best, env=env, external=True, log=False)
    files = session.posargs or [
        f"tests/{wing}" for wing in ("kernels", "layouts", "buffers", "frames", "ops", "decode")
    ]
    pytest = [str(Path(sys.executable).with_name("pytest")), "-p", "no:cacheprovider", "-n", str(cores())]
    session.run(*pytest, "--alone", "never", *files, env=env, external=True)


MEMORY = "address,undefined"  # AddressSanitizer and UndefinedBehaviorSanitizer
#: Tests beside those of the kernels that run on a sanitized core.
SANITIZED = (
    "tests/buffers/test_random_conversions.py",
    "tests/project/test_fuzzing.py::test_what_the_fuzzers_found[pictures]",
    *(
        f"tests/decode/test_{room}.py"
        for room in (
            *("boundary", "decoder", "networks", "detectors", "dense", "faces", "suppression"),
            *("mask_crops", "compiling", "finishing", "gathering", "backends_agree"),
        )
    ),
    "tests/ops/test_stored_buffers.py",
    *(f"tests/frames/test_{room}.py" for room in ("gray", "fitting", "fitting_yuv", "source_formats")),
)


class SanitizedCore:
    """The core, compiled with sanitizers in a folder that has a copy of the library and its tests."""

    def __init__(self, session: nox.Session, home: Path) -> None:
        self.session, self.home, self.compiler = session, home, os.environ.get("CC", "gcc")
        flags = f"-I{CSRC} -std=c11 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -ffp-contract=off".split()
        self.flags = [*flags, "-Wno-psabi", "-pthread"]
        copy_to(home)

    def objects(self, sanitizers: str) -> list[str]:
        """Compile what knows no Python, and return the object files."""
        (self.home / sanitizers).mkdir()
        shared = [self.compiler, *self.flags, "-fPIC", f"-fsanitize={sanitizers}", "-c"]
        loops = [str(path) for path in [*sorted(CSRC.glob("*.c")), *sorted(CSRC.glob("simd/*.c"))]]
        largest = sorted(loops, key=lambda path: -os.path.getsize(path))
        with ThreadPoolExecutor(cores()) as pool:  # one file after the other takes most of an hour
            done = pool.map(
                lambda path: subprocess.run([*shared, path], cwd=self.home / sanitizers, check=True), largest
            )
            self.session.log(f"compiled {len(list(done))} files with {sanitizers}")
        return [str(path) for path in sorted((self.home / sanitizers).glob("*.o"))]

    def natively(self, name: str, sanitizers: str, compiled: list[str], *arguments: str) -> str:
        """Return what a program of tests/native prints."""
        source, program = str(ROOT / "tests" / "native" / f"{name}.c"), str(self.home / name)
        command = [self.compiler, *self.flags, f"-fsanitize={sanitizers}", source, *compiled, "-lm", "-o", program]
        self.session.run(*command, external=True)
        env = {"TSAN_OPTIONS": "die_after_fork=0"}
        return str(self.session.run(program, *arguments, env=env, silent=True, external=True)).strip()

    def link(self, compiled: list[str]) -> None:
        """Make the extension of the objects and the binding."""
        include, suffix = sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX")
        binding = [str(path) for path in sorted(CSRC.glob("binding/*.c"))]
        core = str(self.home / "npu_layout" / "kernels" / f"_native{suffix}")
        shared = [*self.flags, f"-fsanitize={MEMORY}", "-fPIC", "-shared", f"-I{include}"]
        self.session.run(self.compiler, *shared, *binding, *compiled, "-o", core, external=True)

    def environment(self) -> dict[str, str]:
        """Return the environment in which Python loads the copy, with the sanitizers' libraries before it."""
        found = [
            subprocess.run(
                [self.compiler, f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True
            ).stdout
            for name in ("asan", "ubsan")
        ]
        env = {key: value for key, value in os.environ.items() if key != "HYPOTHESIS_PROFILE"}
        env.update(PYTHONPATH=str(self.home), NPU_LAYOUT_KERNELS="native", ASAN_OPTIONS="detect_leaks=0")
        env["LD_PRELOAD"] = " ".join(map(str.strip, found))
        where = f"import importlib.util as u; assert u.find_spec('npu_layout').origin.startswith({str(self.home)!r})"
        subprocess.run([sys.executable, "-c", where], cwd="/", env=env, check=True)
        return env

    def test(self, env: dict[str, str]) -> str:
        """Run the tests, and return how many passed; the session fails if one does not, or ran on another core."""
        # Not test_concurrency: its threads and forks are for ThreadSanitizer. pytest itself, not -m pytest, which would
        # find the package here first.
        kernels = [str(p) for p in sorted(self.home.glob("tests/kernels/test_*.py")) if p.name != "test_concurrency.py"]
        pytest = [str(Path(sys.executable).with_name("pytest")), "-p", "no:cacheprovider", "-n", str(cores())]
        log, sanitized = [], False
        command = [*pytest, "--dist", "worksteal", *kernels, *SANITIZED, *self.session.posargs]
        with subprocess.Popen(command, cwd=self.home, env=env, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                log += re.findall(r"\d+ passed", line)
                sanitized |= f" in {self.home / 'npu_layout'}, kernels: native" in line
        if not sanitized:
            self.session.error("the tests did not run on the sanitized core")
        if running.returncode:
            self.session.error("the kernels' tests failed under the sanitizers")
        return str(log[-1])


@nox.session
def sanitize(session: nox.Session) -> None:
    """The kernels' tests on a core that reports every byte out of bounds and every undefined operation; threads too."""
    began, both = time.monotonic(), "AddressSanitizer and UndefinedBehaviorSanitizer"
    core = SanitizedCore(session, ROOT / "build" / "sanitize")
    compiled = core.objects(MEMORY)
    core.link(compiled)
    env = core.environment()
    passed = core.test(env)
    levels = [sys.executable, "-c", "import npu_layout.kernels as k; print(', '.join(k.backends()))"]
    names = subprocess.run(levels, cwd="/", env=env, capture_output=True, text=True, check=True)
    summary = [
        f"{both}: {passed} at {names.stdout.strip()}",
        f"{both}: {core.natively('check', MEMORY, compiled, '20000')}",
        f"{both}: {core.natively('threads', MEMORY, compiled, '100', '20')}",
        f"ThreadSanitizer: {core.natively('threads', 'thread', core.objects('thread'), '50', '20', '0')}",
    ]
    print("\n".join(summary) + f"\nin {time.monotonic() - began:.0f} s", flush=True)


@nox.session
def fuzz(session: nox.Session) -> None:
    """scripts/fuzz with the arguments after `--`."""
    session.run(str(ROOT / "scripts" / "fuzz"), *session.posargs, external=True)


@nox.session
def runtimes(session: nox.Session) -> None:
    """scripts/runtime_matrix.py with the arguments after `--`, in environments with the runtimes that install."""
    from _venv import install as pip
    from _venv import prepare

    failed = []
    for name, packages in RUNTIMES.items():
        home = ROOT / "build" / f"runtimes-{name}"
        home.parent.mkdir(exist_ok=True)
        python = home / "bin" / "python"
        first = not python.exists()
        prepare(home, {"test"})
        for package in packages if first else ():
            if not pip(python, package.split()):
                session.warn(f"{package} could not be installed")
        files = [f"tests/engines/test_{name}.py" for name in ("runtimes", "depthai", "rknn_simulator")]
        files += ["tests/exchange/test_toolchains.py"]
        tests = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
        command = [str(python), str(ROOT / "scripts" / "runtime_matrix.py"), "--group", name, *session.posargs]
        for one in (tests, command):
            if subprocess.run(one, cwd=ROOT, check=False).returncode:
                failed.append(name)
    if failed:
        session.error(f"the runtimes failed: {', '.join(failed)}")


@nox.session
def oracles(session: nox.Session) -> None:
    """The decoders against other libraries' own functions, in an environment with them."""
    from _venv import prepare

    home = ROOT / "build" / "oracles"
    home.parent.mkdir(exist_ok=True)
    prepare(home, {"test", "test-oracles"})
    files = ["tests/decode/test_other_libraries.py", "tests/decode/test_suppression.py"]
    every = [] if session.posargs else ["-m", "slow or not slow"]
    session.run(str(home / "bin" / "python"), "-m", "pytest", *files, *every, *session.posargs, external=True)


@nox.session
def mutation(session: nox.Session) -> None:
    """scripts/mutation.py with the arguments after `--`, in an environment with cosmic-ray."""
    from _venv import prepare

    home = ROOT / "build" / "mutation"
    home.parent.mkdir(exist_ok=True)
    prepare(home, {"test", "mutation"})
    session.run(str(home / "bin" / "python"), str(ROOT / "scripts" / "mutation.py"), *session.posargs, external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """scripts/docs with the arguments after `--`."""
    session.run(str(ROOT / "scripts" / "docs"), *session.posargs, external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """`npu-layout bench` with the arguments after `--`."""
    session.run(str(Path(sys.executable).with_name("npu-layout")), "bench", *session.posargs, external=True)
