// A package, packed or as a folder: the component that an entry names, and the folders of it that a guest may read. The manifest is not read.

import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { refuse, text } from "./canonical.mjs";
import { ObjectsOf, nameFile, nameFolder } from "./snapshot.mjs";
import { digest } from "./tools.mjs";

const BLOCK = 512;

const field = (header, from, length) => {
  const bytes = header.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return text(end < 0 ? bytes : bytes.subarray(0, end), "a name in the archive");
};
const octal = (header, from, length) => {
  const digits = field(header, from, length).trim();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : refuse("the archive has a header that is none");
};

function checkSum(header) {
  const sum = header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (sum !== octal(header, 148, 8)) refuse("the archive has a damaged header");
}

/** The files of an archive, ustar or of GNU tar, and its folders as `null`. */
function unpacked(archive) {
  const found = new Map();
  let longName = null;
  let at = 0;
  for (; archive[at]; ) {
    const header = archive.subarray(at, at + BLOCK);
    if (header.length < BLOCK) refuse("the archive is cut short");
    checkSum(header);
    const [type, bytes] = [String.fromCharCode(header[156] || 0x30), octal(header, 124, 12)];
    const content = archive.subarray(at + BLOCK, at + BLOCK + bytes);
    if (content.length < bytes) refuse("the archive is cut short");
    at += BLOCK + Math.ceil(bytes / BLOCK) * BLOCK;
    if (type === "L") {
      longName = text(content.at(-1) === 0 ? content.subarray(0, -1) : content, "a name in the archive");
      continue;
    }
    const prefix = header.toString("latin1", 257, 263) === "ustar\0" ? field(header, 345, 155) : "";
    const name = longName ?? [prefix, field(header, 0, 100)].filter((part) => part !== "").join("/");
    longName = null;
    if (type !== "0" && type !== "5") refuse("the archive holds more than files and folders");
    if (name.split("/").some((part, place, all) => part === ".." || part === "." || (part === "" && place < all.length - 1))) {
      refuse("the archive has a path that is none");
    }
    const path = name.replace(/\/$/, "");
    if (found.has(path)) refuse("the archive holds something twice");
    found.set(path, type === "0" ? content : null);
  }
  if (archive.length - at < 2 * BLOCK || archive.subarray(at).some((byte) => byte !== 0)) refuse("the archive has no end");
  return found;
}

function walked(folder, path, found) {
  for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
    const inside = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) walked(folder, inside, found.set(inside, null));
    else if (entry.isFile()) found.set(inside, readFileSync(join(folder, inside)));
  }
  return found;
}

/** What is at a path of this machine. */
export function filesAt(path) {
  return statSync(path).isDirectory() ? walked(path, "", new Map()) : unpacked(readFileSync(path));
}

export const filesIn = unpacked;

/** The component with a digest: one file of `app/`. */
export function component(files, expected) {
  const code = [...files].filter(([path, content]) => /^app\/[^/]+\.wasm$/.test(path) && content !== null);
  return code.map(([, content]) => content).find((content) => digest("component", content) === expected);
}

/** A folder of the package as a snapshot, all of it from the beginning of time. */
export function resource(files, folder) {
  const made = new ObjectsOf();
  const name = (below) => {
    const [entries, begin] = [new Map(), `${below}/`];
    for (const [path, content] of files) {
      if (!path.startsWith(begin)) continue;
      const [first, ...rest] = path.slice(begin.length).split("/");
      if (rest.length > 0 || content === null) entries.set(first, null);
      else entries.set(first, { name: first, modifiedNs: 0n, kind: "file", ...nameFile(made, content) });
    }
    const whole = ([first, entry]) => entry ?? { name: first, modifiedNs: 0n, kind: "folder", ...name(`${below}/${first}`) };
    return nameFolder(made, [...entries].map(whole));
  };
  return { tree: name(folder).tree, objects: made };
}
