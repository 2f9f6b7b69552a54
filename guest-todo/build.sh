#!/usr/bin/env bash
# Builds the guests of this repository and records where their bytes come from.
#
#   guest-todo/build.sh           writes app.wasm and app.wasm.provenance.json of the to-do package, of the samples (`samples`), of
#                                 the probe and of the template that `hutch init` copies
#   guest-todo/build.sh --sources judges in seconds whether the committed components are those of their records, and of the sources that
#                                 are here
#   guest-todo/build.sh --check   the same; then rebuilds into a temporary folder and compares. Changes nothing in the repository
#   guest-todo/build.sh --made FOLDER
#                                 builds the component of what `hutch init` made in FOLDER, where it belongs; nothing else
#
# The last two exit 1 when a committed component is not the one its record names, or was built from other sources, or, with
# the recorded toolchain, comes out different by one byte. With another toolchain the bytes may differ: --check says so and
# exits 0, and prints where the rebuilt components are, one `rebuilt NAME PATH` a line, so that the tests can be run against them.
#
# Toolchains, the first that is there; --sources needs none for the target:
#   - rustup's, with its target: rustup target add wasm32-wasip2
#   - Debian's packages, where targets cannot be fetched; the standard library is then built along. Its wasi-libc is of
#     2022, whose start-up object makes the component adapter trap, so one of our own is linked: crt1-command.rs.
#
# Nothing is installed. The bytes depend on the sources and the toolchain, not on where the repository, the target
# folder or cargo's home are, nor on the day.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
target=wasm32-wasip2

does=build made=""
case "$#,${1-}" in
0,) ;;
1,--check) does=check ;;
1,--sources) does=sources ;;
2,--made) made=$(cd "$2" && pwd -P) ;;
*)
    echo "usage: guest-todo/build.sh [--sources | --check | --made FOLDER]" >&2
    exit 2
    ;;
esac
cd "$root"

say() { echo "$*" >&2; }

if command -v sha256sum >/dev/null; then
    sha256() { sha256sum "$@"; }
else
    sha256() { shasum -a 256 "$@"; }
fi

# --- The toolchain -----------------------------------------------------------------------------------------------------

# The first file of these that exists.
first() {
    local file
    for file in "$@"; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
}

debian_libc=$(first /usr/lib/wasm32-wasi/libc.a)
std_source=""
if [ -x /usr/bin/rustc ]; then
    std_source=$(first "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml")
fi

# Which rustc is asked must not depend on the caller's folder, and `rustc` may be missing altogether.
rustup_libdir=$(rustc --print target-libdir --target "$target" 2>/dev/null || true)
if [ "$does" = sources ]; then
    # Any cargo reads the manifests alike, and nothing is compiled.
    std=none
    rustc=$(command -v rustc || echo /usr/bin/rustc)
    cargo=$(command -v cargo || echo /usr/bin/cargo)
elif [ -n "$rustup_libdir" ] && [ -n "$(first "$rustup_libdir"/libstd-*.rlib)" ]; then
    std=prebuilt
    rustc=$(command -v rustc)
    cargo=$(command -v cargo)
elif [ -n "$debian_libc" ] && [ -n "$std_source" ] && [ -x /usr/bin/cargo ]; then
    std=source
    rustc=/usr/bin/rustc
    cargo=/usr/bin/cargo
else
    say "no toolchain for $target. Where rustup can fetch targets:"
    say "    rustup target add $target"
    say "Where it cannot, on Debian:"
    say "    apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src wasi-libc"
    exit 1
fi

# Both linkers come with rustup's host toolchain, off PATH.
host_sysroot=$(rustc --print sysroot 2>/dev/null || "$rustc" --print sysroot)
host=$("$rustc" -vV | sed -n 's/^host: //p')
PATH="$PATH:$host_sysroot/lib/rustlib/$host/bin:$host_sysroot/lib/rustlib/$host/bin/gcc-ld"
export PATH
for linker in wasm-component-ld wasm-ld; do
    if [ "$does" != sources ] && ! command -v "$linker" >/dev/null; then
        say "no $linker. It comes with rustup's toolchains; without rustup:"
        say "    cargo install wasm-component-ld && apt-get install -y --no-install-recommends lld"
        exit 1
    fi
done

version_of_libc="that of the toolchain"
if [ "$std" = source ]; then
    version_of_libc="wasi-libc $(dpkg-query -W -f '${Version}' wasi-libc 2>/dev/null || sha256 <"$debian_libc" | cut -c1-64)"
fi
# One line each; together they say whether two builds must agree.
toolchain_here() {
    "$rustc" -vV | sed -n -e '1s/^/rustc: /p' -e 's/^commit-hash: /rustc commit: /p' -e 's/^LLVM version: /LLVM: /p'
    echo "standard library: $std"
    echo "libc: $version_of_libc"
    echo "wasm-component-ld: $(wasm-component-ld --version | head -n 1)"
    echo "wasm-ld: $(wasm-ld --version | head -n 1)"
    echo "host: $host"
}
toolchain=""
[ "$does" = sources ] || toolchain=$(toolchain_here)

