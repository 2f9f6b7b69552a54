// Floats have one NaN: the positive, quiet one without a payload. V8 leaves to the processor which one an operation makes, so each that can make
// one is followed by a choice between its result and that. A core module without such operations is left as it is.

import { unknown } from "./ending.mjs";

class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    Object.assign(this, { bytes, at, end });
  }

  byte() {
    if (this.at >= this.end) unknown("a section of the module ends within something");
    return this.bytes[this.at++];
  }

  skip(length) {
    this.at += length;
  }

  /** An unsigned number of at most 32 bits. */
  number() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  /** A number of any size and sign, which nobody looks at. */
  passNumber() {
    while (this.byte() >= 128);
  }

  passNumbers(count) {
    for (let at = 0; at < count; at += 1) this.passNumber();
  }

  section() {
    const id = this.byte();
    const length = this.number();
    const start = this.at;
    this.skip(length);
    return { id, start, end: this.at };
  }
}

function written(number) {
  const bytes = [];
  for (let rest = number; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) | 128);
  }
}

const within = (low, high) => Array.from({ length: high - low + 1 }, (_, at) => low + at);

/** Of each type: its code, the operations whose result may be any NaN, and how the choice is written. */
const F32_NAN = [0x00, 0x00, 0xc0, 0x7f];
const F64_NAN = [0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x7f];
const F32 = { type: 0x7d, operations: [...within(0x8d, 0x97), 0xb6], nan: [0x43, ...F32_NAN], equal: [0x5b], choose: [0x1b] };
const F64 = { type: 0x7c, operations: [...within(0x9b, 0xa5), 0xbb], nan: [0x44, ...F64_NAN], equal: [0x61], choose: [0x1b] };
const vector = (operations, nan, equal) => ({ type: 0x7b, operations, nan: [0xfd, 0x0c, ...nan], equal: [0xfd, equal], choose: [0xfd, 0x52] });
const F32X4 = vector([94, ...within(103, 106), ...within(227, 233)], Array(4).fill(F32_NAN).flat(), 0x41);
const F64X2 = vector([95, 116, 117, 122, 148, ...within(239, 245)], Array(2).fill(F64_NAN).flat(), 0x47);
const SCALAR = new Map([F32, F64].flatMap((kind) => kind.operations.map((operation) => [operation, kind])));
const VECTOR = new Map([F32X4, F64X2].flatMap((kind) => kind.operations.map((operation) => [operation, kind])));
const LAST_VECTOR = 255;

function passMemory(reader) {
  if (reader.number() >= 64) reader.passNumber();
  reader.passNumber();
}

function passBlockType(reader) {
  reader.passNumber();
}

function passCatches(reader) {
  for (let left = reader.number(); left > 0; left -= 1) reader.passNumbers(reader.byte() < 2 ? 2 : 1);
}

/** Goes past what stands behind an operation of one byte. */
function passOperands(reader, code) {
  if (code >= 0x02 && code <= 0x04) passBlockType(reader);
  else if ([0x08, 0x0c, 0x0d, 0x10, 0x12, 0x14, 0x15, 0xd0, 0xd2, 0xd5, 0xd6].includes(code)) reader.passNumber();
  else if (code === 0x11 || code === 0x13) reader.passNumbers(2);
  else if (code === 0x0e) reader.passNumbers(reader.number() + 1);
  else if (code === 0x1c) reader.passNumbers(reader.number());
  else if (code === 0x1f) passBlockType(reader), passCatches(reader);
  else if (code >= 0x20 && code <= 0x26) reader.passNumber();
  else if (code >= 0x28 && code <= 0x3e) passMemory(reader);
  else if (code >= 0x3f && code <= 0x42) reader.passNumber();
  else if (code === 0x43) reader.skip(4);
  else if (code === 0x44) reader.skip(8);
  else if (!isPlain(code)) unknown(`the module has an operation 0x${code.toString(16)}`);
}

const isPlain = (code) => [0x00, 0x01, 0x05, 0x0a, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1, 0xd3, 0xd4].includes(code) || (code >= 0x45 && code <= 0xc4);

