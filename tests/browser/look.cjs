// Opens pages in Chromium as a reader would, and prints what happened as JSON.
//
// Standard input: {"browser": PATH, "views": [{"page": PATH, "width", "height", "dark", "script", "do", "ask", "axe",
// "shot", "pdf"}]}. `do` is a list of {"click"|"hover"|"focus"|"press"|"fill"|"go": ...}, `ask` maps names to
// expressions that are evaluated in the page afterwards. `script: false` turns the page's own script off.
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');
// Modules lie beside nothing of the project: tests/prepare installs them into the build folder.
const modules = process.env.FIELDTRIAL_BROWSER_MODULES;
const { chromium } = require(path.join(modules, 'playwright-core'));
const axe = fs.readFileSync(path.join(modules, 'axe-core', 'axe.min.js'), 'utf8');

const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

function where(program) {
  for (const folder of process.env.PATH.split(':')) {
    if (fs.existsSync(path.join(folder, program))) return path.join(folder, program);
  }
  throw new Error(`${program} is not on PATH`);
}

async function act(page, deed) {
  const limit = { timeout: 10000 };
  const [verb, what] = Object.entries(deed)[0];
  if (verb === 'click') await page.click(what, limit);
  else if (verb === 'hover') await page.hover(what, limit);
  else if (verb === 'focus') await page.focus(what, limit);
  else if (verb === 'press') await page.keyboard.press(what);
  else if (verb === 'fill') await page.fill(what[0], what[1], limit);
  else if (verb === 'select') await page.selectOption(what[0], what[1], limit);
  else if (verb === 'go') await page.evaluate((hash) => { location.hash = hash; }, what);
  else throw new Error(`unknown deed ${verb}`);
}

async function look(browser, view) {
  const seen = { errors: [], requests: [], dialogs: [], answers: {}, axe: [] };
  const context = await browser.newContext({
    viewport: { width: view.width || 1280, height: view.height || 900 },
    colorScheme: view.dark ? 'dark' : 'light',
    javaScriptEnabled: view.script !== false,
    offline: true,
  });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) seen.errors.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => seen.errors.push(`page: ${error.message}`));
  page.on('dialog', async (dialog) => { seen.dialogs.push(dialog.message()); await dialog.dismiss(); });
  context.on('request', (request) => seen.requests.push(request.url()));
  context.on('page', (other) => { if (other !== page) seen.errors.push(`another window: ${other.url()}`); });
  const url = pathToFileURL(view.page).href + (view.hash || '');
  await page.goto(url, { waitUntil: 'load', timeout: 60000 });
  try {
    for (const deed of view.do || []) await act(page, deed);
    await page.waitForTimeout(50);
    // The questions are the test's own, and are asked whether or not the page may run scripts.
    for (const [name, question] of Object.entries(view.ask || {})) seen.answers[name] = await page.evaluate(question);
    if (view.axe) {
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
      seen.axe = found.violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')}`);
    }
    if (view.shot) await page.screenshot({ path: view.shot, fullPage: !!view.whole });
    if (view.pdf) await page.pdf({ path: view.pdf, format: 'A4', printBackground: true });
  } catch (error) {
    seen.errors.push(`test: ${error.message}`);
  }
  await context.close();
  return seen;
}

(async () => {
  const task = JSON.parse(fs.readFileSync(0, 'utf8'));
  const browser = await chromium.launch({ executablePath: where(task.browser), args: QUIET });
  try {
    const all = [];
    for (const view of task.views) all.push(await look(browser, view));
    process.stdout.write(JSON.stringify(all));
  } finally {
    await browser.close();
  }
})().catch((error) => { process.stderr.write(`${error.stack}\n`); process.exit(1); });
