# Sourced by scripts/test, demo, docs and fuzz: `environment FOLDER [EXTRA ...]` makes a virtual environment with the
# package and these extras in it, ready when it returns, and sets $python to its interpreter. The work is in _venv.py.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { printf '%s\n' "$*" >&2; exit 2; }

environment() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10 python3.9; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
        "$candidate" "$root/scripts/_venv.py" "$@" || exit
        python="$root/$1/bin/python"
        return
    done
    die "No Python 3.9 or newer was found. On Debian and Ubuntu: apt install python3 python3-venv"
}
