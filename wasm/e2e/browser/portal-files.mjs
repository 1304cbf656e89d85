// Scenarios of the section Imports and exports of the portal: a file is imported and its
// rejected row corrected, progress survives a reload, and files are exported.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { asOwner, checkLooks, views } from './portalpage.mjs';

const folder = mkdtempSync(join(tmpdir(), 'kith-files-'));
const section = '/portal/t/demo/files';

/** Writes a file of users, of whom those in wrong have no mail address, and returns its path. */
function users(name, count, wrong = []) {
  const rows = ['accountId,id,firstName,email'];
  for (let i = 1; i <= count; i++) rows.push(`${name}-${i},${name}-${i},Ada,${wrong.includes(i) ? 'ada at example' : `${name}${i}@example.com`}`);
  const path = join(folder, name + '.csv');
  writeFileSync(path, rows.join('\n') + '\n');
  return path;
}

/** Chooses a file and sends it. */
async function send(page, path, kind = 'Users') {
  await page.getByLabel(kind, { exact: true }).check();
  await page.getByLabel('File', { exact: true }).setInputFiles(path);
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByRole('heading', { name: 'Check the file' }).waitFor();
}

/** A person imports users, understands a rejected row, corrects it and imports it. */
export async function rejectedRow(world) {
  const { assert } = world;
  const page = await asOwner(world, section);
  await page.getByRole('link', { name: 'Import a file', exact: true }).click();
  // The sample says which columns there are.
  const [sample] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Sample file of Users' }).click()]);
  assert.match(readFileSync(await sample.path(), 'utf8'), /^accountId,id,firstName,/);
  // A damaged workbook is refused with a way out.
  const book = join(folder, 'book.xlsx');
  writeFileSync(book, 'PK\x03\x04' + 'x'.repeat(100));
  await page.getByLabel('File', { exact: true }).setInputFiles(book);
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByRole('alert').getByText('is a workbook that is incomplete or damaged; save it again in Excel').waitFor();

  await send(page, users('shop', 1200, [7, 800]));
  await page.getByRole('heading', { name: '2 rows of 1,200 have problems' }).waitFor();
  const row = page.getByRole('row').filter({ hasText: 'ada at example' }).first();
  assert.deepEqual(await row.getByRole('cell').allInnerTexts(), ['8', 'email', 'ada at example', 'must be an e-mail address; give one such as name@example.com, or leave it out']);
  await page.getByRole('button', { name: 'Import 1,198 rows and leave 2 out' }).click();
  await page.getByRole('heading', { name: '1,198 rows imported, 2 rejected' }).waitFor();

  const [rejected] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the rejected rows' }).click()]);
  const text = readFileSync(await rejected.path(), 'utf8');
  assert.match(text, /^accountId,id,firstName,email,kithProblem\nshop-7,shop-7,Ada,ada at example,"column email: must be/);
  const corrected = join(folder, 'corrected.csv');
  writeFileSync(corrected, text.replaceAll('ada at example', 'ada@example.com'));
  await page.getByRole('link', { name: 'Choose the corrected file' }).click();
  await send(page, corrected);
  await page.getByRole('heading', { name: '2 rows, and no problems' }).waitFor();
  await page.getByRole('button', { name: 'Import 2 rows', exact: true }).click();
  await page.getByRole('heading', { name: '2 rows imported', exact: true }).waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Imports and exports' }).click();
  await page.getByRole('row').filter({ hasText: 'corrected.csv' }).getByText('Done', { exact: true }).waitFor();
}

/** The progress of an import survives a reload, and the import can be stopped. */
export async function progress(world) {
  const { assert, eventually } = world;
  const page = await asOwner(world, section + '/import');
  // The file is sent in pieces of 4 MiB. One fails, and is sent again.
  let pieces = 0;
  await page.route('**/files/pieces', (route) => (++pieces === 2 ? route.abort() : route.continue()));
  await send(page, users('many', 300_000));
  assert.ok(pieces >= 4, pieces + ' pieces');
  // A slow machine checks only the rows that it can read within 4 seconds.
  await page.getByRole('heading', { name: /^(300,000 rows, and no problems|No problems in the first [\d,]+ rows)$/ }).waitFor();
  await page.getByRole('button', { name: /^Import (300,000 rows|the file)$/ }).click();
  const rows = async () => Number((await page.locator('#progress [role=status] strong').innerText()).replaceAll(',', ''));
  await eventually(async () => assert.ok((await rows()) > 0));
  await page.getByText(/rows a second, about .* left/).waitFor();
  const before = await rows();
  await page.reload();
  assert.ok((await rows()) >= before, 'progress survives a reload');
  await eventually(async () => assert.ok((await rows()) > before, 'the page shows progress by itself'));
  // Another visitor sees the same, without scripts.
  const other = await asOwner(world, new URL(page.url()).pathname, { javaScriptEnabled: false });
  assert.match(await other.locator('#progress').innerText(), /of 300,000 rows, \d+ %/);
  const watcher = await asOwner(world, new URL(page.url()).pathname);
  await page.getByText('Stop the import').click();
  await page.getByRole('button', { name: 'Yes, stop it' }).click();
  for (const one of [page, watcher]) await one.getByText(/stopped by owner@.*; rows after row \d+ were not processed/).waitFor();
  await page.getByRole('button', { name: 'Imported rows' }).waitFor();
}

/**
 * A file that is too large for one answer of the edge is fetched in parts, one of them again,
 * and arrives as it was sent.
 */
export async function largeDownload(world) {
  const { assert, call } = world;
  const path = join(folder, 'large.csv');
  const rows = ['accountId,id,firstName'];
  for (let i = 0; i < 800; i++) rows.push(`large-${i},large-${i},${randomBytes(30_000).toString('hex')}`); // too long for a name
  rows.push('large-800,large-800,Ada');
  writeFileSync(path, rows.join('\n') + '\n');
  assert.ok(statSync(path).size > 40 << 20);
  const page = await asOwner(world, section + '/import');
  await send(page, path);
  await page.getByRole('button', { name: /^Import / }).click();
  await page.getByRole('heading', { name: /800 rejected/ }).waitFor();
  let parts = 0;
  await page.route('**/download?*', (route) => (++parts === 3 ? route.abort() : route.continue()));
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'The imported file' }).click()]);
  const hash = (name) => createHash('sha256').update(readFileSync(name)).digest('hex');
  assert.equal(hash(await file.path()), hash(path));
  assert.match(file.suggestedFilename(), /\.csv$/);
  assert.ok(parts >= 6, parts + ' parts');
  await page.getByText('48.0 MB. The file is in your downloads.').waitFor();
  const { entries } = await call('/api/v1/demo/audit?action=file.downloaded&subject=large.csv');
  assert.equal(entries.length, 1, 'one entry in the audit log');
}

