/**
 * The client for pages. It has the calls that a page may make, and never the API key.
 *
 *   const kith = createClient({ tenant: 'shop', userToken });
 *   const { shareLinks } = await kith.getShareUrls({ account: 'anna', user: 'anna' });
 *
 * @module
 */
import { checkedBase, methods, type CallOptions, type Limits } from './call.js';
import { visitorsCode } from './code.js';
import { forPages } from './generated/operations.js';
import type { Methods } from './types.js';

export { KithError, once } from './error.js';
export type { CallOptions, Limits } from './call.js';
export type { Input, Output } from './types.js';
export type { components } from './generated/schema.js';

/** Options of the client for pages. */
export interface ClientOptions extends Limits {
  /** The alias of the tenant. */
  tenant: string;
  /** The URL of an edge. Default: the origin of the page, which a proxy shares with Kith. Required where there is no page. */
  baseUrl?: string;
  /** The token of the user, which your server signs, or a function that returns it. It is called for each attempt. */
  userToken?: string | (() => string | undefined | Promise<string | undefined>);
}

/** The client for pages. */
export interface Client extends Methods<keyof typeof forPages, CallOptions> {
  /** The alias of the tenant. */
  readonly tenant: string;
  /**
   * Resolves to the referral code with which the visitor came, or to ''. A code that Kith does not know is not given,
   * nor any code while Kith cannot be reached.
   */
  referralCode(options?: CallOptions): Promise<string>;
}

/** Returns a client for pages. */
export function createClient(options: ClientOptions): Client {
  if ('apiKey' in options) throw new TypeError('apiKey: must never reach a page; give a userToken, or use @kith/client/server');
  const { tenant, userToken } = options;
  const baseUrl = checkedBase(options.baseUrl ?? globalThis.location?.origin ?? '', tenant);
  const client: Client = {
    ...methods<keyof typeof forPages, CallOptions>(forPages, {
      ...options,
      baseUrl,
      credentials: 'include',
      newKey,
      async headers(): Promise<Record<string, string>> {
        const token = typeof userToken === 'function' ? await userToken() : userToken;
        return token ? { authorization: 'Bearer ' + token } : {};
      },
    }),
    tenant,
    referralCode: (callOptions) => visitorsCode(client, baseUrl, callOptions),
  };
  return client;
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
