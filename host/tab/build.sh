#!/bin/sh
# Builds host/tab/npm/hutch.wasm, the host for a browser tab. Takes rustup's standard library if the target is installed there, else
# Debian's sources of one (`apt-get install rustc-web cargo-web rust-web-src`, and rustup's or Debian's linker `lld`). Ends with 77 where
# there is neither. The file is not committed: it is made of the whole host, so nearly every commit would change its megabytes.
# No path of this machine is in it: what the compiler writes down of sources is named anew.
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd -P)
target=wasm32-unknown-unknown
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/tab-module"
# The profile of the main job, without names of functions.
export CARGO_PROFILE_RELEASE_STRIP=symbols
# `custom`: libraries that want randomness are answered by the module, which imports none.
flags="--cfg getrandom_backend=\"custom\" --remap-path-prefix=$root=/hutch"
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    flags="$flags --remap-path-prefix=${registry%/}=/registry"
done

build() {
    cargo=$1
    shift
    "$cargo" build --locked --release -p hutch-tab --lib --target "$target" "$@"
}

if command -v rustup >/dev/null && rustup target list --installed | grep -qx "$target"; then
    RUSTFLAGS="$flags" build cargo
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
    sources="$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust"
    flags="$flags --remap-path-prefix=$sources=/rust --remap-path-prefix=$(cd "$sources" && pwd -P)=/rust"
    # rustup's linker is off PATH; Debian's is on it.
    host=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
    if command -v rustup >/dev/null; then
        PATH="$PATH:$(rustc --print sysroot)/lib/rustlib/$host/bin"
        export PATH
    fi
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" build /usr/bin/cargo -Zbuild-std=std,panic_abort
else
    echo "no standard library for $target is at hand" >&2
    exit 77
fi
cp "$CARGO_TARGET_DIR/$target/release/hutch_tab.wasm" host/tab/npm/hutch.wasm
echo "built host/tab/npm/hutch.wasm, $(($(wc -c <host/tab/npm/hutch.wasm))) bytes"
