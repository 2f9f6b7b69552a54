// One module with the packages and instances that it has open, and where they are kept. What a call changed is kept before it is
// answered. Asks nothing of what is around it, so that a worker and an edge runtime share it.

import { Door, fault } from "./door.js";
import { Busy } from "./storage.js";

const NOTHING = new Uint8Array();
const utf8 = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const own = ["load", "artifact", "component", "carried", "proof", "check", "open"];

/** What `job` comes to, one after the other: a job begins when the one before has ended, however it ended. */
export function inTurn() {
  let before = Promise.resolve();
  return (job) => {
    const done = before.then(job);
    before = done.catch(() => {});
    return done;
  };
}

export class Kept {
  #door;
  #storage;
  /** Open instances by name: their log, and the last entry that is in it. */
  #instances = new Map();

  constructor(module, storage) {
    this.#door = new Door(module);
    this.#storage = storage;
  }

  /** Whether the module has ended. */
  get ended() {
    return this.#door.ended;
  }

  /** Asks the module alone: nothing of it is kept. */
  call(request, attachment) {
    return this.#door.call(request, attachment);
  }

  /** The key under which an instance's ledger hashes secrets. */
  async #keyOf(name) {
    const kept = await this.#storage.get(`${name}.key`);
    if (kept?.length === 64) return new TextDecoder().decode(kept);
    const key = hex(crypto.getRandomValues(new Uint8Array(32)));
    await this.#storage.put(`${name}.key`, utf8.encode(key));
    return key;
  }

  async #instanceOf({ package: slug, instance }) {
    // Both become a file's name here; the host says what else is wrong with them.
    if (![slug, instance].every((name) => /^[\w-][\w.-]*$/.test(name ?? ""))) {
      const message = `package ${JSON.stringify(slug)} and instance ${JSON.stringify(instance)} are to be names`;
      return { refused: { error: true, code: "USAGE", message, suggestion: "correct the arguments" } };
    }
    const name = `${slug}@${instance}`;
    if (this.#instances.has(name)) return { known: this.#instances.get(name) };
    let log;
    try {
      log = await this.#storage.log(`${name}.log`);
    } catch (error) {
      if (!(error instanceof Busy)) throw error;
      return { refused: { ...fault(error.message), code: "INSTANCE_BUSY", suggestion: "close the other one, then repeat" } };
    }
    const bytes = log.read();
    const { json } = this.call({ op: "open", package: slug, instance, key: await this.#keyOf(name) }, bytes);
    if (!json.ok) {
      log.close();
      return { refused: json };
    }
    // What was being written when the host was ended.
    if (json.result.whole_bytes < bytes.length) log.cut(json.result.whole_bytes);
    const known = { log, last: json.result.entries };
    this.#instances.set(name, known);
    return { known };
  }

  /** `{ json, attachment }`. If this throws, the module may know what is not kept: it is not to be asked again. */
  async answer(request, attachment) {
    if (!own.includes(request.op)) {
      const { known, refused } = await this.#instanceOf(request);
      if (refused) return { json: refused, attachment: NOTHING };
      const done = this.call(request, attachment);
      const { package: slug, instance, at } = request;
      const added = this.call({ op: "export", package: slug, instance, at, after: known.last, log: true });
      if (!added.json.ok) return done.json.ok ? { json: added.json, attachment: NOTHING } : done;
      if (added.attachment.length > 0) {
        await known.log.append(added.attachment);
        known.last = added.json.result.last;
      }
      return done;
    }
    const done = this.call(request, attachment);
    if (done.json.ok && request.op === "load") await this.#storage.put(`${done.json.result.slug}.package`, attachment);
    if (done.json.ok && request.op === "artifact") await this.#storage.put(`${done.json.result.component}.artifact`, attachment);
    return done;
  }
}
