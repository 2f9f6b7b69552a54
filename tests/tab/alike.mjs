// Every call natively and by another host: equal bytes out, equal ends, and equal entries, which hold fuel, peak memory, the digests
// of what was said and of the state, and the hash of the entry before. The instant and the wall time are the native entry's.

import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CLOCK, LIMITS, SCRIPTS, SEED } from "./calls.mjs";

/** Makes a call by the program. */
export function natively(machine, slug, instance, call) {
  const { verb = "run", args = [], limits = {}, contract = "json", stdin, unchecked, confirmed, plan = "last" } = call;
  const yes = confirmed ? ["--yes"] : [];
  if (verb === "undo") return machine.run(["undo", "--instance", instance, slug]);
  if (verb === "apply") return machine.run(["apply", ...yes, "--instance", instance, slug, plan]);
  const set = Object.entries({ ...LIMITS, ...limits }).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
  const chosen = ["--instance", instance, "--contract", contract, ...set, ...(unchecked ? ["--unchecked"] : []), ...yes];
  const flags = ["--now", CLOCK, "--seed", SEED, ...chosen];
  return machine.run([verb, ...flags, ...(stdin === undefined ? [] : ["--stdin-text", stdin]), slug, ...args]);
}

/** How the tab is asked, and what it answers with: whether it was refused, and how a guest ended. */
const TAB = {
  ask(slug, instance, call, entry) {
    const { verb = "run", args = [], limits = {}, contract = "json", stdin, unchecked, confirmed, plan = "last" } = call;
    const target = { op: verb, package: slug, instance, at: entry.at };
    const wall_time_us = entry.outcome?.wall_time_us;
    if (verb === "undo") return target;
    if (verb === "apply") return { ...target, op: "commit", plan, confirmed, wall_time_us };
    return {
      ...target,
      arguments: args,
      seed: SEED,
      clock_start: CLOCK,
      limits: { ...LIMITS, ...limits },
      contract,
      stdin,
      unchecked,
      confirmed,
      wall_time_us,
    };
  },
  told({ json, attachment }) {
    if (!json.ok) return { refused: json.code };
    const { result } = json;
    const length = result.stdout_bytes;
    const [stdout, stderr] = [attachment.subarray(0, length), attachment.subarray(length)].map((bytes) => Buffer.from(bytes));
    return { status: result.status, ending: result.ending, code: result.error?.code, stdout, stderr };
  },
  ledger: (slug, instance) => ({ op: "ledger", package: slug, instance, at: CLOCK }),
  entries: ({ json }) => json.result.items,
  prove: (slug, instance) => ({ op: "prove", package: slug, instance, at: CLOCK, bare: true }),
  proof: ({ json, attachment }) => (json.ok ? Buffer.from(attachment) : json.code),
};

/** The same of what answers requests of hutch.h, with its streams in hexadecimal digits. */
export const LIBRARY = {
  ask(slug, instance, call, entry) {
    const { op, clock_start: now, ...request } = TAB.ask(slug, instance, call, entry);
    return { command: op === "commit" ? "apply" : op, now, ...request };
  },
  told({ status, json, out, err }) {
    if (json.error === true) return { refused: json.code };
    const [stdout, stderr] = [out, err].map((hex) => Buffer.from(hex, "hex"));
    return { status, ending: json.result.ending, code: json.result.error?.code, stdout, stderr };
  },
  ledger: (slug, instance) => ({ command: "ledger list", bytes: true, package: slug, instance, at: CLOCK, limit: 10_000 }),
  entries: ({ json }) => json.result.items.map(({ sequence, hash, bytes }) => ({ sequence, hash, entry: JSON.parse(bytes) })),
  prove: (slug, instance) => ({ command: "prove", package: slug, instance, at: CLOCK, bare: true }),
  proof: ({ json, out }) => (json.error === true ? json.code : Buffer.from(out, "hex")),
};

/** The same of a program that keeps one instance in a file, and neither plans nor proves. */
export const PROGRAM = {
  ask: (slug, instance, call, entry) => ({ package: slug, instance, call, entry }),
  told: (ran) => ran,
  ledger: (slug, instance) => ({ package: slug, instance }),
  entries: ({ items }) => items,
  does: ({ verb = "run" }) => verb === "run" || verb === "undo",
  isProgram: true,
};

