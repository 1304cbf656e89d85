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
  assert.deepEqual(codesIn(cookie, 'shop'), [{ rsCode: 'ANNA10' }]);
  const [{ shop_CODE: { codesExp } }] = Object.values(cookie.value);
  const life = (codesExp.ANNA10 - Date.now()) / 86400000;
  assert.ok(life > 6.9 && life <= 7, 'the code counts as long as the program says: ' + life);
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

/** With the service down a page has no error, and gets no code, because no service can confirm the code of its URL. */
export async function down({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  let failed = 0;
  page.on('requestfailed', () => failed++);
  await page.goto(shop + '/down?rsCode=ANNA10');
  await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: '));
  await eventually(() => assert.ok(failed >= 3, `${failed} calls failed`));
  assert.equal(await page.inputValue('#code'), '');
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

/** A code that no user has is neither filled in nor given to the page's function; a known code of another cookie is. */
export async function unknownCode({ visitor, eventually, assert, shop, kith }) {
  const page = await visitor();
  await page.goto(shop + '/landing?rsCode=NOBODY');
  await eventually(async () => assert.equal(await page.textContent('#seen'), 'code: '));
  assert.equal(await page.inputValue('#code'), '');

  const both = await visitor();
  const value = squatch({ [new URL(kith).host]: { shop_CODE: { codes: { classic: 'NOBODY', spring: 'anna10' } } } });
  await both.context().addCookies([{ name: '_saasquatch', domain: '.shop.example', path: '/', value }]);
  await both.goto(shop + '/landing');
  await eventually(async () => assert.equal(await both.inputValue('#code'), 'ANNA10'));
}

/** Opens the page with a React form, whose code field is a controlled input. Before the answer to the look-up arrives, the page gets to before. */
async function reactPage({ visitor, shop }, before = async () => {}) {
  const page = await visitor();
  let asked, answer;
  const looked = new Promise((resolve) => { asked = resolve; });
  const released = new Promise((resolve) => { answer = resolve; });
  await page.route('**/squatchcookiejson*', async (route) => {
    asked();
    await released;
    await route.continue();
  });
  const seen = page.waitForResponse((response) => response.url().includes('squatchcookiejson'));
  await page.goto(shop + '/react?rsCode=ANNA10');
  await looked;
  await before(page);
  answer();
  await (await seen).finished();
  await page.waitForFunction(() => window.given !== undefined); // the function that is filled after the input
  return page;
}

/** The code is in the state of a React component, which renders again with it. */
export async function reactInput({ visitor, eventually, assert, shop }) {
  const page = await reactPage({ visitor, shop }, (page) => page.evaluate(() => window.show(true)));
  await eventually(async () => assert.equal(await page.textContent('#state'), 'state: ANNA10'));
  assert.equal(await page.inputValue('#code'), 'ANNA10');
  await page.evaluate(() => window.show(true)); // renders again
  assert.equal(await page.inputValue('#code'), 'ANNA10');
  await page.press('#code', 'End');
  await page.type('#code', 'X');
  await eventually(async () => assert.equal(await page.textContent('#state'), 'state: ANNA10X', 'the person can change it'));
}

/** What a person typed stays, also an empty text, and also in an input that the page filled itself. */
export async function typedValue({ visitor, assert, shop }) {
  for (const [keys, want] of [[['E', 'V', 'E'], 'EVE'], [['E', 'Backspace'], '']]) {
    const page = await reactPage({ visitor, shop }, async (page) => {
      await page.evaluate(() => window.show(true));
      await page.focus('#code');
      for (const key of keys) await page.keyboard.press(key);
    });
    assert.equal(await page.evaluate(() => window.given), 'ANNA10');
    assert.equal(await page.inputValue('#code'), want);
    assert.equal(await page.textContent('#state'), 'state: ' + want);
  }
  const page = await reactPage({ visitor, shop }, (page) => page.evaluate(() => window.show('OWN7')));
  assert.equal(await page.inputValue('#code'), 'OWN7');
}

/** A page that counts the observers of kith.js that observe it, in window.observing, and has the function that kith.js wants to be called after 10 s in window.expire. */
const observed = (visitor) => async () => {
  const page = await visitor();
  await page.addInitScript(() => {
    window.observing = 0;
    window.MutationObserver = class extends MutationObserver {
      // Playwright has observers of its own.
      counts = new Error().stack.includes('/kith.js') ? 1 : 0;
      observe(...given) { window.observing += this.counts; super.observe(...given); }
      disconnect() { window.observing -= this.counts; super.disconnect(); }
    };
    const { setTimeout } = window;
    window.setTimeout = (then, time) => { if (time === 10000) window.expire = then; else return setTimeout(then, time); };
  });
  return page;
};

/** An input that the page shows after the answer is filled, and the observer ends. */
export async function lateInput({ visitor, eventually, assert, shop }) {
  const page = await reactPage({ visitor: observed(visitor), shop });
  await eventually(async () => assert.equal(await page.evaluate(() => window.observing), 1)); // from when the page is parsed
  assert.equal(await page.locator('#code').count(), 0);
  await page.evaluate(() => window.show(true));
  await page.waitForSelector('#code');
  await eventually(async () => assert.equal(await page.textContent('#state'), 'state: ANNA10'));
  assert.equal(await page.inputValue('#code'), 'ANNA10');
  assert.equal(await page.evaluate(() => window.observing), 0);
}

/** After 10 s without an input nothing is observed any more. */
export async function noInput({ visitor, eventually, assert, shop }) {
  const page = await reactPage({ visitor: observed(visitor), shop });
  await eventually(async () => assert.equal(await page.evaluate(() => window.observing), 1)); // from when the page is parsed
  await page.evaluate(() => window.expire());
  assert.equal(await page.evaluate(() => window.observing), 0);
  await page.evaluate(() => window.show(true));
  await page.waitForSelector('#code');
  assert.equal(await page.inputValue('#code'), '');
}

/** In a sandboxed frame the script makes no call and causes no message, while document.cookie and localStorage throw; the page's functions run. */
export async function sandboxedFrame({ visitor, eventually, assert, shop }) {
  for (const attribute of ['src="/sandboxed?rsCode=ANNA10"', 'srcdoc']) {
    const page = await visitor();
    const said = [], calls = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('request', (request) => calls.push(new URL(request.url()).pathname));
    await page.goto(shop + '/plain');
    calls.length = 0;
    await page.evaluate(async (attribute) => {
      const frame = document.createElement('iframe');
      frame.sandbox = 'allow-scripts allow-forms';
      if (attribute == 'srcdoc') frame.srcdoc = await (await fetch('/sandboxed')).text();
      else frame.src = attribute.slice(5, -1);
      window.result = new Promise((resolve) => addEventListener('message', (event) => resolve(event.data)));
      document.body.append(frame);
    }, attribute);
    assert.deepEqual(await page.evaluate(() => window.result), { cookie: 'SecurityError', localStorage: 'SecurityError', code: '', consent: true });
    assert.equal(await page.frames()[1].inputValue('#code'), '');
    assert.deepEqual(calls.filter((path) => !['/sandboxed', '/kith.js'].includes(path)), []);
    assert.deepEqual(said, []);
  }
}

/** A page of another origin may load the script by the tag of the guide, with version and hash; one that accepts only what permits it (COEP) too. */
export async function integrity({ visitor, eventually, assert, shop, kith, snippets }) {
  const tag = snippets.script.replace('src="/', `src="${kith}/`);
  assert.ok(tag.includes(kith + '/kith.js?v=') && tag.includes('integrity="sha384-') && tag.includes('crossorigin'), tag);
  for (const path of ['/empty', '/isolated']) {
    const page = await visitor();
    await page.goto(shop + path);
    await page.setContent(tag);
    await page.waitForFunction(() => window._sqh?.kith);
  }
  const isolated = await visitor();
  await isolated.goto(shop + '/isolated');
  await isolated.setContent(`<script src="${kith}/kith.js"></script>`);
  await isolated.waitForFunction(() => window._sqh?.kith);

  const wrong = await visitor();
  await wrong.goto(shop + '/empty');
  const loaded = await wrong.evaluate(([kith, hash]) => new Promise((resolve) => {
    const script = document.createElement('script');
    Object.assign(script, { src: kith + '/kith.js?v=0123456789abcdef', integrity: hash, crossOrigin: 'anonymous', onload: () => resolve(true), onerror: () => resolve(false) });
    document.head.append(script);
  }), [kith, tag.match(/integrity="([^"]*)"/)[1]]);
  assert.equal(loaded, false, 'another version has no script');
}

/** The references that the page /stripe gives to Stripe; a table's is what it read when it was inserted. */
const stripeReferences = (page) => page.evaluate(() => ({
  link: document.querySelector('#link').href,
  own: document.querySelector('#own').href,
  buy: document.querySelector('.buy').href,
  other: document.querySelector('#other').href,
  table: document.querySelector('#table').read,
  taken: document.querySelector('#taken').read,
}));

/** What the page /stripe has before the script changes anything. */
const withoutReference = {
  link: 'https://buy.stripe.com/test_abc?locale=de#pay', own: 'https://buy.stripe.com/test_abc?client_reference_id=order-7',
  buy: 'https://pay.shop.example/b/1', other: 'https://shop.example/about', table: null, taken: 'order-7',
};

/** Payment links and pricing tables have the code, also those that appear later; a reference of the shop's own stays. */
export async function stripeLinks({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  await page.goto(shop + '/stripe?rsCode=ANNA10');
  const want = { ...withoutReference, link: 'https://buy.stripe.com/test_abc?locale=de&client_reference_id=ANNA10#pay', table: 'ANNA10' };
  await eventually(async () => assert.deepEqual(await stripeReferences(page), want));
  await page.evaluate(() => {
    document.body.insertAdjacentHTML('beforeend', '<p><a id="late" href="https://buy.stripe.com/late">Buy</a><stripe-pricing-table id="later"></stripe-pricing-table></p>');
    document.querySelector('#other').href = 'https://buy.stripe.com/changed';
  });
  await eventually(async () => assert.deepEqual(await page.evaluate(() => ['#late', '#other', '#later'].map((id) => document.querySelector(id).href ?? document.querySelector(id).read)),
    ['https://buy.stripe.com/late?client_reference_id=ANNA10', 'https://buy.stripe.com/changed?client_reference_id=ANNA10', 'ANNA10']));

  // A later page without the code in its URL has it from the cookie.
  await eventually(async () => assert.ok(await cookieOf(page)));
  await page.goto(shop + '/stripe');
  await eventually(async () => assert.deepEqual(await stripeReferences(page), want));
}

/** With a selector, the links are those that it names. */
export async function stripeOwnDomain({ visitor, eventually, assert, shop }) {
  const page = await visitor();
  await page.goto(shop + '/plain?rsCode=ANNA10');
  await page.evaluate(() => {
    document.body.insertAdjacentHTML('beforeend', '<a class="buy" href="https://pay.shop.example/b/1">Buy</a> <a class="buy">None</a>');
    window._sqh.push(['init', { tenant_alias: 'shop' }], ['stripe', 'a.buy']);
  });
  await eventually(async () => assert.equal(await page.getAttribute('.buy', 'href'), 'https://pay.shop.example/b/1?client_reference_id=ANNA10'));
}

/** Without a code, with one that no user has, and with the cookie of a visitor who refuses, nothing is added. */
export async function stripeRefused({ visitor, assert, shop }) {
  const asked = async (page, path) => {
    await page.goto(shop + path);
    await page.waitForFunction(() => window.given !== undefined); // asked after the links were changed
    return stripeReferences(page);
  };
  const page = await visitor();
  assert.deepEqual(await asked(page, '/stripe'), withoutReference);
  assert.deepEqual(await asked(page, '/stripe?rsCode=NOBODY'), withoutReference);
  const refusing = await visitor();
  await refusing.addInitScript(() => Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { value: true }));
  await refusing.context().addCookies([{
    name: '_saasquatch', domain: '.shop.example', path: '/', value: squatch({ 'x.example': { shop_CODE: { codes: { classic: 'ANNA10' } } } }),
  }]);
  assert.deepEqual(await asked(refusing, '/stripe'), withoutReference);
}
