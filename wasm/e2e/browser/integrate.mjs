// The shop of docs/example behind nginx: one host for the shop and for Kith.

const options = { ignoreHTTPSErrors: true }; // the certificate is signed by itself

/** Signs a customer up on the page; the text that the shop answers. */
async function signUp(page, name, email) {
  await page.fill('[name=name]', name);
  await page.fill('[name=email]', email);
  await page.click('#signup button');
  await page.waitForFunction(() => document.querySelector('#answer').textContent);
  return page.textContent('#answer');
}

/** A new customer's share link. */
async function shareLink(visitor, shop, name) {
  const page = await visitor(options);
  await page.goto(shop + '/');
  const answer = await signUp(page, name, name + '@x.example');
  return new URL(answer.match(/share link: (\S+)/)[1]);
}

/** A share link becomes a converted referral: cookie, sign-up by the shop's server, payment. */
export async function converted({ visitor, eventually, call, assert, shop }) {
  const link = await shareLink(visitor, shop, 'Anna');
  assert.equal(link.origin, shop);
  const code = link.pathname.split('/').pop();
  assert.equal(link.pathname, '/s/shop/' + code);

  const page = await visitor(options);
  link.searchParams.set('rsShareMedium', 'FACEBOOK');
  await page.goto(link.href);
  const landed = new URL(page.url());
  assert.equal(landed.origin + landed.pathname, shop + '/');
  assert.ok(!landed.searchParams.has('rsCode'), 'the code moved from the URL into the cookie');
  const cookie = (await page.context().cookies()).find((c) => c.name === 'kith_shop');
  assert.deepEqual([cookie.domain, cookie.path, cookie.httpOnly, cookie.sameSite, cookie.secure],
    ['shop.example', '/', true, 'Lax', shop.startsWith('https:')]);
  await eventually(async () => assert.equal(await page.inputValue('#code'), code));
  assert.match(await signUp(page, 'Bob', 'bob@x.example'), new RegExp(`Welcome, Bob. You came with the code ${code}.`));
  const { attributions } = await call('/api/v1/shop/attributions?accountId=bob');
  assert.deepEqual(attributions.map((a) => [a.source, a.rule, a.attributed, a.inputs.shareMedium]), [['cookie', 'first-code', true, 'FACEBOOK']]);

  await page.click('#pay');
  await eventually(async () => assert.equal(await page.textContent('#answer'), 'Thank you for your payment.'));
  const { referrals } = await call('/api/v1/shop/referrals?referredAccountId=bob');
  assert.deepEqual(referrals.map((r) => [r.state, r.referrerReward.assignedCredit, r.shareLinkUsed]), [['converted', 1000, link.href]]);
}

/** The browser's own call on the shop's host brings the cookie to the identification. */
export async function ownCall({ visitor, eventually, call, assert, shop, tokens, snippets }) {
  const link = await shareLink(visitor, shop, 'Eve');
  const page = await visitor(options);
  await page.goto(link.href);
  await page.waitForFunction(() => window._sqh.kith);
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await page.evaluate(`{ const token = ${JSON.stringify(tokens['dora dora'])}; ${snippets.init} }`);
  const headers = await (await sent).allHeaders();
  assert.match(headers.cookie, /kith_shop=v1/);
  await eventually(async () => {
    const { attributions } = await call('/api/v1/shop/attributions?accountId=dora');
    assert.deepEqual(attributions.map((a) => [a.source, a.attributed]), [['cookie', true]]);
  });
}

/** A visitor who refuses after the share link is attributed neither by the shop's server nor in the browser; the cookies are deleted. */
export async function refused({ visitor, eventually, call, assert, shop, tokens, snippets }) {
  const link = await shareLink(visitor, shop, 'Hal');
  for (const header of ['Sec-GPC', 'DNT']) {
    const page = await visitor(options);
    const cookies = async () => (await page.context().cookies()).map((c) => c.name).filter((name) => name === 'kith_shop');
    await page.goto(link.href);
    assert.deepEqual(await cookies(), ['kith_shop']);
    // Only the shop's server gets the signal: kith.js does not run here, so the cookie stays.
    await page.route('**/kith.js', (route) => route.abort());
    await page.setExtraHTTPHeaders({ [header]: '1' });
    await page.goto(shop + '/');
    assert.doesNotMatch(await signUp(page, 'Ida' + header, 'ida@x.example'), /You came with the code/);
    assert.deepEqual(await cookies(), ['kith_shop']);
    assert.equal((await call('/api/v1/shop/attributions?accountId=ida' + header.toLowerCase())).count, 0);
    // The look-up for the form is the next answer to the browser.
    await page.unroute('**/kith.js');
    await page.goto(shop + '/');
    await eventually(async () => assert.deepEqual(await cookies(), []));
    assert.equal(await page.inputValue('#code'), '');
  }
  // The browser's own call.
  const page = await visitor(options);
  await page.goto(link.href);
  await page.waitForFunction(() => window._sqh.kith);
  await page.setExtraHTTPHeaders({ 'Sec-GPC': '1' });
  const answered = page.waitForResponse((answer) => answer.request().method() === 'PUT');
  await page.evaluate(`{ const token = ${JSON.stringify(tokens['carl carl'])}; ${snippets.init.replaceAll("'dora'", "'carl'")} }`);
  assert.equal((await answered).status(), 200);
  assert.equal((await call('/api/v1/shop/attributions?accountId=carl')).count, 0);
  assert.ok(!(await page.context().cookies()).some((c) => c.name === 'kith_shop'));
}

