"""Make a virtual environment in the checkout with npu_layout and some of its extras: _venv.py FOLDER [EXTRA ...].

It is made once, extended where extras are asked for that it lacks, and the kernels are compiled again where their
sources changed, or where they lack the levels of NPU_LAYOUT_LEVELS (docs/kernels.md); without it these are all. Run by
an interpreter that has nothing installed: the standard library only.
"""

from __future__ import annotations

import configparser
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "npu_layout" / "kernels"
LIBRARIES = {  # what opencv-python needs and pip cannot bring
    "libGL": "opencv-python needs libGL.so.1: apt install libgl1",
    "libxcb": "opencv-python needs libxcb.so.1: apt install libxcb1",
    "libgthread": "opencv-python needs libglib-2.0.so.0: apt install libglib2.0-0",
    "libglib": "opencv-python needs libglib-2.0.so.0: apt install libglib2.0-0",
}


def die(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(2)


def digest(paths: list[Path]) -> str:
    """Names and contents of these files as one hash."""
    total = hashlib.sha256()
    for path in sorted(paths):
        data = path.read_bytes()
        total.update(f"{path.relative_to(ROOT)} {len(data)}\n".encode() + data)
    return total.hexdigest()


def install(python: Path, *lists: list[str]) -> bool:
    """Install what each list of pip's arguments says, the lists side by side; whether all could be."""
    # Bytecode is written at the first import: of sympy, which onnxruntime brings, most is never imported.
    command = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-compile"]
    running = [subprocess.Popen([*command, *arguments]) for arguments in lists]
    return not any([process.wait() for process in running])


def requirements(extras: set[str]) -> list[str]:
    """Return what setup.cfg says that the package and these extras need."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    every = [settings["options"]["install_requires"]]
    every += [settings["options.extras_require"][extra] for extra in sorted(extras)]
    return [line for lines in every for line in lines.split("\n") if line]


def check_cv2(python: Path) -> None:
    """Say which system library is missing where OpenCV does not import."""
    tried = subprocess.run([str(python), "-c", "import cv2"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return
    for library, message in LIBRARIES.items():
        if library in tried.stderr:
            die(message)
    die("opencv-python does not import: " + tried.stderr.strip().rpartition("\n")[2])


def prepare(folder: Path, extras: set[str]) -> None:
    """Bring the environment up to date; its stamp is written last, so that an interrupted one is made again."""
    interpreter = getattr(sys, "_base_executable", sys.executable)  # of an environment, which may be this very one
    python, stamp = folder / "bin" / "python", folder / ".ready.json"
    settings = [ROOT / "setup.py", ROOT / "setup.cfg", ROOT / "pyproject.toml"]
    wanted = {"python": sys.version, "prefix": sys.base_prefix, "settings": digest(settings), "root": str(ROOT)}
    sources = digest([path for path in KERNELS.glob("csrc/**/*") if path.suffix in (".c", ".h")])
    levels = os.environ.get("NPU_LAYOUT_LEVELS", "all")
    try:
        ready = json.loads(stamp.read_text())
    except (OSError, ValueError):
        ready = {}
    if not python.exists() or any(ready.get(key) != value for key, value in wanted.items()):
        print(f"Preparing {folder} (once) ...", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        for stale in KERNELS.glob("_native.*.so"):  # one of an older build would be found first
            stale.unlink()
        if subprocess.run([interpreter, "-m", "venv", str(folder)], check=False).returncode:
            die("Python's venv module does not work here. On Debian and Ubuntu: apt install python3-venv")
        done = install(python, ["pip>=21.3"])  # the first with PEP 660
        ready = {}
    elif extras <= set(ready["extras"]) and ready["sources"] == sources and ready.get("levels") in ("all", levels):
        return
    else:
        print(f"Bringing {folder} up to date ...", flush=True)
        extras = extras | set(ready["extras"])
        done = True
        stamp.unlink()
    needed = [] if ready and extras == set(ready["extras"]) else [requirements(extras)]
    package = ["--no-deps", "-e", str(ROOT)]  # its kernels are compiled while the rest arrives
    if not (done and install(python, package, *needed)):
        die("pip could not install npu_layout and what it needs; see above")
    check_cv2(python)
    stamp.write_text(json.dumps({**wanted, "sources": sources, "extras": sorted(extras), "levels": levels}))


def main(name: str, *extras: str) -> None:
    with open(ROOT / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        prepare(ROOT / name, set(extras))


if __name__ == "__main__":
    main(*sys.argv[1:])
