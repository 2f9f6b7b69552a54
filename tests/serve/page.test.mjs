// The pages in a real Chromium, with a keyboard and without any script of their own: find, fill in, plan, read the change, carry it out, see the history,
// take it back, verify. axe-core finds no violation on any of them, light or dark. With HUTCH_PICTURES, a folder, the pictures of host/docs/servers.md are made anew.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import test, { after, before } from "node:test";

const { HUTCH_URL, HUTCH_TOKEN, HUTCH_CHROMIUM, HUTCH_BROWSER, HUTCH_PICTURES } = process.env;
const { chromium } = createRequire(join(HUTCH_BROWSER, "page.js"))("playwright-core");
const AXE = readFileSync(join(HUTCH_BROWSER, "node_modules/axe-core/axe.min.js"), "utf8");
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: HUTCH_CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

async function sound(page, colorScheme) {
  await page.emulateMedia({ colorScheme });
  // The page's own policy keeps every script out: axe comes in by the browser's protocol, past it.
  const found = await page.evaluate(`${AXE}; axe.run({ resultTypes: ["violations"] })`);
  assert.deepEqual(found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]), [], page.url());
}

test("the whole story, without a script and by keyboard", async () => {
  const context = await browser.newContext({ javaScriptEnabled: true, httpCredentials: { username: "ada", password: HUTCH_TOKEN } });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(`${error}`));
  const look = async () => {
    for (const scheme of ["light", "dark"]) await sound(page, scheme);
    // On a phone a page is as wide as the phone: what is wider scrolls in a box of its own.
    const size = page.viewportSize();
    await page.setViewportSize({ width: 390, height: 800 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, page.url());
    await page.setViewportSize(size);
  };
  const picture = async (name) => {
    if (!HUTCH_PICTURES) return;
    await page.emulateMedia({ colorScheme: "light" });
    await page.screenshot({ path: join(HUTCH_PICTURES, `${name}.png`), fullPage: true });
  };
  await page.setViewportSize({ width: 900, height: 320 });
  await page.goto(HUTCH_URL);
  await look();
  await page.getByRole("link", { name: /to-?do/i }).first().click();
  await look();
  await page.getByRole("link", { name: "add", exact: true }).click();
  await look();
  await page.getByLabel(/^title/).fill(HUTCH_PICTURES ? "Write docs" : "<b>Write docs</b> once");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^Plan/ }).waitFor();
  await look();
  assert.match(await page.locator("pre").first().textContent(), /Write docs/);
  await picture("plan");
  assert.equal(await page.locator("main b").count(), 0);
  await page.getByRole("button", { name: "Carry it out" }).press("Enter");
  await page.getByRole("heading", { name: /^Entry/ }).waitFor();
  await look();
  await page.getByRole("button", { name: "Verify" }).press("Enter");
  await page.getByRole("status").waitFor();
  await look();
  await page.getByRole("link", { name: "History" }).click();
  await look();
  await picture("history");
  // The first page shows how it stands.
  await page.getByRole("link", { name: /^Commands of/ }).click();
  await page.getByRole("cell", { name: /Write docs/ }).first().waitFor();
  await look();
  await picture("package");
  await page.goBack();
  await page.getByRole("link", { name: "Files" }).click();
  await look();
  await page.getByRole("link", { name: "state", exact: true }).click();
  await look();
  await page.goBack();
  await page.goBack();
  await page.getByRole("button", { name: /^Undo/ }).first().press("Enter");
  await page.getByRole("heading", { name: /^Entry/ }).waitFor();
  assert.match(await page.locator("main").textContent(), /undo/);
  await page.getByRole("link", { name: "Approvals" }).click();
  await look();
  assert.deepEqual(errors, []);
  await context.close();
});

test("the pages need no script at all", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, httpCredentials: { username: "ada", password: HUTCH_TOKEN } });
  const page = await context.newPage();
  await page.goto(`${HUTCH_URL}/packages/todo/commands/0`);
  await page.getByLabel(/^title/).fill("milk");
  await page.getByRole("button").press("Enter");
  await page.getByRole("button", { name: "Carry it out" }).press("Enter");
  assert.match(await page.locator("main").textContent(), /milk/);
  await context.close();
});
