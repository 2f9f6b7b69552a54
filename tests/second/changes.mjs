// What differs between two trees, by path. Folders, and parts of folders, that are equal are not read.

import { EMPTY_TREE, byteOrder, readTree } from "./snapshot.mjs";

const LISTED_MAX = 1000;
const LISTED_BYTES_MAX = 64 << 10;

const empty = () => ({ list: [], entries: 0 });

/** The entries that may differ between two trees, those of each. */
function readChanged(objects, before, after) {
  const read = (tree) => (tree === undefined || tree === EMPTY_TREE ? empty() : readTree(objects.get("tree", tree)));
  const all = (object) => object.list ?? object.parts.flatMap((part) => all(read(part.tree)));
  const changed = (old, made) => {
    if (old.list !== undefined || made.list !== undefined) return [all(old), all(made)];
    const digits = [..."0123456789abcdef"];
    const pairs = digits.map((digit) => [old, made].map(({ parts }) => parts.find((part) => part.digit === digit)?.tree));
    const found = pairs.filter(([was, is]) => was !== is).map(([was, is]) => changed(read(was), read(is)));
    return [found.flatMap(([was]) => was), found.flatMap(([, is]) => is)];
  };
  return before === after ? [[], []] : changed(read(before), read(after));
}

const nodeOf = ({ kind, size, content, tree, totals, target }) => JSON.stringify([kind, size, content, tree, totals, target]);

/** How a name changed; nothing where only what is in a folder did. */
function changeOf(was, is) {
  if (was === undefined) return "added";
  if (is === undefined) return "removed";
  if (nodeOf(was) === nodeOf(is)) return "touched";
  return was.kind === "folder" && is.kind === "folder" ? null : "modified";
}

const isSame = (was, is) => was !== undefined && is !== undefined && nodeOf(was) === nodeOf(is) && was.modifiedNs === is.modifiedNs;

function* compared(objects, before, after, above) {
  const [was, is] = readChanged(objects, before, after).map((list) => new Map(list.map((entry) => [entry.name, entry])));
  for (const name of [...new Set([...was.keys(), ...is.keys()])].sort(byteOrder)) {
    const [old, made] = [was.get(name), is.get(name)];
    if (isSame(old, made)) continue;
    const path = above === "" ? name : `${above}/${name}`;
    const change = changeOf(old, made);
    if (change !== null) yield { path, change };
    const [oldTree, madeTree] = [old, made].map((entry) => (entry?.kind === "folder" ? entry.tree : undefined));
    if (oldTree !== madeTree) yield* compared(objects, oldTree ?? EMPTY_TREE, madeTree ?? EMPTY_TREE, path);
  }
}

/** How many bytes a path takes as it is written: what a host lists is bounded by that. */
function writtenBytes(path) {
  let bytes = 0;
  for (const byte of Buffer.from(path)) bytes += byte < 0x20 ? 6 : byte === 0x22 || byte === 0x5c ? 2 : 1;
  return bytes;
}

/** The first paths that differ, and how many more there are. */
export function changesBetween(objects, before, after) {
  const [listed, all] = [[], { omitted: 0, bytes: 0 }];
  for (const change of compared(objects, before, after, "")) {
    all.bytes += writtenBytes(change.path);
    const fits = listed.length < LISTED_MAX && all.bytes <= LISTED_BYTES_MAX && all.omitted === 0;
    if (fits) listed.push(change);
    else all.omitted += 1;
  }
  return { listed, omitted: all.omitted };
}
