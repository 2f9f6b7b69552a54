#!/usr/bin/env bash
# A server over HTTP, by programs that others wrote: a validator of OpenAPI and a client that is generated from the description, the
# protocol's conformance suite, and a browser with axe-core. Called by tests/serve/run, which builds the program; what is needed is installed
# below CARGO_TARGET_DIR. The browser is left out by name where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
hutch="$CARGO_TARGET_DIR/release/hutch"
tools="$CARGO_TARGET_DIR/serve-tools"
work=$(mktemp -d)
"$hutch" serve --home "$work/home" --listen 127.0.0.1:0 --query url packages/todo >"$work/url" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
# A pipe would do without looking again, but a server that can't begin would never close it.
until [ -s "$work/url" ]; do kill -0 "$server"; done
url=$(tr -d '"' <"$work/url")
token() { sed -n "s/^$1 [a-z,]* //p" "$work/home/serve.tokens"; }

python="$tools/python/bin/python"
"$python" -m pip install --quiet --disable-pip-version-check openapi-spec-validator==0.9.0 openapi-python-client==0.29.1
"$hutch" serve --print --query openapi >"$work/openapi.json"
"$python" -m openapi_spec_validator "$work/openapi.json"
"$tools/python/bin/openapi-python-client" generate --path "$work/openapi.json" --output-path "$work/generated" --meta none >/dev/null
PYTHONPATH="$work" HUTCH_URL="$url" HUTCH_TOKEN="$(token operator)" "$python" tests/serve/api_client.py

npm install --silent --no-audit --no-fund --prefix "$tools/conformance" @modelcontextprotocol/conformance@0.2.0-alpha.12 node@22.23.3
HUTCH_URL="$url" HUTCH_TOKEN="$(token operator)" "$tools/conformance/node_modules/.bin/node" tests/serve/conformance.mjs "$tools/conformance"

chromium="${HUTCH_CHROMIUM:-/usr/bin/chromium}"
if [ ! -x "$chromium" ]; then
    echo "left out: the pages, for want of $chromium"
else
    npm install --silent --no-audit --no-fund --prefix "$tools/browser" playwright-core@1.65.1 axe-core@4.14.1
    HUTCH_URL="$url" HUTCH_TOKEN="$(token operator)" HUTCH_CHROMIUM="$chromium" HUTCH_BROWSER="$tools/browser" node --test tests/serve/page.test.mjs
fi
kill -TERM "$server"
wait "$server"
echo "HTTP: ended well"
