// A second opinion: whether a proof that `hutch prove` made comes to the same here, by other code on another engine.
//
//   node tests/second/check.mjs PROOF [PACKAGE]
//
// PACKAGE is the package, packed or a folder, where the proof has none in it. One line of JSON says `equal` (and ends with 0), `differs` with what
// does (1), or `not_comparable` with the reason (2).
//
// Compared are the ending, standard output and error, the state after and what of it changed, the error, and that all which the proof holds was
// read and nothing else. Fuel, peak memory and times are hutch's own measures and are not. So are limits, but for those of volumes: a run that one
// ended is not comparable, nor one that was refused memory, tables or handles, was given a secret or a real folder, or uses up this engine's stack.
// Of the package the component is read, and the folders that its guest sees; of its manifest nothing, so its version, the name that it is called by
// and its contract are not judged, and signatures are not either. Nothing here bounds the time or the memory of the run.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { NoProof, fields, readCanonical, refuse, text } from "./canonical.mjs";
import { changesBetween } from "./changes.mjs";
import { Stop, Unknown, fault, unknown } from "./ending.mjs";
import { areInputs, instantNs } from "./entry.mjs";
import { load, run } from "./guest.mjs";
import { nameVolumes } from "./naming.mjs";
import { component, filesAt, filesIn, resource } from "./package.mjs";
import { readProof } from "./proof.mjs";
import { byteOrder } from "./snapshot.mjs";
import { digest } from "./tools.mjs";
import { makeWorld } from "./world.mjs";

/** Limits by which this world goes: what they refuse is refused here too. */
const KEPT_LIMITS = ["state_bytes", "state_files", "file_bytes", "folder_depth"];
const DEPTH_MAX = 127;
/** Names that the host refuses in a document. */
const RESERVED = "$serde_json::private::";

/** What kind of entry, and of run, this is no judge of. */
function checkComparable({ invocation, outcome }) {
  if (invocation === undefined || outcome === undefined) unknown("the entry is of no run");
  if ((outcome.unreproducible ?? []).length > 0) unknown("its outcome depends on the host that made it");
  if (outcome.ending === "limited") unknown(`it was ended by a limit, ${outcome.limit}`);
  const refused = (outcome.refused ?? []).filter((limit) => !KEPT_LIMITS.includes(limit));
  if (refused.length > 0) unknown(`it was refused more of ${refused.join(", ")}`);
  if (Object.keys(invocation.mounts).length > 0) unknown("it saw a real folder");
}

/** Arguments and environment, wherever they stand. */
function inputsOf({ invocation }, streams) {
  const { argv, environment } = invocation.inputs === undefined ? invocation : apart(streams.get(invocation.inputs.digest));
  const isApart = invocation.inputs !== undefined && (invocation.argv.length > 0 || Object.keys(invocation.environment).length > 0);
  if (isApart) refuse("the entry has its arguments twice");
  const value = ([name, value]) => [name, value.value ?? unknown("it was given a secret")];
  return { argv, environment: byName(environment).map(value) };
}

/** What an object holds, by the bytes of its names: its own order is another where a name is a number. */
const byName = (fields) => Object.entries(fields).sort(([a], [b]) => byteOrder(a, b));

function apart(stream) {
  const { value } = readCanonical(stream, "the arguments");
  const inputs = fields(value, "the arguments", ["argv", "environment"]);
  return areInputs(inputs) ? inputs : refuse("the arguments are none");
}

/** The objects that a run can read: those of the proof, of which it is noted which were, and the package's. */
class Readable {
  read = new Set();

  constructor(held, others) {
    Object.assign(this, { held, others });
  }

  /** The same, with new objects before them. */
  with = (made) => ({ get: (kind, name) => made.find(kind, name) ?? this.get(kind, name) });

  get(kind, name) {
    const object = this.held.get(name);
    if (object?.kind === kind) {
      this.read.add(name);
      return object.content;
    }
    const found = this.others.map((objects) => objects.find(kind, name)).find((content) => content !== undefined);
    return found ?? fault(`the proof lacks the ${kind} ${name}`);
  }

  unread = () => [...this.held.keys()].filter((name) => !this.read.has(name));
}

/** The trees that are open for the guest, and the objects of those which the package has. */
function ground({ invocation, volumes = {}, package: made }, files) {
  const [trees, others] = [new Map(), []];
  for (const [name, access] of Object.entries(invocation.preopens)) {
    const writable = access === "read_write";
    let tree = writable ? volumes[name]?.before : undefined;
    if (made.resources?.[name] !== undefined) {
      const shipped = resource(files, name);
      if (shipped.tree !== made.resources[name]) unknown(`the package's ${name} is another one`);
      others.push(shipped.objects);
      tree = shipped.tree;
    }
    trees.set(name, { tree: tree ?? refuse(`the entry does not say what was in ${name}`), writable });
  }
  return { trees, others };
}

/** Whether bytes are one JSON document, as the host's contract has it. */
function isDocument(bytes) {
  try {
    const whole = text(bytes, "the document");
    if (/^\uFEFF/.test(whole) || depthOf(whole) > DEPTH_MAX) return false;
    return isSound(JSON.parse(whole));
  } catch {
    return false;
  }
}

function depthOf(whole) {
  let [depth, most, isText] = [0, 0, false];
  for (let at = 0; at < whole.length; at += 1) {
    const letter = whole[at];
    if (letter === '"') isText = !isText;
    else if (isText && letter === "\\") at += 1;
    else if (!isText && (letter === "[" || letter === "{")) most = Math.max(most, (depth += 1));
    else if (!isText && (letter === "]" || letter === "}")) depth -= 1;
  }
  return most;
}

