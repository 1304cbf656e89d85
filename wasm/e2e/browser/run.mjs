// Runs scenarios in a headless Chromium: node run.mjs FILE SCENARIO…, with their
// parameters as JSON on standard input. Prints one line of JSON for each: its name, what
// it returns and, if an assertion failed or a page threw, the error. Names below .example resolve
// to this machine; other names do not resolve.
import { chromium } from 'playwright-core';
import assert from 'node:assert/strict';

const [file, ...names] = process.argv.slice(2);
let input = '';
for await (const chunk of process.stdin) input += chunk;
const params = JSON.parse(input);

/** Bounds every wait, in milliseconds. A scenario that passes never waits that long. */
const deadline = 120000;

const browser = await chromium.launch({
  timeout: deadline,
  executablePath: params.chromium,
  args: ['--no-sandbox', '--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
});

let errors = [];
let visitors = [];

/** Opens a page as a new visitor. An error in the page fails the scenario. */
async function visitor(options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(deadline);
  visitors.push(context);
  const page = await context.newPage();
  // An action ends when the page to which it leads is complete, not only begun.
  const frame = page.mainFrame();
  for (const action of ['click', 'dblclick', 'press']) {
    const act = frame[action].bind(frame);
    frame[action] = async (...args) => {
      await act(...args);
      await frame.waitForLoadState('domcontentloaded');
    };
  }
  page.on('pageerror', (error) => errors.push(String(error.stack || error)));
  return page;
}

/** Tries until the check passes or the deadline has passed. */
async function eventually(check) {
  const end = Date.now() + deadline;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A call with the API key; the answer's JSON. */
async function call(path, options) {
  const answer = await fetch(params.backend + path, {
    ...options,
    headers: { authorization: 'Basic ' + btoa(':' + params.key), 'content-type': 'application/json' },
  });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

const scenarios = await import(`./${file}.mjs`);
try {
  for (const name of names) {
    let error, result;
    errors = [];
    try {
      assert.equal(typeof scenarios[name], 'function', `${file}.mjs has no scenario ${name}`);
      result = await scenarios[name]({ visitor, eventually, call, assert, errors, ...params });
      assert.deepEqual(errors, [], 'a page threw');
    } catch (e) {
      error = [e.stack, ...errors].join('\n');
    }
    console.log(JSON.stringify({ name, error, result }));
    await Promise.all(visitors.splice(0).map((context) => context.close()));
  }
} finally {
  await browser.close();
}
