// Scenarios of the section People: a member finds a friend, sees why the friend got no
// referrer, attributes the friend by hand, gives a reward, and answers requests about data.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { asOwner, checkLooks, views } from './portalpage.mjs';

const people = '/portal/t/demo/people';

/** Calls the API as the shop's server does. */
async function send({ portal, key }, method, path, body) {
  const answer = await fetch(`${portal}/api/v1/demo/${path}`, {
    method, body: JSON.stringify(body), headers: { authorization: 'Basic ' + btoa(':' + key), 'content-type': 'application/json' },
  });
  assert.ok(answer.ok, await answer.text());
}

/** Identifies a user as the shop's server does. */
function identify(world, account, user, body) {
  return send(world, 'PUT', `open/account/${encodeURIComponent(account)}/user/${encodeURIComponent(user)}`, body);
}

/** From a search to a referrer, a reward and an event, each with a visible trace. */
export async function helping(world) {
  await identify(world, 'frida/1', 'frida ä', { firstName: 'Frida', lastName: 'Falk', email: 'frida@example.com', referredBy: { code: 'NOPE' } });
  const page = await asOwner(world, people);
  await page.getByRole('searchbox', { name: 'Search' }).pressSequentially('fal');
  const row = page.getByRole('row').filter({ hasText: 'Frida Falk' });
  await row.waitFor();
  await page.waitForURL('**/people?search=fal');
  await row.getByRole('link', { name: 'Frida Falk' }).click();
  await page.getByRole('heading', { name: 'Frida Falk', level: 1 }).waitFor();
  await page.getByText('No user has this code.').waitFor();
  await page.getByRole('link', { name: 'Attribute by hand', exact: true }).click();
  await page.getByRole('button', { name: 'Attribute', exact: true }).click();
  await page.getByRole('alert').getByText('The reason is required').waitFor();
  await page.getByLabel('Code of the referrer').fill('anna10');
  await page.getByLabel('Reason').fill('Anna called us');
  await page.getByRole('button', { name: 'Attribute', exact: true }).click();
  await page.getByText('The user is attributed.').waitFor();
  await page.getByText('Reason: Anna called us').waitFor();
  await page.getByRole('link', { name: 'Anna Ahrens' }).waitFor();
  await page.getByRole('link', { name: 'Add a reward' }).click();
  await page.getByLabel('Amount').fill('12.50');
  await page.getByLabel('Currency').fill('eur');
  await page.getByLabel('Reason').fill('The parcel was late');
  // A double click sends the form twice, and gives the reward once.
  await page.getByRole('button', { name: 'Add the reward' }).dblclick();
  await page.getByText('The reward is added.').waitFor();
  await page.getByText('€12.50').first().waitFor();
  assert.equal(await page.locator('#rewards tbody tr').count(), 1);
  await page.getByRole('link', { name: 'Add an event' }).click();
  await page.getByLabel('Name of the event').fill('purchase');
  await page.getByLabel('Revenue').fill('49.90');
  await page.getByLabel('Currency').fill('EUR');
  await page.getByRole('button', { name: 'Add the event' }).click();
  await page.getByText('The event is accepted.').waitFor();
  await world.eventually(async () => {
    await page.reload();
    assert.match(await page.locator('#events').innerText(), /purchase/);
  });
  await page.locator('#links').getByText('Links for each medium').first().click();
  await page.getByLabel('Share link for WhatsApp').first().waitFor();
  assert.match(await page.getByLabel('Share link for WhatsApp').first().inputValue(), /\/s\/demo\/\w+\?rsShareMedium=WHATSAPP$/);
}

/** A user is blocked, which holds the reward, unblocked, exported and erased. */
export async function leaving(world) {
  await identify(world, 'gustav', 'gustav', { firstName: 'Gustav', email: 'gustav@example.com' });
  await send(world, 'POST', 'rewards/account/gustav/user/gustav', { type: 'CREDIT', unit: 'CENTS', currency: 'EUR', assignedCredit: 500 });
  const page = await asOwner(world, people + '/gustav/gustav');
  await page.getByRole('link', { name: 'Block', exact: true }).click();
  await page.getByText('No referral is in progress. €5.00 available.').waitFor();
  assert.ok(await page.getByRole('radio', { name: 'Hold them' }).isChecked());
  await page.getByLabel('Reason').fill('fake friends');
  await page.getByRole('button', { name: 'Block the user' }).click();
  await page.getByText('The user is blocked, and').waitFor();
  await page.getByText('; the rewards are held').waitFor();
  await page.getByText('It is held until the user is unblocked.').waitFor();
  await page.getByRole('link', { name: 'Unblock', exact: true }).click();
  await page.getByText('The rewards that the block held are given back.').waitFor();
  await page.getByLabel('Reason').fill('real friends');
  await page.getByRole('button', { name: 'Unblock the user' }).click();
  await page.getByText('The user may refer others again.').waitFor();
  await page.getByText('It is held until the user is unblocked.').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Export or erase' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download the data' }).click()]);
  const data = JSON.parse(readFileSync(await download.path(), 'utf8'));
  assert.equal(data.user, 'gustav');
  await page.getByLabel('Id of the user').fill('gustavo');
  await page.getByRole('button', { name: 'Erase the user' }).click();
  await page.getByRole('alert').getByText('is not the id of this user').waitFor();
  await page.getByLabel('Id of the user').fill('gustav');
  await page.getByRole('button', { name: 'Erase the user' }).click();
  await page.getByText('The user is erased.').waitFor();
  await page.goto(world.portal + people + '?search=gustav');
  await page.getByText('No person found').waitFor();
}

/** All pages fit 360 px and have no serious finding of axe, in light and dark. */
export async function looks(world) {
  for (const { name, options } of views) {
    const page = await asOwner(world, people, options);
    for (const path of ['', '/anna/anna', '/anna/anna/reward', '/anna/anna/event', '/anna/anna/referrer', '/anna/anna/block', '/anna/anna/data']) {
      await page.goto(world.portal + people + path);
      await checkLooks(world, page, `people${path}-${name}`);
    }
    await page.context().close();
  }
}

/** The search and a form work without scripts. */
export async function withoutScripts(world) {
  const page = await asOwner(world, people, { javaScriptEnabled: false });
  await page.getByRole('searchbox', { name: 'Search' }).fill('ahr');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('link', { name: 'Anna Ahrens' }).click();
  await page.getByRole('link', { name: 'Add a reward' }).click();
  await page.getByLabel('Amount').fill('7');
  await page.getByLabel('Unit').fill('POINTS');
  await page.getByLabel('Reason').fill('thanks');
  await page.getByRole('button', { name: 'Add the reward' }).click();
  await page.getByText('7 POINTS').first().waitFor();
}
