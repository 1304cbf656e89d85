// Scenarios of the section Referrals of the portal: a support agent answers why a user has
// no reward, and decides about referrals with signs of fraud.
import { readFileSync } from 'node:fs';

import { asOwner, checkLooks, views } from './portalpage.mjs';

const section = '/portal/t/demo/referrals';

/** Lets Anna refer paying users who have her name, which is a sign of fraud. */
async function refer({ call }, ids) {
  const body = (value) => JSON.stringify(value);
  const program = { sharing: { url: 'http://127.0.0.1/welcome' }, rewards: { referrer: { type: 'CREDIT', credit: 1000, currency: 'USD' } }, fraud: { handling: 'PENDING' } };
  await call('/api/v1/demo/programs/classic', { method: 'PUT', body: body(program) });
  for (const id of ids) {
    const user = { firstName: 'Anna', lastName: 'Ahrens', email: `${id}@friend.example`, referredBy: { code: 'ANNA10' }, account_status: 'PAID' };
    await call(`/api/v1/demo/open/account/${id}/user/${id}`, { method: 'PUT', body: body(user) });
  }
}

/** "Why did I not get my reward?", then one approval. All with the keyboard. */
export async function answering(world) {
  const { assert } = world;
  await refer(world, ['ray']);
  const page = await asOwner(world, '/portal/t/demo/members');
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.waitForURL(/\/referrals$/);
  await page.getByRole('heading', { name: 'Referrals', exact: true }).waitFor();
  let asked = 0;
  page.on('request', (request) => { asked += request.url().includes('person=ray'); });
  await page.keyboard.press('/');
  await page.keyboard.type('ray@friend.example');
  await page.keyboard.press('Enter');
  await page.waitForURL(/person=ray%40friend\.example/);
  await page.keyboard.press('Tab'); // leaves the field
  await page.getByRole('link', { name: 'Anna Ahrens → Anna Ahrens' }).focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByText('$10.00 is held until the referral is approved or denied. Signs of fraud: Referrer and referred have the same name.').first().waitFor();
  assert.equal(asked, 1, 'Enter sends the filter once');
  await page.getByText('It was the first valid code of the account, and the first code is final.').waitFor();
  await page.getByRole('button', { name: 'Approve…' }).press('Enter');
  await page.getByText('Referrer: $10.00 is released').waitFor();
  await page.getByRole('button', { name: 'Approve the referral' }).press('Enter');
  await page.getByRole('link', { name: 'The reason is required; write in a few words why you do this.' }).press('Enter');
  await page.waitForFunction(() => document.activeElement.matches('textarea, input'));
  await page.keyboard.type('Father and daughter');
  await page.keyboard.press('Enter');
  await page.getByText('Rewards that were held are given at once').waitFor();
  await page.getByText('and has not used it yet').first().waitFor();
  await page.getByText('Father and daughter').waitFor();
  await page.waitForURL((url) => url.search === ''); // the message is not shown again
}

/** Several pending referrals are denied together, and a reward is cancelled. */
export async function deciding(world) {
  const { assert, eventually } = world;
  await refer(world, ['sam', 'sue', 'tom']);
  const page = await asOwner(world, section + '?moderation=PENDING');
  // The time of a referral is in the visitor's zone and language.
  await page.getByLabel('State').selectOption('converted');
  await page.waitForURL(/state=converted/);
  const boxes = page.getByRole('checkbox', { name: /^Choose / });
  const pending = await boxes.count();
  assert.ok(pending >= 3, `${pending} are pending`);
  await boxes.nth(0).check();
  await boxes.nth(1).check();
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('heading', { name: 'Deny 2 referrals?' }).waitFor();
  await page.getByLabel('Reason').fill('One person');
  await page.getByRole('button', { name: 'Deny 2 referrals' }).click();
  await page.getByText('What was left of the rewards is cancelled.').waitFor();
  await eventually(async () => assert.equal(await page.getByRole('checkbox', { name: /^Choose / }).count(), pending - 2));
  await page.getByRole('link', { name: 'Anna Ahrens → Anna Ahrens' }).first().click();
  await page.getByRole('link', { name: /^Cancel…/ }).click();
  await page.getByText('$10.00 is cancelled at once and for good').waitFor();
  await page.getByLabel('Reason').fill('Paid in cash');
  await page.getByRole('button', { name: 'Cancel the reward' }).click();
  await page.getByText('with the reason: Paid in cash.').waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.goto(world.portal + section + '?moderation=DENIED').then(() => page.getByRole('button', { name: 'Download CSV' }).click()),
  ]);
  const lines = readFileSync(await file.path(), 'utf8').trim().split('\n');
  assert.equal(lines.length, 3, lines.join('\n'));
}

/** The list and the page of a referral work without scripts. */
export async function withoutScripts(world) {
  const { assert } = world;
  await refer(world, ['uma']);
  const page = await asOwner(world, section, { javaScriptEnabled: false });
  await page.getByLabel('E-mail, name or id').fill('uma@friend');
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('link', { name: 'Anna Ahrens → Anna Ahrens' }).click();
  assert.match(await page.locator('.timeline').innerText(), /\d UTC/);
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByLabel('Reason').fill('One person');
  await page.getByRole('button', { name: 'Deny the referral' }).click();
  await page.getByText('the referral was denied').first().waitFor();
}

/** In light and dark, wide and on a phone: axe finds nothing serious, nothing is cut off. */
export async function looks(world) {
  await refer(world, ['a-user-with-a-very-long-id-that-does-not-fit-into-a-column-of-a-table']);
  for (const { name, options } of views) {
    const page = await asOwner(world, section, options);
    const link = page.getByRole('link', { name: 'Anna Ahrens → Anna Ahrens' }).first();
    const id = (await link.getAttribute('href')).split('/').pop();
    for (const path of ['', '?state=ended&code=NONE', '?from=x', '/' + id, '/moderate?action=DENIED&referral=' + id]) {
      await page.goto(world.portal + section + path);
      await checkLooks(world, page, `referrals${path}-${name}`);
    }
  }
}
