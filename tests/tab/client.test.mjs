// The package as a program uses it, in Node: a worker, a folder, deadlines, and what is left after a worker was ended.

import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { Hutch, pack } from "../../host/tab/npm/hutch.js";
import { FOLDERS, Machine, temporary } from "./machine.mjs";

const CLOCK = "2026-03-01T09:00:00Z";
const given = { at: CLOCK, seed: "7" };
const refuses = (promise, code) => assert.rejects(promise, (error) => (assert.equal(error.code, code, error.message), true));

async function open(t, storage) {
  const hutch = await Hutch.open({ storage });
  t.after(() => hutch.close());
  return hutch;
}

test("what a run left is there after the host was ended, and goes on", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const storage = { kind: "folder", path: join(folder, "kept") };
  const first = await open(t, storage);
  const { slug, contract } = await first.install(machine.packed("todo"), machine.artifact("todo"));
  assert.equal(slug, "todo");
  assert.ok(contract.commands.some((command) => command.name === "add"));
  const added = await first.run("todo", ["add", "Write docs"], given);
  assert.deepEqual([added.status, added.kept, added.output.count], [0, true, 1]);
  // Who holds a log holds it alone, also within one process.
  await refuses(Hutch.open({ storage }).then(async (other) => {
    t.after(() => other.close());
    await other.run("todo", ["list"], given);
  }), "INSTANCE_BUSY");
  await first.close();

  const second = await open(t, storage);
  assert.deepEqual([...second.packages.keys()], ["todo"]);
  const listed = await second.run("todo", ["list"], given);
  assert.equal(listed.output.items[0].title, "Write docs");
  assert.deepEqual((await second.objects("todo")).volumes, { state: added.volumes.state.after });
  const moved = await second.undo("todo", { at: CLOCK });
  assert.equal(moved.volumes.state.listed[0].change, "removed");
  await second.close();

  // Ended while it wrote: what was whole is there, and the rest is cut off before anything is added.
  const log = join(storage.path, "todo@default.log");
  const whole = readFileSync(log);
  appendFileSync(log, whole.subarray(0, 100));
  const third = await open(t, storage);
  assert.equal((await third.run("todo", ["list"], given)).output.count, 0);
  assert.deepEqual(readFileSync(log).subarray(0, whole.length), whole);
  const { items, head } = await third.ledger("todo");
  assert.equal(items.length, head.sequence);
  const verified = await third.verify("todo");
  assert.ok(verified.items.filter((item) => item.status === "equal").length >= 3);
});

test("a guest that does not end is ended, and nothing of it is kept", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const hutch = await open(t, { kind: "folder", path: join(folder, "kept") });
  await hutch.install(machine.packed("probe"), machine.artifact("probe"));
  const kept = await hutch.run("probe", ["write-text", "state/keep", "kept"], given);
  const limits = { wall_time_ms: 100, fuel: 1_000_000_000_000 };
  await assert.rejects(hutch.run("probe", ["write-then-spin", "state/gone"], { ...given, limits }), (error) => {
    assert.deepEqual([error.code, error.report.details.kept], ["WALL_TIME_LIMIT", false]);
    return true;
  });
  // The worker that took its place has the folder, and another host does not.
  const { volumes, items } = await hutch.objects("probe", { path: "state" });
  assert.equal(volumes.state, kept.volumes.state.after);
  assert.deepEqual(items.map((item) => item.path), ["state/keep"]);
  assert.equal((await hutch.run("probe", ["return-ok"], given)).status, 0);
});

test("refusals have the host's codes", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const hutch = await open(t, { kind: "memory" });
  await refuses(hutch.install(machine.packed("todo"), new Uint8Array([1, 2, 3])), "COMPONENT_INVALID");
  await hutch.install(machine.packed("todo"), machine.artifact("todo"));
  assert.equal((await hutch.run("todo", ["list"], given)).status, 0);
  await refuses(hutch.run("todo", ["nonsense"], given), "ARGUMENT_INVALID");
  await refuses(hutch.run("none", ["list"], given), "PACKAGE_NOT_FOUND");
  await refuses(hutch.run("../todo", ["list"], given), "USAGE");
  await refuses(hutch.install(new Uint8Array(2000)), "PACKAGE_NOT_FOUND");
  await refuses(hutch.install(new TextEncoder().encode("no archive")), "PACKAGE_INVALID");
  const damaged = machine.artifact("todo");
  damaged[1000] ^= 1;
  await refuses(hutch.install(machine.packed("todo"), damaged), "COMPONENT_INVALID");
  // None of it has ended the host.
  assert.equal((await hutch.run("todo", ["list"], given)).status, 0);
});

