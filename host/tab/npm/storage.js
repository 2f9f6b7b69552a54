// Where bytes are kept between visits: the origin's private file system in a browser, a folder in Node, or nowhere. Each kept thing is
// whole or not there; a log is only ever appended to, and one holder at a time may do that.

/** One who opens a log that another tab or process holds is told so. */
export class Busy extends Error {}

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function nowhere() {
  const kept = new Map();
  return {
    async get(name) { return kept.get(name) ?? null; },
    async put(name, bytes) { kept.set(name, bytes.slice()); },
    async names() { return [...kept.keys()]; },
    async log() {
      return { read: () => new Uint8Array(), cut() {}, append() {}, close() {} };
    },
  };
}

async function privateFiles(name) {
  const top = await navigator.storage.getDirectory();
  const folder = await top.getDirectoryHandle(name, { create: true });
  const held = async (file) => {
    try {
      return await (await folder.getFileHandle(file, { create: true })).createSyncAccessHandle();
    } catch (error) {
      if (error.name === "NoModificationAllowedError") throw new Busy(`another tab holds ${file}`);
      throw error;
    }
  };
  const write = (handle, bytes, at) => {
    const written = handle.write(bytes, { at });
    if (written !== bytes.length) throw new Error(`${written} of ${bytes.length} bytes could be written`);
    handle.flush();
  };
  return {
    async get(file) {
      try {
        return new Uint8Array(await (await (await folder.getFileHandle(file)).getFile()).arrayBuffer());
      } catch (error) {
        if (error.name === "NotFoundError") return null;
        throw error;
      }
    },
    // Its readers check what they read by a digest or a length: there is no rename that every browser has.
    async put(file, bytes) {
      const handle = await held(file);
      try {
        handle.truncate(0);
        write(handle, bytes, 0);
      } finally {
        handle.close();
      }
    },
    async names() {
      const names = [];
      for await (const key of folder.keys()) names.push(key);
      return names;
    },
    async log(file) {
      const handle = await held(file);
      return {
        read() {
          const bytes = new Uint8Array(handle.getSize());
          handle.read(bytes, { at: 0 });
          return bytes;
        },
        cut(length) { handle.truncate(length); handle.flush(); },
        append(bytes) { write(handle, bytes, handle.getSize()); },
        close() { handle.close(); },
      };
    },
  };
}

/** What tells a process from all others: where it runs, its number there, and when it began. */
function processOf(fs, os) {
  const told = (read) => {
    try {
      return read();
    } catch {
      return null;
    }
  };
  const began = (pid) => told(() => fs.readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1).split(" ")[19]);
  const boot = told(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim());
  const numbers = told(() => fs.readlinkSync("/proc/self/ns/pid"));
  const own = { host: os.hostname(), boot, numbers, pid: process.pid, began: began(process.pid) };
  const alive = (pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      return error.code === "EPERM";
    }
  };
  return {
    own,
    /** Whether it runs, as far as can be known: one of another machine or container can't be looked at, and counts as running. */
    runs({ host, boot, numbers, pid, began: since }) {
      if (host !== own.host) return true;
      if (boot !== own.boot) return false;
      if (numbers !== own.numbers) return true;
      return alive(pid) && (since === null || began(pid) === since);
    },
  };
}

/** Locks of one owner in a folder of Node. A lock is the last of files with rising numbers, `NAME.1.lock`, `NAME.2.lock`, and says who holds
 *  it, or that nobody does. To take it is to make the next one, which one alone can; none is ever changed, and what is looked at can't be
 *  another one by then. */
