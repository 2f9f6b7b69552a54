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
  assert.equal(machine.answer(["verify", "--chain", "todo"]).hash, head.hash);
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
  assert.equal(machine.answer(["verify", "--chain", "todo"]).entries, 7);
});

test("an instance goes from host to host with its package", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  for (const words of [["add", "Natively"], ["complete", "td_0001"]]) machine.run(["run", "todo", ...words]);
  const file = (name) => join(folder, name);
  machine.answer(["instance", "export", "--packages", "--output", file("out"), "todo"]);

  // Nothing but the file: the compiler makes the code of what it carries.
  const open = () => Hutch.open({ storage: { kind: "folder", path: file("kept") } });
  const hutch = await open();
  const bundle = new Uint8Array(readFileSync(file("out")));
  const taken = await hutch.import("todo", bundle);
  assert.deepEqual(taken.verified.items.map((item) => item.status), ["no_run", "equal", "equal"]);
  await assert.rejects(hutch.run("todo", ["list"], given), { code: "PACKAGE_NOT_FOUND" });
  await hutch.close();

  // What was taken in is kept, and whoever wants to go on says so.
  const again = await open();
  t.after(() => again.close());
  const [packed, ...more] = await again.carried(bundle);
  assert.deepEqual([packed, more], [machine.packed("todo"), []]);
  await again.install(packed);
  await again.run("todo", ["add", "In a tab"], given);
  writeFileSync(file("back"), await again.export("todo", { packages: true }));

  // Where nothing is known of the application.
  const elsewhere = Object.assign(Object.create(machine), { home: file("other") });
  const other = (words) => elsewhere.run(words);
  const { status, stdout, stderr } = other(["instance", "import", "--input", file("back"), "todo"]);
  assert.equal(status, 0, stderr.toString());
  const { entries, equal, last } = JSON.parse(stdout).result;
  assert.deepEqual([entries, equal, last.hash], [4, 3, (await again.ledger("todo")).head.hash]);
  assert.equal(JSON.parse(other(["catalog"]).stdout).result.items.length, 0);
  writeFileSync(file("alone"), await again.export("todo"));
  const alone = other(["instance", "import", "--instance", "alone", "--input", file("alone"), "todo"]);
  assert.equal(JSON.parse(alone.stderr).code, "PACKAGE_NOT_FOUND");
});

test("what one host did another checks, by a file alone", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  machine.run(["run", "todo", "add", "Natively"]);
  const completed = JSON.parse(machine.run(["run", "todo", "complete", "td_0001"]).stdout);
  const file = (name) => join(folder, name);
  const made = machine.answer(["prove", "--output", file("native"), "todo"]);

  // The compiler makes the code of the package in it.
  const hutch = await Hutch.open();
  t.after(() => hutch.close());
  const proof = new Uint8Array(readFileSync(file("native")));
  const checked = await hutch.check(proof);
  assert.deepEqual([checked.sequence, checked.hash, checked.tree], [made.entry.sequence, made.entry.hash, made.tree]);
  assert.deepEqual(checked.argv, ["todo", "complete", "td_0001"]);
  assert.deepEqual([checked.output, JSON.parse(new TextDecoder().decode(checked.stdout))], [completed, completed]);
  assert.equal(hutch.packages.size, 0);
  const other = proof.slice();
  other[proof.length - 100] ^= 1;
  await assert.rejects(hutch.check(other), { code: "VERIFY_FAILED" });

  await hutch.install(machine.packed("todo"));
  await hutch.run("todo", ["add", "In a tab"], given);
  writeFileSync(file("tab"), await hutch.prove("todo"));
  writeFileSync(file("bare"), await hutch.prove("todo", { bare: true }));
  await hutch.check(new Uint8Array(readFileSync(file("bare"))));
  const back = machine.answer(["prove", "--check", file("tab")]);
  assert.deepEqual([back.status, back.argv], ["equal", ["todo", "add", "In a tab"]]);
  machine.answer(["prove", "--check", file("bare"), "todo"]);
});
