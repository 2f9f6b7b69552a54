// The C-like interface of hutch.wasm: requests as JSON, each with one attachment of bytes. Knows no storage and no page.

const NOTHING = new Uint8Array();

/** What the host says when it can't go on: the module is not to be asked again. */
export function fault(message, details = {}) {
  return { error: true, code: "HOST_FAULT", message, suggestion: "look at the ledger whether the call was kept, then repeat it if it was not", details };
}

export class Door {
  #exports;
  #dead = null;

  /** @param {WebAssembly.Module} module one that imports nothing */
  constructor(module) {
    if (WebAssembly.Module.imports(module).length > 0) throw new Error("hutch.wasm is to import nothing");
    this.#exports = new WebAssembly.Instance(module, {}).exports;
  }

  /** Whether it has ended: what follows is not answered any more. */
  get ended() {
    return this.#dead !== null;
  }

  /** Memory that the host holds by now. */
  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  /** `{ json, attachment }`, where json is `{ ok, result }` or the host's error object. A panic is a fault, and so is all that follows it. */
  call(request, attachment = NOTHING) {
    if (this.#dead) return { json: this.#dead, attachment: NOTHING };
    try {
      const [json, jsonLength] = this.#put(new TextEncoder().encode(JSON.stringify(request)));
      const [bytes, bytesLength] = this.#put(attachment);
      const block = this.#exports.hutch_call(json, jsonLength, bytes, bytesLength) >>> 0;
      const memory = this.#exports.memory.buffer;
      const lengths = new DataView(memory, block, 8);
      const [first, second] = [lengths.getUint32(0, true), lengths.getUint32(4, true)];
      const text = new TextDecoder().decode(new Uint8Array(memory, block + 8, first));
      const answered = new Uint8Array(memory, block + 8 + first, second).slice();
      this.#exports.hutch_free(block, 8 + first + second);
      return { json: JSON.parse(text), attachment: answered };
    } catch (error) {
      this.#dead = fault(`the host ended: ${error instanceof Error ? error.message : error}`);
      return { json: this.#dead, attachment: NOTHING };
    }
  }

  #put(bytes) {
    if (bytes.length === 0) return [0, 0];
    const block = this.#exports.hutch_alloc(bytes.length) >>> 0;
    if (block === 0) throw new Error(`no memory for ${bytes.length} bytes`);
    new Uint8Array(this.#exports.memory.buffer, block, bytes.length).set(bytes);
    return [block, bytes.length];
  }
}
