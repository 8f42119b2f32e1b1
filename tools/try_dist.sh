#!/bin/sh
# Installs the wheel and then the sdist in DIRECTORY into an empty environment, and tries each from outside the source tree.
set -eu
dist=$(cd "$1" && pwd)
tools=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=$(command -v "${PYTHON:-python3}")
case $python in /*) ;; *) python=$(pwd)/$python ;; esac
for file in "$dist"/*.whl "$dist"/*.tar.gz; do
    rm -rf "$work/venv"
    PYTHON=$python sh "$tools/make_venv.sh" "$work/venv"
    "$work/venv/bin/python" -m pip --disable-pip-version-check --quiet install "$file"
    (
        cd "$work"
        "$work/venv/bin/vta" --version
        "$work/venv/bin/vta" config check sim
        "$work/venv/bin/vta" demo -o demo --json >/dev/null
    )
    echo "$(basename "$file"): installs into an empty environment and runs the demo"
done
