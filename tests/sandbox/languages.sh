#!/usr/bin/env bash
# Programs in C++, Zig, AssemblyScript and JavaScript, as their own toolchains make them, run unmodified and come to the same, byte by byte,
# as in the stock engine: what they print, their status, and the files that they leave. Needs node, Python and network: toolchains and
# engine come from npm and PyPI, in one version each, to a temporary folder; `cpp14` needs Debian's clang, lld, wasi-libc and
# libc++-14-dev-wasm32 with libc++abi-14-dev-wasm32. HUTCH is the program, built before.
#
#   tests/sandbox/languages.sh [LANGUAGE…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
hutch=$(realpath "${HUTCH:-target/release/hutch}")
foreign=$root/tests/sandbox/foreign
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(cpp cpp14 zig assemblyscript javascript)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export HUTCH_HOME=$folder/home XDG_CACHE_HOME=$folder/cache

python3 -m venv tools
tools/bin/pip install --quiet wasmtime==50.0.1

# Each writes $1.
# Of today: exceptions as WebAssembly 3.0 has them.
make_cpp() {
    tools/bin/pip install --quiet ziglang==0.17.1
    "$foreign/libcxx.sh" "$(echo "$PWD"/tools/lib/python3*/site-packages/ziglang/zig)" "$foreign/words.cpp" "$1"
}
# Of 2022, without exceptions.
make_cpp14() {
    clang++-14 --target=wasm32-wasi -std=c++20 -O2 -fno-exceptions "$foreign/words.cpp" -o "$1"
}
make_zig() {
    tools/bin/pip install --quiet ziglang==0.17.1
    tools/bin/python -m ziglang build-exe -target wasm32-wasi -O ReleaseSmall -femit-bin="$1" "$foreign/words.zig"
}
make_assemblyscript() {
    npm install --no-audit --no-fund --silent assemblyscript@0.28.20 @assemblyscript/wasi-shim@0.1.0
    cp "$foreign/words.ts" .
    npx --no-install asc words.ts --config node_modules/@assemblyscript/wasi-shim/asconfig.json -O -o "$1"
}
make_javascript() {
    npm install --no-audit --no-fund --silent @bytecodealliance/componentize-js@0.23.0 @bytecodealliance/preview2-shim@0.25.0
    mkdir -p wit/deps
    cp "$root"/wit/deps/*.wit wit/deps/
    cp "$foreign/words.wit" wit/
    # The stock engine's Python package has no HTTP.
    npx --no-install componentize-js "$foreign/words.js" --wit wit --world-name words --disable http fetch-event --out "$1"
}

state=0
for language in "${languages[@]}"; do
    package=$folder/package-$language
    mkdir -p "$package/app" "$package/skills" "stock-$language/state"
    "make_$language" "$package/app/app.wasm"
    cat > "$package/APP.md" <<MANIFEST
---
schema: agentapplications/v1
kind: app
slug: $language
name: $language
description: Counts words
version: 0.1.0
license: Apache-2.0
authors:
  - The hutch authors
tags:
  - test
entry:
  command: wasm:app.wasm
commands:
  - count
skills: []
metadata:
  hutch:
    state:
      - state
---
Counts words.
MANIFEST
    status=0 other=0
    "$hutch" run --contract any "$package" > "$language.hutch" || status=$?
    tools/bin/python "$foreign/stock.py" "stock-$language" "$package/app/app.wasm" > "$language.stock" || other=$?
    if [ "$status" = "$other" ] && [ -s "$language.stock" ] && cmp "$language.stock" "$language.hutch" \
        && diff -r "stock-$language/state" "$HUTCH_HOME/instances/$language/default/state"; then
        echo "equal: $language, $(wc -c < "$package/app/app.wasm") bytes, status $status, $(ls "stock-$language/state" | wc -l) files"
    else
        echo "differs: $language, status $status and $other in the stock engine" >&2
        state=1
    fi
done
exit $state
