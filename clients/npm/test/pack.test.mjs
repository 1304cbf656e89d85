// What npm would publish: its files, and that the packed package can be installed and imported.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, test } from 'node:test';

const top = resolve(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname), '..');
const folder = mkdtempSync(join(tmpdir(), 'kith-pack-'));
after(() => rmSync(folder, { recursive: true }));
const run = (cwd, command, ...args) => execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const packed = Object.values(JSON.parse(run(top, 'npm', 'pack', '--json', '--pack-destination', folder)))[0];

test('the package has the built files, their types, the license and nothing else', () => {
  const modules = ['call', 'code', 'error', 'generated/operations', 'generated/schema', 'headers', 'index', 'react', 'server', 'token', 'types', 'webhook'];
  const files = ['LICENSE', 'README.md', 'package.json', ...modules.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`])];
  assert.deepEqual(packed.files.map((file) => file.path).sort(), files.sort());
  assert.ok(packed.size < 70_000, `${packed.size} bytes`);
});

/** The modules that a module imports, itself included. */
function closure(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, name] of readFileSync(join(top, 'dist', file), 'utf8').matchAll(/from '([^']+)'/g)) {
    if (name.startsWith('.')) closure(join(dirname(file), name), seen);
    else seen.add(name);
  }
  return seen;
}

test('what pages import has no module of servers', () => {
  for (const entry of ['index.js', 'react.js']) {
    assert.deepEqual([...closure(entry)].filter((name) => /^node:|server|token|webhook/.test(name)), [], entry);
  }
  assert.deepEqual([...closure('react.js')].filter((name) => !name.endsWith('.js')), ['react']);
});

test('the packed package installs without network, and its entry points are imported', () => {
  const shop = mkdtempSync(join(folder, 'shop-'));
  writeFileSync(join(shop, 'package.json'), '{"type":"module"}');
  run(shop, 'npm', 'install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', join(folder, packed.filename));
  const imported = (name, ...flags) => run(shop, 'node', ...flags, '--input-type=module', '-e', `console.log(Object.keys(await import('${name}')).join(' '))`).trim();
  assert.equal(imported('@kith/client'), 'KithError createClient once');
  assert.match(imported('@kith/client/server'), /\bcreateServerClient\b.*\bverifyWebhook\b/);
  assert.throws(() => imported('@kith/client/server', '--conditions=browser'), /ERR_PACKAGE_PATH_NOT_EXPORTED/);
});
