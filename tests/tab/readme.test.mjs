// What npm packs, installed into an empty project, runs the lines that the README shows and prints what it shows.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Machine, ROOT, temporary } from "./machine.mjs";

function run(program, args, folder) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder });
  if (error) throw error;
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${stderr}`);
  return stdout.toString();
}

test("the README's lines run in an empty project", (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const project = join(folder, "project");
  mkdirSync(project);
  const packed = run("npm", ["pack", "--silent", "--pack-destination", folder, join(ROOT, "host/tab/npm")], folder).trim();
  writeFileSync(join(project, "package.json"), '{ "type": "module", "private": true }');
  run("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", join(folder, packed)], project);
  const [, script, shown] = /```js\n(import[^`]*)```\n\n```text\n([^`]*)```/.exec(readFileSync(join(ROOT, "README.md"), "utf8"));
  writeFileSync(join(project, "lines.js"), script);
  writeFileSync(join(project, "todo.tar"), machine.packed("todo"));
  writeFileSync(join(project, "todo.artifact"), machine.artifact("todo"));
  assert.equal(run("node", ["lines.js"], project), shown);
});
