// Calls that every host must answer alike. A script is a list of calls on one instance of one package; `alike` names what may differ, and
// is absent where nothing may.

const run = (...args) => ({ args });
const probe = (...args) => ({ name: `probe ${args.join(" ")}`, package: "probe", calls: [run("write-text", "state/keep", "kept"), { args }] });
const with_ = (more, script) => ({ ...script, calls: script.calls.map((call, at) => (at === 1 ? { ...call, ...more } : call)) });

/** Frames of the interpreter have other sizes than those of native code: a stack is used up at another depth. */
const STACK = ["fuel", "memory_peak_bytes"];

export const LIMITS = { fuel: 100_000_000 };
export const CLOCK = "2026-03-01T09:00:00Z";
export const SEED = "7";

/** A component that holds all of CPython, where there is one: what `hutch init --lang python` makes. Its compiler makes other bytes each
 *  time (`anew`), and other work of them. */
export const NOTES = {
  name: "notes in Python",
  package: "notes",
  anew: true,
  calls: [
    run("list"),
    run("add", "Buy milk"),
    run("add", 'say "é <&>"'),
    run("list", "--limit", "1"),
    { args: ["list", "--limit", "0"], unchecked: true },
    run("nonsense"),
    { verb: "plan", args: ["add", "Only planned"] },
    run("add", "--", "-1"),
    { verb: "undo" },
    run("list"),
  ],
};

export const SCRIPTS = [
  {
    name: "to-do",
    package: "todo",
    calls: [
      run("list"),
      run("add", "Write docs"),
      run("add", "Zweite Aufgabe: Übung"),
      run("list"),
      run("complete", "td_0001"),
      run("due"),
      { verb: "plan", args: ["add", "Only planned"] },
      run("get", "td_0002"),
      run("complete", "td_9999"),
      run("nonsense"),
      run("add", "a\u0007b"),
      { verb: "undo" },
      run("list"),
      { args: ["list", "--human"], contract: "any" },
      { args: ["list"], contract: "schema" },
    ],
  },
  {
    name: "to-do, planned and applied",
    package: "todo",
    calls: [
      { verb: "plan", args: ["add", "Write docs"] },
      { verb: "apply" },
      // Its state is another by now.
      { verb: "apply" },
      { verb: "plan", args: ["remove", "td_0001", "--confirm"] },
      { verb: "apply" },
      { verb: "apply", confirmed: true },
      run("list"),
      { verb: "plan", args: ["complete", "td_9999"] },
      { verb: "apply" },
      // The entry that made the instance is no plan.
      { verb: "apply", plan: "@1" },
      run("add", "Buy milk"),
      run("remove", "td_0002", "--confirm"),
      { args: ["remove", "td_0002", "--confirm"], confirmed: true },
      { verb: "undo" },
      { verb: "undo" },
    ],
  },
  { name: "to-do, applied without a plan", package: "todo", calls: [{ verb: "apply" }, run("list")] },
  probe("exit", "0"),
  probe("exit", "255"),
  probe("exit-result", "ok"),
  probe("exit-result", "err"),
  probe("return-ok"),
  probe("return-err"),
  probe("trap"),
  probe("panic"),
  probe("json-and-exit", "30"),
  probe("not-json"),
  probe("two-json"),
  probe("empty"),
  probe("spin"),
  { ...probe("recurse"), alike: STACK },
  probe("recurse", "--stack", "memory"),
  probe("grow-memory"),
  probe("grow-and-touch"),
  probe("grow-table"),
  probe("stdout", "100000"),
  probe("stdout", "100000000"),
  probe("stderr", "100000000"),
  probe("hostcall-spin"),
  probe("big-host-calls", "write"),
  probe("open-handles", "1000000"),
  probe("write-file", "state/a", "200000"),
  probe("append-text", "state/keep", "x"),
  probe("write-at", "state/keep", "2", "x"),
  probe("truncate", "state/keep", "1000000"),
  probe("write-files", "100"),
  probe("write-chunked", "state/a", "100000", "1000"),
  probe("read-file", "state/keep"),
  probe("read-file", "state/none"),
  probe("list-dir", "state"),
  probe("tree", "state"),
  probe("stat", "state/keep"),
  probe("make-dir", "state/d"),
  probe("remove", "state/keep"),
  probe("rename", "state/keep", "state/b"),
  probe("link", "state/keep", "state/b"),
  probe("symlink", "keep", "state/b"),
  probe("read-link", "state/keep"),
  probe("deep-dirs", "1000"),
  probe("long-name", "300"),
  probe("write-then-trap", "state/a"),
  probe("write-then-exit", "state/a", "255"),
  probe("write-then-spin", "state/a"),
  probe("read-outside"),
  probe("follow-links"),
  probe("socket"),
  probe("sleep", "100000"),
  probe("poll", "10", "5", "20"),
  probe("clock"),
  probe("random", "1000"),
  probe("env"),
  probe("args", "ä", "b c"),
  probe("argv0"),
  with_({ stdin: "some text\n" }, probe("stdin")),
  with_({ stdin: '{"a":[1,2]}', contract: "json" }, probe("stdin-echo")),
  probe("float-nan"),
  with_({ limits: { memory_bytes: 4 << 20 } }, probe("grow-and-touch")),
  with_({ limits: { state_bytes: 1000 } }, probe("write-file", "state/a", "2000")),
  with_({ limits: { stdout_bytes: 10 } }, probe("stdout", "11")),
  ...(process.env.HUTCH_EQUAL_PYTHON ? [NOTES] : []),
];
