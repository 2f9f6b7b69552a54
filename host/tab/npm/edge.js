// For runtimes that answer requests and compile nothing from bytes: the module is imported compiled, packages come with the program that
// is deployed, and state is in the storage that the embedder hands over. Who may ask is the embedder's to say, before this is asked.

import { fault } from "./door.js";
import { Kept, inTurn } from "./kept.js";

/** The most bytes of one value and pairs of one write that a Durable Object takes, whichever its storage is. */
const VALUE_BYTES = 128 * 1024;
const PAIRS = 128;
/** The most bytes of a request that are read. */
const REQUEST_BYTES = 16 * 1024 * 1024;
/** What a request may ask for: installing is the embedder's. */
const ASKED = ["run", "plan", "validate", "commit", "undo", "restore", "ledger", "verify", "objects", "read", "export", "import"];
const SEEDED = ["run", "plan", "validate"];

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

async function read(request) {
  if (request.method !== "POST") return { refused: usage("requests are POSTed"), status: 405 };
  const parts = [];
  let length = 0;
  for await (const part of request.body ?? []) {
    length += part.length;
    if (length > REQUEST_BYTES) return { refused: usage(`a request has ${REQUEST_BYTES} bytes at most`), status: 413 };
    parts.push(part);
  }
  try {
    const { attachment = "", ...asked } = JSON.parse(await new Blob(parts).text());
    if (!ASKED.includes(asked.op)) return { refused: usage(`the op of a request is one of ${ASKED.join(", ")}`), status: 400 };
    return { asked, attachment: Uint8Array.from(atob(attachment), (char) => char.charCodeAt(0)) };
  } catch (error) {
    return { refused: usage(`the request is not of a known form: ${error.message}`), status: 400 };
  }
}

const status = ({ ok, code }) => (ok ? 200 : code === "HOST_FAULT" ? 500 : code === "USAGE" ? 400 : code === "INSTANCE_BUSY" || code === "CONFLICT" ? 409 : 422);

function response(json, attachment = new Uint8Array(), code = status(json)) {
  const body = attachment.length > 0 ? { ...json, attachment: toBase64(attachment) } : json;
  const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  return Response.json(body, { status: code, headers });
}

export class Edge {
  #options;
  #turn = inTurn();
  #kept = null;

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

  /** Answers a request: the module's own, as JSON, with the attachment in base64. */
  async fetch(request) {
    const { asked, attachment, refused, status: code } = await read(request);
    if (refused) return response(refused, undefined, code);
    const seed = SEEDED.includes(asked.op) ? { seed: hex(crypto.getRandomValues(new Uint8Array(32))) } : {};
    // What runs is deployed: none comes with a bundle.
    const deployed = asked.op === "import" ? { packages: false } : {};
    const whole = { instance: "default", at: new Date().toISOString(), ...seed, ...asked, ...deployed };
    return this.#turn(() => this.#answer(whole, attachment));
  }
}
