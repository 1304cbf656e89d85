// The unmodified @saasquatch/squatch-js in the pages of a shop.

/** Opens a page with the SDK, set up for the service. */
async function open(visitor, shop, kith, path, options) {
  const page = await visitor(options);
  await page.goto(shop + path);
  await page.waitForFunction(() => window.squatch && window.squatch.init);
  await page.evaluate((domain) => window.squatch.init({ tenantAlias: 'shop', domain }), kith);
  return page;
}

/** An upsert with a token shows the user's widget; loading and sharing are counted. */
export async function upsert({ visitor, eventually, call, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop, kith, '/sdk');
  const shown = await page.evaluate(async (jwt) => {
    const { widget, user } = await window.squatch.widgets().upsertUser({
      user: { id: 'anna', accountId: 'anna', firstName: 'Anna', email: 'anna@x.example' },
      engagementMedium: 'EMBED', widgetType: 'p/classic/w/referrerWidget', jwt,
    });
    return { type: widget.type, code: user.referralCode, name: user.firstName };
  }, tokens['anna anna']);
  assert.deepEqual(shown, { type: 'p/classic/w/referrerWidget', code: 'ANNA10', name: 'Anna' });
  const frame = page.frameLocator('#squatchembed iframe');
  await eventually(async () => assert.equal(await frame.locator('#link').inputValue(), kith + '/s/shop/ANNA10'));
  assert.equal(await frame.locator('h1').textContent(), 'Give 10% off, get $10');
  assert.deepEqual(await frame.locator('.friends li .who').allTextContents().then((all) => all.map((t) => t.split(/(?=[A-Z][a-z]{2} \d)/)[0])), ['Bert B', 'Carl C']);
  await frame.locator('.copy').click();
  await eventually(async () => assert.equal(await frame.locator('.copy').textContent(), 'Copied'));
  await eventually(async () => {
    const { analytics } = await call('/api/v1/shop/analytics?accountId=anna');
    assert.deepEqual(analytics.map((a) => [a.kind, a.engagementMedium, a.shareMedium, a.programId, a.times]),
      [['loaded', 'EMBED', null, 'classic', 1], ['shared', 'EMBED', 'DIRECT', 'classic', 1]]);
  });
  const height = await page.locator('#squatchembed iframe').evaluate((f) => [f.getBoundingClientRect().height, f.contentDocument.body.scrollHeight]);
  assert.ok(height[0] >= height[1] - 1, `the frame is ${height[0]} high, its page ${height[1]}`);
}

/** A popup opens, shows the widget and closes by its own button. */
export async function popup({ visitor, eventually, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop, kith, '/sdk');
  await page.evaluate(async (jwt) => {
    const { widget } = await window.squatch.widgets().upsertUser({ user: { id: 'anna', accountId: 'anna' }, jwt });
    widget.open();
  }, tokens['anna anna']);
  const dialog = page.locator('dialog#squatchModal');
  await dialog.waitFor({ state: 'visible' });
  const frame = page.frameLocator('dialog#squatchModal iframe');
  await eventually(async () => assert.equal(await frame.locator('#link').inputValue(), kith + '/s/shop/ANNA10'));
  await frame.locator('.close').click();
  await dialog.waitFor({ state: 'hidden' });
}

