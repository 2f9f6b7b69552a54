// The package's types, as a program in TypeScript has them checked: HUTCH_TYPESCRIPT names a folder with npm's typescript in its node_modules.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ROOT, temporary } from "./machine.mjs";

/** Names that a program uses, of what the package exports. */
const USED = `
import { Hutch, HutchError, pack, type Package, type Run, type Storage } from "hutch";
import { Edge, durable, type EdgeStorage } from "hutch/edge.js";

export async function calls(packed: Uint8Array, artifact?: Uint8Array): Promise<string> {
  const storage: Storage = { kind: "private", name: "mine" };
  const hutch = await Hutch.open({ storage, compiler: null });
  const known: Package = await hutch.install(packed, artifact, { compile_time_ms: 1000 });
  const run: Run = await hutch.run(known.slug, ["list"], { seed: "7", limits: { fuel: 1 } });
  const volume = run.volumes["state"];
  const { head } = await hutch.ledger(known.slug);
  await hutch.close();
  return volume.after + head.hash + (run.error?.code ?? "");
}
export const packed: Uint8Array = pack([["APP.md", new Uint8Array()]]);
export const failed = (error: unknown): string => (error instanceof HutchError ? error.code : "");
export const edge = (wasm: WebAssembly.Module, storage: EdgeStorage): Edge => new Edge({ wasm, storage, packages: [] });
export const kept: typeof durable = durable;
`;

function checked(folder, program) {
  writeFileSync(join(folder, "program.ts"), program);
  const tsc = join(process.env.HUTCH_TYPESCRIPT, "node_modules/typescript/bin/tsc");
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "program.ts"];
  const { status, stdout, error } = spawnSync(process.execPath, [tsc, ...options], { cwd: folder });
  if (error) throw error;
  return { status, said: stdout.toString() };
}

test("a program is checked against the package's types, and one that is wrong is refused", (t) => {
  const folder = temporary(t);
  const installed = join(folder, "node_modules/hutch");
  mkdirSync(installed, { recursive: true });
  const { files } = JSON.parse(readFileSync(join(ROOT, "host/tab/npm/package.json"), "utf8"));
  for (const name of ["package.json", ...files.filter((name) => /\.(js|d\.ts)$/.test(name))]) {
    cpSync(join(ROOT, "host/tab/npm", name), join(installed, name));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  const whole = checked(folder, USED);
  assert.equal(whole.status, 0, whole.said);
  for (const wrong of [
    'export const status: string = (await (await Hutch.open()).run("x", [])).status;',
    'export const opened = Hutch.open({ storage: { kind: "nowhere" } });',
    'export const run = async (hutch: Hutch) => hutch.run("x", ["list"], { sede: "7" });',
  ]) {
    const { status, said } = checked(folder, `${USED}\n${wrong}\n`);
    assert.notEqual(status, 0, wrong);
    assert.match(said, /^program\.ts\(\d+,\d+\): error TS/, said);
    assert.equal(said.trim().split("\n").filter((line) => line.startsWith("program.ts")).length, 1, said);
  }
});

test("what the declarations name is there, and what is there is declared", async () => {
  for (const [module, declarations] of [["hutch.js", "hutch.d.ts"], ["edge.js", "edge.d.ts"]]) {
    const text = readFileSync(join(ROOT, "host/tab/npm", declarations), "utf8");
    const declared = [...text.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name).sort();
    const exported = await import(join(ROOT, "host/tab/npm", module));
    assert.deepEqual(Object.keys(exported).sort(), declared, module);
    for (const [, name, body] of text.matchAll(/^export class (\w+)[^{]*\{\n([^]*?)^\}/gm)) {
      const methods = [...body.matchAll(/^ {2}(?:static )?(\w+)\(/gm)].map(([, method]) => method).filter((method) => method !== "constructor");
      const own = [...Object.getOwnPropertyNames(exported[name]), ...Object.getOwnPropertyNames(exported[name].prototype)];
      for (const method of methods) assert.ok(own.includes(method), `${name}.${method} is declared, and is not there`);
      const known = Object.getOwnPropertyNames(exported[name].prototype).filter((method) => method !== "constructor");
      for (const method of known) assert.match(body, new RegExp(`^ {2}(?:readonly )?${method}[(:]`, "m"), `${name}.${method} is not declared`);
    }
  }
});
