import { createHmac, timingSafeEqual } from 'node:crypto';

import { header, type RequestHeaders } from './headers.js';

/** An event that Kith sends to your server. */
export interface Webhook {
  /** The id of the event. An event may be sent several times: handle each id once. */
  id: string;
  /** The type of the event, such as user.created. Ignore types that you do not know. */
  type: string;
  tenantAlias: string;
  /** False for a test tenant. */
  live: boolean;
  /** When it happened, in epoch milliseconds. */
  created: number;
  /** What the event is about, such as referral/ID. Webhooks arrive in any order. */
  subject: string;
  /** Orders the events of a subject: ignore one that has a lower number than one you have handled, unless you need each. */
  sequence: number;
  /** Depends on the type. */
  data: unknown;
}

/** A webhook that is not from Kith: answer it with 401. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/**
 * Verifies the headers of a webhook (Standard Webhooks) with the secret of your subscription, and parses the body, which
 * must be as received. Limit its bytes when you read it. tolerance is how many seconds the webhook's time may differ
 * from the clock.
 */
export function verifyWebhook(secret: string, headers: RequestHeaders, body: string | Uint8Array, tolerance = 300): Webhook {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.alloc(0);
  if (!key.length) throw new TypeError('secret: not a secret of a subscription; give whsec_ and what follows');
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  if (!id || !/^\d{1,12}$/.test(timestamp)) throw new SignatureError('the webhook has no webhook-id or webhook-timestamp');
  const off = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (off > tolerance) throw new SignatureError(`the time of the webhook differs from the clock by ${Math.round(off)} s`);
  const want = Buffer.from('v1,' + createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64'));
  let valid = false;
  for (const text of header(headers, 'webhook-signature').split(' ')) {
    const signature = Buffer.from(text);
    valid = (signature.length === want.length && timingSafeEqual(signature, want)) || valid;
  }
  if (!valid) throw new SignatureError('the signature of the webhook is not valid');
  return JSON.parse(Buffer.from(body as Uint8Array).toString()) as Webhook;
}
