// The hutch program and what it makes, for tests of the tab. `node --test` gives no arguments on, so the places come from the environment.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
const HUTCH = process.env.HUTCH ?? join(TARGET, "release/hutch");
export const FOLDERS = { todo: join(ROOT, "packages/todo"), probe: join(ROOT, "tests/packages/probe") };
/** A folder with the package `notes` of Python, a home in which all are installed and compiled, and its artifact: tests/equal/run makes it once. */
const PYTHON = process.env.HUTCH_EQUAL_PYTHON;
/** What every host is to run. */
export const PACKAGES = PYTHON ? { ...FOLDERS, notes: join(PYTHON, "notes/package") } : FOLDERS;

/** A folder for one test, removed at its end. */
export function temporary(t) {
  const folder = mkdtempSync(join(tmpdir(), "hutch-tab-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A home of the program with these packages installed. */
export class Machine {
  constructor(folder, packages = FOLDERS) {
    this.home = join(folder, "home");
    this.folder = folder;
    if (PYTHON) cpSync(join(PYTHON, "home"), this.home, { recursive: true });
    else for (const path of Object.values(packages)) this.answer(["--yes", "install", path]);
  }

  run(args, input = "") {
    const { status, stdout, stderr, error } = spawnSync(HUTCH, ["--home", this.home, ...args], { input, maxBuffer: 1 << 28, env: {} });
    if (error) throw error;
    return { status, stdout, stderr };
  }

  answer(args) {
    const { status, stdout, stderr } = this.run(args);
    if (status !== 0) throw new Error(`hutch ${args.join(" ")}: ${stderr}`);
    return JSON.parse(stdout).result;
  }

  /** All entries of an instance: `{ sequence, hash, entry }`. */
  ledger(slug, instance) {
    const { items, has_more: more } = this.answer(["ledger", "list", "--bytes", "--instance", instance, slug]);
    if (more) throw new Error("the ledger has more entries than one answer");
    return items.map(({ sequence, hash, bytes }) => ({ sequence, hash, entry: JSON.parse(bytes) }));
  }

  packed(slug) {
    const path = join(this.folder, `${slug}.hutch`);
    this.answer(["pack", "--output", path, PACKAGES[slug]]);
    return new Uint8Array(readFileSync(path));
  }

  artifact(slug) {
    const path = join(this.folder, `${slug}.artifact`);
    if (slug === "notes") cpSync(join(PYTHON, "notes.artifact"), path);
    else this.answer(["compile", "--target", "pulley32", "--output", path, PACKAGES[slug]]);
    return new Uint8Array(readFileSync(path));
  }
}