function locksOf(fs, os, { join }, folder, owner) {
  const { own, runs } = processOf(fs, os);
  const numbers = (name) => {
    const taken = fs.readdirSync(folder).map((file) => file.startsWith(`${name}.`) && /^(\d+)\.lock$/.exec(file.slice(name.length + 1)));
    return taken.filter(Boolean).map(([, number]) => Number(number)).sort((one, other) => one - other);
  };
  const path = (name, number) => join(folder, `${name}.${number}.lock`);
  /** Makes a file that says this, whole from the beginning; false if it is there. */
  const make = (file, said) => {
    const begun = join(folder, `${random()}.new`);
    const text = JSON.stringify(said);
    try {
      fs.writeFileSync(begun, text, { flag: "wx" });
      fs.linkSync(begun, file);
      return true;
    } catch (error) {
      if (error.code === "EEXIST") return false;
      if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(error.code)) throw error;
    } finally {
      fs.rmSync(begun, { force: true });
    }
    // There are no links here: it is empty for a moment, and who reads it then takes it for held.
    try {
      fs.writeFileSync(file, text, { flag: "wx" });
      return true;
    } catch (error) {
      if (error.code === "EEXIST") return false;
      throw error;
    }
  };
  /** What the last file says; null if it went meanwhile. */
  const said = (file) => {
    try {
      return JSON.parse(fs.readFileSync(file, "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return null;
      throw new Busy(`${file} does not say who holds it; take it away if nobody does`);
    }
  };
  const is = (holder) => holder.owner === owner && Object.keys(own).every((key) => holder[key] === own[key]);
  return {
    take(name) {
      for (;;) {
        const last = numbers(name).at(-1) ?? 0;
        if (last > 0) {
          const holder = said(path(name, last));
          if (holder === null) continue;
          // A worker that was ended had the same owner as the one that took its place.
          if (!holder.free && !is(holder) && runs(holder)) {
            throw new Busy(`process ${holder.pid} of ${holder.host} holds ${join(folder, name)}, as ${path(name, last)} says`);
          }
        }
        if (!make(path(name, last + 1), { ...own, owner })) continue;
        // Who looked long ago made one that others are beyond by now.
        if (numbers(name).at(-1) !== last + 1) {
          fs.rmSync(path(name, last + 1), { force: true });
          continue;
        }
        for (const number of numbers(name)) if (number < last) fs.rmSync(path(name, number), { force: true });
        return;
      }
    },
    /** Gives back what this owner holds. */
    give(name) {
      const last = numbers(name).at(-1);
      const holder = last && said(path(name, last));
      if (holder && !holder.free && is(holder)) make(path(name, last + 1), { free: true });
    },
    /** The names of all that there are locks of. */
    names: () => new Set(fs.readdirSync(folder).map((file) => /^(.*)\.\d+\.lock$/.exec(file)?.[1]).filter(Boolean)),
  };
}

/** Gives back, at once, what this owner holds in a folder: for who ends the worker that held it. */
export async function releaser({ kind, path, owner }) {
  if (kind !== "folder") return () => {};
  const [fs, os, paths] = await Promise.all([import("node:fs"), import("node:os"), import("node:path")]);
  const locks = locksOf(fs, os, paths, path, owner);
  return () => {
    try {
      for (const name of locks.names()) locks.give(name);
    } catch (error) {
      // The folder is gone, or what is in it is none of this owner's.
      if (!(error instanceof Busy) && error.code !== "ENOENT") throw error;
    }
  };
}

async function folderOfNode(folder, owner) {
  const [fs, os, paths] = await Promise.all([import("node:fs"), import("node:os"), import("node:path")]);
  const { join } = paths;
  fs.mkdirSync(folder, { recursive: true });
  const locks = locksOf(fs, os, paths, folder, owner);
  /** What is open here: the owner of a lock may take it anew, and two of it are two holders. */
  const open = new Set();
  const write = (path, flags, bytes) => {
    const file = fs.openSync(path, flags);
    try {
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(file, bytes, done);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  };
  return {
    async get(file) {
      try {
        return new Uint8Array(fs.readFileSync(join(folder, file)));
      } catch (error) {
        if (error.code === "ENOENT") return null;
        throw error;
      }
    },
    async put(file, bytes) {
      write(join(folder, `${file}.new`), "w", bytes);
      fs.renameSync(join(folder, `${file}.new`), join(folder, file));
    },
    async names() { return fs.readdirSync(folder).filter((name) => !/\.(lock|new)$/.test(name)); },
    async log(file) {
      const path = join(folder, file);
      if (open.has(file)) throw new Busy(`${path} is open already`);
      locks.take(file);
      open.add(file);
      return {
        read: () => (fs.existsSync(path) ? new Uint8Array(fs.readFileSync(path)) : new Uint8Array()),
        cut(length) { if (fs.existsSync(path)) fs.truncateSync(path, length); },
        append(bytes) { write(path, "a", bytes); },
        close() {
          if (open.delete(file)) locks.give(file);
        },
      };
    },
  };
}

/** `{ kind: "memory" }`, `{ kind: "private", name }` or `{ kind: "folder", path, owner }`, where the owner is whoever takes the place of a holder
 *  that it ended. */
export function open(storage) {
  switch (storage.kind) {
    case "memory": return nowhere();
    case "private": return privateFiles(storage.name);
    case "folder": return folderOfNode(storage.path, storage.owner ?? random());
    default: throw new Error(`there is no storage of kind ${storage.kind}`);
  }
}
