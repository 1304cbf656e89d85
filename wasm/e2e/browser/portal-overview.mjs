// Scenarios of the overview of the portal: from a tenant without figures to a conversion in
// the chart. They run in this order, on one tenant.
import { asOwner, checkLooks, views } from './portalpage.mjs';

const overview = '/portal/t/demo/overview';

/** The text of a figure of the funnel. */
async function figure(page, label) {
  return page.locator('.funnel li', { hasText: label }).first().locator('.figure').first().textContent();
}

/** A new tenant says how to begin. Its share link counts a visit, and friends are counted. */
export async function beginning(world) {
  const { assert, call, eventually, visitor } = world;
  const page = await asOwner(world, overview);
  await page.getByRole('heading', { name: 'No visits and no referrals yet' }).waitFor();
  const link = await page.getByLabel('Share link').inputValue();
  const friend = await visitor();
  await friend.goto(link + '?rsShareMedium=SMS');
  await eventually(async () => {
    await page.reload();
    assert.equal(await figure(page, 'Visits'), '1');
  });
  assert.equal(await page.getByRole('heading', { name: 'No visits and no referrals yet' }).count(), 0);
  await call('/api/v1/demo/open/account/frida/user/frida', { method: 'PUT', body: JSON.stringify({ accountId: 'frida', id: 'frida', firstName: 'Frida' }) });
  await call('/api/v1/demo/accountsync', {
    method: 'POST',
    body: JSON.stringify({ id: 'frida', subscription: { status: 'PAID' }, referral: { code: 'ANNA10' } }),
  });
  await page.reload();
  assert.equal(await figure(page, 'Joined'), '1');
  assert.equal(await figure(page, 'Converted'), '1');
  assert.match(await page.getByRole('heading', { name: 'Top referrers' }).locator('xpath=../..').textContent(), /Anna Ahrens\s+1\s+1\s+1/);
}

/** Every filter is in the URL, so that the same page can be opened again. */
export async function filtering(world) {
  const { assert } = world;
  const page = await asOwner(world, overview);
  await page.getByLabel('Share medium').selectOption({ label: 'Facebook' });
  await page.waitForURL(/medium=FACEBOOK/);
  await page.getByText('All programs and media').waitFor();
  assert.equal(await figure(page, 'Visits'), '0');
  await page.getByLabel('Share medium').selectOption({ label: 'SMS' });
  await page.waitForURL(/medium=SMS/);
  await page.locator('.funnel .figure', { hasText: /^1$/ }).first().waitFor();
  await page.locator('.funnel a').first().click();
  await page.waitForURL(/show=visits/);
  await page.getByRole('heading', { name: 'Visits by day' }).waitFor();
  await page.locator('#chart canvas').waitFor();
  await page.getByRole('link', { name: 'Last 90 days' }).click();
  await page.waitForURL(/period=90d/);
  const url = page.url();
  for (const part of ['medium=SMS', 'show=visits', 'period=90d']) assert.ok(url.includes(part), url);
  await page.goto(url);
  await page.getByRole('heading', { name: 'Visits by day' }).waitFor();
  assert.equal(await page.getByLabel('Share medium').inputValue(), 'SMS');
  await page.getByRole('link', { name: 'Own dates' }).click();
  await page.waitForURL(/period=dates/); // and until its scripts have run
  await page.getByLabel('From', { exact: true }).fill('2126-01-02');
  await page.getByRole('alert').getByText('The last day is before the first one; choose a later one.').waitFor();
  // A person who does not wait for the answer loses nothing.
  let release;
  const released = new Promise((resolve) => { release = resolve; });
  await page.route(/from=2026-01-02/, async (route) => { await released; await route.continue(); });
  await page.getByLabel('From', { exact: true }).fill('2026-01-02');
  await page.waitForFunction(() => document.querySelector('.overview-filter.htmx-request'));
  await page.getByLabel('To', { exact: true }).fill('2026-01-03');
  release();
  await page.getByText('Jan 2, 2026 to Jan 3, 2026').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
}

/** Numbers, amounts and days are written as in the visitor's language, also in a part that a filter has replaced. */
export async function languages(world) {
  const { assert } = world;
  const page = await asOwner(world, overview, { locale: 'de-DE' });
  await page.goto(world.portal + overview + '?period=dates&from=2026-01-02&to=2026-01-03');
  await page.getByText('02.01.2026 to 03.01.2026').waitFor();
  await page.getByRole('link', { name: 'Last 30 days' }).click();
  await page.waitForURL(/period=30d/);
  assert.equal(await figure(page, 'Reward cost'), new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'USD' }).format(10));
  await page.getByLabel('Share medium').selectOption({ label: 'SMS' });
  await page.waitForURL(/medium=SMS/);
  await page.getByText('All programs and media').waitFor();
  assert.deepEqual(await page.locator('.was').allInnerTexts(), ['0 before', '0 before', '0 before']);
}

/** The chart is read by keyboard, in both themes, on a phone, and does not move the page. */
export async function reading(world) {
  const { assert, eventually } = world;
  for (const { name, options } of views) {
    const page = await asOwner(world, overview, options);
    await page.goto(world.portal + overview);
    await page.locator('#chart canvas').waitFor();
    await page.locator('#chart').focus();
    await page.keyboard.press('End');
    await eventually(async () => assert.match(await page.locator('#chart-point').textContent(), /: 1\. .*: 0$/));
    assert.ok(await page.locator('.chart-tip').isVisible());
    await page.keyboard.press('ArrowLeft');
    await eventually(async () => assert.match(await page.locator('#chart-point').textContent(), /: 0\. .*: 0$/));
    await page.keyboard.press('Escape');
    await page.locator('.chart-tip').waitFor({ state: 'hidden' });
    await checkLooks(world, page, `overview-${name}`);
  }
}

/** Without scripts the filter is a form, and the numbers are a table. */
export async function withoutScripts(world) {
  const { assert } = world;
  const page = await asOwner(world, overview, { javaScriptEnabled: false });
  await page.getByLabel('Share medium').selectOption({ label: 'SMS' });
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/medium=SMS/);
  assert.equal(await figure(page, 'Visits'), '1');
  await page.getByText('The numbers as a table').click();
  await page.getByRole('columnheader', { name: 'Day' }).waitFor();
  assert.equal(await page.locator('#chart').isVisible(), false);
}
