// The bytes of a file: those of its snapshot, with written chunks over them. A part of a snapshot is read when it is looked at, or written over.

import { fault } from "./ending.mjs";
import { CHUNK_BYTES, LIST_PARTS, listLevels } from "./snapshot.mjs";

const OFFSET_MAX = 2n ** 63n;

export function checkOffset(offset) {
  if (offset >= OFFSET_MAX) throw "invalid";
}

const chunkLength = (size, number) => Math.max(0, Math.min(CHUNK_BYTES, size - number * CHUNK_BYTES));
export const partCount = (size, level) => Math.ceil(Math.ceil(size / CHUNK_BYTES) / LIST_PARTS ** level);

/** The digest of part `number` at `level` of a file in the snapshot: chunks are level 0, lists of chunks level 1. */
export function basePart(volumes, base, level, number) {
  let name = base.content;
  for (let below = listLevels(base.size) - 1; below >= level; below -= 1) {
    const list = volumes.objects.get("list", name);
    const part = Math.floor(number / LIST_PARTS ** (below - level));
    const parts = Math.min(LIST_PARTS, partCount(base.size, below) - (part - (part % LIST_PARTS)));
    if (list.length !== 32 * parts) fault(`the list ${name} has ${list.length} bytes, not those of its place`);
    const at = 32 * (part % LIST_PARTS);
    name = list.toString("hex", at, at + 32);
  }
  return name;
}

function baseChunk(volumes, base, number) {
  const name = basePart(volumes, base, 0, number);
  const chunk = volumes.objects.get("chunk", name);
  return chunk.length === chunkLength(base.size, number) ? chunk : fault(`the chunk ${name} has ${chunk.length} bytes, not those of its place`);
}

function checkFile(node) {
  if (node.kind === "folder") throw "is-directory";
  if (node.kind === "link") throw "bad-descriptor";
}

/** Up to `length` bytes from `offset`, which is a big one; none at or after the end. */
export function readBytes(volumes, node, offset, length) {
  if (offset + BigInt(length) >= OFFSET_MAX) throw "invalid";
  checkFile(node);
  if (offset >= BigInt(node.size)) return Buffer.alloc(0);
  const start = Number(offset);
  const bytes = Buffer.alloc(Math.min(node.size - start, length));
  for (let at = start; at < start + bytes.length; ) {
    const number = Math.floor(at / CHUNK_BYTES);
    const [from, first] = [at % CHUNK_BYTES, number * CHUNK_BYTES];
    const to = Math.min(start + bytes.length - first, CHUNK_BYTES);
    const { base } = node;
    if (node.written.has(number)) {
      bytes.set(node.written.get(number).subarray(from, to), at - start);
    } else if (base !== null && at < base.visible) {
      const seen = Math.min(to, chunkLength(base.visible, number));
      bytes.set(baseChunk(volumes, base, number).subarray(from, seen), at - start);
    }
    at = first + to;
  }
  return bytes;
}

/** A chunk that can be written to, whole: what is not there is zeros. */
function writable(volumes, node, number) {
  const found = node.written.get(number);
  if (found !== undefined) return found;
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const stored = node.base === null ? 0 : chunkLength(node.base.visible, number);
  if (stored > 0) chunk.set(baseChunk(volumes, node.base, number).subarray(0, stored));
  node.written.set(number, chunk);
  return chunk;
}

function resize(volumes, node, size) {
  if (size > node.size && size > volumes.limits.file_bytes) volumes.refuse("file_bytes", "file-too-large");
  volumes.recount(node, node.names, size);
  if (!Number.isSafeInteger(size)) fault("a file is larger than is counted with here");
}

function wrote(volumes, node) {
  node.modifiedNs = node.changedNs = volumes.clock.wallNs();
  volumes.changed(node);
}

/** Writes all bytes at `offset`; a gap before them is zeros. */
export function writeBytes(volumes, node, offset, bytes) {
  if (offset + BigInt(bytes.length) >= OFFSET_MAX) throw "invalid";
  checkFile(node);
  if (bytes.length === 0) return;
  const start = Number(offset);
  const end = start + bytes.length;
  if (end > node.size) resize(volumes, node, end);
  for (let at = start; at < end; ) {
    const number = Math.floor(at / CHUNK_BYTES);
    const length = Math.min(end - at, CHUNK_BYTES - (at % CHUNK_BYTES));
    writable(volumes, node, number).set(bytes.subarray(at - start, at - start + length), at % CHUNK_BYTES);
    at += length;
  }
  node.size = Math.max(node.size, end);
  wrote(volumes, node);
}

/** Cuts the file, or makes it longer with zeros. */
export function setSize(volumes, node, asked) {
  checkOffset(asked);
  checkFile(node);
  const size = Number(asked);
  resize(volumes, node, size);
  if (size < node.size) {
    const kept = Math.ceil(size / CHUNK_BYTES);
    for (const number of node.written.keys()) if (number >= kept) node.written.delete(number);
    node.written.get(Math.floor(size / CHUNK_BYTES))?.fill(0, size % CHUNK_BYTES);
    if (node.base !== null) node.base = { ...node.base, visible: Math.min(node.base.visible, size) };
  }
  node.size = size;
  wrote(volumes, node);
}

export const isStored = ({ size, base, written }) =>
  written.size === 0 && (base === null ? size === 0 : base.visible === base.size && base.size === size);

/** The bytes of chunk `number`, to name them. */
export function chunkOf(volumes, node, number) {
  const length = chunkLength(node.size, number);
  return node.written.get(number)?.subarray(0, length) ?? readBytes(volumes, node, BigInt(number) * BigInt(CHUNK_BYTES), length);
}
