// `wasi:io` over bytes that are there: nothing blocks. What goes wrong in a file's stream closes it.

import { checkOffset, readBytes, writeBytes } from "./content.mjs";
import { Stop } from "./ending.mjs";

/** Bytes that one call of a stream takes or gives. */
export const STREAM_BYTES = 64 * 1024;
/** Bytes that the functions take that write and flush at once. */
const BLOCKING_BYTES = 4096;

/** `wasi:io/error`'s resource: a file's error, which `filesystem-error-code` tells. */
export class StreamError {
  constructor(code) {
    this.code = code;
  }

  toDebugString() {
    return this.code.split("-").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  }
}

export class Pollable {
  constructor(clock, deadlineNs = 0n) {
    Object.assign(this, { clock, deadlineNs });
  }

  ready = () => this.deadlineNs <= this.clock.elapsedNs;
  block = () => void poll(this.clock, [this]);
}

/** Time moves to the earliest deadline and no further. */
export function poll(clock, list) {
  if (list.length === 0) throw new Stop("trapped", "poll_of_nothing");
  const earliest = list.map(({ deadlineNs }) => deadlineNs).reduce((a, b) => (a < b ? a : b));
  clock.waitUntil(earliest);
  return Uint32Array.from([...list.keys()].filter((at) => list[at].ready()));
}

const closed = () => ({ tag: "closed" });

/** What a file's stream does; an error in it is the last thing that the stream says. */
function lastly(stream, work) {
  try {
    return work();
  } catch (error) {
    if (typeof error !== "string") throw error;
    stream.isOpen = false;
    throw { tag: "last-operation-failed", val: new StreamError(error) };
  }
}

export class InputStream {
  read(length) {
    return this.take(Number(length < STREAM_BYTES ? length : STREAM_BYTES));
  }

  blockingRead = (length) => this.read(length);
  skip = (length) => BigInt(this.read(length).length);
  blockingSkip = (length) => this.skip(length);
  subscribe = () => new Pollable(this.clock);
}

/** Standard input: all its streams share one place. */
export class StandardInput extends InputStream {
  constructor(clock, source) {
    super();
    Object.assign(this, { clock, source });
  }

  take(length) {
    const { source } = this;
    const bytes = source.bytes.subarray(source.at, source.at + length);
    if (bytes.length === 0 && length > 0) throw closed();
    source.at += bytes.length;
    return bytes;
  }
}

export class FileInput extends InputStream {
  isOpen = true;

  constructor(volumes, node, { offset, allowed }) {
    super();
    Object.assign(this, { clock: volumes.clock, volumes, node, offset, allowed });
  }

  take(length) {
    if (!this.isOpen) throw closed();
    if (length === 0) return new Uint8Array();
    const bytes = lastly(this, () => {
      checkOffset(this.offset);
      if (!this.allowed) throw "bad-descriptor";
      return readBytes(this.volumes, this.node, this.offset, length);
    });
    this.offset += BigInt(bytes.length);
    if (bytes.length > 0) return bytes;
    this.isOpen = false;
    throw closed();
  }
}

export class OutputStream {
  isOpen = true;

  checkWrite() {
    if (!this.isOpen) throw closed();
    return BigInt(STREAM_BYTES);
  }

  write(bytes) {
    if (bytes.length > STREAM_BYTES) throw new Stop("trapped", "write_beyond_permit");
    if (!this.isOpen) throw closed();
    this.put(bytes);
  }

  blockingWriteAndFlush(bytes) {
    if (bytes.length > BLOCKING_BYTES) throw new Stop("trapped", "blocking_write_too_long");
    this.write(bytes);
  }

  writeZeroes(length) {
    if (length > STREAM_BYTES) throw new Stop("trapped", "write_beyond_permit");
    this.write(new Uint8Array(Number(length)));
  }

  blockingWriteZeroesAndFlush(length) {
    if (length > BLOCKING_BYTES) throw new Stop("trapped", "blocking_write_too_long");
    this.writeZeroes(length);
  }

  splice(input, length) {
    const permit = this.checkWrite();
    const bytes = input.read(length < permit ? length : permit);
    if (bytes.length > 0) this.write(bytes);
    return BigInt(bytes.length);
  }

  flush = () => void this.checkWrite();
  blockingFlush = () => this.flush();
  blockingSplice = (input, length) => this.splice(input, length);
  subscribe = () => new Pollable(this.clock);
}

/** Standard output or error, up to its limit: the first byte over it ends the run. */
export class Captured extends OutputStream {
  constructor(clock, sink) {
    super();
    Object.assign(this, { clock, sink });
  }

  put(bytes) {
    const { sink } = this;
    const fits = bytes.slice(0, Math.min(bytes.length, Number(sink.limit) - sink.size));
    sink.parts.push(fits);
    sink.size += fits.length;
    if (fits.length < bytes.length) throw new Stop("limited", sink.name);
  }
}

export class FileOutput extends OutputStream {
  /** No offset is the end, wherever that is at the time of writing. */
  constructor(volumes, node, { offset, allowed }) {
    super();
    Object.assign(this, { clock: volumes.clock, volumes, node, offset, allowed });
  }

  put(bytes) {
    lastly(this, () => {
      checkOffset(this.offset ?? 0n);
      if (!this.allowed) throw "bad-descriptor";
      writeBytes(this.volumes, this.node, this.offset ?? BigInt(this.node.size), bytes);
    });
    if (this.offset !== null) this.offset += BigInt(bytes.length);
  }
}
