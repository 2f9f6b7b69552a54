// The program's proofs before the other checker: of all the calls that every host is to answer alike, of more of them, and forged ones. HUTCH is
// the program.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { natively } from "../tab/alike.mjs";
import { SCRIPTS } from "../tab/calls.mjs";
import { FOLDERS, Machine, temporary } from "../tab/machine.mjs";
import { MORE, PACKAGES } from "./calls.mjs";
import { check } from "./check.mjs";
import { another, forged } from "./forge.mjs";
import { filesAt } from "./package.mjs";
import { digest } from "./tools.mjs";

const FEW = process.env.HUTCH_SECOND_FEW !== undefined;
const ALL = FEW ? { todo: FOLDERS.todo } : { ...FOLDERS, ...PACKAGES };
const FILES = Object.fromEntries(Object.entries(ALL).map(([slug, folder]) => [slug, filesAt(folder)]));
/** Limits whose refusals a checker comes to as well. */
const COUNTED = ["state_bytes", "state_files", "file_bytes", "folder_depth"];

/** A home of the program with all packages, which proves what it did. */
class Prover extends Machine {
  constructor(t) {
    super(temporary(t), ALL);
  }

  /** The entries of an instance that have a run. */
  entries(slug, instance) {
    return this.ledger(slug, instance).map(({ entry }) => entry).filter(({ outcome }) => outcome !== undefined);
  }

  /** The file that proves an entry; nothing if the program says that it can't be proved. */
  proof(slug, instance, sequence, more = ["--bare"]) {
    const path = join(this.folder, `${instance}.${sequence}.${more.length}.json`);
    const { status, stderr } = this.run(["prove", ...more, "--instance", instance, "--output", path, slug, `@${sequence}`]);
    if (status === 0) return readFileSync(path);
    assert.equal(JSON.parse(stderr).code, "NOT_REPRODUCIBLE");
    return null;
  }
}

/** What the checker is to say of an entry. */
function expected({ outcome }) {
  const isCounted = (outcome.refused ?? []).every((limit) => COUNTED.includes(limit));
  return ["exited", "trapped"].includes(outcome.ending) && isCounted ? "equal" : "not_comparable";
}

/** One more object, in its place. */
function withObject(predicate) {
  const object = { content: Buffer.from("nobody has read this").toString("base64"), kind: "chunk" };
  const name = ({ content, kind }) => digest(kind, Buffer.from(content, "base64"));
  predicate.objects = [...predicate.objects, object].sort((a, b) => (name(a) < name(b) ? -1 : 1));
}

/** What is changed of a predicate so that it is not true, and what then differs. */
const STDOUT = ["stdout", ({ entry }) => (entry.outcome.stdout.digest = another(entry.outcome.stdout.digest))];
const AFTER = ["volume state", ({ entry }) => (entry.volumes.state.after = another(entry.volumes.state.after))];
const FORGERIES = [
  ["stderr", ({ entry }) => (entry.outcome.stderr.size += 1)],
  ["volume state", ({ entry }) => (entry.volumes.state.changes_omitted += 1)],
  ["error", ({ entry }) => (entry.error = "HOST_FAULT")],
  ["objects: 1 of", withObject],
];
const ENDINGS = {
  exited: ["ending", ({ entry }) => (entry.outcome.status = (entry.outcome.status + 1) % 256)],
  trapped: ["ending", ({ entry }) => (entry.outcome.trap = "integer_overflow")],
};
/** What went into a call that shows it. */
const INPUTS = {
  random: ["stdout", ({ entry }) => (entry.invocation.seed = another(entry.invocation.seed))],
  clock: ["stdout", ({ entry }) => (entry.invocation.clock_start = "2026-03-01T09:00:00.000001Z")],
  "write-text": ["volume state", ({ entry }) => (entry.invocation.clock_start = "2026-03-01T09:00:00.000001Z")],
};

/** What of an entry is its host's own, or is taken as told. */
const NOT_JUDGED = [
  ...["instance", "previous", "sequence", "standing", "state"],
  ...["package.digest", "package.slug", "package.version"],
  ...["outcome.fuel", "outcome.memory_peak_bytes", "outcome.profile", "outcome.wall_time_us"],
  ...["invocation.limits", "invocation.confirmed", "invocation.argv.0"],
  // The call has not asked for randomness.
  "invocation.seed",
];
const OTHERS = [null, 0, -1, 2n ** 63n, "x", "00".repeat(32), true, [], {}, undefined];

function changesTo(file) {
  const found = [];
  const walk = (value, path) => {
    for (const other of OTHERS) if (path.length > 0 && isOther(other, value)) found.push([path, other]);
    if (value !== null && typeof value === "object") for (const [name, field] of Object.entries(value)) walk(field, [...path, name]);
  };
  forged(file, ({ entry }) => walk(entry, []));
  return found;
}

