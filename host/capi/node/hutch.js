// Untrusted command-line applications as WebAssembly components, inside a program in Node: hutch.h, called by koffi. Names are those of
// Python's package, and requests, answers and error codes those of the command line. Knows nothing of what applications do.

import koffi from "koffi";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ABI = 1;
const HERE = fileURLToPath(new URL(".", import.meta.url));
/** What Rust's threads have. Calls are made on stacks of koffi's, which have 128 KiB if nobody says otherwise. */
const STACK_BYTES = 2 << 20;
/** Calls are made by the threads that read Node's files, four if nobody says otherwise: one of them stays with those. */
const AT_ONCE = Math.max((Math.trunc(Number(process.env.UV_THREADPOOL_SIZE)) || 4) - 1, 1);
/** After how long a call is cancelled again whose thread had not begun it. */
const AGAIN_MS = 5;

function library() {
  if (koffi.config().async_stack_size < STACK_BYTES) {
    try {
      koffi.config({ async_stack_size: STACK_BYTES });
    } catch (cause) {
      throw new Error(`koffi's async_stack_size is below ${STACK_BYTES}, and it has loaded a library: import hutch-native first`, { cause });
    }
  }
  const name = { darwin: "libhutch_capi.dylib", win32: "hutch_capi.dll" }[process.platform] ?? "libhutch_capi.so";
  const opened = koffi.load(join(HERE, name));
  const abi = opened.func("hutch_abi", "uint32_t", [])();
  if (abi !== ABI) throw new Error(`${name} has another interface than this package: ${abi}`);
  const bytes = koffi.struct({ data: "void *", length: "size_t" });
  const answer = koffi.pointer(koffi.struct({ status: "int", json: bytes, out: bytes, err: bytes }));
  const given = ["uint8_t *", "size_t"];
  return {
    version: opened.func("hutch_version", "str", [])(),
    open: opened.func("hutch_open", "uint64_t", [...given, koffi.out(answer)]),
    call: opened.func("hutch_call", "int", ["uint64_t", ...given, ...given, koffi.out(answer)]),
    cancel: opened.func("hutch_cancel", "size_t", ["uint64_t", ...given]),
    free: opened.func("hutch_answer_free", "void", [koffi.inout(answer)]),
    close: opened.func("hutch_close", "void", ["uint64_t"]),
  };
}

const LIBRARY = library();
/** The version of hutch. */
export const version = LIBRARY.version;

/** Bytes of our own: nobody changes them while a thread reads them. */
const bytes = (given) => (typeof given === "string" ? Buffer.from(given) : new Uint8Array(given));

/** The document and the streams of an answer, which is given up. */
function taken(answer) {
  try {
    const block = ({ data, length }) => (data ? koffi.decode(data, "uint8_t", length) : new Uint8Array());
    const json = block(answer.json);
    const document = json.length > 0 ? JSON.parse(new TextDecoder().decode(json)) : {};
    return { status: answer.status, document, stdout: block(answer.out), stderr: block(answer.err) };
  } finally {
    LIBRARY.free(answer);
  }
}

let free = AT_ONCE;
/** Calls that wait for a thread, the first first. */
const waiting = [];
/** What cancels each call that a thread has. */
const underWay = new Set();
// The process waits for its threads.
process.on("exit", () => underWay.forEach((cancel) => cancel()));

/** Takes a thread, when there is one; false if the signal came before. */
function turn(signal) {
  if (signal?.aborted) return false;
  if (free > 0) {
    free -= 1;
    return true;
  }
  return new Promise((resolve) => {
    const aborted = () => {
      waiting.splice(waiting.indexOf(granted), 1);
      resolve(false);
    };
    const granted = () => {
      signal?.removeEventListener("abort", aborted);
      resolve(true);
    };
    signal?.addEventListener("abort", aborted, { once: true });
    waiting.push(granted);
  });
}

/** Gives a thread to the next one. */
function pass() {
  const granted = waiting.shift();
  if (granted) granted();
  else free += 1;
}

