# For tests/edge/workerd.test.mjs, which puts the files beside it and names those of the packages. State is on the disk, so that it is there for the next process.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .applications),
    (name = "kept", disk = (path = "kept", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const applications :Workerd.Worker = (
  modules = [
    (name = "applications.js", esModule = embed "applications.js"),
    (name = "packages.js", esModule = embed "packages.js"),
    (name = "hutch/edge.js", esModule = embed "hutch/edge.js"),
    (name = "hutch/kept.js", esModule = embed "hutch/kept.js"),
    (name = "hutch/door.js", esModule = embed "hutch/door.js"),
    (name = "hutch/storage.js", esModule = embed "hutch/storage.js"),
    (name = "hutch/hutch.wasm", wasm = embed "hutch/hutch.wasm"),
    (name = "all.js", esModule = embed "all.js"),
    PACKAGES
  ],
  compatibilityDate = "2026-11-01",
  bindings = [
    (name = "TOKEN", text = "for tests"),
    (name = "APPLICATIONS", durableObjectNamespace = "Applications"),
  ],
  durableObjectNamespaces = [(className = "Applications", uniqueKey = "applications")],
  durableObjectStorage = (localDisk = "kept"),
);
