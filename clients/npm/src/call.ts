import { KithError } from './error.js';
import type { Operation } from './generated/operations.js';
import type { Methods, OperationName } from './types.js';

/** Limits of every call. */
export interface Limits {
  /** The time limit of one attempt in milliseconds. Default: 10000. */
  timeout?: number;
  /** How often a call is sent again at most. Default: 2. */
  retries?: number;
  /** The longest wait between two attempts in milliseconds. If the service asks for a longer one, the call fails. Default: 30000. */
  maxWait?: number;
  /** The most bytes of an answer. Default: 16 MiB. */
  maxAnswer?: number;
}

/** How a client sends its calls. */
export interface Transport extends Limits {
  baseUrl: string;
  tenant: string;
  /** The credentials, as headers. */
  headers(): Promise<Record<string, string>>;
  /** A new idempotency key. */
  newKey(): string;
  credentials?: RequestCredentials;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call. */
  signal?: AbortSignal | undefined;
  /**
   * For calls such as createReward, whose body takes no key: the key of this call, 8 to 64 of A-Z, a-z, 0-9, -, _ and .; a call
   * that is repeated with it within 24 hours has no further effect and the same answer. Default: a random one, for the attempts
   * of this call only.
   */
  idempotencyKey?: string | undefined;
}

interface Prepared {
  method: string;
  path: string;
  url: string;
  body: string | undefined;
  headers: Record<string, string> | undefined;
  repeatable: boolean;
  keyed: boolean;
  flatLinks: string | undefined;
}

/** Checks what is common to the options of all clients, and returns the URL without a slash at its end. */
export function checkedBase(baseUrl: string, tenant: string): string {
  let url;
  try {
    url = new URL(baseUrl);
  } catch {
    // The message is below.
  }
  if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError('baseUrl: not an http or https URL; give one such as https://shop.example');
  if (url.username || url.password || url.search || url.hash) throw new TypeError('baseUrl: must not have credentials, a query or a fragment; leave them out');
  if (!tenant) throw new TypeError('tenant: empty; give the alias of the tenant');
  return url.href.replace(/\/$/, '');
}

/** Returns the operations of a table as methods. */
export function methods<Names extends OperationName, Options extends CallOptions>(
  table: Record<string, Operation>,
  transport: Transport,
  extraHeaders: (options: Options) => Record<string, string> | undefined = () => undefined,
): Methods<Names, Options> {
  const all: Record<string, unknown> = {};
  for (const [name, operation] of Object.entries(table)) {
    all[name] = async (input: Record<string, unknown> = {}, options = {} as Options) =>
      send(transport, prepare(transport, operation, input, extraHeaders(options), options.idempotencyKey), options.signal);
  }
  return all as Methods<Names, Options>;
}

function prepare(transport: Transport, [method, path, query, flags, flatLinks]: Operation, input: Record<string, unknown>, headers?: Record<string, string>, key?: string): Prepared {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = name === 'tenant' ? transport.tenant : String(input[name] ?? '');
    // URL parsers would resolve these two segments.
    if (value === '' || value === '.' || value === '..') throw new TypeError(`${name}: '${value}' cannot be a part of a URL; give another value`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const name of query.split(' ')) {
    if (name && input[name] != null) search.set(name, String(input[name]));
  }
  const queryText = String(search);
  const keyed = flags.includes('i');
  if (key !== undefined && !flags.includes('o')) throw new TypeError(`idempotencyKey: ${keyed ? 'is part of the body of this call' : 'this call takes none'}`);
  let body = input.body as Record<string, unknown> | undefined;
  if (keyed && body && body.idempotencyKey == null) body = { ...body, idempotencyKey: transport.newKey() };
  return {
    method,
    path,
    url: transport.baseUrl + filled + (queryText && '?' + queryText),
    body: flags.includes('b') && body !== undefined ? JSON.stringify(body) : undefined,
    headers: flags.includes('o') ? { ...headers, 'Idempotency-Key': key ?? transport.newKey() } : headers,
    repeatable: keyed || flags.includes('r'),
    keyed,
    flatLinks,
  };
}

async function send(transport: Transport, call: Prepared, signal: AbortSignal | undefined): Promise<unknown> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await sendOnce(transport, call, signal);
    } catch (error) {
      const wait = error instanceof KithError && attempt < (transport.retries ?? 2) ? waitFor(error, call, attempt) : -1;
      if (wait < 0 || wait > (transport.maxWait ?? 30_000)) throw error;
      await sleep(wait, signal);
    }
  }
}

