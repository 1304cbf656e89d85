// What server.mjs does for a customer, with @kith/client: TENANT=… API_KEY=… node client.mjs CODE
import { createServerClient, once } from '@kith/client/server';

const { TENANT, API_KEY, KITH = 'http://127.0.0.1:3000' } = process.env;
const kith = createServerClient({ baseUrl: KITH, tenant: TENANT, apiKey: API_KEY });
const erin = { account: 'erin', user: 'erin' };

await kith.upsertUser({ ...erin, body: { firstName: 'Erin', referredByCodes: [process.argv[2]] } });
await kith.syncAccount({ body: { id: 'erin', subscription: { status: 'PAID' } } });
const { referrals } = await kith.listReferrals({ referredAccountId: 'erin' });
console.log(`The referral of Erin is ${referrals[0].state}.`);

// With a key of your own, the second call records nothing and is no error.
const body = { idempotencyKey: 'order-0002', events: [{ key: 'purchase', fields: { revenue: 29, currency: 'USD' } }] };
for (const attempt of [1, 2]) {
  const stored = await once(kith.logEvents({ ...erin, body }));
  console.log(`Attempt ${attempt} recorded ${stored ? stored.events.length : 0} events.`);
}
