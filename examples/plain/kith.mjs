// All that the shop asks and reports to Kith. The API key stays in this process.
import { createServerClient, forwardedVisitor, once, signUserToken } from '@kith/client/server';

const settings = {
  KITH_URL: 'the origin of Kith, such as http://localhost:3000',
  KITH_TENANT: 'the alias of your tenant, such as test_plain',
  KITH_API_KEY: 'the API key of the tenant',
  KITH_TOKEN_KEY: 'the key of the tenant that signs user tokens',
};
const unset = Object.keys(settings).filter((name) => !process.env[name]);
if (unset.length) {
  for (const name of unset) console.error(`${name}: not set; give ${settings[name]}`);
  process.exit(1);
}
export const { KITH_URL: baseUrl, KITH_TENANT: tenant } = process.env;
const kith = createServerClient({ baseUrl, tenant, apiKey: process.env.KITH_API_KEY, timeout: 3000 });

/** What the visitor's code gives, and whether the cookie of the share link has it. Undefined without a known code. */
export async function offerOf(request, rsCode) {
  try {
    const visitor = forwardedVisitor(request.headers, tenant);
    const { code } = await kith.getReferralCookie({}, { visitor });
    if (!code && !rsCode) return undefined;
    return { ...(await kith.getPublicCode({ code: code || rsCode })), inCookie: Boolean(code) };
  } catch (error) {
    if (error.status !== 404) console.error(error.message); // 404: an unknown code
    return undefined;
  }
}

/** Identifies a new customer. The cookie of the share link attributes the customer, or a code that was typed. */
export function identify(request, { id, name, email, code }) {
  const body = { firstName: name, email, referredByCodes: code ? [code] : [] };
  return report('upsertUser', { account: id, user: id, body }, { visitor: forwardedVisitor(request.headers, tenant) });
}

/** Reports an order that is paid. cost is what the customer paid, in cents. */
export function reportOrder({ id, customer, cost }) {
  const events = [{ key: 'purchase', fields: { order_id: id, revenue: cost / 100, currency: 'USD' } }];
  return report('logEvents', { account: customer, user: customer, body: { idempotencyKey: `order-${id}`, events } });
}

/** Reports that a whole order was refunded: what it earned is taken back. */
export function reportRefund({ id, customer }) {
  const events = [{ key: 'refund', fields: { order_id: id, refund_id: id, currency: 'USD' } }];
  return report('logEvents', { account: customer, user: customer, body: { idempotencyKey: `refund-${id}`, events } });
}

/** What a customer's own page shows. Undefined while Kith cannot be reached. */
export async function standingOf(id) {
  const ids = { account: id, user: id };
  try {
    const [user, { discountPercentage }, balances] = await Promise.all([
      kith.getUserWithKey(ids), kith.getAccountReward(ids), kith.listRewardBalances({ accountId: id }),
    ]);
    const credit = balances.find((balance) => balance.unit === 'CENTS');
    return {
      link: user.shareLinks.cleanShareLink,
      discount: discountPercentage,
      // The balance has availableCredit once a refund has taken credit back.
      credit: credit ? (credit.availableCredit ?? credit.totalAssignedCredit - credit.totalRedeemedCredit) : 0,
      // The page calls Kith itself with this token, which is good for this customer only.
      token: signUserToken(process.env.KITH_TOKEN_KEY, { accountId: id, id }),
    };
  } catch (error) {
    console.error(error.message);
    return undefined;
  }
}

// Reports that Kith has not accepted yet, in their order. A real shop keeps them in its
// database, and stores one in the transaction of the order that it is about.
const outbox = [];
let sending;

function report(operation, input, options) {
  outbox.push({ operation, input, options });
  return send();
}

/** Sends the outbox. What fails stays there, and is sent again: a report counts once, however often it is sent. */
function send() {
  sending ??= drain().finally(() => { sending = undefined; });
  return sending;
}

async function drain() {
  while (outbox.length) {
    const { operation, input, options } = outbox[0];
    try {
      await once(kith[operation](input, options));
    } catch (error) {
      console.error(`${operation}: ${error.message}`);
      // A call that Kith refused would be refused again: it needs a developer, and the next ones are sent.
      if (![400, 404, 409, 413].includes(error.status)) return;
    }
    outbox.shift();
  }
}
setInterval(send, 1000).unref();
