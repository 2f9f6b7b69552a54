// For whoever has a page or a program: starts the worker, keeps the deadline of each call by ending it, and starts it again.

import { fault } from "./door.js";
import { pack } from "./pack.js";
import { releaser } from "./storage.js";

export { pack };

/** A call that came to no answer, with the host's error object in `report`. */
export class HutchError extends Error {
  constructor(report) {
    super(report.message);
    this.name = "HutchError";
    this.code = report.code;
    this.report = report;
  }
}

const isNode = typeof WorkerGlobalScope === "undefined" && typeof window === "undefined" && typeof process !== "undefined";
const WALL_TIME_MS = 10_000;
/** The host's own limit is half of it, for a machine. */
const COMPILE_TIME_MS = 120_000;
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

async function compile(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm instanceof Uint8Array || wasm instanceof ArrayBuffer) return WebAssembly.compile(wasm);
  if (isNode && String(wasm).startsWith("file:")) {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(new URL(wasm)));
  }
  const response = await fetch(wasm);
  if (!response.ok) throw new Error(`${wasm}: ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

const refusal = (code, message) => ({ error: true, code, message, suggestion: "give the artifact that hutch compile --target pulley32 makes", details: {} });

async function startWorker(url) {
  if (!isNode) {
    const worker = new Worker(url, { type: "module", name: "hutch" });
    return {
      listen(take, failed) {
        worker.onmessage = (event) => take(event.data);
        worker.onerror = (event) => failed(event.message ?? "the worker could not be started");
      },
      send: (message, moved) => worker.postMessage(message, moved),
      end: async () => worker.terminate(),
    };
  }
  const { Worker: Thread } = await import("node:worker_threads");
  const worker = new Thread(new URL(url));
  return {
    listen(take, failed) {
      worker.on("message", take);
      worker.on("error", (error) => failed(error.message));
    },
    send: (message, moved) => worker.postMessage(message, moved),
    end: () => worker.terminate(),
  };
}

/** What a run came to, with its two outputs, which are attached one behind the other. */
function printed({ result, attachment }) {
  const { stdout_bytes: length } = result;
  return { ...result, stdout: attachment.slice(0, length), stderr: attachment.slice(length) };
}

export class Hutch {
  #module;
  #options;
  /** The compiler's module, once it was wanted. */
  #compiler = null;
  #worker = null;
  #waiting = new Map();
  #next = 1;
  #packages = new Map();
  /** Last entries by instance, as far as answers told. */
  #last = new Map();
  #started = null;
  /** Calls wait for each other here, so that the time of each is its own. */
  #turn = Promise.resolve();
  /** Gives back what workers held that were ended. */
  #release = () => {};

  /** @private */
  constructor(module, options) {
    this.#module = module;
    this.#options = options;
  }

  /** Starts a host. `storage` says where packages and state are kept: nowhere, if it is absent. `compiler` is fetched when a package comes
   *  without the code of its component, and never if it is null. */
  static async open({
    storage = { kind: "memory" },
    wasm = new URL("./hutch.wasm", import.meta.url),
    worker = new URL("./worker.js", import.meta.url),
    compiler = new URL("./compiler.wasm", import.meta.url),
  } = {}) {
    const owned = { ...storage, owner: hex(crypto.getRandomValues(new Uint8Array(16))) };
    const hutch = new Hutch(await compile(wasm), { storage: owned, worker, compiler });
    hutch.#release = await releaser(owned);
    if (owned.kind === "folder") process.on("exit", hutch.#release);
    await hutch.#start();
    return hutch;
  }

  /** The packages that are installed, by slug. */
  get packages() {
    return this.#packages;
  }

  async #start() {
    const worker = await startWorker(this.#options.worker);
    this.#worker = worker;
    const all = (report) => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      for (const { settle } of this.#waiting.values()) settle({ json: report, attachment: new Uint8Array() });
    };
    worker.listen(
      ({ id, json, attachment, dead }) => {
        const waiting = this.#waiting.get(id);
        if (dead && this.#worker === worker) this.#worker = null;
        waiting?.settle({ json, attachment });
      },
      (message) => all(fault(message)),
    );
    const { result } = await this.#askNow({ op: "start", module: this.#module, storage: this.#options.storage }, undefined, 60_000);
    this.#packages = new Map(result.packages.map((known) => [known.slug, known]));
  }

  /** Ends the host. What was answered is kept. */
  async close() {
    const worker = this.#worker;
    this.#worker = null;
    for (const { settle } of this.#waiting.values()) settle({ json: fault("the host was closed"), attachment: new Uint8Array() });
    await worker?.end();
    this.#release();
    if (this.#options.storage.kind === "folder") process.off("exit", this.#release);
  }

  /** Asks the worker; `{ result, attachment }`, or a HutchError. */
  async #ask(request, attachment, withinMs) {
    const before = this.#turn;
    const { promise, settle } = waitFor();
    this.#turn = promise;
    await before;
    try {
      return await this.#askNow(request, attachment, withinMs);
    } finally {
      settle();
    }
  }

  async #askNow(request, attachment, withinMs) {
    if (!this.#worker) {
      this.#started ??= this.#start().finally(() => { this.#started = null; });
      await this.#started;
    }
    const worker = this.#worker;
    const id = this.#next++;
    const { promise, settle } = waitFor();
    this.#waiting.set(id, { settle });
    const late = withinMs && setTimeout(() => settle("late"), withinMs);
    worker.send({ id, request, attachment }, []);
    const answered = await promise;
    clearTimeout(late);
    this.#waiting.delete(id);
    if (answered === "late") return this.#tooLate(worker, request);
    const { json } = answered;
    if (!json.ok) throw new HutchError(json);
    return { result: json.result, attachment: answered.attachment };
  }

  /** Ends the worker, and with it the run; says whether its state was kept all the same. */
  async #tooLate(worker, { package: slug, instance, op }) {
    if (this.#worker === worker) this.#worker = null;
    await worker.end();
    const report = {
      error: true,
      code: "WALL_TIME_LIMIT",
      message: "the guest ran longer than wall_time_ms",
      suggestion: "give it less work, or raise wall_time_ms",
      details: { limit: "wall_time_ms", kept: false },
    };
    // In memory, what was there is gone with the worker.
    if (slug && op !== "start" && this.#options.storage.kind !== "memory") {
      const asked = { op: "ledger", package: slug, instance, at: new Date().toISOString(), count: 0 };
      const { head } = (await this.#askNow(asked)).result;
      report.details.kept = head.sequence > (this.#last.get(`${slug}@${instance}`) ?? head.sequence);
    }
    throw new HutchError(report);
  }

  /** Takes a package: a packed file, or its files by path; and the code of its component, which is made here if it is not given. */
  async install(files, artifact, { compile_time_ms: withinMs = COMPILE_TIME_MS } = {}) {
    const packed = files instanceof Uint8Array ? files : pack(files);
    await this.#code(packed, artifact, withinMs);
    const { result } = await this.#ask({ op: "load" }, packed);
    this.#packages.set(result.slug, result);
    return result;
  }

  /** Has the code of a package's component in the host: what is given, or what is made here. */
  async #code(packed, artifact, withinMs) {
    const given = artifact ?? (await this.#made(packed, withinMs));
    if (given) await this.#ask({ op: "artifact" }, given);
  }

  /** The code of a package's component; null if the host has it, or if it is to run nothing that comes without. */
  async #made(packed, withinMs) {
    if (!this.#options.compiler) return null;
    const { result, attachment } = await this.#ask({ op: "component" }, packed);
    if (result.compiled) return null;
    const compiler = (this.#compiler ??= compile(this.#options.compiler));
    const module = await compiler.catch((error) => {
      this.#compiler = null;
      throw new HutchError(fault(`the compiler can't be had: ${error.message}`));
    });
    const worker = await startWorker(this.#options.worker);
    const { promise, settle } = waitFor();
    worker.listen(settle, (message) => settle({ json: fault(message) }));
    const late = setTimeout(() => settle("late"), withinMs);
    worker.send({ id: 0, request: { op: "compile", module }, attachment }, []);
    const made = await promise;
    clearTimeout(late);
    // Its memory goes with it, and so does what is too late.
    await worker.end();
    if (made === "late") throw new HutchError(refusal("COMPILE_TIME_LIMIT", `the component was not compiled within ${withinMs} ms`));
    if (made.json.ok) return made.attachment;
    if (made.json.code !== "HOST_FAULT") throw new HutchError(made.json);
    throw new HutchError(refusal("COMPONENT_LIMIT", `the component is too large: the compiler gave up on it (${made.json.message})`));
  }

  async #at(op, slug, { instance = "default", at = new Date().toISOString(), ...more } = {}, attachment, withinMs) {
    const answered = await this.#ask({ op, package: slug, instance, at, ...more }, attachment, withinMs);
    const last = answered.result.head?.sequence ?? answered.result.entry?.sequence;
    if (last) this.#last.set(`${slug}@${instance}`, last);
    return answered;
  }

  async #invoke(op, slug, args, { stdin, ...options } = {}) {
    const request = { seed: hex(crypto.getRandomValues(new Uint8Array(32))), ...options, arguments: args };
    const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
    // The time for making the component ready and for keeping its state comes on top.
    const withinMs = (options.limits?.wall_time_ms ?? WALL_TIME_MS) + 2_000;
    if (op === "validate") return (await this.#at(op, slug, request, bytes, withinMs)).result;
    return printed(await this.#changed(op, slug, request, bytes, withinMs));
  }

  /** The same of what may leave an entry and be too late: whether it did is known only beside the last one before it. */
  async #changed(op, slug, request, attachment, withinMs) {
    if (!this.#last.has(`${slug}@${request.instance ?? "default"}`)) await this.#lastOf(slug, request.instance);
    return this.#at(op, slug, request, attachment, withinMs);
  }

  async #lastOf(slug, instance = "default") {
    const { head } = await this.ledger(slug, { instance, from: 1, count: 0 });
    this.#last.set(`${slug}@${instance}`, head.sequence);
  }

  /** Runs a command and keeps what a good end leaves. */
  run(slug, args, options) {
    return this.#invoke("run", slug, args, options);
  }

  /** Runs it and keeps the record alone: `entry.hash` is the plan's name. */
  plan(slug, args, options) {
    return this.#invoke("plan", slug, args, options);
  }

  /** Checks a call and runs nothing. */
  validate(slug, args, options) {
    return this.#invoke("validate", slug, args, options);
  }

  /** Commits what a plan said, if the state is still the one that it saw. */
  async commit(slug, plan, options) {
    return printed(await this.#changed("commit", slug, { ...options, plan }, undefined, WALL_TIME_MS + 2_000));
  }

  /** Takes back the last change, the last `count`, or everything from `entry` on. */
  async undo(slug, options) {
    return (await this.#at("undo", slug, options)).result;
  }

  /** Goes to the state that an entry left. */
  async restore(slug, entry, options) {
    return (await this.#at("restore", slug, { ...options, entry })).result;
  }

  /** The head, and entries from a place on. */
  async ledger(slug, options) {
    return (await this.#at("ledger", slug, options)).result;
  }

  /** Runs what was recorded again and compares every byte. */
  async verify(slug, options) {
    return (await this.#at("verify", slug, options)).result;
  }

  /** All that an entry follows from, as a file that anybody can check: the last one with a run if none is named. */
  async prove(slug, { instance = "default", at = new Date().toISOString(), ...more } = {}) {
    const withinMs = WALL_TIME_MS + 2_000;
    return (await this.#ask({ op: "prove", package: slug, instance, at, ...more }, undefined, withinMs)).attachment;
  }

  /** Runs again what a proof says, by the package in it, or by the installed one of that name if there is none in it. Whoever is answered knows that
   *  the entry follows from what is in the proof, and what it came to; anything else is a HutchError. */
  async check(proof, { at = new Date().toISOString(), limits = {}, compile_time_ms: compileMs = COMPILE_TIME_MS } = {}) {
    const { attachment } = await this.#ask({ op: "proof" }, proof);
    if (attachment.length > 0) await this.#code(attachment, undefined, compileMs);
    const withinMs = (limits.wall_time_ms ?? WALL_TIME_MS) + 2_000;
    return printed(await this.#ask({ op: "check", at, limits }, proof, withinMs));
  }

  /** The digests of all volumes, and what the folder `path` holds. */
  async objects(slug, options) {
    return (await this.#at("objects", slug, options)).result;
  }

  /** A file of a volume. */
  async read(slug, path, options) {
    return (await this.#at("read", slug, { ...options, path })).attachment;
  }

  /** All of an instance, or what is behind an entry, as a bundle; with `packages` it carries the package too. */
  async export(slug, options) {
    return (await this.#at("export", slug, options)).attachment;
  }

  /** The packages that a bundle carries, as packed files. None is installed. */
  async carried(bundle) {
    const found = [];
    for (;;) {
      const { result, attachment } = await this.#ask({ op: "carried", number: found.length }, bundle);
      if (found.length >= result.packages) return found;
      found.push(attachment);
    }
  }

  /** Takes a bundle in, after running again what it says, by the packages that are installed or that it carries. */
  async import(slug, bundle, { compile_time_ms: withinMs = COMPILE_TIME_MS, ...options } = {}) {
    for (const packed of await this.carried(bundle)) await this.#code(packed, undefined, withinMs);
    return (await this.#at("import", slug, { ...options, packages: true }, bundle)).result;
  }
}

function waitFor() {
  let settle;
  const promise = new Promise((resolve) => { settle = resolve; });
  return { promise, settle };
}
