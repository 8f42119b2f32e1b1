#!/bin/sh
# Installs the server of a board from the directory that this file lies in, without any network:
#     sh install.sh [--tracker HOST:PORT --key KEY] [--config FILE] [OPTION of 'vta rpc server' ...]
# The directory is one that tools/board_bundle.sh made: wheels/, board.json, and perhaps bitstreams/ and certs/.
# VTA_ROOT stands for / in a trial; VTA_PYTHON is the Python that has the board's own packages (NumPy; pynq on a Zynq).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${VTA_ROOT:-}
python=${VTA_PYTHON:-}
if [ -z "$python" ]; then
    # The images of pynq keep it in an environment of its own.
    for candidate in /usr/local/share/pynq-venv/bin/python3 python3; do
        if command -v "$candidate" >/dev/null 2>&1; then
            python=$candidate
            break
        fi
    done
fi
[ -n "$python" ] || { echo "install.sh: no Python found; name one with VTA_PYTHON" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "install.sh: $python is older than Python 3.10" >&2
    exit 1
}
"$python" -c 'import numpy' 2>/dev/null || { echo "install.sh: $python has no NumPy; name another with VTA_PYTHON" >&2; exit 1; }
for needed in wheels board.json; do
    [ -e "$here/$needed" ] || { echo "install.sh: $here/$needed is missing; tools/board_bundle.sh makes such a directory" >&2; exit 1; }
done
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
    echo "install.sh: only root can install a service" >&2
    exit 1
fi

mkdir -p "$root/opt" "$root/etc/vta" "$root/var/lib/vta" "$root/etc/systemd/system"
"$python" -m venv --system-site-packages --without-pip "$root/opt/vta"
site=$("$root/opt/vta/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Where that Python is one of an environment, its packages are not the system's: the server is to see them, too.
"$python" -c 'import sysconfig; print(*sorted({sysconfig.get_path(n) for n in ("purelib", "platlib")}), sep="\n")' >"$site/board.pth"
# What the board has already stays as it is: a package is added only where it is missing, into the server's own environment.
for wheel in "$here"/wheels/*.whl; do
    case $(basename "$wheel") in
        grpcio-*) module=grpc ;;
        protobuf-*) module=google.protobuf ;;
        rich-*) module=rich ;;
        markdown_it_py-*) module=markdown_it ;;
        mdurl-*) module=mdurl ;;
        pygments-*) module=pygments ;;
        typing_extensions-*) module=typing_extensions ;;
        vta-*) module= ;;
        *) echo "install.sh: $wheel: not one of the server's packages" >&2; exit 1 ;;
    esac
    if [ -n "$module" ] && "$root/opt/vta/bin/python" -c "import $module" 2>/dev/null; then
        continue
    fi
    "$root/opt/vta/bin/python" -m zipfile -e "$wheel" "$site"
done

install -m 644 "$here/board.json" "$root/etc/vta/board.json"
for directory in bitstreams certs; do
    if [ -d "$here/$directory" ]; then
        rm -rf "$root/var/lib/vta/$directory"
        cp -R "$here/$directory" "$root/var/lib/vta/$directory"
        chmod -R go-rwx "$root/var/lib/vta/$directory"
    fi
done
options="--device board:/etc/vta/board.json"
[ -d "$here/bitstreams" ] && options="$options --bitstreams /var/lib/vta/bitstreams"
[ -d "$here/certs" ] && options="$options --certs /var/lib/vta/certs --host 0.0.0.0"
for option in "$@"; do
    case $option in *[!A-Za-z0-9_./:=-]*) echo "install.sh: $option: only letters, digits and _./:=- are taken" >&2; exit 1 ;; esac
    options="$options $option"
done
printf 'VTA_SERVER_OPTIONS="%s"\n' "$options" >"$root/etc/vta/server.conf"
install -m 644 "$here/vta-server.service" "$root/etc/systemd/system/vta-server.service"
"$root/opt/vta/bin/python" -c 'import vta.rpc.server.server, vta.rpc.server.worker, vta.devices.board'

if [ -z "$root" ]; then
    systemctl daemon-reload
    systemctl enable --now vta-server.service
    echo "the server runs; its log: journalctl -u vta-server"
else
    echo "installed below $root; nothing was started"
fi
