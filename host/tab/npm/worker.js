// The host's own thread: what is kept, as messages ask for it. Whoever ends this worker ends the run in it, and nothing of that run is kept.
// The compiler has one too, for as long as it makes code of one component.

import { Door, fault } from "./door.js";
import { Kept, inTurn } from "./kept.js";
import { open as openStorage } from "./storage.js";

let kept;

async function start({ module, storage: where }) {
  const storage = await openStorage(where);
  kept = new Kept(module, storage);
  const packages = [];
  for (const name of (await storage.names()).sort()) {
    if (name.endsWith(".artifact")) kept.call({ op: "artifact" }, await storage.get(name));
    if (name.endsWith(".package")) {
      const { json } = kept.call({ op: "load" }, await storage.get(name));
      // One that was written only in part is as one that was never dropped here.
      if (json.ok) packages.push(json.result);
    }
  }
  return { json: { ok: true, result: { packages } }, attachment: new Uint8Array() };
}

function serve(listen, send, end) {
  const turn = inTurn();
  listen(({ id, request, attachment }) => turn(async () => {
    try {
      if (request.op === "compile") {
        const made = new Door(request.module).call({ op: "compile" }, attachment);
        return send({ id, ...made, dead: false }, []);
      }
      const answered = request.op === "start" ? start(request) : kept.answer(request, attachment ?? new Uint8Array());
      const { json, attachment: bytes } = await answered;
      // A host that panicked is not asked again, and what it was at is not kept.
      send({ id, json, attachment: bytes, dead: kept.ended }, []);
      if (kept.ended) end();
    } catch (error) {
      // The host may know what is not kept: it is not to be asked again.
      send({ id, json: fault(`${error}`), dead: true }, []);
      end();
    }
  }));
}

if (typeof WorkerGlobalScope !== "undefined") {
  serve((take) => { onmessage = (event) => take(event.data); }, (message, moved) => postMessage(message, moved), () => close());
} else {
  const { parentPort } = await import("node:worker_threads");
  serve((take) => parentPort.on("message", take), (message, moved) => parentPort.postMessage(message, moved), () => parentPort.close());
}
