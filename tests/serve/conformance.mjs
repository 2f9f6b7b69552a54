// The official conformance suite against /mcp, through a proxy that adds the token: the suite knows no way to send one. Scenarios about tools that
// a test server must have, prompts among them, are not for a server of real ones: those that need none are here by name.

import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { join } from "node:path";

const SCENARIOS = [
  "server-initialize",
  "server-session-lifecycle",
  "ping",
  "tools-list",
  "resources-list",
  "sep-2164-resource-not-found",
  "sep-2640-skills-enumeration",
  "sep-2640-skills-manifest",
  "dns-rebinding-protection",
  "http-header-validation",
  "server-sse-multiple-streams",
  "sep-2640-skills-directory",
  "server-stateless",
  "caching",
];
// Checks for which the suite asks for tools of its own, or for prompts: exactly these fail, and no other.
const NOT_FOR_US = {
  "server-stateless": [
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-missing-capability-http-400",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-rejects-undeclared-capability",
  ],
  caching: ["sep-2549-prompts-list-caching-hints"],
};
const target = new URL(process.env.HUTCH_URL);
const proxy = createServer((asked, answer) => {
  // Its own name is replaced by the server's; a foreign one stays foreign.
  const here = `${proxy.address().port}`;
  const own = asked.headers.host?.endsWith(`:${here}`) && /^(127\.0\.0\.1|localhost):/.test(asked.headers.host);
  const headers = { ...asked.headers, authorization: `Bearer ${process.env.HUTCH_TOKEN}`, host: own ? target.host : asked.headers.host };
  if (headers.origin && new URL(headers.origin).port === here && own) headers.origin = target.origin;
  const passed = request({ host: target.hostname, port: target.port, method: asked.method, path: asked.url, headers }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    got.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${proxy.address().port}/mcp`;
let failed = 0;
for (const scenario of SCENARIOS) {
  const run = spawn(process.execPath, [join(process.argv[2], "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "server", "--url", url, "--scenario", scenario]);
  let said = "";
  run.stdout.on("data", (text) => (said += text));
  run.stderr.on("data", (text) => (said += text));
  const status = await new Promise((resolve) => run.on("close", resolve));
  // Each check once, however often it is told of.
  const found = [...said.matchAll(/\[(\S+)\s*\]\s*(?:\u001b\[\d+m)?FAILURE/g)].map((one) => one[1]);
  const failures = [...new Set(found)].sort();
  const expected = NOT_FOR_US[scenario] ?? [];
  if ((status !== 0) !== expected.length > 0 || failures.join() !== expected.join()) {
    failed += 1;
    console.error(`conformance: ${scenario} ended with ${status}\n${said}`);
  }
}
proxy.close();
proxy.closeAllConnections();
if (failed > 0) process.exit(1);
console.log(`conformance: ${SCENARIOS.length} scenarios passed, two of them but for ${Object.values(NOT_FOR_US).flat().length} checks that need a test server`);
