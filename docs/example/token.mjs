// Signs user tokens. As a command: TOKEN_KEY=… node token.mjs ACCOUNT USER
import { createHmac } from 'node:crypto';

// The token of a user, {accountId, id, …}, valid for some seconds.
export function userToken(user, seconds = 3600) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { user, exp: Math.floor(Date.now() / 1000) + seconds };
  const signed = encode({ alg: 'HS256', typ: 'JWT' }) + '.' + encode(claims);
  return signed + '.' + createHmac('sha256', process.env.TOKEN_KEY).update(signed).digest('base64url');
}

const [accountId, id] = process.argv.slice(2);
if (id) console.log(userToken({ accountId, id }));
