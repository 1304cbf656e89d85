// What the types permit. tsc checks this file and runs nothing.
import { createClient } from '@kith/client';
import { createServerClient, type Output } from '@kith/client/server';

const server = createServerClient({ baseUrl: 'https://shop.example', tenant: 'shop', apiKey: 'key' });
const page = createClient({ tenant: 'shop', userToken: () => 'token' });

export async function permitted(): Promise<string | null | undefined> {
  const user: Output<'upsertUser'> = await server.upsertUser({ account: 'a', user: 'u', body: { firstName: 'Anna' } });
  await server.deleteAccount({ account: 'a', doNotTrack: true });
  const { keys } = await server.listKeys();
  await page.countVisit({ rsCode: 'ANNA10', rsShareMedium: 'FACEBOOK' }, { signal: AbortSignal.timeout(1) });
  const link: string | undefined = user.shareLinks?.cleanShareLink;
  return link ?? keys[0]?.secret ?? user.referralCode;
}

export async function refused(): Promise<void> {
  // @ts-expect-error: a page has no calls that need the API key
  await page.syncAccount({ body: { id: 'a' } });
  // @ts-expect-error: the body is missing
  await server.upsertUser({ account: 'a', user: 'u' });
  // @ts-expect-error: the parameters are missing
  await server.getAccount();
  // @ts-expect-error: an unknown key of the body
  await server.syncAccount({ body: { id: 'a', plan: 'pro' } });
  // @ts-expect-error: an unknown status
  await server.syncAccount({ body: { id: 'a', subscription: { status: 'PAYED' } } });
  // @ts-expect-error: the client has the tenant
  await server.getAccount({ tenant: 'shop', account: 'a' });
}
