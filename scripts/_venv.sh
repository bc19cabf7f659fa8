# Sourced by scripts/demo, scripts/docs and scripts/test: a virtual environment with the package in it, ready when its
# stamp says so.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { printf '%s\n' "$*" >&2; exit 2; }

# Sets $interpreter: the first of $PYTHON, python3, python3.13 ... python3.9 that is 3.9 or newer. Of a virtual
# environment (it may be the very one to be made) it is the interpreter underneath.
find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10 python3.9; do
        interpreter=$("$candidate" -c 'import sys
if sys.version_info >= (3, 9): print(getattr(sys, "_base_executable", sys.executable))' 2>/dev/null) || continue
        [ -n "$interpreter" ] && return
    done
    die "No Python 3.9 or newer was found. On Debian and Ubuntu: apt install python3 python3-venv"
}

# make_venv FOLDER PYTHON EXTRAS [PIN ...]: sets $python to the environment's interpreter.
make_venv() {
    local folder=$1 interpreter=$2 extras=$3
    shift 3
    local stamp wanted built sources
    stamp="$folder/.ready" built="$folder/.built"
    sources=$(cat "$root"/npu_layout/kernels/csrc/{,*/}*.[ch] | cksum)
    wanted="$("$interpreter" -c 'import sys; print(sys.version, sys.base_prefix)') $extras $* $(cat "$root"/setup.* "$root"/pyproject.toml | cksum) $root"
    python="$folder/bin/python"
    exec 9>"$folder.lock"
    if command -v flock >/dev/null; then flock 9; fi
    if [ ! -x "$python" ] || [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ]; then
        printf 'Preparing %s (once) ...\n' "$folder"
        rm -rf "$folder" "$root"/npu_layout/kernels/_native.*.so # one of an older build would be found first
        "$interpreter" -m venv "$folder" || die "Python's venv module does not work here. On Debian and Ubuntu: apt install python3-venv"
        "$python" -m pip install --quiet --disable-pip-version-check "pip>=21.3" && # the first with PEP 660
            "$python" -m pip install --quiet --disable-pip-version-check -e "$root$extras" "$@" || die "pip could not install npu_layout and what it needs; see above"
        check_cv2
        printf '%s' "$sources" >"$built"
        printf '%s' "$wanted" >"$stamp"
    elif [ "$(cat "$built" 2>/dev/null || true)" != "$sources" ]; then
        printf 'Compiling the kernels again ...\n'
        "$python" -m pip install --quiet --disable-pip-version-check --no-deps -e "$root" || die "pip could not install npu_layout; see above"
        printf '%s' "$sources" >"$built"
    fi
    exec 9>&-
}

check_cv2() {  # opencv-python needs system libraries that pip cannot bring
    local message
    message=$("$python" -c 'import cv2' 2>&1) && return
    case "$message" in
        *libGL*) die "opencv-python needs libGL.so.1: apt install libgl1" ;;
        *libgthread*|*libglib*) die "opencv-python needs libglib-2.0.so.0: apt install libglib2.0-0" ;;
        *) die "opencv-python does not import: ${message##*$'\n'}" ;;
    esac
}
