// For runtimes that answer requests and compile nothing from bytes: the module is imported compiled, packages come with the program that
// is deployed, and state is in the storage that the embedder hands over. Who may ask is the embedder's to say, before this is asked.

import { fault } from "./door.js";
import { Kept, inTurn } from "./kept.js";

/** The most bytes of one value and pairs of one write that a Durable Object takes, whichever its storage is. */
const VALUE_BYTES = 128 * 1024;
const PAIRS = 128;
/** The most bytes of a request that are read. */
const REQUEST_BYTES = 16 * 1024 * 1024;
/** The most requests that wait or are under way at once, and the most bytes of theirs: each has its own in memory until its turn has come. */
const WAITING = 16;
const WAITING_BYTES = 48 * 1024 * 1024;
/** What a request may ask for, and what it may say besides `package` and `instance`: installing is the embedder's, and so is what only the host of
 *  a caller knows or decides. A bundle says that of each of its runs itself, so whether one is taken in is the embedder's too. */
const INVOKED = { asked: ["arguments", "stdin", "attachment"], told: ["clock_start", "seed", "environment", "secrets", "limits", "contract", "unchecked", "guard", "confirmed", "digests_only", "wall_time_us"] };
const ASKED = new Map(Object.entries({
  run: INVOKED,
  plan: INVOKED,
  validate: INVOKED,
  commit: { asked: ["plan"], told: ["confirmed", "wall_time_us"] },
  undo: { asked: ["count", "entry"], told: [] },
  restore: { asked: ["entry"], told: [] },
  ledger: { asked: ["from", "count"], told: [] },
  verify: { asked: ["entry"], told: [] },
  prove: { asked: ["entry", "bare"], told: [] },
  objects: { asked: ["path", "entry"], told: [] },
  read: { asked: ["path", "entry"], told: [] },
  export: { asked: ["after", "packages"], told: [] },
  import: { asked: ["attachment"], told: [] },
}));

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const usage = (message) => ({ error: true, code: "USAGE", message, suggestion: "correct the request" });

function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** A Durable Object's storage. There is one object of a name, so nobody else holds its logs. */
export function durable(storage) {
  return {
    async get(name) { return (await storage.get(name)) ?? null; },
    async put(name, bytes) { await storage.put(name, bytes); },
    async log(name) {
      const parts = [...(await storage.list({ prefix: `${name}/` })).values()];
      const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      let next = parts.length;
      return {
        read: () => whole,
        // An append is whole or not there, so nothing that this wrote ends in between.
        cut(length) { throw new Error(`${name} is damaged behind byte ${length} of ${whole.length}`); },
        async append(bytes) {
          const pairs = [];
          for (let from = 0; from < bytes.length; from += VALUE_BYTES) {
            pairs.push([`${name}/${String(next + pairs.length).padStart(12, "0")}`, bytes.slice(from, from + VALUE_BYTES)]);
          }
          await storage.transaction(async (inside) => {
            for (let from = 0; from < pairs.length; from += PAIRS) {
              await inside.put(Object.fromEntries(pairs.slice(from, from + PAIRS)));
            }
          });
          next += pairs.length;
        },
        close() {},
      };
    },
  };
}

/** These fields of an object, as far as it has them. */
const only = (object, names) => Object.fromEntries(names.filter((name) => Object.hasOwn(object, name)).map((name) => [name, object[name]]));

const unfit = (message) => ({ refused: usage(message), status: 400 });

/** What a text asks for, and nothing else: `{ asked, attachment, told }`, where `told` are the names of what the embedder may add; or why not. */
function parsed(text, imports) {
  const body = JSON.parse(text);
  if (body === null || typeof body !== "object") throw new Error("it is no object");
  const ops = [...ASKED.keys()].filter((op) => imports || op !== "import");
  if (!ops.includes(body.op)) return unfit(`the op of a request is one of ${ops.join(", ")}`);
  const known = ASKED.get(body.op);
  const names = ["op", "package", "instance", ...known.asked];
  const more = Object.keys(body).find((name) => !names.includes(name));
  if (more !== undefined) return unfit(`${body.op} has the fields ${names.join(", ")}; ${JSON.stringify(more)} is not among them`);
  const { attachment = "", ...asked } = only(body, names);
  return { asked, attachment: Uint8Array.from(atob(attachment), (char) => char.charCodeAt(0)), told: known.told };
}

