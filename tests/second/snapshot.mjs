// A volume at rest: trees, lists and chunks, how they are written, and how they are named. host/docs/world.md has the forms.

import { refuse, text } from "./canonical.mjs";
import { digest, route } from "./tools.mjs";

export const CHUNK_BYTES = 64 * 1024;
export const LIST_PARTS = 256;
const PART_ENTRIES = 128;
const PART_LEVELS = 16;
const NAME_BYTES_MAX = 255;
const LINK_BYTES_MAX = 4096;
const KINDS = { 1: "file", 2: "folder", 3: "link" };
const PARTS_KIND = 4;

export const EMPTY_TREE = digest("tree", new Uint8Array());
export const EMPTY_FILE = digest("chunk", new Uint8Array());

export const byteOrder = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
export const byteLength = (name) => Buffer.byteLength(name);

/** Objects by their digests. */
export class ObjectsOf {
  #held;

  constructor(held = new Map()) {
    this.#held = held;
  }

  take(kind, content) {
    const name = digest(kind, content);
    this.#held.set(name, { kind, content });
    return name;
  }

  find(kind, name) {
    const object = this.#held.get(name);
    return object?.kind === kind ? object.content : undefined;
  }
}

/** Whether a text can be a name: `too-long`, `invalid`, or nothing against it. */
export function nameFault(name) {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) return "invalid";
  return byteLength(name) > NAME_BYTES_MAX ? "too-long" : null;
}

export const NOTHING = { bytes: 0, files: 0, depth: 0, pathBytes: 0 };

export const plus = (a, b) => ({
  bytes: a.bytes + b.bytes,
  files: a.files + b.files,
  depth: Math.max(a.depth, b.depth),
  pathBytes: Math.max(a.pathBytes, b.pathBytes),
});

/** What an entry adds to its folder's totals. */
export function totalsOf(entry) {
  const own = byteLength(entry.name);
  if (entry.kind !== "folder") return { bytes: entry.size ?? 0, files: 1, depth: 0, pathBytes: own };
  const { bytes, files, depth, pathBytes } = entry.totals;
  return { bytes, files: files + 1, depth: depth + 1, pathBytes: pathBytes === 0 ? own : pathBytes + 1 + own };
}

export const sumOf = (entries) => entries.map(totalsOf).reduce(plus, NOTHING);

class Bytes {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0 });
  }

  take(length) {
    const part = this.bytes.subarray(this.at, this.at + length);
    if (part.length < length) refuse("a tree ends within an entry");
    this.at += length;
    return Buffer.from(part);
  }

  byte = () => this.take(1)[0];
  big = () => this.take(8).readBigUInt64LE();
  hex = () => this.take(32).toString("hex");
  text = (length) => text(this.take(length), "a name in a tree");
  done = () => this.at === this.bytes.length;

  number() {
    const value = Number(this.big());
    return Number.isSafeInteger(value) ? value : refuse("a tree has a number beyond those that are counted with here");
  }

  totals() {
    const [bytes, files] = [this.number(), this.number()];
    return { bytes, files, depth: this.take(4).readUInt32LE(), pathBytes: this.take(4).readUInt32LE() };
  }
}

function readEntry(bytes) {
  const [kind, length] = [KINDS[bytes.byte()], bytes.byte()];
  const [name, modifiedNs] = [bytes.text(length), bytes.big()];
  if (nameFault(name) !== null) refuse("a tree has a name that is none");
  if (kind === "file") return { name, modifiedNs, kind, size: bytes.number(), content: bytes.hex() };
  if (kind === "folder") return { name, modifiedNs, kind, totals: bytes.totals(), tree: bytes.hex() };
  if (kind !== "link") refuse("a tree has an entry of no kind");
  const target = bytes.text(bytes.take(2).readUInt16LE());
  if (target === "" || target.includes("\0") || byteLength(target) > LINK_BYTES_MAX) refuse("a tree has a link that is none");
  return { name, modifiedNs, kind, target };
}

export const isOneObject = (at, entries) => entries <= PART_ENTRIES || at.length === PART_LEVELS;