/** No half of a surrogate, and no number beyond those of 64 bits. */
function isSound(value) {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (value === null || typeof value !== "object") return true;
  return Object.entries(value).every(([name, field]) => name.isWellFormed() && !name.startsWith(RESERVED) && isSound(field));
}

/** The host's error for an end, if it has one. What the package says of its commands is not known here. */
function errorOf({ ending, status }, stdout, { invocation, error }, isChanged) {
  if (ending === "trapped") return "GUEST_TRAPPED";
  if (ending !== "exited" || status !== 0) return undefined;
  if (invocation.contract !== "any" && !isDocument(stdout)) return "CONTRACT_VIOLATION";
  if (error !== "CONTRACT_VIOLATION") return undefined;
  if (invocation.contract === "schema") unknown("its answer was held to a schema");
  return isChanged ? unknown("its command was held to changing nothing") : undefined;
}

function isEnding(recorded, { ending, status, traps, limit }) {
  if (recorded.ending !== ending) return false;
  return ending === "exited" ? recorded.status === status : ending === "trapped" ? traps.includes(recorded.trap) : recorded.limit === limit;
}

const isStream = (recorded, bytes) => recorded.size === bytes.length && recorded.digest === digest("stream", bytes);

/** What a volume is after a run, beside what the entry says: the first paths that differ are listed there, and the others are counted. */
function isVolume(recorded, after, { listed, omitted }) {
  const { changes = [], changes_omitted: more } = recorded;
  const isListed = changes.every(({ path, change }, at) => listed[at]?.path === path && listed[at].change === change);
  return recorded.after === after && isListed && BigInt(changes.length) + BigInt(more) === BigInt(listed.length + omitted);
}

/** Where a run comes to something else than the entry says. */
function compare({ entry, objects }, { world, ended, named, readable }) {
  const { outcome, volumes = {} } = entry;
  const differences = [];
  const hold = (name, equal) => equal || differences.push(name);
  const [stdout, stderr] = [world.stdout(), world.stderr()];
  hold("ending", isEnding(outcome, ended));
  hold("stdout", isStream(outcome.stdout, stdout));
  hold("stderr", isStream(outcome.stderr, stderr));
  hold("refused", JSON.stringify([...world.volumes.refused].sort()) === JSON.stringify([...(outcome.refused ?? [])].sort()));
  const writable = world.volumes.all.filter((volume) => volume.writable);
  const isChanged = writable.some(({ name, before }) => named !== undefined && named.after.get(name) !== before);
  const error = errorOf(ended, stdout, entry, isChanged);
  const isGood = ended.ending === "exited" && ended.status === 0 && error === undefined;
  hold("error", entry.error === error);
  hold("kept", isGood || entry.kept === false);
  hold("volumes", JSON.stringify(byName(volumes).map(([name]) => name)) === JSON.stringify(writable.map(({ name }) => name)));
  for (const { name, before } of writable.filter(({ name }) => volumes[name] !== undefined)) {
    const after = isGood ? named.after.get(name) : before;
    const changes = isGood ? changesBetween(readable.with(named.made), before, after) : { listed: [], omitted: 0 };
    hold(`volume ${name}`, isVolume(volumes[name], after, changes));
  }
  const unread = readable.unread();
  hold(`objects: ${unread.length} of ${objects.size} were not read`, unread.length === 0);
  return differences;
}

/** Whether a package's files make of a proof what it says. */
async function judge(proof, files) {
  const { entry, objects, streams } = proof;
  checkComparable(entry);
  const code = component(files, entry.package.component);
  if (code === undefined) unknown("the package has another component");
  const guest = await load(code, entry.package.component);
  const { invocation } = entry;
  const { trees, others } = ground(entry, files);
  const readable = new Readable(objects, others);
  const world = makeWorld(
    {
      ...inputsOf(entry, streams),
      stdin: streams.get(invocation.stdin.digest) ?? Buffer.alloc(0),
      startNs: instantNs(invocation.clock_start),
      seed: invocation.seed,
      limits: invocation.limits,
    },
    trees,
    readable,
  );
  const foreign = guest.imports.filter((name) => world.imports[name] === undefined);
  if (foreign.length > 0) unknown(`it imports ${foreign.join(", ")}`);
  const ended = run(guest, world);
  const isNamed = ended.ending === "exited" && ended.status === 0;
  const named = isNamed ? nameVolumes(world.volumes) : undefined;
  return compare(proof, { world, ended, named, readable });
}

/** The answer about a proof's bytes. `files` are those of the package, by path, if the proof has none in it. */
export async function check(file, files) {
  try {
    const proof = readProof(file);
    const shipped = proof.packed === undefined ? files : filesIn(proof.packed);
    if (shipped === undefined) return { status: "not_comparable", reason: "no package is in it, and none was named" };
    const differences = await judge(proof, shipped);
    return differences.length === 0 ? { status: "equal" } : { status: "differs", differences };
  } catch (error) {
    if (error instanceof Unknown) return { status: "not_comparable", reason: error.message };
    if (error instanceof NoProof || error instanceof Stop) return { status: "differs", differences: [error.message] };
    throw error;
  }
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [path, folder] = process.argv.slice(2);
  const answer = await check(readFileSync(path), folder === undefined ? undefined : filesAt(folder));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
  process.exitCode = { equal: 0, differs: 1, not_comparable: 2 }[answer.status];
}
