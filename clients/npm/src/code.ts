import type { CallOptions } from './call.js';
import type { Client } from './index.js';

const cookieName = '_saasquatch';

/** Resolves to the code of a share link that led here or that a cookie remembers, by the rules of the script kith.js. */
export async function visitorsCode(client: Client, baseUrl: string, options: CallOptions | undefined): Promise<string> {
  if (window.origin === 'null') return ''; // a sandboxed frame, which has no cookies
  const query = new URLSearchParams(location.search);
  const inUrl = /^[\w-]{1,64}$/.exec(query.get('rsCode') ?? '')?.[0] ?? '';
  const refused = navigator.doNotTrack === '1' || ('globalPrivacyControl' in navigator && navigator.globalPrivacyControl === true);
  const cookies = (query.get(cookieName) ?? '') || (inUrl && encoded(inUrl, client.tenant, baseUrl)) || (refused ? '' : readCookie());
  try {
    const { code } = await client.getReferralCookie(cookies && cookies.length < 3500 ? { cookies } : {}, options);
    // A visitor who refused has no code there. The code in the URL, which is not stored, still counts.
    return code || (refused && inUrl ? (await client.getPublicCode({ code: inUrl }, options)).code : '');
  } catch {
    options?.signal?.throwIfAborted();
    return '';
  }
}

/** A code in the form of the cookie. */
function encoded(code: string, tenant: string, baseUrl: string): string {
  const codes = { codes: { rsCode: code }, codesExp: { [code]: Date.now() + 30 * 864e5 } };
  const text = btoa(JSON.stringify({ [new URL(baseUrl).host]: { [tenant + '_CODE']: codes } }));
  return text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

function readCookie(): string {
  for (const pair of document.cookie.split('; ')) {
    if (pair.startsWith(cookieName + '=')) return pair.slice(cookieName.length + 1).replace(/^"|"$/g, '');
  }
  return '';
}
