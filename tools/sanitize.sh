#!/bin/sh
# Builds the native core with AddressSanitizer and UndefinedBehaviorSanitizer in a copy of the tree, and runs the tests that use it most.
set -eu
python=$(command -v "${PYTHON:-python3}")
case $python in /*) ;; *) python=$(pwd)/$python ;; esac
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r vta native hw_config bitstreams tuning tests setup.py pyproject.toml README.md LICENSE "$copy"
find "$copy/vta" -name '_core*' -delete
[ ! -d ../shared ] || VTA_SHARED=${VTA_SHARED:-$(cd ../shared && pwd)}
export VTA_SHARED
cd "$copy"
sed -i 's/"-O3"/"-O1"/' native/build_ffi.py  # in the copy: optimising with sanitizers takes minutes

# A warning of the compiler is an error here alone: other compilers may know more of them.
# Python hands -fwrapv on, which would hide sums that overflow; other compilers of the core need not have it.
flags="-Werror -fno-wrapv -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1"
CFLAGS=$flags CXXFLAGS=$flags LDFLAGS="-fsanitize=address,undefined" "$python" setup.py --quiet build_ext --inplace

# Python itself never frees some of what it allocates, so leaks are not looked for.
libraries="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
tests=""
for part in tests/codegen/test_emitter.py tests/codegen/test_stream.py tests/isa tests/devices tests/quantization/float/weights/test_gptq.py \
    tests/quantization/float/calibration tests/quantization/requantize/test_rounding_steps.py \
    tests/quantization/requantize/test_thresholds.py tests/runtime tests/testing; do
    [ ! -e "$part" ] || tests="$tests $part"
done
# The fuzzers of files limit the memory of their processes, which sanitizers take for themselves.
# shellcheck disable=SC2086
PYTHONPATH=$copy LD_PRELOAD=$libraries ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
    "$python" -m pytest -q -n auto --dist worksteal -p no:cacheprovider -x $tests \
    --ignore tests/testing/test_parser_fuzz.py --ignore tests/testing/test_import_fuzz.py
