/** Where packages and state are kept: nowhere, so that a run which is ended takes all with it; in the origin's private file system, or in a folder (Node). */
export type Storage = { kind: "memory" } | { kind: "private"; name: string } | { kind: "folder"; path: string };

/** The host's error object, as on the command line. */
export interface ErrorReport {
  error: true;
  code: string;
  message: string;
  suggestion: string;
  details?: Record<string, unknown>;
}

export class HutchError extends Error {
  code: string;
  report: ErrorReport;
}

export interface InstanceOptions {
  /** `default` if absent. */
  instance?: string;
  /** The instant that the ledger names; now if absent. */
  at?: string;
}

export interface CallOptions extends InstanceOptions {
  stdin?: string | Uint8Array;
  /** The guest's clock at the start; `at` if absent. */
  clock_start?: string;
  /** A decimal number or 64 hexadecimal digits; random if absent. */
  seed?: string;
  environment?: Record<string, string>;
  secrets?: Record<string, string>;
  limits?: Record<string, number>;
  contract?: "json" | "schema" | "any";
  unchecked?: boolean;
  guard?: "strict" | "text" | "off";
  confirmed?: boolean;
  digests_only?: boolean;
  /** What the ledger says that the run took: a tab's host has no clock, and says 0 if absent. */
  wall_time_us?: number;
}

export interface Pin {
  sequence: number;
  hash: string;
}

export interface PathChange {
  path: string;
  change: "added" | "modified" | "removed" | "touched";
}

export interface Run {
  /** The exit status that the hutch program would end with. */
  status: number;
  ending: "exited" | "trapped" | "limited";
  ending_detail: string | null;
  exit_status: number | null;
  /** The one document on standard output. */
  output: unknown;
  stdout: Uint8Array;
  stderr: Uint8Array;
  fuel: number;
  fuel_exact: boolean;
  memory_peak_bytes: number;
  refused: string[];
  unreproducible: string[];
  profile: string;
  kept: boolean;
  volumes: Record<string, { before: string; after: string; changes: PathChange[]; omitted?: number }>;
  entry: Pin;
  error: ErrorReport | null;
}

export interface Package {
  slug: string;
  name: string;
  description: string;
  version: string;
  digest: string;
  component: string;
  component_path: string;
  commands: string[];
  confirmation_required: string[];
  volumes: string[];
  resources: string[];
  environment: string[];
  /** `schemas/commands.json`, if there is one. */
  contract: Record<string, unknown> | null;
  profile: string;
}

export interface Moved {
  entry: Pin;
  follows: Pin;
  volumes: Record<string, { listed: PathChange[]; omitted: number }>;
}

export interface Ledger {
  head: Pin;
  items: Array<Pin & { entry: Record<string, unknown> }>;
}

export interface Verified {
  items: Array<Pin & { status: "equal" | "differs" | "not_reproducible" | "no_run"; detail: unknown }>;
}

/** The entry that a proof is of, and what it came to. */
export interface Proved extends Pin {
  entry: Record<string, unknown>;
  package: string;
  instance: string;
  argv: string[];
  environment: Record<string, string>;
  /** What the run printed when it was made again, as a run's. */
  output: unknown;
  stdout: Uint8Array;
  stderr: Uint8Array;
  objects: number;
  /** The ledger that the entry is in: the number of its entries, a colon and the root of their tree. */
  tree: string;
}

export interface Item {
  path: string;
  kind: "file" | "folder" | "link";
  bytes: number | null;
  target: string | null;
}

export class Hutch {
  private constructor();
  static open(options?: {
    storage?: Storage;
    wasm?: WebAssembly.Module | Uint8Array | ArrayBuffer | URL | string;
    worker?: URL | string;
    /** Fetched when a package comes without the code of its component; nothing is compiled if it is null. */
    compiler?: WebAssembly.Module | Uint8Array | ArrayBuffer | URL | string | null;
  }): Promise<Hutch>;
  readonly packages: Map<string, Package>;
  close(): Promise<void>;
  /** Without an artifact it is made here, within `compile_time_ms`, 120,000 if absent. */
  install(
    files: Uint8Array | Iterable<[string, Uint8Array]>,
    artifact?: Uint8Array,
    options?: { compile_time_ms?: number },
  ): Promise<Package>;
  run(slug: string, args: string[], options?: CallOptions): Promise<Run>;
  plan(slug: string, args: string[], options?: CallOptions): Promise<Run>;
  validate(slug: string, args: string[], options?: CallOptions): Promise<{ command: string | null; confirmation: string | null }>;
  commit(slug: string, plan: string, options?: InstanceOptions & { confirmed?: boolean; wall_time_us?: number }): Promise<Run>;
  undo(slug: string, options?: InstanceOptions & { count?: number; entry?: string }): Promise<Moved>;
  restore(slug: string, entry: string, options?: InstanceOptions): Promise<Moved>;
  ledger(slug: string, options?: InstanceOptions & { from?: number; count?: number }): Promise<Ledger>;
  verify(slug: string, options?: InstanceOptions & { entry?: string }): Promise<Verified>;
  /** What an entry follows from, as a file: of the last one with a run if none is named. */
  prove(slug: string, options?: InstanceOptions & { entry?: string; bare?: boolean }): Promise<Uint8Array>;
  check(proof: Uint8Array, options?: { at?: string; limits?: Record<string, number>; compile_time_ms?: number }): Promise<Proved>;
  objects(slug: string, options?: InstanceOptions & { path?: string; entry?: string }): Promise<{ volumes: Record<string, string>; items: Item[] }>;
  read(slug: string, path: string, options?: InstanceOptions & { entry?: string }): Promise<Uint8Array>;
  export(slug: string, options?: InstanceOptions & { after?: number; packages?: boolean }): Promise<Uint8Array>;
  carried(bundle: Uint8Array): Promise<Uint8Array[]>;
  import(
    slug: string,
    bundle: Uint8Array,
    options?: InstanceOptions & { compile_time_ms?: number; limits?: Record<string, number> },
  ): Promise<{ entries: number; as_told: number; dropped: number; moved: number; confirmed: number; plans: number; by_carried: number; verified: Verified }>;
}

/** Files by path as the one file that `hutch pack` makes of them. */
export function pack(files: Iterable<[string, Uint8Array]>): Uint8Array;
