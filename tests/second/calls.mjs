// Calls beside those of tests/tab/calls.mjs, for what those leave out: large folders and files, links, and the packages of this repository by
// the examples that each gives of itself.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./tools.mjs";

const FREE = { unchecked: true, limits: { fuel: 10_000_000_000 } };
const probe = (name, ...calls) => ({ name: `probe, ${name}`, package: "probe", calls: calls.map((words) => ({ ...FREE, args: words.split(" ") })) });

const ON_FILES = [
  probe(
    "a folder in parts",
    "write-files 3000",
    "write-text state/x y",
    "append-text state/x z",
    "stat state/x",
    "tree state",
    "remove state/x",
    "make-dir state/below",
    "rename state/file-000007 state/below/file",
    "write-files 120",
  ),
  probe(
    "a folder that is in parts no more",
    "write-files 129",
    "write-text state/more x",
    "remove state/file-000000",
    "remove state/more",
    "list-dir state",
  ),
  probe(
    "a file in lists",
    "write-file state/a 20000000",
    "read-file state/a",
    "write-at state/a 5000000 hello",
    "truncate state/a 17000000",
    "truncate state/a 19000000",
    "append-text state/a end",
    "truncate state/a 100",
    "truncate state/a 0",
    "write-at state/a 40000000 far",
    "read-file state/a",
  ),
  probe(
    "folders and links",
    "make-dir state/d",
    "write-text state/d/a 1",
    "make-dir state/d/e",
    "write-text state/d/e/f 1",
    "rename state/d state/g",
    "tree state",
    "rename state/g state/g/e/x",
    "rename state/g/e state/a",
    "remove state/g",
    "remove --all state/g",
    "rename state/a/f state/a",
    "symlink a/f state/l",
    "append-text state/l more",
    "link state/l state/l2",
    "link state/a/f state/hard",
    "append-text state/hard both",
    "read-link state/l2",
    "symlink loop state/loop",
    "read-file state/loop",
    "symlink ../../etc/passwd state/out",
    "follow-links",
    "rename state/l state/a/f",
    "tree state",
  ),
  probe(
    "names in the order of their bytes",
    "write-text state/\u{1f600} 1",
    "write-text state/\ufeffmark 1",
    "write-text state/\uff5e 1",
    "write-text state/ä 1",
    "list-dir state",
  ),
  probe("deep folders", "deep-dirs 120", "tree state", "deep-dirs 100", "long-name 255"),
  probe("arguments that an entry has no room for", `args ${"x".repeat(40_000)}`),
];

/** A package's examples, one after the other. */
function examples(slug) {
  const { commands } = JSON.parse(readFileSync(join(ROOT, "packages", slug, "schemas/commands.json"), "utf8"));
  const calls = commands.flatMap(({ examples }) => examples).map(({ args }) => ({ ...FREE, args, confirmed: true }));
  return { name: `${slug}, its examples`, package: slug, calls };
}

export const PACKAGES = Object.fromEntries(readdirSync(join(ROOT, "packages")).map((slug) => [slug, join(ROOT, "packages", slug)]));
export const MORE = [...ON_FILES, ...Object.keys(PACKAGES).map(examples)];