# --- What is built -----------------------------------------------------------------------------------------------------

scratch=$(mktemp -d)
work=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$work"
work=$(cd "$work" && pwd -P)/guest-$std
mkdir -p "$work"

# Part of the record. Cargo makes the names of symbols from these, so no folder of this machine may be among them.
rustflags=()
build_options=(--locked --target "$target")
# What names folders of this machine. Cargo does not see it: a compiler of our own between the two adds it.
local_flags=("--remap-path-prefix=$root=/hutch" "--remap-path-prefix=$work=/target")
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    local_flags+=("--remap-path-prefix=${registry%/}=/registry")
done
if [ "$std" = source ]; then
    rustflags+=(-Clink-self-contained=no)
    build_options+=(-Zbuild-std=std,panic_abort)
    libraries=$work/lib
    mkdir -p "$libraries"
    cp /usr/lib/wasm32-wasi/*.a "$libraries"
    RUSTC_BOOTSTRAP=1 "$rustc" --target "$target" --edition 2024 -Copt-level=s -Cpanic=abort --emit=obj \
        -o "$libraries/crt1-command.o" guest-todo/crt1-command.rs
    rust_source=$(dirname "$(dirname "$(dirname "$std_source")")")
    local_flags+=("-Lnative=$libraries" "-Clink-arg=$libraries/crt1-command.o" "--remap-path-prefix=$rust_source=/rust"
        "--remap-path-prefix=$(cd "$rust_source" && pwd -P)=/rust")
fi

# Written anew only when it changes: cargo rebuilds everything when the compiler is younger than its output.
{
    echo '#!/bin/sh'
    printf 'case " $* " in *" --target %s "*) set -- "$@"' "$target"
    printf " '%s'" "${local_flags[@]//\'/\'\\\'\'}"
    printf ' ;; esac\nexec %s "$@"\n' "'${rustc//\'/\'\\\'\'}'"
} >"$scratch/rustc"
chmod +x "$scratch/rustc"
cmp -s "$scratch/rustc" "$work/rustc" || mv "$scratch/rustc" "$work/rustc"

# Two of the samples have C in them, SQLite. The compiler is clang, which knows every target; the headers are those of the libc that is
# linked.
samples=(archives books calendar convert files images json notes pdf tables)
is_sample() { case " ${samples[*]} " in *" $1 "*) true ;; *) false ;; esac; }
if [ "$std" = source ]; then c_headers=/usr/include/wasm32-wasi; else c_headers=${WASI_SYSROOT:+$WASI_SYSROOT/include/$target}; fi
c_environment=()
has_c() { case "$1" in notes | tables) true ;; *) false ;; esac; }
can_c() { [ -n "$c_headers" ] && [ -e "$c_headers/stdio.h" ] && command -v clang >/dev/null; }
if can_c; then
    c_flags="-isystem $c_headers -ffile-prefix-map=$root=/hutch -ffile-prefix-map=$work=/target"
    for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
        c_flags+=" -ffile-prefix-map=${registry%/}=/registry"
    done
    c_environment=(CC_wasm32_wasip2=clang "CFLAGS_wasm32_wasip2=$c_flags")
fi
# Part of the record. Without files, threads and extensions: SQLite is given memory and nothing else.
sqlite_flags="-DSQLITE_OS_OTHER=1 -USQLITE_TEMP_STORE -DSQLITE_TEMP_STORE=3 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_LOCALTIME \
-USQLITE_ENABLE_LOAD_EXTENSION -USQLITE_ENABLE_FTS3 -USQLITE_ENABLE_FTS3_PARENTHESIS -USQLITE_ENABLE_RTREE -USQLITE_ENABLE_DBSTAT_VTAB"

# `toolchain_of PACKAGE`
toolchain_of() {
    echo "$toolchain"
    if has_c "$1"; then echo "clang: $(clang --version | head -n 1)"; fi
}

# `options_of PACKAGE`
options_of() {
    printf '%s\n' "${build_options[@]}" --profile "$(profile_name "$1")" ${rustflags[@]+"${rustflags[@]}"}
    if has_c "$1"; then echo "LIBSQLITE3_FLAGS=$sqlite_flags"; fi
}

# What `hutch init` made is a workspace of its own, with a copy of the library. The template becomes that in a folder that stays where it is,
# as what has been compiled does. So are the samples, whose crates are none of the host's.
template=${made:-$work/template}
# Cargo names what lies outside of a workspace by its folder on this machine, and that goes into the bytes: the samples are built in one that
# has the library inside, with everything at the same distance as here.
sample_tree=$work/samples
manifest() {
    if is_sample "$1"; then
        echo "$sample_tree/Cargo.toml"
    else
        case "$1" in app-*) echo "$template/guest/Cargo.toml" ;; *) echo Cargo.toml ;; esac
    fi
}
profile_name() {
    if is_sample "$1"; then
        echo release
        return
    fi
    case "$1" in
    app-*) echo release ;;
    guest-todo) echo application ;;
    *) echo guest ;;
    esac
}

# `build PACKAGE PROGRAM FILE`
build() {
    # RUSTC_BOOTSTRAP: building std, and the probe's one instruction that stable Rust has no word for.
    env -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET -u RUSTC_WRAPPER -u RUSTC_WORKSPACE_WRAPPER \
        RUSTC="$work/rustc" RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$work" RUSTFLAGS="${rustflags[*]-}" \
        ${c_environment[@]+"${c_environment[@]}"} LIBSQLITE3_FLAGS="$sqlite_flags" \
        "$cargo" build "${build_options[@]}" --profile "$(profile_name "$1")" --manifest-path "$(manifest "$1")" \
        -p "$1" --bin "$2" >&2
    cp "$work/$target/$(profile_name "$1")/$2.wasm" "$3"
}

# --- Where it comes from -----------------------------------------------------------------------------------------------

# `sources PACKAGE`: everything of this repository that the component is made of, one file a line, in byte order.
sources() {
    {
        find guest-todo/build.sh guest-todo/crt1-command.rs wit/*.wit wit/deps wit/guest*/Cargo.toml wit/guest*/src -type f
        if [ "$1" = app-notes ]; then
            find host/cli/template/rust/guest/Cargo.{toml,lock} host/cli/template/rust/guest/src -type f
            find host/cli/template/shared/package/agent host/cli/template/shared/package/skills -type f
        elif is_sample "$1"; then
            find guest-todo/samples/Cargo.toml "guest-todo/samples/$1/Cargo.toml" "guest-todo/samples/$1/src" -type f ! -name tests.rs
            find "packages/$1/agent" "packages/$1/skills" -type f
        elif [ "$1" = guest-probe ]; then
            find tests/guest-probe/Cargo.toml tests/guest-probe/src -type f
        else
            # What the package tells agents is built into the component that ships with it.
            find guest-todo/Cargo.toml guest-todo/src packages/todo/agent packages/todo/skills -type f
        fi
    } | sort
}

