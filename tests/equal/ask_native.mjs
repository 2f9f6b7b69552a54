// Requests, one a line on standard input, answered by npm's package `hutch-native`: {"status", "json", "out", "err"} a line. The argument is a home.
// Lies where the package is installed.

import { createInterface } from "node:readline";
import { Host, HutchError } from "hutch-native";

const host = new Host({ home: process.argv[2] });
const hex = (bytes) => Buffer.from(bytes).toString("hex");
for await (const line of createInterface({ input: process.stdin })) {
  const answered = await host.call(JSON.parse(line)).catch((error) => {
    if (error instanceof HutchError) return error;
    throw error;
  });
  const { status, document, report, stdout, stderr } = answered;
  console.log(JSON.stringify({ status, json: document ?? report, out: hex(stdout), err: hex(stderr) }));
}
