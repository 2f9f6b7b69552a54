// What the native program comes to, held to what it came to when golden.jsonl was written: hosts that agree could all be wrong, or all have
// changed. A difference is a change for whoever compares outcomes: it belongs into CHANGELOG.md, and into the file, which
// `HUTCH_GOLDEN=write tests/equal/run` writes anew. It needs the program alone, and for the component of Python what tests/equal/run makes.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { natively } from "../tab/alike.mjs";
import { NOTES, SCRIPTS } from "../tab/calls.mjs";
import { Machine, ROOT, temporary } from "../tab/machine.mjs";

const FILE = join(ROOT, "tests/equal/golden.jsonl");

/** What of an entry is the same at any time and in any place; of a component that is built anew, whatever its bytes came out as. */
function lasting({ entry }, { name, alike = [], anew = false }) {
  const { kind, kept, error, outcome, volumes = {}, package: component } = entry;
  const states = Object.fromEntries(Object.entries(volumes).map(([name, { after }]) => [name, after]));
  const { wall_time_us: _, ...measured } = outcome ?? {};
  for (const name of anew ? ["fuel", "memory_peak_bytes"] : alike) delete measured[name];
  const call = entry.invocation?.argv.slice(1).join(" ");
  return { script: name, kind, call, kept, error, component: anew ? undefined : component.component, outcome: outcome && measured, states };
}

/** Equal calls that come to something else under an equal profile: whoever compares outcomes would be told wrong. */
function assertProfileTells(before, after) {
  for (const { name } of SCRIPTS.filter(({ anew }) => !anew)) {
    const [old, now] = [before, after].map((lines) => lines.filter(({ script }) => script === name));
    const call = ({ kind, call, component }) => JSON.stringify([kind, call, component]);
    for (const [at, { outcome, states }] of now.entries()) {
      // From here on the script is another one.
      if (old[at] === undefined || call(old[at]) !== call(now[at])) break;
      if (outcome === undefined || old[at].outcome?.profile !== outcome.profile) continue;
      const was = { outcome: old[at].outcome, states: old[at].states };
      assert.deepEqual({ outcome, states }, was, "the profile is the same: raise a number in host/engine/src/rules.rs");
    }
  }
}

test("the program comes to what is written down", (t) => {
  const machine = new Machine(temporary(t));
  const lines = [];
  for (const [at, script] of SCRIPTS.entries()) {
    for (const call of script.calls) natively(machine, script.package, `i${at}`, call);
    lines.push(...machine.ledger(script.package, `i${at}`).map((entry) => JSON.stringify(lasting(entry, script))));
  }
  const hasPython = SCRIPTS.includes(NOTES);
  const read = () => readFileSync(FILE, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  if (process.env.HUTCH_GOLDEN === "write") {
    assertProfileTells(read(), lines.map((line) => JSON.parse(line)));
    assert.ok(hasPython, "the component of Python is left out, and would be missing from what is written");
    writeFileSync(FILE, `${lines.join("\n")}\n`);
  }
  const golden = read().filter(({ script }) => hasPython || script !== NOTES.name);
  for (const [at, line] of lines.entries()) assert.deepEqual(JSON.parse(line), golden[at] ?? null);
  assert.equal(lines.length, golden.length);
  t.diagnostic(`${lines.length} entries${hasPython ? "" : ", those of Python left out"}`);
});
