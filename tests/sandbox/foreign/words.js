// Ordinary JavaScript with the files of WASI 0.2: written, read, sorted; exceptions that are caught.
import { getDirectories } from "wasi:filesystem/preopens@0.2.12";

const folder = () => {
  // The stock runtime gives the folder above the volume, this host the volume itself.
  for (const [found, name] of getDirectories()) {
    if (name === "state") return found;
    if (name === "/") return found.openAt({}, "state", { directory: true }, { read: true, mutateDirectory: true });
  }
  throw new Error("no folder");
};

export const run = {
  run() {
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
    console.log(JSON.stringify({ counts: names.map((name) => [name, counts[name]]), missing, root: Math.sqrt(2), big: (2n ** 100n).toString() }));
  },
};
