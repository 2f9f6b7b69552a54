#!/bin/sh
# Puts the page together in an empty or new folder, as static files that any server can serve: `host/tab/page.sh FOLDER`. The to-do
# package is beside it as an example: `?package=example/todo.hutch&artifact=example/todo.artifact`. Needs what `cargo build --release` and
# host/tab/build.sh make.
set -eu
[ $# = 1 ] || { echo "usage: host/tab/page.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}/release
cp host/tab/page/* "$out"
mkdir -p "$out/hutch" "$out/example"
for file in hutch.js door.js storage.js pack.js worker.js kept.js hutch.wasm compiler.wasm; do
    cp "host/tab/npm/$file" "$out/hutch/"
done
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
"$target/hutch" --home "$home" pack --output "$out/example/todo.hutch" packages/todo >/dev/null
"$target/hutch" --home "$home" compile --target pulley32 --output "$out/example/todo.artifact" packages/todo >/dev/null
