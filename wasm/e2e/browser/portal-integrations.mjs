// Scenarios of the section Integrations of the portal: an API key, a webhook with its test,
// the checklist of the gateway, consent, and each page as it looks.
import { asOwner, checkLooks, views } from './portalpage.mjs';

const section = '/portal/t/test_demo/integrations';

/** Calls the API with a key; the status of the answer. */
async function statusWith(portal, key) {
  const answer = await fetch(portal + '/api/v1/test_demo/code/NONE', { headers: { authorization: 'Basic ' + btoa(':' + key) } });
  return answer.status;
}

/** A key is created, replaced with an overlap and revoked; its secret is shown once. */
export async function keys(world) {
  const { assert, portal } = world;
  const page = await asOwner(world, section + '/keys');
  await page.getByLabel('Name', { exact: true }).fill('till 1');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByRole('alert').waitFor();
  assert.match(await page.title(), /^Error: /);
  await page.getByLabel('Name', { exact: true }).fill('till-1');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const first = await page.getByLabel('Secret of the key').inputValue();
  assert.match(first, /^TEST_[A-Z0-9]{40}$/, 'the secret is shown as it is');
  assert.equal(await statusWith(portal, first), 404, 'the key is valid: the code is unknown');
  await page.goto(portal + section + '/keys');
  assert.equal(await page.getByLabel('Secret of the key').count(), 0);
  await page.getByRole('link', { name: 'Manage till-1' }).click();
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  const second = await page.getByLabel('Secret of the key').inputValue();
  assert.notEqual(second, first);
  assert.equal(await statusWith(portal, first), 404, 'the old secret stays valid');
  assert.equal(await statusWith(portal, second), 404);
  await page.getByRole('link', { name: 'Manage till-1' }).click();
  await page.getByText('Revoke till-1').click();
  await page.getByRole('button', { name: 'Yes, revoke this key' }).click();
  await page.getByText('The API key is revoked').waitFor();
  assert.equal(await statusWith(portal, second), 401);
}

/** A webhook is subscribed and tested; the page shows the result without being loaded again. */
export async function webhook(world) {
  const { assert, portal, hook } = world;
  const page = await asOwner(world, section + '/webhooks');
  await page.getByLabel('URL').fill(hook);
  await page.getByLabel('reward.created').check();
  await page.getByRole('button', { name: 'Subscribe', exact: true }).click();
  assert.match(await page.getByLabel('Secret of the webhook').inputValue(), /^whsec_/);
  await page.getByText('Nothing sent yet').waitFor();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.waitForURL(/\/deliveries\/[0-9a-f]+$/);
  let loads = 0;
  page.on('load', () => loads++);
  await page.getByText('The endpoint has accepted the event').waitFor();
  assert.equal(loads, 0, 'htmx shows the result');
  await page.getByText('Answer 200').waitFor();
  assert.equal(await page.getByText('received <test>').count(), 1, 'the answer is text');
  await page.getByLabel('Payload').getByText('"type": "test"').waitFor();
  await page.goto(portal + section + '/webhooks');
  await page.getByText('Works').waitFor();
}

/** The checklist asks the gateway lab by itself, and shows the result. */
export async function gateway(world) {
  const { assert } = world;
  const page = await asOwner(world, section + '/gateway');
  await page.getByText('svc_discount').waitFor();
  assert.equal(await page.locator('#checklist .mark.good').count(), 3, 'stored, keys, discount');
  assert.match(await page.getByLabel('URL of the webhook').inputValue(), new RegExp('^' + world.portal + '/api/v1/test_demo/'));
  assert.equal(await page.getByLabel('Private key').inputValue(), '');
}

/** Consent is changed without scripts, and the page about storage follows. */
export async function consent(world) {
  const { assert, portal } = world;
  const page = await asOwner(world, section + '/website', { javaScriptEnabled: false });
  await page.getByLabel('Only after the visitor agrees').check();
  await page.locator('#consent').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: /cookie of your banner is required/i }).click();
  await page.getByLabel(/Cookie of your banner/).fill('agreed');
  await page.locator('#consent').getByRole('button', { name: 'Save' }).click();
  await page.getByText('The rule for consent is saved').waitFor();
  await page.getByRole('link', { name: 'What this configuration stores' }).click();
  await page.getByText('only after the visitor has agreed').waitFor();
  const answer = await fetch(portal + '/a/test_demo/consent');
  assert.deepEqual(await answer.json(), { consent: 'opt-in', consentCookie: 'agreed', cookieLife: 2592000000 });
}

/** Each page in light and dark, wide and on a phone. */
export async function looks(world) {
  const { portal, hook } = world;
  const first = await asOwner(world, section + '/webhooks');
  const one = new URL(await first.getByRole('link', { name: hook }).getAttribute('href'), portal).pathname;
  await first.goto(portal + one);
  const delivery = new URL(await first.locator('a[href*="/deliveries/"]').first().getAttribute('href'), portal).pathname;
  const pages = ['', '/keys', '/keys/default', '/webhooks', '/website', '/website/storage', '/gateway', '/gateway/notifications', '/pipeline'].map((p) => section + p);
  pages.push(one, delivery);
  for (const { name: view, options } of views) {
    const page = await asOwner(world, section, options);
    for (const path of pages) {
      await page.goto(portal + path, { waitUntil: 'networkidle' });
      await checkLooks(world, page, `${path}-${view}`);
    }
  }
}
