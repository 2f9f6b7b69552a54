// npm's package `hutch-native` as a program uses it. One argument: the repository. Lies where the package is installed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as hutch from "hutch-native";

const { Answer, Host, HutchError } = hutch;

const REPOSITORY = process.argv.at(-1);
const TODO = join(REPOSITORY, "packages/todo");
const PROBE = join(REPOSITORY, "tests/packages/probe");
const ENDLESS = { limits: { fuel: 2 ** 63, wall_time_ms: 600_000 } };

function opened(t, options) {
  const host = new Host(options);
  t.after(() => host.close());
  return host;
}

/** The error that a call comes to. */
async function refused(call) {
  const error = await call.then(() => assert.fail("it was answered"), (error) => error);
  assert.ok(error instanceof HutchError, String(error));
  return error;
}

async function titles(todo) {
  return (await todo.run(["list"])).check().output.items.map((item) => item.title);
}

test("a run, its answer, a plan, and the way back", async (t) => {
  const todo = opened(t).package(TODO);
  const answer = (await todo.run(["add", "milk"], { now: "2026-04-01T09:00:00Z", seed: "7" })).check();
  assert.ok(answer.ok && answer.result.kept);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(answer.stdout)), answer.output);
  const plan = await todo.plan(["add", "bread"]);
  assert.deepEqual(await titles(todo), ["milk"]);
  await todo.apply(plan);
  assert.deepEqual(await titles(todo), ["milk", "bread"]);
  await todo.undo({ count: 2 });
  assert.deepEqual(await titles(todo), []);
  const { result } = await todo.verify();
  assert.ok(result.differ === 0 && result.equal >= 5, JSON.stringify(result));
  const kinds = [];
  for await (const { kind } of todo.ledger()) kinds.push(kind);
  assert.deepEqual([kinds.at(-1), kinds.filter((kind) => kind === "undo").length], ["create", 1]);
  assert.ok((await todo.tools()).some(({ name }) => name === "todo_add"));
});

test("what a person must confirm is planned, and applied with consent alone", async (t) => {
  const todo = opened(t).package(TODO);
  (await todo.run(["add", "milk"])).check();
  const remove = ["remove", "td_0001", "--confirm"];
  assert.equal((await refused(todo.run(remove))).code, "CONFIRMATION_REQUIRED");
  const plan = await todo.plan(remove);
  assert.equal((await refused(todo.apply(plan))).code, "CONFIRMATION_REQUIRED");
  assert.deepEqual(await titles(todo), ["milk"]);
  assert.ok((await todo.apply(plan.result.plan_id, { confirmed: true })).ok);
  assert.deepEqual(await titles(todo), []);
  await todo.undo();
  assert.deepEqual(await titles(todo), ["milk"]);
});

test("an entry is proved to whoever has the file", async (t) => {
  const todo = opened(t).package(TODO);
  const added = (await todo.run(["add", "Write docs"])).check();
  const proof = await todo.prove();
  const other = opened(t);
  const checked = await other.check(proof);
  assert.deepEqual(checked.result.argv, ["todo", "add", "Write docs"]);
  assert.deepEqual(checked.stdout, added.stdout);
  const bare = await other.check(await todo.prove({ bare: true }), { package: TODO });
  assert.deepEqual(bare.result.entry, checked.result.entry);
  assert.equal((await refused(other.check(proof.slice(0, -2)))).code, "VERIFY_FAILED");
});

test("what is refused is an error with a code, and a guest that fails is an answer", async (t) => {
  const host = opened(t);
  const [todo, probe] = [host.package(TODO), host.package(PROBE)];
  const unknown = await refused(todo.run(["list"], { nothing: 1 }));
  assert.deepEqual([unknown.code, unknown.status, unknown.fixes], ["USAGE", 2, []]);
  assert.ok(unknown.suggestion.length > 0);
  assert.equal((await refused(host.package("/there/is/none").run(["list"]))).code, "PACKAGE_NOT_FOUND");
  assert.throws(() => new Host({ cache: "x" }), { name: "HutchError", code: "USAGE" });
  for (const other of [{ package: "/etc" }, { instance: "other" }]) await assert.rejects(todo.run(["add", "x"], other), TypeError);
  await assert.rejects(todo.run(["list"], { id: "mine", signal: new AbortController().signal }), TypeError);

  const missing = await todo.run(["get", "td_9999"]);
  assert.ok(missing instanceof Answer && !missing.ok && !missing.result.kept);
  assert.throws(() => missing.check(), { code: "GUEST_FAILED", status: missing.status });
  const trapped = await probe.run(["trap"]);
  assert.throws(() => trapped.check(), (error) => error.code === "GUEST_TRAPPED" && error.details.trap === "unreachable_code_reached");
  assert.equal((await refused(todo.plan(["get", "td_9999"]))).code, "GUEST_FAILED");
});

test("bytes go in as they were when the call was made, and come out unchanged", async (t) => {
  const probe = opened(t).package(PROBE);
  const given = Uint8Array.from({ length: 100_000 }, (_, place) => place % 251);
  const call = probe.run(["stdin-echo"], { stdin: given, contract: "any" });
  const before = given.slice();
  given.fill(0);
  assert.deepEqual((await call).stdout, before);
  assert.deepEqual((await probe.run(["stdin-echo"], { stdin: "ü", contract: "any" })).stdout, Uint8Array.of(0xc3, 0xbc));
  // What a guest wrote is there where the document is too large.
  const lost = await refused(probe.run(["stdout", "20000000"], { contract: "any", limits: { stdout_bytes: 40_000_000 } }));
  assert.deepEqual([lost.code, lost.details.kept, lost.stdout.length], ["ANSWER_LOST", true, 20_000_000]);
});

