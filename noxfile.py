"""What scripts/test runs: `scripts/test`, or `.venv/bin/nox --list` once that has made .venv.

Sessions share the environment that nox itself runs in; only `matrix` makes others. Arguments after `--` go to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
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

nox.options.sessions = ["lint", "format", "types", "imports", "tests", "numpy"]
nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False

sys.path.insert(0, str(ROOT / "scripts"))
from _sanitized import MEMORY, SanitizedCore, copy_to  # noqa: E402
from _suite import CSRC, SLOW, cores, environment, parts  # noqa: E402
from _wheels import OLDEST, from_wheel, interpreters  # noqa: E402


def module(session: nox.Session, *arguments: str, **options: object) -> None:
    session.run(sys.executable, "-m", *arguments, external=True, **options)  # type: ignore[arg-type]


def suite(session: nox.Session, kernels: str) -> None:
    env = environment(kernels)
    if SLOW:
        env["HYPOTHESIS_PROFILE"] = "slow"
    failed = False
    for part in parts(kernels, session.posargs):
        try:
            module(session, "pytest", *part, env=env)
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
def verdicts(session: nox.Session) -> None:
    """scripts/verdict_matrix.py with the arguments after `--`; without any, the whole matrix, the one of the trained
    networks, and scripts/false_alarms.py."""
    matrix, alarms = str(ROOT / "scripts" / "verdict_matrix.py"), str(ROOT / "scripts" / "false_alarms.py")
    everything = [[matrix], [matrix, "--trained", "--each", "1", "--faultless", "200"], [alarms]]
    commands = [[matrix, *session.posargs]] if session.posargs else everything
    if any([subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode for command in commands]):
        session.error("figures that are asked of the verdicts are missed")


@nox.session
def oracles(session: nox.Session) -> None:
    """The decoders against other libraries' own functions, in an environment with them."""
    from _venv import prepare

    home = ROOT / "build" / "oracles"
    home.parent.mkdir(exist_ok=True)
    prepare(home, {"test", "test-oracles"})
    files = ["tests/decode/test_other_libraries.py", "tests/decode/results/test_suppression.py"]
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
