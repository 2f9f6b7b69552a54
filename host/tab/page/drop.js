// What was given to the page, as `[path, file]`: files by themselves, whose path is empty, or all that is in a folder, by their path in it. Knows
// no page.

/** Of a form's field. */
export function chosen(files) {
  return [...files].map((file) => [file.webkitRelativePath.split("/").slice(1).join("/"), file]);
}

/** Of what was dropped. To be called before the event has ended: nothing of it is known later. */
export function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const found = items.map((item) => [item.webkitGetAsEntry?.(), item.getAsFile()]);
  return Promise.all(found.map(([entry, file]) => (entry?.isDirectory ? inFolder(entry, "") : [["", file]]))).then((all) => all.flat());
}

async function inFolder(folder, path) {
  const reader = folder.createReader();
  const files = [];
  // It gives some at a time, and none at the end.
  for (let entries = []; (entries = await promised(reader.readEntries.bind(reader))).length > 0; ) {
    for (const entry of entries) {
      if (entry.isDirectory) files.push(...(await inFolder(entry, `${path}${entry.name}/`)));
      else files.push([path + entry.name, await promised(entry.file.bind(entry))]);
    }
  }
  return files;
}

const promised = (asked) => new Promise((resolve, reject) => asked(resolve, reject));
