// A folder's files as the one file that `hutch pack` would make of them: the host takes packages in that form alone.

const utf8 = new TextEncoder();
const BLOCK = 512;

function header(name, size, kind) {
  const block = new Uint8Array(BLOCK);
  const put = (text, at) => block.set(utf8.encode(text), at);
  const octal = (value, digits) => value.toString(8).padStart(digits, "0");
  block.set(name.subarray(0, 100), 0);
  put(kind === "5" ? "0000755\0" : "0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${octal(size, 11)}\0`, 124);
  put("00000000000\0", 136);
  put("        ", 148);
  put(kind, 156);
  put("ustar  \0", 257);
  put(`${octal(block.reduce((sum, byte) => sum + byte, 0), 7)}\0`, 148);
  return block;
}

/** @param {Iterable<[string, Uint8Array]>} files paths from the package's root, and what the files hold */
export function pack(files) {
  const parts = [];
  const add = (bytes) => {
    parts.push(bytes);
    if (bytes.length % BLOCK) parts.push(new Uint8Array(BLOCK - (bytes.length % BLOCK)));
  };
  const folders = new Set();
  const entries = [];
  for (const [path, bytes] of files) {
    const names = path.split("/");
    for (let depth = 1; depth < names.length; depth++) folders.add(names.slice(0, depth).join("/"));
    entries.push([utf8.encode(path), bytes, "0"]);
  }
  for (const folder of folders) entries.push([utf8.encode(`${folder}/`), new Uint8Array(), "5"]);
  // By bytes, a folder as if its name had no slash behind it.
  const sorted = entries.map(([name, bytes, kind]) => [kind === "5" ? name.subarray(0, -1) : name, name, bytes, kind]);
  const compare = ([a], [b]) => {
    for (let at = 0; at < Math.min(a.length, b.length); at++) if (a[at] !== b[at]) return a[at] - b[at];
    return a.length - b.length;
  };
  for (const [, name, bytes, kind] of sorted.sort(compare)) {
    if (name.length > 100) {
      const long = new Uint8Array(name.length + 1);
      long.set(name);
      parts.push(header(utf8.encode("././@LongLink"), long.length, "L"));
      add(long);
    }
    parts.push(header(name, bytes.length, kind));
    add(bytes);
  }
  parts.push(new Uint8Array(2 * BLOCK));
  const packed = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    packed.set(part, at);
    at += part.length;
  }
  return packed;
}
