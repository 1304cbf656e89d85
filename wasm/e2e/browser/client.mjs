// The client @kith/client in the pages of a shop, imported as it is published.

/** Opens a page that has the client. */
async function open(visitor, shop, query = '', path = '/client') {
  const page = await visitor();
  await page.goto(shop + path + query);
  await page.waitForFunction(() => window.render);
  return page;
}

/** The script of the guide, on a page of another host than the service's. */
export async function guide({ visitor, eventually, assert, shop, kith, tokens, snippets }) {
  const page = await open(visitor, shop);
  await page.evaluate((token) => {
    window.token = token;
    document.body.append(Object.assign(document.createElement('input'), { id: 'link' }));
  }, tokens['anna anna']);
  assert.match(snippets.client, /tenant: 'test_shop'/);
  await page.addScriptTag({ type: 'module', content: snippets.client.replace("'test_shop'", `'shop', baseUrl: '${kith}'`) });
  await eventually(async () => assert.equal(await page.locator('#link').inputValue(), kith + '/s/shop/ANNA10'));
}

/** Calls with a user token, and what is refused. */
export async function calls({ visitor, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop);
  const results = await page.evaluate(async ({ baseUrl, userToken }) => {
    const client = connect({ baseUrl, userToken: async () => userToken });
    const outcome = (call) => call.then((value) => value, ({ name, status, apiErrorCode }) => [name, status, apiErrorCode]);
    const user = { account: 'dora', user: 'dora' };
    const events = { ...user, body: { events: [{ key: 'login' }] } };
    const mixed = { ...user, body: { idempotencyKey: 'login-0001', events: [{ key: 'login' }] } };
    return {
      user: (await client.upsertUser({ ...user, fields: 'id,firstName', body: { firstName: 'Dora' } })),
      events: (await client.logEvents(events)).events.length + (await client.logEvents(events)).events.length,
      once: (await client.logEvents(mixed)).events.length,
      twice: await client.logEvents(mixed).catch((error) => error.duplicate),
      other: await outcome(client.getUser({ account: 'anna', user: 'anna' })),
      anonymous: await outcome(connect({ baseUrl }).getUser(user)),
      unreachable: await outcome(connect({ baseUrl: 'http://down.example:9', retries: 1 }).getUser(user)),
      serverCalls: 'syncAccount' in client,
    };
  }, { baseUrl: kith, userToken: tokens['dora dora'] });
  assert.deepEqual(results, {
    user: { id: 'dora', firstName: 'Dora' }, events: 2, once: 1, twice: true, other: ['KithError', 403, 'FORBIDDEN'],
    anonymous: ['KithError', 401, 'UNAUTHORIZED'], unreachable: ['KithError', 0, ''], serverCalls: false,
  });
}

const referralCode = (page, baseUrl) => page.evaluate((url) => connect({ baseUrl: url }).referralCode(), baseUrl);

/** The code in the URL of the page. */
export async function code({ visitor, assert, shop, kith }) {
  for (const [query, want] of [['', ''], ['?rsCode=ANNA10', 'ANNA10'], ['?rsCode=NOBODY1', ''], ['?rsCode=%3Cb%3E', ''], ['?_saasquatch=x', '']]) {
    assert.equal(await referralCode(await open(visitor, shop, query), kith), want, query);
  }
  assert.equal(await referralCode(await open(visitor, shop, '?rsCode=ANNA10'), 'http://down.example:9'), '');
}

/** The code that kith.js stored in a cookie. */
export async function cookieCode({ visitor, eventually, assert, shop, kith }) {
  const page = await visitor();
  await page.goto(shop + '/landing?rsCode=ANNA10');
  await eventually(async () => assert.match(await page.evaluate(() => document.cookie), /_saasquatch=/));
  await page.goto(shop + '/client');
  await page.waitForFunction(() => window.render);
  assert.equal(await referralCode(page, kith), 'ANNA10');
}

/** The cookie of a visitor who refused does not count; the code in the URL does. */
export async function refusedCode({ visitor, eventually, assert, shop, kith }) {
  const page = await visitor();
  await page.goto(shop + '/landing?rsCode=ANNA10');
  await eventually(async () => assert.match(await page.evaluate(() => document.cookie), /_saasquatch=/));
  await page.context().setExtraHTTPHeaders({ 'Sec-GPC': '1' });
  await page.addInitScript(() => Object.defineProperty(navigator, 'globalPrivacyControl', { value: true }));
  for (const [query, want] of [['', ''], ['?rsCode=ANNA10', 'ANNA10'], ['?rsCode=NOBODY1', '']]) {
    await page.goto(shop + '/client' + query);
    await page.waitForFunction(() => window.render);
    assert.equal(await referralCode(page, kith), want, query);
  }
}

/** Shows a component for a user of the shop. */
async function show(page, kith, userToken, name, props) {
  await page.evaluate((p) => render(connect({ baseUrl: p.kith, userToken: p.userToken }), p.name, p.props), { kith, userToken, name, props });
}

const anna = { account: 'anna', user: 'anna' };