/** A template of the tenant's own gets the share link and the friends. */
export async function ownTemplate({ visitor, eventually, call, assert, shop, kith, tokens }) {
  await call('/api/v1/shop/widgets/p%2Fclassic%2Fw%2Fours', {
    method: 'PUT',
    body: JSON.stringify({
      template: `<!DOCTYPE html><html><head></head><body><div class="squatch-container"><a></a><ol></ol></div><script>
        document.querySelector('a').textContent = kith.user.shareLink + ' ' + kith.values.word;
        kith.referrals.forEach(function (r) { var li = document.createElement('li'); li.textContent = r.name; document.querySelector('ol').append(li); });
      </script></body></html>`,
      values: { word: '</script><b>bold</b>' },
    }),
  });
  const page = await open(visitor, shop, kith, '/sdk');
  await page.evaluate((jwt) => window.squatch.widgets().upsertUser({
    user: { id: 'anna', accountId: 'anna' }, engagementMedium: 'EMBED', widgetType: 'p/classic/w/ours', jwt,
  }), tokens['anna anna']);
  const frame = page.frameLocator('#squatchembed iframe');
  await eventually(async () => assert.equal(await frame.locator('a').textContent(), kith + '/s/shop/ANNA10 </script><b>bold</b>'));
  assert.deepEqual(await frame.locator('li').allTextContents(), ['Bert B', 'Carl C']);
}

/** Events are logged; a repeated idempotency key rejects with the error as the service writes it. */
export async function events({ visitor, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop, kith, '/sdk');
  const answers = await page.evaluate(async (jwt) => {
    const purchase = { accountId: 'anna', userId: 'anna', idempotencyKey: 'order-1001', events: [{ key: 'purchase', fields: { revenue: 12.5, currency: 'USD' } }] };
    const track = () => window.squatch.events().track(purchase, { jwt }).then((a) => a.events[0].key, (e) => JSON.parse(e.message).statusCode);
    return [await track(), await track()];
  }, tokens['anna anna']);
  assert.deepEqual(answers, ['purchase', 409]);
}

/** A refusal of an upsert rejects with the error as the service writes it. */
export async function refused({ visitor, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop, kith, '/sdk');
  const refusal = await page.evaluate((jwt) => window.squatch.api().upsertUser({ user: { id: 'anna', accountId: 'anna' }, widgetType: 'nothing', jwt })
    .then(() => null, (e) => JSON.parse(e.message)), tokens['anna anna']);
  assert.equal(refusal.rsCode, 'RS036');
  const wrong = await page.evaluate((jwt) => window.squatch.api().upsertUser({ user: { id: 'bert', accountId: 'bert' }, jwt })
    .then(() => null, (e) => JSON.parse(e.message).statusCode), tokens['anna anna']);
  assert.equal(wrong, 403);
}

/** A page of another origin can read nothing. */
export async function otherOrigin({ visitor, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop.replace('shop.example', 'evil.example'), kith, '/sdk');
  const outcome = await page.evaluate(async (jwt) => {
    const tries = [
      () => window.squatch.api().upsertUser({ user: { id: 'anna', accountId: 'anna' }, jwt }),
      () => window.squatch.api().squatchReferralCookie(),
      () => window.squatch.events().track({ accountId: 'anna', userId: 'anna', events: [{ key: 'visit' }] }, { jwt }),
    ];
    return Promise.all(tries.map((t) => t().then(() => 'read', (e) => String(e))));
  }, tokens['anna anna']);
  assert.deepEqual(outcome, Array(3).fill('TypeError: Failed to fetch'));
}

/**
 * A share link on the service's host leads to a page of the shop with the SDK, which stores the codes of the URL: in
 * every version of the SDK the form is filled, also on a later page. Without a link the text is empty.
 */
export async function autofill({ visitor, eventually, assert, shop, kith }) {
  for (const path of ['/sdk', '/sdk-2.4']) {
    const page = await open(visitor, shop, kith, path);
    await page.evaluate(() => window.squatch.autofill('#code'));
    assert.equal((await page.evaluate(() => window.squatch.api().squatchReferralCookie())).code, '');
    assert.equal(await page.inputValue('#code'), '');

    await page.goto(kith + '/s/shop/ANNA10?rsLandingPage=' + encodeURIComponent(shop + path));
    assert.equal(new URL(page.url()).pathname, path);
    for (const target of [null, shop + path]) {
      if (target) await page.goto(target);
      await page.waitForFunction(() => window.squatch && window.squatch.init);
      await page.evaluate((domain) => { window.squatch.init({ tenantAlias: 'shop', domain }); window.squatch.autofill('#code'); }, kith);
      await eventually(async () => assert.equal(await page.inputValue('#code'), 'ANNA10', path));
      const answer = await page.evaluate(() => window.squatch.api().squatchReferralCookie());
      assert.equal(answer.code + answer.codes[0] + answer.codes.classic, 'ANNA10ANNA10ANNA10');
    }
  }
}

