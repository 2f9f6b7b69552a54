// The page: forms made from a package's contract, and what came of its calls. All that a package says is text here, never markup.

import { Hutch, HutchError } from "./hutch/hutch.js";
import { chosen, dropped } from "./drop.js";
import { argumentsOf, commandsOf, seen } from "./form.js";

// Only these two scripts are ever started, whatever anything else here is made to say.
const urls = new Map([["worker", "./hutch/worker.js"], ["offline", "./offline.js"]]);
const policy = globalThis.trustedTypes?.createPolicy("hutch", { createScriptURL: (name) => new URL(urls.get(name), import.meta.url).href });
const script = (name) => policy?.createScriptURL(name) ?? new URL(urls.get(name), import.meta.url);

const $ = (id) => document.getElementById(id);
const text = (bytes) => seen(new TextDecoder().decode(bytes));
const COMPARED_BYTES = 100_000;
let hutch;
let planned = null;

function say(message, refused = false) {
  $("status").textContent = seen(message);
  $("status").classList.toggle("refused", refused);
}

/** Runs one action at a time and says what went wrong. */
async function act(name, action) {
  document.body.ariaBusy = "true";
  say(`${name} …`);
  try {
    say((await action()) ?? `${name}: done`);
  } catch (error) {
    say(error instanceof HutchError ? `${error.code}: ${error.message}` : String(error), true);
  } finally {
    document.body.ariaBusy = "false";
  }
}

const current = () => hutch.packages.get($("package").value);
const command = () => commandsOf(current()).find((known) => known.name === $("command").value);

function options(select, values) {
  const before = select.value;
  select.replaceChildren(...values.map((value) => Object.assign(document.createElement("option"), { value, textContent: seen(value) })));
  if (values.includes(before)) select.value = before;
}

function showPackages() {
  options($("package"), [...hutch.packages.keys()]);
  showPackage();
}

function showPackage() {
  const known = current();
  for (const id of ["run", "plan", "undo", "export"]) $(id).disabled = !known;
  $("about").textContent = known ? seen(`${known.name} ${known.version}: ${known.description}`) : "none yet";
  options($("command"), known ? commandsOf(known).map(({ name }) => name) : []);
  showCommand();
}

function showCommand() {
  planned = null;
  $("commit").disabled = true;
  const known = current() && command();
  $("parameters").replaceChildren(...(known?.parameters ?? []).map(field));
}

function field(parameter) {
  const label = document.createElement("label");
  const input = parameter.choices.length > 0 ? document.createElement("select") : document.createElement("input");
  if (parameter.choices.length > 0) options(input, ["", ...parameter.choices]);
  else if (parameter.valueType === "boolean" && parameter.position === null) input.type = "checkbox";
  input.name = parameter.name;
  input.title = seen(parameter.description);
  if (parameter.required) input.required = true;
  label.append(seen(`${parameter.name}${parameter.required ? " *" : ""} `), input);
  return label;
}

function showNumbers(result) {
  const { status, fuel, memory_peak_bytes: peak, kept, entry, volumes } = result;
  const rows = { status, fuel, "peak memory": peak, kept, entry: `${entry.sequence} ${entry.hash}` };
  for (const [name, volume] of Object.entries(volumes)) rows[`state of ${name}`] = volume.after;
  const row = ([name, value]) => [
    Object.assign(document.createElement("dt"), { textContent: name }),
    Object.assign(document.createElement("dd"), { textContent: String(value) }),
  ];
  $("numbers").replaceChildren(...Object.entries(rows).flatMap(row));
}

/** Old and new content of what changed, of small files. */
async function showChanges(slug, result) {
  const parts = [];
  for (const [name, { changes }] of Object.entries(result.volumes)) {
    for (const { path, change } of changes) {
      parts.push(seen(`${change} ${name}/${path}`));
      const read = async (entry) => {
        const bytes = await hutch.read(slug, `${name}/${path}`, entry ? { entry } : {}).catch(() => null);
        return bytes && bytes.length <= COMPARED_BYTES ? text(bytes) : null;
      };
      const before = change === "added" ? "" : await read(`@${result.entry.sequence - 1}`);
      const after = change === "removed" ? "" : result.kept ? await read() : null;
      if (before !== null) parts.push(...before.split("\n").filter(Boolean).map((line) => `- ${line}`));
      if (after !== null) parts.push(...after.split("\n").filter(Boolean).map((line) => `+ ${line}`));
    }
  }
  $("diff").textContent = parts.join("\n");
}

async function showFiles() {
  $("tree").replaceChildren();
  $("file").textContent = "";
  const slug = $("package").value;
  const { volumes } = await hutch.objects(slug);
  const waiting = Object.keys(volumes);
  while (waiting.length > 0) {
    const { items } = await hutch.objects(slug, { path: waiting.shift() });
    for (const { path, kind, bytes } of items) {
      if (kind === "folder") waiting.push(path);
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: seen(`${path} (${bytes ?? kind})`) });
      button.onclick = () => act("read", async () => { $("file").textContent = text(await hutch.read(slug, path)); });
      const item = document.createElement("li");
      item.append(button);
      $("tree").append(item);
    }
  }
}

