#!/bin/sh
# Creates a virtual environment: make_venv.sh DIRECTORY. Where the venv module lacks pip, virtualenv stands in.
set -eu
target=$1
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "$python is too old; Python 3.10 or newer is needed (make PYTHON=...)" >&2
    exit 1
}
if "$python" -m venv "$target" >/dev/null 2>&1; then exit 0; fi
rm -rf "$target"
if "$python" -m virtualenv --quiet "$target" 2>/dev/null; then exit 0; fi
if "$python" -m pip install --quiet --target build/virtualenv virtualenv 2>/dev/null &&
    PYTHONPATH=build/virtualenv "$python" -m virtualenv --quiet "$target"; then
    exit 0
fi
rm -rf "$target"
echo "no virtual environment can be made: install the venv module (Debian: apt-get install python3-venv) or virtualenv" >&2
exit 1
