// The page and the module in a real Chromium: HUTCH_PLAYWRIGHT names a folder with playwright-core in its node_modules.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import test, { after, before } from "node:test";
import { Door } from "../../host/tab/npm/door.js";
import { pack } from "../../host/tab/npm/pack.js";
import { CLOCK, LIMITS, SCRIPTS, SEED } from "./calls.mjs";
import { FOLDERS, Machine, ROOT, temporary } from "./machine.mjs";

const { chromium } = createRequire(join(process.env.HUTCH_PLAYWRIGHT, "tab.js"))("playwright-core");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const KEY = "00".repeat(32);
const CHROMIUM = process.env.HUTCH_CHROMIUM ?? "/usr/bin/chromium";
/** Where a host is to run in a browser: not on the thread of the page. */
const WORKER = `
import { Door } from "./hutch/door.js";
const hash = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
onmessage = async ({ data: requests }) => {
  const door = new Door(await WebAssembly.compile(await (await fetch("./hutch/hutch.wasm")).arrayBuffer()));
  const answers = [];
  for (const [request, file] of requests) {
    const { json, attachment } = door.call(request, file && new Uint8Array(await (await fetch(file)).arrayBuffer()));
    answers.push([JSON.stringify(json), hash(await crypto.subtle.digest("SHA-256", attachment))]);
  }
  postMessage(answers);
};
`;
let folder;
let browser;
let server;
let origin;
/** The paths that were served. */
const served = [];

