// A folder of Node is held by one at a time, whoever tries at once and however the one before ended. Needs neither the program nor a module.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";
import { Busy, open, releaser } from "../../host/tab/npm/storage.js";
import { ROOT, temporary } from "./machine.mjs";

const LOG = "a.log";
/** Says that it is there, tries when it is told to, says what came of it, and stays until it is killed. */
const HOLDER = `
import { open } from ${JSON.stringify(`file://${join(ROOT, "host/tab/npm/storage.js")}`)};
const storage = await open({ kind: "folder", path: process.argv[1] });
process.stdin.once("data", async () => {
  const said = await storage.log(${JSON.stringify(LOG)}).then(() => "held", (error) => error.constructor.name);
  console.log(said);
});
console.log("there");
`;

async function started(t, folder) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", HOLDER, folder], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const says = async () => (await lines.next()).value;
  assert.equal(await says(), "there");
  return {
    tries: () => (child.stdin.write("\n"), says()),
    async kill() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

test("of many processes at once one holds a log, and the next when that one is dead", async (t) => {
  const folder = temporary(t);
  for (let round = 0; round < 6; round += 1) {
    const all = await Promise.all(Array.from({ length: 8 }, () => started(t, folder)));
    // All at once, and from the second round on over the lock of one that was killed.
    const said = await Promise.all(all.map(({ tries }) => tries()));
    assert.deepEqual(said.toSorted(), [...Array(7).fill("Busy"), "held"], `round ${round}`);
    await Promise.all(all.map(({ kill }) => kill()));
  }
  assert.ok(readdirSync(folder).length <= 3, readdirSync(folder).join(" "));
});

test("two holders of one folder can't be in one process", async (t) => {
  const path = temporary(t);
  const [one, two] = await Promise.all([open({ kind: "folder", path }), open({ kind: "folder", path })]);
  const held = await one.log(LOG);
  await assert.rejects(one.log(LOG), Busy);
  await assert.rejects(two.log(LOG), Busy);
  held.close();
  const next = await two.log(LOG);
  await assert.rejects(one.log(LOG), Busy);
  // To close what is closed gives back nothing of another's.
  held.close();
  await assert.rejects(one.log(LOG), Busy);
  next.close();
  (await one.log(LOG)).close();
});

test("who takes the place of a holder that it ended has its lock, and may give it back", async (t) => {
  const storage = { kind: "folder", path: temporary(t), owner: "one" };
  const other = await open({ ...storage, owner: "two" });
  // As a worker that was ended leaves it.
  await (await open(storage)).log(LOG);
  await assert.rejects(other.log(LOG), Busy);
  await (await open(storage)).log(LOG);
  (await releaser({ ...storage, owner: "two" }))();
  await assert.rejects(other.log(LOG), Busy);
  (await releaser(storage))();
  (await other.log(LOG)).close();
});

test("a lock counts unless its holder is known to be dead", async (t) => {
  const path = temporary(t);
  const storage = await open({ kind: "folder", path });
  (await storage.log(LOG)).close();
  let number = 10;
  const tries = async (text) => {
    number += 10;
    writeFileSync(join(path, `${LOG}.${number}.lock`), text);
    try {
      (await storage.log(LOG)).close();
      return "held";
    } catch (error) {
      assert.ok(error instanceof Busy, `${error}`);
      // It is not in the way of what is tried next.
      writeFileSync(join(path, `${LOG}.${(number += 1)}.lock`), JSON.stringify({ free: true }));
      return "busy";
    }
  };
  const here = { host: hostname(), pid: 1, began: "1", owner: "other" };
  // Process 1 of another container, and of another machine.
  assert.equal(await tries(JSON.stringify({ ...here, host: "elsewhere", boot: "b", numbers: "n" })), "busy");
  // Before this machine began anew.
  assert.equal(await tries(JSON.stringify({ ...here, boot: "another", numbers: "n" })), "held");
  // One that is made by a file system without links, and not written yet.
  assert.equal(await tries(""), "busy");
});
