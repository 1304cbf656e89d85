// kith.js in the pages of a shop.

const squatch = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The first-party _saasquatch cookie of a page's visitor, decoded, and its attributes. */
async function cookieOf(page) {
  const found = (await page.context().cookies()).find((c) => c.name === '_saasquatch');
  return found && { ...found, value: JSON.parse(Buffer.from(found.value, 'base64url')) };
}

/** The codes in the cookie for a tenant, from all hosts. */
const codesIn = (cookie, tenant) => Object.values(cookie.value).map((entry) => entry[tenant + '_CODE'].codes);

/** All known fields of init reach the service, also null; unknown fields are left out. */
export async function init({ visitor, eventually, call, assert, shop, tokens }) {
  const page = await visitor();
  const calls = [];
  page.on('request', (request) => calls.push(request));
  await page.goto(shop + '/plain');
  await page.evaluate((token) => {
    window._sqh.push(['init', {
      tenant_alias: 'shop', account_id: 'ben@x.example', user_id: 'b/1', payment_provider_id: null, email: 'ben@x.example',
      first_name: 'Ben', last_name: 'Berg', user_image: 'https://img.example/b.png', locale: 'en_US', account_status: 'PAID',
      referral_code: 'ANNA10', mode: 'POPUP', jwt: token, something_of_the_shop: 1,
    }]);
  }, tokens['ben@x.example b/1']);
  const user = await eventually(() => call('/api/v1/shop/open/account/ben%40x.example/user/b%2F1'));
  assert.equal(user.email, 'ben@x.example');
  assert.equal(user.firstName, 'Ben');
  assert.equal(user.lastName, 'Berg');
  assert.equal(user.imageUrl, 'https://img.example/b.png');
  assert.equal(user.locale, 'en_US');
  assert.equal(user.referredBy.code, 'ANNA10');
  // The token signs only the ids, so PAID is stored but converts nothing.
  assert.equal(user.referredBy.isConverted, false);
  const put = calls.find((request) => request.method() === 'PUT');
  assert.equal(put.headers()['x-saasquatch-user-token'], tokens['ben@x.example b/1']);
  assert.ok(!put.postData().includes('something_of_the_shop') && !put.postData().includes('jwt'));
}

/** Calls pushed before the script was loaded run in order; unknown calls do nothing. */
export async function queue({ visitor, assert, shop }) {
  const page = await visitor();
  await page.goto(shop + '/queue');
  await page.waitForFunction(() => window.done?.length === 3); // the third entry is the answer for the code
  assert.deepEqual(await page.evaluate(() => window.done), ['first', 'second', 'code ']);
  assert.equal(await page.evaluate(() => window._sqh.push(function () { window.done.push('at once'); }, ['subscribe', 'x', function () {}])), undefined);
  assert.equal(await page.evaluate(() => window.done.at(-1)), 'at once');
}

/** A second copy of the script repeats nothing. */
export async function twice({ visitor, eventually, assert, shop, kith }) {
  const page = await visitor();
  const calls = [];
  page.on('request', (request) => calls.push(request.method() + ' ' + new URL(request.url()).pathname));
  await page.goto(shop + '/twice?rsCode=ANNA10');
  await eventually(() => assert.ok(calls.includes('POST /a/shop/visit')));
  await page.addScriptTag({ url: kith + '/kith.js?again' });
  assert.equal(calls.filter((c) => c === 'POST /a/shop/visit').length, 1);
}