/** The published SDK works on the shop's host. */
export async function sdk({ visitor, eventually, assert, shop, tokens, snippets }) {
  const page = await visitor(options);
  await page.goto(shop + '/');
  await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<div id="squatchembed"></div>'));
  await page.addScriptTag({ path: 'node_modules/@saasquatch/squatch-js/dist/squatch.min.js' });
  await page.evaluate(`{ const token = ${JSON.stringify(tokens['dora dora'])}; ${snippets.sdk.replaceAll("'anna'", "'dora'")} }`);
  const link = page.frameLocator('#squatchembed iframe').locator('#link');
  await eventually(async () => assert.ok((await link.inputValue()).startsWith(shop + '/s/shop/')));
}

/** A code in the URL of any page of the shop moves into the cookie, whether or not a user has it; the page is the shop's. */
export async function pageWithCode({ visitor, assert, shop }) {
  const link = await shareLink(visitor, shop, 'Fay');
  const code = link.pathname.split('/').pop();
  const page = await visitor(options);
  const cookies = async () => (await page.context().cookies()).map((c) => c.name).filter((name) => name === 'kith_shop');
  assert.equal((await page.goto(shop + '/shoes?rsCode=NOSUCHCODE&size=9')).status(), 200);
  assert.equal(page.url(), shop + '/shoes?size=9');
  assert.deepEqual(await cookies(), []);
  assert.equal((await page.goto(`${shop}/shoes?rsCode=${code}&size=9`)).status(), 200);
  assert.equal(page.url(), shop + '/shoes?size=9');
  assert.deepEqual(await cookies(), ['kith_shop']);
  assert.equal(await page.textContent('h1'), 'Example shop');
}

/** Paths of Kith reach Kith with their escapes; all others, and what is posted with a code, reach the shop. */
export async function shopPaths({ visitor, assert, shop }) {
  const page = await visitor(options);
  await page.goto(shop + '/');
  const get = (path, request) => page.evaluate(async ([path, request]) => {
    const answer = await fetch(path, request);
    return [answer.status, answer.headers.get('content-type').split(';')[0], await answer.text()];
  }, [path, request]);
  for (const [path, status, type, text] of [
    ['/kith.js', 200, 'text/javascript', '_sqh'],
    ['/a/shop/consent', 200, 'application/json', 'consent'],
    ['/a/shop/widgets/squatchcookiejson', 200, 'application/json', 'codes'],
    ['/api/v1/shop/open/code/a%2Fb', 404, 'application/json', 'referral code'],
    ['/a/shop', 200, 'text/html', 'Example shop'],
    ['/s', 200, 'text/html', 'Example shop'],
    ['/healthz', 200, 'text/html', 'Example shop'],
  ]) {
    const got = await get(path);
    assert.deepEqual(got.slice(0, 2), [status, type], path + got[2]);
    assert.ok(got[2].includes(text), path + ': ' + got[2]);
  }
  const posted = await get('/signup?rsCode=ANNA10', { method: 'POST', body: '{}' });
  assert.equal(posted[1], 'text/html', 'the shop, which has no such action, answers');
}

/** While Kith is down the shop's pages are answered, also those with a code. */
export async function withoutKith({ visitor, assert, shop }) {
  const page = await visitor(options);
  for (const path of ['/', '/?rsCode=ANNA10']) {
    assert.equal((await page.goto(shop + path)).status(), 200, path);
    assert.equal(page.url(), shop + path);
    assert.equal(await page.textContent('h1'), 'Example shop');
  }
  assert.equal((await page.goto(shop + '/s/shop/ANNA10')).status(), 502);
}
