// What npm packs, installed into an empty project, runs the lines that host/docs/elsewhere.md shows and prints what it shows: in Node, and in Deno and
// Bun where HUTCH_DENO and HUTCH_BUN name them, as tests/equal/run does.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Machine, ROOT, temporary } from "./machine.mjs";

function run(program, args, folder) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder });
  if (error) throw error;
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${stderr}`);
  return stdout.toString();
}

test("the lines of the page run in an empty project", (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const project = join(folder, "project");
  mkdirSync(project);
  const packed = run("npm", ["pack", "--silent", "--pack-destination", folder, join(ROOT, "host/tab/npm")], folder).trim();
  writeFileSync(join(project, "package.json"), '{ "type": "module", "private": true }');
  run("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", join(folder, packed)], project);
  const [, script, shown] = /```js\n(import[^`]*)```\n\n```text\n([^`]*)```/.exec(readFileSync(join(ROOT, "host/docs/elsewhere.md"), "utf8"));
  writeFileSync(join(project, "lines.js"), script);
  writeFileSync(join(project, "todo.tar"), machine.packed("todo"));
  writeFileSync(join(project, "todo.artifact"), machine.artifact("todo"));
  // What it says of its modules is so, and there are two.
  const installed = join(project, "node_modules/hutch");
  const { modules, source, build } = JSON.parse(readFileSync(join(installed, "modules.json"), "utf8"));
  const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
  assert.deepEqual(Object.keys(modules), ["compiler.wasm", "hutch.wasm"]);
  for (const [name, { bytes, sha256: digest }] of Object.entries(modules)) {
    assert.deepEqual([statSync(join(installed, name)).size, sha256(join(installed, name))], [bytes, digest], name);
  }
  assert.match(build.toolchain[0], /^rustc: rustc 1\./);
  // Whether all of them are these sources, host/tab/build.sh judges.
  assert.ok(Object.hasOwn(source.files, "host/tab/src/door.rs") && source.dependencies.length > 100);
  const runtimes = [["node", []], [process.env.HUTCH_DENO, ["run", "--allow-all"]], [process.env.HUTCH_BUN, ["run"]]];
  for (const [program, args] of runtimes.filter(([program]) => program)) {
    assert.equal(run(program, [...args, "lines.js"], project), shown);
    // The next begins anew.
    rmSync(join(project, "kept"), { recursive: true });
  }
});