before(async () => {
  folder = join(process.env.HUTCH_PLAYWRIGHT, "page");
  rmSync(folder, { recursive: true, force: true });
  const { status, stderr } = spawnSync(join(ROOT, "host/tab/page.sh"), [folder], { env: process.env });
  assert.equal(status, 0, `${stderr}`);
  writeFileSync(join(folder, "blank.html"), "<!doctype html><title>blank</title>");
  writeFileSync(join(folder, "calls-worker.js"), WORKER);
  server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://x").pathname);
    served.push(path);
    try {
      const bytes = readFileSync(join(folder, path === "/" ? "index.html" : path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? (path === "/" ? "text/html" : "application/octet-stream") });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** A visitor with storage of its own, and what its pages asked for and complained of. */
async function visitor(t) {
  const context = await browser.newContext();
  t.after(() => context.close());
  const seen = { requests: [], complaints: [] };
  context.on("request", (request) => seen.requests.push(request.url()));
  const open = async (path) => {
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && seen.complaints.push(message.text()));
    page.on("pageerror", (error) => seen.complaints.push(String(error)));
    await page.goto(`${origin}/${path}`);
    return page;
  };
  return { context, seen, open };
}

const status = (page, text) => page.waitForFunction((text) => document.getElementById("status").textContent.includes(text), text);
const TODO = "?package=example/todo.hutch&artifact=example/todo.artifact";

async function call(page, command, fill, how = "run") {
  await page.selectOption("#command", command);
  for (const [name, value] of Object.entries(fill)) await page.fill(`[name="${name}"]`, value);
  await page.click(`button[value="${how}"]`);
  await status(page, `${how}: done`);
}

test("whoever has no package begins with the example, and what can't work yet is disabled", async (t) => {
  const { open, seen } = await visitor(t);
  const page = await open("");
  await status(page, "ready");
  const disabled = () => page.$$eval("#call button", (all) => all.filter((one) => one.disabled).map((one) => one.id));
  assert.deepEqual(await disabled(), ["run", "plan", "commit", "undo", "export"]);
  await page.click("#example");
  await status(page, "install: done");
  assert.deepEqual(await disabled(), ["commit"]);
  await call(page, "add", { title: "Milk" });
  assert.match(await page.textContent("#stdout"), /Milk/);
  assert.deepEqual(seen.complaints, []);
});

test("what needs consent is shown first, and nothing is done before it is given", async (t) => {
  const { open } = await visitor(t);
  const page = await open(TODO);
  page.on("dialog", () => assert.fail("nobody is asked in the package's words"));
  await status(page, "ready");
  await call(page, "add", { title: "Keep\u202eme" });
  assert.match(await page.textContent("#stdout"), /Keep\\u\{202e\}me/);
  await page.selectOption("#command", "remove");
  await page.fill('[name="id"]', "td_0001");
  await page.check('[name="confirm"]');
  await page.click('button[value="run"]');
  await status(page, "it waits for your consent");
  assert.match(await page.textContent("#diff"), /modified state\/todos.json\n[^]*- .*Keep\\u\{202e\}me/);
  await page.click("#tree button");
  await status(page, "read: done");
  assert.match(await page.textContent("#file"), /Keep/);
  await page.click("#commit");
  await status(page, "commit: done");
  await call(page, "list", {});
  assert.doesNotMatch(await page.textContent("#stdout"), /Keep/);
});

test("the to-do package: preview, commit, files, undo; reload, closed tab and no network leave it there", async (t) => {
  const { context, seen, open } = await visitor(t);
  const page = await open(TODO);
  await status(page, "ready");
  await call(page, "add", { title: "Write docs" }, "plan");
  assert.match(await page.textContent("#diff"), /added state\/todos.json/);
  assert.equal(await page.textContent("#tree"), "", "a preview left something");
  await page.click("#commit");
  await status(page, "commit: done");
  assert.match(await page.textContent("#diff"), /\+ .*Write docs/);
  assert.match(await page.textContent("#numbers"), /fuel\d+.*state of state[0-9a-f]{64}/);
  assert.match(await page.textContent("#tree"), /state\/todos.json/);
  await page.click("#tree button");
  await status(page, "read: done");
  assert.match(await page.textContent("#file"), /Write docs/);

  await page.goto(`${origin}/`);
  await status(page, "ready");
  await call(page, "list", {});
  assert.match(await page.textContent("#stdout"), /Write docs/);
  await page.close();

  const again = await open("");
  await status(again, "ready");
  await again.waitForFunction(() => navigator.serviceWorker.ready.then(() => true));
  await context.setOffline(true);
  await again.reload();
  await status(again, "ready");
  await call(again, "list", {});
  assert.match(await again.textContent("#stdout"), /Write docs/);
  await again.click("#undo");
  await status(again, "undo: done");
  await call(again, "list", {});
  assert.doesNotMatch(await again.textContent("#stdout"), /Write docs/);
  assert.deepEqual(seen.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED")), []);
  assert.ok(seen.requests.every((url) => url.startsWith(origin) || url.startsWith(`blob:${origin}`)), `${seen.requests}`);
});

/** Drops files of this machine onto the page, as a person does. */
async function drop(page, files) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) await session.send("Input.dispatchDragEvent", { type, x: 100, y: 100, data });
  await session.detach();
}

test("a package that is dropped is installed: a folder, for which code is made, or a file with its artifact", async (t) => {
  const { context, seen, open } = await visitor(t);
  const machine = new Machine(temporary(t));
  machine.packed("todo");
  machine.artifact("todo");
  const compilers = () => served.filter((path) => path.endsWith("compiler.wasm"));
  const page = await open("");
  await status(page, "ready");
  await drop(page, ["todo.hutch", "todo.artifact"].map((name) => join(machine.folder, name)));
  await status(page, "install: done");
  await call(page, "add", { title: "Dropped" });
  assert.match(await page.textContent("#stdout"), /Dropped/);
  assert.deepEqual(compilers(), [], "an artifact was dropped too, and the compiler was fetched");
  await drop(page, [FOLDERS.probe]);
  await status(page, "install: done");
  assert.equal(await page.inputValue("#package"), "probe");
  await call(page, "args", {});
  assert.match(await page.textContent("#numbers"), /status0/);
  assert.equal(compilers().length, 1);
  // Who has fetched it has it without a network too, for a package that was never here.
  const changed = join(machine.folder, "changed");
  cpSync(FOLDERS.todo, changed, { recursive: true });
  const component = readFileSync(join(changed, "app/app.wasm"));
  // A section that says nothing: other bytes, and so another component.
  writeFileSync(join(changed, "app/app.wasm"), Buffer.concat([component, Buffer.from([0, 2, 1, 0x78])]));
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  await context.setOffline(true);
  await page.reload();
  await status(page, "ready");
  await drop(page, [changed]);
  await status(page, "install: done");
  await call(page, "list", {});
  assert.match(await page.textContent("#stdout"), /Dropped/);
  await context.setOffline(false);
  assert.equal(page.url(), `${origin}/`, "what was dropped was opened");
  assert.equal(context.pages().length, 1);
  assert.deepEqual(seen.complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED")), []);
});

test("what a page exports opens on an empty page, and on a machine that has nothing of it", async (t) => {
  const page = await (await visitor(t)).open(TODO);
  await status(page, "ready");
  await call(page, "add", { title: "Carried" });
  const file = join(temporary(t), "todo.bundle");
  const download = page.waitForEvent("download");
  await page.click("#export");
  const downloaded = await download;
  assert.equal(downloaded.suggestedFilename(), "todo.bundle");
  await downloaded.saveAs(file);

  const other = await (await visitor(t)).open("");
  await status(other, "ready");
  await other.setInputFiles("#import", file);
  await status(other, "2 entries were run again and taken");
  assert.match(await other.textContent("#tree"), /state\/todos.json/);
  await call(other, "list", {});
  assert.match(await other.textContent("#stdout"), /Carried/);

  const machine = new Machine(temporary(t));
  const elsewhere = Object.assign(Object.create(machine), { home: join(machine.folder, "other") });
  const { status: ended, stdout, stderr } = elsewhere.run(["instance", "import", "--input", file, "todo"]);
  assert.equal(ended, 0, `${stderr}`);
  assert.equal(JSON.parse(stdout).result.equal, 1);
});

/** Adds items until the page is gone; says which adds were answered. */
async function addUntilGone(page, kill) {
  const answered = [];
  for (let at = 0; ; at++) {
    if (at === 3) kill();
    try {
      await call(page, "add", { title: `Item ${at}` });
      answered.push(`Item ${at}`);
    } catch {
      return answered;
    }
  }
}

/** What an answer told of is there, at most the call that was at work besides, and all of it is run again to the same. */
async function holdsAfterwards(page, answered) {
  await status(page, "ready");
  await call(page, "list", {});
  const titles = JSON.parse(await page.textContent("#stdout")).items.map((item) => item.title);
  assert.ok(answered.length >= 3, `${answered}`);
  assert.deepEqual(titles.filter((title) => answered.includes(title)), answered);
  assert.ok(titles.length <= answered.length + 1, `${titles} after ${answered}`);
  await page.goto(`${origin}/blank.html`);
  const verified = await page.evaluate(async () => {
    const { Hutch } = await import("./hutch/hutch.js");
    const hutch = await Hutch.open({ storage: { kind: "private", name: "hutch" } });
    const { items } = await hutch.verify("todo");
    await hutch.close();
    return items.map((item) => item.status);
  });
  assert.ok(verified.length > answered.length && verified.every((status) => status === "equal" || status === "no_run"), `${verified}`);
}

test("a proof is checked by whoever opens it, in an empty page and in ten seconds", async (t) => {
  const machine = new Machine(temporary(t));
  machine.run(["run", "todo", "add", "Natively"]);
  const file = join(machine.folder, "todo.proof.json");
  const { entry } = machine.answer(["prove", "--output", file, "todo"]);
  const { seen, open } = await visitor(t);
  const page = await open("");
  await status(page, "ready");
  const begun = performance.now();
  await page.setInputFiles("#proof", file);
  await status(page, `entry ${entry.sequence} of todo/default, ${entry.hash}`);
  const took = performance.now() - begun;
  assert.ok(took < 10_000, `${took} ms`);
  t.diagnostic(`${Math.round(took)} ms, the compiler's module included`);
  assert.match(await page.textContent("#status"), /equal: \["todo","add","Natively"\]/);
  assert.match(await page.textContent("#stdout"), /Natively/);
  const other = readFileSync(file);
  other[other.length - 100] ^= 1;
  writeFileSync(file, other);
  await page.setInputFiles("#proof", []);
  await page.setInputFiles("#proof", file);
  await status(page, "VERIFY_FAILED");
  assert.deepEqual(seen.complaints, []);
});

test("a tab whose process is killed at work loses nothing that was answered", async (t) => {
  const { open } = await visitor(t);
  const page = await open(TODO);
  await status(page, "ready");
  // The process that the page and its worker are in.
  const session = await browser.newBrowserCDPSession();
  t.after(() => session.detach());
  const renderers = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  };
  const crashed = new Promise((resolve) => page.once("crash", resolve));
  const all = await renderers();
  assert.ok(all.length > 0);
  const answered = await addUntilGone(page, () => setTimeout(() => all.forEach((id) => process.kill(id, "SIGKILL")), 20));
  await crashed;
  assert.deepEqual((await renderers()).filter((id) => all.includes(id)), [], "a process lives on");
  await page.close();
  await holdsAfterwards(await open(""), answered);
});

test("a browser that is killed at work loses nothing that was answered", async (t) => {
  const profile = mkdtempSync(join(tmpdir(), "hutch-tab-"));
  const launched = [];
  t.after(async () => {
    for (const context of launched) await context.close().catch(() => {});
    // Processes of the one that was killed may be about to end.
    rmSync(profile, { recursive: true, force: true, maxRetries: 50 });
  });
  const launch = async () => {
    launched.push(await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: ["--no-sandbox"] }));
    return launched.at(-1);
  };
  const first = await launch();
  const page = await first.newPage();
  await page.goto(`${origin}/${TODO}`);
  await status(page, "ready");
  const { processInfo } = await (await first.browser().newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  const { id } = processInfo.find(({ type }) => type === "browser");
  const closed = new Promise((resolve) => first.once("close", resolve));
  const answered = await addUntilGone(page, () => setTimeout(() => process.kill(id, "SIGKILL"), 20));
  await closed;
  const second = await launch();
  const again = await second.newPage();
  await again.goto(`${origin}/`);
  await holdsAfterwards(again, answered);
});

