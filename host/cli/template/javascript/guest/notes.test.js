import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "./notes.js";

/** A file in memory. */
function fileOf(text) {
  return { text, read() { return this.text; }, write(text) { this.text = text; } };
}

function ok(file, ...words) {
  const { document, status } = answer(words, file);
  assert.equal(status, 0, JSON.stringify(document));
  return document;
}

test("what is added is listed", () => {
  const file = fileOf();
  assert.equal(ok(file, "add", "Buy milk").items[0].id, "note_0001");
  ok(file, "add", "--", '-1 "é"');
  const { total, count, hasMore } = ok(file, "list", "--limit=1");
  assert.deepEqual({ total, count, hasMore }, { total: 2, count: 1, hasMore: true });
  assert.equal(ok(file, "list", "--limit", "9").items[1].text, '-1 "é"');
});

test("other calls are refused", () => {
  for (const words of [[], ["nosuch"], ["add"], ["add", "a", "b"], ["list", "x"], ["list", "--limit", "0"]]) {
    const { document, status } = answer(words, fileOf());
    assert.deepEqual([document.ok, document.error.code, status], [false, "USAGE", 2], words.join(" "));
  }
});

test("a file of something else is left as it is", () => {
  const other = ["", "[]", "{}", "null", '{"version":2,"nextId":"note_0001","items":[]}', '{"version":1,"nextId":"note_0002","items":[1]}'];
  for (const text of other) {
    const file = fileOf(text);
    const { document, status } = answer(["add", "x"], file);
    assert.deepEqual([document.error.code, status, file.text], ["STATE_CORRUPT", 1, text]);
  }
});
