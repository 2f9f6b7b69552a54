// Every call natively and in the tab's module: equal bytes out, equal ends, and equal entries, which hold fuel, peak memory, the digests
// of what was said and of the state, and the hash of the entry before. The instant and the wall time are the native entry's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Door } from "../../host/tab/npm/door.js";
import { CLOCK, LIMITS, SCRIPTS, SEED } from "./calls.mjs";
import { Machine, ROOT, temporary } from "./machine.mjs";

const KEY = "00".repeat(32);
const module = new WebAssembly.Module(readFileSync(join(ROOT, "host/tab/npm/hutch.wasm")));

function natively(machine, slug, instance, call) {
  const { verb = "run", args = [], limits = {}, contract = "json", stdin } = call;
  if (verb === "undo") return machine.run(["undo", "--instance", instance, slug]);
  const set = Object.entries({ ...LIMITS, ...limits }).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
  const flags = ["--now", CLOCK, "--seed", SEED, "--instance", instance, "--contract", contract, ...set];
  return machine.run([verb, ...flags, ...(stdin === undefined ? [] : ["--stdin-text", stdin]), slug, ...args]);
}

function inTab(door, slug, instance, call, entry) {
  const { verb = "run", args = [], limits = {}, contract = "json", stdin } = call;
  const target = { op: verb, package: slug, instance, at: entry.at };
  if (verb === "undo") return door.call(target);
  return door.call({
    ...target,
    arguments: args,
    seed: SEED,
    clock_start: CLOCK,
    limits: { ...LIMITS, ...limits },
    contract,
    stdin,
    wall_time_us: entry.outcome?.wall_time_us,
  });
}

/** What the program said of a call, beside what the tab did. */
function compare(native, { json, attachment }, verb) {
  const code = native.status === 0 || native.stdout.length > 0 ? null : errorCode(native.stderr);
  if (!json.ok) {
    assert.equal(json.code, code);
    return;
  }
  if (verb !== "run") return;
  const { result } = json;
  assert.equal(result.status, native.status);
  if (result.ending === "exited" && result.error?.code !== "CONTRACT_VIOLATION") {
    const length = result.stdout_bytes;
    assert.deepEqual(Buffer.from(attachment.subarray(0, length)), native.stdout);
    // A guest that says nothing is spoken for by the program.
    if (attachment.length > 0) assert.deepEqual(Buffer.from(attachment.subarray(length)), native.stderr);
  } else {
    assert.equal(result.error.code, code);
  }
}

function errorCode(stderr) {
  try {
    return JSON.parse(stderr).code;
  } catch {
    return null;
  }
}

function without(entry, names) {
  const copy = structuredClone(entry);
  for (const name of names) delete copy.outcome?.[name];
  delete copy.previous;
  return copy;
}

test("the module imports nothing", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
});

test("native code and the tab come to the same", async (t) => {
  const machine = new Machine(temporary(t));
  const door = new Door(module);
  for (const slug of ["todo", "probe"]) {
    for (const [op, bytes] of [["artifact", machine.artifact(slug)], ["load", machine.packed(slug)]]) {
      const { json } = door.call({ op }, bytes);
      assert.ok(json.ok, JSON.stringify(json));
    }
  }
  let calls = 0;
  let entries = 0;
  for (const [at, { name, package: slug, calls: script, alike = [] }] of SCRIPTS.entries()) {
    await t.test(name, () => {
      const instance = `i${at}`;
      const said = script.map((call) => natively(machine, slug, instance, call));
      const ledger = machine.ledger(slug, instance);
      assert.ok(door.call({ op: "open", package: slug, instance, key: KEY }).json.ok);
      // The first call makes the instance, which is an entry of its own; each call is one more.
      const made = ledger.filter(({ entry }) => entry.kind !== "create");
      assert.equal(made.length, script.length);
      for (const [at, call] of script.entries()) {
        compare(said[at], inTab(door, slug, instance, call, made[at].entry), call.verb ?? "run");
      }
      const { json } = door.call({ op: "ledger", package: slug, instance, at: CLOCK });
      assert.ok(json.ok, JSON.stringify(json));
      for (const [at, entry] of ledger.entries()) {
        assert.deepEqual(without(json.result.items[at]?.entry, alike), without(entry.entry, alike));
        if (alike.length === 0) assert.equal(json.result.items[at].hash, entry.hash);
      }
      assert.equal(json.result.items.length, ledger.length);
      if (alike.length === 0) assert.deepEqual(json.result.head.hash, ledger.at(-1).hash);
      calls += script.length;
      entries += ledger.length;
    });
  }
  t.diagnostic(`${calls} calls, ${entries} entries, ${door.memoryBytes} bytes of memory at the end`);
});
