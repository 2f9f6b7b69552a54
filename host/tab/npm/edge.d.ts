/** Where state is kept. `put` and `append` end when what they were given is kept, whole. */
export interface EdgeStorage {
  get(name: string): Promise<Uint8Array | null>;
  put(name: string, bytes: Uint8Array): Promise<void>;
  log(name: string): Promise<{
    read(): Uint8Array;
    cut(length: number): void;
    append(bytes: Uint8Array): Promise<void>;
    close(): void;
  }>;
}

/** The storage of a Durable Object, as much of it as is used. */
export interface DurableStorage {
  get(name: string): Promise<unknown>;
  put(name: string, value: unknown): Promise<void>;
  list(options: { prefix: string }): Promise<Map<string, unknown>>;
  transaction<T>(inside: (transaction: { put(pairs: Record<string, unknown>): Promise<void> }) => Promise<T>): Promise<T>;
}

export function durable(storage: DurableStorage): EdgeStorage;

export class Edge {
  constructor(options: {
    wasm: WebAssembly.Module;
    storage: EdgeStorage;
    packages: Iterable<{ packed: Uint8Array | ArrayBuffer; artifact: Uint8Array | ArrayBuffer }>;
  });
  fetch(request: Request, settings?: EdgeSettings): Promise<Response>;
}

/** What the embedder says of a call. No request can. */
export interface EdgeSettings {
  /** Whether a person agreed to what is asked for. */
  confirmed?: boolean;
  /** Whether it may take in a bundle, which itself says of each of its runs whether a person agreed, and under which guard, clock and seed it was. */
  import?: boolean;
  unchecked?: boolean;
  guard?: string;
  contract?: string;
  limits?: Record<string, number>;
  environment?: Record<string, string>;
  secrets?: Record<string, string>;
  /** The instant of the ledger, and the guest's clock and seed. */
  at?: string;
  clock_start?: string;
  seed?: string;
  digests_only?: boolean;
  wall_time_us?: number;
}
