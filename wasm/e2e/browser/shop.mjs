// The demo shop of kith dev, by referrers and friends with a browser profile each.
import { readFileSync } from 'node:fs';

import { views, watchLayout } from './portalpage.mjs';
import { faint, picture } from './widget.mjs';

const axe = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** Opens a browser profile. A page whose policy refuses something fails the scenario. */
async function profile({ visitor, errors }, options) {
  const page = await visitor(options);
  page.on('console', (message) => message.text().includes('Content Security Policy') && errors.push(message.text()));
  return page;
}

let people = 0;

/** Fills in the sign-up form and sends it. */
async function signUp(page, name) {
  await page.fill('#name', name);
  await page.fill('#email', `${name.toLowerCase()}.${++people}@x.example`);
  await page.click('main form button');
}

/** Signs a referrer up; their page and their share link. */
async function referrer(t, name) {
  const page = await profile(t);
  await page.goto(t.shop + '/shop');
  await page.click('nav >> text=Sign up');
  await signUp(page, name);
  await page.waitForURL(t.shop + '/shop/account');
  return { page, link: await page.inputValue('#link') };
}

/** Opens the panel of a page; its decisions. */
async function decisions(page) {
  await page.click('#behind > summary');
  await page.waitForLoadState();
  return (await page.locator('.decisions li').allTextContents()).map((text) => text.replace(/^[\s✓·]+/, '').trim());
}

