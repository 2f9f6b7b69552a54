// What the page makes of a package's texts, and of what is filled into its forms. Needs neither the program nor a browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { argumentsOf, seen } from "../../host/tab/page/form.js";
import { ROOT } from "./machine.mjs";

test("what nobody would see is shown by its number, and nothing else is changed", () => {
  for (const [given, shown] of [
    ["a\u202eb", "a\\u{202e}b"],
    ["a\u200bb\u{e0041}", "a\\u{200b}b\\u{e0041}"],
    ["\u001b[2J\u0000\u009b", "\\u{1b}[2J\\u{0}\\u{9b}"],
    ["a\u200db", "a\\u{200d}b"],
    ["a\ufe0f", "a\\u{fe0f}"],
    ["日\u200d\u200d\u200c本", "日\\u{200d}\\u{200d}\\u{200c}本"],
    ["\ufeff\u3164\u2066", "\\u{feff}\\u{3164}\\u{2066}"],
  ]) {
    assert.equal(seen(given), shown);
  }
  for (const text of ["a\tb\nc", "👩\u200d🚀 ❤\ufe0f 日本", "می\u200cخواهم", "café", ""]) assert.equal(seen(text), text);
});

test("the page shows nothing of others' that was not looked at so", () => {
  const page = readFileSync(join(ROOT, "host/tab/page/page.js"), "utf8");
  // In its own words, or what `seen` or `text` gave back.
  const shown = [...page.matchAll(/\b(?:textContent|title)(?: =|:) ?([^;]*)/g)].map(([, value]) => value);
  assert.ok(shown.length >= 10, `${shown.length}`);
  const own = [/^name\b/, /^String\(value\)/, /^""/, /^parts\.join/];
  for (const value of shown) {
    assert.ok(/\b(?:seen|text)\(/.test(value) || own.some((known) => known.test(value)), value);
  }
  assert.doesNotMatch(page, /innerHTML|\bconfirm\(|\balert\(|\bprompt\(/);
});

test("arguments are those of the form, whatever they begin with", () => {
  const parameter = (name, position, valueType = "string") => ({ name, position, valueType });
  const command = { name: "reminder set", parameters: [parameter("id", 0), parameter("at", null), parameter("force", null, "boolean")] };
  const values = new Map([["id", "--yes"], ["at", "now"], ["force", "on"]]);
  assert.deepEqual(argumentsOf(command, values), ["reminder", "set", "--at=now", "--force", "--", "--yes"]);
});
