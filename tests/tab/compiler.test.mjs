// The compiler's module: it makes the bytes that the program makes, and is fetched by nobody who has an artifact.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import test from "node:test";
import { Door } from "../../host/tab/npm/door.js";
import { Hutch, pack } from "../../host/tab/npm/hutch.js";
import { FOLDERS, Machine, ROOT, temporary } from "./machine.mjs";

const bytes = readFileSync(join(ROOT, "host/tab/npm/compiler.wasm"));
const module = new WebAssembly.Module(bytes);
const given = { at: "2026-03-01T09:00:00Z", seed: "7" };
const component = (slug) => new Uint8Array(readFileSync(join(FOLDERS[slug], "app/app.wasm")));

test("it imports nothing", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
});

test("its artifacts are byte for byte the program's", (t) => {
  const machine = new Machine(temporary(t));
  const door = new Door(module);
  for (const slug of Object.keys(FOLDERS)) {
    const begun = performance.now();
    const { json, attachment } = door.call({ op: "compile" }, component(slug));
    assert.ok(json.ok, JSON.stringify(json));
    t.diagnostic(`${slug}: ${Math.round(performance.now() - begun)} ms, ${attachment.length} bytes, ${door.memoryBytes} bytes of memory`);
    assert.ok(Buffer.from(attachment).equals(Buffer.from(machine.artifact(slug))), `${slug}: other bytes`);
  }
  // What is refused natively is refused here, and ends nothing.
  for (const broken of [new Uint8Array(), component("todo").subarray(0, 1000), new TextEncoder().encode("no component")]) {
    assert.equal(door.call({ op: "compile" }, broken).json.code, "COMPONENT_INVALID");
  }
  assert.equal(door.call({ op: "run" }).json.code, "USAGE");
  assert.ok(door.call({ op: "compile" }, component("todo")).json.ok);
});

/** A server of the compiler, which counts who asks for it. */
async function served(t) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(request.url === "/compiler.wasm" ? 200 : 404);
    response.end(request.url === "/compiler.wasm" && bytes);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { asked, url: (name) => `http://127.0.0.1:${server.address().port}/${name}` };
}

async function open(t, options) {
  const hutch = await Hutch.open(options);
  t.after(() => hutch.close());
  return hutch;
}

test("it is fetched when no artifact is there, once, and not before", async (t) => {
  const folder = temporary(t);
  const machine = new Machine(folder);
  const { asked, url } = await served(t);
  const storage = { kind: "folder", path: join(folder, "kept") };
  const hutch = await open(t, { storage, compiler: url("compiler.wasm") });
  await hutch.install(machine.packed("todo"), machine.artifact("todo"));
  assert.equal((await hutch.run("todo", ["add", "x"], given)).kept, true);
  assert.deepEqual(asked, [], "an artifact was there, and the compiler was fetched");
  // The code that it has is that of this component, in whatever package.
  await hutch.install(machine.packed("todo"));
  assert.deepEqual(asked, []);
  await hutch.install(machine.packed("probe"));
  assert.deepEqual(asked, ["/compiler.wasm"]);
  assert.equal((await hutch.run("probe", ["exit", "0"], { ...given, contract: "any" })).status, 0);
  await hutch.close();
  // What was made is kept as what was given is.
  const again = await open(t, { storage, compiler: url("compiler.wasm") });
  assert.equal((await again.run("probe", ["exit", "0"], { ...given, contract: "any" })).status, 0);
  await again.install(machine.packed("probe"));
  assert.deepEqual(asked, ["/compiler.wasm"]);
});

test("what it can't make in time, or at all, is not installed", async (t) => {
  const machine = new Machine(temporary(t));
  const { asked, url } = await served(t);
  const refuses = (promise, code) => assert.rejects(promise, (error) => (assert.equal(error.code, code, error.message), true));
  const hutch = await open(t, { compiler: module });
  await refuses(hutch.install(machine.packed("probe"), undefined, { compile_time_ms: 1 }), "COMPILE_TIME_LIMIT");
  const files = [["APP.md", readFileSync(join(FOLDERS.todo, "APP.md"))], ["app/app.wasm", new TextEncoder().encode("\0asm\r\0\u0001\0x")]];
  await refuses(hutch.install(pack(files)), "COMPONENT_INVALID");
  assert.equal(hutch.packages.size, 0);
  await refuses(hutch.run("probe", ["exit", "0"], given), "PACKAGE_NOT_FOUND");
  // The host lives on.
  await hutch.install(machine.packed("todo"));
  assert.equal((await hutch.run("todo", ["add", "x"], given)).kept, true);
  // One that can't be had, or is not to be.
  const without = await open(t, { compiler: url("absent.wasm") });
  await refuses(without.install(machine.packed("todo")), "HOST_FAULT");
  assert.deepEqual(asked, ["/absent.wasm"]);
  const none = await open(t, { compiler: null });
  await none.install(machine.packed("todo"));
  await refuses(none.run("todo", ["list"], given), "HOST_FAULT");
});