/** From the share link to the reward, and back by a return. */
export async function oneOff(t) {
  const { assert, shop, call, eventually } = t;
  const anna = await referrer(t, 'Anna');
  const code = anna.link.split('/').pop();
  assert.equal(anna.link, `${shop}/s/demo/${code}`);

  const bob = await profile(t, { permissions: ['clipboard-read', 'clipboard-write'] });
  await bob.goto(anna.link + '?rsShareMedium=FACEBOOK');
  assert.equal(bob.url().split('?')[0], shop + '/shop');
  assert.ok(!bob.url().includes('rsCode'), 'the code moved from the URL into the cookie');
  await bob.waitForSelector('#invite:not([hidden])');
  assert.match(await bob.textContent('#invite'), new RegExp(`A friend sent you by Facebook. Their code ${code} counts for your first order`));
  await bob.click('text=Buy the grinder');
  await eventually(async () => assert.equal(await bob.inputValue('#code'), code));
  await signUp(bob, 'Bob');
  assert.match(await bob.textContent('.bill'), /Grinder\$89.00/);
  assert.match(await bob.textContent('.bill .good'), /Friend’s discount, 10 %, code \w+−\$8.90/);
  await bob.click('text=Pay $93.41');
  await eventually(async () => assert.equal(await bob.textContent('h1'), 'Thank you, Bob'));
  const order = bob.url().split('/').pop();
  const reward = new RegExp('^Anna earns \\$8.01 of credit. The reward waits until \\w+ \\d+, \\d{4}, when the order can no longer be returned.$');
  let said = await decisions(bob);
  assert.deepEqual([said[0], said[1], said[3]], [`Attributed by the first code of the share link's cookie: ${code}.`, `Converted: purchase of 80.10 USD (order ${order}).`, 'The friend earns 10 % off. The reward is available.']);
  assert.match(said[2], reward);

  // The calls of the form are shown as they were made, and copied.
  const report = bob.locator('.call', { hasText: 'Report the order' });
  await report.locator('.copy:visible').click();
  const copied = () => bob.evaluate(() => navigator.clipboard.readText());
  await eventually(async () => assert.match(await copied(), /^curl 'http[^]*-u ':LIVE_DEMO_KEY_0123456789'[^]*"revenue":80.10/));
  await report.locator('role=tab[name="Go"]').click();
  assert.match(await report.locator('pre:visible').textContent(), /client.LogEvents\(ctx, "bob-\w+"/);
  await report.locator('role=tab[name="Go"]').press('ArrowRight');
  assert.match(await report.locator('pre:visible').textContent(), /await once\(kith.logEvents\(/);

  await anna.page.reload();
  assert.match(await anna.page.textContent('.columns section:nth-child(2)'), /Bob\s*bought: \$8.01 of credit from /);
  assert.match(await anna.page.frameLocator('iframe.widget').locator('body').innerText(), /\$8.01/);

  await bob.click('text=Return the order');
  assert.equal(await bob.textContent('h1'), 'The order is returned');
  said = await decisions(bob);
  assert.deepEqual(said.slice(2, 4), ['Returned: 80.10 of it, so that share of each reward is taken back.', 'Anna earned $8.01 of credit; the return took it back.']);
  await anna.page.reload();
  assert.match(await anna.page.textContent('.columns section:nth-child(2)'), /Bob\s*bought and returned it/);
  const { referrals } = await call('/api/v1/demo/referrals?limit=10');
  assert.deepEqual(referrals.map((r) => [r.state, r.shareMedium, r.programId]), [['converted', 'FACEBOOK', 'roastery']]);
}

/** A subscription converts when its trial ends and the gateway charges, and is cancelled. */
export async function trial(t) {
  const { assert } = t;
  const { link } = await referrer(t, 'Carla');
  const dan = await profile(t);
  await dan.goto(link);
  await dan.click('text=Start the trial');
  await signUp(dan, 'Dan');
  assert.match(await dan.textContent('.bill'), /Due in 14 days\$16.20/);
  await dan.click('text=Start the free trial');
  assert.equal(await dan.textContent('h1'), 'Your trial has begun');
  assert.deepEqual((await decisions(dan)).slice(1), ['The referral has not converted yet: the program waits for an order that counts.', 'Nothing is bought before the trial ends: the first charge is the purchase.']);
  await dan.click('text=Skip to the end of the trial');
  assert.equal(await dan.textContent('h1'), 'Your subscription is active');
  assert.match(await dan.textContent('.bill'), /Charged by the gateway, \S+\$16.20/);
  const said = await decisions(dan);
  assert.match(said[1], /^Converted: purchase of 16.20 USD/);
  assert.match(said[2], /^Carla earns \$1.62 of credit. The reward waits until /);
  await dan.click('text=Cancel the subscription');
  assert.equal(await dan.textContent('h1'), 'Your subscription is cancelled');
}

/** Pays at the checkout, and enters the code until Kith has made a promotion code of it. */
async function pay({ assert, eventually }, page, code) {
  await eventually(async () => {
    if (await page.locator('#promotion_code').count()) await page.fill('#promotion_code', code);
    await Promise.all([page.waitForNavigation(), page.click('main form button')]);
    assert.match(page.url(), /\/shop\/orders\//, await page.textContent('main'));
  });
}

/** With Stripe, the friend pays on its page, and Kith learns of everything by webhooks. */
export async function stripeOneOff(t) {
  const { assert, eventually } = t;
  const anna = await referrer(t, 'Lena');
  const bob = await profile(t);
  await bob.goto(anna.link);
  await bob.click('text=Buy the grinder');
  await signUp(bob, 'Max');
  assert.match(await bob.textContent('main'), /The checkout is a page of Stripe/);
  await bob.click('text=Go to the checkout');
  await bob.waitForURL('**/c/pay/*');
  await picture(bob, 'shop-stripe-checkout');
  await pay(t, bob, anna.link.split('/').pop());
  assert.equal(await bob.textContent('h1'), 'Thank you, Max');
  assert.match(await bob.textContent('.bill .good'), /Friend’s discount, 10 %/);
  await eventually(async () => {
    await bob.reload();
    assert.match((await decisions(bob)).join(' '), /Converted: purchase of 80.10 USD \(order pi_\w+\). Lena earns \$8.01 of credit/);
  });
  const calls = await bob.locator('#behind').textContent();
  for (const text of ['/v1/checkout/sessions', 'sc.V1CheckoutSessions.', 'stripe.checkout.sessions.']) assert.ok(calls.includes(text), `${text} is in no call: ${calls}`);
  await bob.click('text=Return the order');
  assert.equal(await bob.textContent('h1'), 'The order is returned');
  await eventually(async () => {
    await bob.reload();
    assert.match((await decisions(bob)).join(' '), /Lena earned \$8.01 of credit; the return took it back/);
  });
}

/** With Stripe, a subscription converts when its trial ends, and is cancelled. */
export async function stripeTrial(t) {
  const { assert, eventually } = t;
  const { link } = await referrer(t, 'Nora');
  const olaf = await profile(t, { viewport: { width: 360, height: 800 } });
  await olaf.goto(link);
  await olaf.click('text=Start the trial');
  await signUp(olaf, 'Olaf');
  await olaf.click('text=Go to the checkout');
  await olaf.waitForURL('**/c/pay/*');
  assert.ok(await olaf.evaluate(() => document.documentElement.scrollWidth) <= 360, 'the checkout is too wide');
  await pay(t, olaf, link.split('/').pop());
  assert.equal(await olaf.textContent('h1'), 'Your trial has begun');
  await picture(olaf, 'shop-stripe-trial-360');
  await olaf.click('text=Skip to the end of the trial');
  assert.equal(await olaf.textContent('h1'), 'Your subscription is active');
  assert.match(await olaf.textContent('.bill'), /Charged by the gateway, in_\w+\$16.20/);
  await eventually(async () => {
    await olaf.reload();
    assert.match((await decisions(olaf)).join(' '), /Converted: purchase of 16.20 USD .*Nora earns \$1.62 of credit/);
  });
  await picture(olaf, 'shop-stripe-active-360');
  await olaf.click('text=Cancel the subscription');
  assert.equal(await olaf.textContent('h1'), 'Your subscription is cancelled');
}

/** The shop works without a script, and attributes by the cookie. */
export async function withoutScript(t) {
  const { assert } = t;
  const { link } = await referrer(t, 'Erik');
  const fay = await profile(t, { javaScriptEnabled: false });
  await fay.goto(link + '?rsShareMedium=EMAIL');
  assert.match(await fay.textContent('main'), /A friend sent you by e-mail/);
  await fay.click('text=Buy the grinder');
  await signUp(fay, 'Fay');
  await fay.click('text=Pay $93.41');
  assert.match((await decisions(fay)).join(' '), /Attributed by the first code of the share link's cookie: \w+. Converted: purchase of 80.10 USD/);
}

/** What the shop refuses is said on the page, and a stranger sees no order of another. */
export async function refused(t) {
  const { assert, shop } = t;
  const { page } = await referrer(t, 'Gina');
  await page.goto(shop + '/shop/buy/grinder');
  assert.equal(await page.locator('.bill .good').count(), 0);
  // A form that is sent twice at once is one order.
  const twice = await page.evaluate(() => {
    const form = document.querySelector('main form');
    const send = async () => (await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) })).url;
    return Promise.all([send(), send()]);
  });
  assert.match(twice[0], /\/shop\/orders\/\d+$/);
  assert.equal(twice[0], twice[1]);
  await page.goto(shop + '/shop/account');
  assert.equal(await page.locator('.columns a[href*="/orders/"]').count(), 1);
  await page.goto(twice[0]);
  assert.match((await decisions(page)).join(' '), /No friend referred this customer/);
  const order = page.url();
  const other = await referrer(t, 'Hans');
  assert.equal((await other.page.goto(order)).status(), 422);
  assert.match(await other.page.textContent('.problem'), /You have no order with this number/);
  const stranger = await profile(t);
  await stranger.goto(order);
  assert.match(stranger.url(), /\/shop\/join/);
  await stranger.evaluate(() => { document.querySelector('main form').noValidate = true; });
  await stranger.fill('#name', 'Ida');
  await stranger.fill('#email', 'ida');
  await stranger.click('main form button');
  assert.match(await stranger.textContent('[role=alert]'), /E-mail: not an address; give one such as name@example.com/);
  assert.equal(await stranger.inputValue('#name'), 'Ida');
  // A code that no customer has is refused with a reason.
  await stranger.fill('#email', 'ida@x.example');
  await stranger.fill('#code', 'NOBODY');
  await stranger.click('main form button');
  assert.deepEqual(await decisions(stranger), ['Not attributed by the code of the form: NOBODY: no customer has this code.']);
}

/** The story is played by a button, and only once. */
export async function story(t) {
  const { assert, shop, call } = t;
  const page = await profile(t);
  await page.goto(shop + '/shop/story');
  await page.click('main form button');
  await page.waitForSelector('text=The story was played.');
  await page.reload();
  assert.equal(await page.locator('main form').count(), 0);
  await page.click('text=See it in the portal');
  assert.match(await page.textContent('h1'), /Sign in/);
  const { points } = await call('/api/v1/demo/analytics/series?interval=week&programId=roastery');
  assert.ok(points.filter((p) => p.visits > 0 && p.referralsStarted !== 0).length >= 4, JSON.stringify(points));
}

/** Each page fits a phone and a desktop in both themes, with enough contrast, and moves nothing by itself; axe finds nothing; forms are sent by keyboard. */
export async function pages(t) {
  const { assert, shop } = t;
  for (const { options } of views) {
    const { colorScheme, viewport: { width } } = options;
    const { link } = await referrer(t, 'Jana');
    const page = await profile(t, options);
    await page.addInitScript(watchLayout);
    const check = async (name) => {
      await page.waitForLoadState(); // before that, a page may have no style
      // Shifts are reported with the next frame.
      const shift = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(window.shift)))));
      assert.ok(shift < 0.01, `${name}: the layout shifts by ${shift} at ${width}`);
      await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, `${name} is too wide for ${width}`);
      assert.deepEqual(await faint(page), [], `${name}, ${colorScheme}`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(violations.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html}`), [], name);
      assert.deepEqual(await page.evaluate(() => Array.from(document.querySelectorAll('input:not([type=hidden]), button, iframe'), (e) =>
        (e.labels && e.labels.length) || e.textContent.trim() || e.title || e.getAttribute('aria-label') ? '' : e.outerHTML).filter(Boolean)), [], name);
      assert.equal(await page.locator('h1').count(), 1, name);
      await picture(page, `shop-${name}-${colorScheme}-${width}`);
    };
    await page.goto(link);
    await page.waitForSelector('#invite:not([hidden])');
    await check('home');
    await page.goto(shop + '/shop/join');
    await page.click('main form button');
    await check('join');
    await signUp(page, 'Kurt');
    await page.waitForURL('**/shop/account*');
    await check('account');
    for (const product of ['grinder', 'coffee']) {
      await page.goto(`${shop}/shop/buy/${product}`);
      await check('checkout-' + product);
      await page.focus('main form button');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/orders/*');
      await check('order-' + product);
    }
    await page.goto(shop + '/shop/story');
    await check('story');
    await page.goto(shop + '/shop/orders/1');
    await check('problem');
    await page.close();
  }
}

/** The story with Stripe: switched to in the shop, from the share link to the reward, and back. */
export async function switched(t) {
  const { assert, shop, testShop, eventually } = t;
  const first = await profile(t);
  await first.goto(shop + '/shop');
  await picture(first, 'shop-gateway-live');
  await first.click('text=Switch to Stripe >> nth=-1');
  await first.waitForURL(testShop + '/shop#gateway');
  assert.equal(await first.textContent('#gateway'), 'Payments by Stripe');
  const here = { ...t, shop: testShop };
  for (const width of [360, 1280]) {
    await first.setViewportSize({ width, height: 800 });
    assert.ok(await first.evaluate(() => document.documentElement.scrollWidth) <= width, `too wide for ${width}`);
    await picture(first, `shop-gateway-stripe-${width}`);
  }

  const { page, link } = await referrer(here, 'Lea');
  const code = link.split('/').pop();
  const mia = await profile(t, { viewport: { width: 360, height: 800 } });
  await mia.goto(link + '?rsShareMedium=FACEBOOK');
  await mia.click('text=Buy the grinder');
  await signUp(mia, 'Mia');
  await picture(mia, 'shop-stripe-buy-360');
  await mia.click('text=Go to the checkout');
  await typeCode(t, mia, code);
  assert.equal(await mia.textContent('h1'), 'Thank you, Mia');
  assert.match(await mia.textContent('.bill .good'), /Friend’s discount, 10 %−\$8.90/);
  const said = (pattern) => eventually(async () => {
    await mia.reload();
    assert.match((await decisions(mia)).join(' '), pattern);
  });
  await said(/Converted: purchase of 80.10 USD \(order pi_\w+\). Lea earns \$8.01 of credit/);
  const calls = await mia.textContent('#behind');
  for (const text of ['POST /v1/checkout/sessions', 'sc.V1CheckoutSessions.Create', 'stripe.checkout.sessions.create', 'curl ']) assert.ok(calls.includes(text), text);
  assert.ok(await mia.evaluate(() => document.documentElement.scrollWidth) <= 360);
  await picture(mia, 'shop-stripe-order-360');

  await mia.click('text=Refund half of it');
  assert.match(await mia.textContent('.bill'), /Refunded of it\$/);
  await said(/Returned: 40.05 of it, so that share of each reward is taken back. Lea earned \$8.01 of credit; the return took back \$4.0[01] of it/);
  await picture(mia, 'shop-stripe-half-360');

  const noa = await profile(t);
  await noa.goto(link);
  await noa.click('text=Start the trial');
  await signUp(noa, 'Noa');
  await noa.click('text=Go to the checkout');
  await typeCode(t, noa, code);
  assert.equal(await noa.textContent('h1'), 'Your trial has begun');
  await noa.click('text=Skip to the end of the trial');
  assert.match(await noa.textContent('.bill'), /Charged by the gateway, in_\w+\$16.20/);
  await noa.click('text=Let a month pass');
  await eventually(async () => assert.equal(await noa.locator('.bill tr.total').count(), 2));
  await eventually(async () => {
    await noa.reload();
    assert.match((await decisions(noa)).join(' '), /Converted: purchase of 16.20 USD .*Lea earns \$1.62 of credit/);
  });
  await picture(noa, 'shop-stripe-month-1280');
  await page.reload();
  assert.match(await page.textContent('.columns section:nth-child(2)'), /Noa\s*bought: /);

  await page.click('text=Switch to Braintree');
  await page.click('main >> text=Switch to Braintree >> nth=-1');
  await page.waitForSelector('text=Payments by Braintree >> nth=0');
  await page.goto(testShop + '/shop/buy/grinder');
  await page.click('text=Pay $');
  assert.equal(await page.textContent('h1'), 'Thank you, Lea');
}

/** Pays on the page of the lab with a code, until Kith has made a promotion code of it. */
async function typeCode({ assert, eventually }, page, code) {
  await page.waitForURL('**/c/pay/*');
  await picture(page, 'shop-stripe-checkout');
  await eventually(async () => {
    if (await page.locator('#promotion_code').count()) await page.fill('#promotion_code', code);
    await Promise.all([page.waitForNavigation(), page.click('main form button')]);
    assert.match(page.url(), /\/shop\/orders\//, await page.textContent('main'));
  });
}
