#!/usr/bin/env node
// Starts the program hutch, of the package for this platform that npm chose. Knows nothing of what it does.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `@hutch/${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/bin/hutch`);
} catch {
  console.error(`hutch: there is no program for this platform: ${name} is not installed`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Whoever ends this process means the program. What a terminal interrupts it interrupts there too.
for (const signal of ["SIGHUP", "SIGTERM"]) process.on(signal, () => child.kill(signal));
process.on("SIGINT", () => {});
child.on("error", (error) => {
  console.error(`hutch: ${program} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (status, signal) => process.exit(status ?? 128 + constants.signals[signal]));
