// The tab's module in whichever runtime this is: a line `{ request, attachment }` on standard input is answered by `{ json, attachment }`,
// attachments in base64.

import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { Door } from "../../host/tab/npm/door.js";

const door = new Door(new WebAssembly.Module(readFileSync(new URL("../../host/tab/npm/hutch.wasm", import.meta.url))));
for await (const line of createInterface({ input: process.stdin })) {
  const { request, attachment } = JSON.parse(line);
  const answered = door.call(request, attachment && new Uint8Array(Buffer.from(attachment, "base64")));
  process.stdout.write(`${JSON.stringify({ json: answered.json, attachment: Buffer.from(answered.attachment).toString("base64") })}\n`);
}