/** A visitor who followed a share link and is identified by the SDK later is attributed, and the answer says so. */
export async function attribution({ visitor, assert, call, shop, kith, tokens }) {
  const page = await visitor();
  await page.goto(kith + '/s/shop/ANNA10?rsShareMedium=EMAIL&rsLandingPage=' + encodeURIComponent(shop + '/sdk'));
  await page.waitForFunction(() => window.squatch && window.squatch.init);
  await page.goto(shop + '/sdk');
  await page.waitForFunction(() => window.squatch && window.squatch.init);
  const by = await page.evaluate(async ([domain, jwt]) => {
    window.squatch.init({ tenantAlias: 'shop', domain });
    const { user } = await window.squatch.widgets().upsertUser({ user: { id: 'dora', accountId: 'dora' }, engagementMedium: 'EMBED', jwt });
    return user.referredBy;
  }, [kith, tokens['dora dora']]);
  assert.equal(by.code, 'ANNA10');
  assert.equal(by.newlyReferred, true);
  const { attributions } = await call('/api/v1/shop/attributions?accountId=dora');
  assert.equal(attributions.find((a) => a.attributed).code, 'ANNA10');
}

/** GraphQL renders a widget for the token's user, for a user whose ids the SDK encodes, and without a user. */
export async function render({ visitor, eventually, assert, call, shop, kith, tokens }) {
  await call('/api/v1/shop/open/account/ben%40x.example/user/b%2F1', { method: 'PUT', body: '{"referralCode":"BEN20"}' });
  for (const [options, link, friends] of [
    [{ jwt: tokens['anna anna'] }, kith + '/s/shop/ANNA10', ['Bert B', 'Carl C']],
    [{ user: { id: 'b/1', accountId: 'ben@x.example' }, jwt: tokens['ben@x.example b/1'] }, kith + '/s/shop/BEN20', []],
    [{ user: { id: 'b/1', accountId: 'ben@x.example' } }, kith + '/s/shop/BEN20', null],
    [{}, null, null],
  ]) {
    const page = await open(visitor, shop, kith, '/sdk');
    const user = await page.evaluate(async (options) => {
      const { user } = await window.squatch.widgets().render({ engagementMedium: 'EMBED', widgetType: 'p/classic/w/referrerWidget', ...options });
      return user && user.id;
    }, options);
    assert.equal(user, link && (link.endsWith('ANNA10') ? 'anna' : 'b/1'));
    const frame = page.frameLocator('#squatchembed iframe');
    await eventually(async () => assert.equal(await frame.locator('h1').textContent(), 'Give 10% off, get $10'));
    assert.equal(await frame.locator('.share').isVisible(), link !== null);
    if (link) assert.equal(await frame.locator('#link').inputValue(), link);
    assert.equal(await frame.locator('.friends').isVisible(), friends !== null);
    if (friends) assert.equal(await frame.locator('.friends li').count(), friends.length);
  }
}

/** A web component identifies its token's user and shows the widget without further code. */
export async function declarative({ visitor, eventually, assert, shop, kith, tokens }) {
  const page = await visitor();
  await page.addInitScript(([domain, token]) => {
    Object.assign(window, { squatchTenant: 'shop', squatchToken: token, squatchConfig: { domain } });
  }, [kith, tokens['anna anna']]);
  await page.goto(shop + '/declarative');
  await eventually(async () => {
    const frame = page.frames().find((f) => f.parentFrame());
    assert.equal(frame && await frame.inputValue('#link', { timeout: 500 }), kith + '/s/shop/ANNA10');
  });
}
