// The table of the hosts that were tried: prints it, and fails where a page says otherwise. `table.mjs ROWS PAGE`.

import { readFileSync } from "node:fs";

const [, , rows, page] = process.argv;
const tried = readFileSync(rows, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
if (tried.length === 0) throw new Error("no host was tried");
const row = ({ host, calls, entries, excused, python }) => `| ${host} | ${calls} | ${entries} | ${python ?? "left out"} | ${excused} |`;
const sorted = tried.sort((one, other) => (one.host < other.host ? -1 : 1));
console.log(["| host | calls | entries | calls of Python | ends of stacks |", "|---|---|---|---|---|", ...sorted.map(row)].join("\n"));
const said = new Map([...readFileSync(page, "utf8").matchAll(/^\| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(([line, host]) => [host, line]));
// Python's calls are as many as the page says, or left out by name.
const differs = sorted.filter((tried) => {
  const line = said.get(tried.host);
  const python = tried.python ?? line?.split(" | ")[3];
  return row({ ...tried, python }) !== line;
});
if (differs.length > 0) {
  console.error(`${page} says otherwise of:\n${differs.map(row).join("\n")}`);
  process.exit(1);
}
