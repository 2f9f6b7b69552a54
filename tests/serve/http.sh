#!/usr/bin/env bash
# A server over HTTP, by programs that others wrote: a validator of OpenAPI and a client that is generated from the description, the
# protocol's conformance suite, Inspector's command line, a browser with axe-core, and OpenTelemetry's own definitions of what a collector is
# sent. Called by tests/serve/run, which builds the program; what is needed is installed below CARGO_TARGET_DIR. The browser is left out by
# name where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
hutch="$CARGO_TARGET_DIR/release/hutch"
tools="$CARGO_TARGET_DIR/serve-tools"
work=$(mktemp -d)
running=()
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

python="$tools/python/bin/python"
"$python" -m pip install --quiet --disable-pip-version-check openapi-spec-validator==0.9.0 openapi-python-client==0.29.1 opentelemetry-proto==1.45.2
"$python" tests/serve/collector.py "$work/collector" "$work/collected" &
running+=($!)
until [ -s "$work/collector" ]; do kill -0 "${running[@]}"; done
OTEL_EXPORTER_OTLP_ENDPOINT=$(cat "$work/collector") "$hutch" serve --home "$work/home" --listen 127.0.0.1:0 --log json --tools-max 40 --query url packages/todo \
    >"$work/url" 2>"$work/log" &
server=$!
running+=("$server")
# A pipe would do without looking again, but a server that can't begin would never close it.
until [ -s "$work/url" ]; do kill -0 "${running[@]}"; done
url=$(tr -d '"' <"$work/url")
token() { sed -n "s/^$1 [a-z,]* //p" "$work/home/serve.tokens"; }

"$hutch" serve --print --query openapi >"$work/openapi.json"
"$python" -m openapi_spec_validator "$work/openapi.json"
"$tools/python/bin/openapi-python-client" generate --path "$work/openapi.json" --output-path "$work/generated" --meta none >/dev/null
PYTHONPATH="$work" HUTCH_URL="$url" HUTCH_TOKEN="$(token operator)" "$python" tests/serve/api_client.py

# Inspector's command line, which tests/serve/run has installed.
inspect() {
    "$tools/inspector/node_modules/.bin/node" "$tools/inspector/node_modules/.bin/mcp-inspector" --cli "$url/mcp" \
        --header "Authorization: Bearer $(token agent)" --format json "$@"
}
inspect --method tools/list --strict >"$work/answer"
grep -q '"todo_add"' "$work/answer"
inspect --method tools/call --tool-name todo_add --tool-arg "title=Write docs" >"$work/answer"
grep -q '"title":"Write docs"' "$work/answer"
inspect --method tools/call --tool-name todo_list --load --load-requests 200 --load-concurrency 20 >"$work/answer"
grep -qE '"ok": ?200' "$work/answer"
echo "HTTP: Inspector, 3 requests and 200 calls"

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
for line in 'span POST /api/packages/{slug}/run' 'span tools/call todo_list' 'span run todo' 'metric http.server.request.duration s' 'metric mcp.server.operation.duration s' 'metric hutch.run.fuel {fuel}'; do
    grep -qxF "hutch $line" "$work/collected" || { echo "collector: there is no $line" >&2; exit 1; }
done
"$python" -c 'import json, sys; assert all(json.loads(line)["event"] in ("call", "request", "tool") for line in sys.stdin)' <"$work/log"
echo "HTTP: $(grep -c ' span ' "$work/collected") spans collected, $(wc -l <"$work/log") lines written"
echo "HTTP: ended well"