/** A module with the interface of the host's, whose answer is a trap. */
const PANICKING = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  // (i32) -> i32, (i32 i32) -> (), (i32 i32 i32 i32) -> i32; three functions; one memory
  1, 0x13, 3, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 0, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f,
  3, 4, 3, 0, 1, 2,
  5, 3, 1, 0, 1,
  ...section(7, [4, ...named("memory", 2, 0), ...named("hutch_alloc", 0, 0), ...named("hutch_free", 0, 1), ...named("hutch_call", 0, 2)]),
  // 8; nothing; unreachable
  10, 0x0d, 3, 4, 0, 0x41, 8, 0x0b, 2, 0, 0x0b, 3, 0, 0, 0x0b,
]);

function section(kind, content) {
  return [kind, content.length, ...content];
}

function named(name, kind, index) {
  return [name.length, ...new TextEncoder().encode(name), kind, index];
}

test("a panic never shows as success", async (t) => {
  const hutch = await Hutch.open({ wasm: PANICKING });
  t.after(() => hutch.close());
  await refuses(hutch.run("todo", ["list"], given), "HOST_FAULT");
  await refuses(hutch.install(new Uint8Array(10)), "HOST_FAULT");
  await refuses(hutch.ledger("todo"), "HOST_FAULT");
});

test("calls that are made at once have their time each", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const hutch = await open(t, { kind: "memory" });
  await hutch.install(machine.packed("probe"), machine.artifact("probe"));
  const limits = { wall_time_ms: 500, fuel: 1_000_000_000_000 };
  const [spun, ended] = await Promise.allSettled([
    hutch.run("probe", ["spin"], { ...given, limits }),
    hutch.run("probe", ["return-ok"], { ...given, limits }),
  ]);
  assert.equal(spun.reason.code, "WALL_TIME_LIMIT");
  // Nothing is kept in memory, the packages neither: the host is a new one.
  assert.equal(ended.reason?.code, "PACKAGE_NOT_FOUND");
});

test("a bundle goes from one host to another, which runs it again", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const [from, to] = [await open(t, { kind: "memory" }), await open(t, { kind: "memory" })];
  for (const hutch of [from, to]) await hutch.install(machine.packed("todo"), machine.artifact("todo"));
  await from.run("todo", ["add", "One"], given);
  const planned = await from.plan("todo", ["add", "Two"], given);
  await from.commit("todo", planned.entry.hash, { at: CLOCK });
  const bundle = await from.export("todo");
  const taken = await to.import("todo", bundle);
  assert.equal(taken.entries, 4);
  assert.deepEqual(taken.verified.items.map((item) => item.status), ["no_run", "equal", "equal", "equal"]);
  assert.deepEqual((await to.ledger("todo")).head, (await from.ledger("todo")).head);
  assert.equal((await to.run("todo", ["list"], given)).output.count, 2);
  bundle[bundle.length - 50] ^= 1;
  await refuses(to.import("todo", bundle), "STORE_DAMAGED");
});

test("a folder packed here is byte for byte what the program packs", (t) => {
  const machine = new Machine(temporary(t));
  for (const slug of Object.keys(FOLDERS)) {
    const files = readdirSync(FOLDERS[slug], { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    const packed = pack(files.map((path) => [relative(FOLDERS[slug], path), new Uint8Array(readFileSync(path))]));
    assert.deepEqual(Buffer.from(packed), Buffer.from(machine.packed(slug)), slug);
  }
});

/** A host that keeps what is committed, as the number in a file, and never says so. */
const SILENT = `
import { existsSync, writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
const file = __FILE__;
parentPort.on("message", ({ id, request }) => {
  if (request.op === "commit") return writeFileSync(file, "");
  const result = request.op === "start" ? { packages: [] } : { head: { sequence: existsSync(file) ? 5 : 4 } };
  parentPort.postMessage({ id, json: { ok: true, result }, attachment: new Uint8Array(), dead: false });
});
`;

test("a commit that was kept and came too late is said to be kept, also first in a session", async (t) => {
  const folder = temporary(t);
  const kept = join(folder, "kept");
  const worker = join(folder, "worker.mjs");
  writeFileSync(worker, SILENT.replace("__FILE__", JSON.stringify(kept)));
  const nothing = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  const hutch = await Hutch.open({ wasm: nothing, storage: { kind: "folder", path: folder }, worker: pathToFileURL(worker), compiler: null });
  t.after(() => hutch.close());
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const committed = hutch.commit("todo", "0f3a");
  while (!existsSync(kept)) await new Promise(setImmediate);
  t.mock.timers.tick(60_000);
  await assert.rejects(committed, (error) => (assert.deepEqual([error.code, error.report.details.kept], ["WALL_TIME_LIMIT", true]), true));
});
