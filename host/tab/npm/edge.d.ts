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
  fetch(request: Request): Promise<Response>;
}
