// `wasi:filesystem/types` over volumes: what each call does, and which of its errors comes first.

import { checkOffset, readBytes, setSize, writeBytes } from "./content.mjs";
import { checkFolder, find, isWithin, parent, placeOf, resolve, withoutSlashes } from "./paths.mjs";
import { EMPTY_TREE, NOTHING, byteLength, byteOrder } from "./snapshot.mjs";
import { FileInput, FileOutput, STREAM_BYTES } from "./streams.mjs";
import { Node, PATH_BYTES_MAX, unreadOf } from "./volumes.mjs";

const SECOND_NS = 1_000_000_000n;
const LAST_NS = 2n ** 64n - 1n;
const TYPES = { file: "regular-file", folder: "directory", link: "symbolic-link" };

export const datetime = (ns) => ({ seconds: ns / SECOND_NS, nanoseconds: Number(ns % SECOND_NS) });
const least = (a, b) => (a < b ? a : b);

/** The nanoseconds that a new time means; nothing keeps the old one. */
function timeNs(volumes, { tag, val }) {
  if (tag === "no-change") return null;
  if (tag === "now") return volumes.clock.wallNs();
  const nanoseconds = BigInt(val.nanoseconds);
  const seconds = val.seconds + nanoseconds / SECOND_NS;
  if (seconds >= 2n ** 63n) throw "overflow";
  return least(least(seconds * SECOND_NS, LAST_NS) + (nanoseconds % SECOND_NS), LAST_NS);
}

function setTimes(volumes, node, accessed, modified) {
  if (accessed === null && modified === null) return;
  node.accessedNs = accessed ?? node.accessedNs;
  node.modifiedNs = modified ?? node.modifiedNs;
  node.changedNs = volumes.clock.wallNs();
  volumes.changed(node);
}

function statOf(node) {
  const size = { file: node.size, folder: 0, link: node.kind === "link" ? byteLength(node.target) : 0 }[node.kind];
  return {
    type: TYPES[node.kind],
    linkCount: BigInt(node.names),
    size: BigInt(size),
    dataAccessTimestamp: datetime(node.accessedNs),
    dataModificationTimestamp: datetime(node.modifiedNs),
    statusChangeTimestamp: datetime(node.changedNs),
  };
}

const identityOf = (node) => ({ lower: node.serial, upper: BigInt(node.volume) });

function checkFree(node) {
  if (node !== null) throw "exist";
}

/** A listing: names in the order of their bytes; what comes or goes meanwhile shows by its place in that order. */
export class DirectoryEntryStream {
  #after = null;

  constructor(volumes, folder) {
    Object.assign(this, { volumes, folder });
  }

  readDirectoryEntry() {
    const names = this.volumes.namesOf(this.folder);
    let [low, high] = [0, this.#after === null ? 0 : names.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byteOrder(names[middle], this.#after) <= 0) low = middle + 1;
      else high = middle;
    }
    const name = names[low];
    if (name === undefined) return undefined;
    this.#after = name;
    return { type: TYPES[this.folder.entries.known.get(name).kind], name };
  }
}

export class Descriptor {
  constructor(volumes, node, flags) {
    Object.assign(this, { volumes, node, flags });
  }

