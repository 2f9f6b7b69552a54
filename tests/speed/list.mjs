// What the to-do application's `list` does, in Node: reads the state, answers with the first hundred items.
import { readFileSync } from "node:fs";

const items = JSON.parse(readFileSync("state/todos.json", "utf8")).items;
const shown = items.slice(0, 100);
const answer = { ok: true, command: "list", count: shown.length, total: items.length, items: shown };
process.stdout.write(JSON.stringify(answer) + "\n");
