// From nodes back to snapshots: the tree that a volume is after a run, and the objects that are new. What was not touched is named as it was, unread.

import { basePart, chunkOf, isStored, partCount } from "./content.mjs";
import { CHUNK_BYTES, EMPTY_FILE, EMPTY_TREE, LIST_PARTS, NOTHING, ObjectsOf, isOneObject, listLevels } from "./snapshot.mjs";
import { plus, sumOf, writeEntries, writeList, writeParts } from "./snapshot.mjs";
import { digest, route } from "./tools.mjs";
import { Node, storedFile, unreadOf } from "./volumes.mjs";

const range = ({ written }, first, end) => [...written.keys()].some((number) => number >= first && number < end);

/** The chunks of part `number` at `level`: the first, and the one behind the last. */
const chunksOf = (level, number) => [number * LIST_PARTS ** level, (number + 1) * LIST_PARTS ** level];

/** Whether a part is the same in the snapshot: none of it was written, all of it is there, and it reaches as far. */
function isUnchanged(node, level, number) {
  const { base, size } = node;
  if (base === null) return false;
  const [first, end] = chunksOf(level, number);
  const to = Math.min(size, end * CHUNK_BYTES);
  const isThere = level <= listLevels(base.size) && to <= base.visible && to === Math.min(base.size, end * CHUNK_BYTES);
  return isThere && !range(node, first, end);
}

/** Whether a part is whole and was never written: all zeros, which is named without being looked at. */
function isHole(node, level, number) {
  const [first, end] = chunksOf(level, number);
  const isBeyond = node.base === null || node.base.visible <= first * CHUNK_BYTES;
  return end * CHUNK_BYTES <= node.size && isBeyond && !range(node, first, end);
}

class Naming {
  #zeros = [];

  constructor(volumes) {
    this.volumes = volumes;
    this.made = new ObjectsOf();
  }

  #zerosAt(level) {
    while (this.#zeros.length <= level) {
      const below = this.#zeros.at(-1);
      const list = () => this.made.take("list", writeList(Array(LIST_PARTS).fill(below)));
      this.#zeros.push(below === undefined ? this.made.take("chunk", Buffer.alloc(CHUNK_BYTES)) : list());
    }
    return this.#zeros[level];
  }

  #part(node, level, number) {
    if (isUnchanged(node, level, number)) return basePart(this.volumes, node.base, level, number);
    if (isHole(node, level, number)) return this.#zerosAt(level);
    if (level === 0) return this.made.take("chunk", Buffer.from(chunkOf(this.volumes, node, number)));
    const parts = Math.min(LIST_PARTS, partCount(node.size, level - 1) - number * LIST_PARTS);
    const names = Array.from({ length: parts }, (_, part) => this.#part(node, level - 1, number * LIST_PARTS + part));
    return this.made.take("list", writeList(names));
  }

  #file(node) {
    if (isStored(node)) return;
    const content = node.size === 0 ? EMPTY_FILE : this.#part(node, listLevels(node.size), 0);
    Object.assign(node, storedFile(node.size, content));
  }

  /** Names a folder and all that lies in it, from the inside out. */
  folder(folder) {
    for (const node of folder.entries.known.values()) {
      if (!(node instanceof Node)) continue;
      if (node.kind === "file") this.#file(node);
      else if (node.kind === "folder" && node.entries !== null) this.folder(node);
    }
    this.#readFew(folder);
    const entries = [...folder.entries.known].map(([name, slot]) => [name, slot, stored(name, slot)]);
    const named = this.#place(entries, { at: "", branches: folder.entries.parts, before: folder.base, routes: new Map() });
    Object.assign(folder, { base: named.tree, totals: named.totals });
  }

  /** Reads what was not read in places where so little is left that it is one object now. */
  #readFew(folder) {
    const { known, parts, unread } = folder.entries;
    if (unread === 0) return;
    const routes = [...known.keys()].map(route);
    const few = (at, branches, inside) => {
      const left = unreadOf(branches);
      if (isOneObject(at, inside.length + left.reduce((sum, { part }) => sum + part.entries, 0))) return left;
      const below = branches.filter(({ below }) => Array.isArray(below));
      return below.flatMap((branch) => few(branch.at, branch.below, inside.filter((digits) => digits.startsWith(branch.at))));
    };
    for (const { at, part } of few("", parts, routes)) this.volumes.readPart(folder, at, part);
  }

  #tree(bytes, before) {
    const tree = digest("tree", bytes);
    if (tree !== before && tree !== EMPTY_TREE) this.made.take("tree", bytes);
    return tree;
  }

  /** Names one place of a folder: one object, or parts of which those stay as they are of which nothing was read. */
  #place(entries, { at, branches, before, routes }) {
    const unread = unreadOf(branches).reduce((sum, { part }) => sum + part.entries, 0);
    const count = entries.length + unread;
    if (isOneObject(at, count)) {
      const list = entries.map(([, , entry]) => entry);
      return { tree: this.#tree(writeEntries(list), before), totals: sumOf(list), entries: count };
    }
    const parts = [..."0123456789abcdef"].flatMap((digit) => {
      const inside = entries.filter(([name]) => (routes.get(name) ?? routes.set(name, route(name)).get(name))[at.length] === digit);
      const branch = branches.find(({ part }) => part.digit === digit);
      if (branch?.below === "unread") return [branch.part];
      const below = Array.isArray(branch?.below) ? branch.below : [];
      if (inside.length === 0 && unreadOf(below).length === 0) return [];
      return [{ digit, ...this.#place(inside, { at: at + digit, branches: below, before: branch?.part.tree, routes }) }];
    });
    const totals = parts.map((part) => part.totals).reduce(plus, NOTHING);
    return { tree: this.#tree(writeParts(at, parts), before), totals, entries: count };
  }
}

/** What a name stands for, as a snapshot says it. */
function stored(name, slot) {
  if (!(slot instanceof Node)) return slot;
  const { kind, modifiedNs } = slot;
  if (kind === "file") return { name, modifiedNs, kind, size: slot.size, content: slot.base?.content ?? EMPTY_FILE };
  if (kind === "folder") return { name, modifiedNs, kind, tree: slot.base, totals: slot.totals };
  return { name, modifiedNs, kind, target: slot.target };
}

/** The trees of all volumes that may be changed, by name, and the objects that are new. */
export function nameVolumes(volumes) {
  const naming = new Naming(volumes);
  const after = new Map();
  for (const { name, root, writable, before, changed } of volumes.all) {
    if (!writable) continue;
    if (changed) {
      volumes.open(root);
      naming.folder(root);
    }
    after.set(name, changed ? root.base : before);
  }
  return { after, made: naming.made };
}