const BULK = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

function passBulk(reader) {
  const code = reader.number();
  if (BULK[code] === undefined) unknown(`the module has an operation 0xfc ${code}`);
  reader.passNumbers(BULK[code]);
}

/** Goes past an operation on vectors, and says which it is. */
function passVector(reader) {
  const code = reader.number();
  if (code > LAST_VECTOR) unknown(`the module has a relaxed operation, ${code}`);
  if (code <= 11 || code === 92 || code === 93) passMemory(reader);
  else if (code === 12 || code === 13) reader.skip(16);
  else if (code >= 84 && code <= 91) passMemory(reader), reader.skip(1);
  else if (code >= 21 && code <= 34) reader.skip(1);
  return code;
}

/** Where in a function such operations end, and of which type each is. */
function makersOf(reader) {
  const makers = [];
  while (reader.at < reader.end) {
    const code = reader.byte();
    let kind = SCALAR.get(code);
    if (code === 0xfd) kind = VECTOR.get(passVector(reader));
    else if (code === 0xfc) passBulk(reader);
    else passOperands(reader, code);
    if (kind !== undefined) makers.push({ kind, at: reader.at });
  }
  return makers;
}

/** A function's body with the choices in it, over locals of its own. */
function oneNanIn(bytes, start, end, parameters) {
  const reader = new Reader(bytes, start, end);
  const groups = reader.number();
  const declared = reader.at;
  let locals = parameters;
  for (let left = groups; left > 0; left -= 1) {
    locals += reader.number();
    const type = reader.byte();
    if (type === 0x63 || type === 0x64) reader.passNumber();
  }
  const code = reader.at;
  const makers = makersOf(reader);
  if (makers.length === 0) return bytes.subarray(start, end);
  const types = [...new Set(makers.map(({ kind }) => kind.type))];
  const parts = [written(groups + types.length), bytes.subarray(declared, code), ...types.map((type) => [1, type])];
  let from = code;
  for (const { kind, at } of makers) {
    const local = written(locals + types.indexOf(kind.type));
    const choice = [0x22, ...local, ...kind.nan, 0x20, ...local, 0x20, ...local, ...kind.equal, ...kind.choose];
    parts.push(bytes.subarray(from, at), choice);
    from = at;
  }
  parts.push(bytes.subarray(from, end));
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

/** How many parameters each type has. */
function parametersOf(reader) {
  return Array.from({ length: reader.number() }, () => {
    if (reader.byte() !== 0x60) unknown("the module has types that are no functions");
    const count = reader.number();
    const pass = (number) => {
      for (let left = number; left > 0; left -= 1) if ([0x63, 0x64].includes(reader.byte())) reader.passNumber();
    };
    pass(count);
    pass(reader.number());
    return count;
  });
}

/** A core module in which every float that is made is one number, or the one NaN. */
export function oneNan(module) {
  const bytes = Buffer.from(module.buffer, module.byteOffset, module.length);
  const [whole, parts] = [new Reader(bytes, 8), [bytes.subarray(0, 8)]];
  let [parameters, types] = [[], []];
  while (whole.at < whole.end) {
    const begin = whole.at;
    const { id, start, end } = whole.section();
    const reader = new Reader(bytes, start, end);
    if (id === 1) parameters = parametersOf(reader);
    if (id === 3) types = Array.from({ length: reader.number() }, () => reader.number());
    if (id !== 10) {
      parts.push(bytes.subarray(begin, end));
      continue;
    }
    const bodies = types.map((type, at) => {
      if (at === 0) reader.number();
      const length = reader.number();
      reader.skip(length);
      return oneNanIn(bytes, reader.at - length, reader.at, parameters[type]);
    });
    const section = Buffer.concat([Buffer.from(written(bodies.length)), ...bodies.flatMap((body) => [Buffer.from(written(body.length)), body])]);
    parts.push(Buffer.from([id, ...written(section.length)]), section);
  }
  return Buffer.concat(parts);
}
