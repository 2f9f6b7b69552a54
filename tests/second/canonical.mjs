// JSON of which each value has one form: no white space, keys in the order of their bytes, integers alone, nothing escaped that need not be.
// What is of another form is refused. Integers that a number can't hold exactly are big ones.

const SHORT = { 0x22: '"', 0x5c: "\\", 0x62: "\b", 0x66: "\f", 0x6e: "\n", 0x72: "\r", 0x74: "\t" };
const HELD_SHORT = new Set(["\b", "\f", "\n", "\r", "\t"].map((text) => text.charCodeAt(0)));
const DEPTH_MAX = 127;

export class NoProof extends Error {}

export function refuse(reason) {
  throw new NoProof(reason);
}

/** Strict UTF-8, whatever it begins with. */
export function text(bytes, what) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse(`${what} is no UTF-8`);
  }
}

class Reader {
  constructor(bytes, what) {
    Object.assign(this, { bytes, what, at: 0, spans: new Map() });
  }

  wrong(why) {
    return refuse(`${this.what} is not in its one form: ${why} at byte ${this.at}`);
  }

  takes(byte) {
    if (this.bytes[this.at] !== byte.charCodeAt(0)) return false;
    this.at += 1;
    return true;
  }

  expect(word) {
    for (const letter of word) if (!this.takes(letter)) this.wrong(`no ${word}`);
  }

  value(depth = 0) {
    if (depth > DEPTH_MAX) this.wrong("too deep");
    const start = this.at;
    const first = String.fromCharCode(this.bytes[this.at] ?? 0);
    if (first === "{") {
      const fields = this.object(depth);
      this.spans.set(fields, this.bytes.subarray(start, this.at));
      return fields;
    }
    if (first === "[") return this.array(depth);
    if (first === '"') return this.string();
    if (first === "t") return this.expect("true"), true;
    if (first === "f") return this.expect("false"), false;
    if (first === "n") return this.expect("null"), null;
    return this.integer();
  }

  object(depth) {
    const fields = Object.create(null);
    let last = null;
    this.expect("{");
    if (this.takes("}")) return fields;
    do {
      const name = this.string();
      const bytes = Buffer.from(name);
      if (last !== null && Buffer.compare(last, bytes) >= 0) this.wrong("keys out of order");
      last = bytes;
      this.expect(":");
      fields[name] = this.value(depth + 1);
    } while (this.takes(","));
    this.expect("}");
    return fields;
  }

  array(depth) {
    const items = [];
    this.expect("[");
    if (this.takes("]")) return items;
    do items.push(this.value(depth + 1));
    while (this.takes(","));
    this.expect("]");
    return items;
  }

  integer() {
    const start = this.at;
    while (/[-0-9]/.test(String.fromCharCode(this.bytes[this.at] ?? 0))) this.at += 1;
    const written = this.bytes.toString("latin1", start, this.at);
    if (!/^(0|-?[1-9][0-9]{0,19})$/.test(written)) this.wrong("no integer");
    const value = BigInt(written);
    if (value < -(2n ** 63n) || value >= 2n ** 64n) this.wrong("no integer of 64 bits");
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  string() {
    this.expect('"');
    let start = this.at;
    let whole = "";
    for (;;) {
      const byte = this.bytes[this.at];
      if (byte === undefined || byte < 0x20) this.wrong("no end of a string");
      if (byte === 0x22 || byte === 0x5c) {
        whole += text(this.bytes.subarray(start, this.at), this.what);
        this.at += 1;
        if (byte === 0x22) return whole;
        whole += this.escaped();
        start = this.at;
      } else {
        this.at += 1;
      }
    }
  }

  escaped() {
    const letter = this.bytes[this.at];
    this.at += 1;
    if (SHORT[letter] !== undefined) return SHORT[letter];
    const digits = this.bytes.toString("latin1", this.at, this.at + 4);
    const code = Number.parseInt(digits, 16);
    const isForm = letter === 0x75 && /^00[01][0-9a-f]$/.test(digits) && !HELD_SHORT.has(code);
    if (!isForm) this.wrong("an escape that is not needed");
    this.at += 4;
    return String.fromCharCode(code);
  }
}

/** The value that bytes are, and the bytes that each of its objects is. */
export function readCanonical(bytes, what) {
  const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), what);
  const value = reader.value();
  if (reader.at !== bytes.length) reader.wrong("something behind it");
  return { value, spans: reader.spans };
}

/** Bytes from their base64, which has one form too. */
export function base64(written, what) {
  if (typeof written !== "string") return refuse(`${what} is no text`);
  const bytes = Buffer.from(written, "base64");
  return bytes.toString("base64") === written ? bytes : refuse(`${what} is no base64`);
}

/** An object that has these fields, perhaps those, and no others. */
export function fields(value, what, needed, optional = []) {
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
  const has = isObject ? Object.keys(value) : [];
  const isForm = isObject && needed.every((name) => has.includes(name)) && has.every((name) => [...needed, ...optional].includes(name));
  return isForm ? value : refuse(`${what} has other fields than ${needed.join(", ")}`);
}
