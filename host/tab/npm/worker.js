// The host's own thread: one module, the packages and instances that it has open, and where they are kept. What a call changed is kept
// before it is answered. Whoever ends this worker ends the run in it, and nothing of that run is kept.

import { Door, fault } from "./door.js";
import { Busy, open as openStorage } from "./storage.js";

let door;
let storage;
/** Open instances by name: their log, and the last entry that is in it. */
const instances = new Map();

const utf8 = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const own = ["load", "artifact", "open"];

async function start({ module, storage: where }) {
  door = new Door(module);
  storage = await openStorage(where);
  const packages = [];
  for (const name of (await storage.names()).sort()) {
    if (name.endsWith(".artifact")) door.call({ op: "artifact" }, await storage.get(name));
    if (name.endsWith(".package")) {
      const { json } = door.call({ op: "load" }, await storage.get(name));
      // One that was written only in part is as one that was never dropped here.
      if (json.ok) packages.push(json.result);
    }
  }
  return { json: { ok: true, result: { packages } }, attachment: new Uint8Array() };
}

/** The key under which an instance's ledger hashes secrets. */
async function keyOf(name) {
  const kept = await storage.get(`${name}.key`);
  if (kept?.length === 64) return new TextDecoder().decode(kept);
  const key = hex(crypto.getRandomValues(new Uint8Array(32)));
  await storage.put(`${name}.key`, utf8.encode(key));
  return key;
}

async function instanceOf({ package: slug, instance }) {
  // Both become a file's name here; the host says what else is wrong with them.
  if (![slug, instance].every((name) => /^[\w-][\w.-]*$/.test(name ?? ""))) {
    const message = `package ${JSON.stringify(slug)} and instance ${JSON.stringify(instance)} are to be names`;
    return { refused: { error: true, code: "USAGE", message, suggestion: "correct the arguments" } };
  }
  const name = `${slug}@${instance}`;
  if (instances.has(name)) return { known: instances.get(name) };
  let log;
  try {
    log = await storage.log(`${name}.log`);
  } catch (error) {
    if (!(error instanceof Busy)) throw error;
    return { refused: { ...fault(error.message), code: "INSTANCE_BUSY", suggestion: "close the other one, then repeat" } };
  }
  const bytes = log.read();
  const { json } = door.call({ op: "open", package: slug, instance, key: await keyOf(name) }, bytes);
  if (!json.ok) {
    log.close();
    return { refused: json };
  }
  // What was being written when the tab was ended.
  if (json.result.whole_bytes < bytes.length) log.cut(json.result.whole_bytes);
  const known = { log, last: json.result.entries };
  instances.set(name, known);
  return { known };
}

async function answer(request, attachment) {
  if (request.op === "start") return start(request);
  if (!own.includes(request.op)) {
    const { known, refused } = await instanceOf(request);
    if (refused) return { json: refused, attachment: new Uint8Array() };
    const done = door.call(request, attachment);
    const { package: slug, instance, at } = request;
    const added = door.call({ op: "export", package: slug, instance, at, after: known.last });
    if (!added.json.ok) return done.json.ok ? { json: added.json, attachment: new Uint8Array() } : done;
    if (added.attachment.length > 0) {
      known.log.append(added.attachment);
      known.last = added.json.result.last;
    }
    return done;
  }
  const done = door.call(request, attachment);
  if (done.json.ok && request.op === "load") await storage.put(`${done.json.result.slug}.package`, attachment);
  if (done.json.ok && request.op === "artifact") await storage.put(`${done.json.result.component}.artifact`, attachment);
  return done;
}

function serve(listen, send, end) {
  let before = Promise.resolve();
  listen(({ id, request, attachment }) => {
    // One after the other.
    before = before.then(async () => {
      try {
        const { json, attachment: bytes } = await answer(request, attachment ?? new Uint8Array());
        // A host that panicked is not asked again, and what it was at is not kept.
        send({ id, json, attachment: bytes, dead: door.ended }, []);
        if (door.ended) end();
      } catch (error) {
        // The host may know what is not kept: it is not to be asked again.
        send({ id, json: fault(`${error}`), dead: true }, []);
        end();
      }
    });
  });
}

if (typeof WorkerGlobalScope !== "undefined") {
  serve((take) => { onmessage = (event) => take(event.data); }, (message, moved) => postMessage(message, moved), () => close());
} else {
  const { parentPort } = await import("node:worker_threads");
  serve((take) => parentPort.on("message", take), (message, moved) => parentPort.postMessage(message, moved), () => parentPort.close());
}