/** A small file is imported and a list exported without scripts. */
export async function withoutScripts(world) {
  const { assert } = world;
  const page = await asOwner(world, section + '/import', { javaScriptEnabled: false });
  await send(page, users('plain', 5, [2]));
  await page.getByRole('button', { name: 'Import 4 rows and leave 1 out' }).click();
  await page.getByRole('heading', { name: '4 rows imported, 1 rejected' }).waitFor();
  await page.goto(world.portal + section + '/export');
  await page.getByRole('link', { name: /^Users All users/ }).click();
  await page.getByLabel('Format').selectOption('CSV');
  await page.getByRole('button', { name: 'Start the export' }).click();
  await page.getByText('It took').waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the CSV file' }).click()]);
  assert.match(readFileSync(await file.path(), 'utf8'), /plain-5,plain-5,plain5@example\.com/);
}

/** Each page in light and dark, wide and on a phone. */
export async function looks(world) {
  const first = await asOwner(world, section + '/import');
  await send(first, users('looks', 3, [2]));
  const check = new URL(first.url()).pathname + new URL(first.url()).search;
  await first.getByRole('button', { name: /^Import 2 rows/ }).click();
  await first.getByRole('heading', { name: '2 rows imported, 1 rejected' }).waitFor();
  const job = new URL(first.url()).pathname;
  const pages = {
    history: section, 'history-empty': '/portal/t/test_demo/files', import: section + '/import', check, job, exports: section + '/export',
    export: section + '/export/REWARD', sftp: section + '/sftp',
  };
  for (const { name: view, options } of views) {
    const page = await asOwner(world, section, options);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(world.portal + path);
      await checkLooks(world, page, `files-${name}-${view}`);
    }
  }
}