test("a signal ends a guest that loops, and the event loop goes on meanwhile", async (t) => {
  const host = opened(t);
  const probe = host.package(PROBE);
  // Ready, so that it is the guest that is ended.
  (await probe.run(["exit", "0"], { contract: "any" })).check();
  const abort = new AbortController();
  const spinning = refused(probe.run(["spin"], { signal: abort.signal, ...ENDLESS }));
  for (let round = 0; round < 100; round += 1) await turn();
  const reason = new Error("enough");
  abort.abort(reason);
  const ended = await spinning;
  assert.deepEqual([ended.code, ended.details.kept, ended.cause], ["CANCELLED", false, reason]);

  const named = refused(probe.run(["spin"], { id: "mine", ...ENDLESS }));
  while (host.cancel("mine") === 0) await turn();
  assert.equal((await named).code, "CANCELLED");
  assert.equal((await refused(probe.run(["spin"], { deadline_ms: 500, ...ENDLESS }))).code, "CANCELLED");
  for await (const { error } of probe.ledger()) {
    assert.equal(error, "CANCELLED");
    break;
  }
});

test("a signal ends what waits for a thread too, and what has not begun", async (t) => {
  const probe = opened(t).package(PROBE);
  (await probe.run(["exit", "0"], { contract: "any" })).check();
  const [early, late] = [new AbortController(), new AbortController()];
  const loops = Array.from({ length: 8 }, () => refused(probe.run(["spin"], { signal: late.signal, ...ENDLESS })));
  // All threads loop, so these have none.
  const waiting = Array.from({ length: 2 }, () => refused(probe.run(["spin"], { signal: early.signal, ...ENDLESS })));
  early.abort();
  for (const error of await Promise.all(waiting)) assert.equal(error.code, "CANCELLED");
  late.abort();
  for (const error of await Promise.all(loops)) assert.equal(error.code, "CANCELLED");
  const never = await refused(probe.run(["exit", "0"], { signal: AbortSignal.abort(), contract: "any" }));
  assert.deepEqual([never.code, never.details.kept], ["CANCELLED", false]);
  // Every thread is there again.
  const again = await Promise.all(Array.from({ length: 8 }, () => probe.run(["exit", "0"], { contract: "any", retry: 1000 })));
  assert.ok(again.every((answer) => answer.ok));
});

test("eight calls at once share a host, and lose nothing of each other", async (t) => {
  const todo = opened(t).package(TODO);
  const added = Array.from({ length: 8 }, (_, number) => `item ${number}`);
  const answers = await Promise.all(added.map((title) => todo.run(["add", title], { retry: 1000 })));
  for (const answer of answers) answer.check();
  assert.deepEqual((await titles(todo)).sort(), added);
  assert.equal((await todo.verify()).result.differ, 0);
});

test("state is there for the next host, whichever way guests are run", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hutch-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [home, cache] = [join(folder, "home"), join(folder, "cache")];
  const first = new Host({ home, cache, interpreter: true });
  (await first.package(TODO, "mine").run(["add", "milk"])).check();
  first.close();
  const todo = opened(t, { home, compiler: "" }).package(TODO, "mine");
  assert.deepEqual(await titles(todo), ["milk"]);
  assert.equal((await todo.verify()).result.differ, 0);
});

test("a host that is closed refuses", async () => {
  const host = new Host();
  const todo = host.package(TODO);
  (await todo.run(["list"])).check();
  host.close();
  host.close();
  assert.equal((await refused(todo.run(["list"]))).code, "USAGE");
});

test("a process that ends waits for no guest", () => {
  const script = `
    import { Host } from "hutch-native";
    const host = new Host();
    const probe = host.package(process.argv[1]);
    await probe.run(["exit", "0"], { contract: "any" });
    const spin = (more) => probe.run(["spin"], { ...${JSON.stringify(ENDLESS)}, ...more }).catch(() => {});
    const loops = [{}, {}, { id: "last" }, {}, {}].map(spin);
    // Those before it have threads when it has one.
    while (host.cancel("last") === 0) await new Promise(setImmediate);
    process.exit(3);`;
  const [cwd, timeout] = [fileURLToPath(new URL(".", import.meta.url)), 300_000];
  const { status, signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script, PROBE], { cwd, timeout });
  assert.deepEqual([status, signal, stderr.toString()], [3, null, ""]);
});

test("what the declarations name is there, and what is there is declared", () => {
  const text = readFileSync(join(REPOSITORY, "host/capi/node/hutch.d.ts"), "utf8");
  const declared = [...text.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name).sort();
  assert.deepEqual(Object.keys(hutch).sort(), declared);
  for (const [, name, body] of text.matchAll(/^export class (\w+)[^{]*\{\n([^]*?)^\}/gm)) {
    const methods = [...body.matchAll(/^ {2}(\w+)\(/gm)].map(([, method]) => method);
    const known = Object.getOwnPropertyNames(hutch[name].prototype).filter((method) => method !== "constructor");
    for (const method of methods) assert.ok(method === "constructor" || known.includes(method), `${name}.${method} is declared, and is not there`);
    for (const method of known) assert.match(body, new RegExp(`^ {2}(?:readonly )?${method}[(:]`, "m"), `${name}.${method} is not declared`);
  }
});
