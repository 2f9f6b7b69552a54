#!/usr/bin/env bash
# Builds the wheel of Python's package `hutch`: the library, the program that compiles for it, the packages that come with that, and hutch/. Needs Rust, a C compiler,
# and Python 3.9 or later with pip, which gets setuptools; PYTHON says which. Writes one file into the folder that is named, or `dist`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
into=$(realpath -m "${1:-dist}")
cd "$here/../../.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
cargo build --locked --release --package hutch-capi --package hutch-cli
case $(uname -s) in
    Darwin) library=libhutch_capi.dylib ;;
    MINGW* | MSYS*) library=hutch_capi.dll ;;
    *) library=libhutch_capi.so ;;
esac
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
cp -r "$here/hutch" "$here/pyproject.toml" "$here/setup.py" "$staged"
mkdir -p "$staged/hutch/bin" "$staged/hutch/share/hutch" "$into"
cp "$target/release/$library" "$staged/hutch/"
cp "$target/release/hutch" "$staged/hutch/bin/"
# Beside the folder of the program, where it looks for them.
cp -r packages "$staged/hutch/share/hutch/packages"
cp LICENSE "$staged"
strip "$staged/hutch/bin/hutch" "$staged/hutch/$library" 2>/dev/null || true
"${PYTHON:-python3}" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$into" "$staged"
ls "$into"/hutch-*.whl
