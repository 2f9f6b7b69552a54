// From a path to a node. A path starts at a folder and never leaves it, by `..`, by a link or by being absolute.

import { PATH_BYTES_MAX } from "./volumes.mjs";
import { byteLength } from "./snapshot.mjs";

const HOPS_MAX = 40;

function checkPath(path) {
  if (path === "") throw "no-entry";
  if (path.includes("\0")) throw "invalid";
}

export function checkFolder(node) {
  if (node.kind !== "folder") throw "not-directory";
}

/** The next part of what is left of a path, its rests innermost last; takes it away. */
function nextPart(pending) {
  const rest = pending.pop().replace(/^\/+/, "");
  const end = rest.indexOf("/");
  if (end < 0) return { text: rest, slash: false, last: pending.length === 0 };
  const after = rest.slice(end + 1);
  if (/[^/]/.test(after)) pending.push(after);
  return { text: rest.slice(0, end), slash: true, last: pending.length === 0 };
}

/** Walks all of a path: the folder that holds its last part, that part's name if it has one, and what is there. */
export function resolve(volumes, base, path, { follow, create = false }) {
  checkFolder(base);
  checkPath(path);
  if (byteLength(path) >= PATH_BYTES_MAX) throw "name-too-long";
  if (path.startsWith("/")) throw "not-permitted";
  const [pending, above] = [[path], []];
  let [folder, hops, mustBeFolder, followLast] = [base, 0, false, follow];
  while (pending.length > 0) {
    const { text, slash, last } = nextPart(pending);
    if (text === ".") continue;
    if (text === "..") {
      if (above.length === 0) throw "not-permitted";
      folder = above.pop();
      continue;
    }
    if (last && slash) {
      if (create) throw "is-directory";
      [mustBeFolder, followLast] = [true, true];
    }
    const node = volumes.look(folder, text);
    if (node === null) {
      if (last) return { folder, name: text, node };
      throw "no-entry";
    }
    if (node.kind === "link" && (!last || followLast)) {
      hops += 1;
      if (hops > HOPS_MAX) throw "loop";
      if (node.target.startsWith("/")) throw "not-permitted";
      pending.push(node.target);
    } else if (node.kind === "folder" && !last) {
      above.push(folder);
      folder = node;
    } else if (node.kind !== "folder" && (!last || mustBeFolder)) {
      throw "not-directory";
    } else {
      return { folder, name: text, node };
    }
  }
  return { folder, name: null, node: folder };
}

export function find(volumes, base, path, follow) {
  const { node } = resolve(volumes, base, path, { follow });
  if (node === null) throw "no-entry";
  return node;
}

function lastStep(path) {
  const slash = path.lastIndexOf("/");
  if (slash < 0) return path === "." || path === ".." ? [path, null] : [null, path];
  const last = path.slice(slash + 1);
  if (last === "" || last === "." || last === "..") return [path, null];
  return [slash === 0 ? "/" : withoutDots(path.slice(0, slash)), last];
}

/** Without what at the end of a folder's path leads nowhere else: it does not count for the path's length. */
function withoutDots(path) {
  for (;;) {
    const bare = path.endsWith("/.") ? path.slice(0, -2) : path.endsWith("/") ? path.slice(0, -1) : "";
    if (bare === "") return path;
    path = bare;
  }
}

/** Walks to the last step of a path: the folder to look in, and what to look up; nothing if the path ends in `.`, `..` or a slash. */
export function parent(volumes, base, path) {
  checkFolder(base);
  checkPath(path);
  const [above, last] = lastStep(path);
  if (above === null) return { folder: base, last };
  const folder = find(volumes, base, above, true);
  checkFolder(folder);
  return { folder, last };
}

/** Without the slashes at the end, and whether there were any. A path of slashes alone stays. */
export function withoutSlashes(path) {
  const bare = path.replace(/\/+$/, "");
  return bare === "" ? { path, slash: false } : { path: bare, slash: bare.length < path.length };
}

/** How far a folder is from its volume's top; its path ends in a slash. */
export function placeOf(folder) {
  let [depth, pathBytes] = [0, 0];
  for (let at = folder; at.parent !== null; at = at.parent) {
    depth += 1;
    pathBytes += at.nameBytes + 1;
  }
  return { depth, pathBytes };
}

export function isWithin(inner, outer) {
  for (let at = inner; at !== null; at = at.parent) if (at === outer) return true;
  return false;
}