test("a second tab is told that the first one holds the state", async (t) => {
  const { open } = await visitor(t);
  const first = await open(TODO);
  await status(first, "ready");
  await call(first, "list", {});
  const second = await open("");
  await status(second, "INSTANCE_BUSY");
});

test("what a hostile package says is text, and what it does reaches nothing", async (t) => {
  const { open, seen } = await visitor(t);
  const markup = `<img src="https://attacker.invalid/x" onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;
  const files = [
    ["APP.md", readFileSync(join(FOLDERS.probe, "APP.md"), "utf8").replace("name: Probe", `name: '${markup}'`).replace(/^description: .*$/m, `description: '${markup}'`)],
    ["app/app.wasm", readFileSync(join(FOLDERS.probe, "app/app.wasm"))],
    ["schemas/commands.json", readFileSync(join(FOLDERS.probe, "schemas/commands.json"), "utf8").replace(/"description": "[^"]*"/g, `"description": ${JSON.stringify(markup)}`)],
  ];
  const bytes = (content) => (typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content));
  const machine = new Machine(temporary(t));
  const page = await open(TODO);
  await status(page, "ready");
  await call(page, "add", { title: "Mine" });
  const mine = await page.textContent("#numbers");
  await page.setInputFiles("#files", [
    { name: "probe.hutch", mimeType: "", buffer: Buffer.from(pack(files.map(([path, content]) => [path, bytes(content)]))) },
    { name: "probe.artifact", mimeType: "", buffer: Buffer.from(machine.artifact("probe")) },
  ]);
  await status(page, "install: done");
  assert.match(await page.textContent("#about"), /<img src=/);
  await page.fill("#stdin", markup);
  await call(page, "stdin-echo", {});
  assert.match((await page.textContent("#stdout")) + (await page.textContent("#stderr")), /<img src=|CONTRACT_VIOLATION/);
  for (const command of ["read-outside", "socket", "env"]) await call(page, command, {});
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, iframe, object, script:not([src])").length), 0);
  assert.ok(seen.requests.every((url) => url.startsWith(origin)), `${seen.requests}`);
  await page.selectOption("#package", "todo");
  await status(page, "open: done");
  await call(page, "list", {});
  assert.match(await page.textContent("#stdout"), /Mine/);
  const digest = (text) => /state of state([0-9a-f]{64})/.exec(text)[1];
  assert.equal(digest(await page.textContent("#numbers")), digest(mine));
  // What the policy forbids, whoever asks: other origins, markup as scripts, code from text.
  const refused = await page.evaluate(async () => {
    const fails = async (action) => { try { await action(); return false; } catch { return true; } };
    return [
      await fails(() => fetch("https://attacker.invalid/")),
      await fails(() => { document.body.innerHTML = "<b>x</b>"; }),
      await fails(() => new Worker("./hutch/worker.js")),
    ];
  });
  assert.deepEqual(refused, [true, true, true]);
});

test("the module in Chromium answers as in Node", async (t) => {
  const machine = new Machine(temporary(t));
  const requests = [];
  const files = {};
  for (const slug of ["todo", "probe"]) {
    writeFileSync(join(folder, `${slug}.artifact`), machine.artifact(slug));
    writeFileSync(join(folder, `${slug}.hutch`), machine.packed(slug));
    requests.push([{ op: "artifact" }, `${slug}.artifact`], [{ op: "load" }, `${slug}.hutch`]);
    files[`${slug}.artifact`] = readFileSync(join(folder, `${slug}.artifact`));
    files[`${slug}.hutch`] = readFileSync(join(folder, `${slug}.hutch`));
  }
  for (const [at, { package: slug, calls }] of SCRIPTS.entries()) {
    const target = { package: slug, instance: `i${at}`, at: CLOCK };
    requests.push([{ op: "open", package: slug, instance: `i${at}`, key: KEY }]);
    for (const { verb = "run", args = [], limits, contract, stdin } of calls) {
      const invoked = { arguments: args, seed: SEED, limits: { ...LIMITS, ...limits }, contract, stdin, wall_time_us: 0 };
      requests.push([{ ...target, op: verb, ...(verb === "undo" ? {} : invoked) }]);
    }
    requests.push([{ ...target, op: "ledger" }]);
  }
  const hash = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const door = new Door(new WebAssembly.Module(readFileSync(join(ROOT, "host/tab/npm/hutch.wasm"))));
  const expected = [];
  for (const [request, file] of requests) {
    const { json, attachment } = door.call(request, file && new Uint8Array(files[file]));
    expected.push([JSON.stringify(json), hash(await crypto.subtle.digest("SHA-256", attachment))]);
  }
  const { open } = await visitor(t);
  const page = await open("blank.html");
  const answered = await page.evaluate(
    (requests) =>
      new Promise((resolve, reject) => {
        const worker = new Worker("./calls-worker.js", { type: "module" });
        worker.onmessage = (event) => resolve(event.data);
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage(requests);
      }),
    requests,
  );
  for (const [at, answer] of answered.entries()) assert.deepEqual(answer, expected[at], JSON.stringify(requests[at]));
  assert.equal(answered.length, requests.length);
});
