// Scenarios of the page of the gateway for a tenant that moves from Braintree to Stripe: the
// form refuses keys that cannot work, offers the Stripe lab that the process runs, names each permission that is missing, makes and
// verifies the webhook, and leaves nothing behind when it is disconnected.
import { asOwner, checkLooks, views } from './portalpage.mjs';

const section = '/portal/t/test_demo/integrations';

/** The tenant leaves Braintree, chooses Stripe, enters keys that cannot work, and connects the lab. */
export async function choosing(world) {
  const { assert, portal } = world;
  const page = await asOwner(world, section + '/gateway', { javaScriptEnabled: false });
  await page.locator('summary', { hasText: 'Disconnect Braintree' }).click();
  await page.getByRole('button', { name: 'Yes, disconnect it' }).click();
  await page.getByText('The gateway is disconnected').waitFor();
  await page.getByRole('link', { name: 'Connect Stripe' }).click();
  await page.getByText('Promotion Codes').waitFor();
  assert.match(await page.getByRole('link', { name: /API keys in Stripe/ }).getAttribute('href'), /^https:\/\/dashboard\.stripe\.com\/test\//);
  const lab = page.getByLabel('The Stripe lab that this process runs');
  assert.ok(await lab.isChecked());
  await page.getByLabel('Stripe', { exact: true }).check();
  for (const [key, problem] of [['', 'is required'], ['pk_test_51abc', 'must be a restricted key of Stripe'], ['rk_live_51abc', 'is a live key, and this tenant is a test tenant']]) {
    await page.getByLabel('Restricted key').fill(key);
    await page.getByLabel('The balance of the customer').check();
    await page.getByRole('button', { name: 'Connect Stripe' }).click();
    await page.getByRole('alert').getByText(problem).waitFor();
    assert.equal(await page.getByLabel('Restricted key').inputValue(), '', 'the key is not in the answer');
    assert.ok(await page.getByLabel('The balance of the customer').isChecked(), 'the other choices are kept');
  }
  for (const { name: view, options } of views) {
    const looked = await asOwner(world, section + '/gateway', options);
    await checkLooks(world, looked, `stripe-choice-${view}`);
    await looked.goto(portal + section + '/gateway?kind=stripe');
    await checkLooks(world, looked, `stripe-form-${view}`);
  }
  await lab.check();
  await page.getByLabel('Restricted key').fill('rk_test_51abc');
  await page.getByRole('button', { name: 'Connect Stripe' }).click();
  await page.getByRole('alert').getByText('is not accepted by Stripe').waitFor();
  assert.ok(await lab.isChecked(), 'the choice is kept');
  await page.getByRole('button', { name: 'Connect Stripe' }).click();
  await page.getByText('Stripe is connected.').waitFor();
  await page.getByText('An event has arrived by the webhook').waitFor();
  assert.equal(await page.locator('#checklist .mark.bad').count(), 0);
}

/** A key lacks a permission; the corrected one has it, and the test event arrives. */
export async function connecting(world) {
  const { assert, portal, stripeKey } = world;
  const page = await asOwner(world, section + '/gateway');
  await page.getByText('Coupons: Write', { exact: false }).first().waitFor();
  await page.locator('#checklist').getByText('set Coupons to Write').waitFor();
  await page.getByLabel('Restricted key').fill(stripeKey);
  await page.getByLabel('The balance of the customer').check();
  await page.getByLabel('Count tax as revenue').check();
  await page.getByRole('button', { name: 'Save and check' }).click();
  await page.getByText('Stripe is connected.').waitFor();
  await page.locator('#checklist').getByText('It arrived on').waitFor();
  assert.equal(await page.locator('#checklist .mark.bad').count(), 0);
  assert.ok(!(await page.content()).includes(stripeKey), 'the key is not shown');
  assert.ok(await page.getByLabel('Count tax as revenue').isChecked());
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText('A test event was sent').waitFor();
  await page.goto(portal + section + '/gateway');
  await page.getByRole('link', { name: 'All notifications' }).click();
  await page.getByRole('heading', { name: 'Notifications of Stripe' }).waitFor();
}

/** The secret of the webhook is replaced; the former one stays valid for a time. */
export async function rolling(world) {
  const { assert, portal } = world;
  const page = await asOwner(world, section + '/gateway');
  const secrets = page.locator('section', { has: page.getByRole('heading', { name: 'Secret of the webhook' }) }).getByRole('listitem');
  assert.equal(await secrets.filter({ hasText: 'in use' }).count(), 1);
  const before = await secrets.filter({ hasText: 'valid until' }).count();
  await page.locator('summary', { hasText: 'Replace the secret' }).click();
  await page.getByRole('button', { name: 'Yes, replace it' }).click();
  await page.getByText('The webhook endpoint is replaced').waitFor();
  assert.equal(await secrets.filter({ hasText: 'valid until' }).count(), before + 1);
  assert.equal(await page.locator('#checklist .mark.bad').count(), 0);
  await page.goto(portal + '/portal/t/test_demo/audit');
  const log = await page.locator('main').innerText();
  assert.match(log, /New secret/);
  assert.ok(!log.includes(world.stripeKey), 'the key is not in the log');
  assert.doesNotMatch(log, /whsec_\w{5}/, 'the secret is not in the log');
  for (const { name: view, options } of views) {
    const looked = await asOwner(world, section + '/gateway/check', options);
    await checkLooks(world, looked, `stripe-checked-${view}`);
    await looked.goto(portal + section);
    await checkLooks(world, looked, `stripe-integrations-${view}`);
  }
}

/** Stripe keeps nothing of a connection that was ended. */
export async function leaving(world) {
  const { assert, stripeLab, secretKey } = world;
  const endpoints = async () => {
    const answer = await fetch(stripeLab + '/v1/webhook_endpoints', { headers: { authorization: 'Bearer ' + secretKey } });
    return (await answer.json()).data.length;
  };
  assert.equal(await endpoints(), 1);
  const page = await asOwner(world, section + '/gateway');
  await page.locator('summary', { hasText: 'Disconnect Stripe' }).click();
  await page.getByRole('button', { name: 'Yes, disconnect it' }).click();
  await page.getByText('The gateway is disconnected').waitFor();
  assert.equal(await endpoints(), 0);
}
