// Draws a dashboard into a PNG: Grafana's own components in a browser, with the answers of a Prometheus.
//
//   node render.mjs --modules FOLDER --dashboard FILE --prometheus URL --out FILE [--seconds N] [--scrape N] [--width PX] [--theme dark|light]
//                   [--var NAME=VALUE]...
//
// A line for each panel goes to stdout: drawn, empty or failed. The status is 0 if no panel failed, 1 otherwise. --modules is the folder in which
// the packages of package.json are installed.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execFileSync } from 'node:child_process';

const { values: given } = parseArgs({
  options: {
    modules: { type: 'string' }, dashboard: { type: 'string' }, prometheus: { type: 'string' }, out: { type: 'string' },
    seconds: { type: 'string', default: '600' }, scrape: { type: 'string', default: '15' }, width: { type: 'string', default: '1440' },
    theme: { type: 'string', default: 'dark' }, var: { type: 'string', multiple: true, default: [] },
  },
});
const load = createRequire(join(resolve(given.modules), 'package.json'));
const esbuild = load('esbuild');
const { chromium } = load('playwright-core');

const here = fileURLToPath(new URL('.', import.meta.url));
const bundle = await esbuild.build({
  entryPoints: [join(here, 'page.jsx')], nodePaths: [join(resolve(given.modules), 'node_modules')], outdir: 'out',
  bundle: true, write: false, format: 'esm', jsx: 'automatic', logLevel: 'error',
  loader: { '.svg': 'dataurl', '.woff': 'dataurl', '.woff2': 'dataurl', '.ttf': 'dataurl', '.png': 'dataurl' },
  define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
});
const built = (ending) => bundle.outputFiles.find((file) => file.path.endsWith(ending))?.contents ?? '';

const end = Math.floor(Date.now() / 1000);
const task = {
  dashboard: JSON.parse(await readFile(given.dashboard, 'utf8')), end, start: end - Number(given.seconds), scrape: Number(given.scrape),
  width: Number(given.width), theme: given.theme, chosen: Object.fromEntries(given.var.map((pair) => pair.split(/=(.*)/s, 2))),
};

const files = {
  '/': ['text/html', '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css"><body style="margin:0"><div id="root"></div><script type="module" src="page.js"></script>'],
  '/page.js': ['text/javascript', built('.js')],
  '/page.css': ['text/css', built('.css')],
  '/task': ['application/json', JSON.stringify(task)],
};
const server = createServer(async (request, response) => {
  const file = files[request.url];
  if (file) {
    response.writeHead(200, { 'content-type': file[0] }).end(file[1]);
  } else if (request.url.startsWith('/api/')) { // the page may only ask its own origin
    try {
      const answer = await fetch(new URL(request.url, given.prometheus));
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    } catch (error) {
      response.writeHead(502).end(JSON.stringify({ status: 'error', error: String(error) }));
    }
  } else {
    response.writeHead(404).end();
  }
});
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });

const browser = await chromium.launch({ executablePath: installed(), args: ['--no-sandbox'] });
let failed = true;
try {
  const page = await browser.newPage({ viewport: { width: task.width, height: 900 } });
  page.on('pageerror', (error) => console.error(`page: ${error.message}`));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction('globalThis.report', null, { timeout: 240_000 });
  // Tables draw the lines that are on the screen only.
  await page.setViewportSize({ width: task.width, height: await page.evaluate('document.documentElement.scrollHeight') });
  await page.waitForTimeout(2000);
  const report = await page.evaluate('globalThis.report');
  await page.screenshot({ path: given.out, fullPage: true });
  for (const line of report) console.log([line.state, line.type, line.title, line.note].join('\t'));
  failed = report.some((line) => line.state === 'failed');
} catch (error) {
  console.error(String(error));
}
await browser.close();
server.close();
process.exit(failed ? 1 : 0);

// installed is the path of the Chromium that test/install/chromium.sh sees to.
function installed() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return execFileSync('sh', ['-c', names.map((name) => `command -v ${name}`).join(' || ')], { encoding: 'utf8' }).trim();
}