async function read(request, taken, imports) {
  if (request.method !== "POST") return { refused: usage("requests are POSTed"), status: 405 };
  const parts = [];
  let length = 0;
  for await (const part of request.body ?? []) {
    length += part.length;
    if (length > REQUEST_BYTES) return { refused: usage(`a request has ${REQUEST_BYTES} bytes at most`), status: 413 };
    if (!taken(part.length)) return { refused: BUSY, status: 503 };
    parts.push(part);
  }
  try {
    return parsed(await new Blob(parts).text(), imports);
  } catch (error) {
    return unfit(`the request is not of a known form: ${error.message}`);
  }
}

const BUSY = { error: true, code: "SERVER_BUSY", message: "too many requests wait", suggestion: "ask again in a moment", details: { kept: false } };

const status = ({ ok, code }) => (ok ? 200 : code === "HOST_FAULT" ? 500 : code === "USAGE" ? 400 : code === "INSTANCE_BUSY" || code === "CONFLICT" ? 409 : 422);

function response(json, attachment = new Uint8Array(), code = status(json)) {
  const body = attachment.length > 0 ? { ...json, attachment: toBase64(attachment) } : json;
  const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff", ...(code === 503 ? { "retry-after": "1" } : {}) };
  return Response.json(body, { status: code, headers });
}

export class Edge {
  #options;
  #turn = inTurn();
  #kept = null;
  #waiting = { requests: 0, bytes: 0 };

  /** `wasm` is the compiled module, `packages` are `{ packed, artifact }`, and `storage` has `get`, `put` and `log`. */
  constructor(options) {
    this.#options = options;
  }

  /** A host with all packages; one that failed is not kept, so that the next request begins anew. */
  #start() {
    const { wasm, storage, packages } = this.#options;
    const kept = new Kept(wasm, storage);
    for (const { packed, artifact } of packages) {
      for (const [op, bytes] of [["artifact", artifact], ["load", packed]]) {
        const { json } = kept.call({ op }, new Uint8Array(bytes));
        if (!json.ok) return { refused: json };
      }
    }
    this.#kept = kept;
    return {};
  }

  async #answer(asked, attachment) {
    try {
      if (!this.#kept) {
        const { refused } = this.#start();
        if (refused) return response(refused, undefined, 500);
      }
      const { json, attachment: bytes } = await this.#kept.answer(asked, attachment);
      // What ended knows nothing any more; what was answered is in the storage.
      if (this.#kept.ended) this.#kept = null;
      return response(json, bytes);
    } catch (error) {
      this.#kept = null;
      return response(fault(`${error}`));
    }
  }

  /** Answers a request: the module's own, as JSON, with the attachment in base64. What the embedder knows of the call, and no request can say,
   *  stands in `settings`: whether a person `confirmed` it, limits, guard, environment, clock and seed, and whether it may `import`. */
  async fetch(request, settings = {}) {
    const waiting = this.#waiting;
    if (waiting.requests >= WAITING) return response(BUSY, undefined, 503);
    waiting.requests += 1;
    let held = 0;
    const taken = (bytes) => {
      if (waiting.bytes + bytes > WAITING_BYTES) return false;
      waiting.bytes += bytes;
      held += bytes;
      return true;
    };
    try {
      const { asked, attachment, told, refused, status: code } = await read(request, taken, settings.import === true);
      if (refused) return response(refused, undefined, code);
      const seed = told.includes("seed") ? { seed: hex(crypto.getRandomValues(new Uint8Array(32))) } : {};
      // What runs is deployed: none comes with a bundle.
      const deployed = asked.op === "import" ? { packages: false } : {};
      const own = { at: new Date().toISOString(), ...seed, ...only(settings, ["at", ...told]), ...deployed };
      return await this.#turn(() => this.#answer({ instance: "default", ...asked, ...own }, attachment));
    } finally {
      waiting.requests -= 1;
      waiting.bytes -= held;
    }
  }
}
