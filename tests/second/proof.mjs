// A proof's file, read as host/docs/proofs.md says: what is not of that form is refused, before anything is run.

import { base64, fields, readCanonical, refuse } from "./canonical.mjs";
import { checkEntry } from "./entry.mjs";
import { digest, sha256 } from "./tools.mjs";

const FILE_BYTES_MAX = 64 << 20;
const ENTRY_BYTES_MAX = 256 << 10;
const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE = "https://github.com/hutch-host/hutch/run/v1";
const KINDS = ["chunk", "list", "tree"];
const HEX = /^[0-9a-f]{64}$/;
const [LEAF, NODE] = [Buffer.from([0]), Buffer.from([1])];

const isText = (value) => typeof value === "string";
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

function list(value, what) {
  return Array.isArray(value) ? value : refuse(`${what} is no list`);
}

function envelope(file) {
  if (file.length > FILE_BYTES_MAX) refuse("the file is too long");
  if (file.at(-1) !== 10) refuse("the file does not end with a line's end");
  const { value } = readCanonical(file.subarray(0, -1), "the envelope");
  fields(value, "the envelope", ["payload", "payloadType", "signatures"]);
  if (value.payloadType !== PAYLOAD_TYPE) refuse("the envelope holds no statement");
  for (const signature of list(value.signatures, "signatures")) {
    fields(signature, "a signature", ["keyid", "sig"]);
    base64(signature.sig, "a signature");
    if (!isText(signature.keyid)) refuse("a signature's key has no name");
  }
  return base64(value.payload, "the payload");
}

/** RFC 6962, section 2.1.1, from the leaf on. */
function checkInclusion({ path, root, size }, sequence, entry) {
  if (!isCount(size) || !isCount(sequence) || sequence < 1 || sequence > size) refuse("the entry has no place in its ledger");
  if (![root, ...list(path, "the path")].every((hash) => HEX.test(hash))) refuse("a hash of the ledger is none");
  let [at, last, found] = [sequence - 1, size - 1, sha256(LEAF, entry)];
  const half = (number) => Math.floor(number / 2);
  for (const beside of path.map((hash) => Buffer.from(hash, "hex"))) {
    if (last === 0) refuse("the path of the ledger is too long");
    if (at % 2 === 1 || at === last) {
      found = sha256(NODE, beside, found);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else {
      found = sha256(NODE, found, beside);
    }
    [at, last] = [half(at), half(last)];
  }
  if (last !== 0 || found.toString("hex") !== root) refuse("the path does not lead from the entry to the ledger's root");
}

function objects(written) {
  const held = new Map();
  let last = "";
  for (const object of list(written, "objects")) {
    fields(object, "an object", ["content", "kind"]);
    if (!KINDS.includes(object.kind)) refuse("an object is of no kind that there is");
    const content = base64(object.content, "an object");
    const name = digest(object.kind, content);
    if (name <= last) refuse("the objects are not in the order of their digests, each once");
    held.set(name, { kind: object.kind, content });
    last = name;
  }
  return held;
}

/** The inputs that an entry names and does not hold, in the order of their digests. */
function named({ invocation }) {
  const streams = [invocation?.stdin, invocation?.inputs].filter((stream) => stream !== undefined && stream.size !== 0);
  return [...new Map(streams.map((stream) => [stream.digest, stream])).values()].sort((a, b) => (a.digest < b.digest ? -1 : 1));
}

function streams(written, entry) {
  const expected = named(entry);
  if (list(written, "streams").length !== expected.length) refuse("there are other streams than the entry names");
  const held = new Map();
  for (const [at, { digest: name, size }] of expected.entries()) {
    const content = base64(written[at], "a stream");
    if (digest("stream", content) !== name || content.length !== size) refuse("a stream is not the one that the entry names");
    held.set(name, content);
  }
  return held;
}

function checkSubjects(subjects, expected) {
  if (list(subjects, "subjects").length !== expected.length) refuse("there are other subjects than the statement is about");
  for (const [at, [name, hash]] of expected.entries()) {
    const subject = fields(subjects[at], "a subject", ["digest", "name"]);
    fields(subject.digest, "a subject's digest", ["sha256"]);
    if (subject.name !== name || subject.digest.sha256 !== hash) refuse(`subject ${at} is not what the statement is about`);
  }
}

/** What a file says: the entry, the objects and streams by their digests, and the package if it is in it. */
export function readProof(file) {
  const { value: statement, spans } = readCanonical(envelope(file), "the statement");
  fields(statement, "the statement", ["_type", "predicate", "predicateType", "subject"]);
  if (statement._type !== STATEMENT_TYPE || statement.predicateType !== PREDICATE_TYPE) refuse("the statement is of another type");
  const predicate = fields(statement.predicate, "the predicate", ["entry", "ledger", "objects", "streams"], ["package"]);
  const { entry } = predicate;
  const written = spans.get(entry) ?? refuse("the entry is no object");
  if (written.length > ENTRY_BYTES_MAX) refuse("the entry is too long");
  const ledger = fields(predicate.ledger, "the ledger", ["path", "root", "size"]);
  checkInclusion(ledger, entry.sequence, written);
  const packed = predicate.package === undefined ? undefined : base64(predicate.package, "the package");
  if (!isText(entry.package?.slug) || !isText(entry.instance)) refuse("the entry is of no instance");
  const of = `${entry.package.slug}/${entry.instance}`;
  const subjects = [
    [`${of}@${entry.sequence}`, sha256(written).toString("hex")],
    [`${of}@1-${ledger.size}`, ledger.root],
    ...(packed === undefined ? [] : [[`${entry.package.slug}.tar`, sha256(packed).toString("hex")]]),
  ];
  checkSubjects(statement.subject, subjects);
  checkEntry(entry);
  const hash = digest("entry", written);
  return { entry, hash, objects: objects(predicate.objects), streams: streams(predicate.streams, entry), packed };
}