/** What the program said of a call, beside what the other host did. */
function compare(native, told, verb, isProgram) {
  const code = native.status === 0 || native.stdout.length > 0 ? null : errorCode(native.stderr);
  if (isProgram) {
    assert.equal(told.status, native.status);
    // What is said of going back is each program's own; the entry is not.
    if (verb !== "undo") assert.deepEqual(told.stdout, native.stdout);
    // Reports are held to each other by their code: each program has its own words for what to do.
    if (code === null) assert.deepEqual(told.stderr, native.stderr);
    else assert.equal(errorCode(told.stderr), code);
    return;
  }
  if (told.refused !== undefined) {
    assert.equal(told.refused, code);
    return;
  }
  if (verb !== "run") return;
  assert.equal(told.status, native.status);
  if (told.ending === "exited" && told.code !== "CONTRACT_VIOLATION") {
    assert.deepEqual(told.stdout, native.stdout);
    // A guest that says nothing is spoken for by the program.
    if (told.stdout.length + told.stderr.length > 0) assert.deepEqual(told.stderr, native.stderr);
  } else {
    assert.equal(told.code, code);
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

/** The program's proof of the last run, or the code of its refusal. */
function proved(machine, slug, instance) {
  const file = join(machine.folder, `${instance}.proof.json`);
  const { status, stderr } = machine.run(["prove", "--bare", "--instance", instance, "--output", file, slug]);
  return status === 0 ? readFileSync(file) : errorCode(stderr);
}

/** Holds what `ask(request)` answers, in a form that `as` knows, to what the program comes to; says how much that was. A host that is
 *  `exact` may differ in nothing. */
export async function holdsToNative(t, machine, ask, { as = TAB, host, exact = false }) {
  let calls = 0;
  let entries = 0;
  let excused = 0;
  let proofs = 0;
  let python = null;
  for (const [at, { name, package: slug, calls: all, ...own }] of SCRIPTS.entries()) {
    const script = as.does ? all.filter(as.does) : all;
    const alike = exact ? [] : (own.alike ?? []);
    if (alike.length > 0) excused += 1;
    await t.test(name, async () => {
      const instance = `i${at}`;
      const said = script.map((call) => natively(machine, slug, instance, call));
      const ledger = machine.ledger(slug, instance);
      // The first call makes the instance, which is an entry of its own; each call is one more.
      const made = ledger.filter(({ entry }) => entry.kind !== "create");
      assert.equal(made.length, script.length);
      for (const [at, call] of script.entries()) {
        compare(said[at], as.told(await ask(as.ask(slug, instance, call, made[at].entry))), call.verb ?? "run", as.isProgram);
      }
      const answered = await ask(as.ledger(slug, instance));
      if (answered.json) assert.ok(answered.json.ok, JSON.stringify(answered.json));
      const items = as.entries(answered);
      assert.equal(items.length, ledger.length);
      for (const [at, entry] of ledger.entries()) {
        assert.deepEqual(without(items[at].entry, alike), without(entry.entry, alike));
        if (alike.length === 0) assert.equal(items[at].hash, entry.hash);
      }
      // Whoever is shown one can't tell which host made it.
      if (as.prove && alike.length === 0) {
        const native = proved(machine, slug, instance);
        assert.deepEqual(as.proof(await ask(as.prove(slug, instance))), native);
        if (typeof native !== "string") proofs += 1;
      }
      if (slug === "notes") python = script.length;
      else [calls, entries] = [calls + script.length, entries + ledger.length];
    });
  }
  t.diagnostic(`${host}: ${calls} calls, ${entries} entries, ${proofs} proofs, and ${python ?? "no"} calls of Python`);
  assert.ok(!as.prove || proofs > 5, "proofs are equal where there are any");
  // Reached only where nothing differed.
  const table = process.env.HUTCH_EQUAL;
  if (table) appendFileSync(table, `${JSON.stringify({ host, calls, entries, excused, python })}\n`);
}
