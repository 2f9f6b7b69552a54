// Ordinary JavaScript with the files and clocks of WASI 0.2: written, read, sorted; exceptions that are caught, and one that is not.
import { getArguments } from "wasi:cli/environment@0.2.12";
import { now, subscribeDuration } from "wasi:clocks/monotonic-clock@0.2.12";
import { getDirectories } from "wasi:filesystem/preopens@0.2.12";

const folder = () => {
  // The stock runtime gives the folder above the volume, this host the volume itself.
  for (const [found, name] of getDirectories()) {
    if (name === "state") return found;
    if (name === "/") return found.openAt({}, "state", { directory: true }, { read: true, mutateDirectory: true });
  }
  throw new Error("no folder");
};

const deep = (left) => {
  if (left === 0) throw new Error("thrown on purpose");
  deep(left - 1);
};

// What leaves `run` is an error without words: componentize-js tells nobody what was thrown.
const telling = (main) => () => {
  try {
    main();
  } catch (error) {
    console.error(`${error}\n${error.stack}`);
    throw error;
  }
};

export const run = {
  run: telling(() => {
    const [, argument] = getArguments();
    if (argument === "throw") deep(20);
    const state = folder();
    const open = (name, how, flags) => state.openAt({}, name, how, flags);
    const text = "the quick brown fox jumps over the lazy dog the end";
    open("words.txt", { create: true, truncate: true }, { write: true }).write(new TextEncoder().encode(text), 0n);
    state.renameAt("words.txt", state, "text.txt");
    const [bytes] = open("text.txt", {}, { read: true }).read(1000n, 0n);
    const counts = {};
    for (const word of new TextDecoder().decode(bytes).split(" ")) counts[word] = (counts[word] ?? 0) + 1;
    const names = Object.keys(counts).sort();
    let missing = "there";
    try {
      open("missing.txt", {}, { read: true });
    } catch (error) {
      missing = error.payload ?? String(error);
    }
    const seconds = BigInt(argument ?? 3600);
    const began = now();
    subscribeDuration(seconds * 1000000000n).block();
    const waited = now() - began >= seconds * 1000000000n;
    console.log(JSON.stringify({ counts: names.map((name) => [name, counts[name]]), missing, root: Math.sqrt(2), big: (2n ** 100n).toString() }));
    console.log(`waited: ${waited}`);
    console.log(`year: ${new Date().getUTCFullYear()}`);
  }),
};
