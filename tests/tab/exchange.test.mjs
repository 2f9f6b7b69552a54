// A ledger that is begun natively goes on in a tab, comes back, and is run again and verified natively.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Hutch } from "../../host/tab/npm/hutch.js";
import { Machine, TARGET, temporary } from "./machine.mjs";

const given = { at: "2026-03-01T09:00:00Z", seed: "7" };

function carry(action, machine, file) {
  const { status, stdout, stderr, error } = spawnSync(join(TARGET, "release/examples/bundle"), [action, machine.home, "todo", "default", file]);
  if (error) throw error;
  return { status, said: stdout.toString().trim().split("\n"), stderr: stderr.toString() };
}

test("from the machine to the tab and back", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  machine.run(["run", "todo", "add", "Natively"]);
  machine.run(["run", "todo", "complete", "td_0001"]);
  const file = join(folder, "bundle");
  assert.equal(carry("export", machine, file).status, 0);

  const hutch = await Hutch.open({ storage: { kind: "folder", path: join(folder, "kept") } });
  t.after(() => hutch.close());
  await hutch.install(machine.packed("todo"), machine.artifact("todo"));
  const taken = await hutch.import("todo", new Uint8Array(readFileSync(file)));
  assert.deepEqual(taken.verified.items.map((item) => item.status), ["no_run", "equal", "equal"]);
  await hutch.run("todo", ["add", "In a tab"], given);
  await hutch.undo("todo", { at: given.at });
  await hutch.run("todo", ["add", "In a tab again"], given);
  writeFileSync(file, await hutch.export("todo"));

  const back = carry("import", machine, file);
  assert.deepEqual([back.status, back.said], [0, ["4 equal", "5 no run", "6 equal"]], back.stderr);
  const { head } = await hutch.ledger("todo");
  assert.equal(machine.answer(["ledger", "verify", "todo"]).hash, head.hash);
  const verified = machine.answer(["verify", "--all", "todo"]);
  assert.deepEqual([verified.equal, verified.differ, verified.not_reproducible], [4, 0, 0]);
  const { items } = JSON.parse(machine.run(["run", "todo", "list"]).stdout);
  assert.deepEqual(items.map((item) => item.title).sort(), ["In a tab again", "Natively"]);

  // Each has gone its own way by now, and neither is overwritten.
  await hutch.run("todo", ["add", "Apart"], given);
  writeFileSync(file, await hutch.export("todo"));
  const apart = carry("import", machine, file);
  assert.equal(apart.status, 1);
  assert.match(apart.stderr, /CONFLICT/);
  assert.equal(machine.answer(["ledger", "verify", "todo"]).entries, 7);
});
