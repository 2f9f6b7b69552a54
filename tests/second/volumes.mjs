// The folders that a guest finds open: trees of nodes, read from snapshots as paths go through them and changed in memory alone. Which objects are
// read, and when, is part of what a proof says: no more of them is in it.

import { fault } from "./ending.mjs";
import { EMPTY_TREE, NOTHING, byteLength, byteOrder, isOneObject, nameFault, readTree } from "./snapshot.mjs";
import { route } from "./tools.mjs";

export const PATH_BYTES_MAX = 4096;

/** A file, folder or link that the run has touched. */
export class Node {
  constructor(what, { volume, serial, now, names = 1 }) {
    Object.assign(this, what, { volume, serial, names, accessedNs: now, modifiedNs: now, changedNs: now });
  }
}

const storedFolder = (parent, name, tree, totals) => ({
  kind: "folder",
  parent,
  nameBytes: byteLength(name),
  base: tree,
  totals,
  entries: null,
});

export const storedFile = (size, content) => ({ size, base: size > 0 ? { content, size, visible: size } : null, written: new Map() });

function whatOf(entry, parent) {
  if (entry.kind === "file") return { kind: "file", ...storedFile(entry.size, entry.content) };
  if (entry.kind === "folder") return storedFolder(parent, entry.name, entry.tree, entry.totals);
  return { kind: "link", target: entry.target };
}

const sameTotals = (a, b) => Object.keys(NOTHING).every((name) => a[name] === b[name]);
const unreadBranches = (at, parts) => parts.map((part) => ({ part, at: at + part.digit, below: "unread" }));

/** All parts that were not read, of the branches and below. */
export function unreadOf(branches) {
  return branches.flatMap(({ part, at, below }) => (below === "unread" ? [{ part, at }] : below === "entries" ? [] : unreadOf(below)));
}

const branchAt = (branches, digit) => branches.find(({ part }) => part.digit === digit);

export class Volumes {
  #serial = 0;

  /** `trees`: by the name of each preopened folder, its tree and whether it may be changed. */
  constructor({ trees, objects, clock, limits }) {
    Object.assign(this, { objects, clock, limits, refused: new Set() });
    const now = clock.startNs;
    this.all = [...trees].sort(([a], [b]) => byteOrder(a, b)).map(([name, { tree, writable }], at) => {
      const totals = writable ? this.#totalsOf(tree) : NOTHING;
      const root = this.insert(at, storedFolder(null, "", tree, totals), now);
      return { name, root, writable, before: tree, changed: false, usage: { bytes: totals.bytes, files: totals.files } };
    });
  }

