// The module in Node, beside the native program.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Door } from "../../host/tab/npm/door.js";
import { holdsToNative } from "./alike.mjs";
import { Machine, PACKAGES, ROOT, temporary } from "./machine.mjs";

const KEY = "00".repeat(32);
const module = new WebAssembly.Module(readFileSync(join(ROOT, "host/tab/npm/hutch.wasm")));

test("the module imports nothing", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
});

test("native code and the tab come to the same", async (t) => {
  const machine = new Machine(temporary(t));
  const door = new Door(module);
  for (const slug of Object.keys(PACKAGES)) {
    for (const [op, bytes] of [["artifact", machine.artifact(slug)], ["load", machine.packed(slug)]]) {
      const { json } = door.call({ op }, bytes);
      assert.ok(json.ok, JSON.stringify(json));
    }
  }
  const opened = new Set();
  await holdsToNative(t, machine, (request) => {
    const { package: slug, instance } = request;
    if (!opened.has(instance)) assert.ok(door.call({ op: "open", package: slug, instance, key: KEY }).json.ok);
    opened.add(instance);
    return door.call(request);
  }, { host: "a tab's module in Node" });
  t.diagnostic(`${door.memoryBytes} bytes of memory at the end`);
});
