// A consumer of webhooks: it verifies each by the libraries that are published
// for that, in the ways that their documents show, and writes what it found as
// a line of JSON.
//
//   JWKS_URI   the key set of the service
//   API_KEY    the tenant's API key
//
// The first line is {"port"}. A line on its input is a secret, with which later
// webhooks are verified.
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');
const readline = require('node:readline');
const jwt = require('jsonwebtoken');
const { JwksClient } = require('jwks-rsa');
const { Webhook } = require('standardwebhooks');

const keys = new JwksClient({ jwksUri: process.env.JWKS_URI, cache: true, cacheMaxEntries: 5, cacheMaxAge: 24 * 3600 * 1000 });
let secret = '';

// standard verifies the headers of Standard Webhooks.
function standard(body, headers) {
  return new Webhook(secret).verify(body, headers);
}

// jws puts the detached token together and verifies it as any other.
async function jws(body, headers) {
  const token = headers['x-hook-jws-rfc-7797'].replace('..', '.' + body.toString('base64url') + '.');
  const { kid } = jwt.decode(token, { complete: true }).header;
  const key = await keys.getSigningKey(kid);
  return jwt.verify(token, key.getPublicKey(), { algorithms: ['RS256'] });
}

// legacy compares the older signature.
function legacy(body, headers) {
  const want = crypto.createHmac('sha1', process.env.API_KEY).update(body).digest();
  if (!crypto.timingSafeEqual(want, Buffer.from(headers['x-hook-signature'], 'base64'))) {
    throw new Error('the signature does not match');
  }
  return JSON.parse(body);
}

// outcome is "ok" when a way of verifying gives the event back.
async function outcome(verify, body, headers) {
  try {
    const event = await verify(body, headers);
    return event.id === headers['webhook-id'] ? 'ok' : 'another event';
  } catch (e) {
    return String(e.message || e);
  }
}

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const forged = Buffer.from(body.toString().replace('"created":', '"created" :'));
  const found = {
    id: request.headers['webhook-id'],
    type: JSON.parse(body).type,
    contentType: request.headers['content-type'],
    standard: await outcome(standard, body, request.headers),
    jws: await outcome(jws, body, request.headers),
    legacy: await outcome(legacy, body, request.headers),
    forged: [],
  };
  for (const verify of [standard, jws, legacy]) found.forged.push(await outcome(verify, forged, request.headers));
  console.log(JSON.stringify(found));
  response.writeHead(204).end();
});

readline.createInterface({ input: process.stdin }).on('line', (line) => { secret = line; }).on('close', () => process.exit(0));
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
