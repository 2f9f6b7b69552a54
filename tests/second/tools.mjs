// The two packages of npm that the checker stands on, as `run` installs them: their places come from the environment, since nothing of them is
// in the repository.

import { createCipheriv, createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
const TOOLS = process.env.HUTCH_SECOND_TOOLS ?? join(TARGET, "second-tools");
const installed = (path) =>
  import(pathToFileURL(join(TOOLS, "node_modules", path))).catch((error) => {
    throw new Error(`${path} is not in ${TOOLS}: tests/second/run fetches it`, { cause: error });
  });

const { blake3 } = await installed("@noble/hashes/blake3.js");
const { transpileBytes } = await installed("@bytecodealliance/jco-transpile/dist/index.js");

const hex = (bytes) => Buffer.from(bytes).toString("hex");

/** The name of content of a kind: BLAKE3, under a key that is derived for the kind. */
export const digest = (kind, bytes) => hex(blake3(bytes, { context: Buffer.from(`hutch v1 ${kind}`) }));

export const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

/** The first 16 digits of the hash by which a name finds its part of a large folder. */
const PART_KEY = Buffer.from("hutch v1 part of a large folder.");
export const route = (name) => hex(blake3(Buffer.from(name), { key: PART_KEY }).subarray(0, 8));

/** One of the streams of bytes that a seed has: ChaCha20 with 64 bits of counter, from 0, and 64 bits for the stream's number. */
export function chacha20(seed, number) {
  const start = Buffer.alloc(16);
  start.writeBigUInt64LE(BigInt(number), 8);
  const cipher = createCipheriv("chacha20", Buffer.from(seed, "hex"), start);
  return (length) => cipher.update(Buffer.alloc(length));
}

/** A component taken apart: core modules, and the JavaScript that links them. */
export const takenApart = async (component) => {
  const options = { name: "guest", instantiation: "sync", noNodejsCompat: true, noTypescript: true, base64Cutoff: 0 };
  return transpileBytes(component, options);
};