# `dependencies PACKAGE`: crates from elsewhere, `NAME vVERSION FEATURES`, one a line, in byte order.
dependencies() {
    RUSTC="$rustc" "$cargo" tree --locked --manifest-path "$(manifest "$1")" -p "$1" --target "$target" -e normal,build --prefix none -f '{p}|{f}' |
        sed -e '/ (\//d' -e 's/ (\*)$//' -e 's/ (proc-macro)//' -e 's/|/ /' -e 's/ *$//' | sort -u
}

# `profile PACKAGE`
profile() { sed -n "/^\\[profile\\.$(profile_name "$1")\\]/,/^\\[/{/^[a-z]/p;}" "$(manifest "$1")"; }

# `source_digest PACKAGE`: over the text that this function hashes, and nothing else.
source_digest() {
    {
        sources "$1" | while IFS= read -r file; do
            echo "$(sha256 <"$file" | cut -c1-64)  $file"
        done
        dependencies "$1"
        profile "$1"
    } | sha256 | cut -c1-64
}

# `json_list`: lines as a JSON array of strings, one a line.
json_list() { sed -e 's/[\\"]/\\&/g' -e 's/.*/      "&"/' -e '$!s/$/,/'; }

# `provenance PACKAGE COMPONENT`
provenance() {
    cat <<JSON
{
  "schema": "hutch/provenance@0.1",
  "component": {
    "file": "app.wasm",
    "bytes": $(($(wc -c <"$2"))),
    "sha256": "$(sha256 <"$2" | cut -c1-64)"
  },
  "source": {
    "sha256": "$(source_digest "$1")",
    "over": "the text made of: a line 'SHA256  PATH' for each of files, in this order; then each of dependencies, a line each; then each of profile, a line each; every line ends with a newline",
    "files": [
$(sources "$1" | json_list)
    ],
    "dependencies": [
$(dependencies "$1" | json_list)
    ],
    "profile": [
$(profile "$1" | json_list)
    ]
  },
  "build": {
    "command": "guest-todo/build.sh",
    "target": "$target",
    "options": [
$(options_of "$1" | json_list)
    ],
    "toolchain": [
$(toolchain_of "$1" | json_list)
    ]
  }
}
JSON
}

# `recorded FILE KEY`: the only value of that key that is a digest, in a record as `provenance` writes it.
recorded() { sed -n "/^  \"$2\": {/,/^  }/s/^    \"sha256\": \"\([0-9a-f]*\)\",\{0,1\}\$/\1/p" "$1"; }

