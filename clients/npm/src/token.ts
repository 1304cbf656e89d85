import { createHmac } from 'node:crypto';

/** The user of a token. Other keys are values that count only if they are signed, such as accountStatus. */
export interface TokenUser {
  accountId: string;
  id: string;
  [key: string]: unknown;
}

/**
 * Returns a user token: a JWT with which a page makes calls about the user. key is an API key of the role tokens or all.
 * Choose a short time, such as an hour, and make a token for each page.
 */
export function signUserToken(key: string, user: TokenUser, seconds = 3600): string {
  for (const name of ['accountId', 'id'] as const) {
    if (typeof user[name] !== 'string' || user[name] === '') throw new TypeError(`user.${name}: not an id; give it as a string`);
  }
  return signClaims(key, { user }, seconds);
}

/** Returns a token for visitors without ids, with which a page calls upsertCookieUser. */
export function signAnonymousToken(key: string, seconds = 3600): string {
  return signClaims(key, { allowAnonymous: true }, seconds);
}

function signClaims(key: string, claims: object, seconds: number): string {
  if (!key) throw new TypeError('key: empty; give an API key of the role tokens');
  if (!(seconds >= 1 && Number.isFinite(seconds))) throw new TypeError('seconds: less than 1; give a time such as 3600');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = encode({ alg: 'HS256', typ: 'JWT' }) + '.' + encode({ ...claims, exp: Math.floor(Date.now() / 1000 + seconds) });
  return signed + '.' + createHmac('sha256', key).update(signed).digest('base64url');
}
