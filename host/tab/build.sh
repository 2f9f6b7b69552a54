#!/usr/bin/env bash
# Builds the two modules of the npm package and records where their bytes come from.
#
#   host/tab/build.sh             writes hutch.wasm (the host for a browser tab), compiler.wasm (which makes code for it where none is at
#                                 hand) and modules.json into host/tab/npm, for a commit
#   host/tab/build.sh --sources   judges in a second whether the committed modules are those of the record, and of the sources that are here
#   host/tab/build.sh --check     the same; then builds them elsewhere and compares. Changes nothing in the repository
#
# The last two exit 1 when a module is not the one that the record names, or was made from other sources, or, with the recorded toolchain,
# comes out different by one byte. With another toolchain the bytes may differ: --check says so and exits 0.
#
# Toolchains, the first that is there: rustup's, with its target wasm32-unknown-unknown; Debian's, which builds the standard library along
# (apt-get install rustc-web cargo-web rust-web-src lld). Without either a build exits 77. The bytes depend on the sources and the toolchain,
# not on where the repository, the target folder or cargo's home are, nor on the day.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root"
target=wasm32-unknown-unknown
package=host/tab/npm
modules=(compiler hutch)

case "$#,${1-}" in
0,) does=build ;;
1,--check) does=check ;;
1,--sources) does=sources ;;
*)
    echo "usage: host/tab/build.sh [--check | --sources]" >&2
    exit 2
    ;;
esac

say() { echo "$*" >&2; }
sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi | cut -c1-64; }

# Any cargo reads the manifests alike; one that is to build is chosen below.
cargo=$(command -v cargo || echo /usr/bin/cargo)
# `crate MODULE`
crate() { case $1 in hutch) echo hutch-tab ;; compiler) echo hutch-tab-compiler ;; esac; }

# --- Where they come from ----------------------------------------------------------------------------------------------

# All crates with versions and features, `NAME vVERSION FEATURES`, one a line, in byte order.
dependencies() {
    for module in "${modules[@]}"; do
        "$cargo" tree --locked -p "$(crate "$module")" --target "$target" -e normal,build --prefix none -f '{p}|{f}'
    done | sed -e 's/ ([/*][^)]*)//g' -e 's/ (proc-macro)//' -e 's/|/ /' -e 's/ *$//' | sort -u
}
# Names of functions are for people who read the module, and half a megabyte.
strip=symbols
profile() {
    sed -n '/^\[profile\.release\]/,/^\[/{/^[a-z]/p;}' Cargo.toml | sed "s/^strip = .*/strip = \"$strip\"/"
}
# `sources FOLDER`: the files of this repository that the compiler read when it built there, in byte order. What only documents, and what names
# rules by which a machine remembers packages, is in no byte of the modules.
sources() {
    for module in "${modules[@]}"; do
        sed -e 's/^[^:]*: //' "$1/$(crate "$module" | tr - _).d" | tr ' ' '\n'
    done | while IFS= read -r file; do
        case "$file" in
        *.md | */examples/* | */build.rs | */Cargo.lock) ;;
        *) [ -d "$file" ] || echo "$(cd "$(dirname "$file")" && pwd -P)/${file##*/}" ;;
        esac
    done | sed "s#^$root/##" | sort -u
}

# `json_list`: lines as a JSON array of strings, one a line.
json_list() { sed -e 's/[\\"]/\\&/g' -e 's/.*/      "&"/' -e '$!s/$/,/'; }
# `recorded KEY`: the lines of that list.
recorded() { sed -n "/^    \"$1\": \\[/,/^    \\]/{s/^      \"\\(.*\\)\",\\{0,1\\}\$/\\1/p;}" "$package/modules.json" | sed 's/\\\([\\"]\)/\1/g'; }
# `recorded_digests KEY`: `SHA256 NAME` for each of that object.
recorded_digests() {
    sed -n "/^ *\"$1\": {/,/^ *}/s/^ *\"\\([^\"]*\\)\": .*\"\\([0-9a-f]\\{64\\}\\)\".*/\\2 \\1/p" "$package/modules.json"
}