  #checkChangeable() {
    checkFolder(this.node);
    if (!this.volumes.isWritable(this.node)) throw "read-only";
  }

  #checkBoth(other) {
    checkFolder(this.node);
    other.#checkChangeable();
    this.#checkChangeable();
  }

  #checkFileWritable() {
    if (this.node.kind === "folder") throw "bad-descriptor";
    if (!this.volumes.isWritable(this.node)) throw "read-only";
  }

  #find(flags, path) {
    return find(this.volumes, this.node, path, flags.symlinkFollow === true);
  }

  /** Makes something that has no name yet, under one. */
  #make(folder, name, what) {
    const { volumes } = this;
    volumes.checkPathBytes(placeOf(folder).pathBytes + byteLength(name));
    volumes.countNew(folder.volume);
    const node = volumes.insert(folder.volume, what);
    volumes.attach(folder, name, node);
    return node;
  }

  openAt(pathFlags, path, open, flags) {
    const { volumes } = this;
    const changes = Boolean(open.create || open.truncate);
    const write = Boolean(flags.write || changes);
    checkFolder(this.node);
    if (open.directory && (changes || open.exclusive)) throw "invalid";
    if (write && !volumes.isWritable(this.node)) throw "read-only";
    const onlyNew = Boolean(open.create && open.exclusive);
    const follow = Boolean(pathFlags.symlinkFollow) && !onlyNew;
    const place = resolve(volumes, this.node, path, { follow, create: Boolean(open.create) });
    const node = place.node ?? (place.name !== null && open.create ? this.#make(place.folder, place.name, emptyFile()) : null);
    if (node === null) throw "no-entry";
    if (place.node !== null) {
      if (onlyNew) throw "exist";
      if (node.kind === "link") throw "loop";
      if (node.kind === "folder" && write) throw "is-directory";
      if (node.kind === "file" && open.directory) throw "not-directory";
      if (open.truncate) setSize(volumes, node, 0n);
    }
    const isChangeable = node.kind === "folder" && volumes.isWritable(node);
    return new Descriptor(volumes, node, {
      ...flags,
      read: Boolean(flags.read || !flags.write),
      write,
      mutateDirectory: Boolean(flags.mutateDirectory && isChangeable),
    });
  }

  createDirectoryAt(given) {
    this.#checkChangeable();
    const { volumes } = this;
    const { folder, last } = parent(volumes, this.node, withoutSlashes(given).path);
    if (last === null) throw "exist";
    checkFree(volumes.look(folder, last));
    volumes.checkDepth(placeOf(folder).depth + 1);
    const entries = { known: new Map(), parts: [], unread: 0 };
    this.#make(folder, last, { kind: "folder", parent: folder, nameBytes: byteLength(last), base: EMPTY_TREE, totals: NOTHING, entries });
  }

  symlinkAt(target, path) {
    this.#checkChangeable();
    if (target.startsWith("/")) throw "not-permitted";
    const { folder, last } = parent(this.volumes, this.node, path);
    if (target === "") throw "no-entry";
    if (target.includes("\0")) throw "invalid";
    if (byteLength(target) >= PATH_BYTES_MAX) throw "name-too-long";
    if (last === null) throw "exist";
    checkFree(this.volumes.look(folder, last));
    this.#make(folder, last, { kind: "link", target });
  }

  readlinkAt(path) {
    const { folder, last } = parent(this.volumes, this.node, path);
    if (last === null) throw "invalid";
    const node = this.volumes.look(folder, last);
    if (node === null) throw "no-entry";
    if (node.kind !== "link") throw "invalid";
    return node.target;
  }

  linkAt(oldFlags, oldPath, newBase, newPath) {
    this.#checkBoth(newBase);
    if (oldFlags.symlinkFollow) throw "invalid";
    const { volumes } = this;
    const from = parent(volumes, this.node, oldPath);
    const to = parent(volumes, newBase.node, newPath);
    const node = from.last === null ? from.folder : volumes.look(from.folder, from.last);
    if (node === null) throw "no-entry";
    if (to.last === null) throw "exist";
    checkFree(volumes.look(to.folder, to.last));
    if (node.volume !== to.folder.volume) throw "cross-device";
    if (node.kind === "folder") throw "not-permitted";
    volumes.checkPathBytes(placeOf(to.folder).pathBytes + byteLength(to.last));
    volumes.recount(node, node.names + 1, node.size);
    node.names += 1;
    node.changedNs = volumes.clock.wallNs();
    volumes.attach(to.folder, to.last, node);
  }

  unlinkFileAt(path) {
    this.#checkChangeable();
    const { folder, last } = parent(this.volumes, this.node, path);
    if (last === null) throw "is-directory";
    const node = this.volumes.look(folder, last);
    if (node === null) throw "no-entry";
    if (node.kind === "folder") throw "is-directory";
    this.volumes.detach(folder, last);
    this.volumes.forgetName(node);
  }

  removeDirectoryAt(given) {
    this.#checkChangeable();
    const { folder, last } = parent(this.volumes, this.node, withoutSlashes(given).path);
    if (last === null) throw "invalid";
    const node = this.volumes.look(folder, last);
    if (node === null) throw "no-entry";
    checkFolder(node);
    if (!this.volumes.isEmpty(node)) throw "not-empty";
    this.volumes.detach(folder, last);
    this.volumes.forgetName(node);
  }

  renameAt(oldPath, newBase, newPath) {
    this.#checkBoth(newBase);
    const { volumes } = this;
    const [old, made] = [withoutSlashes(oldPath), withoutSlashes(newPath)];
    const from = parent(volumes, this.node, old.path);
    const to = parent(volumes, newBase.node, made.path);
    if (from.folder.volume !== to.folder.volume) throw "cross-device";
    if (from.last === null || to.last === null) throw "busy";
    const node = volumes.look(from.folder, from.last);
    if (node === null) throw "no-entry";
    const replaced = volumes.look(to.folder, to.last);
    const isFolder = node.kind === "folder";
    if ((old.slash || made.slash) && !isFolder) throw "not-directory";
    if (isFolder && isWithin(to.folder, node)) throw "invalid";
    if (replaced === node) return;
    if (replaced !== null) this.#checkReplaced(from.folder, isFolder, replaced);
    this.#checkReach(node, to);
    if (replaced !== null) {
      volumes.detach(to.folder, to.last);
      volumes.forgetName(replaced);
    }
    volumes.detach(from.folder, from.last);
    if (isFolder) Object.assign(node, { parent: to.folder, nameBytes: byteLength(to.last) });
    node.changedNs = volumes.clock.wallNs();
    volumes.attach(to.folder, to.last, node);
  }

  #checkReplaced(folder, isFolder, replaced) {
    if (isWithin(folder, replaced)) throw "not-empty";
    if (isFolder && replaced.kind !== "folder") throw "not-directory";
    if (!isFolder && replaced.kind === "folder") throw "is-directory";
    if (isFolder && !this.volumes.isEmpty(replaced)) throw "not-empty";
  }

  #checkReach(node, { folder, last }) {
    const above = placeOf(folder);
    const below = node.kind === "folder" ? reachOf(node) : NO_REACH;
    if (node.kind === "folder") this.volumes.checkDepth(above.depth + 1 + below.depth);
    this.volumes.checkPathBytes(above.pathBytes + byteLength(last) + below.pathBytes);
  }

  readViaStream(offset) {
    if (this.node.kind === "folder") throw "is-directory";
    return new FileInput(this.volumes, this.node, { offset, allowed: this.flags.read });
  }

  writeViaStream(offset) {
    this.#checkFileWritable();
    return new FileOutput(this.volumes, this.node, { offset, allowed: this.flags.write });
  }

  appendViaStream() {
    this.#checkFileWritable();
    return new FileOutput(this.volumes, this.node, { offset: null, allowed: this.flags.write });
  }

  read(length, offset) {
    if (this.node.kind === "folder") throw "bad-descriptor";
    checkOffset(offset);
    if (!this.flags.read) throw "bad-descriptor";
    const bytes = readBytes(this.volumes, this.node, offset, Number(least(length, BigInt(STREAM_BYTES))));
    return [bytes, bytes.length === 0];
  }

  write(bytes, offset) {
    this.#checkFileWritable();
    checkOffset(offset);
    if (!this.flags.write) throw "bad-descriptor";
    writeBytes(this.volumes, this.node, offset, bytes);
    return BigInt(bytes.length);
  }

  setSize(size) {
    this.#checkFileWritable();
    if (!this.flags.write) throw "invalid";
    setSize(this.volumes, this.node, size);
  }

  setTimes(accessed, modified) {
    const [accessedNs, modifiedNs] = [timeNs(this.volumes, accessed), timeNs(this.volumes, modified)];
    if (!this.volumes.isWritable(this.node)) throw "read-only";
    setTimes(this.volumes, this.node, accessedNs, modifiedNs);
  }

  setTimesAt(flags, path, accessed, modified) {
    checkFolder(this.node);
    const [accessedNs, modifiedNs] = [timeNs(this.volumes, accessed), timeNs(this.volumes, modified)];
    this.#checkChangeable();
    setTimes(this.volumes, flags.symlinkFollow ? this.#find(flags, path) : this.#findLast(path), accessedNs, modifiedNs);
  }

  #findLast(path) {
    const { folder, last } = parent(this.volumes, this.node, path);
    const node = last === null ? folder : this.volumes.look(folder, last);
    if (node === null) throw "no-entry";
    return node;
  }

  readDirectory() {
    checkFolder(this.node);
    this.volumes.allEntries(this.node);
    return new DirectoryEntryStream(this.volumes, this.node);
  }

  advise() {
    if (this.node.kind !== "file") throw "bad-descriptor";
  }

  sync() {}
  syncData() {}
  getFlags = () => this.flags;
  getType = () => TYPES[this.node.kind];
  stat = () => statOf(this.node);
  statAt = (flags, path) => statOf(this.#find(flags, path));
  isSameObject = (other) => this.node === other.node;
  metadataHash = () => identityOf(this.node);
  metadataHashAt = (flags, path) => identityOf(this.#find(flags, path));
}

const emptyFile = () => ({ kind: "file", size: 0, base: null, written: new Map() });

const NO_REACH = { depth: 0, pathBytes: 0 };
const furthest = (a, b) => ({ depth: Math.max(a.depth, b.depth), pathBytes: Math.max(a.pathBytes, b.pathBytes) });
const behindSlash = ({ depth, pathBytes }) => ({ depth, pathBytes: pathBytes + (pathBytes > 0 ? 1 : 0) });

/** How far what is in a folder reaches below it; paths begin with a slash. What was not read is as its part says. */
function reachOf({ entries, totals }) {
  if (entries === null) return behindSlash(totals);
  const unread = unreadOf(entries.parts).map(({ part }) => behindSlash(part.totals));
  const known = [...entries.known].map(([name, slot]) => {
    const own = 1 + byteLength(name);
    if (slot.kind !== "folder") return { depth: 0, pathBytes: own };
    const inside = slot instanceof Node ? reachOf(slot) : behindSlash(slot.totals);
    return { depth: 1 + inside.depth, pathBytes: own + inside.pathBytes };
  });
  return [...unread, ...known].reduce(furthest, NO_REACH);
}