function readParts(bytes) {
  const levels = bytes.byte();
  const digits = bytes.big().toString(16).padStart(PART_LEVELS, "0");
  const [at, parts] = [digits.slice(0, levels), []];
  if (levels >= PART_LEVELS || /[^0]/.test(digits.slice(levels))) refuse("a tree is of no place");
  while (!bytes.done()) {
    const digit = bytes.byte();
    const part = { digit: digit.toString(16), entries: bytes.number(), totals: bytes.totals(), tree: bytes.hex() };
    const isNext = digit < 16 && part.entries > 0 && (parts.length === 0 || parts.at(-1).digit < part.digit);
    parts.push(isNext ? part : refuse("a tree has parts out of order"));
  }
  const entries = parts.reduce((sum, part) => sum + part.entries, 0);
  if (isOneObject(at, entries)) refuse("a tree is in parts that need not be");
  return { at, parts, entries, totals: parts.map((part) => part.totals).reduce(plus, NOTHING) };
}

/** A tree's object: `list`, its entries by name; or `parts`, and `at`, the digits that all names in it have. */
export function readTree(content) {
  const bytes = new Bytes(content);
  if (content[0] === PARTS_KIND) {
    bytes.byte();
    return readParts(bytes);
  }
  const list = [];
  while (!bytes.done()) {
    const entry = readEntry(bytes);
    if (list.length > 0 && byteOrder(list.at(-1).name, entry.name) >= 0) refuse("a tree has names out of order");
    list.push(entry);
  }
  return { list, entries: list.length, totals: sumOf(list) };
}

const little = (bytes, value) => {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 8) buffer.writeBigUInt64LE(BigInt(value));
  else buffer.writeUIntLE(value, 0, bytes);
  return buffer;
};
const written = ({ bytes, files, depth, pathBytes }) => [little(8, bytes), little(8, files), little(4, depth), little(4, pathBytes)];

function writeEntry(entry) {
  const name = Buffer.from(entry.name);
  const begin = (kind) => [little(1, kind), little(1, name.length), name, little(8, entry.modifiedNs)];
  if (entry.kind === "file") return [...begin(1), little(8, entry.size), Buffer.from(entry.content, "hex")];
  if (entry.kind === "folder") return [...begin(2), ...written(entry.totals), Buffer.from(entry.tree, "hex")];
  const target = Buffer.from(entry.target);
  return [...begin(3), little(2, target.length), target];
}

/** The bytes of entries, by name. */
export function writeEntries(entries) {
  const sorted = [...entries].sort((a, b) => byteOrder(a.name, b.name));
  return Buffer.concat(sorted.flatMap(writeEntry));
}

export function writeParts(at, parts) {
  const line = ({ digit, entries, totals, tree }) => {
    return [little(1, Number.parseInt(digit, 16)), little(8, entries), ...written(totals), Buffer.from(tree, "hex")];
  };
  const place = BigInt(`0x${at.padEnd(PART_LEVELS, "0")}`);
  return Buffer.concat([little(1, PARTS_KIND), little(1, at.length), little(8, place), ...parts.flatMap(line)]);
}

/** Names what is at a place of a folder, all of which is known: one object, or parts. */
export function nameFolder(made, entries, at = "", routes = new Map()) {
  const count = entries.length;
  if (isOneObject(at, count)) return { tree: made.take("tree", writeEntries(entries)), totals: sumOf(entries), entries: count };
  const inside = new Map();
  for (const entry of entries) {
    if (!routes.has(entry)) routes.set(entry, route(entry.name));
    const digit = routes.get(entry)[at.length];
    inside.set(digit, [...(inside.get(digit) ?? []), entry]);
  }
  const digits = [...inside.keys()].sort();
  const parts = digits.map((digit) => ({ digit, ...nameFolder(made, inside.get(digit), at + digit, routes) }));
  const totals = parts.map((part) => part.totals).reduce(plus, NOTHING);
  return { tree: made.take("tree", writeParts(at, parts)), totals, entries: count };
}

/** Levels of lists above the chunks of a file. */
export function listLevels(size) {
  let levels = 0;
  for (let parts = Math.ceil(size / CHUNK_BYTES); parts > 1; parts = Math.ceil(parts / LIST_PARTS)) levels += 1;
  return levels;
}

export const writeList = (digests) => Buffer.from(digests.join(""), "hex");

/** Names a file all of whose bytes are known. */
export function nameFile(made, bytes) {
  const split = (all, each) => Array.from({ length: Math.ceil(all.length / each) }, (_, at) => all.slice(at * each, (at + 1) * each));
  let digests = split(bytes, CHUNK_BYTES).map((chunk) => made.take("chunk", chunk));
  while (digests.length > 1) digests = split(digests, LIST_PARTS).map((part) => made.take("list", writeList(part)));
  return { size: bytes.length, content: digests[0] ?? EMPTY_FILE };
}
