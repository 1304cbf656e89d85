// The client for servers against the running program. KITH_BASE is the URL of its edge or its backend.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';

import { createClient } from '@kith/client';
import {
  createServerClient, forwardedVisitor, KithError, once, signAnonymousToken, SignatureError, signUserToken, verifyWebhook,
} from '@kith/client/server';

const { KITH_BASE: base } = process.env;
assert.ok(base, 'KITH_BASE is not set: run go test ./wasm/e2e -run TestPackages');
const keys = { demo: 'LIVE_DEMO_KEY_0123456789', test_demo: 'TEST_DEMO_KEY_0123456789' };
const timeout = 120_000;
const client = (options) => createServerClient({ baseUrl: base, tenant: 'demo', apiKey: keys.demo, timeout, ...options });
const kith = client();

/** Starts a server, and returns its base URL. */
async function listen(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => { server.closeAllConnections(); server.close(); });
  return `http://127.0.0.1:${server.address().port}`;
}

/** A proxy that fails on purpose: spoil may answer the nth request itself, before or after the program did the call. */
async function flakyProxy(spoil) {
  const proxy = { calls: 0 };
  proxy.url = await listen(async (request, response) => {
    const n = ++proxy.calls;
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { authorization, 'content-type': type, 'idempotency-key': key } = request.headers;
    const forward = () => fetch(base + request.url, {
      method: request.method,
      headers: { ...(authorization && { authorization }), ...(type && { 'content-type': type }), ...(key && { 'idempotency-key': key }) },
      ...(chunks.length && { body: Buffer.concat(chunks) }),
    });
    if (await spoil(n, response, forward)) return;
    const answer = await forward();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  return proxy;
}

test('a friend follows a share link, signs up, pays, and the referrer redeems the reward', async () => {
  const followed = await fetch(`${base}/s/demo/ANNA10`, { redirect: 'manual' });
  const cookie = ['session=secret', ...followed.headers.getSetCookie().map((line) => line.split(';')[0])].join('; ');
  const visitor = forwardedVisitor({ cookie, dnt: undefined }, 'demo', 'agreed');
  assert.match(visitor.cookie, /^kith_demo=[^;]*$/);
  assert.deepEqual(forwardedVisitor(new Headers({ 'Sec-GPC': '1', cookie: 'agreed=no; x=1' }), 'demo', 'agreed'), { cookie: 'agreed=no', 'sec-gpc': '1', dnt: '' });

  const id = 'carl/eu';
  const user = await kith.upsertUser({ account: id, user: id, body: { firstName: 'Carl', email: 'carl@example.com' } }, { visitor });
  assert.equal(user.referredBy.code, 'ANNA10');
  const account = await kith.syncAccount({ body: { id, subscription: { status: 'PAID', value: 29 } } });
  assert.equal(account.subscription.status, 'PAID');
  const { referrals } = await kith.listReferrals({ referredAccountId: id, limit: 5 });
  assert.equal(referrals[0].state, 'converted');
  const redeemed = await kith.redeemCredit({ body: { accountId: 'anna', unit: 'CENTS', amount: 400 } });
  assert.equal(redeemed.creditRedeemed, 400);

  const order = { account: id, user: id, body: { idempotencyKey: 'order-carl-1', events: [{ key: 'purchase', fields: { revenue: 29 } }] } };
  assert.equal((await kith.logEvents(order)).events.length, 1);
  await assert.rejects(kith.logEvents(order), (error) => error instanceof KithError && error.duplicate);
  assert.equal(await once(kith.logEvents(order)), undefined);
  assert.equal(await kith.deleteUser({ account: id, user: id, doNotTrack: true }), undefined);
});

test('each answer about a user has the clean share link of getShareUrls, and may be sent back', async () => {
  const anna = { account: 'anna', user: 'anna' };
  const clean = (await kith.getShareUrls(anna)).shareLinks.cleanShareLink;
  assert.match(clean, /\/s\/demo\/ANNA10$/);
  const user = await kith.upsertUser({ ...anna, body: {} });
  const { users } = await kith.listUsers({ query: 'anna' });
  const all = [
    user, await kith.getUser(anna), await kith.getUserWithKey(anna), await kith.getUserPii(anna), await kith.getUserByCode({ referralCode: 'ANNA10' }),
    users.find(({ id }) => id === 'anna'), (await kith.renderWidget(anna)).user, (await kith.upsertWidget({ ...anna, body: {} })).user,
  ];
  for (const { shareLinks } of all) {
    assert.equal(shareLinks.cleanShareLink, clean);
    assert.equal(shareLinks.shareLink, clean + '?rsShareMedium=DIRECT');
  }
  assert.equal((await kith.getShareLinks(anna)).cleanShareLink, clean);
  assert.deepEqual(await kith.getUser({ ...anna, fields: 'id' }), { id: 'anna' });
  assert.equal((await kith.upsertUser({ ...anna, body: user })).shareLinks.cleanShareLink, clean);
  const named = { body: { firstName: 'Eve' } };
  const created = [
    await kith.createUser({ account: 'dora', user: 'dora', ...named }), await kith.upsertUserInAccount({ body: { id: 'dora', accountId: 'dora' } }),
    await kith.upsertCookieUser(named), (await kith.upsertCookieUserWidget(named)).user,
  ];
  for (const { shareLinks } of created) assert.match(shareLinks.cleanShareLink, /\/s\/demo\/\w+$/);
});

test('errors are typed, also those of a proxy', async () => {
  await assert.rejects(once(kith.getAccount({ account: 'nobody' })), (error) =>
    error instanceof KithError && error.status === 404 && error.apiErrorCode === 'NOT_FOUND' && error.requestId !== '' && !error.duplicate);
  await assert.rejects(client({ apiKey: 'wrong' }).getAccount({ account: 'anna' }), { status: 401 });
  const baseUrl = await listen((_, response) => response.writeHead(502).end('<html>'));
  await assert.rejects(client({ baseUrl }).getAccount({ account: 'anna' }), { status: 502, apiErrorCode: '' });
  const html = await listen((_, response) => response.end('<html>'));
  await assert.rejects(client({ baseUrl: html }).getAccount({ account: 'anna' }), /not JSON/);
  await assert.rejects(kith.getUser({ account: '..', user: 'anna' }), /^TypeError: account: /);
});

test('options are checked, and the key stays on servers', () => {
  for (const [options, field] of [[{ baseUrl: 'shop' }, 'baseUrl'], [{ baseUrl: 'https://a:b@shop.example' }, 'baseUrl'], [{ tenant: '' }, 'tenant'], [{ apiKey: undefined }, 'apiKey']]) {
    assert.throws(() => client(options), new RegExp('^TypeError: ' + field));
  }
  assert.throws(() => createClient({ baseUrl: base, tenant: 'demo', apiKey: keys.demo }), /^TypeError: apiKey/);
  assert.throws(() => createClient({ tenant: 'demo' }), /^TypeError: baseUrl/);
  Object.assign(globalThis, { window: {}, document: {} });
  try {
    assert.throws(() => client(), /servers only/);
  } finally {
    delete globalThis.window;
    delete globalThis.document;
  }
});

test('a user token is for its user only', async () => {
  const as = (token) => createClient({ baseUrl: base, tenant: 'demo', timeout, userToken: async () => token });
  const anna = as(signUserToken(keys.demo, { accountId: 'anna', id: 'anna' }));
  assert.equal((await anna.getUser({ account: 'anna', user: 'anna', fields: 'referralCode' })).referralCode, 'ANNA10');
  await assert.rejects(anna.getUser({ account: 'eve', user: 'eve' }), { status: 403 });
  assert.ok((await as(signAnonymousToken(keys.demo)).upsertCookieUser({ body: { firstName: 'Eve' } })).cookieId);
  assert.throws(() => signUserToken(keys.demo, { accountId: 'anna' }), /^TypeError: user\.id/);
  assert.throws(() => signUserToken('', { accountId: 'anna', id: 'anna' }), /^TypeError: key/);
  assert.throws(() => signUserToken(keys.demo, { accountId: 'anna', id: 'anna' }, 0), /^TypeError: seconds/);
});

test('a lost answer: the second attempt has the same key, and nothing is stored twice', async () => {
  const proxy = await flakyProxy(async (n, response, forward) => {
    if (n > 1) return false;
    assert.equal((await forward()).status, 200);
    response.writeHead(503, { 'retry-after': '1' }).end();
    return true;
  });
  const call = client({ baseUrl: proxy.url }).logEvents({ account: 'anna', user: 'anna', body: { events: [{ key: 'login' }] } });
  await assert.rejects(call, (error) => error.duplicate);
  assert.equal(proxy.calls, 2);
});

test('a lost answer about a reward: the second attempt gets it', async () => {
  let first;
  const proxy = await flakyProxy(async (n, response, forward) => {
    if (n > 1) return false;
    first = await (await forward()).json();
    response.writeHead(503, { 'retry-after': '1' }).end();
    return true;
  });
  const given = await client({ baseUrl: proxy.url }).createReward({ account: 'anna', user: 'anna', body: { type: 'CREDIT', unit: 'ONCE', assignedCredit: 5 } });
  assert.equal(proxy.calls, 2);
  assert.equal(given.id, first.id);
});

test('with a key of its own, a call that the program repeats is one', async () => {
  const give = () => client().createReward({ account: 'anna', user: 'anna', body: { type: 'CREDIT', unit: 'OWN', assignedCredit: 5 } }, { idempotencyKey: 'order-4711-npm' });
  assert.equal((await give()).id, (await give()).id);
  await assert.rejects(client().getAccount({ account: 'anna' }, { idempotencyKey: 'order-4711-npm' }), /this call takes none/);
});

const query = (c) => c.runGraphql({ body: { query: '{__typename}' } });
const read = (c) => c.getAccount({ account: 'anna' });
for (const [name, status, retryAfter, call, calls, ok] of [
  ['a call that changes nothing, after 503', 503, '1', read, 2, true],
  ['a POST without key, after 503', 503, '1', query, 1, false],
  ['a POST without key, after 429: it was not done', 429, '1', query, 2, true],
  ['without Retry-After', 503, '', read, 1, false],
  ['a longer wait than maxWait', 503, '60', read, 1, false],
  ['another status', 500, '1', read, 1, false],
]) {
  test('repeats: ' + name, async () => {
    const proxy = await flakyProxy((n, response) => {
      if (n === 1) response.writeHead(status, retryAfter ? { 'retry-after': retryAfter } : {}).end();
      return n === 1;
    });
    const result = await Promise.allSettled([call(client({ baseUrl: proxy.url }))]);
    assert.equal(result[0].status, ok ? 'fulfilled' : 'rejected');
    assert.equal(proxy.calls, calls);
  });
}

test('a call is bounded, repeated after a broken connection, and can be aborted', async (t) => {
  const fetches = t.mock.method(globalThis, 'fetch').mock; // a call that is aborted early does not arrive
  const broken = await flakyProxy((n, response) => n === 1 && response.destroy());
  await read(client({ baseUrl: broken.url }));
  assert.equal(broken.calls, 2);

  const silent = await flakyProxy(() => true);
  fetches.resetCalls();
  await assert.rejects(read(client({ baseUrl: silent.url, timeout: 50, retries: 1 })), (error) => error.status === 0 && /within 50 ms/.test(error.message));
  assert.equal(fetches.callCount(), 2);

  const reason = new Error('the page was left');
  await assert.rejects(client({ baseUrl: silent.url }).getAccount({ account: 'anna' }, { signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  const aborted = client({ baseUrl: silent.url }).getAccount({ account: 'anna' }, { signal: controller.signal });
  setTimeout(() => controller.abort(reason), 20);
  await assert.rejects(aborted, reason);
  await assert.rejects(read(client({ maxAnswer: 10 })), /maxAnswer/);

  const page = (userToken) => createClient({ baseUrl: silent.url, tenant: 'demo', timeout: 50, retries: 0, userToken }).getUser({ account: 'anna', user: 'anna' });
  fetches.resetCalls();
  await assert.rejects(page(() => new Promise(() => {})), /within 50 ms/);
  await assert.rejects(page(async () => { throw reason; }), reason);
  assert.equal(fetches.callCount(), 0);
});

test('a webhook is verified; changed, old and foreign ones are refused', async () => {
  let arrived;
  const delivery = new Promise((resolve) => { arrived = resolve; });
  const endpoint = await listen(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.end();
    arrived({ headers: request.headers, body: Buffer.concat(chunks) });
  });
  const shop = client({ tenant: 'test_demo', apiKey: keys.test_demo });
  const { secret } = await shop.createSubscription({ body: { endpointUrl: endpoint } });
  await shop.testSubscription({ endpointUrl: endpoint });
  const { headers, body } = await delivery;
  for (const [h, b] of [[headers, body], [new Headers(headers), body.toString()]]) {
    const event = verifyWebhook(secret, h, b);
    assert.deepEqual([event.type, event.tenantAlias, event.live, event.id], ['test', 'test_demo', false, headers['webhook-id']]);
  }
  for (const forged of [
    () => verifyWebhook(secret, headers, body + ' '),
    () => verifyWebhook(secret, { ...headers, 'webhook-timestamp': '1700000000' }, body),
    () => verifyWebhook('whsec_' + 'A'.repeat(43) + '=', headers, body),
    () => verifyWebhook(secret, {}, body),
  ]) assert.throws(forged, SignatureError);
  assert.throws(() => verifyWebhook('secret', headers, body), TypeError);
});