# `recorded_toolchain FILE`
recorded_toolchain() {
    sed -n '/^    "toolchain": \[/,/^    \]/{s/^      "\(.*\)"\(,\{0,1\}\)$/\1/p;}' "$1" | sed 's/\\\([\\"]\)/\1/g'
}

# --- Each of them ------------------------------------------------------------------------------------------------------

# `judge PACKAGE COMPONENT RECORD`: whether what is committed is what the record says, and was made from what is here.
judge() {
    if [ ! -e "$2" ] || [ ! -e "$3" ]; then
        say "FAILED: $2 or its record is missing"
    elif [ "$(recorded "$3" component)" != "$(sha256 <"$2" | cut -c1-64)" ]; then
        say "FAILED: $2 is not the component that $3 describes"
    elif [ "$(recorded "$3" source)" != "$(source_digest "$1")" ]; then
        say "FAILED: $2 was built from other sources than those here; run guest-todo/build.sh"
    else
        return 0
    fi
    failed=true
    return 1
}

failed=false
# `guest PACKAGE PROGRAM FOLDER [FOLDER OF THE RECORD]`
guest() {
    local component=$3/app.wasm record=${4:-$3}/app.wasm.provenance.json rebuilt=$scratch/$2.wasm sound=true
    [ "$does" = build ] || judge "$1" "$component" "$record" || sound=false
    [ "$does" != sources ] || return 0
    build "$1" "$2" "$rebuilt"
    if [ "$does" = build ]; then
        mkdir -p "$3"
        cp "$rebuilt" "$component"
        provenance "$1" "$component" >"$record"
        echo "built $2 $component $(recorded "$record" component)"
        return
    fi
    echo "rebuilt $2 $rebuilt"
    $sound || return 0
    if [ "$(recorded_toolchain "$record")" != "$(toolchain_of "$1")" ]; then
        say "$2: built with another toolchain, so the bytes are not compared; test the rebuilt component. The difference:"
        diff <(recorded_toolchain "$record") <(toolchain_of "$1") >&2 || true
    elif cmp "$component" "$rebuilt" >&2; then
        say "$2: the rebuilt component is the committed one, byte for byte"
    else
        say "FAILED: $2 comes out different with the recorded toolchain"
        failed=true
    fi
}

if [ -n "$made" ]; then
    name=$(sed -n '/^\[package\]/,$s/^name = "\(.*\)"$/\1/p' "$made/guest/Cargo.toml")
    build "$name" "$name" "$made/package/app/app.wasm"
    rm -rf "$scratch"
    exit
fi

guest guest-todo todo packages/todo/app
guest guest-probe probe tests/packages/probe/app
rm -rf "$sample_tree"
mkdir -p "$sample_tree/guest-todo/samples" "$sample_tree/wit" "$sample_tree/packages"
cp -R "${samples[@]/#/guest-todo/samples/}" "$sample_tree/guest-todo/samples"
cp -R wit/guest wit/guest-derive wit/hutch.wit wit/deps "$sample_tree/wit"
cp guest-todo/samples/Cargo.lock "$sample_tree"
sed -e 's#^members = .*#members = ["guest-todo/samples/*"]\nexclude = ["wit"]#' -e 's#"../../wit/guest"#"wit/guest"#' guest-todo/samples/Cargo.toml >"$sample_tree/Cargo.toml"
for sample in "${samples[@]}"; do
    mkdir "$sample_tree/packages/$sample"
    cp -R "packages/$sample/agent" "packages/$sample/skills" "$sample_tree/packages/$sample"
    if [ "$does" != sources ] && has_c "$sample" && ! can_c; then
        say "$sample: not built, because a part of it is C. On Debian: apt-get install -y --no-install-recommends clang wasi-libc"
        say "    elsewhere clang, and WASI_SYSROOT as wasi-sdk has it"
    else
        guest "$sample" "$sample" "packages/$sample/app"
    fi
done
# As `hutch init notes` makes it. The record stays here: who changes the source builds another component.
rm -rf "$template"
mkdir -p "$template/package"
cp -R host/cli/template/rust/guest "$template"
cp -R host/cli/template/shared/package/agent host/cli/template/shared/package/skills "$template/package"
mkdir "$template/guest/wit"
cp -R wit/guest wit/guest-derive wit/hutch.wit wit/deps "$template/guest/wit"
sed -i.template s/SLUG/notes/g "$template"/guest/Cargo.{toml,lock} "$template/guest/src/main.rs" "$template"/package/skills/*/SKILL.md
guest app-notes app-notes host/cli/template/rust/package/app host/cli/template/rust

[ "$does" = check ] || rm -rf "$scratch"
if $failed; then
    exit 1
fi