# Whether what is committed is what the record says, and was made from what is here.
judge_sources() {
    local digest file found=true stale=()
    if [ ! -e "$package/modules.json" ]; then
        say "FAILED: there is no $package/modules.json; run host/tab/build.sh and commit $package"
        return 1
    fi
    while read -r digest file; do
        if [ ! -e "$package/$file" ] || [ "$(sha256 "$package/$file")" != "$digest" ]; then
            say "FAILED: $package/$file is not the module that modules.json describes"
            found=false
        fi
    done < <(recorded_digests modules)
    while read -r digest file; do
        [ -e "$file" ] && [ "$(sha256 "$file")" = "$digest" ] || stale+=("$file")
    done < <(recorded_digests files)
    [ "$(recorded dependencies)" = "$(dependencies)" ] || stale+=("what Cargo.lock names for them")
    [ "$(recorded profile)" = "$(profile)" ] || stale+=("the profile in Cargo.toml")
    [ "$(recorded_digests files | wc -l)" -gt 0 ] || stale+=("all files: the record names none")
    if [ ${#stale[@]} -gt 0 ]; then
        say "FAILED: the modules in $package were made before these changed; run host/tab/build.sh and commit $package:"
        printf '    %s\n' "${stale[@]}" >&2
        found=false
    fi
    $found
}

[ "$does" = build ] || judge_sources
[ "$does" != sources ] || exit 0

# --- The toolchain -----------------------------------------------------------------------------------------------------

options=(--locked --release --lib --crate-type cdylib --target "$target")
local_flags=("--remap-path-prefix=$root=/hutch")
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    local_flags+=("--remap-path-prefix=${registry%/}=/registry")
done
if command -v rustup >/dev/null && rustup target list --installed | grep -qx "$target"; then
    standard=prebuilt
    rustc=$(command -v rustc)
    bin="$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin"
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
    standard=source
    rustc=/usr/bin/rustc
    cargo=/usr/bin/cargo
    options+=(-Zbuild-std=std,panic_abort)
    std_source="$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust"
    local_flags+=("--remap-path-prefix=$std_source=/rust" "--remap-path-prefix=$(cd "$std_source" && pwd -P)=/rust")
    bin=""
    # rustup's linker is off PATH; Debian's is on it.
    if command -v rustup >/dev/null; then
        bin="$(rustc --print sysroot)/lib/rustlib/$(/usr/bin/rustc -vV | sed -n 's/^host: //p')/bin"
    fi
else
    say "no standard library for $target is at hand"
    exit 77
fi
PATH="$PATH${bin:+:$bin}"
export PATH
linker() { if command -v rust-lld >/dev/null; then rust-lld -flavor wasm --version; else wasm-ld --version; fi | head -n 1; }
# One line each; together they say whether two builds must agree.
toolchain=$(
    "$rustc" -vV | sed -n -e '1s/^/rustc: /p' -e 's/^commit-hash: /rustc commit: /p' -e 's/^LLVM version: /LLVM: /p' -e 's/^host: /host: /p'
    echo "standard library: $standard"
    echo "linker: $(linker)"
)

# --- The modules -------------------------------------------------------------------------------------------------------

work=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$work"
work=$(cd "$work" && pwd -P)/tab-module
mkdir -p "$work"
local_flags+=("--remap-path-prefix=$work=/target")

# What names folders of this machine. Cargo makes the names of symbols from the flags that it sees, so it does not see these: a compiler of
# our own between the two adds them. Written anew only when it changes: cargo rebuilds everything when the compiler is younger than its output.
script=$(
    echo '#!/bin/sh'
    printf 'case " $* " in *" --target %s "*) set -- "$@"' "$target"
    printf " '%s'" "${local_flags[@]//\'/\'\\\'\'}"
    printf ' ;; esac\nexec %s "$@"\n' "'${rustc//\'/\'\\\'\'}'"
)
if [ "$script" != "$(cat "$work/rustc" 2>/dev/null)" ]; then
    printf '%s\n' "$script" >"$work/rustc.new"
    chmod +x "$work/rustc.new"
    mv "$work/rustc.new" "$work/rustc"
fi

# Libraries that want randomness are answered by the module, which imports none.
flags='--cfg getrandom_backend="custom"'
# The compiler calls itself, as deep as it does on the stacks of a machine.
linked() { case $1 in hutch) ;; compiler) echo -Clink-arg=-zstack-size=16777216 ;; esac; }
# Each by itself: one crate's features are none of the other's.
for module in "${modules[@]}"; do
    env -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET -u RUSTC_WRAPPER -u RUSTC_WORKSPACE_WRAPPER \
        RUSTC="$work/rustc" RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$work" RUSTFLAGS="$flags" \
        CARGO_PROFILE_RELEASE_STRIP=$strip "$cargo" rustc "${options[@]}" -p "$(crate "$module")" -- $(linked "$module") >&2
done
built=$work/$target/release
made() { echo "$built/$(crate "$1" | tr - _).wasm"; }

# `pairs SPACES`: lines of `NAME VALUE` as those of a JSON object.
pairs() { sed -e "s/^\([^ ]*\) \(.*\)/$1\"\1\": \2/" -e '$!s/$/,/'; }
record() {
    cat <<JSON
{
  "schema": "hutch/modules@0.1",
  "modules": {
$(for module in "${modules[@]}"; do
        echo "$module.wasm { \"bytes\": $(($(wc -c <"$(made "$module")"))), \"sha256\": \"$(sha256 "$(made "$module")")\" }"
    done | pairs '    ')
  },
  "source": {
    "files": {
$(sources "$built" | while IFS= read -r file; do echo "$file \"$(sha256 "$file")\""; done | pairs '      ')
    },
    "dependencies": [
$(dependencies | json_list)
    ],
    "profile": [
$(profile | json_list)
    ]
  },
  "build": {
    "command": "host/tab/build.sh",
    "options": [
$({ printf '%s\n' "${options[@]}" "$flags"; for module in "${modules[@]}"; do linked "$module"; done; } | json_list)
    ],
    "toolchain": [
$(echo "$toolchain" | json_list)
    ]
  }
}
JSON
}

if [ "$does" = build ]; then
    for module in "${modules[@]}"; do
        cp "$(made "$module")" "$package/$module.wasm"
        # A linker makes programs; a module is data.
        chmod 644 "$package/$module.wasm"
        echo "built $package/$module.wasm, $(($(wc -c <"$package/$module.wasm"))) bytes"
    done
    record >"$package/modules.json"
    exit 0
fi

if [ "$(recorded toolchain)" != "$toolchain" ]; then
    say "built with another toolchain, so the bytes are not compared. The difference:"
    diff <(recorded toolchain) <(echo "$toolchain") >&2 || true
    exit 0
fi
same=true
for module in "${modules[@]}"; do
    if cmp "$package/$module.wasm" "$(made "$module")" >&2; then
        say "$module: the rebuilt module is the committed one, byte for byte"
    else
        say "FAILED: $module comes out different with the recorded toolchain"
        same=false
    fi
done
if ! diff "$package/modules.json" <(record) >&2; then
    say "FAILED: the record is not the one that a build writes; run host/tab/build.sh and commit $package"
    same=false
fi
$same
