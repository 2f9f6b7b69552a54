// The module in workerd, the runtime of Cloudflare's workers, which compiles nothing from bytes: it comes to what native code comes to,
// keeps state in a Durable Object, and refuses what it should.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { Door } from "../../host/tab/npm/door.js";
import { durable } from "../../host/tab/npm/edge.js";
import { inTurn } from "../../host/tab/npm/kept.js";
import { holdsToNative } from "../tab/alike.mjs";
import { Machine, PACKAGES, ROOT, temporary } from "../tab/machine.mjs";

const WORKERD = join(process.env.HUTCH_WORKERD, "node_modules/workerd/bin/workerd");
const SETTINGS = ["at", "clock_start", "seed", "environment", "secrets", "limits", "contract", "unchecked", "guard", "confirmed", "digests_only", "wall_time_us", "import"];
const given = { package: "todo", at: "2026-04-01T09:00:00Z", seed: "7" };

/** What is deployed, in a folder: the program of host/docs/elsewhere.md with two packages. */
function deployed(t) {
  const folder = temporary(t);
  const machine = new Machine(folder);
  cpSync(join(ROOT, "host/tab/npm"), join(folder, "hutch"), { recursive: true });
  const slugs = Object.keys(PACKAGES);
  const modules = slugs.flatMap((slug) => [`${slug}.tar`, `${slug}.artifact`]).map((name) => `(name = "${name}", data = embed "${name}"),`);
  const config = readFileSync(join(ROOT, "tests/edge/config.capnp"), "utf8").replace("PACKAGES", modules.join("\n    "));
  writeFileSync(join(folder, "config.capnp"), config);
  const imports = slugs.map((slug) => `import ${slug}Artifact from "./${slug}.artifact";\nimport ${slug} from "./${slug}.tar";\n`);
  const all = `${imports.join("")}export default [${slugs.map((slug) => `{ packed: ${slug}, artifact: ${slug}Artifact }`)}];\n`;
  writeFileSync(join(folder, "all.js"), all);
  copyFileSync(join(ROOT, "tests/edge/packages.js"), join(folder, "packages.js"));
  const [, program] = /```js\n(import packages [^`]*(?:`[^`]+`[^`]*)*?)```\n/.exec(readFileSync(join(ROOT, "host/docs/elsewhere.md"), "utf8"));
  // What an embedder says of a call, these tests say in a header: nothing of it is taken from a request.
  const own = program.replace("this.#edge.fetch(request)", 'this.#edge.fetch(request, JSON.parse(request.headers.get("settings") ?? "{}"))');
  assert.notEqual(own, program);
  writeFileSync(join(folder, "applications.js"), own);
  for (const slug of slugs) {
    writeFileSync(join(folder, `${slug}.tar`), machine.packed(slug));
    machine.artifact(slug);
  }
  mkdirSync(join(folder, "kept"));
  return { folder, machine };
}

/** A process of it; `ask` answers like the module, with the HTTP status beside it. */
async function started(t, folder) {
  const child = spawn(WORKERD, ["serve", "--control-fd=3", "config.capnp"], { cwd: folder, stdio: ["ignore", "inherit", "inherit", "pipe"] });
  const ended = once(child, "exit");
  t.after(() => child.kill("SIGKILL"));
  const port = await new Promise((resolve, reject) => {
    let said = "";
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
    child.stdio[3].on("data", (part) => {
      said += part;
      const listening = said.split("\n").filter((line) => line.includes('"listen"'))[0];
      if (listening) resolve(JSON.parse(listening).port);
    });
  });
  const url = `http://127.0.0.1:${port}/`;
  const send = (body, more = {}) => fetch(url, { method: "POST", headers: { authorization: "Bearer for tests" }, body, ...more });
  return {
    send,
    async ask(whole) {
      const request = {};
      const settings = {};
      for (const [name, value] of Object.entries(whole)) (SETTINGS.includes(name) ? settings : request)[name] = value;
      const headers = { authorization: "Bearer for tests", settings: JSON.stringify(settings) };
      const answered = await send(JSON.stringify(request), { headers });
      const { attachment = "", ...json } = await answered.json();
      return { status: answered.status, json, attachment: new Uint8Array(Buffer.from(attachment, "base64")) };
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

test("native code and workerd come to the same", async (t) => {
  const { folder, machine } = deployed(t);
  const { ask } = await started(t, folder);
  await holdsToNative(t, machine, ask, { host: "an edge runtime: workerd" });
});

test("what was answered is there after the process was killed", async (t) => {
  const { folder } = deployed(t);
  const first = await started(t, folder);
  const begun = performance.now();
  const added = await first.ask({ ...given, op: "run", arguments: ["add", "Write docs"] });
  const between = performance.now();
  await first.ask({ ...given, op: "run", arguments: ["list"] });
  const done = performance.now();
  // The digest that README's tour shows.
  assert.equal(added.json.result.volumes.state.after, "2acdfb9c193941b67dd69ceefc7590ed386b1895a301ee42cf948e36f8dc588e");
  const bytes = 20_000_000;
  const large = { ...given, package: "probe", op: "run", arguments: ["write-file", "state/large", String(bytes)] };
  const written = await first.ask(large);
  assert.equal(written.json.result?.kept, true, JSON.stringify(written.json));
  await first.kill();

  const second = await started(t, folder);
  const listed = await second.ask({ ...given, op: "run", arguments: ["list"] });
  assert.equal(listed.json.result.output.items[0].title, "Write docs");
  const file = await second.ask({ at: given.at, package: "probe", op: "read", path: "state/large" });
  assert.ok(Buffer.from(file.attachment).equals(Buffer.alloc(bytes, "abcdefghijklmnopqrstuvwxyz")), `${file.attachment.length} bytes: ${JSON.stringify(file.json)}`);
  const { json } = await second.ask({ at: given.at, package: "todo", op: "verify" });
  assert.ok(json.result.items.filter((item) => item.status === "equal").length >= 3);
  const wasm = readFileSync(join(folder, "hutch/hutch.wasm"));
  t.diagnostic(`module ${wasm.length} bytes, ${gzipSync(wasm).length} gzipped; artifact of todo ${statSync(join(folder, "todo.artifact")).size}`);
  t.diagnostic(`first request ${Math.round(between - begun)} ms, next ${Math.round(done - between)} ms`);
});

test("what is asked wrongly is refused, and nothing is kept of it", async (t) => {
  const { folder, machine } = deployed(t);
  const { ask, send } = await started(t, folder);
  assert.equal((await send("{}", { headers: {} })).status, 401);
  assert.equal((await send(undefined, { method: "GET" })).status, 405);
  assert.equal((await send("x".repeat(16 * 1024 * 1024 + 1))).status, 413);
  const refused = async (request, status, code) => {
    const { status: said, json } = await ask(request);
    assert.deepEqual([said, json.code], [status, code], JSON.stringify(json));
  };
  // Code is the embedder's alone to bring.
  for (const [op, file] of [["load", "probe.tar"], ["artifact", "probe.artifact"], ["open"], ["start"], [undefined]]) {
    // As the module itself would take it.
    const attachment = file && readFileSync(join(folder, file)).toString("base64");
    const { status, json } = await ask({ op, attachment });
    assert.equal(status, 400);
    assert.match(json.message ?? "", /^the op of a request is one of /, `${op}: ${JSON.stringify(json)}`);
  }
  // Nor does a caller confirm for a person, nor say what the clock is or what is checked.
  for (const [name, value] of Object.entries({
    confirmed: true, unchecked: true, at: given.at, clock_start: given.at, seed: "7", guard: "none", limits: { fuel: 1 }, contract: "any",
    environment: { A: "b" }, secrets: { A: "b" }, digests_only: true, wall_time_us: 1, other: 1,
  })) {
    const answered = await send(JSON.stringify({ op: "run", package: "todo", arguments: ["list"], [name]: value }));
    assert.deepEqual([answered.status, (await answered.json()).code], [400, "USAGE"], name);
  }
  const removed = { op: "run", package: "todo", arguments: ["remove", "td_0001", "--confirm"] };
  await refused({ ...removed, at: given.at }, 422, "CONFIRMATION_REQUIRED");
  await refused({ ...given, op: "run" }, 400, "USAGE");
  await refused({ ...given, op: "run", arguments: ["list"], instance: "../other" }, 400, "USAGE");
  await refused({ ...given, op: "import", import: true, attachment: "!" }, 400, "USAGE");
  // Nor does a bundle bring a package, though the code of its component is here: of another version, as what the answer is held to shows.
  const changed = join(folder, "changed");
  cpSync(PACKAGES.todo, changed, { recursive: true });
  const manifest = readFileSync(join(changed, "APP.md"), "utf8");
  writeFileSync(join(changed, "APP.md"), manifest.replace("description: Keeps", "description: Holds"));
  machine.run(["run", "--contract", "schema", "--instance", "brought", changed, "add", "Brought"]);
  machine.answer(["instance", "export", "--instance", "brought", "--packages", "--output", join(folder, "brought"), changed]);
  const attachment = readFileSync(join(folder, "brought")).toString("base64");
  const { package: slug, at } = given;
  await refused({ op: "import", import: true, package: slug, at, instance: "brought", attachment }, 422, "NOT_REPRODUCIBLE");
  const failed = await ask({ ...given, op: "run", arguments: ["complete", "td_9999"] });
  assert.deepEqual([failed.status, failed.json.result.kept], [200, false]);
  assert.deepEqual((await ask({ ...given, op: "run", arguments: ["list"] })).json.result.output.count, 0);
});

test("a bundle, which says itself that a person agreed, is taken in where the embedder says so, and nowhere else", async (t) => {
  const { folder } = deployed(t);
  const { ask, send } = await started(t, folder);
  const { package: slug, at } = given;
  await ask({ ...given, op: "run", arguments: ["add", "Kept"] });
  const carry = async (from) => Buffer.from((await ask({ op: "export", package: slug, at, instance: from })).attachment).toString("base64");
  // Whoever sends this made it on a host of their own, and agreed there: a title that no guard lets through, and a removal.
  const elsewhere = { op: "import", import: true, package: slug, at, instance: "elsewhere", attachment: await carry("default") };
  assert.equal((await ask(elsewhere)).status, 200);
  const made = { ...given, op: "run", instance: "elsewhere" };
  const title = "AKIAIOSFODNN7EXAMPLQ";
  const added = await ask({ ...made, arguments: ["add", title], guard: "off", clock_start: "1999-01-01T00:00:00Z" });
  const removed = await ask({ ...made, arguments: ["remove", "td_0001", "--confirm"], confirmed: true });
  assert.deepEqual([added.json.result?.kept, removed.json.result?.kept], [true, true], JSON.stringify([added.json, removed.json]));
  const request = { op: "import", package: slug, attachment: await carry("elsewhere") };
  const { head } = (await ask({ op: "ledger", package: slug, at })).json.result;
  for (const settings of [{}, { import: "yes" }, { import: 1 }, { confirmed: true }]) {
    const { status, json } = await ask({ ...request, at, ...settings });
    assert.deepEqual([status, json.code], [400, "USAGE"], JSON.stringify(settings));
    assert.match(json.message, /^the op of a request is one of (?!.*import)/);
  }
  assert.equal((await send(JSON.stringify({ ...request, import: true }))).status, 400);
  assert.equal((await send(JSON.stringify(request))).status, 400);
  assert.deepEqual((await ask({ op: "ledger", package: slug, at })).json.result.head, head);
  assert.equal((await ask({ ...request, at, import: true })).status, 200);
  const listed = await ask({ ...given, op: "run", arguments: ["list"] });
  assert.deepEqual(listed.json.result.output.items.map((item) => item.title), [title]);
});

/** A Durable Object's storage as its documents bound it: 128 KiB a value, 128 pairs a write, a transaction whole or not at all. */
function bounded() {
  const kept = new Map();
  let writes = 0;
  const put = (into) => async (pairs) => {
    assert.ok(Object.keys(pairs).length <= 128, `${Object.keys(pairs).length} pairs`);
    for (const [key, value] of Object.entries(pairs)) {
      assert.ok(value.length <= 128 * 1024, `${value.length} bytes`);
      into.set(key, value);
    }
    writes += 1;
    if (writes === storage.failing) throw new Error("the storage fails");
  };
  const storage = {
    kept,
    failing: 0,
    async list({ prefix }) { return new Map([...kept].filter(([key]) => key.startsWith(prefix)).sort(([one], [other]) => (one < other ? -1 : 1))); },
    async transaction(inside) {
      const next = new Map();
      await inside({ put: put(next) });
      next.forEach((value, key) => kept.set(key, value));
    },
  };
  return storage;
}

test("a log keeps to what a Durable Object takes, and an entry is in it whole or not at all", async () => {
  const storage = bounded();
  const log = await durable(storage).log("a");
  const bytes = Buffer.alloc(20_000_000, "abcdefghijklmnopqrstuvwxyz");
  await log.append(new Uint8Array(bytes));
  await log.append(new Uint8Array([1, 2, 3]));
  const whole = async () => Buffer.from((await durable(storage).log("a")).read());
  assert.ok((await whole()).equals(Buffer.concat([bytes, Buffer.from([1, 2, 3])])));
  const begun = storage.kept.size;
  // The second write of an entry that takes two.
  storage.failing = 5;
  await assert.rejects(log.append(new Uint8Array(bytes)), /the storage fails/);
  assert.equal(storage.kept.size, begun);
});

test("a job begins when the one before has ended, however it ended", async () => {
  const turn = inTurn();
  const said = [];
  const job = (name, fails) => turn(async () => {
    said.push(`${name} begins`);
    await new Promise(setImmediate);
    said.push(`${name} ends`);
    if (fails) throw new Error(name);
  });
  await Promise.allSettled([job("a"), job("b", true), job("c")]);
  assert.deepEqual(said, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("calls at one time go on one after the other, and none is lost", async (t) => {
  const { folder } = deployed(t);
  const { ask } = await started(t, folder);
  const titles = Array.from({ length: 12 }, (_, at) => `Task ${at}`);
  const added = await Promise.all(titles.map((title) => ask({ ...given, op: "run", arguments: ["add", title] })));
  assert.deepEqual(added.map(({ json }) => json.result.kept), titles.map(() => true));
  const listed = await ask({ ...given, op: "run", arguments: ["list"] });
  assert.deepEqual(listed.json.result.output.items.map(({ title }) => title).sort(), titles.sort());
});

test("what waits is bounded, and what has ended makes room", async () => {
  const { Edge } = await import("../../host/tab/npm/edge.js");
  // A host that is never begun: what is asked here ends before.
  const edge = new Edge({ wasm: null, storage: null, packages: [] });
  const ends = [];
  const request = () => {
    const body = new ReadableStream({ start(controller) { ends.push(() => (controller.enqueue(new TextEncoder().encode("{")), controller.close())); } });
    return edge.fetch(new Request("http://x/", { method: "POST", body, duplex: "half" }));
  };
  const waiting = Array.from({ length: 16 }, request);
  const refused = await request();
  assert.deepEqual([refused.status, (await refused.json()).code, refused.headers.get("retry-after")], [503, "SERVER_BUSY", "1"]);
  ends.splice(0).forEach((end) => end());
  assert.deepEqual((await Promise.all(waiting)).map(({ status }) => status), Array(16).fill(400));
  const again = request();
  ends.splice(0).forEach((end) => end());
  assert.equal((await again).status, 400);
  // Nor may all of them together bring more than there is memory for.
  const large = Array.from({ length: 4 }, () => new Request("http://x/", { method: "POST", body: "x".repeat(15 * 1024 * 1024) }));
  const said = (await Promise.all(large.map((one) => edge.fetch(one)))).map(({ status }) => status);
  assert.ok(said.includes(503) && said.every((status) => status === 503 || status === 400), said.join(" "));
});

test("an artifact that was changed runs nothing, whichever byte it is", async (t) => {
  const { folder } = deployed(t);
  const path = join(folder, "todo.artifact");
  const artifact = new Uint8Array(readFileSync(path));
  const door = new Door(new WebAssembly.Module(readFileSync(join(folder, "hutch/hutch.wasm"))));
  const step = Math.ceil(artifact.length / 200);
  for (let at = 0; at < artifact.length + step; at += at < 300 ? 1 : step) {
    const place = Math.min(at, artifact.length - 1);
    artifact[place] ^= 1;
    const { json } = door.call({ op: "artifact" }, artifact);
    assert.equal(json.code, "COMPONENT_INVALID", `byte ${place}: ${JSON.stringify(json)}`);
    artifact[place] ^= 1;
  }
  assert.ok(door.call({ op: "artifact" }, artifact).json.ok);
  artifact[artifact.length >> 1] ^= 1;
  writeFileSync(path, artifact);
  const { ask } = await started(t, folder);
  const { status, json } = await ask({ ...given, op: "run", arguments: ["list"] });
  assert.deepEqual([status, json.code], [500, "COMPONENT_INVALID"], JSON.stringify(json));
});
