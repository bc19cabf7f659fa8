"""The suite against an installed wheel, on each Python that is found, for the session `matrix` of noxfile.py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from _suite import environment, parts
from _venv import check_cv2

OLDEST = ["numpy==1.24.*", "opencv-python==4.8.*", "onnxruntime==1.17.*"]
MINORS = 9, 15  # of Python 3, the last one excluded
SUMMARY = re.compile(r"^=+ .*(?:passed|failed|error).* =+$", re.MULTILINE)


def interpreters() -> dict[str, str]:
    """A path for each version from 3.9 to 3.14 that really starts."""
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    names = [f"python3.{minor}" for minor in range(*MINORS)] + [str(p) for p in pyenv.glob("versions/3.*/bin/python")]
    found: dict[str, str] = {}
    for name in names:
        try:
            tried = subprocess.run([name, "-c", code], capture_output=True, text=True, check=False)
        except OSError:
            continue
        version, _, path = tried.stdout.strip().partition(" ")
        if version in {f"3.{minor}" for minor in range(*MINORS)}:
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
    for kernels, part in [(half, part) for half in ("native", "numpy") for part in parts(half, arguments)]:
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
