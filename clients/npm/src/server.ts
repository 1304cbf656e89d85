/**
 * The client for servers. It sends the API key, so it must never reach a page.
 *
 *   const kith = createServerClient({ baseUrl: 'https://shop.example', tenant: 'shop', apiKey: process.env.API_KEY });
 *   await kith.upsertUser({ account: 'bob', user: 'bob', body: { email: 'bob@example.com' } }, { visitor });
 *
 * @module
 */
import { randomUUID } from 'node:crypto';

import { checkedBase, methods, type CallOptions, type Limits } from './call.js';
import { forPages, forServers } from './generated/operations.js';
import { header, type RequestHeaders } from './headers.js';
import type { Methods } from './types.js';

export { KithError, once } from './error.js';
export { signAnonymousToken, signUserToken, type TokenUser } from './token.js';
export { SignatureError, verifyWebhook, type Webhook } from './webhook.js';
export type { CallOptions, Limits } from './call.js';
export type { RequestHeaders } from './headers.js';
export type { Input, Output } from './types.js';
export type { components } from './generated/schema.js';

/** Options of the client for servers. */
export interface ServerOptions extends Limits {
  /** The URL of an edge or a backend. */
  baseUrl: string;
  /** The alias of the tenant. */
  tenant: string;
  /** The API key. */
  apiKey: string | undefined;
}

/** What a server passes on of a visitor's request: see forwardedVisitor. */
export interface Visitor {
  cookie?: string;
  'sec-gpc'?: string;
  dnt?: string;
}

/** Options of one call of a server. */
export interface ServerCallOptions extends CallOptions {
  /** The visitor for whom the server calls. Without it, no cookie of a share link counts. */
  visitor?: Visitor | undefined;
}

/** The client for servers: all operations but those for files and redirects. */
export type ServerClient = Methods<keyof typeof forPages | keyof typeof forServers, ServerCallOptions> & {
  /** The alias of the tenant. */
  readonly tenant: string;
};

/** Returns a client for servers. It refuses to run in a page. */
export function createServerClient(options: ServerOptions): ServerClient {
  if (typeof window !== 'undefined' && typeof document !== 'undefined') {
    throw new Error('@kith/client/server runs on servers only: the API key must never reach a page; use @kith/client');
  }
  const { tenant, apiKey } = options;
  const baseUrl = checkedBase(options.baseUrl, tenant);
  if (!apiKey || !/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey: not an API key; give the one of the tenant');
  const authorization = 'Basic ' + btoa(':' + apiKey);
  const transport = { ...options, baseUrl, newKey: randomUUID, headers: async () => ({ authorization }) };
  return {
    ...methods<keyof typeof forPages | keyof typeof forServers, ServerCallOptions>({ ...forPages, ...forServers }, transport, (o) => visitorHeaders(o.visitor)),
    tenant,
  };
}

function visitorHeaders(visitor: Visitor = {}): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of ['cookie', 'sec-gpc', 'dnt'] as const) {
    if (visitor[name]) headers[name] = visitor[name];
  }
  return headers;
}

/**
 * Returns what Kith needs of a visitor's request: the cookies of Kith and of the visitor's consent, and the privacy
 * signals of the browser. Other cookies, such as that of the session, are left out.
 */
export function forwardedVisitor(headers: RequestHeaders, tenant: string, consentCookie?: string): Visitor {
  const kept = ['kith_' + tenant, '_saasquatch', consentCookie];
  const cookies = header(headers, 'cookie').split(/; */).filter((pair) => kept.includes(pair.split('=')[0]));
  return { cookie: cookies.join('; '), 'sec-gpc': header(headers, 'sec-gpc'), dnt: header(headers, 'dnt') };
}
