// What the application keeps and answers. It knows nothing of WebAssembly, so `node --test` tests it natively.
//
// The host has held each call against `schemas/commands.json` before it comes here, and answers `--help` and the like itself.

const EXIT_STATUS = { USAGE: 2, STATE_CORRUPT: 1, STATE_UNAVAILABLE: 1 };

/** The end of a call with one of the codes in `schemas/commands.json`. */
export class Failure extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * The document that answers a call, and its exit status. `file` is where the notes are: `read()` is its text, or `undefined` where
 * there is none; `write(text)` replaces it.
 */
export function answer(words, file) {
  try {
    const command = COMMANDS.get(words[0]);
    if (!command) throw new Failure("USAGE", `the commands are ${[...COMMANDS.keys()].join(" and ")}`);
    return { document: command(parse(words.slice(1)), file), status: 0 };
  } catch (failure) {
    // Anything else is a defect, and is not hidden.
    if (!(failure instanceof Failure)) throw failure;
    const { code, message } = failure;
    return { document: { ok: false, error: { code, message } }, status: EXIT_STATUS[code] };
  }
}

function add({ positional }, file) {
  if (positional.length !== 1) throw new Failure("USAGE", "add takes one text");
  const { next, items } = read(file);
  const note = { id: noteId(next), text: positional[0] };
  write(file, next + 1, [...items, note]);
  return { ok: true, command: "add", changed: true, count: 1, items: [note] };
}

function list({ positional, limit }, file) {
  if (positional.length > 0) throw new Failure("USAGE", "list takes no text");
  const { items } = read(file);
  const shown = items.slice(0, limit);
  const [total, hasMore] = [items.length, items.length > limit];
  return { ok: true, command: "list", count: shown.length, total, limit, hasMore, items: shown };
}

const COMMANDS = new Map([["add", add], ["list", list]]);

/** What is written bare, and the value of `--limit`. */
function parse(words) {
  const positional = [];
  let limit = "100";
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === "--") {
      positional.push(...words.slice(at + 1));
      break;
    }
    if (word === "--limit") limit = words[(at += 1)] ?? "";
    else if (word.startsWith("--limit=")) limit = word.slice("--limit=".length);
    else positional.push(word);
  }
  if (!/^[1-9][0-9]{0,4}$/.test(limit)) throw new Failure("USAGE", `--limit is "${limit}", expected a number from 1`);
  return { positional, limit: Number(limit) };
}

const noteId = (number) => `note_${String(number).padStart(4, "0")}`;

/** The number of the next note, and the notes. A file that is not of this form is refused, and left as it is. */
function read(file) {
  const text = file.read();
  if (text === undefined) return { next: 1, items: [] };
  try {
    const { version, nextId, items } = JSON.parse(text);
    const known = version === 1 && items.every(({ id, text }) => typeof id === "string" && typeof text === "string");
    const next = /^note_([0-9]{4,9})$/.exec(nextId);
    if (known && next) return { next: Number(next[1]), items };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw new Failure("STATE_CORRUPT", "notes.json is not what was written there");
}

/** One note a line: what a call changes is then one line too, where the host shows it. */
function write(file, next, items) {
  const lines = items.map((note) => JSON.stringify(note)).join(",\n");
  file.write(`{"version":1,"nextId":"${noteId(next)}","items":[\n${lines}\n]}\n`);
}
