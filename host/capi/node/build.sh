#!/usr/bin/env bash
# Builds npm's package `hutch-native`: the library, the program that compiles for it, and hutch.js. Needs Rust, a C compiler and Node 20 or
# later with npm, and fetches nothing with npm. Writes one file into the folder that is named, or `dist`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
into=$(realpath -m "${1:-dist}")
cd "$here/../../.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
cargo build --locked --release --package hutch-capi --package hutch-cli
case $(uname -s) in
    Darwin) library=libhutch_capi.dylib ;;
    *) library=libhutch_capi.so ;;
esac
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
cp "$here/hutch.js" "$here/hutch.d.ts" "$here/package.json" "$staged"
mkdir -p "$staged/bin" "$into"
cp "$target/release/$library" "$staged"
cp "$target/release/hutch" "$staged/bin/"
strip "$staged/bin/hutch" "$staged/$library" 2>/dev/null || true
# npm installs it nowhere else.
(cd "$staged" && npm pkg set "os[]=$(node -p process.platform)" "cpu[]=$(node -p process.arch)")
npm pack --silent --pack-destination "$into" "$staged"
