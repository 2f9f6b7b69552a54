// The computer that a guest sees, by the interfaces of WASI 0.2 in the form in which jco links them. Everything in it follows from the invocation
// and the trees: time is virtual, randomness has a seed, nothing is reached outside. Memory, handles and fuel are not counted.

import { Descriptor, DirectoryEntryStream, datetime } from "./descriptors.mjs";
import { Stop } from "./ending.mjs";
import { Captured, InputStream, OutputStream, Pollable, StandardInput, StreamError, poll } from "./streams.mjs";
import { chacha20 } from "./tools.mjs";
import { Volumes } from "./volumes.mjs";

/** How far a reading moves the clock. */
const TICK_NS = 1000n;
const LAST_NS = 2n ** 64n - 1n;
const WORD_BYTES = 4;

const held = (ns) => (ns < LAST_NS ? ns : LAST_NS);

/** Both clocks: one time, two zeros. It stands still but for readings and waits. */
class Clock {
  elapsedNs = 0n;

  constructor(startNs) {
    this.startNs = startNs;
  }

  readMonotonic() {
    const now = this.elapsedNs;
    this.elapsedNs = held(now + TICK_NS);
    return now;
  }

  readWall = () => held(this.startNs + this.readMonotonic());
  wallNs = () => held(this.startNs + this.elapsedNs);

  waitUntil(deadlineNs) {
    if (deadlineNs > this.elapsedNs) this.elapsedNs = deadlineNs;
  }
}

/** A random stream, taken in words: what is left of one is nobody's. */
class RandomStream {
  #next;

  constructor(seed, number) {
    this.#next = chacha20(seed, number);
  }

  bytes = (length) => this.#next(Math.ceil(length / WORD_BYTES) * WORD_BYTES).subarray(0, length);
  u64 = () => this.bytes(8).readBigUInt64LE();
}

const none = () => undefined;

function denied() {
  throw "access-denied";
}

/** Nothing makes one: whatever would is denied. */
class Absent {}

function standard(clock, { stdin, limits }) {
  const sink = (name) => ({ name, limit: limits[name], parts: [], size: 0 });
  const [stdout, stderr] = [sink("stdout_bytes"), sink("stderr_bytes")];
  const source = { bytes: stdin, at: 0 };
  return {
    stdout,
    stderr,
    interfaces: {
      "wasi:cli/stdin": { getStdin: () => new StandardInput(clock, source) },
      "wasi:cli/stdout": { getStdout: () => new Captured(clock, stdout) },
      "wasi:cli/stderr": { getStderr: () => new Captured(clock, stderr) },
    },
  };
}

function randomness({ seed, limits }) {
  const [secure, insecure, seeds] = [1, 2, 3].map((number) => new RandomStream(seed, number));
  const insecureSeed = [seeds.u64(), seeds.u64()];
  const bytes = (stream) => (length) => {
    if (length > limits.host_call_bytes) throw new Stop("limited", "host_call_bytes");
    return stream.bytes(Number(length));
  };
  return {
    "wasi:random/random": { getRandomBytes: bytes(secure), getRandomU64: secure.u64 },
    "wasi:random/insecure": { getInsecureRandomBytes: bytes(insecure), getInsecureRandomU64: insecure.u64 },
    "wasi:random/insecure-seed": { insecureSeed: () => insecureSeed },
  };
}

function clocks(clock) {
  const at = (deadlineNs) => new Pollable(clock, deadlineNs);
  return {
    "wasi:clocks/wall-clock": { now: () => datetime(clock.readWall()), resolution: () => datetime(TICK_NS) },
    "wasi:clocks/monotonic-clock": {
      now: () => clock.readMonotonic(),
      resolution: () => TICK_NS,
      subscribeInstant: at,
      subscribeDuration: (ns) => at(held(clock.elapsedNs + ns)),
    },
  };
}

function cli({ argv, environment }) {
  const exit = (status) => {
    throw new Stop("exited", status);
  };
  return {
    "wasi:cli/environment": { getEnvironment: () => environment, getArguments: () => argv, initialCwd: none },
    "wasi:cli/exit": { exit: ({ tag }) => exit(tag === "ok" ? 0 : 1), exitWithCode: exit },
    "wasi:cli/terminal-input": { TerminalInput: Absent },
    "wasi:cli/terminal-output": { TerminalOutput: Absent },
    "wasi:cli/terminal-stdin": { getTerminalStdin: none },
    "wasi:cli/terminal-stdout": { getTerminalStdout: none },
    "wasi:cli/terminal-stderr": { getTerminalStderr: none },
  };
}

function files(volumes) {
  const flags = (writable) => ({ read: true, write: false, mutateDirectory: writable });
  const open = ({ name, root, writable }) => [new Descriptor(volumes, root, flags(writable)), name];
  return {
    "wasi:filesystem/preopens": { getDirectories: () => volumes.all.map(open) },
    "wasi:filesystem/types": { Descriptor, DirectoryEntryStream, filesystemErrorCode: (error) => error.code },
  };
}

/** The network is there, and every way into it is denied. */
class Network {}

const SOCKETS = {
  "wasi:sockets/network": { Network },
  "wasi:sockets/instance-network": { instanceNetwork: () => new Network() },
  "wasi:sockets/ip-name-lookup": { resolveAddresses: denied, ResolveAddressStream: Absent },
  "wasi:sockets/tcp": { TcpSocket: Absent },
  "wasi:sockets/tcp-create-socket": { createTcpSocket: denied },
  "wasi:sockets/udp": { UdpSocket: Absent, IncomingDatagramStream: Absent, OutgoingDatagramStream: Absent },
  "wasi:sockets/udp-create-socket": { createUdpSocket: denied },
};

/** A world for one run. `invocation`: argv, environment, stdin, startNs, seed, limits; `trees` and `objects` as Volumes takes them. */
export function makeWorld(invocation, trees, objects) {
  const clock = new Clock(invocation.startNs);
  const volumes = new Volumes({ trees, objects, clock, limits: invocation.limits });
  const { stdout, stderr, interfaces } = standard(clock, invocation);
  const io = {
    "wasi:io/error": { Error: StreamError },
    "wasi:io/poll": { Pollable, poll: (list) => poll(clock, list) },
    "wasi:io/streams": { InputStream, OutputStream },
  };
  const imports = { ...cli(invocation), ...interfaces, ...clocks(clock), ...randomness(invocation), ...files(volumes), ...io, ...SOCKETS };
  const written = ({ parts }) => Buffer.concat(parts);
  return { imports, volumes, stdout: () => written(stdout), stderr: () => written(stderr) };
}