/** A share link on the service's host leads to the shop, is counted, and fills the code into forms, also later. */
export async function shareLink({ visitor, eventually, call, assert, shop, kith }) {
  const page = await visitor();
  await page.goto(kith + '/s/shop/ANNA10?rsShareMedium=FACEBOOK&rsEngagementMedium=EMAIL');
  const landed = new URL(page.url());
  assert.equal(landed.origin + landed.pathname, shop + '/landing');
  assert.equal(landed.searchParams.get('rsCode'), 'ANNA10');
  await eventually(async () => assert.equal(await page.inputValue('#code'), 'ANNA10'));
  assert.equal(await page.evaluate(() => window.input), true, 'the page gets an input event');
  await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: ANNA10'));
  const visits = async () => (await call('/api/v1/shop/analytics?kind=visited')).analytics
    .filter((a) => a.code === 'ANNA10' && a.shareMedium === 'FACEBOOK' && a.engagementMedium === 'EMAIL').map((a) => a.times);
  await eventually(async () => assert.deepEqual(await visits(), [1]));
  const cookie = await eventually(async () => (await cookieOf(page)) || assert.fail('no cookie'));
  assert.deepEqual(codesIn(cookie, 'shop'), [{ classic: 'ANNA10' }]);
  assert.equal(cookie.domain, '.shop.example');
  assert.equal(cookie.path, '/');
  assert.equal(cookie.sameSite, 'Lax');
  const days = (cookie.expires - Date.now() / 1000) / 86400;
  assert.ok(days > 364 && days < 366, String(days));

  await page.goto(shop.replace('shop.example', 'www.shop.example') + '/landing');
  await eventually(async () => assert.equal(await page.inputValue('#code'), 'ANNA10'));
  assert.deepEqual(await visits(), [1], 'a page without a code is not counted as a visit');
}

/** The code of a URL without rsCode, as the edge in front of a shop leaves it, is counted too. */
export async function countedWithoutParameter({ visitor, eventually, call, assert, shop, kith }) {
  const page = await visitor();
  const brought = squatch({ [new URL(kith).host]: { shop_CODE: { codes: { classic: 'ANNA10' } } } });
  await page.goto(shop + '/landing?rsShareMedium=PINTEREST&_saasquatch=' + brought);
  await eventually(async () => {
    const { analytics } = await call('/api/v1/shop/analytics?kind=visited');
    assert.deepEqual(analytics.filter((a) => a.shareMedium === 'PINTEREST').map((a) => [a.code, a.times]), [['ANNA10', 1]]);
  });
}

/** The codes in the URL are merged into the cookie; a new user is attributed by them. */
export async function merge({ visitor, eventually, call, assert, shop, kith, tokens }) {
  const page = await visitor();
  const host = new URL(kith).host;
  await page.context().addCookies([{
    name: '_saasquatch', domain: '.shop.example', path: '/',
    value: squatch({ [host]: { shop_CODE: { codes: { spring: 'EVE7' }, list: [1, 2] }, other_CODE: { codes: { a: 'X' } } }, 'old.example': { shop_CODE: { codes: {} } } }),
  }]);
  const brought = squatch({ [host]: { shop_CODE: { codes: { classic: 'ANNA10' }, list: [3] } } });
  await page.goto(shop + '/landing?rsCode=ANNA10&_saasquatch=' + brought);
  await eventually(async () => assert.deepEqual((await cookieOf(page)).value, {
    [host]: { shop_CODE: { codes: { spring: 'EVE7', classic: 'ANNA10' }, list: [3] }, other_CODE: { codes: { a: 'X' } } },
    'old.example': { shop_CODE: { codes: {} } },
  }));
  await page.goto(shop + '/plain');
  await page.evaluate((token) => window._sqh.push(['init', { tenant_alias: 'shop', account_id: 'carl', user_id: 'carl', jwt: token }]), tokens['carl carl']);
  await eventually(async () => assert.equal((await call('/api/v1/shop/open/account/carl/user/carl')).referredBy.code, 'ANNA10'));
}

/** An invalid parameter, or one that would pollute a prototype, has no effect. */
export async function hostileParameter({ visitor, eventually, assert, shop }) {
  for (const text of ['%%%', '!!!', squatch([1]), squatch(null), squatch('x'), btoa('{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":1}}}'), 'A'.repeat(6000)]) {
    const page = await visitor();
    await page.goto(shop + '/landing?_saasquatch=' + encodeURIComponent(text));
    await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: '));
    assert.equal(await page.evaluate(() => ({}).polluted), undefined);
    await page.context().close();
  }
}

