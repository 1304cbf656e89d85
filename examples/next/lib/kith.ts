// All that the shop's server asks and reports to Kith. The API key never reaches a page.
import { createServerClient, forwardedVisitor, once, signUserToken } from '@kith/client/server';
import type { Customer, Order } from './shop';

function setting(name: string, what: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name}: not set; give ${what}`);
  return value;
}
export const baseUrl = setting('KITH_URL', 'the origin of Kith, such as http://localhost:3000');
export const tenant = setting('KITH_TENANT', 'the alias of your tenant, such as test_next');
const apiKey = setting('KITH_API_KEY', 'the API key of the tenant');
const tokenKey = setting('KITH_TOKEN_KEY', 'the key of the tenant that signs user tokens');
const kith = createServerClient({ baseUrl, tenant, apiKey, timeout: 3000 });

/** What the visitor's code gives, and whether the cookie of the share link has it. Undefined without a known code. */
export async function offerOf(headers: Headers, rsCode: string) {
  try {
    const { code } = await kith.getReferralCookie({}, { visitor: forwardedVisitor(headers, tenant) });
    if (!code && !rsCode) return undefined;
    return { ...(await kith.getPublicCode({ code: code || rsCode })), inCookie: Boolean(code) };
  } catch (error) {
    return report(error); // also an unknown code
  }
}

/** Identifies a new customer. The cookie of the share link attributes the customer, or a code that was typed. */
export function identify(headers: Headers, { id, name, email }: Customer, code: string) {
  const body = { firstName: name, email, referredByCodes: code ? [code] : [] };
  const visitor = forwardedVisitor(headers, tenant);
  return send(() => kith.upsertUser({ account: id, user: id, body }, { visitor }));
}

/** Reports an order that is paid. */
export function reportOrder({ id, customer, cost }: Order) {
  const events = [{ key: 'purchase', fields: { order_id: id, revenue: cost / 100, currency: 'USD' } }];
  return send(() => kith.logEvents({ account: customer, user: customer, body: { idempotencyKey: `order-${id}`, events } }));
}

/** Reports that a whole order was refunded: what it earned is taken back. */
export function reportRefund({ id, customer }: Order) {
  const events = [{ key: 'refund', fields: { order_id: id, refund_id: id, currency: 'USD' } }];
  return send(() => kith.logEvents({ account: customer, user: customer, body: { idempotencyKey: `refund-${id}`, events } }));
}

/** What a customer's own page shows. Undefined while Kith cannot be reached. */
export async function standingOf(id: string) {
  const ids = { account: id, user: id };
  try {
    const [user, { discountPercentage }, balances] = await Promise.all([
      kith.getUserWithKey(ids), kith.getAccountReward(ids), kith.listRewardBalances({ accountId: id }),
    ]);
    const credit = balances.find((balance) => balance.unit === 'CENTS');
    return {
      link: user.shareLinks?.cleanShareLink,
      discount: discountPercentage,
      // The balance has availableCredit once a refund has taken credit back.
      credit: credit ? (credit.availableCredit ?? (credit.totalAssignedCredit ?? 0) - (credit.totalRedeemedCredit ?? 0)) : 0,
      // The widget calls Kith itself with this token, which is good for this customer only.
      token: signUserToken(tokenKey, { accountId: id, id }),
    };
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): undefined {
  console.error(error instanceof Error ? error.message : error);
}

// Calls that Kith has not accepted yet, in their order. A real shop keeps them in its
// database, and stores one in the transaction of the order that it is about.
const outbox: (() => Promise<unknown>)[] = [];
let sending: Promise<void> | undefined;

function send(call: () => Promise<unknown>): Promise<void> {
  outbox.push(call);
  return drainOnce();
}

function drainOnce(): Promise<void> {
  sending ??= drain().finally(() => { sending = undefined; });
  return sending;
}

/** Sends the outbox. What fails stays there, and is sent again: a call counts once, however often it is sent. */
async function drain() {
  for (let call = outbox[0]; call; call = outbox[0]) {
    try {
      await once(call());
    } catch (error) {
      report(error);
      // A call that Kith refused would be refused again: it needs a developer, and the next ones are sent.
      if (![400, 404, 409, 413].includes((error as { status: number }).status)) return;
    }
    outbox.shift();
  }
}
setInterval(drainOnce, 1000).unref();