/** The host could not do what was asked, or the application failed and `Answer.check` was called. */
export class HutchError extends Error {
  constructor(report, { status, stdout = new Uint8Array(), stderr = new Uint8Array() }, cause) {
    super(report.message, cause === undefined ? undefined : { cause });
    this.name = "HutchError";
    this.code = report.code;
    this.suggestion = report.suggestion;
    this.details = report.details ?? {};
    this.fixes = report.fixes ?? [];
    this.report = report;
    this.status = status;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

/** What a call came to. */
export class Answer {
  constructor({ status, document, stdout, stderr }) {
    this.status = status;
    this.document = document;
    this.result = document.result;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** Whether its end was good; only then is what it changed kept. */
  get ok() {
    return this.status === 0;
  }

  /** The JSON document that the application printed, if it printed one. */
  get output() {
    return this.result?.output;
  }

  /** Itself, if its end was good; else the host's report of how it ended is thrown. */
  check() {
    if (this.ok) return this;
    const report = this.result.error ?? {
      error: true,
      code: "GUEST_FAILED",
      message: `the guest ended with status ${this.status}`,
      suggestion: "mend what the application says in stdout and stderr, then make the call again",
    };
    const details = { ...report.details, output: this.output, stderr: this.result.stderr };
    throw new HutchError({ ...report, details }, this);
  }
}

/** Hosts that nobody has any more. */
const forgotten = new FinalizationRegistry((handle) => LIBRARY.close(handle));

/** A host: in memory, or in a home that it may share with the command line. */
export class Host {
  #handle;

  constructor({ home, cache, compiler = program() ?? "", interpreter = false, wait_ms } = {}) {
    const options = { home, cache, compiler: compiler === "" ? undefined : compiler, interpreter, wait_ms };
    const text = bytes(JSON.stringify(options, (_, value) => (value instanceof URL ? fileURLToPath(value) : value)));
    const answer = {};
    this.#handle = LIBRARY.open(text, text.length, answer);
    const told = taken(answer);
    if (!this.#handle) throw new HutchError(told.document, told);
    forgotten.register(this, this.#handle, this);
  }

  /** Refuses what is asked from now on, and what has no thread yet; what is under way ends as it would. */
  close() {
    forgotten.unregister(this);
    if (this.#handle) LIBRARY.close(this.#handle);
    this.#handle = 0;
  }

  /** A package and one of its instances: a folder, a packed file, or the slug of an installed package. Nothing is opened yet. */
  package(name, instance = "default") {
    return new Package(this, name instanceof URL ? fileURLToPath(name) : name, instance);
  }

  /** Makes a request of the form that `hutch.h` states; a HutchError if it was refused or the host failed. */
  async call(request, { stdin = "", signal } = {}) {
    if (signal && request.id !== undefined) throw new TypeError("a call is cancelled by its id or by its signal");
    const id = request.id ?? randomUUID();
    const [text, late] = [{}, { deadline_ms: 0 }].map((more) => bytes(JSON.stringify({ ...request, id, ...more })));
    const input = bytes(stdin);
    const answer = {};
    const mine = await turn(signal);
    const cancel = () => {
      if (underWay.has(cancel) && this.cancel(id) === 0) setTimeout(cancel, AGAIN_MS);
    };
    try {
      if (mine && !signal?.aborted) {
        signal?.addEventListener("abort", cancel, { once: true });
        underWay.add(cancel);
        await new Promise((resolve, reject) => {
          LIBRARY.call.async(this.#handle, text, text.length, input, input.length, answer, (error) => (error ? reject(error) : resolve()));
        });
      } else {
        // Answered at once.
        LIBRARY.call(this.#handle, late, late.length, null, 0, answer);
      }
    } finally {
      underWay.delete(cancel);
      signal?.removeEventListener("abort", cancel);
      if (mine) pass();
    }
    const told = taken(answer);
    if (told.document.error) throw new HutchError(told.document, told, told.document.code === "CANCELLED" ? signal?.reason : undefined);
    return new Answer(told);
  }

  /** Runs again what a proof says, by the package in it or the one that is named; what it is of, and what it printed. Nothing is kept. */
  async check(proof, { package: name = "", signal, ...more } = {}) {
    const named = name instanceof URL ? fileURLToPath(name) : name;
    return this.call({ ...more, command: "prove", check: true, package: named }, { stdin: proof, signal });
  }

  /** Cancels the calls under way of this `id`; how many there were. */
  cancel(id) {
    const text = bytes(id);
    return Number(LIBRARY.cancel(this.#handle, text, text.length));
  }
}

/** A package and one of its instances. */
export class Package {
  constructor(host, name, instance) {
    this.host = host;
    this.package = name;
    this.instance = instance;
  }

  /** Makes a request about it. */
  async call(command, { stdin, signal, ...more } = {}) {
    const own = { command, package: this.package, instance: this.instance };
    for (const name of Object.keys(own)) {
      if (name in more) throw new TypeError(`${name} is what this package object says`);
    }
    return this.host.call({ ...more, ...own }, { stdin, signal });
  }

  /** Runs a command and keeps what a good end leaves. A guest that fails is an answer that is not `ok`. */
  run(args, options) {
    return this.call("run", { ...options, arguments: args });
  }

  /** Runs it and keeps the record alone: `result.plan_id` and `result.diff`. A guest that fails is a HutchError. */
  plan(args, options) {
    return this.call("plan", { ...options, arguments: args });
  }

  /** Commits what a plan said, if the state is still the one that it saw. */
  apply(plan = "last", options) {
    return this.call("apply", { ...options, plan: plan instanceof Answer ? plan.result.plan_id : plan });
  }

  /** Takes back the last change, the last `count`, or everything from `entry` on, as a new entry. */
  undo(options) {
    return this.call("undo", options);
  }

  /** Runs what was recorded again and compares every byte: one entry, or all of them. */
  verify(options) {
    return this.call("verify", { all: options?.entry === undefined, ...options });
  }

  /** All that an entry follows from, as a file that `Host.check` checks on any machine: the last one with a run, if none is named. */
  async prove(options) {
    return (await this.call("prove", options)).stdout;
  }

  /** Summaries of all entries, the last first; those that are written meanwhile are not among them. */
  async *ledger() {
    let last = Infinity;
    for (let offset = 0, more = true; more; ) {
      const { items, has_more } = (await this.call("ledger list", { offset })).result;
      for (const item of items) {
        if (item.sequence >= last) continue;
        last = item.sequence;
        yield item;
      }
      offset += items.length;
      more = has_more && items.length > 0;
    }
  }

  /** Its commands, as tools of an agent. */
  async tools() {
    return (await this.call("meta")).result.tools;
  }
}

/** The `hutch` program in this package, if it is there. */
export function program() {
  const path = join(HERE, "bin", process.platform === "win32" ? "hutch.exe" : "hutch");
  return existsSync(path) ? path : undefined;
}