/** ShareLink shows the link, copies it, and counts that. */
export async function shareLink({ visitor, eventually, call, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop);
  await show(page, kith, tokens['anna anna'], 'ShareLink', { ...anna, programId: 'classic', className: 'share' });
  const input = page.getByLabel('Your link');
  await eventually(async () => assert.match(await input.inputValue(), /\/s\/shop\/ANNA10\?/));
  const link = await input.inputValue();
  assert.match(link, /rsShareMedium=DIRECT/);
  await page.getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  await eventually(async () => {
    const { analytics } = await call('/api/v1/shop/analytics?accountId=anna&kind=shared');
    assert.deepEqual(analytics.map((a) => [a.engagementMedium, a.shareMedium, a.programId, a.times]), [['EMBED', 'DIRECT', 'classic', 1]]);
  });
  await page.evaluate(() => document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' })));
  await page.locator('#paste').focus();
  await page.keyboard.press('Control+V');
  await eventually(async () => assert.equal(await page.locator('#paste').inputValue(), link));
  await page.getByRole('button', { name: 'Copy' }).waitFor();
  // A user who does not exist is not shown the link of the user before.
  await show(page, kith, tokens['carl carl'], 'ShareLink', { account: 'carl', user: 'carl' });
  await page.getByRole('alert').waitFor();
}

/** Widget shows the user's widget as high as it is, and counts that. */
export async function widget({ visitor, eventually, call, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop);
  const before = await loads(call);
  await show(page, kith, tokens['anna anna'], 'Widget', { ...anna, widgetType: 'p/classic/w/referrerWidget', locale: 'en_US' });
  const frame = page.frameLocator('iframe[title="Refer a friend"]');
  await eventually(async () => assert.equal(await frame.locator('#link').inputValue(), kith + '/s/shop/ANNA10'));
  await eventually(async () => {
    const [height, content] = await page.locator('iframe').evaluate((f) => [f.getBoundingClientRect().height, f.contentDocument.body.scrollHeight]);
    assert.ok(content > 100 && Math.abs(height - content) <= 1, `the frame is ${height} high, its page ${content}`);
  });
  await eventually(async () => assert.equal(await loads(call), before + 1));
  await frame.locator('.card').evaluate((card) => card.append(Object.assign(document.createElement('div'), { style: 'height:700px' })));
  await eventually(async () => assert.ok(await page.locator('iframe').evaluate((f) => f.getBoundingClientRect().height > 900)));
}

async function loads(call) {
  const { analytics } = await call('/api/v1/shop/analytics?accountId=anna&kind=loaded');
  return analytics.reduce((sum, a) => sum + a.times, 0);
}

/** ReferralCodeInput fills in the code, and React's state has it. A text that is there stays. */
export async function codeInput({ visitor, eventually, assert, shop, kith }) {
  const page = await open(visitor, shop, '?rsCode=ANNA10');
  await show(page, kith, undefined, 'Controlled', {});
  await eventually(async () => assert.equal(await page.locator('#state').textContent(), 'state: ANNA10'));
  assert.equal(await page.locator('#code').inputValue(), 'ANNA10');
  for (const [name, props] of [['Controlled', { initial: 'OWN' }], ['ReferralCodeInput', { id: 'code', defaultValue: 'OWN' }]]) {
    await page.goto(shop + '/client?rsCode=ANNA10');
    await page.waitForFunction(() => window.render);
    await page.evaluate((p) => render(connect({ baseUrl: p.kith }), p.name, { ...p.props, onCode: (code) => { window.given = code; } }), { kith, name, props });
    await page.waitForFunction(() => window.given === 'ANNA10');
    assert.equal(await page.locator('#code').inputValue(), 'OWN');
  }
}

/** What the visitor typed before the code arrived stays, also if it was emptied again. */
export async function typedCode({ visitor, assert, shop, kith }) {
  for (const keys of [['A'], ['A', 'Backspace']]) {
    const page = await open(visitor, shop, '?rsCode=ANNA10');
    let answer;
    const asked = new Promise((resolve) => { answer = resolve; });
    await page.route('**/squatchcookiejson*', async (route) => { await asked; await route.continue(); });
    await page.evaluate((baseUrl) => render(connect({ baseUrl }), 'Controlled', { onCode: (code) => { window.given = code; } }), kith);
    await page.locator('#code').focus();
    for (const key of keys) await page.keyboard.press(key);
    answer();
    await page.waitForFunction(() => window.given === 'ANNA10');
    assert.equal(await page.locator('#code').inputValue(), keys.length === 1 ? 'A' : '');
  }
}

/** A component that is refused says so, and reports the error once. */
export async function refusedComponents({ visitor, eventually, assert, shop, kith }) {
  for (const [name, text] of [['ShareLink', 'Your link cannot be loaded now.'], ['Widget', 'No.']]) {
    const page = await open(visitor, shop);
    await show(page, kith, 'x.y.z', name, name === 'Widget' ? { ...anna, errorText: text } : anna);
    await eventually(async () => assert.equal(await page.getByRole('alert').textContent(), text));
    assert.deepEqual(await page.evaluate(() => errors), [['KithError', 401]]);
  }
}

/** The components with React 18. */
export async function react18({ visitor, eventually, assert, shop, kith, tokens }) {
  const page = await open(visitor, shop, '?rsCode=ANNA10', '/client-18');
  assert.match(await page.evaluate(() => React.version), /^18\./);
  await show(page, kith, undefined, 'Controlled', {});
  await eventually(async () => assert.equal(await page.locator('#state').textContent(), 'state: ANNA10'));
  await show(page, kith, tokens['anna anna'], 'ShareLink', anna);
  await eventually(async () => assert.match(await page.getByLabel('Your link').inputValue(), /\/s\/shop\/ANNA10\?/));
  await show(page, kith, tokens['anna anna'], 'Widget', anna);
  await eventually(async () => assert.equal(await page.frameLocator('iframe').locator('#link').inputValue(), kith + '/s/shop/ANNA10'));
}