/**
 * Returns how many milliseconds to wait before the next attempt; -1: there is none. The service does nothing for a call
 * that it answers with 429. After a 503, or without an answer, it is unknown whether it did the call.
 */
function waitFor(error: KithError, call: Prepared, attempt: number): number {
  if (error.status === 0) return call.repeatable ? 100 * 2 ** attempt : -1;
  const again = error.status === 429 || (error.status === 503 && call.repeatable);
  return again && error.retryAfter > 0 ? error.retryAfter * 1000 : -1;
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, milliseconds);
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** Sends a call once. Rejects with a KithError, the reason of the caller's signal, or what the function for the token threw. */
async function sendOnce(transport: Transport, call: Prepared, signal: AbortSignal | undefined): Promise<unknown> {
  signal?.throwIfAborted();
  const timeout = transport.timeout ?? 10_000;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new KithError(`${call.method} ${call.path}: no answer within ${timeout} ms`)), timeout);
  const abort = () => controller.abort(signal!.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const headers: Record<string, string> = { accept: 'application/json', ...call.headers, ...(await unlessAborted(controller.signal, transport.headers())) };
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    return await exchange(transport, call, headers, controller);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Resolves to the result of a promise; rejects with the reason of the signal if that is aborted first. */
function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

async function exchange(transport: Transport, call: Prepared, headers: Record<string, string>, controller: AbortController): Promise<unknown> {
  try {
    const response = await fetch(call.url, {
      method: call.method,
      headers,
      signal: controller.signal,
      redirect: 'error',
      ...(call.body === undefined ? {} : { body: call.body }),
      ...(transport.credentials ? { credentials: transport.credentials } : {}),
    });
    const text = await readBounded(response, transport.maxAnswer ?? 16 << 20, call);
    if (!response.ok) throw failure(response, text, call.keyed);
    return parsed(text, call);
  } catch (cause) {
    controller.signal.throwIfAborted();
    if (cause instanceof KithError) throw cause;
    throw new KithError(`${call.method} ${call.path}: no answer: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

async function readBounded(response: Response, most: number, call: Prepared): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = '';
  for (let size = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > most) {
      await reader.cancel();
      throw new KithError(`${call.method} ${call.path}: the answer has more than ${most} bytes; raise maxAnswer or lower limit`, { status: response.status });
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string, call: Prepared): unknown {
  if (text === '') return undefined;
  try {
    const answer = JSON.parse(text);
    for (const place of call.flatLinks?.split(' ') ?? []) addCleanLink(answer, place ? place.split('.') : []);
    return answer;
  } catch (cause) {
    throw new KithError(`${call.method} ${call.path}: the answer is not JSON; check baseUrl and the proxies in between`, { status: 200, cause });
  }
}

/** Adds the link without mediums to share links in the older form, which lack it. path leads there from a node of the answer, also through lists. */
function addCleanLink(node: any, path: string[]): void {
  if (Array.isArray(node)) node.forEach((element) => addCleanLink(element, path));
  else if (path.length) addCleanLink(node?.[path[0]!], path.slice(1));
  else if (typeof node?.shareLink === 'string') node.cleanShareLink = node.shareLink.split('?')[0];
}

function failure(response: Response, text: string, keyed: boolean): KithError {
  let body: Record<string, unknown> = {};
  try {
    body = Object(JSON.parse(text));
    const first = (body.errors as { message?: string }[] | undefined)?.[0];
    // An error of GraphQL.
    if (first) body = { ...Object((body.extensions as { apiError?: object } | undefined)?.apiError), message: first.message };
  } catch {
    // It is an answer of a proxy.
  }
  const word = (name: string) => (typeof body[name] === 'string' ? body[name] : '');
  const seconds = response.headers.get('retry-after') ?? '';
  const apiErrorCode = word('apiErrorCode');
  return new KithError(word('message') || 'the answer is not one of Kith; check baseUrl and the proxies in between', {
    status: response.status,
    apiErrorCode,
    rsCode: word('rsCode'),
    requestId: response.headers.get('x-request-id') ?? '',
    retryAfter: /^\d{1,5}$/.test(seconds) ? Number(seconds) : 0,
    duplicate: keyed && response.status === 409 && apiErrorCode === 'CONFLICT' && body.differs !== true,
  });
}
