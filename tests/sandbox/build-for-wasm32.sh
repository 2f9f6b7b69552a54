#!/bin/sh
# Builds the engine for wasm32-unknown-unknown, without the features that only a machine has: what runs guests natively runs them in
# a browser too. The library is not linked. Takes rustup's core library if the target is installed there, else Debian's sources of one
# (`apt-get install rustc-web cargo-web rust-web-src`). Ends with 77 where there is neither.
set -eu
cd "$(dirname "$0")/../.."
target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/engine-for-wasm32"

build() {
    cargo=$1
    shift
    "$cargo" build --locked --release -p hutch-engine --lib --target "$target" "$@"
}

if command -v rustup >/dev/null && rustup target list --installed | grep -qx "$target"; then
    build cargo
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 build /usr/bin/cargo -Zbuild-std=std,panic_abort
else
    echo "no core library for $target is at hand" >&2
    exit 77
fi
echo "the engine builds for $target"
