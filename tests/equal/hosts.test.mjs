// Every host beside the native program, but for those that tests/tab and tests/edge try. What is to be tried is named by the environment:
// HUTCH_ASK_C, HUTCH_ASK_RUST, HUTCH_ASK_NODE, HUTCH_FULL, HUTCH_PYTHON, HUTCH_PLAYWRIGHT, HUTCH_DENO, HUTCH_BUN; tests/equal/run sets it. HUTCH_ASK_ARM is
// set by tests/sandbox/other-processors.sh.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";
import { LIBRARY, PROGRAM, holdsToNative } from "../tab/alike.mjs";
import { CLOCK, LIMITS, SEED } from "../tab/calls.mjs";
import { Machine, PACKAGES, ROOT, TARGET, temporary } from "../tab/machine.mjs";

/** A process that answers a line with a line. */
function asking(t, command, args) {
  const child = spawn(command, args, { env: { PATH: process.env.PATH }, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  const waiting = [];
  let gone = null;
  const ended = (why) => {
    gone = new Error(`${command}: ${why}`);
    waiting.splice(0).forEach(({ reject }) => reject(gone));
  };
  child.on("error", ended);
  child.stdin.on("error", ended);
  child.on("exit", (code) => ended(`it ended with ${code}`));
  createInterface({ input: child.stdout }).on("line", (line) => waiting.shift().resolve(JSON.parse(line)));
  return (request) =>
    new Promise((resolve, reject) => {
      if (gone) return reject(gone);
      waiting.push({ resolve, reject });
      child.stdin.write(`${JSON.stringify(request)}\n`);
    });
}

/** Tries a process on a home of its own, with the same packages installed. */
function tries(name, program, args, exact = true) {
  test(`native code and ${name} come to the same`, { skip: program ? false : "left out" }, async (t) => {
    const [machine, other] = [new Machine(temporary(t)), new Machine(temporary(t))];
    await holdsToNative(t, machine, asking(t, program, args(other.home)), { as: LIBRARY, host: name, exact });
  });
}

const compiler = join(TARGET, "release/hutch");
const { HUTCH_ASK_C: c, HUTCH_ASK_RUST: rust, HUTCH_ASK_NODE: node, HUTCH_ASK_ARM: arm, HUTCH_FULL: full, HUTCH_PYTHON: python } = process.env;
tries("C, over hutch.h", c, (home) => [JSON.stringify({ home, compiler })]);
tries("the interpreter, over hutch.h", c, (home) => [JSON.stringify({ home, interpreter: true })], false);
tries("Python's package", python, (home) => [join(ROOT, "tests/equal/ask.py"), home]);
tries("Node's package", node && process.execPath, (home) => [node, home]);
tries("Rust, by the crate", rust, (home) => [home]);
tries("64-bit ARM, under qemu", arm, (home) => [home], false);

test("native code, compiled into a cache and found there, come to the same", { skip: rust ? false : "left out" }, async (t) => {
  const cache = temporary(t);
  // What is found there is all there is: this one can't compile.
  for (const [host, code] of [["Rust, with a cold cache", "--into"], ["Rust, with a warm cache", "--from"]]) {
    const [machine, other] = [new Machine(temporary(t)), new Machine(temporary(t))];
    await holdsToNative(t, machine, asking(t, rust, [other.home, code, cache]), { as: LIBRARY, host, exact: true });
  }
});

test("native code for the baseline and for all that the processor has come to the same", { skip: rust && full ? false : "left out" }, async (t) => {
  const folder = temporary(t);
  const files = Object.entries(PACKAGES).map(([slug, path]) => {
    const [component] = readdirSync(join(path, "app")).filter((name) => name.endsWith(".wasm"));
    const file = join(folder, slug);
    const { status, stdout, stderr } = spawnSync(full, [join(path, "app", component), file], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    t.diagnostic(`${slug}: ${stdout.trim()}`);
    return file;
  });
  const [machine, other] = [new Machine(temporary(t)), new Machine(temporary(t))];
  // How deep a stack goes is the code's own.
  const named = { as: LIBRARY, host: "Rust, on all that the processor has" };
  await holdsToNative(t, machine, asking(t, rust, [other.home, "--given", ...files]), named);
});

/** The entries of a state file: parts of `hutch-bundle-1`, each a length, items and a digest; an item is a letter, a length, and bytes. */
function entriesOf(file) {
  const entries = [];
  for (let part = 0; part < file.length; ) {
    const start = part + "hutch-bundle-1\n".length + 8;
    const end = start + Number(file.readBigUInt64LE(start - 8));
    for (let at = start; at < end; ) {
      const next = at + 9 + Number(file.readBigUInt64LE(at + 1));
      if (file[at] === "E".charCodeAt(0)) entries.push({ entry: JSON.parse(file.subarray(at + 9, next)) });
      at = next;
    }
    part = end + 32;
  }
  return entries;
}

test("native code and hutch-edge come to the same", { skip: process.env.HUTCH_EDGE ? false : "left out" }, async (t) => {
  const machine = new Machine(temporary(t));
  const folder = temporary(t);
  for (const slug of Object.keys(PACKAGES)) machine.answer(["pack", "--compiled", "--output", join(folder, `${slug}.bundle`), PACKAGES[slug]]);
  const ask = ({ package: slug, instance, call, entry }) => {
    const state = join(folder, `${slug}.${instance}.state`);
    const { verb = "run", args = [], limits = {}, contract = "json", stdin, unchecked, confirmed } = call ?? {};
    const asked = (words) => {
      const { status, stdout, stderr, error } = spawnSync(process.env.HUTCH_EDGE, words, { env: {}, input: "", maxBuffer: 1 << 28 });
      if (error) throw error;
      return { status, stdout, stderr };
    };
    const bundle = join(folder, `${slug}.bundle`);
    if (!call) {
      const items = entriesOf(readFileSync(state));
      // An entry's hash stands in the next one; that of the last is what the program says of its state.
      const verified = asked(["verify", "--state", state, bundle]);
      assert.equal(verified.status, 0, String(verified.stderr));
      const hashes = [...items.slice(1).map(({ entry }) => entry.previous), JSON.parse(verified.stdout).head.hash];
      return { items: items.map((item, at) => ({ ...item, hash: hashes[at] })) };
    }
    const said = ["--state", state, "--at", entry.at, "--instance", instance];
    if (verb === "undo") return asked([verb, ...said, bundle]);
    const took = entry.outcome?.wall_time_us;
    const set = Object.entries({ ...LIMITS, ...limits }).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
    const chosen = ["--contract", contract, ...set, ...(unchecked ? ["--unchecked"] : []), ...(confirmed ? ["--yes"] : [])];
    const flags = [...said, ...(took === undefined ? [] : ["--wall-time-us", `${took}`]), "--now", CLOCK, "--seed", SEED, ...chosen];
    return asked(["run", ...flags, ...(stdin === undefined ? [] : ["--stdin-text", stdin]), bundle, ...args]);
  };
  await holdsToNative(t, machine, ask, { as: PROGRAM, host: "hutch-edge", exact: true });
});

/** A module with all packages, in which an instance is opened when it is first asked for. */
async function loaded(machine, ask) {
  const good = async (request, attachment) => {
    const { json } = await ask(request, attachment);
    if (!json.ok) throw new Error(JSON.stringify(json));
  };
  for (const slug of Object.keys(PACKAGES)) {
    await good({ op: "artifact" }, machine.artifact(slug));
    await good({ op: "load" }, machine.packed(slug));
  }
  const opened = new Set();
  return async (request) => {
    const { package: slug, instance } = request;
    if (!opened.has(instance)) await good({ op: "open", package: slug, instance, key: "00".repeat(32) });
    opened.add(instance);
    return ask(request);
  };
}

for (const [name, program, args] of [["Deno", process.env.HUTCH_DENO, ["run", "--allow-read"]], ["Bun", process.env.HUTCH_BUN, ["run"]]]) {
  test(`native code and ${name} come to the same`, { skip: program ? false : "left out" }, async (t) => {
    const machine = new Machine(temporary(t));
    const child = asking(t, program, [...args, join(ROOT, "tests/equal/ask.mjs")]);
    const ask = async (request, attachment) => {
      const answered = await child({ request, attachment: attachment && Buffer.from(attachment).toString("base64") });
      return { json: answered.json, attachment: new Uint8Array(Buffer.from(answered.attachment, "base64")) };
    };
    await holdsToNative(t, machine, await loaded(machine, ask), { host: `a tab's module in ${name}` });
  });
}

/** A host runs in a worker: on a page's thread a browser instantiates no module of its size. */
const PAGE = `<!doctype html><title>hosts</title><script>
const worker = new Worker("/worker.js", { type: "module" });
const waiting = [];
worker.onmessage = ({ data }) => waiting.shift()(data);
window.ask = (request) => new Promise((resolve) => {
  waiting.push(resolve);
  worker.postMessage(request);
});
</script>`;
const WORKER = `
import { Door } from "/npm/door.js";
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const text = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const door = fetch("/npm/hutch.wasm").then(WebAssembly.compileStreaming).then((module) => new Door(module));
onmessage = async ({ data: [request, attachment] }) => {
  const answered = (await door).call(request, attachment && bytes(attachment));
  postMessage({ json: answered.json, attachment: text(answered.attachment) });
};
`;
const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };

test("native code and Chromium come to the same", { skip: process.env.HUTCH_PLAYWRIGHT ? false : "left out" }, async (t) => {
  const { chromium } = createRequire(join(process.env.HUTCH_PLAYWRIGHT, "equal.js"))("playwright-core");
  const machine = new Machine(temporary(t));
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://x").pathname);
    const type = path === "/" ? "text/html" : TYPES[extname(path)];
    response.writeHead(type ? 200 : 404, { "content-type": type ?? "text/plain" });
    if (path === "/" || path === "/worker.js") return response.end(path === "/" ? PAGE : WORKER);
    response.end(type && readFileSync(join(ROOT, "host/tab", path)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const browser = await chromium.launch({ executablePath: process.env.HUTCH_CHROMIUM, args: ["--no-sandbox"] });
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const ask = async (request, attachment) => {
    const given = attachment && Buffer.from(attachment).toString("base64");
    const { json, attachment: answered } = await page.evaluate((request) => window.ask(request), [request, given]);
    return { json, attachment: new Uint8Array(Buffer.from(answered, "base64")) };
  };
  await holdsToNative(t, machine, await loaded(machine, ask), { host: "a tab's module in Chromium" });
});