async function showRun(slug, result) {
  showNumbers(result);
  $("stdout").textContent = text(result.stdout);
  $("stderr").textContent = result.stderr.length > 0 ? text(result.stderr) : result.error ? seen(`${result.error.code}: ${result.error.message}`) : "";
  await showChanges(slug, result);
  await showFiles();
}

/** Installs what is given as `[path, file]`: a folder's files or a packed one, and perhaps an artifact. */
async function install(files) {
  const read = async ([, file]) => new Uint8Array(await file.arrayBuffer());
  const artifact = files.find(([, file]) => file.name.endsWith(".artifact"));
  const rest = files.filter((given) => given !== artifact);
  if (rest.length === 0) throw new Error("no package is among these files");
  const folder = rest.filter(([path]) => path !== "");
  const given = folder.length > 0 ? await Promise.all(folder.map(async (file) => [file[0], await read(file)])) : await read(rest[0]);
  await open(await hutch.install(given, artifact && (await read(artifact))));
}

/** Runs again what a proof says, and shows what it is of and what it came to. */
async function check(file) {
  const checked = await hutch.check(new Uint8Array(await file.arrayBuffer()));
  const { sequence, package: slug, instance, hash, argv } = checked;
  $("stdout").textContent = text(checked.stdout);
  $("stderr").textContent = text(checked.stderr);
  return seen(`equal: ${JSON.stringify(argv)} is entry ${sequence} of ${slug}/${instance}, ${hash}`);
}

/** Installs what this origin has at these paths: the policy lets no other be asked. */
async function fetched(packed, artifact) {
  const bytes = async (path) => {
    const response = await fetch(new URL(path, location.href));
    if (!response.ok) throw new Error(`nothing is at ${path}`);
    return new Uint8Array(await response.arrayBuffer());
  };
  return hutch.install(await bytes(packed), artifact ? await bytes(artifact) : undefined);
}

/** `?package=PATH&artifact=PATH`. */
async function linked() {
  const query = new URLSearchParams(location.search);
  if (query.has("package")) await fetched(query.get("package"), query.get("artifact"));
}

/** Goes on with what has just been installed. */
async function open({ slug }) {
  showPackages();
  $("package").value = slug;
  showPackage();
  await showFiles();
}

function listen() {
  $("package").onchange = () => act("open", async () => { showPackage(); await showFiles(); });
  $("command").onchange = showCommand;
  for (const id of ["files", "folder"]) {
    $(id).onchange = (event) => act("install", () => install(chosen(event.target.files)));
  }
  $("example").disabled = false;
  $("example").onclick = () => act("install", async () => open(await fetched("example/todo.hutch", "example/todo.artifact")));
  $("proof").onchange = (event) => act("check", () => check(event.target.files[0]));
  document.ondragover = (event) => event.preventDefault();
  document.ondrop = (event) => {
    event.preventDefault();
    const files = dropped(event.dataTransfer);
    act("install", async () => install(await files));
  };
  $("call").onsubmit = (event) => {
    event.preventDefault();
    const how = event.submitter?.value ?? "run";
    const known = command();
    const given = argumentsOf(known, new FormData($("call")));
    act(how, async () => {
      const slug = $("package").value;
      // What a person must agree to is shown before anything is done, and not asked about in the package's own words.
      const asks = known.confirmationRequired && how === "run";
      const result = await hutch[asks ? "plan" : how](slug, given, { stdin: $("stdin").value });
      planned = (asks || how === "plan") && result.status === 0 ? result.entry.hash : null;
      $("commit").disabled = planned === null;
      await showRun(slug, result);
      if (asks && planned !== null) return "nothing is done yet: this is what it would do, and it waits for your consent";
    });
  };
  $("commit").onclick = () =>
    act("commit", async () => {
      const slug = $("package").value;
      // Whoever presses it has seen what it does.
      await showRun(slug, await hutch.commit(slug, planned, { confirmed: command().confirmationRequired }));
      $("commit").disabled = true;
    });
  $("undo").onclick = () => act("undo", async () => { await hutch.undo($("package").value); await showFiles(); });
  $("export").onclick = () =>
    act("export", async () => {
      const slug = $("package").value;
      // What an earlier version did, no package that is here can prove.
      const alone = (error) => (error.code === "NOT_REPRODUCIBLE" ? hutch.export(slug) : Promise.reject(error));
      const bundle = await hutch.export(slug, { packages: true }).catch(alone);
      const url = URL.createObjectURL(new Blob([bundle]));
      Object.assign(document.createElement("a"), { href: url, download: `${slug}.bundle` }).click();
      URL.revokeObjectURL(url);
    });
  $("import").onchange = (event) =>
    act("import", async () => {
      const bundle = new Uint8Array(await event.target.files[0].arrayBuffer());
      // On a page without packages, what the file carries is what is meant.
      const carried = current() ? [] : await hutch.carried(bundle);
      if (carried.length > 0) await hutch.install(carried.at(-1));
      showPackages();
      const { entries } = await hutch.import($("package").value, bundle);
      await showFiles();
      return `${entries} entries were run again and taken`;
    });
}

await act("start", async () => {
  hutch = await Hutch.open({ storage: { kind: "private", name: "hutch" }, worker: script("worker") });
  await linked();
  listen();
  showPackages();
  if (current()) await showFiles();
  await navigator.serviceWorker?.register(script("offline"));
  return "ready";
});