  #totalsOf(tree) {
    if (tree === EMPTY_TREE) return NOTHING;
    const object = this.#treeObject(tree);
    return object.at ? fault(`the tree ${tree} is a part of a folder`) : object.entries > 0 ? object.totals : fault(`the tree ${tree} holds nothing`);
  }

  #treeObject(tree) {
    return readTree(this.objects.get("tree", tree));
  }

  insert(volume, what, now = this.clock.wallNs()) {
    this.#serial += 1;
    return new Node(what, { volume, serial: BigInt(this.#serial), now });
  }

  volumeOf(node) {
    return this.all[node.volume];
  }

  isWritable(node) {
    return this.volumeOf(node).writable;
  }

  /** The entries of a folder as far as its first object has them. */
  open(folder) {
    if (folder.entries !== null) return folder.entries;
    if (folder.base === EMPTY_TREE) return (folder.entries = { known: new Map(), parts: [], unread: 0 });
    const object = this.#treeObject(folder.base);
    const isAsSaid = folder.parent === null || sameTotals(object.totals, folder.totals);
    if (object.entries === 0 || object.at || !isAsSaid) fault(`the tree ${folder.base} does not hold what it should`);
    folder.entries = object.list
      ? { known: new Map(object.list.map((entry) => [entry.name, entry])), parts: [], unread: 0 }
      : { known: new Map(), parts: unreadBranches("", object.parts), unread: object.entries };
    return folder.entries;
  }

  readPart(folder, at, part) {
    const object = this.#treeObject(part.tree);
    const isInPlace = object.list ? object.list.every(({ name }) => route(name).startsWith(at)) : object.at === at;
    const isOne = object.list !== undefined;
    const isForm = isOne === isOneObject(at, part.entries);
    if (object.entries !== part.entries || !sameTotals(object.totals, part.totals) || !isInPlace || !isForm) {
      fault(`the tree ${part.tree} is not the part that its folder says`);
    }
    let branch = null;
    let branches = folder.entries.parts;
    for (const digit of at) {
      branch = branchAt(branches, digit);
      branches = branch.below;
    }
    branch.below = isOne ? "entries" : unreadBranches(at, object.parts);
    if (!isOne) return;
    folder.entries.unread -= part.entries;
    for (const entry of object.list) folder.entries.known.set(entry.name, entry);
    this.#reorder(folder);
  }

  /** The entries, with all that there is under a name and beside it in the same part. */
  entriesToward(folder, name) {
    const entries = this.open(folder);
    if (entries.unread === 0) return entries;
    const digits = route(name);
    let branches = entries.parts;
    for (let level = 0; ; level += 1) {
      const branch = branchAt(branches, digits[level]);
      if (branch === undefined || branch.below === "entries") return entries;
      if (branch.below === "unread") this.readPart(folder, branch.at, branch.part);
      if (branch.below === "entries") return entries;
      branches = branch.below;
    }
  }

  allEntries(folder) {
    const entries = this.open(folder);
    while (entries.unread > 0) for (const { at, part } of unreadOf(entries.parts)) this.readPart(folder, at, part);
    return entries.known;
  }

  isEmpty(folder) {
    return folder.entries === null ? folder.base === EMPTY_TREE : folder.entries.known.size === 0 && folder.entries.unread === 0;
  }

  /** The names of a folder that was read, in their order. */
  namesOf(folder) {
    folder.order ??= [...folder.entries.known.keys()].sort(byteOrder);
    return folder.order;
  }

  #reorder(folder) {
    folder.order = undefined;
  }

  /** The node that a name stands for. */
  lookup(folder, name) {
    const { known } = this.entriesToward(folder, name);
    const found = known.get(name);
    if (found === undefined || found instanceof Node) return found ?? null;
    const node = this.insert(folder.volume, whatOf(found, folder), found.modifiedNs);
    known.set(name, node);
    return node;
  }

  /** Looks one part of a path up. */
  look(folder, name) {
    if (folder.names === 0) throw "no-entry";
    const wrong = nameFault(name);
    if (wrong !== null) throw wrong === "invalid" ? "invalid" : "name-too-long";
    return this.lookup(folder, name);
  }

  attach(folder, name, node) {
    this.entriesToward(folder, name).known.set(name, node);
    this.#changedNames(folder);
  }

  detach(folder, name) {
    this.entriesToward(folder, name).known.delete(name);
    this.#changedNames(folder);
  }

  #changedNames(folder) {
    this.#reorder(folder);
    folder.modifiedNs = folder.changedNs = this.clock.wallNs();
    this.changed(folder);
  }

  changed(node) {
    this.volumeOf(node).changed = true;
  }

  isFolder = (node) => node.kind === "folder";

  #count(volume, from, to) {
    const sum = (name) => this.all.reduce((sum, { usage }) => sum + usage[name], 0) - from[name] + to[name];
    for (const [name, limit] of [["files", "state_files"], ["bytes", "state_bytes"]]) {
      if (to[name] > from[name] && sum(name) > this.limits[limit]) this.refuse(limit, "insufficient-space");
    }
    const { usage } = this.all[volume];
    usage.files += to.files - from.files;
    usage.bytes += to.bytes - from.bytes;
  }

  refuse(limit, error) {
    this.refused.add(limit);
    throw error;
  }

  countNew(volume) {
    this.#count(volume, { bytes: 0, files: 0 }, { bytes: 0, files: 1 });
  }

  /** Counts another number of names, or another size. */
  recount(node, names, size) {
    const counts = (names, size) => ({ bytes: names * (size ?? 0), files: names });
    this.#count(node.volume, counts(node.names, node.size), counts(names, size));
  }

  checkDepth(depth) {
    if (depth > this.limits.folder_depth) this.refuse("folder_depth", "name-too-long");
  }

  checkPathBytes(bytes) {
    if (bytes >= PATH_BYTES_MAX) throw "name-too-long";
  }

  forgetName(node) {
    this.recount(node, node.names - 1, node.size);
    node.names -= 1;
    node.changedNs = this.clock.wallNs();
  }
}
