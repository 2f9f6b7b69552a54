// Proofs of something else: a value of an entry is changed, and all around it is made to fit, so that only running it again can tell.

import { readCanonical } from "./canonical.mjs";
import { sha256 } from "./tools.mjs";

const hex = (...parts) => sha256(...parts).toString("hex");

function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (value === null || typeof value !== "object") return typeof value === "bigint" ? `${value}` : JSON.stringify(value);
  const names = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${names.map((name) => `${JSON.stringify(name)}:${written(value[name])}`).join(",")}}`;
}

const read = (bytes) => readCanonical(Buffer.from(bytes), "what is to be forged").value;

/** The same proof, after `change` had its predicate: of a ledger of one entry. */
export function forged(file, change) {
  const envelope = read(file.subarray(0, -1));
  const statement = read(Buffer.from(envelope.payload, "base64"));
  const { predicate } = statement;
  change(predicate);
  predicate.entry.sequence = 1;
  const entry = Buffer.from(written(predicate.entry));
  predicate.ledger = { path: [], root: hex(Buffer.from([0]), entry), size: 1 };
  const of = `${predicate.entry.package?.slug}/${predicate.entry.instance}@1`;
  const subject = (name, sha256) => ({ name, digest: { sha256 } });
  statement.subject = [subject(of, hex(entry)), subject(`${of}-1`, predicate.ledger.root), ...statement.subject.slice(2)];
  const payload = Buffer.from(written(statement)).toString("base64");
  return Buffer.from(`${written({ ...envelope, payload })}\n`);
}

/** Another digest: its last digit is the next one. */
export const another = (digest) => digest.slice(0, -1) + ((Number.parseInt(digest.at(-1), 16) + 1) % 16).toString(16);
