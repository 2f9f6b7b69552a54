// The component: one call, from the process's arguments to its standard output and its end, with the files of WASI.
import { getArguments } from "wasi:cli/environment@0.2.12";
import { exitWithCode } from "wasi:cli/exit@0.2.12";
import { getDirectories } from "wasi:filesystem/preopens@0.2.12";
import { Failure, answer } from "./notes.js";

const NAME = "notes.json";

/** The folder `state`, which the package asks for in APP.md. */
function state() {
  const found = getDirectories().find(([, name]) => name === "state");
  if (!found) throw new Failure("STATE_UNAVAILABLE", "there is no folder state");
  return found[0];
}

/** What `work` returns. Errors of WASI are values, such as "no-entry": what is in `expected` is no failure. */
function attempt(work, expected = []) {
  try {
    return work();
  } catch (error) {
    const code = error.payload;
    if (expected.includes(code)) return undefined;
    throw code ? new Failure("STATE_UNAVAILABLE", `${NAME}: ${code}`) : error;
  }
}

const file = {
  read() {
    const open = attempt(() => state().openAt({}, NAME, {}, { read: true }), ["no-entry"]);
    if (!open) return undefined;
    const decoder = new TextDecoder();
    let text = "";
    for (let at = 0n, end = false; !end; ) {
      // A read may return less than what is asked for.
      const [bytes, last] = attempt(() => open.read(65536n, at));
      text += decoder.decode(bytes, { stream: !last });
      at += BigInt(bytes.length);
      end = last;
    }
    return text;
  },

  write(text) {
    const open = attempt(() => state().openAt({}, NAME, { create: true, truncate: true }, { write: true }));
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; ) at += Number(attempt(() => open.write(bytes.subarray(at), BigInt(at))));
  },
};

export const run = {
  run() {
    try {
      const { document, status } = answer(getArguments().slice(1), file);
      console.log(JSON.stringify(document));
      if (status !== 0) exitWithCode(status);
    } catch (error) {
      // What leaves here is an error without words: nobody else says what was thrown, and where.
      console.error(`${error}\n${error?.stack ?? ""}`);
      throw error;
    }
  },
};
