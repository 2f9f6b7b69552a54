// Where bytes are kept between visits: the origin's private file system in a browser, a folder in Node, or nowhere. Each kept thing is
// whole or not there; a log is only ever appended to, and one holder at a time may do that.

/** One who opens a log that another tab or process holds is told so. */
export class Busy extends Error {}

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

async function folderOfNode(folder) {
  const fs = await import("node:fs");
  const { join } = await import("node:path");
  fs.mkdirSync(folder, { recursive: true });
  const alive = (pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      return error.code === "EPERM";
    }
  };
  // A lock is a file with the holder's number, which counts as long as that process lives; a worker that was ended is of this one.
  const lock = (path) => {
    for (;;) {
      try {
        fs.writeFileSync(path, String(process.pid), { flag: "wx" });
        return;
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
        const holder = Number(fs.readFileSync(path, "utf8"));
        if (holder !== process.pid && holder > 0 && alive(holder)) throw new Busy(`process ${holder} holds ${path}`);
        fs.rmSync(path, { force: true });
      }
    }
  };
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
      lock(`${path}.lock`);
      return {
        read: () => (fs.existsSync(path) ? new Uint8Array(fs.readFileSync(path)) : new Uint8Array()),
        cut(length) { if (fs.existsSync(path)) fs.truncateSync(path, length); },
        append(bytes) { write(path, "a", bytes); },
        close() { fs.rmSync(`${path}.lock`, { force: true }); },
      };
    },
  };
}

/** `{ kind: "memory" }`, `{ kind: "private", name }` or `{ kind: "folder", path }`. */
export function open(storage) {
  switch (storage.kind) {
    case "memory": return nowhere();
    case "private": return privateFiles(storage.name);
    case "folder": return folderOfNode(storage.path);
    default: throw new Error(`there is no storage of kind ${storage.kind}`);
  }
}
