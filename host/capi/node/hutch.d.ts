/** The version of hutch. */
export const version: string;

/** The `hutch` program in this package, if it is there. */
export function program(): string | undefined;

/** A command line that mends what went wrong. */
export interface Fix {
  cmd: string;
  effect: string;
  risk: "none" | "low" | "high";
}

/** The host's error object, as on the command line. */
export interface ErrorReport {
  error: true;
  code: string;
  message: string;
  suggestion: string;
  details?: Record<string, unknown>;
  fixes?: Fix[];
}

/** The host could not do what was asked, or the application failed and `Answer.check` was called. */
export class HutchError extends Error {
  private constructor();
  /** The stable code, as `FUEL_LIMIT`. */
  readonly code: string;
  /** What to do about it. */
  readonly suggestion: string;
  /** Facts by name, as `kept`. */
  readonly details: Record<string, unknown>;
  readonly fixes: Fix[];
  readonly report: ErrorReport;
  /** The exit status that the command line ends with. */
  readonly status: number;
  /** What the application wrote, unchanged, if it ran. */
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** What a call came to. */
export class Answer {
  private constructor();
  /** The exit status that the command line would end with; 0 is good. */
  readonly status: number;
  /** The whole document: `ok`, `command`, `result`. */
  readonly document: Record<string, any>;
  /** Its result: for a run `output`, `fuel`, `kept`, `volumes`, `entry` and more. */
  readonly result: any;
  /** What the application wrote, unchanged. */
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Whether its end was good; only then is what it changed kept. */
  readonly ok: boolean;
  /** The JSON document that the application printed, if it printed one. */
  readonly output: any;
  /** Itself, if its end was good; else a HutchError is thrown. */
  check(): Answer;
}

export interface HostOptions {
  /** The folder of instances and installed packages; in memory if absent. */
  home?: string | URL;
  /** The folder for compiled code, which needs a home. */
  cache?: string | URL;
  /** The program that compiles, as a child with limits; the one in this package if absent, and none if empty: then this process compiles, and nothing
   *  bounds a compiler's time and memory. */
  compiler?: string | URL;
  /** Whether guests are interpreted, with the same outcomes. */
  interpreter?: boolean;
  /** How long another process's lock is waited for; else 10000. */
  wait_ms?: number;
}

/** What every call may say. */
export interface CallOptions {
  /** Cancels the call: a guest that has started ends, and nothing of it is kept. The call is a HutchError with the code `CANCELLED` then, whose cause is the
   *  signal's reason, unless it had just ended. */
  signal?: AbortSignal;
  /** A name for `Host.cancel`, instead of a signal. */
  id?: string;
  /** When it is cancelled, from when a thread has begun it. */
  deadline_ms?: number;
  /** The instant that the ledger names; now if absent. */
  at?: string;
}

/** Real folders, by the name that the package asks for. */
export type Mounts = Record<string, { folder: string; access?: "ro" | "rw" | "rwx" }>;

export interface PlanOptions extends CallOptions {
  stdin?: string | Uint8Array;
  /** The guest's clock at the start; `at` if absent. */
  now?: string;
  /** A decimal number or 64 hexadecimal digits; random if absent. */
  seed?: string;
  environment?: Record<string, string>;
  secrets?: Record<string, string>;
  limits?: Record<string, number>;
  mounts?: Mounts;
  contract?: "json" | "schema" | "any";
  guard?: "strict" | "text" | "off";
  unchecked?: boolean;
  confirmed?: boolean;
  digests_only?: boolean;
  wall_time_us?: number;
}

export interface RunOptions extends PlanOptions {
  /** How often it is run again if another call changed the state meanwhile. */
  retry?: number;
}

/** A host: in memory, or in a home that it may share with the command line. */
export class Host {
  constructor(options?: HostOptions);
  /** Refuses what is asked from now on, and what has no thread yet; what is under way ends as it would. */
  close(): void;
  /** A package and one of its instances: a folder, a packed file, or the slug of an installed package. Nothing is opened yet. */
  package(name: string | URL, instance?: string): Package;
  /** Makes a request of the form that `hutch.h` states; a HutchError if it was refused or the host failed. */
  call(request: Record<string, unknown>, options?: { stdin?: string | Uint8Array; signal?: AbortSignal }): Promise<Answer>;
  /** Runs again what a proof says, by the package in it or the one that is named; what it is of, and what it printed. Nothing is kept. */
  check(proof: Uint8Array, options?: CallOptions & { package?: string | URL; limits?: Record<string, number> }): Promise<Answer>;
  /** Cancels the calls under way of this `id`; how many there were. */
  cancel(id: string): number;
}

/** A package and one of its instances. */
export class Package {
  private constructor();
  readonly host: Host;
  readonly package: string;
  readonly instance: string;
  /** Makes a request about it. */
  call(command: string, options?: CallOptions & { stdin?: string | Uint8Array; [name: string]: unknown }): Promise<Answer>;
  /** Runs a command and keeps what a good end leaves. A guest that fails is an answer that is not `ok`. */
  run(args: readonly string[], options?: RunOptions): Promise<Answer>;
  /** Runs it and keeps the record alone: `result.plan_id` and `result.diff`. A guest that fails is a HutchError. */
  plan(args: readonly string[], options?: PlanOptions): Promise<Answer>;
  /** Commits what a plan said, the last one if none is named, if the state is still the one that it saw. */
  apply(
    plan?: string | Answer,
    options?: CallOptions & { confirmed?: boolean; secrets?: Record<string, string>; mounts?: Mounts; wall_time_us?: number },
  ): Promise<Answer>;
  /** Takes back the last change, the last `count`, or everything from `entry` on, or goes back `to` an entry, as a new entry. */
  undo(options?: CallOptions & { count?: number; entry?: string; to?: string; mounts?: Mounts }): Promise<Answer>;
  /** Runs what was recorded again and compares every byte: one entry, or all of them. */
  verify(options?: CallOptions & { entry?: string; secrets?: Record<string, string> }): Promise<Answer>;
  /** All that an entry follows from, as a file that `Host.check` checks on any machine: the last one with a run, if none is named. */
  prove(options?: CallOptions & { entry?: string; bare?: boolean }): Promise<Uint8Array>;
  /** Summaries of all entries, the last first; those that are written meanwhile are not among them. */
  ledger(): AsyncGenerator<Record<string, any>, void>;
  /** Its commands, as tools of an agent: `name`, `description`, `inputSchema` and more of each. */
  tools(): Promise<Array<Record<string, any>>>;
}