/** Opt-in: no cookie before the visitor agrees; it is removed when the visitor withdraws. */
export async function optIn({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  const asked = [];
  page.on('response', (answer) => { if (answer.url().endsWith('/consent')) asked.push(answer.status()); });
  const settled = (n) => eventually(() => assert.equal(asked.length, n));
  const answerConsent = (answer) => page.evaluate((answer) => {
    document.cookie = 'agreed=' + answer;
    window._sqh.push(['consent']);
  }, answer);
  await page.goto(shop + '/optin?rsCode=ANNA10');
  await settled(1);
  await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: ANNA10'), 'the page itself may use the code');
  assert.equal(await cookieOf(page), undefined);
  await answerConsent('maybe');
  await settled(2);
  assert.equal(await cookieOf(page), undefined);
  await answerConsent('yes');
  await eventually(async () => assert.deepEqual(codesIn(await cookieOf(page), 'optin'), [{ rsCode: 'ANNA10' }]));
  await answerConsent('no');
  await eventually(async () => assert.equal(await cookieOf(page), undefined));
}

/** Opt-out: a cookie unless the visitor says no. */
export async function optOut({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  await page.goto(shop + '/optout?rsCode=ANNA10');
  await eventually(async () => assert.ok(await cookieOf(page)));
  const denied = await visitor();
  await denied.context().addCookies([{ name: 'agreed', value: 'denied', domain: 'shop.example', path: '/' }]);
  const answered = denied.waitForResponse((answer) => answer.url().endsWith('/consent'));
  await denied.goto(shop + '/optout?rsCode=ANNA10');
  await answered;
  await eventually(async () => assert.equal(await denied.textContent('#seen'), 'code: ANNA10'));
  assert.equal(await cookieOf(denied), undefined);
}

/** A browser with a privacy signal gets no cookie and is not counted, but the form is filled. */
export async function privacySignals({ visitor, eventually, assert, shop }) {
  for (const signal of ['globalPrivacyControl', 'doNotTrack']) {
    const page = await visitor();
    const calls = [];
    page.on('request', (request) => calls.push(new URL(request.url()).pathname));
    await page.addInitScript((name) => Object.defineProperty(Navigator.prototype, name, { value: name === 'doNotTrack' ? '1' : true }), signal);
    await page.goto(shop + '/landing?rsCode=ANNA10');
    await eventually(async () => assert.equal(await page.inputValue('#code'), 'ANNA10'));
    assert.ok(!calls.includes('/a/shop/visit') && !calls.includes('/a/shop/consent'), calls.join());
    assert.equal(await cookieOf(page), undefined);

    await page.context().addCookies([{
      name: '_saasquatch', domain: '.shop.example', path: '/', value: squatch({ 'x.example': { shop_CODE: { codes: { classic: 'ANNA10' } } } }),
    }]);
    await page.goto(shop + '/landing');
    await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: '), 'a cookie from before fills no form');
    await eventually(async () => assert.equal(await cookieOf(page), undefined, 'it is deleted'));
  }
}

/** With the service down a page has no error, and its form is filled from its own URL. */
export async function down({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  let failed = 0;
  page.on('requestfailed', () => failed++);
  await page.goto(shop + '/down?rsCode=ANNA10');
  await eventually(async () => assert.equal(await page.inputValue('#code'), 'ANNA10'));
  await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: ANNA10'));
  await eventually(() => assert.ok(failed >= 3, `${failed} calls failed`));
  assert.equal(await cookieOf(page), undefined, 'no cookie while the policy is unknown');
}

/** An error that a function of the page throws is reported, and stops nothing else. */
export async function pageThrows({ visitor, eventually, assert, errors, shop }) {
  const page = await visitor();
  await page.goto(shop + '/plain');
  await page.evaluate(() => window._sqh.push(function () { throw new Error('of the page'); }, function () { window.after = true; }));
  assert.equal(await page.evaluate(() => window.after), true);
  await eventually(() => assert.ok(errors.length === 1 && errors[0].includes('of the page'), errors.join()));
  errors.length = 0;
}

/** A refused call is reported in the console. */
export async function refused({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  const said = [];
  page.on('console', (message) => said.push(message.text()));
  await page.goto(shop + '/plain');
  await page.evaluate(() => window._sqh.push(['init', { tenant_alias: 'shop', account_id: 'dora', user_id: 'dora', jwt: 'x.y.z' }]));
  await eventually(() => assert.ok(said.some((text) => text.includes('kith.js: a call was refused with status 401')), said.join('\n')));
}
