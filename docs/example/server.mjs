// The server of a small shop: TENANT=test_shop API_KEY=… node server.mjs
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';

const { TENANT, API_KEY, CONSENT_COOKIE, KITH = 'http://127.0.0.1:3000', PORT = 4000 } = process.env;
const forwarded = [`kith_${TENANT}`, '_saasquatch', CONSENT_COOKIE]; // the cookies that go along
const userPath = (id) => `/open/account/${encodeURIComponent(id)}/user/${encodeURIComponent(id)}`;
const page = readFileSync('index.html', 'utf8').replaceAll('TENANT', TENANT);

// Calls Kith with the API key, which never leaves this server.
async function kith(method, path, body, visitor = {}) {
  const headers = { ...visitor, authorization: 'Basic ' + btoa(':' + API_KEY), 'content-type': 'application/json' };
  const answer = await fetch(`${KITH}/api/v1/${TENANT}${path}`, { method, headers, body: JSON.stringify(body) });
  const result = await answer.json();
  const repeated = answer.status === 409 && !result.differs; // Kith has these events already
  if (!answer.ok && !repeated) throw new Error(`Kith: ${answer.status} ${result.message}`);
  return result;
}

// A new customer. The cookie of the share link goes along, with what the visitor said
// about cookies; the shop's other cookies do not.
async function signUp({ name, email, code }, { cookie = '', 'sec-gpc': gpc = '', dnt = '' }) {
  const id = name.toLowerCase(); // A real shop has ids of its own.
  const cookies = cookie.split('; ').filter((c) => forwarded.includes(c.split('=')[0]));
  const user = { firstName: name, email, referredByCodes: code ? [code] : [] };
  return kith('PUT', userPath(id), user, { cookie: cookies.join('; '), 'sec-gpc': gpc, dnt });
}

// A payment. The first one of an account converts its referral. A real shop takes
// the id from its session and the sum from the order.
async function pay({ id, order }) {
  const subscription = { status: 'PAID', value: 29, billingIntervalType: 'MONTH', billingIntervalValue: 1 };
  await kith('POST', '/accountsync', { id, subscription });
  const events = [{ key: 'purchase', fields: { order_id: order, revenue: 29, currency: 'USD' } }];
  return kith('POST', userPath(id) + '/events', { idempotencyKey: order, events });
}

const actions = { '/signup': signUp, '/pay': pay };
createServer(async (request, response) => {
  const action = request.method === 'POST' && actions[request.url];
  if (!action) return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
  try {
    let body = '';
    for await (const chunk of request) body += chunk;
    response.end(JSON.stringify(await action(JSON.parse(body), request.headers)));
  } catch (error) {
    response.writeHead(502).end(JSON.stringify({ message: error.message }));
  }
}).listen(PORT, '127.0.0.1', () => console.log(`The shop listens on http://127.0.0.1:${PORT}`));
