// A small shop whose orders are paid at Stripe. It reports no order and no refund to Kith: Stripe
// notifies Kith of both. README.md says how to run it.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createServerClient, forwardedVisitor } from '@kith/client/server';
import Stripe from 'stripe';

const settings = {
  KITH_URL: 'the origin of Kith, such as http://localhost:3000',
  KITH_TENANT: 'the alias of your tenant, such as test_stripe',
  KITH_API_KEY: 'the API key of the tenant',
  STRIPE_KEY: 'the secret key of your shop at Stripe',
  SHOP_URL: 'the origin of the shop, such as http://localhost:4000',
};
const unset = Object.keys(settings).filter((name) => !process.env[name]);
if (unset.length) {
  for (const name of unset) console.error(`${name}: not set; give ${settings[name]}`);
  process.exit(1);
}
const { KITH_URL: baseUrl, KITH_TENANT: tenant, KITH_API_KEY: apiKey, STRIPE_KEY, STRIPE_URL = 'https://api.stripe.com', SHOP_URL } = process.env;
const kith = createServerClient({ baseUrl, tenant, apiKey, timeout: 3000 });
const { hostname: host, port, protocol } = new URL(STRIPE_URL); // Stripe, or the Stripe lab
const stripe = new Stripe(STRIPE_KEY, { host, port, protocol: protocol.slice(0, -1) });

const price = 8000; // cents
const customers = new Map(); // by session of the browser; a real shop has a database and passwords
const customerOf = (request) => customers.get(/(?:^|; )session=([^;]*)/.exec(request.headers.cookie)?.[1]);

/** Identifies a customer, once. The cookie of the share link attributes the customer. */
async function identify(customer) {
  const { id, name, email, code, visitor } = customer;
  const body = { firstName: name, email, referredByCodes: code ? [code] : [] };
  customer.user ??= await kith.upsertUser({ account: id, user: id, body }, { visitor });
  return customer.user;
}

/** Stripe's promotion code with the friend's discount, for the first order. Undefined without a referral, and until Kith has made it. */
async function promotionOf(customer, orders) {
  if (orders.length) return undefined;
  try {
    const { referredBy } = await identify(customer);
    if (referredBy) customer.promotion = (await kith.createPromotionCode({ code: referredBy.code })).promotionCode ?? undefined;
  } catch (error) {
    report(error);
  }
  return customer.promotion; // as last known: what the page promised is in the checkout
}

/** Opens Stripe's page, on which the customer pays. Kith reads the account and the user in the metadata. */
async function buy(customer) {
  const promotion = await promotionOf(customer, await ordersOf(customer));
  const session = await stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: price, product_data: { name: 'Shoes' } } }],
    ...(promotion ? { discounts: [{ promotion_code: promotion }] } : {}),
    metadata: { kith_account: customer.id, kith_user: customer.id },
    customer_email: customer.email,
    success_url: SHOP_URL,
  });
  customer.sessions.push(session.id);
  return session.url;
}

/** The orders of a customer that are paid, as Stripe has them. */
async function ordersOf({ sessions }) {
  const all = await Promise.all(sessions.map((id) => stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] })));
  return all.filter((session) => session.payment_status === 'paid');
}

/** Refunds an order. A form that is sent twice refunds it once. */
async function refund(customer, id) {
  const order = (await ordersOf(customer)).find((session) => session.id === id);
  if (order) await stripe.refunds.create({ payment_intent: order.payment_intent.id }, { idempotencyKey: 'refund-' + id });
  return '/';
}

/** The credit of a customer in cents. */
async function creditOf({ id }) {
  const credit = (await kith.listRewardBalances({ accountId: id })).find((balance) => balance.unit === 'CENTS');
  // The balance has availableCredit once a refund has taken credit back.
  return credit ? (credit.availableCredit ?? credit.totalAssignedCredit - credit.totalRedeemedCredit) : 0;
}

const report = (error) => console.error(error.message);
const dollars = (cents) => `$${(cents / 100).toFixed(2)}`;
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const page = (content) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Example shop</title><h1>Example shop</h1>${content}</html>`;

const visitorPage = () => page(`
  <form method="post" action="/signup">
    <label>Name <input name="name" required></label>
    <label>E-mail <input name="email" type="email" required></label>
    <label>Referral code, if you have one <input name="code"></label>
    <button>Sign up</button>
  </form>`);

async function customerPage(customer) {
  const user = await identify(customer).catch(report);
  const [credit, orders] = await Promise.all([creditOf(customer).catch(report), ordersOf(customer)]);
  const promotion = await promotionOf(customer, orders);
  return page(`
  <p>Welcome, ${escaped(customer.name)}. Your customer number: <span id="customer">${customer.id}</span></p>
  ${promotion ? '<p>You came by a friend: the checkout lowers the price of your first order.</p>' : ''}
  <form method="post" action="/buy"><button>Buy shoes for ${dollars(price)}</button></form>
  <ul>${orders.map(({ id, amount_total: paid, payment_intent: { latest_charge: charge } }) => `<li>${dollars(paid)} ${charge.refunded ? 'refunded' : `paid
    <form method="post" action="/refund"><input type="hidden" name="id" value="${id}"><button>Refund</button></form>`}</li>`).join('')}</ul>
  ${user ? `<p>Your share link: <a id="link" href="${user.shareLinks.cleanShareLink}">${user.shareLinks.cleanShareLink}</a></p>` : ''}
  ${credit === undefined ? '' : `<p>Your credit: ${dollars(credit)}</p>`}`);
}

async function post(path, form, request) {
  const customer = customerOf(request);
  if (path === '/signup') {
    const session = randomUUID();
    const { name, email, code } = Object.fromEntries(form);
    customers.set(session, { id: randomUUID(), name, email, code, visitor: forwardedVisitor(request.headers, tenant), sessions: [] });
    return { location: '/', 'set-cookie': `session=${session}; Path=/; HttpOnly; SameSite=Lax` };
  }
  if (customer && path === '/buy') return { location: await buy(customer) };
  if (customer && path === '/refund') return { location: await refund(customer, form.get('id')) };
  return { location: '/' };
}

const server = createServer(async (request, response) => {
  try {
    if (request.method === 'POST') {
      let body = '';
      for await (const chunk of request) body += chunk;
      return response.writeHead(303, await post(request.url, new URLSearchParams(body), request)).end();
    }
    const customer = customerOf(request);
    const text = customer ? await customerPage(customer) : visitorPage();
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(text);
  } catch (error) {
    report(error);
    response.writeHead(502).end('Stripe cannot be reached. Try again.');
  }
});
server.listen(process.env.PORT ?? 4000, '127.0.0.1', () => console.log(`The shop listens on ${SHOP_URL}`));
