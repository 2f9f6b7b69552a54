// An entry's form: what of it is looked at is of the type that it should be, and what another version added is said to be unknown.

import { refuse } from "./canonical.mjs";
import { Unknown } from "./ending.mjs";
import { digest } from "./tools.mjs";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const isTruth = (value) => typeof value === "boolean";
const isDigest = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isCount = (value) => (Number.isSafeInteger(value) || typeof value === "bigint") && value >= 0;
const isAny = () => true;
const listOf = (is) => (value) => Array.isArray(value) && value.every(is);
const mapOf = (is) => (value) => isObject(value) && Object.values(value).every(is);
const oneOf = (...values) => (value) => values.includes(value);
const orNull = (is) => (value) => value === null || is(value);

/** An object of these fields, of which those under `optional` may be missing. */
const shape = (what, needed, optional = {}) => (value) => {
  if (!isObject(value)) refuse(`${what} of the entry is none`);
  for (const name of Object.keys(value)) {
    if (!(name in needed) && !(name in optional)) throw new Unknown(`${what} of the entry says more than is known here: ${name}`);
  }
  const isOf = (name, is) => is(value[name]) || refuse(`${what} of the entry has no ${name}`);
  for (const [name, is] of Object.entries(needed)) isOf(name, is);
  for (const [name, is] of Object.entries(optional)) if (value[name] !== undefined) isOf(name, is);
  return true;
};

/** An instant in nanoseconds: what is behind the seconds has no more digits than it needs. */
export function instantNs(written) {
  const [, seconds, fraction = ""] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(written) ?? [];
  const ms = Date.parse(`${seconds}Z`);
  const isForm = !Number.isNaN(ms) && new Date(ms).toISOString() === `${seconds}.000Z` && !fraction.endsWith("0");
  return isForm ? BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0")) : refuse(`${written} is no instant`);
}

const isInstant = (value) => isText(value) && instantNs(value) >= 0n;
const NO_BYTES = digest("stream", new Uint8Array());
const isStream = shape("a stream", { digest: isDigest, size: isCount });
/** One that is not there if it has no bytes. */
const isInput = (value) => isStream(value) && (value.size === 0) === (value.digest === NO_BYTES);
const OF_BYTES = ["argument", "component", "file", "host_call", "memory", "stack", "state", "stderr", "stdin", "stdout"];
const OF_OTHERS = ["compile_time_ms", "folder_depth", "fuel", "handles", "instances", "state_files", "table_elements", "wall_time_ms"];
const LIMITS = [...OF_BYTES.map((name) => `${name}_bytes`), ...OF_OTHERS];
const isLimits = shape("the limits", Object.fromEntries(LIMITS.map((name) => [name, isCount])));
const KINDS = ["create", "run", "plan", "apply", "replay", "undo", "restore", "import", "edit", "collect", "intent", "recover", "map"];
const isVolume = shape(
  "a volume",
  { after: isDigest, before: orNull(isDigest), changes_omitted: isCount },
  { changes: listOf(shape("a change", { change: isText, path: isText })) },
);
const isPackage = shape(
  "the package",
  { slug: isText },
  { component: isDigest, digest: isDigest, resources: mapOf(isDigest), version: isText },
);
const isValue = (value) => isObject(value) && Object.keys(value).length === 1 && (isText(value.value) || isDigest(value.secret));

/** Whether these are arguments and an environment. */
export const areInputs = ({ argv, environment }) => listOf(isText)(argv) && mapOf(isValue)(environment);

const isInvocation = shape(
  "the invocation",
  {
    argv: listOf(isText),
    clock_start: isInstant,
    confirmed: isTruth,
    contract: oneOf("json", "schema", "any"),
    environment: mapOf(isValue),
    limits: isLimits,
    mounts: isObject,
    preopens: mapOf(oneOf("read_only", "read_write")),
    seed: isDigest,
    stdin: isInput,
  },
  { digests_only: isTruth, inputs: isInput },
);
const isOutcome = shape(
  "the outcome",
  {
    ending: oneOf("exited", "trapped", "limited"),
    fuel: isCount,
    fuel_exact: isTruth,
    memory_peak_bytes: isCount,
    profile: isText,
    stderr: isStream,
    stdout: isStream,
    wall_time_us: isCount,
  },
  { limit: isText, refused: listOf(isText), status: isCount, trap: isText, unreproducible: listOf(isText) },
);
const OF_ANY_ENTRY = {
  at: isInstant,
  instance: isText,
  kept: isTruth,
  kind: oneOf(...KINDS),
  previous: isDigest,
  sequence: isCount,
  standing: isDigest,
  state: isDigest,
};
const OF_SOME = ["caller", "closes", "collected", "folders", "follows", "mapped", "memo", "owner", "request"];

/** Whether an entry is of the form that is known here. */
export const checkEntry = shape(
  "all",
  { ...OF_ANY_ENTRY, package: isPackage },
  {
    error: isText,
    invocation: isInvocation,
    outcome: isOutcome,
    volumes: mapOf(isVolume),
    ...Object.fromEntries(OF_SOME.map((name) => [name, isAny])),
  },
);
