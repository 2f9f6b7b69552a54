// A component, taken apart by jco and run by this Node's own WebAssembly, over a world.

import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Stop, unknown } from "./ending.mjs";
import { oneNan } from "./one-nan.mjs";
import { takenApart } from "./tools.mjs";

/** What jco says of V8's traps, and the names that each may have: V8 has one message for what others tell apart. */
const TRAPS = new Map([
  ["wasm `unreachable` instruction executed", ["unreachable_code_reached"]],
  ["out of bounds memory access", ["memory_out_of_bounds"]],
  ["integer divide by zero", ["integer_division_by_zero"]],
  ["integer overflow", ["integer_overflow"]],
  ["invalid conversion to integer", ["integer_overflow", "bad_conversion_to_integer"]],
  ["undefined element: out of bounds table access", ["table_out_of_bounds"]],
  ["indirect call type mismatch", ["indirect_call_to_null", "bad_signature"]],
]);
const STACK = "call stack exhausted";

/** Components that can be run, by their digests. */
const loaded = new Map();

/** jco's code, but that a guest's text is what it is: jco would leave a mark of byte order out, and put another text in the place of what is none. */
function strictly(code) {
  const parts = code.split("new TextDecoder();");
  return parts.length === 2 ? parts.join('new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });') : unknown("jco reads texts in another way");
}

async function linkable(component) {
  const { files: made, imports } = await takenApart(component).catch((error) => unknown(`jco does not take it apart: ${error.message}`));
  const files = Object.entries(made);
  const modules = files.filter(([file]) => file.endsWith(".wasm")).map(([file, module]) => [file, new WebAssembly.Module(oneNan(module))]);
  const held = new Map(modules);
  const folder = mkdtempSync(join(tmpdir(), "hutch-second-"));
  const path = join(folder, "guest.mjs");
  writeFileSync(path, strictly(Buffer.from(files.find(([file]) => file === "guest.js")[1]).toString()));
  const { instantiate } = await import(pathToFileURL(path)).finally(() => rmSync(folder, { recursive: true }));
  // All that a run leaves is in what this makes.
  return { imports, start: (world) => instantiate((module) => held.get(module), world.imports).run.run() };
}

/** A component that can be run: what it imports, by interface, and a function that starts it. */
export async function load(component, name) {
  if (!loaded.has(name)) loaded.set(name, await linkable(component));
  return loaded.get(name);
}

/** How a run ends: `ending`, and `status`, `limit` or the names that its trap may have. */
export function run(guest, world) {
  try {
    guest.start(world);
    return { ending: "exited", status: 0 };
  } catch (error) {
    return endingOf(error);
  }
}

function endingOf(error) {
  if (error instanceof Stop) {
    if (error.ending === "exited") return { ending: "exited", status: error.detail };
    if (error.ending === "trapped") return { ending: "trapped", traps: [error.detail] };
    if (error.ending === "limited") return { ending: "limited", limit: error.detail };
    throw error;
  }
  // `run` returned an error.
  if (error !== null && typeof error === "object" && Object.hasOwn(error, "payload")) return { ending: "exited", status: 1 };
  if (error?.code === "ERR_ENCODING_INVALID_ENCODED_DATA") return { ending: "trapped", traps: ["invalid_utf8"] };
  const isStack = error instanceof RangeError && /call stack/.test(error.message);
  const trap = error instanceof WebAssembly.RuntimeError ? error.message.replace("wasm trap: ", "") : undefined;
  if (isStack || trap === STACK) unknown("the stack of this engine was used up");
  if (trap === undefined) unknown(`jco, or this checker, failed: ${error?.message ?? JSON.stringify(error)}`);
  return { ending: "trapped", traps: TRAPS.get(trap) ?? [trap] };
}
