#!/bin/sh
# Makes a directory from which a board's server is installed without a network:
#     tools/board_bundle.sh BOARD MACHINE DIR [BITSTREAMS [CERTS]]
# BOARD is the name of a shipped board, MACHINE what 'uname -m' says on it: armv7l or aarch64. BITSTREAMS is a directory that
# 'vta boards add' made, CERTS one that 'vta rpc certs' made. VTA_BOARD_PYTHON is the board's Python (default: 3.10).
set -eu

board=$1 machine=$2 target=$3 bitstreams=${4:-} certs=${5:-}
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
version=${VTA_BOARD_PYTHON:-3.10}
case $machine in
    armv7l) platforms="linux_armv7l" ;;
    aarch64) platforms="manylinux2014_aarch64 manylinux_2_17_aarch64" ;;
    *) echo "board_bundle.sh: $machine: armv7l and aarch64 are known" >&2; exit 1 ;;
esac
[ -f "$root/bitstreams/boards/$board.yaml" ] || { echo "board_bundle.sh: no board $board" >&2; exit 1; }

mkdir -p "$target/wheels"
VTA_WITHOUT_CORE=1 "$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$target/wheels" "$root"
arguments=
for platform in $platforms; do arguments="$arguments --platform $platform"; done
# shellcheck disable=SC2086 - the platforms are words
"$python" -m pip download --quiet --only-binary=:all: $arguments --python-version "$version" --dest "$target/wheels" \
    'grpcio>=1.48' 'protobuf>=3.20' 'rich>=13'
"$python" -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1])), indent=2))' \
    "$root/bitstreams/boards/$board.yaml" >"$target/board.json"
cp "$root/bitstreams/server/install.sh" "$root/bitstreams/server/vta-server.service" "$target/"
[ -z "$bitstreams" ] || cp -R "$bitstreams" "$target/bitstreams"
if [ -n "$certs" ]; then
    mkdir -p "$target/certs"
    for name in ca.pem server.pem server.key client.pem client.key; do cp "$certs/$name" "$target/certs/"; done
fi
echo "$target: copy it to the board, and run there: sh install.sh"
