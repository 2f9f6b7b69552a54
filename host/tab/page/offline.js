// Keeps the page's own files, so that it opens without a network. Asks its own origin and nobody else.

const KEPT = "hutch-page-0.1.0";
const FILES = [
  "./", "index.html", "page.css", "page.js", "form.js", "drop.js",
  "hutch/hutch.js", "hutch/door.js", "hutch/storage.js", "hutch/pack.js", "hutch/worker.js", "hutch/kept.js", "hutch/hutch.wasm",
];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = (names) => Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(old).then(() => self.clients.claim()));
});

/** What nobody may ever need is kept once it was wanted. */
const LATER = new URL("hutch/compiler.wasm", location.href).href;

async function fetched(request) {
  const response = await fetch(request);
  if (response.ok && request.url === LATER) await (await caches.open(KEPT)).put(request, response.clone());
  return response;
}

// What the server has now; what was kept where there is none.
self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return;
  event.respondWith(fetched(event.request).catch(() => caches.match(event.request, { ignoreSearch: true })));
});
