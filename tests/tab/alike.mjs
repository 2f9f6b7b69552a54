// Every call natively and by another host: equal bytes out, equal ends, and equal entries, which hold fuel, peak memory, the digests
// of what was said and of the state, and the hash of the entry before. The instant and the wall time are the native entry's.

import assert from "node:assert/strict";
import { CLOCK, LIMITS, SCRIPTS, SEED } from "./calls.mjs";

function natively(machine, slug, instance, call) {
  const { verb = "run", args = [], limits = {}, contract = "json", stdin } = call;
  if (verb === "undo") return machine.run(["undo", "--instance", instance, slug]);
  const set = Object.entries({ ...LIMITS, ...limits }).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
  const flags = ["--now", CLOCK, "--seed", SEED, "--instance", instance, "--contract", contract, ...set];
  return machine.run([verb, ...flags, ...(stdin === undefined ? [] : ["--stdin-text", stdin]), slug, ...args]);
}

function asked(slug, instance, call, entry) {
  const { verb = "run", args = [], limits = {}, contract = "json", stdin } = call;
  const target = { op: verb, package: slug, instance, at: entry.at };
  if (verb === "undo") return target;
  return {
    ...target,
    arguments: args,
    seed: SEED,
    clock_start: CLOCK,
    limits: { ...LIMITS, ...limits },
    contract,
    stdin,
    wall_time_us: entry.outcome?.wall_time_us,
  };
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

/** Holds what `ask(request)` answers, as `{ json, attachment }`, to what the program comes to; says how much that was. */
export async function holdsToNative(t, machine, ask) {
  let calls = 0;
  let entries = 0;
  for (const [at, { name, package: slug, calls: script, alike = [] }] of SCRIPTS.entries()) {
    await t.test(name, async () => {
      const instance = `i${at}`;
      const said = script.map((call) => natively(machine, slug, instance, call));
      const ledger = machine.ledger(slug, instance);
      // The first call makes the instance, which is an entry of its own; each call is one more.
      const made = ledger.filter(({ entry }) => entry.kind !== "create");
      assert.equal(made.length, script.length);
      for (const [at, call] of script.entries()) {
        compare(said[at], await ask(asked(slug, instance, call, made[at].entry)), call.verb ?? "run");
      }
      const { json } = await ask({ op: "ledger", package: slug, instance, at: CLOCK });
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
  return { calls, entries };
}