const isOther = (a, b) => JSON.stringify(a, big) !== JSON.stringify(b, big);
const big = (_, value) => (typeof value === "bigint" ? `${value}` : value);

function changed(path, value) {
  return ({ entry }) => {
    const holder = path.slice(0, -1).reduce((at, name) => at[name], entry);
    if (value !== undefined) holder[path.at(-1)] = value;
    else if (Array.isArray(holder)) holder.splice(path.at(-1), 1);
    else delete holder[path.at(-1)];
  };
}

/** Forges a proof in every way, or in those ways that are `few`. */
async function assertForgeriesShow(file, entry, few) {
  const { argv } = entry.invocation;
  const others = [...FORGERIES, ENDINGS[entry.outcome.ending], ...(INPUTS[argv[1]] === undefined ? [] : [INPUTS[argv[1]]])];
  const all = [STDOUT, AFTER, ...(few ? [] : others)];
  const fit = all.filter(([name]) => !name.startsWith("volume ") || entry.volumes?.state !== undefined);
  for (const [name, change] of fit) {
    const { status, differences } = await check(forged(file, change), FILES[entry.package.slug]);
    assert.equal(status, "differs", name);
    assert.ok(differences.some((one) => one.startsWith(name)), `${name} is not among ${differences}`);
  }
  // The same in a ledger of its own is as true as it was.
  assert.deepEqual(await check(forged(file, () => {}), FILES[entry.package.slug]), { status: "equal" });
  return fit.length;
}

test("what the program proves comes to the same here, and what is forged does not", async (t) => {
  const machine = new Prover(t);
  const counts = {};
  const count = (slug, name, by = 1) => {
    counts[slug] ??= { entries: 0, equal: 0, not_comparable: 0, "not proved": 0, "forged, differ": 0 };
    counts[slug][name] += by;
  };
  const holds = async (t, entry, { slug, instance, few }) => {
    const file = machine.proof(slug, instance, entry.sequence);
    if (file === null) {
      assert.notDeepEqual(entry.outcome.unreproducible ?? [], []);
      return count(slug, "not proved");
    }
    const answer = await check(file, FILES[slug]);
    const call = entry.invocation.argv.join(" ").slice(0, 80);
    assert.equal(answer.status, expected(entry), `${call}: ${JSON.stringify(answer)}`);
    if (answer.status === "not_comparable") t.diagnostic(`${call}: ${answer.reason}`);
    count(slug, answer.status);
    if (answer.status === "equal") count(slug, "forged, differ", await assertForgeriesShow(file, entry, few));
  };
  const scripts = [...SCRIPTS, ...MORE].filter(({ anew, package: slug }) => !anew && slug in ALL);
  for (const [at, script] of scripts.entries()) {
    const { name, package: slug, calls } = script;
    await t.test(name, async (t) => {
      for (const call of calls) natively(machine, slug, `i${at}`, call);
      for (const entry of machine.entries(slug, `i${at}`)) {
        count(slug, "entries");
        await holds(t, entry, { slug, instance: `i${at}`, few: !SCRIPTS.includes(script) });
      }
    });
  }
  for (const slug of Object.keys(FOLDERS).filter((slug) => slug in ALL)) {
    await t.test(`${slug}, with the package in the proof`, async () => {
      const instance = `i${scripts.findIndex((script) => script.package === slug)}`;
      const file = machine.proof(slug, instance, machine.entries(slug, instance).at(-1).sequence, []);
      assert.deepEqual(await check(file), { status: "equal" });
    });
  }
  await t.test("no byte of a file is for nothing", async () => {
    const file = machine.proof("todo", "i0", machine.entries("todo", "i0").at(-1).sequence);
    for (let at = 0; at < file.length; at += 7) {
      const damaged = Buffer.from(file);
      damaged[at] ^= 1;
      assert.equal((await check(damaged, FILES.todo)).status, "differs", `byte ${at}`);
    }
  });
  await t.test("each value of an entry is looked at, but for those that are not judged", { skip: FEW }, async () => {
    const instance = `i${scripts.findIndex(({ name }) => name === "probe, folders and links")}`;
    const file = machine.proof("probe", instance, machine.entries("probe", instance).at(-1).sequence);
    for (const [path, value] of changesTo(file)) {
      const { status } = await check(forged(file, changed(path, value)), FILES.probe);
      if (status === "equal") assert.ok(NOT_JUDGED.some((name) => path.join(".").startsWith(name)), `${path.join(".")}: ${value}`);
    }
  });
  const columns = Object.keys(counts.todo);
  const row = (slug, cells) => `${slug.padEnd(10)}${cells.map((cell, at) => `${cell}`.padStart(columns[at].length + 2)).join("")}`;
  t.diagnostic(row("", columns));
  for (const [slug, cells] of Object.entries(counts)) t.diagnostic(row(slug, Object.values(cells)));
});
