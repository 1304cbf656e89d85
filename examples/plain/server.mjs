// A small shop: sign-up, orders, refunds, and a page for each customer. README.md says how to run it.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { baseUrl, identify, offerOf, reportOrder, reportRefund, standingOf, tenant } from './kith.mjs';
import { html, page } from './page.mjs';

const price = 8000; // cents
// A real shop has a database, passwords and payments.
const customers = new Map(); // by session
const orders = new Map(); // by id; state is open, paid or refunded

const customerOf = (request) => customers.get(/(?:^|; )session=([^;]*)/.exec(request.headers.cookie)?.[1]);
const dollars = (cents) => `$${(cents / 100).toFixed(2)}`;

/** The landing page: what the friend gives, and the form. */
async function visitorPage(request, url) {
  const offer = await offerOf(request, url.searchParams.get('rsCode'));
  return page(html`
    <p>A pair of shoes: ${dollars(price)}</p>
    ${offer ? html`<p id="offer">${offer.referrerName || 'A friend'} gives you ${offer.discountPercentage}% off your first order.</p>` : ''}
    <form method="post" action="/signup">
      <label>Name <input name="name" required></label>
      <label>E-mail <input name="email" type="email" required></label>
      <label>Referral code, if you have one <input name="code" value="${offer && !offer.inCookie ? offer.code : ''}"></label>
      <button>Sign up</button>
    </form>`);
}

/** The page of a customer who is signed in: discount, share link, rewards and orders. */
async function customerPage(customer) {
  const standing = await standingOf(customer.id);
  const own = [...orders.values()].filter((order) => order.customer === customer.id);
  const closed = own.filter((order) => order.state !== 'open');
  const cart = own.find((order) => order.state === 'open') ?? { id: randomUUID(), customer: customer.id, state: 'open', cost: price };
  // The discount is for the first order. What the page shows is what the customer pays.
  if (standing) cart.cost = Math.round(price * (1 - (closed.length ? 0 : standing.discount / 100)));
  orders.set(cart.id, cart);
  return page(html`
    <p>Welcome, ${customer.name}. Your customer number: <span id="customer">${customer.id}</span></p>
    <form method="post" action="/order">
      <input type="hidden" name="id" value="${cart.id}">
      <button>Buy the shoes for ${dollars(cart.cost)}</button>
    </form>
    <ul>${closed.map((order) => html`<li>Order ${order.id}: ${dollars(order.cost)} ${order.state === 'refunded' ? 'refunded' : html`
      <form method="post" action="/refund"><input type="hidden" name="id" value="${order.id}"><button>Refund</button></form>`}</li>`)}</ul>
    ${standing ? html`
      <p>Your share link: <a id="link" href="${standing.link}">${standing.link}</a></p>
      <p id="credit">Your credit: ${dollars(standing.credit)}</p>
      <iframe title="Refer a friend" data-token="${standing.token}" data-url="${baseUrl}/api/v1/${tenant}/widget/account/${customer.id}/user/${customer.id}/render"></iframe>
      <script type="module">
        const frame = document.querySelector('iframe');
        const answer = await fetch(frame.dataset.url, { headers: { authorization: 'Bearer ' + frame.dataset.token } });
        frame.srcdoc = (await answer.json()).template;
      </script>` : html`<p>Your share link cannot be shown now.</p>`}`);
}

async function signUp(form, request) {
  const session = randomUUID();
  const customer = { id: randomUUID(), name: form.get('name'), email: form.get('email') };
  customers.set(session, customer);
  await identify(request, { ...customer, code: form.get('code') });
  return { 'set-cookie': `session=${session}; Path=/; HttpOnly; SameSite=Lax` };
}

/** Changes the state of an order of this customer, and reports it. A form that is sent twice changes it once. */
const change = (from, to, report) => async (form, request) => {
  const order = orders.get(form.get('id'));
  if (order?.state !== from || order.customer !== customerOf(request)?.id) return {};
  order.state = to;
  await report(order);
  return {};
};

const actions = { '/signup': signUp, '/order': change('open', 'paid', reportOrder), '/refund': change('paid', 'refunded', reportRefund) };

async function answer(request, response) {
  const url = new URL(request.url, 'http://shop');
  const action = request.method === 'POST' && actions[url.pathname];
  if (action) {
    let body = '';
    for await (const chunk of request) body += chunk;
    return response.writeHead(303, { location: '/', ...(await action(new URLSearchParams(body), request)) }).end();
  }
  if (url.pathname !== '/') return response.writeHead(404).end();
  const customer = customerOf(request);
  const text = await (customer ? customerPage(customer) : visitorPage(request, url));
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(text);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end('This did not work. Try again.');
  });
});
server.listen(process.env.PORT ?? 4000, '127.0.0.1', () => console.log(`The shop listens on http://localhost:${server.address().port}`));
